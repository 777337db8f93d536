package skill

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/google/uuid"
	"gopkg.in/yaml.v3"

	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// Import is the content of an operator's file of skills. Keys identify categories and skills: a repeated import updates
// them.
type Import struct {
	Categories []ImportedCategory
	Skills     []ImportedSkill
	Retire     []string // Keys of skills to retire.
}

// ImportedCategory is a category with its key. Its ID is used if the category is new.
type ImportedCategory struct {
	Key string
	Category
}

// ImportedSkill is a skill with its key. Its ID is used if the skill is new.
type ImportedSkill struct {
	Key         string
	CategoryKey string // The key of a category in the import. If "", CategoryID is that of a built-in one.
	Skill
}

// ImportResult is the result for one skill.
type ImportResult struct {
	Key    string
	Name   string
	Change ImportChange
}

// ImportChange is the effect of an import on a skill.
type ImportChange string

// The effects of an import on a skill.
const (
	ImportAdded     ImportChange = "added"
	ImportChanged   ImportChange = "changed"
	ImportUnchanged ImportChange = "unchanged"
	ImportRetired   ImportChange = "retired"
)

// Limits of an imported file.
const (
	MaxImportSize    = 1 << 20 // In bytes.
	maxImportSkills  = 200
	maxImportErrors  = 20   // Maximum number of reported errors.
	importedPosition = 1000 // Position of the first skill or category without a position: after the built-in ones.
)

// importFile, importCategory and importSkill are the schema of an operator's file. Unknown keys are refused.
type importFile struct {
	Categories []importCategory `yaml:"categories,omitempty"`
	Skills     []importSkill    `yaml:"skills"`
	Retire     []string         `yaml:"retire,omitempty"`
}

type importCategory struct {
	Key      string `yaml:"key"`
	Name     string `yaml:"name"`
	Position int    `yaml:"position"`
}

type importSkill struct {
	Key        string `yaml:"key"`
	definition `yaml:",inline"`
}

// ParseImport parses an operator's YAML file of categories and skills. The rules of the built-in skills apply. Errors
// are for the operator; each contains its line.
func ParseImport(data []byte) (Import, error) {
	if len(data) > MaxImportSize {
		return Import{}, fmt.Errorf("the file is larger than %d bytes", MaxImportSize)
	}
	var file importFile
	var root yaml.Node
	if err := decodeStrict(data, &file); err != nil {
		return Import{}, readable(err)
	}
	if err := yaml.Unmarshal(data, &root); err != nil { // Decoded again for the line numbers.
		return Import{}, readable(err)
	}
	if len(file.Skills) > maxImportSkills || len(file.Categories) > maxImportSkills ||
		len(file.Retire) > maxImportSkills {
		return Import{}, fmt.Errorf("more than %d skills, categories or retired skills", maxImportSkills)
	}
	if len(file.Skills)+len(file.Retire) == 0 {
		return Import{}, errors.New("there are no skills in it")
	}
	r := importReader{root: &root, categories: make(map[string]uuid.UUID)}
	r.characters(&root)
	if len(r.errs) > 0 {
		return Import{}, errors.Join(r.errs...)
	}
	imported, err := r.read(file)
	return imported, errors.Join(err, errors.Join(r.errs...))
}

// importReader validates a file and collects its errors.
type importReader struct {
	root       *yaml.Node
	categories map[string]uuid.UUID // By key: the categories of the file, with uuid.Nil, and the built-in ones.
	errs       []error
}

// wrong adds an error at a line, or without one if line is 0.
func (r *importReader) wrong(line int, format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if line > 0 {
		err = fmt.Errorf("line %d: %w", line, err)
	}
	if len(r.errs) < maxImportErrors {
		r.errs = append(r.errs, err)
	}
}

// characters refuses control characters, which are invisible and cannot be stored in the database.
func (r *importReader) characters(node *yaml.Node) {
	if strings.ContainsFunc(node.Value, func(c rune) bool { return c != '\n' && c != '\t' && unicode.IsControl(c) }) {
		r.wrong(node.Line, "a control character")
	}
	for _, child := range node.Content {
		r.characters(child)
	}
}

// line returns the line of a list item, or 0 if it cannot be determined.
func (r *importReader) line(list string, item int) int {
	if len(r.root.Content) == 0 {
		return 0
	}
	document := r.root.Content[0]
	for i := 0; i+1 < len(document.Content); i += 2 {
		values := document.Content[i+1]
		if document.Content[i].Value == list && item < len(values.Content) {
			return values.Content[item].Line
		}
	}
	return 0
}

