package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
)

// BeginGeneration implements chat.Store.
func (db *DB) BeginGeneration(ctx context.Context, b chat.Begin) (chat.Begun, error) {
	var begun chat.Begun
	err := db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockThread(ctx, tx, b.Owner, b.ThreadID); err != nil {
			return err
		}
		known, err := findRequest(ctx, tx, b.Owner, b.RequestID, b.RequestHash)
		if err != nil {
			return err
		}
		if known != nil {
			begun = chat.Begun{Exchange: *known, Existing: true}
			return nil
		}
		if err := checkIdle(ctx, tx, b.Owner, b.ThreadID); err != nil {
			return err
		}
		if err := insertExchange(ctx, tx, b); err != nil {
			return err
		}
		exchange, err := findExchange(ctx, tx, b.Owner, b.AnswerID)
		begun = chat.Begun{Exchange: exchange}
		return err
	})
	if violates(err, "generations_user_id_request_id_key") {
		// The same request id at the same time in another thread, and so with another body.
		return chat.Begun{}, chat.ErrRequestConflict
	}
	return begun, err
}

// checkIdle returns ErrThreadBusy if an answer is being written in a thread. The thread is locked.
func checkIdle(ctx context.Context, tx pgx.Tx, owner chat.Owner, threadID uuid.UUID) error {
	var busy bool
	err := tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM generations
		               WHERE thread_id = $2 AND organization_id = $1 AND ended_at IS NULL)`,
		owner.OrganizationID, threadID).Scan(&busy)
	if err == nil && busy {
		return chat.ErrThreadBusy
	}
	return err
}

// insertExchange adds the question, or none if an answer is asked again, the pending answer and its generation, and
// touches the thread, in one round trip. The thread is locked.
func insertExchange(ctx context.Context, tx pgx.Tx, b chat.Begin) error {
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
			return err
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
	batch.Queue(`
		UPDATE threads
		SET updated_at = clock_timestamp(), touched_at = clock_timestamp()
		WHERE id = $1 AND organization_id = $2`, b.ThreadID, b.Owner.OrganizationID)
	return tx.SendBatch(ctx, batch).Close()
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

// EndGeneration implements chat.Store. The condition on run and server is checked again when the row is written: a
// server that was only slow cannot overwrite what its successor does.
func (db *DB) EndGeneration(ctx context.Context, o chat.Outcome) error {
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
		failure.Retryable, storable(o.Model), o.InputTokens, o.OutputTokens, orEmpty(o.Citations), orEmpty(o.Steps))
	return err
}
