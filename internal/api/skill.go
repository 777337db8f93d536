package api

import (
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

func (s *Server) listSkills(c *call, offset, limit int) (any, error) {
	skills, err := s.Skill.List(c.ctx(), c.actor.OrganizationID, c.actor.ID, offset, limit)
	return toSkillList(c.actor, skills), err
}

func (s *Server) getSkill(c *call) (any, error) {
	found, err := s.Skill.Get(c.ctx(), c.actor.OrganizationID, c.actor.ID, c.pathID)
	return toSkill(c.actor, found), err
}

func (s *Server) listFavoriteSkills(c *call, offset, limit int) (any, error) {
	favorites, err := s.Skill.Favorites(c.ctx(), c.actor.OrganizationID, c.actor.ID, offset, limit)
	return FavoriteSkillList{Items: convert(favorites, func(f skill.Favorite) FavoriteSkill {
		return FavoriteSkill{ID: f.SkillID, Name: f.Name, IconPath: f.IconPath}
	})}, err
}

func (s *Server) addFavoriteSkill(c *call, req FavoriteSkillPostRequest) (any, error) {
	id := c.id("skill_id", req.SkillID)
	if err := c.err(); err != nil {
		return nil, err
	}
	return nil, s.Skill.AddFavorite(c.ctx(), c.actor.OrganizationID, c.actor.ID, id)
}

func (s *Server) removeFavoriteSkill(c *call, req FavoriteSkillDeleteRequest) (any, error) {
	id := c.id("skill_id", req.SkillID)
	if err := c.err(); err != nil {
		return nil, err
	}
	return nil, s.Skill.RemoveFavorite(c.ctx(), c.actor.OrganizationID, c.actor.ID, id)
}

func toSkillList(actor identity.Actor, skills []skill.Skill) SkillList {
	return SkillList{Items: convert(skills, func(found skill.Skill) Skill { return toSkill(actor, found) })}
}

func toSkill(actor identity.Actor, s skill.Skill) Skill {
	origin := SkillOriginStandard
	switch {
	case s.OwnerID != nil:
		origin = SkillOriginOwn
	case s.OrganizationID != nil:
		origin = SkillOriginOrganization
	}
	return Skill{
		ID: s.ID, Name: s.Name, Description: s.Description, IconPath: s.IconPath, CategoryID: s.CategoryID,
		Kind: string(s.Kind), TaskType: SkillTaskType(s.TaskType), FormType: SkillFormType(s.FormType),
		FormFields: convert(s.FormFields, toFormField), Suggestions: nonNil(s.Suggestions), Keywords: s.Keywords,
		AcceptsDataSources: s.AcceptsDataSources, IsFavorite: s.IsFavorite, UnavailableReason: s.Unavailable,
		Origin: origin, Editable: s.Made && !s.Withdrawn && (s.OwnerID != nil || actor.Role.IsAdmin()),
	}
}

func toFormField(f skill.FormField) FormField {
	return FormField{
		Name: f.Name, Label: f.Label, Type: FormFieldType(f.Type), Required: f.Required, Options: f.Options,
		Placeholder: f.Placeholder, MaxLength: f.MaxLength,
	}
}
