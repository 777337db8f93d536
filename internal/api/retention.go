package api

import (
	"net/http"
	"strconv"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

func (s *Server) getRetention(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	days, err := s.Org.Retention(r.Context(), actor)
	if err != nil {
		return err
	}
	leaving, err := s.Chat.CountExpiring(r.Context(), actor.Owner())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, Retention{
		Days: days, Leaving: LeavingCount{Threads: leaving.Threads, FirstAt: utc(leaving.First)},
	})
}

func (s *Server) putRetention(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req RetentionPutRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	if err := s.Org.SetRetention(r.Context(), actor, req.Days); err != nil {
		return err
	}
	return s.getRetention(w, r, actor)
}

func (s *Server) previewRetention(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	days, err := strconv.Atoi(r.URL.Query().Get("days"))
	if err != nil {
		days = 0 // Out of range; the response contains the range.
	}
	preview, err := s.Org.PreviewRetention(r.Context(), actor, days)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, RetentionPreview{Told: preview.Told, Due: preview.Due, Members: preview.Members})
}

func (s *Server) listLeavingThreads(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	offset, limit, err := page(r)
	if err != nil {
		return err
	}
	threads, err := s.Chat.ListExpiring(r.Context(), actor.Owner(), offset, limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, LeavingThreadList{
		Items: convert(threads, func(l chat.ExpiringThread) LeavingThread {
			return LeavingThread{Thread: toThread(l.Thread), DeletesAt: l.DeletesAt.UTC()}
		}),
	})
}
