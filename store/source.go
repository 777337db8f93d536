package store

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

var _ datasource.Store = (*DB)(nil)

// orphanBatch is how many orphans are listed at a time.
const orphanBatch = 100

// sourceColumns are the columns of a datasource.Source.
const sourceColumns = `id, user_id, filename, media_type, size, sha256, status, failure, notice, page_count, chunk_count, ` +
	`stage, done, total, revision, created_at`

// isOwn is the condition that the data source d belongs to the owner $1, $2. The zero UUID is the owner of documents
// that only skills and projects use.
const isOwn = `d.organization_id = $1 AND coalesce(d.user_id, '00000000-0000-0000-0000-000000000000') = $2`

func noSource(err error) error {
	return fault.Wrap(err, fault.NotFound, "ファイルが見つかりません。")
}

func (db *DB) MarkOrphan(ctx context.Context, id uuid.UUID, after time.Duration) error {
	return exec(ctx, db.pool, `
		INSERT INTO loose_files (id, remove_at)
		VALUES ($1, now() + $2)
		ON CONFLICT (id) DO UPDATE SET remove_at = excluded.remove_at`, id, after)
}

func (db *DB) CreateSource(ctx context.Context, owner identity.Owner, session uuid.UUID, source datasource.Source,
	limit int64,
) (stored datasource.Source, created bool, _ error) {
	err := db.tx(ctx, func(tx pgx.Tx) (err error) {
		if err := claimFile(ctx, tx, owner, session, source.ID); err != nil {
			return err
		}
		stored, err = queryRow[datasource.Source](ctx, tx, `
			SELECT `+sourceColumns+`
			FROM data_sources
			WHERE organization_id = $1 AND user_id = $2 AND sha256 = $3
			FOR NO KEY UPDATE`,
			owner.OrganizationID, owner.UserID, source.SHA256)
		if created = isNoRows(err); created {
			stored, err = insertSource(ctx, tx, owner, source, limit)
			return err
		}
		return reuseSource(ctx, tx, owner, source, &stored, err)
	})
	return stored, created, err
}

// reuseSource makes the file of an upload an orphan, because the data source stored has the same content. It queues
// stored again if it had failed, with the name of the upload. A colleague's file in a project keeps its name, unless the
// upload has another format, which may be the correct one. It returns err, the error of the search for stored, unless
// err is nil.
func reuseSource(ctx context.Context, tx pgx.Tx, owner identity.Owner, upload datasource.Source,
	stored *datasource.Source, err error,
) error {
	if err == nil {
		err = exec(ctx, tx, `INSERT INTO loose_files (id) VALUES ($1)`, upload.ID)
	}
	colleagues := stored.UserID != uuid.Nil && stored.UserID != owner.UserID
	if colleagues && upload.MediaType == stored.MediaType {
		upload.Filename = stored.Filename
	}
	if err == nil && stored.Status == datasource.Failed {
		*stored, err = requeueSource(ctx, tx, owner, stored.ID, upload)
	}
	return err
}

// claimFile assigns an orphaned file to its owner, who must still be a member and signed in. Its row locks last until
// the transaction ends. They serialize a user's uploads, so that nothing is stored twice and the limit is kept, and
// prevent changes of the user and the session.
func claimFile(ctx context.Context, tx pgx.Tx, owner identity.Owner, session, id uuid.UUID) error {
	active, err := findValue[bool](ctx, tx, identity.ErrNoUser, `
		SELECT state = $3
		FROM users
		WHERE organization_id = $1 AND id = $2
		FOR NO KEY UPDATE`, owner.OrganizationID, owner.UserID, identity.StateActive)
	if err == nil && !active {
		err = identity.ErrNoUser
	}
	if err != nil {
		return err
	}
	ended, err := queryValue[bool](ctx, tx, `SELECT revoked_at IS NOT NULL FROM pool_grants WHERE id = $1 FOR SHARE`,
		session)
	switch {
	case ended:
		return identity.ErrExpired
	case err != nil && !isNoRows(err): // AWS grants are not stored here.
		return err
	}
	late := fault.Errorf(fault.Conflict, "アップロードに時間がかかりすぎました。もう一度お試しください。")
	return execRow(ctx, tx, late, `DELETE FROM loose_files WHERE id = $1 AND remove_at > now()`, id)
}

