package api

import (
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
)

func (s *Server) getModelChoice(c *call) (any, error) {
	skillID := c.optionalQueryID("skill_id")
	if err := c.err(); err != nil {
		return nil, err
	}
	choice, err := s.Models.Choice(c.ctx(), c.actor.Owner(), skillID)
	return ModelChoice{DefaultID: choice.DefaultID, Models: convert(choice.Models, toModelOption)}, err
}

func toModelOption(m chat.OfferedModel) ModelOption {
	name, note := m.Display()
	return ModelOption{
		ID: m.ID, Name: name, Note: note, Sees: m.Sees, NoTools: m.NoTools, Thinking: ModelThinking(m.Thinking),
	}
}

func (s *Server) putOrganizationModels(c *call, req OrganizationModelsRequest) (any, error) {
	models, err := s.Models.SetSettings(c.ctx(), c.actor, chat.ModelSettings{
		DefaultID: req.DefaultID,
		Models: convert(req.Models, func(m OrganizationModelSetting) chat.ModelSetting {
			return chat.ModelSetting{ID: m.ID, Allowed: m.Allowed, Name: m.Name, Note: m.Note, Groups: m.GroupIds}
		}),
	})
	return toOrganizationModels(models), err
}

func toOrganizationModels(c chat.ModelChoice) OrganizationModels {
	return OrganizationModels{
		DefaultID: c.DefaultID,
		Models: convert(c.Models, func(m chat.OfferedModel) OrganizationModel {
			return OrganizationModel{
				ID: m.ID, Provider: m.Provider, GivenName: m.Name, GivenNote: m.Note, Name: m.Setting.Name,
				Note: m.Setting.Note, Allowed: m.Setting.Allowed, Available: m.Available, Sees: m.Sees,
				Thinking: ModelThinking(m.Thinking), ContextTokens: m.ContextTokens,
				Groups: convert(m.Setting.Groups, func(id uuid.UUID) SkillGroup { return SkillGroup{ID: id, Name: c.GroupNames[id]} }),
				Price: optional(m.Price, func(p chat.Price) ModelPrice {
					return ModelPrice{Input: p.Input, Output: p.Output, Currency: p.Currency}
				}),
			}
		}),
	}
}
