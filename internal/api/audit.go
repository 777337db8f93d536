package api

import (
	"net/http"
	"net/url"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// maxAction bounds the name of an audit log action, in characters.
const maxAction = 50

func (s *Server) listAuditEvents(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	query, err := auditQuery(r.URL.Query())
	if err != nil {
		return err
	}
	var c checks
	query.Offset, query.Limit = c.page(r)
	if err := c.err(); err != nil {
		return err
	}
	events, total, err := s.Org.AuditEvents(r.Context(), actor, query)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, AuditEventList{Items: convert(events, toAuditEvent), Total: total})
}

// auditQuery parses the filter of the audit log.
func auditQuery(values url.Values) (org.AuditQuery, error) {
	var c checks
	query := org.AuditQuery{
		Kind:   org.EventKind(c.text("kind", values["kind"], maxAction)),
		Action: org.Action(c.text("action", values["action"], maxAction)), Search: c.text("q", values["q"], maxSearch),
		From: c.time("from", values["from"]), To: c.time("to", values["to"]),
	}
	if query.Kind != "" && query.Kind != org.SignIns && query.Kind != org.Administration {
		c.fail("kind", "sign_in または administration を指定してください。")
	}
	return query, c.err()
}

func toAuditEvent(e org.Event) AuditEvent {
	out := AuditEvent{
		ID: e.ID, At: e.At.UTC(), ActorKind: string(e.By.Kind), ActorName: e.By.Name, ActorEmail: e.By.Email,
		Action: string(e.Action), TargetKind: e.TargetKind, TargetID: e.TargetID, TargetLabel: e.TargetLabel,
		RequestID: e.By.RequestID,
		Times:     e.Times,
		Details: convert(e.Details, func(c org.Change) AuditDetail {
			return AuditDetail{Field: c.Field, Before: c.Before, After: c.After}
		}),
	}
	if e.LastAt != nil {
		out.LastAt = e.LastAt.UTC()
	}
	if e.By.ID != nil {
		out.ActorID = *e.By.ID
	}
	if e.By.Address.IsValid() {
		out.Address = e.By.Address.String()
	}
	return out
}
