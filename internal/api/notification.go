package api

import (
	"strconv"

	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// maxReadIDs bounds the notices that one call marks as read.
const maxReadIDs = 100

func (s *Server) listNotifications(c *call, offset, limit int) (any, error) {
	notices, err := s.Org.Notifications(c.ctx(), c.actor.OrganizationID, c.actor.ID, offset, limit)
	return NotificationList{Items: convert(notices, toNotification)}, err
}

func toNotification(n org.Notification) Notification {
	return Notification{
		ID: n.ID, Title: n.Title, Body: n.Body, URL: n.URL, Level: NotificationLevel(n.Level),
		PublishedAt: n.PublishedAt.UTC(), Read: n.Read,
	}
}

func (s *Server) readNotifications(c *call, req NotificationReadRequest) (any, error) {
	if len(req.Ids) == 0 || len(req.Ids) > maxReadIDs {
		c.fail("ids", "1件以上"+strconv.Itoa(maxReadIDs)+"件以下で指定してください。")
	}
	ids := c.ids("ids", req.Ids[:min(len(req.Ids), maxReadIDs)])
	if err := c.err(); err != nil {
		return nil, err
	}
	return nil, s.Org.MarkRead(c.ctx(), c.actor.OrganizationID, c.actor.ID, ids)
}
