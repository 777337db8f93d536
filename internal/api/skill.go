package api

import (
	"net/http"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

func (s *Server) listSkills(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	offset, limit, err := page(r)
	if err != nil {
		return err
	}
	skills, err := s.Skill.List(r.Context(), actor.OrganizationID, actor.ID, offset, limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, SkillList{
		Items: convert(skills, func(found skill.Skill) Skill { return toSkill(actor, found) }),
	})
}

func (s *Server) getSkill(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "skill_id")
	if err != nil {
		return err
	}
	found, err := s.Skill.Get(r.Context(), actor.OrganizationID, actor.ID, id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, toSkill(actor, found))
}

func (s *Server) listFavoriteSkills(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	offset, limit, err := page(r)
	if err != nil {
		return err
	}
	favorites, err := s.Skill.Favorites(r.Context(), actor.OrganizationID, actor.ID, offset, limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, FavoriteSkillList{Items: convert(favorites,
		func(f skill.Favorite) FavoriteSkill {
			return FavoriteSkill{ID: f.SkillID, Name: f.Name, IconPath: f.IconPath}
		})})
}

func (s *Server) addFavoriteSkill(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req FavoriteSkillPostRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	var c checks
	id := c.id("skill_id", req.SkillID)
	if err := c.err(); err != nil {
		return err
	}
	if err := s.Skill.AddFavorite(r.Context(), actor.OrganizationID, actor.ID, id); err != nil {
		return err
	}
	return writeNoContent(w)
}

func (s *Server) removeFavoriteSkill(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req FavoriteSkillDeleteRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	var c checks
	id := c.id("skill_id", req.SkillID)
	if err := c.err(); err != nil {
		return err
	}
	if err := s.Skill.RemoveFavorite(r.Context(), actor.OrganizationID, actor.ID, id); err != nil {
		return err
	}
	return writeNoContent(w)
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
		FormFields: convert(s.FormFields, toFormField), Suggestions: texts(s.Suggestions), Keywords: s.Keywords,
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
