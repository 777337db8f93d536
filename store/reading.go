package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// toRead is the condition that a data source d can be processed: it is due or the lease of its server has expired.
const toRead = `(d.status = 'pending' AND d.read_after <= now()
	OR d.status = 'running' AND coalesce(d.read_until, '-infinity') < now())`

// readerOf is the user whose turn the reading of a data source d is: its owner, or the user who has uploaded it into a
// project. It is NULL if that user was removed.
const readerOf = `coalesce(d.user_id, d.uploaded_by)`

// readingsOf is the number of running readings of a user w.
const readingsOf = `(SELECT count(*) FROM data_sources d
	WHERE ` + readerOf + ` = w.user_id AND d.status = 'running' AND d.read_until >= now())`

// ClaimReading implements datasource.Store. A lock in both statements serializes the servers. The user with the fewest
// readings on all servers comes first, then the user who was served least recently. Files of removed users come last.
func (db *DB) ClaimReading(ctx context.Context, quick bool, lease time.Duration) (datasource.Reading, bool, error) {
	var begun []readingRow
	err := db.batch(ctx, func(batch *pgx.Batch) {
		batch.Queue(`SELECT pg_advisory_xact_lock(hashtext('tsumugi readings'))`)
		batch.Queue(`
			WITH waiting AS (
			    SELECT DISTINCT ON (`+readerOf+`) d.id, `+readerOf+` AS user_id, d.reading, d.read_after
			    FROM data_sources d
			    WHERE d.status IN ('pending', 'running') AND `+toRead+` AND NOT (d.slow AND $1)
			    ORDER BY `+readerOf+`, d.slow, d.read_after, d.id
			), turn AS (
			    SELECT w.id, w.reading
			    FROM waiting w
			    LEFT JOIN reading_turns t ON t.user_id = w.user_id
			    ORDER BY w.user_id IS NULL, `+readingsOf+`, t.begun_at NULLS FIRST, w.read_after, w.id
			    LIMIT 1
			), begun AS (
			    UPDATE data_sources d
			    SET status = 'running', readings = d.readings + 1, reading = d.reading + 1, revision = d.revision + 1,
			        stage = 'reading', done = 0, total = 0, read_until = now() + $2::interval
			    FROM turn
			    WHERE d.id = turn.id AND d.reading = turn.reading
			    RETURNING d.*
			), turned AS (
			    INSERT INTO reading_turns (user_id, organization_id, begun_at)
			    SELECT `+readerOf+`, organization_id, clock_timestamp() FROM begun d WHERE `+readerOf+` IS NOT NULL
			    ON CONFLICT (user_id) DO UPDATE SET begun_at = excluded.begun_at
			)
			SELECT organization_id, reading, readings, slow, `+sourceColumns+`
			FROM begun`, quick, lease).Query(collect(&begun))
	})
	if err != nil || len(begun) == 0 {
		return datasource.Reading{}, false, err
	}
	row := begun[0]
	return datasource.Reading{
		Source: row.Source, Owner: identity.Owner{OrganizationID: row.OrganizationID, UserID: row.UserID},
		Number: row.Reading, Attempt: row.Readings, Slow: row.Slow,
	}, true, nil
}

// readingRow is the row of a reading.
type readingRow struct {
	datasource.Source
	OrganizationID uuid.UUID
	Reading        int64
	Readings       int
	Slow           bool
}

func (db *DB) HasWaitingReading(ctx context.Context) (waits bool, _ error) {
	err := db.pool.QueryRow(ctx, `
		SELECT EXISTS (
		    SELECT FROM (SELECT DISTINCT `+readerOf+` AS user_id
		                 FROM data_sources d
		                 WHERE d.status IN ('pending', 'running') AND NOT d.slow AND `+toRead+`) w
		    WHERE `+readingsOf+` = 0)`).Scan(&waits)
	return waits, translate(err)
}

