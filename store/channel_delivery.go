package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// claimableChannel is the channel on which servers are notified of events and deliveries that may be claimed. It has no
// payload.
const claimableChannel = "tsumugi_channel"

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

func (db *DB) SaveDelivery(ctx context.Context, d channel.Delivery) error {
	return requireClaim(db.pool.Exec(ctx, `
		UPDATE channel_deliveries
		SET progress = $4
		WHERE organization_id = $1 AND answer_id = $2 AND claim = $3`, d.OrganizationID, d.AnswerID, d.Claim, d.Progress))
}

func (db *DB) EndDelivery(ctx context.Context, d channel.Delivery) error {
	return requireClaim(db.pool.Exec(ctx, `
		UPDATE channel_deliveries
		SET progress = $4, ended_at = now(), claim = NULL
		WHERE organization_id = $1 AND answer_id = $2 AND claim = $3`, d.OrganizationID, d.AnswerID, d.Claim, d.Progress))
}

func (db *DB) ReleaseDelivery(ctx context.Context, d channel.Delivery, after time.Duration) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		err := requireClaim(tx.Exec(ctx, `
			UPDATE channel_deliveries
			SET progress = $4, claim = NULL, claimed_until = clock_timestamp() + $5::interval
			WHERE organization_id = $1 AND answer_id = $2 AND claim = $3`,
			d.OrganizationID, d.AnswerID, d.Claim, d.Progress, after))
		if err != nil || after > 0 {
			return err
		}
		_, err = tx.Exec(ctx, `SELECT pg_notify($1, '')`, claimableChannel)
		return err
	})
}

func (db *DB) RenewDeliveries(
	ctx context.Context, held []channel.Delivery, lease time.Duration,
) ([]uuid.UUID, error) {
	answers, claims := make([]uuid.UUID, len(held)), make([]uuid.UUID, len(held))
	for i, d := range held {
		answers[i], claims[i] = d.AnswerID, d.Claim
	}
	return lostLeases(db.pool.Query(ctx, `
		WITH held AS (SELECT * FROM unnest($1::uuid[], $2::uuid[]) AS h (answer_id, claim)),
		renewed AS (
		    UPDATE channel_deliveries d
		    SET claimed_until = now() + $3::interval
		    FROM held h
		    WHERE d.answer_id = h.answer_id AND d.claim = h.claim
		    RETURNING d.answer_id
		)
		SELECT answer_id FROM held EXCEPT SELECT answer_id FROM renewed`, answers, claims, lease))
}

func (db *DB) CheckMember(ctx context.Context, member identity.Owner) error {
	return execRow(ctx, db.pool, org.ErrNoMember, `
		SELECT 1 FROM users u JOIN organizations o ON o.id = u.organization_id
		WHERE u.organization_id = $1 AND u.id = $2 AND `+memberState+` = $3`,
		member.OrganizationID, member.UserID, identity.StateActive)
}

func (db *DB) WatchChannels(ctx context.Context, notify func()) {
	db.listen(ctx, claimableChannel, listener{began: notify, notified: func(string) { notify() }, lost: func(error) {}})
}
