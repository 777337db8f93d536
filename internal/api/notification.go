package api

import (
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// maxReadIDs bounds the notices that one call marks as read.
const maxReadIDs = 100

func (s *Server) listNotifications(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	offset, limit, err := page(r)
	if err != nil {
		return err
	}
	notices, err := s.Org.Notifications(r.Context(), actor.OrganizationID, actor.ID, offset, limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, NotificationList{Items: convert(notices, toNotification)})
}

func toNotification(n org.Notification) Notification {
	return Notification{
		ID: n.ID, Title: n.Title, Body: n.Body, URL: n.URL, Level: NotificationLevel(n.Level),
		PublishedAt: n.PublishedAt.UTC(), Read: n.Read,
	}
}

func (s *Server) readNotifications(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req NotificationReadRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	var c checks
	if len(req.Ids) == 0 || len(req.Ids) > maxReadIDs {
		c.fail("ids", "1件以上"+strconv.Itoa(maxReadIDs)+"件以下で指定してください。")
	}
	ids := make([]uuid.UUID, 0, len(req.Ids))
	for i, id := range req.Ids[:min(len(req.Ids), maxReadIDs)] {
		ids = append(ids, c.id("ids["+strconv.Itoa(i)+"]", id))
	}
	if err := c.err(); err != nil {
		return err
	}
	if err := s.Org.MarkRead(r.Context(), actor.OrganizationID, actor.ID, ids); err != nil {
		return err
	}
	return writeNoContent(w)
}
