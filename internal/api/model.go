package api

import (
	"net/http"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

func (s *Server) getModelChoice(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var c checks
	skillID := c.optionalID("skill_id", r.URL.Query().Get("skill_id"))
	if err := c.err(); err != nil {
		return err
	}
	choice, err := s.Models.Choice(r.Context(), actor.Owner(), skillID)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, ModelChoice{
		DefaultID: choice.DefaultID, Models: convert(choice.Models, toModelOption),
	})
}

func toModelOption(m chat.OfferedModel) ModelOption {
	name, note := m.Display()
	return ModelOption{ID: m.ID, Name: name, Note: note, Sees: m.Sees, Thinking: ModelThinking(m.Thinking)}
}

func (s *Server) getOrganizationModels(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	models, err := s.Models.Settings(r.Context(), actor)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, toOrganizationModels(models))
}

func (s *Server) putOrganizationModels(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req OrganizationModelsRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	models, err := s.Models.SetSettings(r.Context(), actor, chat.ModelSettings{
		DefaultID: req.DefaultID,
		Models: convert(req.Models, func(m OrganizationModelSetting) chat.ModelSetting {
			return chat.ModelSetting{ID: m.ID, Allowed: m.Allowed, Name: m.Name, Note: m.Note}
		}),
	})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, toOrganizationModels(models))
}

func toOrganizationModels(c chat.ModelChoice) OrganizationModels {
	return OrganizationModels{
		DefaultID: c.DefaultID,
		Models: convert(c.Models, func(m chat.OfferedModel) OrganizationModel {
			return OrganizationModel{
				ID: m.ID, Provider: m.Provider, GivenName: m.Name, GivenNote: m.Note, Name: m.Setting.Name,
				Note: m.Setting.Note, Allowed: m.Setting.Allowed, Available: m.Available, Sees: m.Sees,
				Thinking: ModelThinking(m.Thinking), ContextTokens: m.ContextTokens,
			}
		}),
	}
}
