package store

import (
	"context"
	"net/netip"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// audit adds an entry to the audit log, in the transaction of the change that it records.
func audit(ctx context.Context, q querier, event org.Event) error {
	return exec(ctx, q, `
		INSERT INTO audit_events (id, organization_id, actor_kind, actor_id, actor_name,
		    actor_email, action, target_kind,
		                          target_id, target_label, details, address, request_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		uuidv7.New(), event.OrganizationID, event.By.Kind, event.By.ID, storable(event.By.Name), storable(event.By.Email),
		event.Action, event.TargetKind, event.TargetID, storable(event.TargetLabel), orEmpty(event.Details),
		storableAddress(event.By.Address),
		storable(event.By.RequestID))
}

// RecordClientCall implements org.Store. The entry names the connection.
func (db *DB) RecordClientCall(ctx context.Context, actor identity.Actor, call org.ClientCall) error {
	name, err := queryValue[string](ctx, db.pool, `
		SELECT coalesce(max(coalesce(nullif(name, ''), client_id)), '') FROM sessions WHERE organization_id = $1 AND id = $2`,
		actor.OrganizationID, actor.Session)
	if err != nil {
		return err
	}
	outcome := "success"
	if call.Failed {
		outcome = "failed"
	}
	return audit(ctx, db.pool, org.Event{
		OrganizationID: &actor.OrganizationID, By: org.AuditActorOf(actor), Action: org.ActionToolCall,
		TargetKind: org.TargetTool, TargetID: call.Tool, TargetLabel: call.Title, Details: []org.Change{
			{Field: "connection", After: name},
			{Field: "outcome", After: outcome},
			{Field: "duration_ms", After: strconv.FormatInt(call.Duration.Milliseconds(), 10)},
		},
	})
}

// memberEvent returns an audit entry about a member.
func memberEvent(by org.AuditActor, action org.Action, m org.Member, details ...org.Change) org.Event {
	return org.Event{
		OrganizationID: &m.OrganizationID, By: by, Action: action, TargetKind: org.TargetUser, TargetID: m.ID.String(),
		TargetLabel: m.Email, Details: details,
	}
}

// changed returns the changes whose values differ.
func changed(all []org.Change) []org.Change {
	return slices.DeleteFunc(all, func(c org.Change) bool { return c.Before == c.After })
}

// eventRow is an entry of the audit log.
type eventRow struct {
	org.Event
	ActorKind  org.ActorKind
	ActorID    *uuid.UUID
	ActorName  string
	ActorEmail string
	Address    *netip.Addr
	RequestID  string
}

func (r eventRow) event() org.Event {
	r.By = org.AuditActor{
		Kind: r.ActorKind, ID: r.ActorID, Name: r.ActorName, Email: r.ActorEmail, RequestID: r.RequestID,
	}
	if r.Address != nil {
		r.By.Address = *r.Address
	}
	return r.Event
}

// whereEvents selects entries. Its parameters are the organization, the action, the search text, and two times; NULL or
// an empty string selects all.
const whereEvents = `
	WHERE ($1::uuid IS NULL OR organization_id = $1) AND ($2 = '' OR action = $2)
	  AND ($3 = '' OR position($3 IN searched) > 0)
	  AND ($4::timestamptz IS NULL OR at >= $4) AND ($5::timestamptz IS NULL OR at < $5)`

// whereKind is the condition for a kind. Its text equals that of the partial indexes, so that they are used.
var whereKind = map[org.EventKind]string{
	"": "", org.SignIns: " AND sign_in", org.Administration: " AND NOT sign_in AND action <> 'tool.call'",
	org.ToolCalls: " AND action = 'tool.call'",
}

// selectEvents returns the statement that reads the entries of a query, without its offset and limit, the condition of
// the entries, and the parameters of both.
func selectEvents(q org.AuditQuery) (sql, where string, args []any) {
	args = []any{q.OrganizationID, q.Action, normalizeSearch(q.Search), orNull(q.From), orNull(q.To)}
	where = whereEvents + whereKind[q.Kind]
	if q.Action != "" {
		where += ` AND action = $2` // Repeated without the alternatives of whereEvents, so that its index is used.
	}
	return `
		SELECT id, organization_id, at, actor_kind, actor_id, actor_name, actor_email, action, target_kind, target_id,
		       target_label, details, address, request_id, times, last_at
		FROM audit_events` + where + `
		ORDER BY at DESC, id DESC
		OFFSET $6 LIMIT $7`, where, args
}

func (db *DB) ListEvents(ctx context.Context, q org.AuditQuery) ([]org.Event, int, error) {
	page, where, args := selectEvents(q)
	rows, total, err := queryPage[eventRow](ctx, db,
		`SELECT count(*) FROM (SELECT FROM audit_events`+where+` LIMIT `+strconv.Itoa(org.MaxEvents)+`) e`, page, args,
		q.Offset, q.Limit)
	return convert(rows, eventRow.event), total, err
}

func (db *DB) EachEvent(ctx context.Context, q org.AuditQuery, do func(org.Event)) error {
	sql, _, args := selectEvents(q)
	return eachRow(ctx, db.pool, func(r eventRow) { do(r.event()) }, sql, append(args, q.Offset, q.Limit)...)
}
