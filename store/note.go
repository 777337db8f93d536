package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat/ground"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

var _ ground.Notes = (*DB)(nil)

// Limits for stored notes.
const (
	noteDays  = 7    // Days.
	noteCount = 1000 // Per user. This covers documents of about 10,000 pages.
	noteBatch = 100  // Removed at a time.
)

func (db *DB) FindNote(ctx context.Context, owner identity.Owner, key [32]byte) (note string, found bool, _ error) {
	note, err := queryValue[string](ctx, db.pool, `
		SELECT note
		FROM summary_notes
		WHERE organization_id = $1 AND user_id = $2 AND key = $3 AND noted_at > now() - make_interval(days => $4)`,
		owner.OrganizationID, owner.UserID, key[:], noteDays)
	return note, err == nil, ifNoRows(err, nil)
}

func (db *DB) PutNote(ctx context.Context, owner identity.Owner, n ground.Note) (counted bool, _ error) {
	err := db.batch(ctx, func(batch *pgx.Batch) {
		if n.Text != "" {
			batch.Queue(`
				INSERT INTO summary_notes (organization_id, user_id, key, note)
				VALUES ($1, $2, $3, $4)
				ON CONFLICT (user_id, key) DO UPDATE SET note = excluded.note, noted_at = now()`,
				owner.OrganizationID, owner.UserID, n.Key[:], storable(n.Text))
			batch.Queue(`
				DELETE FROM summary_notes
				WHERE organization_id = $1 AND user_id = $2 AND key IN (
				    SELECT key FROM summary_notes WHERE user_id = $2 ORDER BY noted_at DESC, key OFFSET $3)`,
				owner.OrganizationID, owner.UserID, noteCount)
			batch.Queue(`
				DELETE FROM summary_notes
				WHERE (user_id, key) IN (
				    SELECT user_id, key FROM summary_notes
				    WHERE noted_at < now() - make_interval(days => $1)
				    LIMIT $2
				    FOR UPDATE SKIP LOCKED)`, noteDays, noteBatch)
		}
		batch.Queue(`
			WITH answer AS (
			    UPDATE messages m
			    SET `+moreTokens("$5", "$6")+`
			    FROM threads t
			    WHERE m.id = $4 AND m.organization_id = $1 AND t.id = m.thread_id AND `+isOpenTo+`
			    RETURNING m.id
			), spent AS (
			    SELECT $1::uuid AS organization_id, $2::uuid AS user_id, $3::text AS model_id, 0 AS messages,
			           $5::int AS input_tokens, $6::int AS output_tokens
			    FROM answer
			), `+countUsage+`
			SELECT FROM spent`,
			owner.OrganizationID, owner.UserID, n.ModelID, n.AnswerID, storableCount(n.InputTokens),
			storableCount(n.OutputTokens)).Exec(setAffected(&counted))
	})
	return counted && err == nil, err
}

// moreTokens is a part of an UPDATE of messages that adds input and output tokens, which are parameters. A sum is
// limited to the range of its column.
func moreTokens(input, output string) string {
	return `input_tokens = least(m.input_tokens::bigint + ` + input + `::int, 2147483647)::int,
			        output_tokens = least(m.output_tokens::bigint + ` + output + `::int, 2147483647)::int`
}
