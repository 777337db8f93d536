package api

import (
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

func (s *Server) listThreads(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var c checks
	offset, limit := c.page(r)
	query := c.text("q", r.URL.Query()["q"], chat.MaxQuery)
	archived := c.flag("archived", r.URL.Query()["archived"])
	if err := c.err(); err != nil {
		return err
	}
	if strings.TrimSpace(query) != "" {
		found, err := s.Search.Search(r.Context(), actor.Owner(), query, offset, limit)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, ThreadList{Items: convert(found, toSearchResult)})
	}
	threads, err := s.Chat.ListThreads(r.Context(), actor.Owner(), archived, offset, limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, ThreadList{Items: convert(threads, toThread)})
}

func (s *Server) createThread(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req ThreadCreateRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	var c checks
	skillID, requestID := c.id("skill_id", req.SkillID), c.requestID(r, req.RequestID)
	if err := c.err(); err != nil {
		return err
	}
	created := chat.NewThread{SkillID: skillID, Title: req.Title, RequestID: requestID}
	if req.Temporary {
		created.Lifetime = chat.TemporaryLifetime
	}
	thread, err := s.Chat.CreateThread(r.Context(), actor.Owner(), created)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, toThread(thread))
}

func (s *Server) getThread(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	return withThread(w, r, actor, func(o identity.Owner, id uuid.UUID) (chat.Thread, error) {
		return s.Chat.FindThread(r.Context(), o, id)
	})
}

func (s *Server) editThread(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	return withThread(w, r, actor, func(o identity.Owner, id uuid.UUID) (chat.Thread, error) {
		var req ThreadEditRequest
		if err := decode(w, r, &req); err != nil {
			return chat.Thread{}, err
		}
		edit := chat.ThreadEdit{Title: req.Title, Pinned: req.Pinned, Archived: req.Archived}
		var c checks
		edit.Leaf = c.optionalID("leaf", req.Leaf)
		if err := c.err(); err != nil {
			return chat.Thread{}, err
		}
		return s.Chat.EditThread(r.Context(), o, id, edit)
	})
}

func (s *Server) touchThread(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	return withThread(w, r, actor, func(o identity.Owner, id uuid.UUID) (chat.Thread, error) {
		return s.Chat.TouchThread(r.Context(), o, id)
	})
}

// withThread writes the thread returned by do for the actor and the id in the path.
func withThread(
	w http.ResponseWriter, r *http.Request, actor identity.Actor, do func(identity.Owner, uuid.UUID) (chat.Thread, error),
) error {
	id, err := pathID(r, "thread_id")
	if err != nil {
		return err
	}
	thread, err := do(actor.Owner(), id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, toThread(thread))
}

func (s *Server) deleteThread(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "thread_id")
	if err != nil {
		return err
	}
	if err := s.Chat.DeleteThread(r.Context(), actor.Owner(), id); err != nil {
		return err
	}
	return writeNoContent(w)
}

func toThread(t chat.Thread) Thread {
	thread := Thread{
		ID: t.ID, Skill: ThreadSkill{ID: t.SkillID, Name: t.SkillName, IconPath: t.SkillIconPath}, Title: t.Title,
		CreatedAt: t.CreatedAt.UTC(), UpdatedAt: t.UpdatedAt.UTC(), TouchedAt: t.TouchedAt.UTC(), Running: t.Running,
		Pinned: t.Pinned, Archived: t.Archived,
		DataSources: convert(t.Sources, toDataSource),
	}
	if t.ExpiresAt != nil {
		thread.ExpiresAt = t.ExpiresAt.UTC()
	}
	return thread
}

func toSearchResult(f chat.SearchResult) Thread {
	thread := toThread(f.Thread)
	thread.Match = ThreadMatch{
		Snippet: f.Match.Text, Ranges: convert(f.Match.Ranges, func(r [2]int) []int { return r[:] }),
	}
	if f.Match.MessageID != nil {
		thread.Match.MessageID = *f.Match.MessageID
	}
	return thread
}
