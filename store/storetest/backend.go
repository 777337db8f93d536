package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/postgres"
)

// templateName is the migrated database in a server that this package starts.
const templateName = "tsumugi_template"

func open(ctx context.Context) (*backend, error) {
	if dsn := os.Getenv("TSUMUGI_TEST_DATABASE_URL"); dsn != "" {
		return openForeign(ctx, dsn)
	}
	return openOwn(ctx)
}

// config is the configuration of a server with throwaway data.
func config(dir string) postgres.Config {
	return postgres.Config{
		DataDir: dir,
		Logger:  slog.New(slog.DiscardHandler),
		Settings: map[string]string{
			"max_connections": "300",
			"shared_buffers":  "32MB",
			"wal_level":       "minimal",
			"max_wal_senders": "0",
			"autovacuum":      "off",
		},
	}
}

// openOwn starts a server on a copy of the cached cluster.
func openOwn(ctx context.Context) (*backend, error) {
	dir, remove, err := tempDir()
	if err != nil {
		return nil, err
	}
	b, err := startOwn(ctx, dir, remove)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	return b, nil
}

func startOwn(ctx context.Context, dir string, remove func() error) (*backend, error) {
	if err := copyCached(ctx, filepath.Join(dir, "cluster")); err != nil {
		return nil, err
	}
	srv, err := postgres.Start(ctx, config(dir))
	if err != nil {
		return nil, err
	}
	admin, err := pgx.Connect(ctx, srv.DSN())
	if err != nil {
		return nil, errors.Join(err, srv.Stop(ctx))
	}
	return &backend{
		template: templateName,
		prefix:   "test_",
		dsn:      srv.DatabaseDSN,
		admin:    admin,
		close: func() error { //nolint:contextcheck // It is called after the start.
			ctx := context.Background()
			return errors.Join(admin.Close(ctx), srv.Stop(ctx), remove())
		},
	}, nil
}

// migrateTemplate migrates the database that a connection string names.
func migrateTemplate(ctx context.Context, dsn string) error {
	db, err := store.Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Migrate(ctx)
}

// openForeign uses an external server. The names of its databases contain a tag of this process, which holds an
// advisory lock while it lives, so that another process can find the databases of killed ones.
func openForeign(ctx context.Context, dsn string) (*backend, error) {
	admin, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, fmt.Errorf("TSUMUGI_TEST_DATABASE_URL: %w", err)
	}
	tag := strings.ToLower(rand.Text()[:8])
	b := &backend{
		template: "tsumugi_template_" + schemaHash(),
		prefix:   foreignPrefix + tag + "_",
		dsn:      func(name string) string { return withDatabase(dsn, name) },
		admin:    admin,
		//nolint:contextcheck // It outlives the start.
		close: func() error { return admin.Close(context.Background()) },
	}
	err = b.prepareForeign(ctx, tag)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("TSUMUGI_TEST_DATABASE_URL: %w", err), b.close())
	}
	return b, nil
}

const (
	foreignPrefix = "tsumugi_test_"
	migratedNote  = "migrated" // Comment of a complete template.
)

func (b *backend) prepareForeign(ctx context.Context, tag string) error {
	if _, err := b.admin.Exec(ctx, `SELECT pg_advisory_lock(hashtext($1))`, foreignPrefix+tag); err != nil {
		return err
	}
	if err := b.sweep(ctx); err != nil {
		return err
	}
	if _, err := b.admin.Exec(ctx, `SELECT pg_advisory_lock(hashtext($1))`, b.template); err != nil {
		return err
	}
	err := b.makeTemplate(ctx)
	_, unlockErr := b.admin.Exec(ctx, `SELECT pg_advisory_unlock(hashtext($1))`, b.template)
	return errors.Join(err, unlockErr)
}

// makeTemplate creates and migrates the template unless it is complete. The lock on its name must be held. It does not
// connect to a complete template, because a database in use cannot be copied.
func (b *backend) makeTemplate(ctx context.Context) error {
	var note *string
	err := b.admin.QueryRow(ctx, `
		SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = $1`, b.template).Scan(&note)
	if errors.Is(err, pgx.ErrNoRows) {
		err = b.exec(ctx, "CREATE DATABASE "+quote(b.template)+" TEMPLATE template0 ENCODING 'UTF8'")
	}
	if err != nil || (note != nil && *note == migratedNote) {
		return err
	}
	if err := migrateTemplate(ctx, b.dsn(b.template)); err != nil {
		return err
	}
	return b.exec(ctx, "COMMENT ON DATABASE "+quote(b.template)+" IS '"+migratedNote+"'")
}

// sweep drops the databases of processes that no longer hold their lock.
func (b *backend) sweep(ctx context.Context) error {
	rows, err := b.admin.Query(ctx, `SELECT datname FROM pg_database WHERE starts_with(datname, $1)`, foreignPrefix)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range names {
		tag, _, _ := strings.Cut(strings.TrimPrefix(name, foreignPrefix), "_")
		if strings.HasPrefix(b.prefix, foreignPrefix+tag) {
			continue
		}
		var dead bool
		err := b.admin.QueryRow(ctx, `SELECT pg_try_advisory_lock(hashtext($1))`, foreignPrefix+tag).Scan(&dead)
		if err != nil {
			return err
		}
		if !dead {
			continue
		}
		dropErr := b.drop(ctx, name)
		_, err = b.admin.Exec(ctx, `SELECT pg_advisory_unlock(hashtext($1))`, foreignPrefix+tag)
		if err := errors.Join(dropErr, err); err != nil {
			return err
		}
	}
	return nil
}

// withDatabase returns a connection string, URL or keywords, for another database on the same server.
func withDatabase(dsn, name string) string {
	if u, err := url.Parse(dsn); err == nil && strings.HasPrefix(u.Scheme, "postgres") {
		u.Path = "/" + name
		return u.String()
	}
	return dsn + " dbname=" + name
}

// withPool limits the connections of one test.
func withPool(dsn string) string {
	if u, err := url.Parse(dsn); err == nil && strings.HasPrefix(u.Scheme, "postgres") {
		q := u.Query()
		q.Set("pool_max_conns", strconv.Itoa(testConns))
		u.RawQuery = q.Encode()
		return u.String()
	}
	return dsn + " pool_max_conns=" + strconv.Itoa(testConns)
}
