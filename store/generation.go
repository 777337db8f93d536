package store

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/fault"
)

// BeginGeneration implements chat.Store. A person waits for it before the first word, so that it makes as few round trips
// as it can: begin, look, write, commit.
func (db *DB) BeginGeneration(ctx context.Context, b chat.Begin) (chat.Begun, error) {
	var begun chat.Begun
	err := db.tx(ctx, func(tx pgx.Tx) error {
		known, err := lockForBegin(ctx, tx, b)
		if err != nil {
			return err
		}
		if known != nil {
			begun = chat.Begun{Exchange: *known, Existing: true}
			return nil
		}
		begun, err = insertExchange(ctx, tx, b)
		return err
	})
	if violates(err, "generations_user_id_request_id_key") {
		// The same request id at the same time in another thread, and so with another body.
		return chat.Begun{}, chat.ErrRequestConflict
	}
	return begun, err
}

// lockForBegin locks the thread and returns what the request has begun before, or nil. If an answer is being written in
// the thread, the error is ErrThreadBusy. The statements travel together; each sees what was committed before the lock was
// given.
func lockForBegin(ctx context.Context, tx pgx.Tx, b chat.Begin) (*chat.Exchange, error) {
	var one int
	var request *requestRow
	busy := false
	batch := &pgx.Batch{}
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
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return nil, err
	}
	if request != nil {
		exchange, err := request.exchange(ctx, tx, b.Owner, b.RequestHash)
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
// touches the thread, and reads what has become of it, in one round trip. The thread is locked.
func insertExchange(ctx context.Context, tx pgx.Tx, b chat.Begin) (chat.Begun, error) {
	questionID := b.QuestionID
	batch := &pgx.Batch{}
	if b.Regenerate == nil {
		batch.Queue(`
			INSERT INTO messages (id, organization_id, thread_id, role, content, prompt, status, completed_at)
			VALUES ($1, $2, $3, 'user', $4, $5, 'success', now())`,
			b.QuestionID, b.Owner.OrganizationID, b.ThreadID, b.Content, b.Prompt)
	} else {
		var err error
		if questionID, err = questionOfLast(ctx, tx, b); err != nil {
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
	err := tx.SendBatch(ctx, batch).Close()
	return begun, err
}

// questionOfLast returns what the answer to be asked again answers, or ErrNotLast if it is not the thread's last message.
func questionOfLast(ctx context.Context, tx pgx.Tx, b chat.Begin) (uuid.UUID, error) {
	var last uuid.UUID
	var question *uuid.UUID // Nil for a question, which no answer follows.
	err := tx.QueryRow(ctx, `
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
func (db *DB) EndGeneration(ctx context.Context, o chat.Outcome) error {
	err := db.endGeneration(ctx, o)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && fault.CodeOf(err) == fault.Internal && isRefusal(pg.Code) {
		return fault.Wrap(err, fault.Invalid, "回答を保存できませんでした。")
	}
	return err
}

// isRefusal reports whether a code says that the data will never do: 22 data exceptions, 23 violated constraints, 54
// limits of the program.
func isRefusal(code string) bool {
	return strings.HasPrefix(code, "22") || strings.HasPrefix(code, "23") || strings.HasPrefix(code, "54")
}

// endGeneration is EndGeneration. The condition on run and server is checked again when the row is written: a
// server that was only slow cannot overwrite what its successor does.
func (db *DB) endGeneration(ctx context.Context, o chat.Outcome) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE threads
			SET updated_at = clock_timestamp()
			WHERE id = (SELECT g.thread_id FROM generations g
			            WHERE g.message_id = $1 AND g.run = $2 AND g.server_id = $3 AND g.ended_at IS NULL)`,
			o.MessageID, o.Run, o.ServerID)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return checkEnded(ctx, tx, o)
		}
		tag, err = tx.Exec(ctx, `
			UPDATE generations
			SET ended_at = now()
			WHERE message_id = $1 AND run = $2 AND server_id = $3 AND ended_at IS NULL`,
			o.MessageID, o.Run, o.ServerID)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return checkEnded(ctx, tx, o)
		}
		return completeMessage(ctx, tx, o)
	})
}

// checkEnded returns nil if this very run of this server has ended before: the first try was stored, and only its
// acknowledgement was lost.
func checkEnded(ctx context.Context, tx pgx.Tx, o chat.Outcome) error {
	var ended bool
	err := tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM generations
		               WHERE message_id = $1 AND run = $2 AND server_id = $3 AND ended_at IS NOT NULL)`,
		o.MessageID, o.Run, o.ServerID).Scan(&ended)
	if err == nil && !ended {
		return chat.ErrStaleRun
	}
	return err
}

func completeMessage(ctx context.Context, tx pgx.Tx, o chat.Outcome) error {
	failure := chat.Failure{}
	if o.Failure != nil {
		failure = *o.Failure
	}
	_, err := tx.Exec(ctx, `
		UPDATE messages
		SET content = $2, status = $3, finish_reason = $4, error_code = $5, error_detail = $6, error_retryable = $7,
		    model = $8, input_tokens = $9, output_tokens = $10, citations = $11, steps = $12, completed_at = clock_timestamp()
		WHERE id = $1`,
		o.MessageID, storable(o.Content), o.Status, o.FinishReason, storable(failure.Code), storable(failure.Detail),
		failure.Retryable, storable(o.Model), storableCount(o.InputTokens), storableCount(o.OutputTokens),
		orEmpty(o.Citations), orEmpty(o.Steps))
	return err
}

// storableCount returns a count that the column takes: providers report what they like, and an answer that cannot be
// stored would be tried again for ever.
func storableCount(n int) int { return min(max(n, 0), math.MaxInt32) }
