package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
)

var _ chat.ReviewStore = (*DB)(nil)

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

// ListReviews implements chat.ReviewStore.
func (db *DB) ListReviews(ctx context.Context, organizationID uuid.UUID, q chat.ReviewQuery) ([]chat.Review, int,
	error,
) {
	const where = whereReviews + `
	  AND ($4 = '' OR f.rating = $4)
	  AND ($5::uuid IS NULL OR s.id = $5 AND s.owner_id IS NULL)
	  AND ($6 = '' OR f.shows <> 'rating' AND position($6 IN lower(normalize(f.comment, NFKC))) > 0)`
	args := []any{organizationID, orNull(q.From), orNull(q.To), q.Rating, q.SkillID, normalizeSearch(q.Search)}
	return queryPage[chat.Review](ctx, db, `SELECT count(*)`+where, `
		SELECT `+reviewColumns+where+`
		ORDER BY f.updated_at DESC, f.message_id DESC
		OFFSET $7 LIMIT $8`, args, q.Offset, q.Limit)
}

// FindReview implements chat.ReviewStore.
func (db *DB) FindReview(ctx context.Context, organizationID, messageID uuid.UUID) (chat.ReviewText, error) {
	return findRow[chat.ReviewText](ctx, db.pool, chat.ErrNoMessage, `
		SELECT `+reviewColumns+`,
		       CASE WHEN f.shows = 'text' THEN (SELECT q.content FROM messages q
		            WHERE q.organization_id = m.organization_id AND q.id = m.parent_id) ELSE '' END AS question,
		       CASE WHEN f.shows = 'text' THEN m.content ELSE '' END AS answer`+fromReviews+` AND f.message_id = $2`,
		organizationID, messageID)
}

// CountRatings implements chat.ReviewStore.
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
