package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/proofread"
)

// GiveFeedback implements chat.Store. If the answer is still being generated, the error has the code fault.Conflict.
func (db *DB) GiveFeedback(
	ctx context.Context, owner identity.Owner, messageID uuid.UUID, feedback chat.Feedback,
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		message, err := findMessage(ctx, tx, owner, messageID)
		switch {
		case err != nil:
			return err
		case message.Role != chat.RoleAssistant:
			return chat.ErrNoMessage
		case !message.Status.Terminal():
			return fault.Errorf(fault.Conflict, "回答の作成が完了してから評価してください。")
		}
		err = exec(ctx, tx, `
			INSERT INTO message_feedback (organization_id, user_id, message_id, rating, comment, shows)
			VALUES ($1, $2, $3, $4, $5, CASE WHEN $6 THEN 'text' ELSE 'comment' END)
			ON CONFLICT (message_id, user_id) DO UPDATE
			SET rating = excluded.rating, comment = excluded.comment, shows = excluded.shows, updated_at = now()`,
			owner.OrganizationID, owner.UserID, messageID, feedback.Rating, feedback.Comment, feedback.WithText)
		if hasCode(err, codeForeignKey) {
			return chat.ErrNoMessage // Deleted concurrently.
		}
		return err
	})
}

// WithdrawFeedback implements chat.Store.
func (db *DB) WithdrawFeedback(
	ctx context.Context, owner identity.Owner, messageID uuid.UUID,
) (removed bool, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		if _, err := findMessage(ctx, tx, owner, messageID); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `
			DELETE FROM message_feedback WHERE organization_id = $1 AND user_id = $2 AND message_id = $3`,
			owner.OrganizationID, owner.UserID, messageID)
		removed = tag.RowsAffected() > 0
		return err
	})
	return removed, err
}

// PutDecisions implements chat.Store.
func (db *DB) PutDecisions(
	ctx context.Context, owner identity.Owner, messageID uuid.UUID, d proofread.Decisions,
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if _, err := findMessage(ctx, tx, owner, messageID); err != nil {
			return err
		}
		err := exec(ctx, tx, `
			INSERT INTO message_decisions (organization_id, message_id, accepted, refused)
			VALUES ($1, $2, $3, $4)
			ON CONFLICT (message_id)
			DO UPDATE SET accepted = excluded.accepted, refused = excluded.refused, updated_at = now()`,
			owner.OrganizationID, messageID, d.Accepted, d.Refused)
		if hasCode(err, codeForeignKey) {
			return chat.ErrNoMessage // Deleted concurrently.
		}
		return err
	})
}
