package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/lru"
	"github.com/tsumugi-ai/tsumugi/internal/secret"
)

const (
	defaultMaxConns = 16               // Unless the connection string sets pool_max_conns.
	connectTimeout  = 5 * time.Second  // For each address.
	openTimeout     = 10 * time.Second // For a database that is starting up.
	openPoll        = 100 * time.Millisecond
	maxAttempts     = 4 // Attempts of a transaction after deadlocks and lost connections.

	maxBeginWait = 3 * time.Second // A longer wait refuses further answers, whose callers would give up.
)

// sessionSettings prevent a lost client or a runaway statement from holding locks indefinitely. They are set after
// connecting and not in the startup packet, because connection poolers reject them there. Settings in the connection
// string take precedence.
var sessionSettings = map[string]string{
	"statement_timeout":                   "30s",
	"lock_timeout":                        "10s",
	"idle_in_transaction_session_timeout": "30s",
}

// DB is the database. It is safe for concurrent use.
type DB struct {
	pool *pgxpool.Pool

	// priorityPool is a separate connection for calls that must not wait for others: the lease and the health check.
	// Otherwise a busy server could be mistaken for a dead one.
	priorityPool *pgxpool.Pool

	begins *group // Begins of answers, whose callers wait for the first token.
	ends   *group // Ends of answers, and titles.

	owners *lru.Cache[string, identity.Owner] // By the subjects of the people who asked questions lately.

	secrets secret.Keyring
}

// WithSecrets returns a DB with the same connections that seals secrets if there is a key. Closing either closes both.
func (db *DB) WithSecrets(secrets secret.Keyring) *DB {
	other := *db
	other.secrets = secrets
	return &other
}

// Open connects to the database of a PostgreSQL connection string (URL or keywords). It waits up to 10 s for a database
// that is starting up; every other failure is final. It does not change the schema: see [DB.Migrate].
func Open(ctx context.Context, dsn string) (*DB, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("the database's connection string: %w", err)
	}
	// The host would be a part of the password, and the errors of connecting contain it.
	if host := cfg.ConnConfig.Host; strings.Contains(host, "@") && !strings.HasPrefix(host, "/") {
		return nil, errors.New("the database's connection string: write @ in the user or the password as %40")
	}
	if !hasPoolSize(dsn) {
		cfg.MaxConns = defaultMaxConns
	}
	return open(ctx, cfg)
}

// PoolStat returns statistics of the connections for calls.
func (db *DB) PoolStat() *pgxpool.Stat { return db.pool.Stat() }

// open connects as cfg describes.
func open(ctx context.Context, cfg *pgxpool.Config) (_ *DB, err error) {
	cfg.MaxConnLifetimeJitter = 5 * time.Minute
	cfg.ConnConfig.ConnectTimeout = connectTimeout
	params := cfg.ConnConfig.RuntimeParams
	if params["application_name"] == "" {
		params["application_name"] = "tsumugi"
	}
	params["timezone"] = "UTC"
	settings := maps.Clone(sessionSettings)
	maps.DeleteFunc(settings, func(name, _ string) bool { _, set := params[name]; return set })
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		encodeUUIDs(conn.TypeMap())
		return applySettings(ctx, conn, settings)
	}
	vital := cfg.Copy()
	vital.MaxConns, vital.MinConns, vital.MinIdleConns = 1, 0, 0
	db := &DB{}
	if db.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, fmt.Errorf("the database: %w", err)
	}
	if err := awaitPing(ctx, db.pool); err != nil {
		db.pool.Close()
		return nil, fmt.Errorf("the database cannot be reached: %w", err)
	}
	if db.priorityPool, err = pgxpool.NewWithConfig(ctx, vital); err != nil {
		db.pool.Close()
		return nil, fmt.Errorf("the database: %w", err)
	}
	db.begins, db.ends = &group{pool: db.pool, maxWait: maxBeginWait}, &group{pool: db.pool}
	db.owners = lru.New[string, identity.Owner](maxOwners)
	return db, nil
}

// hasPoolSize reports whether the connection string sets the size of the pool.
func hasPoolSize(dsn string) bool {
	cfg, err := pgx.ParseConfig(dsn) // It keeps unknown parameters, such as those of the pool.
	return err == nil && cfg.RuntimeParams["pool_max_conns"] != ""
}

// applySettings sets those settings that the server's version knows.
func applySettings(ctx context.Context, conn *pgx.Conn, settings map[string]string) error {
	names := slices.Collect(maps.Keys(settings))
	values := convert(names, func(name string) string { return settings[name] })
	_, err := conn.Exec(ctx,
		`SELECT set_config(s.name, s.value, false) FROM unnest($1::text[], $2::text[]) AS s(name, value)
		WHERE current_setting(s.name, true) IS NOT NULL`, names, values)
	return err
}

// awaitPing waits for a database that starts at the same time as this process.
func awaitPing(ctx context.Context, pool *pgxpool.Pool) error {
	deadline := time.NewTimer(openTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(openPoll)
	defer tick.Stop()
	for {
		err := pool.Ping(ctx)
		if err == nil || !isStarting(err) {
			return err
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return err
		case <-ctx.Done():
			return err
		}
	}
}

// isStarting reports whether an error is the reply of a database that is starting up.
func isStarting(err error) bool {
	if code := pgError(err).Code; code != "" {
		return code == codeCannotConnectNow
	}
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT)
}

// Close closes all connections. It waits for those in use.
func (db *DB) Close() {
	db.begins.work.Wait()
	db.ends.work.Wait()
	db.pool.Close()
	db.priorityPool.Close()
}

// Ping reports whether the database answers. A failure has the code fault.Unavailable.
func (db *DB) Ping(ctx context.Context) error { return translate(db.priorityPool.Ping(ctx)) }

// tx runs fn in a transaction, which is committed if fn returns nil. fn may run several times: when the database
// resolved a deadlock, or the connection turned out to be dead before anything was sent. Its error is translated to a
// fault.
func (db *DB) tx(ctx context.Context, fn func(tx pgx.Tx) error) error {
	return retry(ctx, func() error { return pgx.BeginFunc(ctx, db.pool, fn) })
}

// txResult is like DB.tx for a function with a result. With an error, the result is the zero value.
func txResult[T any](ctx context.Context, db *DB, fn func(tx pgx.Tx) (T, error)) (result T, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) (err error) {
		result, err = fn(tx)
		return err
	})
	if err != nil {
		return *new(T), err
	}
	return result, nil
}

// batch is like tx for independent statements, which are sent in one transaction and one round trip. An error of a
// callback that reads a result occurs after the commit and cannot roll it back.
func (db *DB) batch(ctx context.Context, queue func(batch *pgx.Batch)) error {
	return retry(ctx, func() error { return send(ctx, db.pool, queue) })
}

// retry retries a transaction after a deadlock or a lost connection.
func retry(ctx context.Context, transaction func() error) error {
	for attempt := 1; ; attempt++ {
		err := transaction()
		if attempt < maxAttempts && isRetryable(err) && ctx.Err() == nil {
			continue
		}
		return translate(err)
	}
}
