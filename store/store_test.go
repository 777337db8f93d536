package store_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/migrations"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/postgres"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// emptyDatabase returns a database without a schema on the shared server.
func emptyDatabase(t *testing.T) string {
	t.Helper()
	dsn := storetest.DSN(t)
	conn := must.Get(pgx.Connect(t.Context(), dsn))(t)
	defer func() { _ = conn.Close(t.Context()) }()
	must.Get(conn.Exec(t.Context(), `DROP SCHEMA public CASCADE; CREATE SCHEMA public`))(t)
	return dsn
}

func TestMigrateFromSeveralServersAtOnce(t *testing.T) {
	t.Parallel()
	dsn := emptyDatabase(t)
	var wg sync.WaitGroup
	for range 8 {
		db := open(t, dsn)
		wg.Go(func() {
			if err := db.Migrate(t.Context()); err != nil {
				t.Errorf("Migrate: %v", err)
			}
		})
	}
	wg.Wait()
	version := must.Get(open(t, dsn).SchemaVersion(t.Context()))(t)
	files := must.Get(fs.Glob(migrations.Files, "*.sql"))(t)
	if version != len(files) {
		t.Errorf("version %d after %d migrations", version, len(files))
	}
}

func TestMigrateStepByStep(t *testing.T) {
	t.Parallel()
	db := open(t, emptyDatabase(t))
	files := fstest.MapFS{"0001_one.sql": {Data: []byte(`CREATE TABLE one (id int)`)}}
	must.Succeed(t, db.MigrateFrom(t.Context(), files))

	// A failed migration is rolled back completely.
	files["0002_two.sql"] = &fstest.MapFile{Data: []byte(`CREATE TABLE two (id int); SELECT 1/0`)}
	if err := db.MigrateFrom(t.Context(), files); err == nil || !strings.Contains(err.Error(), "0002_two.sql") {
		t.Fatalf("a broken step: %v, want an error that names it", err)
	}
	files["0002_two.sql"] = &fstest.MapFile{Data: []byte(`CREATE TABLE two (id int)`)}
	must.Succeed(t, db.MigrateFrom(t.Context(), files))

	// An older program refuses the newer schema and does not change it.
	delete(files, "0002_two.sql")
	err := db.MigrateFrom(t.Context(), files)
	if !errors.Is(err, store.ErrNewerSchema) || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("a newer schema: %v", err)
	}
	if version, err := db.SchemaVersion(t.Context()); err != nil || version != 2 {
		t.Errorf("version %d, %v, want 2", version, err)
	}
}

// TestMigrateYieldsToRunningTransactions alters two tables that a transaction of a running server locks in the other
// order. The transaction does not fail, and the migration is repeated after it.
func TestMigrateYieldsToRunningTransactions(t *testing.T) {
	t.Parallel()
	dsn := emptyDatabase(t)
	db := open(t, dsn)
	files := fstest.MapFS{"0001_one.sql": {Data: []byte(`CREATE TABLE one (id int); CREATE TABLE two (id int)`)}}
	must.Succeed(t, db.MigrateFrom(t.Context(), files))
	files["0002_two.sql"] = &fstest.MapFile{
		Data: []byte(`ALTER TABLE one ADD name text; ALTER TABLE two ADD name text`),
	}

	conn := must.Get(pgx.Connect(t.Context(), dsn))(t)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	watching := must.Get(pgx.Connect(t.Context(), dsn))(t)
	defer func() { _ = watching.Close(context.WithoutCancel(t.Context())) }()
	tx := must.Get(conn.Begin(t.Context()))(t)
	must.Get(tx.Exec(t.Context(), `INSERT INTO two VALUES (1)`))(t)
	migrated := make(chan error, 1)
	go func() { migrated <- db.MigrateFrom(t.Context(), files) }()
	for waiting := false; !waiting; {
		must.Succeed(t, watching.QueryRow(t.Context(), `
			SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'two'::regclass AND NOT granted)`).Scan(&waiting))
	}
	must.Get(tx.Exec(t.Context(), `INSERT INTO one VALUES (1)`))(t)
	must.Succeed(t, tx.Commit(t.Context()))
	must.Succeed(t, <-migrated)
	if version, err := db.SchemaVersion(t.Context()); err != nil || version != 2 {
		t.Errorf("version %d, %v, want 2", version, err)
	}
}

// TestMigrationsAreForwardOnly: a migration must not contain syntax of the migration tool, such as a down migration or
// templates.
func TestMigrationsAreForwardOnly(t *testing.T) {
	t.Parallel()
	files := must.Get(fs.Glob(migrations.Files, "*"))(t)
	for _, name := range files {
		text := must.Get(fs.ReadFile(migrations.Files, name))(t)
		for _, bad := range []string{"---- create above / drop below ----", "{{"} {
			if strings.Contains(string(text), bad) {
				t.Errorf("%s contains %q", name, bad)
			}
		}
	}
}

