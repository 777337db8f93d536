package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/picture"
)

var _ picture.Store = (*DB)(nil)

// pictureColumns are the columns of a picture.Picture.
const pictureColumns = `id, width, height, media_type, size, thumbnail_size`

// picturesOf is a JSON array of the pictures of the message m, with the field names of picture.Picture. The database's
// function history_of_thread has a copy of it, because a function for both would be called for each message.
const picturesOf = `
	(SELECT coalesce(jsonb_agg(jsonb_build_object(
	        'ID', p.id, 'Width', p.width, 'Height', p.height, 'MediaType', p.media_type, 'Size', p.size,
	        'ThumbnailSize', p.thumbnail_size) ORDER BY mp.place), '[]')
	 FROM message_pictures mp
	 JOIN pictures p ON p.organization_id = mp.organization_id AND p.id = mp.picture_id
	 WHERE mp.message_id = m.id)`

func (db *DB) CreatePicture(ctx context.Context, owner identity.Owner, session uuid.UUID, requestID *uuid.UUID,
	p picture.Picture, limit int64,
) (stored picture.Picture, created bool, _ error) {
	err := db.tx(ctx, func(tx pgx.Tx) (err error) {
		if err := claimFile(ctx, tx, owner, session, p.ID); err != nil {
			return err
		}
		stored, err = queryRow[picture.Picture](ctx, tx, `
			SELECT `+pictureColumns+`
			FROM pictures
			WHERE organization_id = $1 AND user_id = $2 AND request_id = $3`,
			owner.OrganizationID, owner.UserID, requestID)
		if created = isNoRows(err); !created {
			if err == nil {
				err = exec(ctx, tx, `INSERT INTO loose_files (id) VALUES ($1)`, p.ID)
			}
			return err
		}
		if err := checkRoom(ctx, tx, owner, p.Size+p.ThumbnailSize, limit); err != nil {
			return err
		}
		stored, err = queryRow[picture.Picture](ctx, tx, `
			INSERT INTO pictures (id, organization_id, user_id, request_id, media_type, width, height, size,
			                      thumbnail_size)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
			RETURNING `+pictureColumns,
			p.ID, owner.OrganizationID, owner.UserID, requestID, p.MediaType, p.Width, p.Height, p.Size,
			p.ThumbnailSize)
		return err
	})
	return stored, created, err
}

func (db *DB) FindPictures(ctx context.Context, owner identity.Owner, ids []uuid.UUID) ([]picture.Picture, error) {
	list, err := queryRows[picture.Picture](ctx, db.pool, `
		SELECT `+pictureColumns+`
		FROM pictures
		JOIN unnest($3::uuid[]) WITH ORDINALITY AS wanted (picture_id, place) ON picture_id = id
		WHERE organization_id = $1 AND user_id = $2
		ORDER BY place`, owner.OrganizationID, owner.UserID, ids)
	if err == nil && len(list) < len(ids) {
		err = picture.ErrNoPicture
	}
	return list, err
}

func (db *DB) FindReadablePicture(ctx context.Context, reader identity.Owner, id uuid.UUID) (picture.Picture, error) {
	return findRow[picture.Picture](ctx, db.pool, picture.ErrNoPicture, `
		SELECT `+pictureColumns+`, p.user_id <> $2 AS shared
		FROM pictures p
		WHERE p.organization_id = $1 AND p.id = $3 AND (p.user_id = $2 OR EXISTS (
		    SELECT FROM message_pictures mp
		    JOIN messages m ON m.id = mp.message_id
		    JOIN threads t ON t.id = m.thread_id AND t.visibility = 'project'
		    WHERE mp.picture_id = p.id AND `+mayRead+`))`, reader.OrganizationID, reader.UserID, id)
}

// DeletePicture implements picture.Store. The row lock prevents questions from using the picture until the transaction
// ends, because their foreign key locks the same row.
func (db *DB) DeletePicture(ctx context.Context, owner identity.Owner, id uuid.UUID) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := execRow(ctx, tx, picture.ErrNoPicture, `
			SELECT 1 FROM pictures WHERE organization_id = $1 AND user_id = $2 AND id = $3 FOR UPDATE`,
			owner.OrganizationID, owner.UserID, id); err != nil {
			return err
		}
		used := fault.Errorf(fault.Conflict, "質問に使われている画像は削除できません。チャットを削除すると、画像も削除されます。")
		return execRow(ctx, tx, used, `
			DELETE FROM pictures p
			WHERE p.organization_id = $1 AND p.id = $2
			  AND NOT EXISTS (SELECT FROM message_pictures m WHERE m.picture_id = p.id)`, owner.OrganizationID, id)
	})
}

// DeleteUnused implements picture.Store. It locks the pictures before it looks for their questions, like DeletePicture.
func (db *DB) DeleteUnused(ctx context.Context, age time.Duration, limit int) (int, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (int, error) {
		ids, err := queryValues[uuid.UUID](ctx, tx, `
			SELECT p.id
			FROM pictures p
			WHERE p.created_at < now() - $1::interval
			  AND NOT EXISTS (SELECT FROM message_pictures m WHERE m.picture_id = p.id)
			ORDER BY p.created_at
			LIMIT $2
			FOR UPDATE OF p SKIP LOCKED`, age, limit)
		if err != nil || len(ids) == 0 {
			return 0, err
		}
		tag, err := tx.Exec(ctx, `
			DELETE FROM pictures p
			WHERE p.id = ANY ($1) AND NOT EXISTS (SELECT FROM message_pictures m WHERE m.picture_id = p.id)`, ids)
		return int(tag.RowsAffected()), err
	})
}