func (db *DB) RenewReadings(
	ctx context.Context, held []datasource.Reading, lease time.Duration,
) ([]uuid.UUID, error) {
	ids, numbers := make([]uuid.UUID, len(held)), make([]int64, len(held))
	for i, r := range held {
		ids[i], numbers[i] = r.ID, r.Number
	}
	return lostLeases(db.priorityPool.Query(ctx, `
		WITH kept AS (
		    UPDATE data_sources d
		    SET read_until = now() + $3::interval
		    FROM unnest($1::uuid[], $2::bigint[]) AS h (id, reading)
		    WHERE d.id = h.id AND d.reading = h.reading
		    RETURNING d.id
		)
		SELECT h.id FROM unnest($1::uuid[]) AS h (id) WHERE h.id NOT IN (SELECT id FROM kept)`, ids, numbers, lease))
}

func (db *DB) RequeueReading(
	ctx context.Context, reading datasource.Reading, options datasource.RequeueOptions,
) (datasource.Source, error) {
	source, err := queryRow[datasource.Source](ctx, db.pool, `
		UPDATE data_sources
		SET status = 'pending', stage = '', reading = reading + 1, revision = revision + 1, read_until = NULL,
		    read_after = now() + $4::interval, slow = slow OR $5, readings = readings - CASE WHEN $6 THEN 0 ELSE 1 END
		WHERE organization_id = $1 AND id = $2 AND reading = $3
		RETURNING `+sourceColumns,
		reading.Owner.OrganizationID, reading.ID, reading.Number, options.After, options.Slow, options.CountAttempt)
	if isNoRows(err) {
		return datasource.Source{}, noSource(err)
	}
	return source, translate(err)
}

func (db *DB) ReportProgress(ctx context.Context, reading datasource.Reading, stage datasource.Stage, done,
	total int,
) (datasource.Source, error) {
	source, err := queryRow[datasource.Source](ctx, db.pool, `
		UPDATE data_sources
		SET stage = $4, done = $5, total = $6, revision = revision + 1
		WHERE organization_id = $1 AND id = $2 AND reading = $3
		RETURNING `+sourceColumns,
		reading.Owner.OrganizationID, reading.ID, reading.Number, stage, done, total)
	if isNoRows(err) {
		return datasource.Source{}, noSource(err)
	}
	return source, translate(err)
}

func (db *DB) StopReading(ctx context.Context, owner identity.Owner, id uuid.UUID, reason string) (datasource.Source,
	error,
) {
	source, err := queryRow[datasource.Source](ctx, db.pool, `
		UPDATE data_sources d
		SET status = 'failed', failure = $4, stage = '', read_until = NULL, reading = reading + 1,
		    revision = revision + 1
		WHERE `+isEditable+` AND d.id = $3 AND d.status IN ('pending', 'running')
		RETURNING `+sourceColumns, owner.OrganizationID, owner.UserID, id, reason)
	if !isNoRows(err) {
		return source, translate(err)
	}
	if err := execRow(ctx, db.pool, noSource(nil), `SELECT FROM data_sources d WHERE `+isEditable+` AND d.id = $3`,
		owner.OrganizationID, owner.UserID, id); err != nil {
		return datasource.Source{}, err
	}
	return datasource.Source{}, fault.Errorf(fault.Conflict, "読み取りはすでに終わっています。")
}

func (db *DB) RetryReading(
	ctx context.Context, owner identity.Owner, id uuid.UUID,
) (source datasource.Source, _ error) {
	err := db.tx(ctx, func(tx pgx.Tx) (err error) {
		source, err = queryRow[datasource.Source](ctx, tx, `
			SELECT `+sourceColumns+`
			FROM data_sources d
			WHERE `+isEditable+` AND d.id = $3
			FOR NO KEY UPDATE`, owner.OrganizationID, owner.UserID, id)
		switch {
		case isNoRows(err):
			return noSource(err)
		case err != nil:
			return err
		case source.Status == datasource.Success:
			return fault.Errorf(fault.Conflict, "このファイルはすでに読み取られています。")
		case source.Status == datasource.Failed:
			source, err = requeueSource(ctx, tx, owner, id, source)
		}
		return err
	})
	return source, err
}

func (db *DB) WatchQueue(ctx context.Context, tell func()) {
	db.listen(ctx, sourceChannel, listener{began: tell, notified: func(string) { tell() }, lost: func(error) {}})
}
