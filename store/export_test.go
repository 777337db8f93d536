package store

import (
	"context"
	"io/fs"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tsumugi-ai/tsumugi/chat"
)

// EncodeUUIDs calls encodeUUIDs.
func EncodeUUIDs(types *pgtype.Map) { encodeUUIDs(types) }

// MigrateFrom migrates with the given files instead of the embedded ones.
func (db *DB) MigrateFrom(ctx context.Context, files fs.FS) error { return db.migrateFrom(ctx, files) }

// Translate calls translate.
func Translate(err error) error { return translate(err) }

// BeginSQL is the statement of BeginGeneration for the first question of a thread, without data sources.
var BeginSQL = beginSQL(chat.NewGeneration{}, false)

// Statements whose plans are tested: those of LoadThreadState about the thread and its messages, and that of CreateThread
// which reads the thread.
const (
	AddedThreadSQL = addedThreadSQL
	ThreadStateSQL = threadStateSQL
	HistorySQL     = historySQL
)

// The statements of FilterSCIMUsers.
const (
	SCIMUsersAfterSQL    = scimUsersAfter + scimUsersLimit
	SCIMUsersMatchingSQL = scimUsersMatching
)

// Setting returns the value of a setting in a session of the pool.
func Setting(ctx context.Context, db *DB, name string) (value string, err error) {
	err = db.pool.QueryRow(ctx, `SELECT current_setting($1)`, name).Scan(&value)
	return value, err
}

// PlannedWithParameters returns how often the pool's only session has planned the statements that match a pattern with
// their parameters. It fails if the session has not prepared such a statement.
func PlannedWithParameters(ctx context.Context, db *DB, pattern string) (n int, err error) {
	err = db.pool.QueryRow(ctx, `SELECT sum(custom_plans)::int FROM pg_prepared_statements WHERE statement ~ $1
		AND generic_plans > 0`, pattern).Scan(&n)
	return n, err
}

// Occupy uses every connection of the pool, like a busy server, until release is called.
func (db *DB) Occupy(ctx context.Context) (release func(), err error) {
	var taken []*pgxpool.Conn
	for range db.pool.Config().MaxConns {
		conn, err := db.pool.Acquire(ctx)
		if err != nil {
			return nil, err
		}
		taken = append(taken, conn)
	}
	return func() {
		for _, conn := range taken {
			conn.Release()
		}
	}, nil
}

// ExportQueries returns the query of each kind of records of an export.
func ExportQueries() map[string]string {
	queries := make(map[string]string)
	for _, e := range exports {
		queries[e.kind] = e.sql
	}
	return queries
}

// ExportTables returns the exported tables, and the other tables with the reasons.
func ExportTables() (exported []string, others map[string]string) {
	for _, e := range exports {
		exported = append(exported, e.tables...)
	}
	return exported, notExported
}
