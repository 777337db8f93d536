package store

import (
	"context"
	"net/netip"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// audit adds an entry to the audit log, in the transaction of the change that it records.
func audit(ctx context.Context, e executor, event org.Event) error {
	_, err := e.Exec(ctx, `
		INSERT INTO audit_events (id, organization_id, actor_kind, actor_id, actor_name,
		    actor_email, action, target_kind,
		                          target_id, target_label, details, address, request_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		uuidv7.New(), event.OrganizationID, event.By.Kind, event.By.ID, storable(event.By.Name), storable(event.By.Email),
		event.Action, event.TargetKind, event.TargetID, storable(event.TargetLabel), orEmpty(event.Details),
		storableAddress(event.By.Address),
		storable(event.By.RequestID))
	return err
}

// memberEvent returns an audit entry about a member.
func memberEvent(by org.AuditActor, action org.Action, m org.Member, details ...org.Change) org.Event {
	return org.Event{
		OrganizationID: &m.OrganizationID, By: by, Action: action, TargetKind: org.TargetUser, TargetID: m.ID.String(),
		TargetLabel: m.Email, Details: details,
	}
}

// eventRow is an entry of the audit log, with the total number of entries.
type eventRow struct {
	ID             uuid.UUID
	OrganizationID *uuid.UUID
	At             time.Time
	ActorKind      org.ActorKind
	ActorID        *uuid.UUID
	ActorName      string
	ActorEmail     string
	Action         org.Action
	TargetKind     string
	TargetID       string
	TargetLabel    string
	Details        []org.Change
	Address        *netip.Addr
	RequestID      string
	Times          int
	LastAt         *time.Time
}

func (r eventRow) event() org.Event {
	e := org.Event{
		ID: r.ID, At: r.At, OrganizationID: r.OrganizationID, Action: r.Action, TargetKind: r.TargetKind,
		TargetID:    r.TargetID,
		TargetLabel: r.TargetLabel, Details: r.Details, Times: r.Times, LastAt: r.LastAt,
		By: org.AuditActor{Kind: r.ActorKind, ID: r.ActorID, Name: r.ActorName, Email: r.ActorEmail, RequestID: r.RequestID},
	}
	if r.Address != nil {
		e.By.Address = *r.Address
	}
	return e
}

// whereEvents selects entries. Its parameters are the organization, the action, the search text, and two times; NULL or
// an empty string selects all.
const whereEvents = `
	WHERE ($1::uuid IS NULL OR organization_id = $1) AND ($2 = '' OR action = $2)
	  AND ($3 = '' OR position($3 IN searched) > 0)
	  AND ($4::timestamptz IS NULL OR at >= $4) AND ($5::timestamptz IS NULL OR at < $5)`

// whereKind is the condition for a kind. Its text equals that of the partial indexes, so that they are used.
var whereKind = map[org.EventKind]string{"": "", org.SignIns: " AND sign_in", org.Administration: " AND NOT sign_in"}

// ListEvents implements org.Store.
func (db *DB) ListEvents(ctx context.Context, q org.AuditQuery) ([]org.Event, int, error) {
	args := []any{q.OrganizationID, q.Action, normalizeSearch(q.Search), orNull(q.From), orNull(q.To)}
	where := whereEvents + whereKind[q.Kind]
	if q.Action != "" {
		where += ` AND action = $2` // Repeated without the alternatives of whereEvents, so that its index is used.
	}
	var rows []eventRow
	var total int
	batch := &pgx.Batch{}
	batch.Queue(`SELECT count(*) FROM (SELECT FROM audit_events`+where+` LIMIT $6) e`, append(args, org.MaxEvents)...).
		QueryRow(func(row pgx.Row) error { return row.Scan(&total) })
	batch.Queue(`
		SELECT id, organization_id, at, actor_kind, actor_id, actor_name, actor_email, action, target_kind, target_id,
		       target_label, details, address, request_id, times, last_at
		FROM audit_events`+where+`
		ORDER BY at DESC, id DESC
		OFFSET $6 LIMIT $7`, append(args, q.Offset, q.Limit)...).Query(collect(&rows))
	if err := db.pool.SendBatch(ctx, batch).Close(); err != nil {
		return nil, 0, translate(err)
	}
	events := make([]org.Event, len(rows))
	for i, r := range rows {
		events[i] = r.event()
	}
	return events, total, nil
}

// collect returns a batch callback that reads rows into a slice, by column name.
func collect[T any](into *[]T) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*into, err = pgx.CollectRows(rows, pgx.RowToStructByName[T])
		return err
	}
}

// orNull converts the zero time to NULL.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
