package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
)

// claimableChannel is the channel on which servers are notified of events and deliveries that may be claimed. It has no
// payload.
const claimableChannel = "tsumugi_channel"

// ClaimDeliveries implements channel.Store.
func (db *DB) ClaimDeliveries(ctx context.Context, limit int, lease time.Duration) ([]channel.Delivery, error) {
	list, err := queryRows[channel.Delivery](ctx, db.pool, `
		WITH free AS (
		    SELECT answer_id
		    FROM channel_deliveries
		    WHERE ended_at IS NULL AND claimed_until < now()
		    ORDER BY claimed_until
		    LIMIT $1
		    FOR UPDATE SKIP LOCKED
		), claimed AS (
		    UPDATE channel_deliveries d
		    SET claim = gen_random_uuid(), claimed_until = now() + $2::interval
		    FROM free
		    WHERE d.answer_id = free.answer_id
		    RETURNING d.*
		)
		SELECT `+deliveryColumns+`
		FROM claimed`, limit, lease)
	return list, translate(err)
}

// SaveDelivery implements channel.Store.
func (db *DB) SaveDelivery(ctx context.Context, d channel.Delivery) error {
	tag, err := db.pool.Exec(ctx, `
		UPDATE channel_deliveries
		SET progress = $4
		WHERE organization_id = $1 AND answer_id = $2 AND claim = $3`, d.OrganizationID, d.AnswerID, d.Claim, d.Progress)
	return requireClaim(tag.RowsAffected(), err)
}

// EndDelivery implements channel.Store.
func (db *DB) EndDelivery(ctx context.Context, d channel.Delivery) error {
	tag, err := db.pool.Exec(ctx, `
		UPDATE channel_deliveries
		SET progress = $4, ended_at = now(), claim = NULL
		WHERE organization_id = $1 AND answer_id = $2 AND claim = $3`, d.OrganizationID, d.AnswerID, d.Claim, d.Progress)
	return requireClaim(tag.RowsAffected(), err)
}

// ReleaseDelivery implements channel.Store.
func (db *DB) ReleaseDelivery(ctx context.Context, d channel.Delivery, after time.Duration) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE channel_deliveries
			SET progress = $4, claim = NULL, claimed_until = clock_timestamp() + $5::interval
			WHERE organization_id = $1 AND answer_id = $2 AND claim = $3`,
			d.OrganizationID, d.AnswerID, d.Claim, d.Progress, after)
		if err := requireClaim(tag.RowsAffected(), err); err != nil || after > 0 {
			return err
		}
		_, err = tx.Exec(ctx, `SELECT pg_notify($1, '')`, claimableChannel)
		return err
	})
}

// RenewClaims implements channel.Store.
func (db *DB) RenewClaims(ctx context.Context, claimed []channel.ClaimKey, lease time.Duration) ([]uuid.UUID, error) {
	var events, deliveries, ids, answers []uuid.UUID
	var names []string
	for _, c := range claimed {
		if c.Delivery {
			deliveries, answers = append(deliveries, c.Claim), append(answers, c.ID)
			continue
		}
		events, ids, names = append(events, c.Claim), append(ids, c.ID), append(names, c.EventID)
	}
	var lost []uuid.UUID
	err := db.batch(ctx, func(batch *pgx.Batch) {
		lost = nil
		take := func(rows pgx.Rows) error {
			some, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
			lost = append(lost, some...)
			return err
		}
		batch.Queue(`
			WITH mine AS (SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS m (claim, installation_id, event_id)),
			renewed AS (
			    UPDATE channel_events e
			    SET claimed_until = now() + $4::interval
			    FROM mine m
			    WHERE e.installation_id = m.installation_id AND e.event_id = m.event_id AND e.claim = m.claim
			    RETURNING e.claim
			)
			SELECT claim FROM mine EXCEPT SELECT claim FROM renewed`,
			orEmpty(events), orEmpty(ids), orEmpty(names), lease).Query(take)
		batch.Queue(`
			WITH mine AS (SELECT * FROM unnest($1::uuid[], $2::uuid[]) AS m (claim, answer_id)),
			renewed AS (
			    UPDATE channel_deliveries d
			    SET claimed_until = now() + $3::interval
			    FROM mine m
			    WHERE d.answer_id = m.answer_id AND d.claim = m.claim
			    RETURNING d.claim
			)
			SELECT claim FROM mine EXCEPT SELECT claim FROM renewed`,
			orEmpty(deliveries), orEmpty(answers), lease).Query(take)
	})
	return lost, err
}

// WatchChannels implements channel.Store.
func (db *DB) WatchChannels(ctx context.Context, notify func()) {
	db.listen(ctx, claimableChannel, listener{began: notify, notified: func(string) { notify() }, lost: func(error) {}})
}
