package api

import (
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/org"
)

func (s *Server) listOrganizationNotifications(c *call, offset, limit int) (any, error) {
	notices, total, err := s.Org.Notices(c.ctx(), c.actor, offset, limit)
	return ManagedNotificationList{Items: convert(notices, toManagedNotification), Total: total}, err
}

func (s *Server) getNotification(c *call) (any, error) {
	notice, err := s.Org.Notice(c.ctx(), c.actor, c.pathID)
	return toManagedNotification(notice), err
}

func (s *Server) addNotification(c *call, req NotificationPostRequest) (any, error) {
	requestID := c.requiredRequestID(req.RequestID)
	draft := c.notice(NotificationPutRequest{
		Title: req.Title, Body: req.Body, URL: req.URL, Level: req.Level, Audience: req.Audience,
		PublishedAt: req.PublishedAt, EndsAt: req.EndsAt,
	})
	if err := c.err(); err != nil {
		return nil, err
	}
	notice, err := s.Org.AddNotice(c.ctx(), c.actor, requestID, draft)
	return created(toManagedNotification(notice)), err
}

func (s *Server) editNotification(c *call, req NotificationPutRequest) (any, error) {
	draft := c.notice(req)
	if err := c.err(); err != nil {
		return nil, err
	}
	notice, err := s.Org.EditNotice(c.ctx(), c.actor, c.pathID, draft)
	return toManagedNotification(notice), err
}

func (s *Server) endNotification(c *call) (any, error) {
	notice, err := s.Org.EndNotice(c.ctx(), c.actor, c.pathID)
	return toManagedNotification(notice), err
}

func (s *Server) deleteNotification(c *call) (any, error) {
	return nil, s.Org.DeleteNotice(c.ctx(), c.actor, c.pathID)
}

// notice parses an administrator's input; package org validates it.
func (c *checks) notice(req NotificationPutRequest) org.NoticeDraft {
	draft := org.NoticeDraft{
		Title: req.Title, Body: req.Body, URL: req.URL, Level: org.Level(req.Level),
		Audience: org.Audience(req.Audience), PublishedAt: c.bodyTime("published_at", req.PublishedAt),
	}
	if end := c.bodyTime("ends_at", req.EndsAt); req.EndsAt != "" {
		draft.EndsAt = &end
	}
	return draft
}

func toManagedNotification(n org.Notification) ManagedNotification {
	return ManagedNotification{
		ID: n.ID, Title: n.Title, Body: n.Body, URL: n.URL, Level: NotificationLevel(n.Level),
		Audience: NotificationAudience(n.Audience), PublishedAt: n.PublishedAt.UTC(), EndsAt: utc(n.EndsAt),
		State: ManagedNotificationState(n.State(time.Now())), Own: n.Own,
	}
}
