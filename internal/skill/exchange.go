package skill

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/uuid"
	"gopkg.in/yaml.v3"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// MaxExchange limits a file imported in the app, in bytes, and maxExchangeSkills the number of its skills.
const (
	MaxExchange       = 512 << 10
	maxExchangeSkills = 20
)

// Export returns a skill in the format of operators' files, without its documents.
func (l *Library) Export(ctx context.Context, actor identity.Actor, id uuid.UUID) ([]byte, error) {
	custom, err := l.store.FindCustomSkill(ctx, editorOf(actor), id)
	if err != nil {
		return nil, err
	}
	_, keys, err := l.categoryKeys(ctx, actor.OrganizationID)
	if err != nil {
		return nil, err
	}
	c := custom.Content
	s := c.skill()
	file := importFile{Skills: []importSkill{{
		Key: "skill-" + strings.ReplaceAll(id.String(), "-", "")[20:],
		definition: definition{
			Category: keys[c.CategoryID], Name: c.Name, Description: c.Description, Icon: c.Icon, Kind: c.Kind,
			TaskType: c.TaskType, FormType: s.FormType, AcceptsDataSources: c.AcceptsDataSources,
			Keywords: c.Keywords, Suggestions: c.Suggestions, FormFields: c.FormFields, AnswerLength: c.AnswerLength,
			Model: c.Model, Examples: c.Examples, Tools: c.Tools, Prompt: c.Prompt,
		},
	}}}
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(file); err != nil {
		return nil, err
	}
	return b.Bytes(), encoder.Close()
}

// Read returns the skills of a file in the format of operators' files. It stores nothing: a person reviews and saves
// them one by one. An unknown category is replaced by the first one.
func (l *Library) Read(ctx context.Context, actor identity.Actor, file string) ([]Content, error) {
	parsed, err := readExchange(file)
	if err != nil {
		return nil, err
	}
	list, keys, err := l.categoryKeys(ctx, actor.OrganizationID)
	if err != nil {
		return nil, err
	}
	categories := make(map[string]uuid.UUID, len(keys))
	for id, key := range keys {
		categories[key] = id
	}
	contents := make([]Content, len(parsed))
	for i, d := range parsed {
		category, known := categories[d.Category]
		if !known && len(list) > 0 {
			category = list[0].ID
		}
		s, _ := d.skill(uuid.Nil, category) // Saving reports the errors field by field.
		contents[i] = ContentOf(s).tidied()
	}
	return contents, nil
}

// readExchange decodes a file.
func readExchange(file string) ([]definition, error) {
	if len(file) > MaxExchange {
		return nil, fault.InvalidField("yaml", "ファイルは%d KBまでです。", MaxExchange>>10)
	}
	var parsed importFile
	if err := decodeStrict([]byte(file), &parsed); err != nil {
		return nil, fault.InvalidField("yaml", "スキルのファイルとして読み取れませんでした。%s", unreadable(err))
	}
	switch {
	case len(parsed.Skills) == 0:
		return nil, fault.InvalidField("yaml", "ファイルにスキルがありません。skills に一つ以上を書いてください。")
	case len(parsed.Skills) > maxExchangeSkills:
		return nil, fault.InvalidField("yaml", "一度に読み込めるスキルは%d件までです。ファイルを分けてください。", maxExchangeSkills)
	}
	list := make([]definition, len(parsed.Skills))
	for i, s := range parsed.Skills {
		list[i] = s.definition
	}
	return list, nil
}

// unreadable describes in Japanese the position of an error in a YAML file, if the decoder reports it.
func unreadable(err error) string {
	found := regexp.MustCompile(`line (\d+):(?: field (\S+) not found in type)?`).FindStringSubmatch(err.Error())
	switch {
	case found == nil:
		return "YAML の形式を確認してください。"
	case found[2] != "":
		return fmt.Sprintf("%s行目の %s は使えない項目です。", found[1], printable(found[2]))
	default:
		return fmt.Sprintf("%s行目の書き方を確認してください。", found[1])
	}
}

// categoryKeys returns an organization's categories, and their keys in files.
func (l *Library) categoryKeys(ctx context.Context, organizationID uuid.UUID) (
	list []KeyedCategory, keys map[uuid.UUID]string, err error,
) {
	if list, err = l.store.ListAllCategories(ctx, organizationID); err != nil {
		return nil, nil, err
	}
	_, builtin, err := readCategories(builtinFiles)
	if err != nil {
		return nil, nil, err
	}
	keys = make(map[uuid.UUID]string, len(list))
	for key, id := range builtin {
		keys[id] = key
	}
	for _, c := range list {
		if c.Key != "" {
			keys[c.ID] = c.Key
		}
	}
	return list, keys, nil
}
