package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
)

var _ channel.Store = (*DB)(nil)

func (db *DB) AddEvent(ctx context.Context, e channel.Event) (added bool, err error) {
	message := ""
	if e.Incoming.Kind == channel.KindQuestion {
		message = string(e.Incoming.Message)
	}
	tag, err := db.pool.Exec(ctx, `
		INSERT INTO channel_events (installation_id, organization_id, event_id, channel, message, lane, payload)
		VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (installation_id, event_id) DO NOTHING`,
		e.InstallationID, e.OrganizationID, e.Incoming.EventID, e.Incoming.Channel, message, e.Lane, e.Incoming)
	return tag.RowsAffected() > 0, translate(err)
}

// ClaimEvents implements channel.Store. It skips an event that another server claims concurrently, and an event whose
// lane has an earlier event.
func (db *DB) ClaimEvents(ctx context.Context, limit int, quick bool, lease time.Duration) ([]channel.Event, error) {
	rows, err := queryRows[incomingRow](ctx, db.pool, `
		WITH due AS (
		    SELECT e.installation_id, e.event_id
		    FROM channel_events e
		    WHERE e.ended_at IS NULL AND e.due_at <= now() AND coalesce(e.claimed_until, '-infinity') < now()
		      AND (e.lane = ''
		           OR NOT $2 AND NOT EXISTS (SELECT FROM channel_events earlier
		                                     WHERE earlier.installation_id = e.installation_id
		                                       AND earlier.lane = e.lane AND earlier.lane <> ''
		                                       AND earlier.ended_at IS NULL AND earlier.seq < e.seq))
		    ORDER BY e.due_at, e.seq
		    LIMIT $1
		    FOR UPDATE SKIP LOCKED
		)
		UPDATE channel_events e
		SET claim = gen_random_uuid(), claimed_until = now() + $3::interval, attempts = e.attempts + 1
		FROM due
		WHERE e.installation_id = due.installation_id AND e.event_id = due.event_id
		RETURNING e.installation_id, e.organization_id, e.payload, e.lane, e.done, e.attempts, e.claim, e.received_at`,
		limit, quick, lease)
	events := make([]channel.Event, len(rows))
	for i, r := range rows {
		events[i] = channel.Event{
			InstallationID: r.InstallationID, OrganizationID: r.OrganizationID, Incoming: r.Payload, Lane: r.Lane,
			Progress: r.Done, Attempt: r.Attempts, Claim: r.Claim, ReceivedAt: r.ReceivedAt,
		}
	}
	return events, translate(err)
}

func (db *DB) RenewEvents(ctx context.Context, held []channel.Event, lease time.Duration) ([]uuid.UUID, error) {
	ids, claims, names := make([]uuid.UUID, len(held)), make([]uuid.UUID, len(held)), make([]string, len(held))
	for i, e := range held {
		ids[i], claims[i], names[i] = e.InstallationID, e.Claim, e.Incoming.EventID
	}
	return lostLeases(db.pool.Query(ctx, `
		WITH held AS (SELECT * FROM unnest($1::uuid[], $2::text[], $3::uuid[]) AS h (installation_id, event_id, claim)),
		renewed AS (
		    UPDATE channel_events e
		    SET claimed_until = now() + $4::interval
		    FROM held h
		    WHERE e.installation_id = h.installation_id AND e.event_id = h.event_id AND e.claim = h.claim
		    RETURNING e.claim
		)
		SELECT claim FROM held EXCEPT SELECT claim FROM renewed`, ids, names, claims, lease))
}

// incomingRow is a row of channel_events.
type incomingRow struct {
	InstallationID uuid.UUID
	OrganizationID uuid.UUID
	Payload        channel.IncomingEvent
	Lane           string
	Done           channel.EventProgress
	Attempts       int
	Claim          uuid.UUID
	ReceivedAt     time.Time
}

// requireClaim returns channel.ErrClaimLost if no claimed row was changed.
func requireClaim(tag pgconn.CommandTag, err error) error {
	if err == nil && tag.RowsAffected() == 0 {
		return channel.ErrClaimLost
	}
	return translate(err)
}

