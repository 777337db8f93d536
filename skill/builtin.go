package skill

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"gopkg.in/yaml.v3"
)

//go:embed builtin/*.yaml
var builtinFiles embed.FS

// Bounds of a skill's texts, in characters. They keep a card, a chip and a prompt at the size they are designed for.
const (
	maxName            = 20
	maxCategoryName    = 12
	maxDescriptionLine = 24
	maxSuggestion      = 60
	maxLabel           = 20
	maxPlaceholder     = 200
	maxPrompt          = 4000
)

// categoriesFile is the name of the file of the categories; every other file is a skill.
const categoriesFile = "categories.yaml"

// builtinCategory and builtinSkill are the shape of the embedded files. Unknown keys are refused.
type builtinCategory struct {
	ID       string `yaml:"id"`
	Key      string `yaml:"key"`
	Name     string `yaml:"name"`
	Position int    `yaml:"position"`
}

type builtinSkill struct {
	ID                 string      `yaml:"id"`
	Category           string      `yaml:"category"`
	Position           int         `yaml:"position"`
	Name               string      `yaml:"name"`
	Description        string      `yaml:"description"`
	Icon               string      `yaml:"icon"`
	Kind               Kind        `yaml:"kind"`
	TaskType           TaskType    `yaml:"task_type"`
	FormType           FormType    `yaml:"form_type"`
	AcceptsDataSources bool        `yaml:"accepts_data_sources"`
	Suggestions        []string    `yaml:"suggestions"`
	FormFields         []FormField `yaml:"form_fields"`
	Prompt             string      `yaml:"prompt"`
}

// Seed brings the built-in categories and skills of this version into the store. It may run at every start.
func Seed(ctx context.Context, store Store) error {
	categories, skills, err := Builtin()
	if err != nil {
		return err
	}
	return store.SaveBuiltinSkills(ctx, categories, skills)
}

// Builtin returns the categories and skills that every organization has, by position. Their ids never change, so that a
// new version updates the texts and keeps threads and favourites. An error means that the program was built with a
// broken file.
func Builtin() ([]Category, []Skill, error) {
	categories, byKey, err := readCategories(builtinFiles)
	if err != nil {
		return nil, nil, err
	}
	names, err := fs.Glob(builtinFiles, "builtin/*.yaml")
	if err != nil {
		return nil, nil, err
	}
	var skills []Skill
	seen := make(map[uuid.UUID]string)
	for _, name := range names {
		if strings.HasSuffix(name, "/"+categoriesFile) {
			continue
		}
		s, err := readSkill(builtinFiles, name, byKey)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		if other, ok := seen[s.ID]; ok {
			return nil, nil, fmt.Errorf("%s: id %s is also that of %s", name, s.ID, other)
		}
		seen[s.ID] = name
		skills = append(skills, s)
	}
	order := make(map[uuid.UUID]int, len(categories))
	for _, c := range categories {
		order[c.ID] = c.Position
	}
	slices.SortFunc(skills, func(a, b Skill) int {
		if d := order[a.CategoryID] - order[b.CategoryID]; d != 0 {
			return d
		}
		return a.Position - b.Position
	})
	return categories, skills, nil
}

// readCategories reads the categories, and their ids by the key that the skills' files use.
func readCategories(files fs.FS) ([]Category, map[string]uuid.UUID, error) {
	var raw []builtinCategory
	if err := decodeStrict(files, "builtin/"+categoriesFile, &raw); err != nil {
		return nil, nil, err
	}
	byKey := make(map[string]uuid.UUID, len(raw))
	categories := make([]Category, 0, len(raw))
	for _, c := range raw {
		id, err := parseID(c.ID)
		if err != nil {
			return nil, nil, fmt.Errorf("category %s: %w", c.Key, err)
		}
		if _, twice := byKey[c.Key]; twice || c.Key == "" || !fits(c.Name, maxCategoryName) {
			return nil, nil, fmt.Errorf("category %q: needs a key of its own and a name of 1 to %d characters", c.Key, maxCategoryName)
		}
		byKey[c.Key] = id
		categories = append(categories, Category{ID: id, Name: c.Name, Position: c.Position})
	}
	slices.SortFunc(categories, func(a, b Category) int { return a.Position - b.Position })
	return categories, byKey, nil
}