func insertSource(ctx context.Context, tx pgx.Tx, owner identity.Owner, source datasource.Source,
	limit int64,
) (datasource.Source, error) {
	count, err := queryValue[int](ctx, tx, `SELECT count(*) FROM data_sources WHERE organization_id = $1 AND user_id = $2`,
		owner.OrganizationID, owner.UserID)
	if err != nil {
		return datasource.Source{}, err
	}
	if count >= datasource.MaxSources {
		return datasource.Source{}, fault.Errorf(fault.Conflict,
			"ファイルは%d件まで保存できます。使わないものを削除してから、もう一度アップロードしてください。", datasource.MaxSources)
	}
	if err := checkRoom(ctx, tx, owner, source.Size, limit); err != nil {
		return datasource.Source{}, err
	}
	return queryRow[datasource.Source](ctx, tx, `
		INSERT INTO data_sources (id, organization_id, user_id, filename, media_type, size, sha256)
		VALUES ($1, $2, $3, $4, $5, $6, $7)
		RETURNING `+sourceColumns,
		source.ID, owner.OrganizationID, owner.UserID, source.Filename, source.MediaType, source.Size, source.SHA256)
}

// filesSQL are the sizes of the files of the organization $1: data sources, and pictures of questions.
const filesSQL = `
	SELECT user_id, size FROM data_sources WHERE organization_id = $1
	UNION ALL
	SELECT user_id, size + thumbnail_size FROM pictures WHERE organization_id = $1`

// checkRoom refuses a file that exceeds the storage limit of the user, unless limit is 0, or of the organization. The lock on the contract
// serializes the uploads of an organization until the transaction ends, and keeps the limit unchanged.
func checkRoom(ctx context.Context, tx pgx.Tx, owner identity.Owner, size, limit int64) error {
	allowed, err := queryValue[int64](ctx, tx, `SELECT storage FROM contracts WHERE organization_id = $1 FOR NO KEY UPDATE`,
		owner.OrganizationID)
	if err != nil {
		return err
	}
	var own, all int64
	// A separate statement sees rows that were committed while the first one waited for the lock.
	err = tx.QueryRow(ctx, `
		SELECT coalesce(sum(size) FILTER (WHERE user_id = $2), 0)::bigint, coalesce(sum(size), 0)::bigint
		FROM (`+filesSQL+`) files`,
		owner.OrganizationID, owner.UserID).Scan(&own, &all)
	switch {
	case err != nil:
		return err
	case limit > 0 && own+size > limit:
		return fault.Errorf(fault.StorageLimit,
			"保存できるファイルの合計（%s）を超えます。使わないファイルや、画像を使ったチャットを削除してから、"+
				"もう一度アップロードしてください。", inBytes(limit))
	case all+size > allowed:
		return fault.Errorf(fault.StorageLimit,
			"組織で保存できるファイルの合計（%s）を超えます。管理者にご相談ください。", inBytes(allowed))
	}
	return nil
}

// inBytes formats a limit for error messages.
func inBytes(n int64) string {
	if n >= 1<<30 {
		return strconv.FormatFloat(float64(n)/(1<<30), 'f', -1, 64) + " GB"
	}
	return strconv.FormatFloat(float64(n)/(1<<20), 'f', -1, 64) + " MB"
}

// requeueSource queues a failed source for another attempt and sets its name to that of this upload.
func requeueSource(ctx context.Context, tx pgx.Tx, owner identity.Owner, id uuid.UUID,
	named datasource.Source,
) (datasource.Source, error) {
	return queryRow[datasource.Source](ctx, tx, `
		UPDATE data_sources
		SET status = 'pending', failure = '', notice = '', readings = 0, slow = false, read_after = now(),
		    reading = reading + 1, revision = revision + 1, filename = $3, media_type = $4
		WHERE organization_id = $1 AND id = $2
		RETURNING `+sourceColumns,
		owner.OrganizationID, id, named.Filename, named.MediaType)
}

