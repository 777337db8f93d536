package api

import "github.com/tsumugi-ai/tsumugi/internal/skill"

func (s *Server) listCategories(c *call) (any, error) {
	all := c.flag("all")
	offset, limit := c.page()
	err := c.err()
	if err != nil {
		return nil, err
	}
	var categories []skill.Category
	if all {
		categories, err = s.Library.Categories(c.ctx(), c.actor.OrganizationID)
	} else {
		categories, err = s.Skill.Categories(c.ctx(), c.actor.OrganizationID, c.actor.ID)
	}
	// The list is short, so all categories are read and the page is selected from them.
	categories = categories[min(offset, len(categories)):]
	categories = categories[:min(limit, len(categories))]
	return CategoryList{Items: convert(categories, toCategory)}, err
}

func (s *Server) createCategory(c *call, req CategoryRequest) (any, error) {
	category, err := s.Library.CreateCategory(c.ctx(), c.actor, req.Name)
	return created(toCategory(category)), err
}

func (s *Server) renameCategory(c *call, req CategoryRequest) (any, error) {
	category, err := s.Library.RenameCategory(c.ctx(), c.actor, c.pathID, req.Name)
	return toCategory(category), err
}

func (s *Server) removeCategory(c *call) (any, error) {
	replacement := c.optionalQueryID("replacement_id")
	if err := c.err(); err != nil {
		return nil, err
	}
	return nil, s.Library.RemoveCategory(c.ctx(), c.actor, c.pathID, replacement)
}

func (s *Server) orderCategories(c *call, req CategoryOrderRequest) (any, error) {
	ids := c.ids("category_ids", req.CategoryIds)
	if err := c.err(); err != nil {
		return nil, err
	}
	return nil, s.Library.OrderCategories(c.ctx(), c.actor, ids)
}

func toCategory(c skill.Category) Category {
	return Category{ID: c.ID, Name: c.Name, Position: c.Position, Editable: c.Made}
}
