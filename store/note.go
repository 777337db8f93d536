package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/chat/ground"
)

var _ ground.Notes = (*DB)(nil)

// Bounds of the notes that are kept.
const (
	noteDays  = 7    // Days.
	noteCount = 1000 // Of a person: those of documents of some 10,000 pages.
	noteBatch = 100  // Removed at a time.
)

// FindNote implements ground.Notes.
func (db *DB) FindNote(ctx context.Context, owner chat.Owner, key [32]byte) (note string, found bool, _ error) {
	err := db.pool.QueryRow(ctx, `
		SELECT note
		FROM summary_notes
		WHERE organization_id = $1 AND user_id = $2 AND key = $3 AND noted_at > now() - make_interval(days => $4)`,
		owner.OrganizationID, owner.UserID, key[:], noteDays).Scan(&note)
	if isNoRows(err) {
		return "", false, nil
	}
	return note, err == nil, translate(err)
}

// PutNote implements ground.Notes.
func (db *DB) PutNote(ctx context.Context, owner chat.Owner, n ground.Note) error {
	return db.batch(ctx, func(batch *pgx.Batch) {
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
		batch.Queue(spendWithoutAnswer, owner.OrganizationID, owner.UserID, n.ModelID, storableCount(n.InputTokens),
			storableCount(n.OutputTokens))
	})
}
