package store

import (
	"context"
	"strconv"
	"strings"
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
func (db *DB) IndexPending(ctx context.Context, owners []uuid.UUID, since time.Duration, limit int) (int, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (int, error) {
		texts, err := queryRows[pendingText](ctx, tx, `
			SELECT p.id, p.organization_id, p.user_id, p.thread_id, p.message_id,
			       CASE WHEN p.message_id IS NULL THEN t.title
			            ELSE coalesce((SELECT m.content FROM messages m WHERE m.id = p.message_id), '') END AS text
			FROM search_pending p
			JOIN threads t ON t.id = p.thread_id AND t.organization_id = p.organization_id
			WHERE ($1::uuid[] IS NULL OR p.user_id = ANY ($1)) AND p.queued_at <= now() - $3::interval
			ORDER BY p.id
			LIMIT $2
			FOR UPDATE OF p SKIP LOCKED
			FOR KEY SHARE OF t SKIP LOCKED`, owners, limit, since)
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

func (db *DB) ThreadOwners(ctx context.Context, reader identity.Owner, projectID uuid.UUID) ([]uuid.UUID, error) {
	return queryValues[uuid.UUID](ctx, db.pool, `
		SELECT DISTINCT t.user_id
		FROM threads t
		WHERE t.organization_id = $1 AND t.project_id = $3 AND `+mayRead, reader.OrganizationID, reader.UserID, projectID)
}

// Candidates implements chat.Store. Message ids are UUIDv7, so the newest one is the greatest.
func (db *DB) Candidates(
	ctx context.Context, reader identity.Owner, query chat.CandidateQuery, after *chat.CandidateCursor, limit int,
) (list []chat.Candidate, err error) {
	var place chat.CandidateCursor
	if after != nil {
		place = *after
	}
	sql, args := ownThreadsSQL, []any{
		reader.OrganizationID, reader.UserID, after != nil, place.TouchedAt, place.ID, limit, query.Shared,
	}
	if query.ProjectID == nil {
		args = append(args, query.Keys[reader.UserID])
	} else {
		var owners []uuid.UUID
		var keys []string
		for owner, list := range query.Keys {
			owners, keys = append(owners, owner), append(keys, arrayText(list))
		}
		sql, args = projectThreadsSQL, append(args, *query.ProjectID, owners, keys)
	}
	err = db.batch(ctx, func(batch *pgx.Batch) {
		// The planner underestimates the cost of reading the keys of a row: for a common word it would scan the whole
		// table.
		batch.Queue(`SELECT set_config('enable_seqscan', 'off', true)`)
		batch.Queue(sql, args...).Query(collect(&list))
	})
	return list, err
}

// arrayText returns the text of an array in SQL.
func arrayText(numbers []int32) string {
	text := convert(numbers, func(n int32) string { return strconv.Itoa(int(n)) })
	return "{" + strings.Join(text, ",") + "}"
}

// The statements that find threads by the keys of their entries: the threads of the user, or of a project. Their first
// parameters are organization, user, whether to continue after a place, the two values of that place, the maximum
// number of threads, and whether they are shared. The next ones are the keys, or the project, the owners of its threads
// and their keys as texts.
const (
	ownThreadsSQL = `
	WITH hit AS MATERIALIZED (
	    SELECT e.thread_id, e.message_id
	    FROM search_entries e
	    WHERE e.keys @> $8 AND e.organization_id = $1 AND e.user_id = $2
	), page AS MATERIALIZED (
	    SELECT t.*
	    FROM threads t
	    WHERE t.user_id = $2` + threadsOfHits

	projectThreadsSQL = `
	WITH hit AS MATERIALIZED (
	    SELECT e.thread_id, e.message_id
	    FROM unnest($9::uuid[], $10::text[]) AS w (user_id, keys)
	    JOIN search_entries e ON e.keys @> w.keys::int4[] AND e.organization_id = $1 AND e.user_id = w.user_id
	), page AS MATERIALIZED (
	    SELECT t.*
	    FROM threads t
	    WHERE t.project_id = $8` + threadsOfHits
)

const threadsOfHits = ` AND t.organization_id = $1 AND ` + mayRead + `
	      AND t.id IN (SELECT h.thread_id FROM hit h)
	      AND ($7::boolean IS NULL OR (t.visibility = 'project') = $7)
	      AND (NOT $3 OR (t.touched_at, t.id) < ($4, $5))
	    ORDER BY t.touched_at DESC, t.id DESC
	    LIMIT $6
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

func (db *DB) Texts(ctx context.Context, reader identity.Owner, messages []uuid.UUID) (map[uuid.UUID]string, error) {
	type row struct {
		ID      uuid.UUID
		Content string
	}
	rows, err := queryRows[row](ctx, db.pool, `
		SELECT m.id, m.content
		FROM messages m
		JOIN threads t ON t.id = m.thread_id AND t.organization_id = $1 AND `+mayRead+`
		WHERE m.id = ANY($3) AND m.organization_id = $1`, reader.OrganizationID, reader.UserID, messages)
	texts := make(map[uuid.UUID]string, len(rows))
	for _, r := range rows {
		texts[r.ID] = r.Content
	}
	return texts, err
}
