package api

import (
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
)

func (s *Server) listThreads(c *call) (any, error) {
	offset, limit := c.page()
	query := c.text("q", chat.MaxQuery)
	filter := chat.ThreadFilter{Archived: c.flag("archived"), ProjectID: c.optionalQueryID("project_id")}
	if visibility := choice[ThreadVisibility](&c.checks, "visibility"); visibility != "" {
		filter.Shared = new(visibility == ThreadVisibilityProject)
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	if strings.TrimSpace(query) != "" {
		found, err := s.Search.Search(c.ctx(), c.actor.Owner(), query, filter, offset, limit)
		return ThreadList{Items: convert(found, c.searchResult)}, err
	}
	threads, err := s.Chat.ListThreads(c.ctx(), c.actor.Owner(), filter, offset, limit)
	return ThreadList{Items: convert(threads, c.thread)}, err
}

func (s *Server) createThread(c *call, req ThreadCreateRequest) (any, error) {
	input := chat.NewThread{
		Title: req.Title, RequestID: c.requestID(req.RequestID), ProjectID: c.optionalID("project_id", req.ProjectID),
		Shared: req.Visibility == ThreadCreateRequestVisibilityProject,
	}
	if req.SkillID != "" || input.ProjectID == nil { // Otherwise the project's default skill.
		input.SkillID = c.id("skill_id", req.SkillID)
	}
	c.visibility(string(req.Visibility), input.ProjectID)
	if req.Temporary && input.ProjectID != nil {
		c.fail("temporary", "一時チャットは、プロジェクトでは作成できません。")
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	if req.Temporary {
		input.Lifetime = chat.TemporaryLifetime
	}
	thread, err := s.Chat.CreateThread(c.ctx(), c.actor.Owner(), input)
	return created(c.thread(thread)), err
}

func (s *Server) getThread(c *call) (any, error) {
	thread, err := s.Chat.FindThread(c.ctx(), c.actor.Owner(), c.pathID)
	return c.thread(thread), err
}

func (s *Server) editThread(c *call, req ThreadEditRequest) (any, error) {
	edit := chat.ThreadEdit{
		Title: req.Title, Pinned: req.Pinned, Archived: req.Archived, Leaf: c.optionalID("leaf", req.Leaf),
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	thread, err := s.Chat.EditThread(c.ctx(), c.actor.Owner(), c.pathID, edit)
	return c.thread(thread), err
}

func (s *Server) touchThread(c *call) (any, error) {
	thread, err := s.Chat.TouchThread(c.ctx(), c.actor.Owner(), c.pathID)
	return c.thread(thread), err
}

func (s *Server) moveThread(c *call, req ThreadProjectRequest) (any, error) {
	to := chat.ThreadPlace{
		ProjectID: c.optionalID("project_id", req.ProjectID), Shared: req.Visibility == ThreadProjectRequestVisibilityProject,
	}
	c.visibility(string(req.Visibility), to.ProjectID)
	if err := c.err(); err != nil {
		return nil, err
	}
	thread, err := s.Chat.MoveThread(c.ctx(), c.actor, c.pathID, to)
	return c.thread(thread), err
}

func (s *Server) getThreadAudience(c *call) (any, error) {
	projectID := c.queryID("project_id")
	if err := c.err(); err != nil {
		return nil, err
	}
	audience, err := s.Chat.Audience(c.ctx(), c.actor.Owner(), c.pathID, projectID)
	return ThreadAudience{MemberCount: audience.Members, Files: audience.Files, Questions: audience.Questions}, err
}

// visibility checks the visibility of a thread in a project, or in none.
func (c *checks) visibility(text string, projectID *uuid.UUID) {
	switch visibility := ThreadVisibility(text); {
	case text != "" && !visibility.Valid():
		c.fail("visibility", "private か project を指定してください。")
	case visibility == ThreadVisibilityProject && projectID == nil:
		c.fail("visibility", "共有するには、プロジェクトを指定してください。")
	}
}

func (s *Server) deleteThread(c *call) (any, error) {
	return nil, s.Chat.DeleteThread(c.ctx(), c.actor.Owner(), c.pathID)
}

// thread returns a thread as shown to the actor.
func (c *call) thread(t chat.Thread) Thread { return toThread(c.actor.ID, t) }

// toThread returns a thread as shown to a reader, or to all members of its project if the reader is uuid.Nil.
func toThread(reader uuid.UUID, t chat.Thread) Thread {
	own := t.UserID == reader
	thread := Thread{
		ID: t.ID, Skill: ThreadSkill{ID: t.SkillID, Name: t.SkillName, IconPath: t.SkillIconPath}, Title: t.Title,
		CreatedAt: t.CreatedAt.UTC(), UpdatedAt: t.UpdatedAt.UTC(), TouchedAt: t.TouchedAt.UTC(), Running: t.Running,
		Pinned: t.Pinned && own, Archived: t.Archived, ExpiresAt: utc(t.ExpiresAt),
		DataSources: convert(t.Sources, toDataSource), Visibility: ThreadVisibilityPrivate, Own: &own,
		CanAsk: new(t.MayAsk()),
	}
	if t.Project != nil {
		thread.Project = ThreadProject{ID: t.Project.ID, Name: t.Project.Name}
		if !own {
			thread.Owner = Author{ID: t.UserID, Name: t.Project.OwnerName}
		}
	}
	if t.Shared {
		thread.Visibility = ThreadVisibilityProject
	}
	return thread
}

func (c *call) searchResult(f chat.SearchResult) Thread {
	thread := c.thread(f.Thread)
	thread.Match = ThreadMatch{
		Snippet: f.Match.Text, MessageID: value(f.Match.MessageID),
		Ranges: convert(f.Match.Ranges, func(r [2]int) []int { return r[:] }),
	}
	return thread
}
