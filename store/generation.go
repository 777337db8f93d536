package store

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/fault"
)

// BeginGeneration implements chat.Store. A person waits for it before the first word, so that it makes as few round trips
// as it can: begin and look, write and commit.
func (db *DB) BeginGeneration(ctx context.Context, b chat.Begin) (chat.Begun, error) {
	var begun chat.Begun
	err := db.openTx(ctx, func(conn *pgxpool.Conn) error {
		known, err := lockForBegin(ctx, conn, b)
		if err != nil {
			return err
		}
		if known != nil {
			begun = chat.Begun{Exchange: *known, Existing: true}
			return nil
		}
		begun, err = insertExchange(ctx, conn, b)
		return err
	})
	if violates(err, "generations_user_id_request_id_key") {
		// The same request id at the same time in another thread, and so with another body.
		return chat.Begun{}, chat.ErrRequestConflict
	}
	return begun, err
}

// lockForBegin begins the transaction, locks the thread and returns what the request has begun before, or nil. If an answer is being written in
// the thread, the error is ErrThreadBusy. The statements travel together; each sees what was committed before the lock was
// given.
func lockForBegin(ctx context.Context, conn *pgxpool.Conn, b chat.Begin) (*chat.Exchange, error) {
	var one int
	var request *requestRow
	busy := false
	batch := &pgx.Batch{}
	batch.Queue("begin")
	batch.Queue(lockThreadSQL, b.Owner.OrganizationID, b.Owner.UserID, b.ThreadID).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&one)
		if isNoRows(err) {
			return chat.ErrNoThread
		}
		return err
	})
	queueRequest(batch, b.Owner, b.RequestID, &request)
	batch.Queue(`
		SELECT EXISTS (SELECT FROM generations
		               WHERE thread_id = $2 AND organization_id = $1 AND ended_at IS NULL)`,
		b.Owner.OrganizationID, b.ThreadID).QueryRow(func(row pgx.Row) error { return row.Scan(&busy) })
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return nil, err
	}
	if request != nil {
		exchange, err := request.exchange(ctx, conn, b.Owner, b.RequestHash)
		if exchange != nil || err != nil {
			return exchange, err
		}
	}
	if busy {
		return nil, chat.ErrThreadBusy
	}
	return nil, nil
}

