package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/tern/v2/migrate"

	"github.com/tsumugi-ai/tsumugi/migrations"
)

// versionTable holds one row: the number of the last migration that was applied.
const versionTable = "public.schema_version"

// ErrNewerSchema means that a newer version of this program has already migrated the database.
var ErrNewerSchema = errors.New("the database belongs to a newer version of tsumugi")

// Migrate brings the schema up to date. Each step is a transaction. An advisory lock serializes servers that start at
// the same time; only the first has steps to apply. Migrate refuses a database that is newer than this program with
// [ErrNewerSchema] and does not change it.
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
	err = m.Migrate(ctx)
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

// SchemaVersion returns the number of the last migration that was applied to the database.
func (db *DB) SchemaVersion(ctx context.Context) (int, error) {
	rows, err := db.pool.Query(ctx, `SELECT version FROM public.schema_version`)
	if err != nil {
		return 0, translate(err)
	}
	version, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[int])
	return version, translate(err)
}

var _ querier = (*pgxpool.Pool)(nil)
