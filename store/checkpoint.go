package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// AddCheckpoints implements chat.Store. It locks the generations, so that none is taken over before the pieces are
// committed. Those that are locked are about to end or to be taken over.
func (db *DB) AddCheckpoints(ctx context.Context, serverID uuid.UUID, pieces []chat.Checkpoint) ([]uuid.UUID, error) {
	var (
		ids, runs = make([]uuid.UUID, len(pieces)), make([]int, len(pieces))
		starts    = make([]int, len(pieces))
		texts     = make([]string, len(pieces))
		sources   = make([]string, len(pieces)) // Arrays in PostgreSQL's text form, because unnest would flatten them.
	)
	for i, p := range pieces {
		ids[i], runs[i], starts[i], texts[i] = p.MessageID, p.Run, p.Start, p.Text
		sources[i] = textArray(p.Sources)
	}
	return queryValues[uuid.UUID](ctx, db.pool, `
		WITH pieces AS (
		    SELECT * FROM unnest($2::uuid[], $3::int[], $4::int[], $5::text[], $6::text[])
		        AS p (message_id, run, start, text, sources)
		), current AS (
		    SELECT g.message_id
		    FROM generations g JOIN pieces p ON p.message_id = g.message_id AND p.run = g.run
		    WHERE g.server_id = $1 AND g.ended_at IS NULL
		    FOR SHARE OF g SKIP LOCKED
		)
		INSERT INTO checkpoints (message_id, run, start, text, sources)
		SELECT p.message_id, p.run, p.start, p.text, p.sources::uuid[]
		FROM pieces p JOIN current c ON c.message_id = p.message_id
		RETURNING message_id`, serverID, ids, runs, starts, texts, sources)
}

// textArray returns ids as an array in PostgreSQL's text form.
func textArray(ids []uuid.UUID) string {
	text := []byte("{")
	for i, id := range ids {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, id.String()...)
	}
	return string(append(text, '}'))
}

// BeginRun implements chat.Store.
func (db *DB) BeginRun(ctx context.Context, serverID uuid.UUID, begin chat.RunBeginning) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := execRow(ctx, tx, chat.ErrStaleRun, `
			UPDATE generations
			SET continued = $4, continued_run = $2
			WHERE message_id = $1 AND `+isCurrentRun, begin.MessageID, begin.Run, serverID, begin.Continued); err != nil {
			return err
		}
		err := exec(ctx, tx, `DELETE FROM checkpoints WHERE message_id = $1`, begin.MessageID)
		if err != nil || begin.Text == "" {
			return err
		}
		return exec(ctx, tx, `
			INSERT INTO checkpoints (message_id, run, start, text, sources)
			VALUES ($1, $2, 0, $3, $4)`, begin.MessageID, begin.Run, begin.Text, orEmpty(begin.Sources))
	})
}

// loadKnownText reads the stored text of a generation that was taken over.
func loadKnownText(ctx context.Context, tx pgx.Tx, messageID uuid.UUID) (chat.KnownText, error) {
	pieces, err := queryRows[struct {
		Run       int
		Text      string
		Sources   []uuid.UUID
		Continued []stream.Cursor
	}](ctx, tx, `
		SELECT c.run, c.text, c.sources, CASE WHEN g.continued_run = c.run THEN g.continued END AS continued
		FROM checkpoints c JOIN generations g ON g.message_id = c.message_id
		WHERE c.message_id = $1
		ORDER BY c.start`, messageID)
	if err != nil || len(pieces) == 0 {
		return chat.KnownText{}, err
	}
	first := pieces[0]
	known := chat.KnownText{Run: first.Run, Sources: orNil(first.Sources), Continued: first.Continued}
	for _, p := range pieces {
		known.Text += p.Text
	}
	return known, nil
}