// insertExchange adds the question, or none if an answer is asked again, the pending answer and its generation, and
// touches the thread, reads what has become of it, and commits, in one round trip. The thread is locked.
func insertExchange(ctx context.Context, conn *pgxpool.Conn, b chat.Begin) (chat.Begun, error) {
	questionID := b.QuestionID
	batch := &pgx.Batch{}
	if b.Regenerate == nil {
		batch.Queue(`
			INSERT INTO messages (id, organization_id, thread_id, role, content, prompt, status, completed_at)
			VALUES ($1, $2, $3, 'user', $4, $5, 'success', now())`,
			b.QuestionID, b.Owner.OrganizationID, b.ThreadID, b.Content, b.Prompt)
	} else {
		var err error
		if questionID, err = questionOfLast(ctx, conn, b); err != nil {
			return chat.Begun{}, err
		}
	}
	batch.Queue(`
		INSERT INTO messages (id, organization_id, thread_id, role, status, question_id)
		VALUES ($1, $2, $3, 'assistant', 'pending', $4)`,
		b.AnswerID, b.Owner.OrganizationID, b.ThreadID, questionID)
	if b.Regenerate != nil {
		batch.Queue(`
			UPDATE messages
			SET replaced_by = $1
			WHERE id = $2 AND organization_id = $3 AND thread_id = $4`,
			b.AnswerID, *b.Regenerate, b.Owner.OrganizationID, b.ThreadID)
	}
	batch.Queue(`
		INSERT INTO generations (message_id, organization_id, user_id, thread_id, request_id, request_hash, server_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		b.AnswerID, b.Owner.OrganizationID, b.Owner.UserID, b.ThreadID, b.RequestID, b.RequestHash[:], b.ServerID)
	var begun chat.Begun
	batch.Queue(`
		UPDATE threads t
		SET updated_at = clock_timestamp(), touched_at = clock_timestamp()
		FROM skills s
		WHERE t.id = $1 AND t.organization_id = $2 AND s.id = t.skill_id
		RETURNING t.id, t.skill_id, s.name AS skill_name, s.icon_path AS skill_icon_path, t.title, t.created_at,
		          t.updated_at, t.touched_at, true AS running`,
		b.ThreadID, b.Owner.OrganizationID).Query(func(rows pgx.Rows) (err error) {
		begun.Thread, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[chat.Thread])
		return err
	})
	batch.Queue(selectMessage+whereExchange, b.Owner.OrganizationID, b.Owner.UserID, b.AnswerID).Query(func(rows pgx.Rows) error {
		list, err := pgx.CollectRows(rows, pgx.RowToStructByName[messageRow])
		if err != nil {
			return err
		}
		begun.Exchange, err = toExchange(list)
		return err
	})
	batch.Queue("commit")
	err := conn.SendBatch(ctx, batch).Close()
	return begun, err
}

// questionOfLast returns what the answer to be asked again answers, or ErrNotLast if it is not the thread's last message.
func questionOfLast(ctx context.Context, conn *pgxpool.Conn, b chat.Begin) (uuid.UUID, error) {
	var last uuid.UUID
	var question *uuid.UUID // Nil for a question, which no answer follows.
	err := conn.QueryRow(ctx, `
		SELECT id, question_id FROM messages
		WHERE thread_id = $2 AND organization_id = $1 AND replaced_by IS NULL
		ORDER BY seq DESC
		LIMIT 1`, b.Owner.OrganizationID, b.ThreadID).Scan(&last, &question)
	if isNoRows(err) || (err == nil && (last != *b.Regenerate || question == nil)) {
		return uuid.Nil, chat.ErrNotLast
	}
	if err != nil {
		return uuid.Nil, err
	}
	return *question, nil
}

// EndGeneration implements chat.Store. What the columns do not take, they will not take the next time.
func (db *DB) EndGeneration(ctx context.Context, o chat.Outcome) (chat.Ended, error) {
	ended, err := db.endGeneration(ctx, o)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && fault.CodeOf(err) == fault.Internal && isRefusal(pg.Code) {
		return chat.Ended{}, fault.Wrap(err, fault.Invalid, "回答を保存できませんでした。")
	}
	return ended, err
}

// isRefusal reports whether a code says that the data will never do: 22 data exceptions, 23 violated constraints, 54
// limits of the program.
func isRefusal(code string) bool {
	return strings.HasPrefix(code, "22") || strings.HasPrefix(code, "23") || strings.HasPrefix(code, "54")
}

// endGeneration is EndGeneration. The condition on run and server is checked again when the row is written: a
// server that was only slow cannot overwrite what its successor does. If this very run of this server has ended before,
// nothing is written and all is well: the first try was stored, and only its acknowledgement was lost.
func (db *DB) endGeneration(ctx context.Context, o chat.Outcome) (chat.Ended, error) {
	var (
		over     bool
		threads  []chat.Thread
		messages []messageRow
	)
	err := db.batch(ctx, func(batch *pgx.Batch) {
		batch.Queue(`
			UPDATE threads
			SET updated_at = clock_timestamp()
			WHERE id = (SELECT g.thread_id FROM generations g
			            WHERE g.message_id = $1 AND g.run = $2 AND g.server_id = $3 AND g.ended_at IS NULL)`,
			o.MessageID, o.Run, o.ServerID)
		queueOutcome(batch, o)
		batch.Queue(`
			SELECT EXISTS (SELECT FROM generations
			               WHERE message_id = $1 AND run = $2 AND server_id = $3 AND ended_at IS NOT NULL)`,
			o.MessageID, o.Run, o.ServerID).QueryRow(func(row pgx.Row) error { return row.Scan(&over) })
		queueThread(batch, o.Owner, o.ThreadID, &threads)
		batch.Queue(selectMessage+whereMessage, o.Owner.OrganizationID, o.Owner.UserID, o.MessageID).
			Query(func(rows pgx.Rows) (err error) {
				messages, err = pgx.CollectRows(rows, pgx.RowToStructByName[messageRow])
				return err
			})
	})
	switch {
	case err != nil:
		return chat.Ended{}, err
	case !over || len(threads) == 0 || len(messages) == 0:
		return chat.Ended{}, chat.ErrStaleRun
	}
	return chat.Ended{Thread: threads[0], Message: messages[0].message()}, nil
}

// queueOutcome has the generation end, the message completed and what it took counted, if the run is the server's own. It
// is one statement, so that what is counted once cannot be counted twice.
func queueOutcome(batch *pgx.Batch, o chat.Outcome) {
	failure := chat.Failure{}
	if o.Failure != nil {
		failure = *o.Failure
	}
	batch.Queue(`
		WITH ended AS (
		    UPDATE generations
		    SET ended_at = now()
		    WHERE message_id = $1 AND run = $13 AND server_id = $14 AND ended_at IS NULL
		    RETURNING message_id, organization_id, user_id
		), used AS (
		    INSERT INTO usage_daily AS d (organization_id, date, user_id, messages, input_tokens, output_tokens)
		    SELECT organization_id, `+japanToday+`, user_id, 1, $9, $10 FROM ended
		    ON CONFLICT (organization_id, date, user_id) DO UPDATE
		    SET messages = d.messages + 1, input_tokens = d.input_tokens + excluded.input_tokens,
		        output_tokens = d.output_tokens + excluded.output_tokens
		)
		UPDATE messages m
		SET content = $2, status = $3, finish_reason = $4, error_code = $5, error_detail = $6, error_retryable = $7,
		    model = $8, input_tokens = $9, output_tokens = $10, citations = $11, steps = $12, completed_at = clock_timestamp()
		FROM ended
		WHERE m.id = ended.message_id`,
		o.MessageID, storable(o.Content), o.Status, o.FinishReason, storable(failure.Code), storable(failure.Detail),
		failure.Retryable, storable(o.Model), storableCount(o.InputTokens), storableCount(o.OutputTokens),
		orEmpty(o.Citations), orEmpty(o.Steps), o.Run, o.ServerID)
}

// storableCount returns a count that the column takes: providers report what they like, and an answer that cannot be
// stored would be tried again for ever.
func storableCount(n int) int { return min(max(n, 0), math.MaxInt32) }
