package store

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// Two rows determine which server runs a generation: the generation names a server and a run, and the server's row has
// the time of its last heartbeat. All times are those of the database's clock.
//
// A renewal writes the row of its server and then reads the generations. A takeover locks the rows of the dead servers,
// so that they cannot renew, while it reassigns their generations. This serializes the two: either the server is alive
// and keeps all its generations, or its renewal reports the generations that it has lost.

// Renew implements chat.Store. Both statements are sent together; the second one sees everything that was committed
// before the server's row could be written.
func (db *DB) Renew(ctx context.Context, serverID uuid.UUID, owned []chat.RunID) (chat.Renewal, error) {
	var renewal chat.Renewal
	err := send(ctx, db.priorityPool, func(batch *pgx.Batch) {
		batch.Queue(`
			INSERT INTO servers (id) VALUES ($1)
			ON CONFLICT (id) DO UPDATE SET heartbeat_at = now()`, serverID)
		if len(owned) == 0 {
			return
		}
		ids, runs := splitRuns(owned)
		batch.Queue(`
			SELECT h.message_id, g.message_id IS NULL AS lost
			FROM unnest($2::uuid[], $3::int[]) AS h (message_id, run)
			LEFT JOIN generations g
			  ON g.message_id = h.message_id AND g.run = h.run AND g.server_id = $1 AND g.ended_at IS NULL
			WHERE g.message_id IS NULL OR g.stop_requested_at IS NOT NULL`,
			serverID, ids, runs).Query(func(rows pgx.Rows) error {
			var id uuid.UUID
			var lost bool
			_, err := pgx.ForEachRow(rows, []any{&id, &lost}, func() error {
				if lost {
					renewal.Lost = append(renewal.Lost, id)
				} else {
					renewal.Stopped = append(renewal.Stopped, id)
				}
				return nil
			})
			return err
		})
	})
	return renewal, err
}

func splitRuns(owned []chat.RunID) (ids []uuid.UUID, runs []int) {
	ids, runs = make([]uuid.UUID, len(owned)), make([]int, len(owned))
	for i, h := range owned {
		ids[i], runs[i] = h.MessageID, h.Run
	}
	return ids, runs
}

func (db *DB) EndedRuns(ctx context.Context, runs []chat.RunID, ago time.Duration) ([]chat.RunID, error) {
	ids, numbers := splitRuns(runs)
	return queryRows[chat.RunID](ctx, db.pool, `
		SELECT r.message_id, r.run
		FROM unnest($1::uuid[], $2::int[]) AS r (message_id, run)
		LEFT JOIN generations g ON g.message_id = r.message_id
		WHERE g.message_id IS NULL OR g.run > r.run OR g.ended_at < now() - $3::interval`,
		ids, numbers, ago)
}

func (db *DB) RemoveServer(ctx context.Context, serverID uuid.UUID) error {
	return exec(ctx, db.priorityPool, `DELETE FROM servers WHERE id = $1`, serverID)
}

// deadServerAge is the time after which the row of a silent server is removed.
const deadServerAge = time.Hour

// TakeOver implements chat.Store.
//
// It determines the dead servers first and then selects the generations by these ids alone. With a join of both, a
// generation that another server takes over concurrently could be selected again: after waiting for a row lock,
// PostgreSQL checks the new version of the row against the old versions of the joined rows.
func (db *DB) TakeOver(ctx context.Context, serverID uuid.UUID, owned []uuid.UUID, lease time.Duration, limit,
	epoch int,
) ([]chat.StoredGeneration, error) {
	return txResult(ctx, db, func(tx pgx.Tx) ([]chat.StoredGeneration, error) {
		dead, err := lockDeadServers(ctx, tx, serverID, lease)
		if err != nil {
			return nil, err
		}
		taken, err := queryRows[takeoverRow](ctx, tx, `
			WITH picked AS (
			    SELECT message_id
			    FROM generations
			    WHERE ended_at IS NULL
			      AND (server_id = ANY ($2)
			           OR (server_id = $1 AND started_at < now() - $4::interval AND message_id <> ALL ($3)))
			    ORDER BY started_at, message_id
			    LIMIT $5
			    FOR UPDATE SKIP LOCKED
			)
			UPDATE generations g
			SET run = greatest(g.run + 1, $6), attempts = g.attempts + 1, server_id = $1, started_at = now()
			FROM picked
			WHERE g.message_id = picked.message_id
			RETURNING g.message_id, g.organization_id, g.user_id, g.thread_id, g.attempts,
			          g.stop_requested_at IS NOT NULL AS stopped,
			          (SELECT t.title_provisional FROM threads t WHERE t.id = g.thread_id) AS untitled,
			          (SELECT t.instructions FROM threads t WHERE t.id = g.thread_id) AS instructions,
			          (SELECT `+projectContext+` FROM threads t WHERE t.id = g.thread_id) AS project`,
			serverID, dead, orEmpty(owned), lease, limit, epoch)
		if err != nil {
			return nil, err
		}
		return loadTakeovers(ctx, tx, taken)
	})
}

