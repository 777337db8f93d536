package api

import (
	"strconv"

	"github.com/tsumugi-ai/tsumugi/chat"
)

func (s *Server) getRetention(c *call) (any, error) {
	days, err := s.Org.Retention(c.ctx(), c.actor)
	if err != nil {
		return nil, err
	}
	leaving, err := s.Chat.CountExpiring(c.ctx(), c.actor.Owner())
	return Retention{
		Days: days, Leaving: LeavingCount{Threads: leaving.Threads, FirstAt: utc(leaving.First)},
	}, err
}

func (s *Server) putRetention(c *call, req RetentionPutRequest) (any, error) {
	if err := s.Org.SetRetention(c.ctx(), c.actor, req.Days); err != nil {
		return nil, err
	}
	return s.getRetention(c)
}

func (s *Server) previewRetention(c *call) (any, error) {
	days, err := strconv.Atoi(c.query("days"))
	if err != nil {
		days = 0 // Out of range; the response contains the range.
	}
	preview, err := s.Org.PreviewRetention(c.ctx(), c.actor, days)
	return RetentionPreview{Told: preview.Told, Due: preview.Due, Members: preview.Members}, err
}

func (s *Server) listLeavingThreads(c *call, offset, limit int) (any, error) {
	threads, err := s.Chat.ListExpiring(c.ctx(), c.actor.Owner(), offset, limit)
	return LeavingThreadList{
		Items: convert(threads, func(l chat.ExpiringThread) LeavingThread {
			return LeavingThread{Thread: c.thread(l.Thread), DeletesAt: l.DeletesAt.UTC()}
		}),
	}, err
}
