package api

import (
	"strings"

	"github.com/tsumugi-ai/tsumugi/chat"
)

func (s *Server) listThreads(c *call) (any, error) {
	offset, limit := c.page()
	query, archived := c.text("q", chat.MaxQuery), c.flag("archived")
	if err := c.err(); err != nil {
		return nil, err
	}
	if strings.TrimSpace(query) != "" {
		found, err := s.Search.Search(c.ctx(), c.actor.Owner(), query, offset, limit)
		return ThreadList{Items: convert(found, toSearchResult)}, err
	}
	threads, err := s.Chat.ListThreads(c.ctx(), c.actor.Owner(), archived, offset, limit)
	return ThreadList{Items: convert(threads, toThread)}, err
}

func (s *Server) createThread(c *call, req ThreadCreateRequest) (any, error) {
	input := chat.NewThread{
		SkillID: c.id("skill_id", req.SkillID), Title: req.Title, RequestID: c.requestID(req.RequestID),
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	if req.Temporary {
		input.Lifetime = chat.TemporaryLifetime
	}
	thread, err := s.Chat.CreateThread(c.ctx(), c.actor.Owner(), input)
	return created(toThread(thread)), err
}

func (s *Server) getThread(c *call) (any, error) {
	thread, err := s.Chat.FindThread(c.ctx(), c.actor.Owner(), c.pathID)
	return toThread(thread), err
}

func (s *Server) editThread(c *call, req ThreadEditRequest) (any, error) {
	edit := chat.ThreadEdit{
		Title: req.Title, Pinned: req.Pinned, Archived: req.Archived, Leaf: c.optionalID("leaf", req.Leaf),
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	thread, err := s.Chat.EditThread(c.ctx(), c.actor.Owner(), c.pathID, edit)
	return toThread(thread), err
}

func (s *Server) touchThread(c *call) (any, error) {
	thread, err := s.Chat.TouchThread(c.ctx(), c.actor.Owner(), c.pathID)
	return toThread(thread), err
}

func (s *Server) deleteThread(c *call) (any, error) {
	return nil, s.Chat.DeleteThread(c.ctx(), c.actor.Owner(), c.pathID)
}

func toThread(t chat.Thread) Thread {
	return Thread{
		ID: t.ID, Skill: ThreadSkill{ID: t.SkillID, Name: t.SkillName, IconPath: t.SkillIconPath}, Title: t.Title,
		CreatedAt: t.CreatedAt.UTC(), UpdatedAt: t.UpdatedAt.UTC(), TouchedAt: t.TouchedAt.UTC(), Running: t.Running,
		Pinned: t.Pinned, Archived: t.Archived, ExpiresAt: utc(t.ExpiresAt),
		DataSources: convert(t.Sources, toDataSource),
	}
}

func toSearchResult(f chat.SearchResult) Thread {
	thread := toThread(f.Thread)
	thread.Match = ThreadMatch{
		Snippet: f.Match.Text, MessageID: value(f.Match.MessageID),
		Ranges: convert(f.Match.Ranges, func(r [2]int) []int { return r[:] }),
	}
	return thread
}