// readSkill reads and checks one skill.
func readSkill(files fs.FS, name string, categories map[string]uuid.UUID) (Skill, error) {
	var raw builtinSkill
	if err := decodeStrict(files, name, &raw); err != nil {
		return Skill{}, err
	}
	id, err := parseID(raw.ID)
	if err != nil {
		return Skill{}, err
	}
	category, ok := categories[raw.Category]
	if !ok {
		return Skill{}, fmt.Errorf("unknown category %q", raw.Category)
	}
	// Lists are never null, neither in the database nor in the API.
	raw.FormFields = append([]FormField{}, raw.FormFields...)
	raw.Suggestions = append([]string{}, raw.Suggestions...)
	for i := range raw.FormFields {
		raw.FormFields[i].Options = append([]string{}, raw.FormFields[i].Options...)
	}
	s := Skill{
		ID: id, CategoryID: category, Position: raw.Position,
		Name: raw.Name, Description: strings.TrimSpace(raw.Description), IconPath: "/icons/skills/" + raw.Icon + ".svg",
		Kind: raw.Kind, TaskType: raw.TaskType, FormType: raw.FormType,
		FormFields: raw.FormFields, Suggestions: raw.Suggestions,
		AcceptsDataSources: raw.AcceptsDataSources, Prompt: strings.TrimSpace(raw.Prompt),
	}
	return s, s.validate()
}

// validate refuses a skill that a screen could not show or a prompt could not carry.
func (s Skill) validate() error {
	if !fits(s.Name, maxName) {
		return fmt.Errorf("name must have 1 to %d characters", maxName)
	}
	if !fits(s.Prompt, maxPrompt) || Neutralize(s.Prompt) != s.Prompt {
		return fmt.Errorf("prompt must have 1 to %d characters and none of the reserved tags", maxPrompt)
	}
	lines := strings.Split(s.Description, "\n")
	if len(lines) != 2 || !fits(lines[0], maxDescriptionLine) || !fits(lines[1], maxDescriptionLine) {
		return fmt.Errorf("description must be two lines of 1 to %d characters", maxDescriptionLine)
	}
	switch s.TaskType {
	case "", TaskDocumentQA, TaskSummarization:
	default:
		return fmt.Errorf("unknown task type %q", s.TaskType)
	}
	switch s.FormType {
	case FormChat:
		if len(s.FormFields) != 0 || len(s.Suggestions) == 0 {
			return errors.New("a chat skill has suggestions and no fields")
		}
	case FormForm:
		if len(s.FormFields) == 0 || len(s.Suggestions) != 0 {
			return errors.New("a form skill has fields and no suggestions")
		}
	default:
		return fmt.Errorf("unknown form type %q", s.FormType)
	}
	for _, suggestion := range s.Suggestions {
		if !fits(suggestion, maxSuggestion) {
			return fmt.Errorf("suggestion %q must have 1 to %d characters", suggestion, maxSuggestion)
		}
	}
	return validateFields(s.FormFields)
}

// validateFields refuses fields that are ambiguous or cannot be filled in.
func validateFields(fields []FormField) error {
	name := regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)
	seen := make(map[string]bool, len(fields))
	for _, f := range fields {
		if !name.MatchString(f.Name) || seen[f.Name] {
			return fmt.Errorf("field %q: the name must be a word of its own", f.Name)
		}
		seen[f.Name] = true
		if !fits(f.Label, maxLabel) || utf8.RuneCountInString(f.Placeholder) > maxPlaceholder || f.MaxLength < 0 {
			return fmt.Errorf("field %s: label, placeholder or length out of bounds", f.Name)
		}
		switch f.Type {
		case FieldText, FieldTextarea, FieldNumber, FieldFile:
			if len(f.Options) != 0 {
				return fmt.Errorf("field %s: only a select has options", f.Name)
			}
		case FieldSelect:
			if len(f.Options) < 2 || slices.Contains(f.Options, "") {
				return fmt.Errorf("field %s: a select has at least two options", f.Name)
			}
		default:
			return fmt.Errorf("field %s: unknown type %q", f.Name, f.Type)
		}
	}
	return nil
}

// decodeStrict reads one YAML document that has no keys but those of into.
func decodeStrict(files fs.FS, name string, into any) error {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New("more than one document")
	}
	return nil
}

// parseID reads an id and holds it to version 7, as all ids of the API are.
func parseID(s string) (uuid.UUID, error) {
	id, err := uuid.Parse(s)
	if err != nil {
		return uuid.Nil, err
	}
	if id.Version() != 7 || id.Variant() != uuid.RFC4122 {
		return uuid.Nil, fmt.Errorf("%s is not a UUIDv7", s)
	}
	return id, nil
}

// fits reports whether s has 1 to limit characters.
func fits(s string, limit int) bool {
	n := utf8.RuneCountInString(s)
	return n >= 1 && n <= limit && strings.TrimSpace(s) == s
}
