package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
)

// toRead is the condition that a data source d waits to be read: it is its time, or the server that read it is silent.
const toRead = `(d.status = 'pending' AND d.read_after <= now()
	OR d.status = 'running' AND coalesce(d.read_until, '-infinity') < now())`

// readingsOf counts the readings of a person w that run.
const readingsOf = `(SELECT count(*) FROM data_sources r
	WHERE r.user_id = w.user_id AND r.status = 'running' AND r.read_until >= now())`

// NextReading implements datasource.Store. Servers decide one after the other, by a lock that both statements hold: who has
// the fewest readings on all servers together is next, then who was served least recently.
func (db *DB) NextReading(ctx context.Context, quick bool, lease time.Duration) (datasource.Reading, bool, error) {
	var begun []readingRow
	err := db.batch(ctx, func(batch *pgx.Batch) {
		batch.Queue(`SELECT pg_advisory_xact_lock(hashtext('tsumugi readings'))`)
		batch.Queue(`
			WITH waiting AS (
			    SELECT DISTINCT ON (d.user_id) d.id, d.user_id, d.revision, d.read_after
			    FROM data_sources d
			    WHERE d.status IN ('pending', 'running') AND `+toRead+` AND NOT (d.slow AND $1)
			    ORDER BY d.user_id, d.slow, d.read_after, d.id
			), turn AS (
			    SELECT w.id, w.revision
			    FROM waiting w
			    LEFT JOIN reading_turns t ON t.user_id = w.user_id
			    ORDER BY `+readingsOf+`, t.begun_at NULLS FIRST, w.read_after, w.id
			    LIMIT 1
			), begun AS (
			    UPDATE data_sources d
			    SET status = 'running', readings = d.readings + 1, revision = d.revision + 1, read_until = now() + $2::interval
			    FROM turn
			    WHERE d.id = turn.id AND d.revision = turn.revision
			    RETURNING d.*
			), turned AS (
			    INSERT INTO reading_turns (user_id, organization_id, begun_at)
			    SELECT user_id, organization_id, clock_timestamp() FROM begun
			    ON CONFLICT (user_id) DO UPDATE SET begun_at = excluded.begun_at
			)
			SELECT organization_id, user_id, readings, slow, `+sourceColumns+`
			FROM begun`, quick, lease).Query(collect(&begun))
	})
	if err != nil || len(begun) == 0 {
		return datasource.Reading{}, false, err
	}
	row := begun[0]
	return datasource.Reading{
		Source: row.Source, Owner: datasource.Owner{OrganizationID: row.OrganizationID, UserID: row.UserID},
		Attempt: row.Readings, Slow: row.Slow,
	}, true, nil
}

// readingRow is a reading as it is read.
type readingRow struct {
	datasource.Source
	OrganizationID uuid.UUID
	UserID         uuid.UUID
	Readings       int
	Slow           bool
}

// SomebodyWaits implements datasource.Store.
func (db *DB) SomebodyWaits(ctx context.Context) (waits bool, _ error) {
	err := db.pool.QueryRow(ctx, `
		SELECT EXISTS (
		    SELECT FROM (SELECT DISTINCT d.user_id
		                 FROM data_sources d
		                 WHERE d.status IN ('pending', 'running') AND NOT d.slow AND `+toRead+`) w
		    WHERE `+readingsOf+` = 0)`).Scan(&waits)
	return waits, translate(err)
}

// KeepReadings implements datasource.Store.
func (db *DB) KeepReadings(ctx context.Context, held []datasource.Reading, lease time.Duration) (lost []uuid.UUID, _ error) {
	ids, revisions := make([]uuid.UUID, len(held)), make([]int, len(held))
	for i, r := range held {
		ids[i], revisions[i] = r.ID, r.Revision
	}
	rows, err := db.vital.Query(ctx, `
		WITH kept AS (
		    UPDATE data_sources d
		    SET read_until = now() + $3::interval
		    FROM unnest($1::uuid[], $2::int[]) AS h (id, revision)
		    WHERE d.id = h.id AND d.revision = h.revision
		    RETURNING d.id
		)
		SELECT h.id FROM unnest($1::uuid[]) AS h (id) WHERE h.id NOT IN (SELECT id FROM kept)`, ids, revisions, lease)
	if err != nil {
		return nil, translate(err)
	}
	lost, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	return lost, translate(err)
}

// PutBack implements datasource.Store.
func (db *DB) PutBack(ctx context.Context, reading datasource.Reading, how datasource.PutBack) (datasource.Source, error) {
	source, err := queryRow[datasource.Source](ctx, db.pool, `
		UPDATE data_sources
		SET status = 'pending', revision = revision + 1, read_until = NULL, read_after = now() + $4::interval, slow = slow OR $5,
		    readings = readings - CASE WHEN $6 THEN 0 ELSE 1 END
		WHERE organization_id = $1 AND id = $2 AND revision = $3
		RETURNING `+sourceColumns,
		reading.Owner.OrganizationID, reading.ID, reading.Revision, how.After, how.Slow, how.Counts)
	if isNoRows(err) {
		return datasource.Source{}, noSource(err)
	}
	return source, translate(err)
}

// WatchWaiting implements datasource.Store.
func (db *DB) WatchWaiting(ctx context.Context, tell func()) {
	db.listen(ctx, sourceChannel, listener{began: tell, notified: func(string) { tell() }, lost: func(error) {}})
}
