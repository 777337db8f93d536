package store

import (
	"context"
	"time"

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

// reviewColumns are the columns of a review. They include only those parts of a rating that its author shares.
const reviewColumns = `f.message_id AS id, f.updated_at AS at,
		CASE WHEN s.owner_id IS NULL THEN s.id END AS skill_id,
		CASE WHEN s.owner_id IS NULL THEN s.name ELSE '' END AS skill_name,
		coalesce(nullif(m.model_name, ''), m.model) AS model, f.rating,
		CASE WHEN f.shows <> 'rating' THEN f.comment ELSE '' END AS comment, f.shows = 'text' AS with_text,
		CASE WHEN f.shows = 'text' THEN u.name ELSE '' END AS person`

// fromReviews selects the ratings f in the organization $1, with the answer m, its skill s and the user u.
const fromReviews = `
	FROM message_feedback f
	JOIN users u ON u.organization_id = f.organization_id AND u.id = f.user_id
	JOIN messages m ON m.organization_id = f.organization_id AND m.id = f.message_id
	JOIN threads t ON t.organization_id = m.organization_id AND t.id = m.thread_id
	JOIN skills s ON s.id = t.skill_id
	WHERE f.organization_id = $1 AND (t.expires_at IS NULL OR t.expires_at > now())`

// whereReviews selects reviews between the times $2 and $3, NULL for no limit.
const whereReviews = fromReviews + `
	  AND ($2::timestamptz IS NULL OR f.updated_at >= $2) AND ($3::timestamptz IS NULL OR f.updated_at < $3)`

func (db *DB) ListReviews(ctx context.Context, organizationID uuid.UUID, q chat.ReviewQuery) ([]chat.Review, int,
	error,
) {
	return queryPage[chat.Review](ctx, db, `SELECT count(*)`+whereChosenReviews, pageOfReviews,
		reviewArgs(organizationID, q), q.Offset, q.Limit)
}

func (db *DB) EachReview(ctx context.Context, organizationID uuid.UUID, q chat.ReviewQuery, do func(chat.Review)) error {
	return eachRow(ctx, db.pool, do, pageOfReviews, append(reviewArgs(organizationID, q), q.Offset, q.Limit)...)
}

// whereChosenReviews selects the reviews of a query. Its parameters are those of reviewArgs.
const whereChosenReviews = whereReviews + `
	AND ($4 = '' OR f.rating = $4)
	AND ($5::uuid IS NULL OR s.id = $5 AND s.owner_id IS NULL)
	AND ($6 = '' OR f.shows <> 'rating' AND position($6 IN lower(normalize(f.comment, NFKC))) > 0)`

const pageOfReviews = `
	SELECT ` + reviewColumns + whereChosenReviews + `
	ORDER BY f.updated_at DESC, f.message_id DESC
	OFFSET $7 LIMIT $8`

func reviewArgs(organizationID uuid.UUID, q chat.ReviewQuery) []any {
	return []any{organizationID, orNull(q.From), orNull(q.To), q.Rating, q.SkillID, normalizeSearch(q.Search)}
}

func (db *DB) FindReview(ctx context.Context, organizationID, messageID uuid.UUID) (chat.ReviewText, error) {
	return findRow[chat.ReviewText](ctx, db.pool, chat.ErrNoMessage, `
		SELECT `+reviewColumns+`,
		       CASE WHEN f.shows = 'text' THEN (SELECT q.content FROM messages q
		            WHERE q.organization_id = m.organization_id AND q.id = m.parent_id) ELSE '' END AS question,
		       CASE WHEN f.shows = 'text' THEN m.content ELSE '' END AS answer`+fromReviews+` AND f.message_id = $2`,
		organizationID, messageID)
}

func (db *DB) CountRatings(ctx context.Context, organizationID uuid.UUID, from, to time.Time) ([]chat.SkillRatings,
	error,
) {
	return queryRows[chat.SkillRatings](ctx, db.pool, `
		SELECT CASE WHEN s.owner_id IS NULL THEN s.id END AS skill_id,
		       CASE WHEN s.owner_id IS NULL THEN s.name ELSE '' END AS skill_name,
		       count(*) FILTER (WHERE f.rating = 'good') AS good, count(*) FILTER (WHERE f.rating = 'bad') AS bad`+
		whereReviews+`
		GROUP BY 1, 2
		ORDER BY count(*) DESC, 2, 1`, organizationID, orNull(from), orNull(to))
}
