package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/siem"
)

func (db *DB) AddSink(ctx context.Context, name string) (cursor int64, _ error) {
	return queryValue[int64](ctx, db.pool, `
		INSERT INTO audit_sinks (name, position, sent)
		SELECT $1, p.newest, p.newest
		FROM (SELECT coalesce(max(position), 0) AS newest FROM audit_events WHERE position IS NOT NULL) p
		ON CONFLICT (name) DO UPDATE SET name = excluded.name
		RETURNING position`, name)
}

// withoutPosition selects events that need a position: those since the first sink was added.
const withoutPosition = ` position IS NULL AND at >= (SELECT min(created_at) FROM audit_sinks) `

// sinkEventRow is a row of SinkEvents.
type sinkEventRow struct {
	eventRow
	Position         int64
	Revision         int
	OrganizationName string
}

func (db *DB) SinkEvents(ctx context.Context, after int64, limit int) ([]siem.Event, error) {
	waiting, err := queryValue[bool](ctx, db.pool, `SELECT EXISTS (SELECT FROM audit_events WHERE`+withoutPosition+`)`)
	if err == nil && waiting {
		err = db.assignPositions(ctx, limit)
	}
	if err != nil {
		return nil, err
	}
	rows, err := queryRows[sinkEventRow](ctx, db.pool, `
		SELECT e.id, e.organization_id, e.at, e.actor_kind, e.actor_id, e.actor_name, e.actor_email, e.action,
		       e.target_kind, e.target_id, e.target_label, e.details, e.address, e.request_id, e.times, e.last_at,
		       e.position, e.revision, coalesce(o.name, '') AS organization_name
		FROM audit_events e
		LEFT JOIN organizations o ON o.id = e.organization_id
		WHERE e.position > $1
		ORDER BY e.position
		LIMIT $2`, after, limit)
	return convert(rows, func(r sinkEventRow) siem.Event {
		return siem.Event{
			Event: r.event(), Position: r.Position, Revision: r.Revision, OrganizationName: r.OrganizationName,
		}
	}), err
}

// assignPositions assigns positions to events that have none, in the order of their times. The lock makes the positions
// visible in their order. Rows that are being changed are skipped, because the change may take long.
func (db *DB) assignPositions(ctx context.Context, limit int) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := exec(ctx, tx, `SELECT pg_advisory_xact_lock(hashtext('tsumugi audit positions'))`); err != nil {
			return err
		}
		return exec(ctx, tx, `
			UPDATE audit_events e
			SET position = n.position
			FROM (SELECT id, nextval('audit_positions') AS position
			      FROM (SELECT id FROM audit_events WHERE`+withoutPosition+`
			            ORDER BY at, id LIMIT $1 FOR UPDATE SKIP LOCKED) waiting) n
			WHERE e.id = n.id`, limit)
	})
}

func (db *DB) MoveCursor(ctx context.Context, name string, cursor, sent int64) error {
	return exec(ctx, db.pool, `
		UPDATE audit_sinks SET position = greatest(position, $2), sent = greatest(sent, $3) WHERE name = $1`,
		name, cursor, sent)
}

func (db *DB) SinkBacklogs(ctx context.Context) ([]siem.Backlog, error) {
	return queryRows[siem.Backlog](ctx, db.pool, `
		WITH unnumbered AS (
		    SELECT count(*) AS n, min(coalesce(last_at, at)) AS oldest FROM audit_events WHERE`+withoutPosition+`
		)
		SELECT s.name AS sink, u.n + (SELECT count(*) FROM audit_events WHERE position > s.sent) AS waiting,
		       coalesce((SELECT coalesce(last_at, at) FROM audit_events WHERE position > s.sent ORDER BY position LIMIT 1),
		                u.oldest, `+zeroTime+`) AS oldest
		FROM audit_sinks s, unnumbered u
		ORDER BY s.name`)
}
