package api

import (
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

func (s *Server) listCategories(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var c checks
	all := c.flag("all", r.URL.Query()["all"])
	offset, limit := c.page(r)
	err := c.err()
	if err != nil {
		return err
	}
	var categories []skill.Category
	if all {
		categories, err = s.Library.Categories(r.Context(), actor.OrganizationID)
	} else {
		categories, err = s.Skill.Categories(r.Context(), actor.OrganizationID, actor.ID)
	}
	if err != nil {
		return err
	}
	// The list is short, so all categories are read and the page is selected from them.
	categories = categories[min(offset, len(categories)):]
	categories = categories[:min(limit, len(categories))]
	return writeJSON(w, http.StatusOK, CategoryList{Items: convert(categories, toCategory)})
}

func (s *Server) createCategory(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req CategoryRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	made, err := s.Library.CreateCategory(r.Context(), actor, req.Name)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, toCategory(made))
}

func (s *Server) renameCategory(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "category_id")
	if err != nil {
		return err
	}
	var req CategoryRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	made, err := s.Library.RenameCategory(r.Context(), actor, id, req.Name)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, toCategory(made))
}

func (s *Server) removeCategory(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "category_id")
	if err != nil {
		return err
	}
	var c checks
	replacement := c.optionalID("replacement_id", r.URL.Query().Get("replacement_id"))
	if err := c.err(); err != nil {
		return err
	}
	if err := s.Library.RemoveCategory(r.Context(), actor, id, replacement); err != nil {
		return err
	}
	return writeNoContent(w)
}

func (s *Server) orderCategories(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req CategoryOrderRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	var c checks
	ids := make([]uuid.UUID, len(req.CategoryIds))
	for i, id := range req.CategoryIds {
		ids[i] = c.id(fmt.Sprintf("category_ids[%d]", i), id)
	}
	if err := c.err(); err != nil {
		return err
	}
	if err := s.Library.OrderCategories(r.Context(), actor, ids); err != nil {
		return err
	}
	return writeNoContent(w)
}

func toCategory(c skill.Category) Category {
	return Category{ID: c.ID, Name: c.Name, Position: c.Position, Editable: c.Made}
}