func (r *importReader) read(file importFile) (Import, error) {
	_, builtin, err := readCategories(builtinFiles)
	if err != nil {
		return Import{}, err
	}
	var imported Import
	for i, c := range file.Categories {
		line := r.line("categories", i)
		_, twice := r.categories[c.Key]
		_, taken := builtin[c.Key]
		switch {
		case !importKey(c.Key) || twice || taken:
			r.wrong(line, "category %q: %s", c.Key, keyRule)
		case !fits(c.Name, maxCategoryName):
			r.wrong(line, "category %q: name must have 1 to %d characters", c.Key, maxCategoryName)
		case !placed(c.Position):
			r.wrong(line, "category %q: position must be from -%d to %d", c.Key, maxPosition, maxPosition)
		}
		r.categories[c.Key] = uuid.Nil
		imported.Categories = append(imported.Categories, ImportedCategory{
			Key: c.Key, Category: Category{ID: uuidv7.New(), Name: c.Name, Position: position(c.Position, i)},
		})
	}
	for key, id := range builtin {
		r.categories[key] = id
	}
	keys, names := make(map[string]bool), make(map[string]bool)
	for i, s := range file.Skills {
		line := r.line("skills", i)
		if !importKey(s.Key) || keys[s.Key] {
			r.wrong(line, "skill %q: %s", s.Key, keyRule)
		}
		if names[s.Name] {
			r.wrong(line, "skill %q: another one has the name %q", s.Key, s.Name)
		}
		keys[s.Key], names[s.Name] = true, true
		imported.Skills = append(imported.Skills, r.skill(s, line, i))
	}
	for i, key := range file.Retire {
		if !importKey(key) || keys[key] {
			r.wrong(r.line("retire", i), "retire %q: it is no key of a skill that is not in the file", key)
		}
		keys[key] = true
		imported.Retire = append(imported.Retire, key)
	}
	return imported, nil
}

// skill validates one skill.
func (r *importReader) skill(s importSkill, line, index int) ImportedSkill {
	category, known := r.categories[s.Category]
	if !known {
		r.wrong(line, "skill %q: unknown category %q; there are those of the file, and %s", s.Key, s.Category,
			strings.Join(r.builtin(), ", "))
	}
	if !slices.Contains(importKinds(), s.Kind) {
		r.wrong(line, "skill %q: unknown kind %q", s.Key, s.Kind)
	}
	s.Position = position(s.Position, index)
	built, err := s.skill(uuidv7.New(), category)
	if err != nil {
		r.wrong(line, "skill %q: %w", s.Key, err)
	}
	imported := ImportedSkill{Key: s.Key, Skill: built}
	if category == uuid.Nil {
		imported.CategoryKey = s.Category
	}
	return imported
}

// builtin returns the keys of the built-in categories.
func (r *importReader) builtin() (keys []string) {
	for key, id := range r.categories {
		if id != uuid.Nil {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// importKinds returns the kinds that an operator's skill may have: those of the built-in skills, except for the browser
// extension's, which are found by kind.
func importKinds() []Kind {
	return []Kind{
		"", KindWebSearch, KindProofreading, "translation", "mail", "minutes", "ideas", "proposal", "rephrase",
		"spreadsheet", "code", "sparring", "glossary", "interview", "job_posting", "report",
	}
}

const keyRule = "the key must be its own, of 1 to 40 letters a to z, digits, - and _, and begin with a letter"

// importKey reports whether a key is well-formed.
func importKey(key string) bool {
	return regexp.MustCompile(`^[a-z][a-z0-9_-]{0,39}$`).MatchString(key)
}

// position returns the given position or, without one, the default for the index.
func position(given, index int) int {
	if given != 0 {
		return given
	}
	return importedPosition + index
}

// readable rewrites a decoder's error for people who do not know this program's types.
func readable(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	}
	var wrong *yaml.TypeError
	if !errors.As(err, &wrong) {
		return err
	}
	unknown, types := regexp.MustCompile(`field (\S+) not found in type \S+`),
		regexp.MustCompile(` into (\[\])?skill\.\S+`)
	var errs []error
	for _, text := range wrong.Errors[:min(len(wrong.Errors), maxImportErrors)] {
		text = types.ReplaceAllString(unknown.ReplaceAllString(text, "unknown key $1"), "")
		errs = append(errs, errors.New(text))
	}
	return errors.Join(errs...)
}