func (db *DB) ListSources(ctx context.Context, owner identity.Owner, offset, limit int) ([]datasource.Source, error) {
	return queryRows[datasource.Source](ctx, db.pool, `
		SELECT `+sourceColumns+`
		FROM data_sources
		WHERE organization_id = $1 AND user_id = $2
		ORDER BY created_at DESC, id DESC
		OFFSET $3 LIMIT $4`,
		owner.OrganizationID, owner.UserID, offset, limit)
}

func (db *DB) StorageUsed(ctx context.Context, owner identity.Owner) (int64, error) {
	return queryValue[int64](ctx, db.pool, `
		SELECT coalesce(sum(size), 0)::bigint
		FROM (`+filesSQL+`) files
		WHERE user_id = $2`, owner.OrganizationID, owner.UserID)
}

func (db *DB) FindSources(ctx context.Context, owner identity.Owner, ids []uuid.UUID) ([]datasource.Source, error) {
	return queryRows[datasource.Source](ctx, db.pool, `
		SELECT `+sourceColumns+`
		FROM data_sources d
		JOIN unnest($3::uuid[]) WITH ORDINALITY AS wanted (source_id, place) ON source_id = d.id
		WHERE `+isOwn+`
		ORDER BY place`, owner.OrganizationID, owner.UserID, ids)
}

func (db *DB) FindSource(ctx context.Context, owner identity.Owner, id uuid.UUID) (datasource.Source, error) {
	return findRow[datasource.Source](ctx, db.pool, noSource(nil), `
		SELECT `+sourceColumns+`
		FROM data_sources d
		WHERE `+isReadable+` AND d.id = $3`,
		owner.OrganizationID, owner.UserID, id)
}

// DeleteSource implements datasource.Store. A trigger makes its file an orphan. If shared skills or projects use the data
// source, a trigger gives it to them instead; then no row counts as deleted.
func (db *DB) DeleteSource(ctx context.Context, owner identity.Owner, id uuid.UUID) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := execRow(ctx, tx, noSource(nil), `
			SELECT FROM data_sources
			WHERE organization_id = $1 AND user_id = $2 AND id = $3
			FOR UPDATE`, owner.OrganizationID, owner.UserID, id); err != nil {
			return err
		}
		attached, err := queryValues[uuid.UUID](ctx, tx, `
			SELECT thread_id FROM thread_data_sources WHERE data_source_id = $1`, id)
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `DELETE FROM data_sources WHERE id = $1`, id)
		if err != nil || tag.RowsAffected() == 0 { // Shared skills or projects keep the file.
			return err
		}
		return forgetQuotes(ctx, tx, owner, id, attached)
	})
}

func (db *DB) FinishReading(ctx context.Context, reading datasource.Reading,
	result datasource.ReadingResult,
) (source datasource.Source, _ error) {
	status := datasource.Success
	if result.Failure != "" {
		status = datasource.Failed
	}
	err := db.tx(ctx, func(tx pgx.Tx) (err error) {
		source, err = findRow[datasource.Source](ctx, tx, noSource(nil), `
			UPDATE data_sources
			SET status = $4, failure = $5, page_count = $6, chunk_count = $7, notice = $8, stage = '',
			    read_until = NULL, reading = reading + 1, revision = revision + 1
			WHERE organization_id = $1 AND id = $2 AND reading = $3
			RETURNING `+sourceColumns,
			reading.Owner.OrganizationID, reading.ID, reading.Number, status, result.Failure, result.PageCount,
			len(result.Chunks), result.Notice)
		if err != nil {
			return err
		}
		for _, table := range []string{"embeddings", "data_source_chunks"} {
			if err := exec(ctx, tx, `DELETE FROM `+table+` WHERE data_source_id = $1`, reading.ID); err != nil {
				return err
			}
		}
		_, err = tx.CopyFrom(ctx, pgx.Identifier{"data_source_chunks"},
			[]string{
				"id", "organization_id", "data_source_id", "ordinal", "page", "start_byte", "end_byte", "locator",
				"text",
			},
			pgx.CopyFromSlice(len(result.Chunks), func(i int) ([]any, error) {
				c := result.Chunks[i]
				return []any{
					uuidv7.New(), reading.Owner.OrganizationID, reading.ID, c.Ordinal, c.Page, c.Start,
					c.End, c.Locator, c.Text,
				}, nil
			}))
		if err != nil || status == datasource.Failed {
			return err
		}
		return insertIndex(ctx, tx, reading.Owner, datasource.IndexedSource{ID: reading.ID, Reading: reading.Number + 1},
			result.Index)
	})
	return source, err
}

