package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/tern/v2/migrate"

	"github.com/tsumugi-ai/tsumugi/migrations"
)

// versionTable holds one row: the number of the last migration that was applied.
const versionTable = "public.schema_version"

// ErrNewerSchema means that a newer version of this program has already migrated the database.
var ErrNewerSchema = errors.New("the database belongs to a newer version of tsumugi")

// A step that waits for a table makes all other calls wait for that table, too, and it may deadlock with one that holds
// another table of the step. It therefore waits for less than PostgreSQL's deadlock_timeout, so that it is the one that
// gives up, and is tried again.
const (
	migrationLockTimeout = 500 * time.Millisecond
	migrationAttempts    = 100
	migrationPause       = time.Second
)

// Migrate brings the schema up to date. Each step is a transaction. An advisory lock serializes servers that start at
// the same time; only the first has steps to apply. A step that cannot lock its tables is tried again for about a
// minute. Migrate refuses a database that is newer than this program with [ErrNewerSchema] and does not change it.
func (db *DB) Migrate(ctx context.Context) error { return db.migrateFrom(ctx, migrations.Files) }

func (db *DB) migrateFrom(ctx context.Context, files fs.FS) error {
	// A separate connection without the timeouts of the pool, because a migration may take longer than a query should.
	conn, err := pgx.ConnectConfig(ctx, db.pool.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

	m, err := migrate.NewMigrator(ctx, conn, versionTable)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if err := m.LoadMigrations(files); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	m.OnStart = func(int32, string, string, string) { // In the transaction of each step, whose first error is reported.
		_, _ = conn.Exec(ctx, fmt.Sprintf(`SET LOCAL lock_timeout = %d`, migrationLockTimeout.Milliseconds()))
	}
	err = m.Migrate(ctx)
	for attempt := 1; attempt < migrationAttempts && isLocked(err); attempt++ {
		select {
		case <-time.After(rand.N(migrationPause)): //nolint:gosec // Spreads the attempts; not a secret.
		case <-ctx.Done():
			return fmt.Errorf("migrate: %w", context.Cause(ctx))
		}
		err = m.Migrate(ctx)
	}
	if _, ok := errors.AsType[migrate.BadVersionError](err); ok {
		version, versionErr := m.GetCurrentVersion(ctx)
		if versionErr == nil && int(version) > len(m.Migrations) {
			return fmt.Errorf("%w: its schema has version %d, this program knows %d; install the newer version, or "+
				"restore a backup made before the update", ErrNewerSchema, version, len(m.Migrations))
		}
	}
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// isLocked reports whether other transactions had locked what a migration needs.
func isLocked(err error) bool { return hasCode(err, codeLockTimeout) || hasCode(err, codeDeadlock) }

// SchemaVersion returns the number of the last migration that was applied to the database, or 0 for an empty database.
func (db *DB) SchemaVersion(ctx context.Context) (int, error) {
	number, err := queryValue[int](ctx, db.pool, `SELECT version FROM public.schema_version`)
	if hasCode(err, codeUndefinedTable) {
		return 0, nil
	}
	return number, err
}