func TestOpenSetsLimits(t *testing.T) {
	t.Parallel()
	dsn := storetest.DSN(t)
	for _, tt := range []struct{ dsn, want string }{
		{dsn, "30s"},
		{dsn + "&statement_timeout=7s", "7s"},
	} {
		got, err := store.Setting(t.Context(), open(t, tt.dsn), "statement_timeout")
		if err != nil || got != tt.want {
			t.Errorf("statement_timeout %q, %v, want %q", got, err, tt.want)
		}
	}
}

// TestOpenExplainsErrors: no error contains a part of a password.
func TestOpenExplainsErrors(t *testing.T) {
	t.Parallel()
	for dsn, says := range map[string]string{
		"postgres://user@[::1":                                "connection string",
		"postgres://user:pass@Secret@127.0.0.1/db":            "%40",
		strings.Replace(storetest.DSN(t), "/test_", "/no", 1): "does not exist",
	} {
		_, err := store.Open(t.Context(), dsn)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "Secret") {
			t.Errorf("Open: %v, want something with %q", err, says)
		}
	}
}

func TestOpenWaitsForADatabaseThatStarts(t *testing.T) {
	t.Parallel()
	cfg := ownServer(t)
	srv := must.Get(postgres.Start(t.Context(), cfg))(t)
	dsn := srv.DSN()
	must.Succeed(t, srv.Stop(t.Context()))

	opened := make(chan error, 1)
	go func() {
		db, err := store.Open(t.Context(), dsn)
		if err == nil {
			db.Close()
		}
		opened <- err
	}()
	srv = must.Get(postgres.Start(t.Context(), cfg))(t)
	t.Cleanup(func() { _ = srv.Stop(context.Background()) })
	must.Succeed(t, <-opened)
}

// ownServer returns the configuration of a server that the test may stop. Its folder is accessible to other users.
func ownServer(t *testing.T) postgres.Config {
	t.Helper()
	dir := must.Get(os.MkdirTemp("/tmp", "tsumugi-store-*"))(t)
	must.Succeed(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return postgres.Config{DataDir: dir, Logger: slog.New(slog.DiscardHandler)}
}

func TestErrorsAreTranslated(t *testing.T) {
	t.Parallel()
	own := fault.Errorf(fault.ThreadBusy, "x")
	for _, tt := range []struct {
		err  error
		code fault.Code
	}{
		{nil, ""},
		{own, fault.ThreadBusy},
		{context.Canceled, fault.Canceled},
		{context.DeadlineExceeded, fault.Unavailable},
		{pgx.ErrNoRows, fault.NotFound},
		{&net.OpError{Op: "read", Err: errors.New("reset")}, fault.Unavailable},
		{&pgconn.PgError{Code: "57P01"}, fault.Unavailable}, // admin_shutdown
		{&pgconn.PgError{Code: "53300"}, fault.Unavailable}, // too_many_connections
		{&pgconn.PgError{Code: "57014"}, fault.Unavailable}, // statement_timeout
		{&pgconn.PgError{Code: "40P01"}, fault.Unavailable}, // deadlock_detected
		{&pgconn.PgError{Code: "22021"}, fault.Invalid},     // NUL in text
		{&pgconn.PgError{Code: "23505"}, fault.Internal},    // The method does not expect it.
		{errors.New("bug"), fault.Internal},
	} {
		if got := fault.CodeOf(store.Translate(tt.err)); got != tt.code {
			t.Errorf("%v has code %q, want %q", tt.err, got, tt.code)
		}
	}
}

func TestR21_MethodsFailAsUnavailableWhileTheDatabaseIsStopped(t *testing.T) {
	t.Parallel()
	cfg := ownServer(t)
	srv, err := postgres.Start(t.Context(), cfg)
	must.Succeed(t, err)
	db := open(t, srv.DSN())
	must.Succeed(t, db.Migrate(t.Context()))
	server := newID()
	renew := func(ctx context.Context) error {
		_, err := db.Renew(ctx, server, nil)
		return err
	}
	must.Succeed(t, renew(t.Context()))
	must.Succeed(t, srv.Stop(t.Context()))

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	wantCode(t, renew(ctx), fault.Unavailable)
	wantCode(t, db.Ping(ctx), fault.Unavailable)
	_, err = db.TakeOver(ctx, server, nil, time.Second, 1, 0)
	wantCode(t, err, fault.Unavailable)

	srv = must.Get(postgres.Start(t.Context(), cfg))(t)
	t.Cleanup(func() { _ = srv.Stop(context.Background()) })
	must.Succeed(t, renew(ctx)) // The pool recovers without help.
	must.Get(db.TakeOver(ctx, server, nil, time.Second, 1, 0))(t)
}

func TestCanceledCallsSaySo(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := db.CountUsers(ctx)
	wantCode(t, err, fault.Canceled)
}