// ListOrphans implements datasource.Store. It returns none while a backup runs, which may copy files whose rows were
// deleted after its snapshot. A backup that takes the lock later has a later snapshot, without these rows.
func (db *DB) ListOrphans(ctx context.Context, after uuid.UUID) ([]uuid.UUID, error) {
	// The check for a row protects a stored file whose upload was reported as failed and discarded.
	return queryValues[uuid.UUID](ctx, db.pool, `
		SELECT l.id
		FROM loose_files l
		WHERE (SELECT pg_try_advisory_xact_lock_shared(`+backupLock+`))
		  AND l.remove_at <= now() AND l.id > $1 AND NOT EXISTS (SELECT FROM data_sources d WHERE d.id = l.id)
		  AND NOT EXISTS (SELECT FROM pictures p WHERE p.id = l.id)
		ORDER BY l.id
		LIMIT $2`, after, orphanBatch)
}

func (db *DB) DeleteOrphan(ctx context.Context, id uuid.UUID) error {
	return exec(ctx, db.pool, `DELETE FROM loose_files WHERE id = $1`, id)
}

// forgetQuotes removes the name, place and quote of a deleted data source from the citations of its owner's answers and
// of those in the threads that it was attached to, and thereby from their shares. A citation that the text of the answer
// refers to keeps its number. Passages that were only consulted are removed.
func forgetQuotes(ctx context.Context, tx pgx.Tx, owner identity.Owner, id uuid.UUID, attached []uuid.UUID) error {
	return exec(ctx, tx, `
		UPDATE messages m
		SET citations = `+withoutDeleted("m.citations", "c->>'data_source_id' = $3::text")+`
		FROM threads t
		WHERE t.organization_id = $1 AND (t.user_id = $2 OR t.id = ANY ($4)) AND m.thread_id = t.id AND m.organization_id = $1
		  AND m.citations @> jsonb_build_array(jsonb_build_object('data_source_id', $3::text))`,
		owner.OrganizationID, owner.UserID, id.String(), attached)
}

// withoutDeleted returns an SQL expression for citations without the data of deleted files. deleted is the condition
// that the file of the citation c was deleted.
func withoutDeleted(citations, deleted string) string {
	return `(
		SELECT coalesce(jsonb_agg(
		    CASE WHEN ` + deleted + `
		         THEN jsonb_build_object('index', c->'index', 'filename', '` + chat.DeletedFile + `', 'page', 0, 'score', 0,
		             'quote', '', 'support', c->'support', 'deleted', true)
		         ELSE c END ORDER BY place), '[]')
		FROM jsonb_array_elements(` + citations + `) WITH ORDINALITY AS listed (c, place)
		WHERE (` + deleted + `) IS NOT TRUE OR c ? 'support')`
}

// citedFiles returns the ids of the data sources that citations name.
func citedFiles(citations []chat.Citation) []uuid.UUID {
	ids := []uuid.UUID{}
	for _, c := range citations {
		if c.DataSourceID != uuid.Nil && !slices.Contains(ids, c.DataSourceID) {
			ids = append(ids, c.DataSourceID)
		}
	}
	return ids
}
