// Package storetest creates a PostgreSQL database with the current schema for each test.
//
// The first test of a process starts a server (package store/postgres), or connects to the server at
// TSUMUGI_TEST_DATABASE_URL. Each test then gets a copy of a migrated template, which takes some tens of milliseconds.
// The server and its files are removed even if the process is killed: the kernel stops the server, and a small helper
// process removes the files.
//
// It imports store, store/postgres and migrations, and is for tests only.
package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/store"
)

const (
	startTimeout = 2 * time.Minute // Long, because several packages may start servers on two cores at the same time.
	dropTimeout  = 2 * time.Minute
	testConns    = 10 // Connections per test. Many tests run at the same time.
)

// New returns an empty database with the current schema. It is closed and dropped when the test ends.
func New(t testing.TB) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), withPool(DSN(t)))
	if err != nil {
		t.Fatalf("storetest: %v", err)
	}
	t.Cleanup(db.Close)
	return db
}

// poolKey is the signing key of the tests of a process. Generating one takes long with the race detector.
var poolKey = sync.OnceValues(func() (pool.Key, error) {
	now := time.Unix(0, 0)
	return pool.NewKey(now, now)
})

// AddPoolKey stores the first signing key of the user pool, which all tests of a process share.
func AddPoolKey(t testing.TB, db *store.DB) {
	t.Helper()
	key, err := poolKey()
	if err == nil {
		err = db.AddFirstPoolKey(t.Context(), key)
	}
	if err != nil {
		t.Fatalf("storetest: add a signing key: %v", err)
	}
}

// DSN returns the connection string of a new database like that of [New], for tests that open it themselves, for
// example several times. The database is dropped when the test ends, and its connections are closed.
func DSN(t testing.TB) string {
	t.Helper()
	b, err := shared.get()
	if err != nil {
		t.Fatalf("storetest: %v", err)
	}
	name := b.prefix + strings.ToLower(rand.Text()[:12])
	if err := b.create(t.Context(), name); err != nil {
		t.Fatalf("storetest: create database: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), dropTimeout)
		defer cancel()
		if err := b.drop(ctx, name); err != nil {
			t.Errorf("storetest: drop database: %v", err)
		}
	})
	return b.dsn(name)
}

// Pool returns connections to a database that [DSN] has returned, for SQL that the store has no method for. The SQL may
// change the schema, because no statement is cached.
func Pool(t testing.TB, dsn string) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(withPool(dsn))
	if err != nil {
		t.Fatalf("storetest: %v", err)
	}
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatalf("storetest: %v", err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// Suite runs the tests of a package and then stops the server. Only packages that check for leaked goroutines need it:
// leak.Main(storetest.Suite{M: m}).
type Suite struct{ M *testing.M }

// Run runs the tests and returns the exit code.
func (s Suite) Run() int {
	code := s.M.Run()
	if err := shared.stop(); err != nil {
		fmt.Println("storetest:", err)
		code = max(code, 1)
	}
	return code
}

// shared is the server of this process. It is a global variable, because all tests of a process share it.
var shared process

// process starts the server of a test process when the first test needs it.
type process struct {
	mu      sync.Mutex // Guards the fields below.
	backend *backend
	err     error
}

func (p *process) get() (*backend, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.backend == nil && p.err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		p.backend, p.err = open(ctx)
	}
	return p.backend, p.err
}

func (p *process) stop() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.backend == nil {
		return nil
	}
	b := p.backend
	p.backend = nil
	return b.close()
}

// backend is a server with a migrated template.
type backend struct {
	template string
	prefix   string // Of the test databases' names.
	dsn      func(name string) string
	close    func() error

	mu    sync.Mutex // Guards admin, which runs one command at a time.
	admin *pgx.Conn
}

func (b *backend) create(ctx context.Context, name string) error {
	// Copying files is several times faster than writing every page to the WAL.
	return b.exec(ctx, "CREATE DATABASE "+quote(name)+" TEMPLATE "+quote(b.template)+" STRATEGY FILE_COPY")
}

func (b *backend) drop(ctx context.Context, name string) error {
	return b.exec(ctx, "DROP DATABASE IF EXISTS "+quote(name)+" WITH (FORCE)")
}

// exec runs a command without parameters. The end of a test does not cancel a running command, because that would close
// the connection for the other tests.
func (b *backend) exec(ctx context.Context, sql string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()
	_, err := b.admin.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	return err
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