// lockDeadServers returns the other servers that have running generations and no row, or a heartbeat older than lease.
// It prevents their renewal until the transaction ends. To lock a server without a row, it inserts one with the oldest
// possible time. A server that is renewing concurrently is not dead. It also removes the rows of servers that are dead
// for deadServerAge and have no generations.
func lockDeadServers(ctx context.Context, tx pgx.Tx, serverID uuid.UUID, lease time.Duration) ([]uuid.UUID, error) {
	var dead []uuid.UUID
	err := send(ctx, tx, func(batch *pgx.Batch) {
		batch.Queue(`
		DELETE FROM servers s
		WHERE s.id <> $1 AND s.heartbeat_at < now() - $2::interval
		  AND NOT EXISTS (SELECT FROM generations g WHERE g.server_id = s.id AND g.ended_at IS NULL)`,
			serverID, max(deadServerAge, lease))
		batch.Queue(`
		INSERT INTO servers (id, heartbeat_at)
		SELECT DISTINCT g.server_id, '-infinity'::timestamptz
		FROM generations g
		WHERE g.ended_at IS NULL AND g.server_id <> $1
		  AND NOT EXISTS (SELECT FROM servers s WHERE s.id = g.server_id)
		ORDER BY 1
		ON CONFLICT (id) DO NOTHING`, serverID)
		batch.Queue(`
		SELECT s.id
		FROM servers s
		WHERE s.id <> $1 AND s.heartbeat_at < now() - $2::interval
		  AND EXISTS (SELECT FROM generations g WHERE g.server_id = s.id AND g.ended_at IS NULL)
		ORDER BY s.id
		FOR SHARE OF s SKIP LOCKED`, serverID, lease).Query(collectValues(&dead))
	})
	return orEmpty(dead), err
}

// takeoverRow is a generation that was taken over.
type takeoverRow struct {
	identity.Owner
	MessageID    uuid.UUID
	ThreadID     uuid.UUID
	Attempts     int
	Stopped      bool
	Untitled     bool
	Instructions string
	Project      *chat.ProjectContext
}

// loadTakeovers reads the threads and exchanges of generations one by one. There are few of them, and only after a
// server has died.
func loadTakeovers(ctx context.Context, tx pgx.Tx, rows []takeoverRow) ([]chat.StoredGeneration, error) {
	taken := make([]chat.StoredGeneration, 0, len(rows))
	for _, r := range rows {
		thread, err := findGenerationThread(ctx, tx, r.Owner, r.ThreadID)
		if err != nil {
			return nil, err
		}
		exchange, err := findExchange(ctx, tx, r.Owner, r.MessageID)
		if err != nil {
			return nil, err
		}
		known, err := loadKnownText(ctx, tx, r.MessageID)
		if err != nil {
			return nil, err
		}
		taken = append(taken, chat.StoredGeneration{
			Owner: r.Owner, Exchange: exchange, Thread: thread, Untitled: r.Untitled, Stopped: r.Stopped,
			Attempts: r.Attempts, Instructions: r.Instructions, Project: r.Project, Known: known,
		})
	}
	return taken, nil
}

// AddCheckpoints implements chat.Store. It locks the generations, so that none is taken over before the pieces are
// committed. It skips generations that another transaction has locked, which ends them or takes them over. A piece whose
// acknowledgement was lost is replaced by the same one with more text.
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
		ON CONFLICT (message_id, start) DO UPDATE SET text = excluded.text
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

func (db *DB) BeginRun(ctx context.Context, serverID uuid.UUID, begin chat.RunBeginning) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := execRow(ctx, tx, chat.ErrStaleRun, `
			UPDATE generations
			SET continued = $4, continued_run = $2
			WHERE message_id = $1 AND `+isCurrentRun, begin.MessageID, begin.Run, serverID, begin.Continued); err != nil {
			return err
		}
		err := exec(ctx, tx, `DELETE FROM checkpoints WHERE message_id = $1`, begin.MessageID)
		if err == nil && begin.KeepTools {
			err = exec(ctx, tx, `UPDATE tool_calls SET run = $2 WHERE message_id = $1`, begin.MessageID, begin.Run)
		} else if err == nil {
			err = send(ctx, tx, func(batch *pgx.Batch) {
				batch.Queue(`DELETE FROM tool_calls WHERE message_id = $1`, begin.MessageID)
				batch.Queue(cancelApprovalsSQL, begin.MessageID)
			})
		}
		if err != nil || begin.Text == "" {
			return err
		}
		return exec(ctx, tx, `
			INSERT INTO checkpoints (message_id, run, start, text, sources)
			VALUES ($1, $2, 0, $3, $4)`, begin.MessageID, begin.Run, begin.Text, orEmpty(begin.Sources))
	})
}

// loadKnownText reads the stored text of a generation that was taken over: its checkpoints, if they begin with the text of
// its rounds, else the rounds.
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
	if err != nil {
		return chat.KnownText{}, err
	}
	rounds, err := loadRounds(ctx, tx, messageID)
	if err != nil || len(pieces) == 0 {
		return rounds, err
	}
	first := pieces[0]
	known := chat.KnownText{
		Run: first.Run, Sources: orNil(first.Sources), Continued: first.Continued, Rounds: rounds.Rounds,
	}
	for _, p := range pieces {
		known.Text += p.Text
	}
	if len(rounds.Rounds) > 0 && (known.Run != rounds.Run || !strings.HasPrefix(known.Text, rounds.Text)) {
		return rounds, nil
	}
	return known, nil
}
