package skill

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
	"gopkg.in/yaml.v3"
)

//go:embed builtin/*.yaml
var builtinFiles embed.FS

// categoriesFile is the name of the file with the categories; every other file is a skill.
const categoriesFile = "categories.yaml"

// builtinCategory and builtinSkill are the schema of the embedded files. Unknown keys are refused.
type builtinCategory struct {
	ID             string `yaml:"id"`
	importCategory `yaml:",inline"`
}

type builtinSkill struct {
	ID         string `yaml:"id"`
	definition `yaml:",inline"`
}

// Seed stores the built-in categories and skills of this version. It may be called at every start.
func Seed(ctx context.Context, store Store) error {
	categories, skills, err := Builtin()
	if err != nil {
		return err
	}
	return store.SaveBuiltinSkills(ctx, categories, skills)
}

// Builtin returns the built-in categories and skills by position. Their ids never change, so that a new version updates
// their texts and keeps threads and favourites. An error means that an embedded file is invalid.
func Builtin() ([]Category, []Skill, error) {
	b := parseBuiltin()
	return slices.Clone(b.categories), slices.Clone(b.skills), b.err
}

// builtin is the content of the embedded files.
type builtin struct {
	categories []Category
	skills     []Skill
	err        error
}

// parseBuiltin parses the embedded files at the first call.
var parseBuiltin = sync.OnceValue(func() (b builtin) {
	b.categories, b.skills, b.err = readBuiltin()
	return b
})

// readBuiltin parses the embedded files.
func readBuiltin() ([]Category, []Skill, error) {
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
		return cmp.Or(order[a.CategoryID]-order[b.CategoryID], a.Position-b.Position)
	})
	return categories, skills, nil
}

// readCategories reads the categories, and their ids by their keys in the skills' files.
func readCategories(files fs.FS) ([]Category, map[string]uuid.UUID, error) {
	var raw []builtinCategory
	if err := decodeFile(files, "builtin/"+categoriesFile, &raw); err != nil {
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
			return nil, nil, fmt.Errorf("category %q: needs a key of its own and a name of 1 to %d characters", c.Key,
				maxCategoryName)
		}
		byKey[c.Key] = id
		categories = append(categories, Category{ID: id, Name: c.Name, Position: c.Position})
	}
	slices.SortFunc(categories, func(a, b Category) int { return a.Position - b.Position })
	return categories, byKey, nil
}

// readSkill reads and validates one skill.
func readSkill(files fs.FS, name string, categories map[string]uuid.UUID) (Skill, error) {
	var raw builtinSkill
	if err := decodeFile(files, name, &raw); err != nil {
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
	return raw.skill(id, category)
}

// decodeFile reads an embedded YAML document and refuses unknown keys.
func decodeFile(files fs.FS, name string, into any) error {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	return decodeStrict(data, into)
}

// decodeStrict reads one YAML document and refuses unknown keys.
func decodeStrict(data []byte, into any) error {
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

// parseID parses an id and requires version 7, like all ids of the API.
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
