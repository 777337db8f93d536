package api

import (
	"net/http"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

func (s *Server) listOrganizationNotifications(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	offset, limit, err := page(r)
	if err != nil {
		return err
	}
	notices, total, err := s.Org.Notices(r.Context(), actor, offset, limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, ManagedNotificationList{
		Items: convert(notices, toManagedNotification), Total: total,
	})
}

func (s *Server) getNotification(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "notification_id")
	if err != nil {
		return err
	}
	notice, err := s.Org.Notice(r.Context(), actor, id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, toManagedNotification(notice))
}

func (s *Server) addNotification(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req NotificationPostRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	var c checks
	requestID := c.requiredRequestID(r, req.RequestID)
	draft := c.notice(NotificationPutRequest{
		Title: req.Title, Body: req.Body, URL: req.URL, Level: req.Level, Audience: req.Audience,
		PublishedAt: req.PublishedAt, EndsAt: req.EndsAt,
	})
	if err := c.err(); err != nil {
		return err
	}
	notice, err := s.Org.AddNotice(r.Context(), actor, requestID, draft)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, toManagedNotification(notice))
}

func (s *Server) editNotification(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "notification_id")
	if err != nil {
		return err
	}
	var req NotificationPutRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	var c checks
	draft := c.notice(req)
	if err := c.err(); err != nil {
		return err
	}
	notice, err := s.Org.EditNotice(r.Context(), actor, id, draft)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, toManagedNotification(notice))
}

func (s *Server) endNotification(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "notification_id")
	if err != nil {
		return err
	}
	notice, err := s.Org.EndNotice(r.Context(), actor, id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, toManagedNotification(notice))
}

func (s *Server) deleteNotification(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "notification_id")
	if err != nil {
		return err
	}
	if err := s.Org.DeleteNotice(r.Context(), actor, id); err != nil {
		return err
	}
	return writeNoContent(w)
}

// notice parses an administrator's input; package org validates it.
func (c *checks) notice(req NotificationPutRequest) org.NoticeDraft {
	draft := org.NoticeDraft{
		Title: req.Title, Body: req.Body, URL: req.URL, Level: org.Level(req.Level),
		Audience: org.Audience(req.Audience),
	}
	if req.PublishedAt != "" {
		draft.PublishedAt = c.time("published_at", []string{req.PublishedAt})
	}
	if req.EndsAt != "" {
		end := c.time("ends_at", []string{req.EndsAt})
		draft.EndsAt = &end
	}
	return draft
}

func toManagedNotification(n org.Notification) ManagedNotification {
	out := ManagedNotification{
		ID: n.ID, Title: n.Title, Body: n.Body, URL: n.URL, Level: NotificationLevel(n.Level),
		Audience: NotificationAudience(n.Audience), PublishedAt: n.PublishedAt.UTC(),
		State: ManagedNotificationState(n.State(time.Now())), Own: n.Own,
	}
	if n.EndsAt != nil {
		out.EndsAt = n.EndsAt.UTC()
	}
	return out
}
