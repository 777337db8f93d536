package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/ngram"
)

// pendingText is a text that is waiting to be indexed.
type pendingText struct {
	ID             int64
	OrganizationID uuid.UUID
	UserID         uuid.UUID
	ThreadID       uuid.UUID
	MessageID      *uuid.UUID
	Text           string
}

// IndexPending implements chat.Store. Triggers queue new texts in the transaction that writes them, so that a
// crash loses none. Both rows are locked with SKIP LOCKED, so that deleting a thread waits for neither.
func (db *DB) IndexPending(ctx context.Context, owner *identity.Owner, since time.Duration, limit int) (int, error) {
	var userID *uuid.UUID
	if owner != nil {
		userID = &owner.UserID
	}
	return txResult(ctx, db, func(tx pgx.Tx) (int, error) {
		texts, err := queryRows[pendingText](ctx, tx, `
			SELECT p.id, p.organization_id, p.user_id, p.thread_id, p.message_id,
			       CASE WHEN p.message_id IS NULL THEN t.title
			            ELSE coalesce((SELECT m.content FROM messages m WHERE m.id = p.message_id), '') END AS text
			FROM search_pending p
			JOIN threads t ON t.id = p.thread_id AND t.organization_id = p.organization_id
			WHERE ($1::uuid IS NULL OR p.user_id = $1) AND p.queued_at <= now() - $3::interval
			ORDER BY p.id
			LIMIT $2
			FOR UPDATE OF p SKIP LOCKED
			FOR KEY SHARE OF t SKIP LOCKED`, userID, limit, since)
		if err != nil || len(texts) == 0 {
			return 0, err
		}
		return len(texts), send(ctx, tx, func(batch *pgx.Batch) {
			ids := make([]int64, len(texts))
			for i, t := range texts {
				ids[i] = t.ID
				batch.Queue(`
					INSERT INTO search_entries (organization_id, user_id, thread_id, message_id, keys)
					VALUES ($1, $2, $3, $4, $5)
					ON CONFLICT (thread_id, message_id) DO UPDATE SET keys = excluded.keys`,
					t.OrganizationID, t.UserID, t.ThreadID, t.MessageID, ngram.Keys(t.UserID[:], ngram.Fold(t.Text)))
			}
			batch.Queue(`DELETE FROM search_pending WHERE id = ANY($1)`, ids)
		})
	})
}

// Candidates implements chat.Store. Message ids are UUIDv7, so the newest one is the greatest.
func (db *DB) Candidates(
	ctx context.Context, owner identity.Owner, keys []int32, after *chat.CandidateCursor, limit int,
) (list []chat.Candidate, err error) {
	var place chat.CandidateCursor
	if after != nil {
		place = *after
	}
	err = db.batch(ctx, func(batch *pgx.Batch) {
		// The planner underestimates the cost of reading the keys of a row: for a common word it would scan the whole
		// table.
		batch.Queue(`SELECT set_config('enable_seqscan', 'off', true)`)
		batch.Queue(candidatesSQL, owner.OrganizationID, owner.UserID, keys, after != nil, place.TouchedAt, place.ID,
			limit).Query(collect(&list))
	})
	return list, err
}

// candidatesSQL finds threads by the keys of their entries. Its parameters are organization, user, keys, whether to
// continue after a place, the two values of that place, and the maximum number of threads.
const candidatesSQL = `
	WITH hit AS MATERIALIZED (
	    SELECT e.thread_id, e.message_id
	    FROM search_entries e
	    WHERE e.keys @> $3 AND e.organization_id = $1 AND e.user_id = $2
	), page AS MATERIALIZED (
	    SELECT t.*
	    FROM threads t
	    WHERE t.organization_id = $1 AND t.user_id = $2 AND ` + mayRead + `
	      AND t.id IN (SELECT h.thread_id FROM hit h)
	      AND (NOT $4 OR (t.touched_at, t.id) < ($5, $6))
	    ORDER BY t.touched_at DESC, t.id DESC
	    LIMIT $7
	)
	SELECT ` + threadColumns + `, ` + isRunning + `,
	       h.in_title, h.messages
	FROM page t
	JOIN skills s ON s.id = t.skill_id
	JOIN (SELECT h.thread_id, bool_or(h.message_id IS NULL) AS in_title,
	             coalesce(array_agg(h.message_id ORDER BY h.message_id DESC) FILTER (WHERE h.message_id IS NOT NULL),
	                 '{}') AS messages
	      FROM hit h
	      WHERE h.thread_id IN (SELECT p.id FROM page p)
	      GROUP BY h.thread_id) h ON h.thread_id = t.id
	ORDER BY t.touched_at DESC, t.id DESC`

// Texts implements chat.Store.
func (db *DB) Texts(ctx context.Context, owner identity.Owner, messages []uuid.UUID) (map[uuid.UUID]string, error) {
	type row struct {
		ID      uuid.UUID
		Content string
	}
	rows, err := queryRows[row](ctx, db.pool, `
		SELECT m.id, m.content
		FROM messages m
		JOIN threads t ON t.id = m.thread_id AND t.organization_id = $1 AND `+mayRead+`
		WHERE m.id = ANY($3) AND m.organization_id = $1`, owner.OrganizationID, owner.UserID, messages)
	texts := make(map[uuid.UUID]string, len(rows))
	for _, r := range rows {
		texts[r.ID] = r.Content
	}
	return texts, err
}
