package store

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// querier is a pool or a transaction. The functions below return the errors of translate. Those for rows read each
// column into the field of T with the same name; other fields of T keep their zero values.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

// queryRows reads rows into structs.
func queryRows[T any](ctx context.Context, q querier, sql string, args ...any) ([]T, error) {
	return queryAll(ctx, q, pgx.RowToStructByNameLax[T], sql, args...)
}

// queryValues reads rows of one column.
func queryValues[T any](ctx context.Context, q querier, sql string, args ...any) ([]T, error) {
	return queryAll(ctx, q, pgx.RowTo[T], sql, args...)
}

func queryAll[T any](ctx context.Context, q querier, read pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, translate(err)
	}
	list, err := pgx.CollectRows(rows, read)
	return list, translate(err)
}

// eachRow reads rows into structs one by one, and calls do for each.
func eachRow[T any](ctx context.Context, q querier, do func(T), sql string, args ...any) error {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return translate(err)
	}
	defer rows.Close()
	for rows.Next() {
		row, err := pgx.RowToStructByNameLax[T](rows)
		if err != nil {
			return translate(err)
		}
		do(row)
	}
	return translate(rows.Err())
}

// queryRow reads exactly one row into a struct.
func queryRow[T any](ctx context.Context, q querier, sql string, args ...any) (T, error) {
	return queryOne(ctx, q, pgx.RowToStructByNameLax[T], sql, args...)
}

// queryValue reads exactly one row of one column.
func queryValue[T any](ctx context.Context, q querier, sql string, args ...any) (T, error) {
	return queryOne(ctx, q, pgx.RowTo[T], sql, args...)
}

func queryOne[T any](ctx context.Context, q querier, read pgx.RowToFunc[T], sql string, args ...any) (one T, err error) {
	rows, err := q.Query(ctx, sql, args...)
	if err == nil {
		one, err = pgx.CollectExactlyOneRow(rows, read)
	}
	return one, translate(err)
}

// findRow reads exactly one row into a struct. Without a row, the error is missing.
func findRow[T any](ctx context.Context, q querier, missing error, sql string, args ...any) (T, error) {
	row, err := queryRow[T](ctx, q, sql, args...)
	return row, ifNoRows(err, missing)
}

// findValue reads exactly one row of one column. Without a row, the error is missing.
func findValue[T any](ctx context.Context, q querier, missing error, sql string, args ...any) (T, error) {
	value, err := queryValue[T](ctx, q, sql, args...)
	return value, ifNoRows(err, missing)
}

func ifNoRows(err, missing error) error {
	if isNoRows(err) {
		return missing
	}
	return err
}

// exec executes a statement.
func exec(ctx context.Context, q querier, sql string, args ...any) error {
	_, err := q.Exec(ctx, sql, args...)
	return translate(err)
}

// execRow executes a statement that must affect a row. It returns the error missing if it does not.
func execRow(ctx context.Context, q querier, missing error, sql string, args ...any) error {
	tag, err := q.Exec(ctx, sql, args...)
	if err == nil && tag.RowsAffected() == 0 {
		err = missing
	}
	return translate(err)
}

// send sends independent statements in one round trip, in one transaction.
func send(ctx context.Context, q querier, queue func(batch *pgx.Batch)) error {
	batch := &pgx.Batch{}
	queue(batch)
	return translate(q.SendBatch(ctx, batch).Close())
}

// queryPage reads a page of rows, and the total number of rows. count selects the number; its parameters are args.
// Those of page are args, the offset and the limit.
func queryPage[T any](ctx context.Context, db *DB, count, page string, args []any, offset, limit int) (
	list []T, total int, err error,
) {
	err = db.batch(ctx, func(batch *pgx.Batch) {
		batch.Queue(count, args...).QueryRow(func(row pgx.Row) error { return row.Scan(&total) })
		batch.Queue(page, slices.Concat(args, []any{offset, limit})...).Query(collect(&list))
	})
	return list, total, err
}

// collect returns a batch callback that reads rows into a slice of structs.
func collect[T any](into *[]T) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*into, err = pgx.CollectRows(rows, pgx.RowToStructByNameLax[T])
		return err
	}
}

// collectValues returns a batch callback that reads rows of one column into a slice.
func collectValues[T any](into *[]T) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*into, err = pgx.CollectRows(rows, pgx.RowTo[T])
		return err
	}
}

// setAffected returns a batch callback that reports whether a statement has affected a row.
func setAffected(affected *bool) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error {
		*affected = tag.RowsAffected() > 0
		return nil
	}
}

// sweep is a statement that deletes expired rows of a table. Its parameters are the time and the maximum number of
// rows. Inserts into the table execute it, so that the table stays small without a job, and no insert is slowed down by
// a backlog.
func sweep(table, key, expiry string) string {
	return `DELETE FROM ` + table + ` WHERE (` + key + `) IN (
		SELECT ` + key + ` FROM ` + table + ` WHERE ` + expiry + ` < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`
}

// convert returns the results of f for a list.
func convert[From, To any](list []From, f func(From) To) []To {
	results := make([]To, len(list))
	for i, v := range list {
		results[i] = f(v)
	}
	return results
}

// orNil returns nil for an empty slice, which the driver returns for an empty array.
func orNil[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return s
}

// orEmpty returns an empty slice for nil, which the driver would store as NULL. The columns do not allow NULL.
func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// zeroTime is the time that is read as the zero time.
const zeroTime = `'0001-01-01T00:00:00Z'::timestamptz`

// orNull converts the zero time to NULL.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// encodeUUIDs makes a connection send ids as their 16 bytes. By default the driver formats each id as text, fails to
// encode the text, and parses it again. With six ids in a query, that took a tenth of this process's time for a
// question.
func encodeUUIDs(types *pgtype.Map) {
	types.TryWrapEncodePlanFuncs = append([]pgtype.TryWrapEncodePlanFunc{wrapUUID}, types.TryWrapEncodePlanFuncs...)
}

func wrapUUID(value any) (plan pgtype.WrappedEncodePlanNextSetter, nextValue any, ok bool) {
	id, ok := value.(uuid.UUID)
	if !ok {
		return nil, nil, false
	}
	return &uuidPlan{}, toPGUUID(id), true
}

// uuidPlan converts an id to a pgtype.UUID, which the driver encodes directly.
type uuidPlan struct {
	next pgtype.EncodePlan
}

func (p *uuidPlan) SetNext(next pgtype.EncodePlan) { p.next = next }

func (p *uuidPlan) Encode(value any, buf []byte) ([]byte, error) {
	//nolint:forcetypeassert // The plan is made for this type only.
	return p.next.Encode(toPGUUID(value.(uuid.UUID)), buf)
}

func toPGUUID(id uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }
