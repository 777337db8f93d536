package openai

import (
	"strings"
	"unicode"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// NoModel returns the error of an unknown model.
func NoModel() error {
	return fault.Errorf(UnknownModel, "モデル（スキル）が見つかりません。GET /v1/models の id を指定してください。")
}

func errManyModels() error {
	return fault.Errorf(UnknownModel, "同じ名前のモデル（スキル）が複数あります。GET /v1/models の id を指定してください。")
}

// Model is a skill with its model id.
type Model struct {
	skill.Skill

	id string
}

// Record returns the model as it is sent.
func (m Model) Record() OpenAIModel {
	return OpenAIModel{
		ID: m.id, Object: "model", Created: int(m.CreatedAt.Unix()), OwnedBy: "tsumugi", Name: m.Name,
	}
}

// List returns the available models as they are sent.
func List(models []Model) OpenAIModelList {
	list := OpenAIModelList{Object: "list", Data: []OpenAIModel{}}
	for _, m := range models {
		if m.Unavailable == "" {
			list.Data = append(list.Data, m.Record())
		}
	}
	return list
}

// Models returns skills with their model ids: the key or the readable name. If several skills have the same name, the
// end of the skill's id is appended.
func Models(skills []skill.Skill) []Model {
	named := make(map[string]int)
	for _, s := range skills {
		if s.Key != "" {
			named[s.Key]++
		} else {
			named[readable(s.Name)]++
		}
	}
	list := make([]Model, len(skills))
	for i, s := range skills {
		list[i] = Model{s, s.Key}
		if s.Key == "" {
			if list[i].id = readable(s.Name); named[list[i].id] > 1 || list[i].id == "" || uuid.Validate(list[i].id) == nil {
				list[i].id = pinned(s)
			}
		}
	}
	return list
}

// readable returns a name that needs no encoding in URLs and has a single spelling: letters and digits in their usual
// width, with a hyphen in place of everything else.
func readable(name string) string {
	words := strings.FieldsFunc(norm.NFKC.String(name), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '_'
	})
	return strings.Join(words, "-")
}

// pinned returns a model id of a skill that does not change when another skill gets the same name.
func pinned(s skill.Skill) string {
	id := s.ID.String()
	return strings.TrimPrefix(readable(s.Name)+"-"+id[len(id)-8:], "-")
}

// Find returns the model with a model id, a skill id or a key.
func Find(models []Model, name string) (Model, error) {
	for _, m := range models {
		if name == m.ID.String() || name == m.Key && name != "" {
			return m, nil
		}
	}
	var found []Model
	for _, m := range models {
		switch id := readable(name); {
		case m.Key != "" || id == "":
		case id == pinned(m.Skill):
			return m, nil
		case id == readable(m.Name):
			found = append(found, m)
		}
	}
	switch len(found) {
	case 0:
		return Model{}, NoModel()
	case 1:
		return found[0], nil
	}
	return Model{}, errManyModels()
}
