package store

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// waitingSQL reads the questions that wait in the thread $3, which the user may read.
const waitingSQL = `
	SELECT w.id, w.thread_id, w.content, w.created_at, t.project_id AS shared_in,
	       row_number() OVER (ORDER BY w.place)::int AS waiting, jsonb_build_object('ID', u.id, 'Name', u.name) AS author
	FROM waiting_questions w
	JOIN users u ON u.id = w.user_id
	JOIN threads t ON t.id = w.thread_id AND t.organization_id = $1 AND ` + mayRead + `
	WHERE w.thread_id = $3
	ORDER BY w.place`

func (db *DB) ListWaiting(ctx context.Context, owner identity.Owner, threadID uuid.UUID) ([]chat.Message, error) {
	return listWaiting(ctx, db.pool, owner, threadID)
}

func listWaiting(ctx context.Context, q querier, owner identity.Owner, threadID uuid.UUID) ([]chat.Message, error) {
	list, err := queryRows[chat.Message](ctx, q, waitingSQL, owner.OrganizationID, owner.UserID, threadID)
	for i := range list {
		m := &list[i]
		m.Role, m.Status, m.Siblings = chat.RoleUser, chat.StatusPending, []uuid.UUID{m.ID}
		m.Citations, m.Steps = []chat.Citation{}, []chat.Step{}
	}
	return list, err
}

// AddWaiting implements chat.Store. The lock on the thread makes the end of its answer either visible here, or later
// than the stored question, which the server that ends the answer then finds.
func (db *DB) AddWaiting(ctx context.Context, w chat.WaitingQuestion) (*chat.Message, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (*chat.Message, error) {
		if err := lockToAsk(ctx, tx, w.Owner, w.ThreadID); err != nil {
			return nil, err
		}
		known, err := queryRows[struct {
			ID          uuid.UUID
			RequestHash []byte
		}](ctx, tx, `SELECT id, request_hash FROM waiting_questions WHERE user_id = $1 AND request_id = $2`,
			w.Owner.UserID, w.RequestID)
		if err != nil {
			return nil, err
		}
		id := w.ID
		if len(known) > 0 {
			if id = known[0].ID; !slices.Equal(known[0].RequestHash, w.RequestHash[:]) {
				return nil, chat.ErrRequestConflict
			}
		} else if added, err := addWaiting(ctx, tx, w); !added || err != nil {
			return nil, err
		}
		waiting, err := listWaiting(ctx, tx, w.Owner, w.ThreadID)
		if i := slices.IndexFunc(waiting, func(m chat.Message) bool { return m.ID == id }); err == nil && i >= 0 {
			return &waiting[i], nil
		}
		if err == nil {
			err = chat.ErrRequestConflict // The question waits in another thread.
		}
		return nil, err
	})
}

// addWaiting reports whether the question was added. It was not if its thread is free or its answer has begun.
func addWaiting(ctx context.Context, tx pgx.Tx, w chat.WaitingQuestion) (bool, error) {
	var busy, begun bool
	var waiting int
	if err := tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM generations WHERE organization_id = $1 AND thread_id = $2 AND ended_at IS NULL),
		       EXISTS (SELECT FROM generations WHERE organization_id = $1 AND user_id = $3 AND request_id = $4),
		       (SELECT count(*) FROM waiting_questions WHERE organization_id = $1 AND thread_id = $2)`,
		w.Owner.OrganizationID, w.ThreadID, w.Owner.UserID, w.RequestID).Scan(&busy, &begun, &waiting); err != nil {
		return false, err
	}
	switch {
	case begun, !busy && waiting == 0:
		return false, nil
	case waiting >= chat.MaxWaiting:
		return false, chat.ErrQueueFull
	}
	return true, exec(ctx, tx, `
		INSERT INTO waiting_questions (id, organization_id, thread_id, user_id, request_id, request_hash, content, question)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		w.ID, w.Owner.OrganizationID, w.ThreadID, w.Owner.UserID, w.RequestID, w.RequestHash[:], storable(w.Content),
		w.Question)
}

func (db *DB) RemoveWaiting(ctx context.Context, owner identity.Owner, id uuid.UUID) (chat.Thread, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (chat.Thread, error) {
		found, err := queryRows[struct{ ThreadID, UserID uuid.UUID }](ctx, tx, `
			SELECT w.thread_id, w.user_id
			FROM waiting_questions w
			JOIN threads t ON t.id = w.thread_id AND t.organization_id = $1 AND `+mayRead+`
			WHERE w.organization_id = $1 AND w.id = $3
			FOR UPDATE OF w`, owner.OrganizationID, owner.UserID, id)
		switch {
		case err != nil:
			return chat.Thread{}, err
		case len(found) == 0:
			if _, err = findMessage(ctx, tx, owner, id); err == nil {
				err = chat.ErrNotWaiting
			}
			return chat.Thread{}, err
		case found[0].UserID != owner.UserID:
			return chat.Thread{}, chat.ErrNotAuthor
		}
		if err := exec(ctx, tx, `DELETE FROM waiting_questions WHERE organization_id = $1 AND id = $2`,
			owner.OrganizationID, id); err != nil {
			return chat.Thread{}, err
		}
		return findThread(ctx, tx, owner, found[0].ThreadID)
	})
}

func (db *DB) DropWaiting(ctx context.Context, organizationID, id uuid.UUID) (chat.Readers, error) {
	return findRow[chat.Readers](ctx, db.pool, chat.ErrNoMessage, `
		DELETE FROM waiting_questions w
		USING threads t
		WHERE w.organization_id = $1 AND w.id = $2 AND t.id = w.thread_id
		RETURNING `+readersColumns, organizationID, id)
}

// NextWaiting implements chat.Store. The table has few rows, so that every sweep may read it.
func (db *DB) NextWaiting(ctx context.Context, threadID *uuid.UUID, limit int) ([]chat.WaitingQuestion, error) {
	type row struct {
		chat.WaitingQuestion
		OrganizationID uuid.UUID
		UserID         uuid.UUID
		RequestHash    []byte
	}
	rows, err := queryRows[row](ctx, db.pool, `
		SELECT w.id, w.organization_id, w.user_id, w.thread_id, w.request_id, w.request_hash, w.content, w.question
		FROM waiting_questions w
		WHERE ($1::uuid IS NULL OR w.thread_id = $1)
		  AND NOT EXISTS (SELECT FROM waiting_questions x WHERE x.thread_id = w.thread_id AND x.place < w.place)
		  AND NOT EXISTS (SELECT FROM generations g WHERE g.thread_id = w.thread_id AND g.ended_at IS NULL)
		ORDER BY w.place
		LIMIT $2`, threadID, limit)
	return convert(rows, func(r row) chat.WaitingQuestion {
		w := r.WaitingQuestion
		w.Owner = identity.Owner{OrganizationID: r.OrganizationID, UserID: r.UserID}
		w.RequestHash = [32]byte(r.RequestHash)
		return w
	}), err
}
