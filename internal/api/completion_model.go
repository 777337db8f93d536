package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

const modelsPath = "/v1/models"

// codeModel is OpenAI's code of an unknown model.
const codeModel fault.Code = "model_not_found"

func errNoModel() error {
	return fault.Errorf(codeModel, "モデル（スキル）が見つかりません。GET /v1/models の id を指定してください。")
}

func errManyModels() error {
	return fault.Errorf(codeModel, "同じ名前のモデル（スキル）が複数あります。GET /v1/models の id を指定してください。")
}

// listModels returns the available skills as models.
func (s *Server) listModels(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	models, err := s.models(r.Context(), actor)
	if err != nil {
		return err
	}
	list := OpenAIModelList{Object: "list", Data: []OpenAIModel{}}
	for _, m := range models {
		if m.Unavailable == "" {
			list.Data = append(list.Data, m.toModel())
		}
	}
	return writeJSON(w, http.StatusOK, list)
}

// getModel returns an available skill as a model.
func (s *Server) getModel(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	name, err := url.PathUnescape(strings.TrimPrefix(r.URL.EscapedPath(), modelsPath+"/")) // A key may contain a slash.
	if err != nil {
		return errNoModel()
	}
	found, err := s.findModel(r.Context(), actor, name)
	if err != nil {
		return err
	}
	if found.Unavailable != "" {
		return errNoModel()
	}
	return writeJSON(w, http.StatusOK, found.toModel())
}

// model is a skill with its model id.
type model struct {
	skill.Skill

	id string
}

func (m model) toModel() OpenAIModel {
	return OpenAIModel{
		ID: m.id, Object: "model", Created: int(m.CreatedAt.Unix()), OwnedBy: "tsumugi", Name: m.Name,
	}
}

// models returns the skills that are visible to an actor.
func (s *Server) models(ctx context.Context, actor identity.Actor) ([]model, error) {
	var skills []skill.Skill
	for {
		page, err := s.Skill.List(ctx, actor.OrganizationID, actor.ID, len(skills), maxLimit)
		if err != nil {
			return nil, err
		}
		if skills = append(skills, page...); len(page) < maxLimit {
			return asModels(skills), nil
		}
	}
}

// asModels returns skills with their model ids: the key or the readable name. If several skills have the same name, the
// end of the skill's id is appended.
func asModels(skills []skill.Skill) []model {
	named := make(map[string]int)
	for _, s := range skills {
		if s.Key != "" {
			named[s.Key]++
		} else {
			named[readable(s.Name)]++
		}
	}
	list := make([]model, len(skills))
	for i, s := range skills {
		list[i] = model{s, s.Key}
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

// findModel returns the skill with a model id, a skill id or a key.
func (s *Server) findModel(ctx context.Context, actor identity.Actor, name string) (model, error) {
	models, err := s.models(ctx, actor)
	if err != nil {
		return model{}, err
	}
	for _, m := range models {
		if name == m.ID.String() || name == m.Key && name != "" {
			return m, nil
		}
	}
	var found []model
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
		return model{}, errNoModel()
	case 1:
		return found[0], nil
	}
	return model{}, errManyModels()
}
