package api

import (
	"slices"

	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// maxAction bounds the name of an audit log action, in characters.
const maxAction = 50

func (s *Server) listAuditEvents(c *call) (any, error) {
	query := c.auditQuery()
	query.Offset, query.Limit = c.page()
	if err := c.err(); err != nil {
		return nil, err
	}
	events, total, err := s.Org.AuditEvents(c.ctx(), c.actor, query)
	return AuditEventList{Items: convert(events, toAuditEvent), Total: total}, err
}

// auditQuery parses the filter of the audit log.
func (c *checks) auditQuery() org.AuditQuery {
	query := org.AuditQuery{
		Kind: org.EventKind(c.text("kind", maxAction)), Action: org.Action(c.text("action", maxAction)),
		Search: c.text("q", maxSearch), From: c.time("from"), To: c.time("to"),
	}
	if !slices.Contains([]org.EventKind{"", org.SignIns, org.Administration, org.ToolCalls}, query.Kind) {
		c.fail("kind", "sign_in、administration、tool のどれかを指定してください。")
	}
	return query
}

func toAuditEvent(e org.Event) AuditEvent {
	return AuditEvent{
		ID: e.ID, At: e.At.UTC(), ActorKind: string(e.By.Kind), ActorID: value(e.By.ID), ActorName: e.By.Name,
		ActorEmail: e.By.Email, Action: string(e.Action), TargetKind: e.TargetKind, TargetID: e.TargetID,
		TargetLabel: e.TargetLabel, RequestID: e.By.RequestID, Address: addressText(&e.By.Address),
		Times: e.Times, LastAt: utc(e.LastAt),
		Details: convert(e.Details, func(c org.Change) AuditDetail {
			return AuditDetail{Field: c.Field, Before: c.Before, After: c.After}
		}),
	}
}