func (db *DB) SaveEvent(ctx context.Context, e channel.Event) error {
	return requireClaim(db.pool.Exec(ctx, `
		UPDATE channel_events
		SET done = $5
		WHERE organization_id = $1 AND installation_id = $2 AND event_id = $3 AND claim = $4`,
		e.OrganizationID, e.InstallationID, e.Incoming.EventID, e.Claim, e.Progress))
}

func (db *DB) RequeueEvent(ctx context.Context, e channel.Event, after time.Duration) error {
	return requireClaim(db.pool.Exec(ctx, `
		UPDATE channel_events
		SET done = $5, attempts = $6, due_at = now() + $7::interval, claim = NULL, claimed_until = NULL
		WHERE organization_id = $1 AND installation_id = $2 AND event_id = $3 AND claim = $4`,
		e.OrganizationID, e.InstallationID, e.Incoming.EventID, e.Claim, e.Progress, e.Attempt, after))
}

func (db *DB) EndEvent(ctx context.Context, e channel.Event) error {
	return requireClaim(db.pool.Exec(ctx, `
		UPDATE channel_events
		SET ended_at = now(), payload = NULL, done = '{}', message = '', claim = NULL, claimed_until = NULL
		WHERE organization_id = $1 AND installation_id = $2 AND event_id = $3 AND claim = $4`,
		e.OrganizationID, e.InstallationID, e.Incoming.EventID, e.Claim))
}

func (db *DB) WithdrawQuestion(ctx context.Context, organizationID, installationID uuid.UUID, in string,
	message channel.Ref,
) (busy bool, _ error) {
	err := db.tx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			UPDATE channel_events
			SET ended_at = now(), payload = NULL, done = '{}', message = '', claim = NULL, claimed_until = NULL
			WHERE organization_id = $1 AND installation_id = $2 AND channel = $3 AND message = $4 AND ended_at IS NULL
			  AND coalesce(claimed_until, '-infinity') < now()`, organizationID, installationID, in, message)
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, `
			SELECT EXISTS (SELECT FROM channel_events
			               WHERE organization_id = $1 AND installation_id = $2 AND channel = $3 AND message = $4
			                 AND ended_at IS NULL)`, organizationID, installationID, in, message).Scan(&busy)
	})
	return busy, err
}

func (db *DB) DeleteExpiredEvents(ctx context.Context, ago time.Duration) error {
	_, err := db.pool.Exec(ctx, `DELETE FROM channel_events WHERE ended_at < now() - $1::interval`, ago)
	return translate(err)
}

func (db *DB) CountEvents(ctx context.Context) (n int, _ error) {
	err := db.pool.QueryRow(ctx, `SELECT count(*) FROM channel_events WHERE ended_at IS NULL`).Scan(&n)
	return n, translate(err)
}

// AcquireSlot implements channel.Store and siem.Store. It renews a slot of the holder. Otherwise it takes a slot that is
// free or expired.
func (db *DB) AcquireSlot(
	ctx context.Context, name string, slots int, holder uuid.UUID, lease time.Duration,
) (held bool, _ error) {
	err := db.tx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('tsumugi hold ' || $1))`, name); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `
			UPDATE channel_holds
			SET held_until = now() + $4::interval
			WHERE name = $1 AND holder = $2 AND place < $3`, name, holder, slots, lease)
		if held = tag.RowsAffected() > 0; err != nil || held {
			return err
		}
		tag, err = tx.Exec(ctx, `
			INSERT INTO channel_holds (name, place, holder, held_until)
			SELECT $1, p.place, $2, now() + $4::interval
			FROM generate_series(0, $3 - 1) AS p (place)
			WHERE NOT EXISTS (SELECT FROM channel_holds h
			                  WHERE h.name = $1 AND h.place = p.place AND h.held_until >= now())
			ORDER BY p.place
			LIMIT 1
			ON CONFLICT (name, place) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until`,
			name, holder, slots, lease)
		held = tag.RowsAffected() > 0
		return err
	})
	return held, err
}

func (db *DB) ReleaseSlot(ctx context.Context, name string, holder uuid.UUID) error {
	_, err := db.pool.Exec(ctx, `DELETE FROM channel_holds WHERE name = $1 AND holder = $2`, name, holder)
	return translate(err)
}
