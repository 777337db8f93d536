package store

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// AttachSources implements chat.Store. It locks the thread to enforce the limit.
func (db *DB) AttachSources(
	ctx context.Context, owner identity.Owner, p chat.Preparation,
) (chat.Thread, uuid.UUID, error) {
	id := uuidv7.New()
	thread, err := db.changeThread(ctx, owner, p.ThreadID, func(tx pgx.Tx) error {
		if err := lockThread(ctx, tx, owner, p.ThreadID); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `
			INSERT INTO preparations (id, organization_id, user_id, request_id, thread_id, data_source_ids)
			VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (user_id, request_id) DO NOTHING`,
			id, owner.OrganizationID, owner.UserID, p.RequestID, p.ThreadID, p.SourceIDs)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			id, err = samePreparation(ctx, tx, owner, p)
			return err
		}
		return attach(ctx, tx, owner, p)
	})
	return thread, id, err
}

// samePreparation returns the id of an earlier preparation by the same request. It returns ErrRequestConflict if that
// preparation belongs to another thread or has other data sources.
func samePreparation(
	ctx context.Context, tx pgx.Tx, owner identity.Owner, p chat.Preparation,
) (id uuid.UUID, err error) {
	var threadID uuid.UUID
	var sources []uuid.UUID
	err = tx.QueryRow(ctx, `
		SELECT id, thread_id, data_source_ids
		FROM preparations
		WHERE organization_id = $1 AND user_id = $2 AND request_id = $3`,
		owner.OrganizationID, owner.UserID, p.RequestID).Scan(&id, &threadID, &sources)
	if err == nil && (threadID != p.ThreadID || !slices.Equal(sources, p.SourceIDs)) {
		err = chat.ErrRequestConflict
	}
	return id, err
}

func attach(ctx context.Context, tx pgx.Tx, owner identity.Owner, p chat.Preparation) error {
	var known, attached int
	err := tx.QueryRow(ctx, `
		WITH own AS (
		    SELECT d.id, w.place
		    FROM unnest($4::uuid[]) WITH ORDINALITY AS w (id, place)
		    JOIN data_sources d ON d.id = w.id AND d.organization_id = $1 AND d.user_id = $2
		), added AS (
		    INSERT INTO thread_data_sources (organization_id, thread_id, data_source_id)
		    SELECT $1, $3, id FROM own ORDER BY place
		    ON CONFLICT (thread_id, data_source_id) DO NOTHING
		    RETURNING data_source_id
		)
		SELECT (SELECT count(*) FROM own),
		       (SELECT count(*) FROM added) + (SELECT count(*) FROM thread_data_sources WHERE thread_id = $3)`,
		owner.OrganizationID, owner.UserID, p.ThreadID, p.SourceIDs).Scan(&known, &attached)
	switch {
	case err != nil:
		return err
	case known < len(p.SourceIDs):
		return noSource(nil)
	case attached > datasource.MaxSearchSources:
		return fault.Errorf(fault.Conflict, "一つのチャットで使えるファイルは%d件までです。新しいチャットを作成してください。",
			datasource.MaxSearchSources)
	}
	return exec(ctx, tx, `UPDATE threads SET updated_at = clock_timestamp() WHERE organization_id = $1 AND id = $2`,
		owner.OrganizationID, p.ThreadID)
}
