package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

const (
	listenCheck    = 30 * time.Second // How long a silent connection is trusted,
	proofCheck     = time.Second      // or one that is to prove that it tells everything.
	listenPatience = 5 * time.Second  // For an answer of the database.
	listenPauseMin = 200 * time.Millisecond
	listenPauseMax = 5 * time.Second
)

// listener is told what comes over a channel of the database.
type listener struct {
	began    func()               // From now on everything is told. Called again after an interruption.
	notified func(payload string) // What a notification says.
	proven   func(at time.Time)   // Everything that was answered as committed before then has been told. Nil: nobody asks.
	lost     func(err error)      // An interruption begins; the connection is made anew.
}

// listen tells the listener, from this goroutine, what comes over a channel until the context ends. It has a connection
// of its own: one of the pool's would be taken for good.
func (db *DB) listen(ctx context.Context, channel string, l listener) {
	pause := listenPauseMin
	for {
		began, err := db.listenOnce(ctx, channel, l)
		if ctx.Err() != nil {
			return
		}
		if began {
			pause = listenPauseMin
		}
		l.lost(translate(err))
		select {
		case <-time.After(pause/2 + rand.N(pause)): //nolint:gosec // Spreads servers; no secret.
		case <-ctx.Done():
			return
		}
		pause = min(pause*2, listenPauseMax)
	}
}

// listenOnce listens until the connection is lost.
func (db *DB) listenOnce(ctx context.Context, channel string, l listener) (began bool, err error) {
	echo, echoed := "echo "+uuid.NewString(), false
	cfg := db.pool.Config().ConnConfig
	cfg.RuntimeParams["application_name"] += " " + channel
	cfg.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) { // While this goroutine reads from the connection.
		if n.Payload == echo {
			echoed = true
		} else {
			l.notified(n.Payload)
		}
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return false, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listenPatience)
		defer cancel()
		_ = conn.Close(ctx) // It may be lost: nothing is left to do.
	}()
	if err := within(ctx, func(ctx context.Context) error {
		_, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize())
		return err
	}); err != nil {
		return false, err
	}
	l.began()
	check := listenCheck
	if l.proven != nil {
		check = proofCheck
	}
	for own := false; ; {
		if l.proven != nil && !own {
			if own, err = db.hearsEcho(ctx, conn, channel, echo, &echoed); err != nil {
				return true, err
			}
		}
		asked := time.Now()
		if err := within(ctx, conn.Ping); err != nil {
			return true, err
		}
		if own {
			l.proven(asked)
		}
		if err := hear(ctx, conn, check, func() bool { return false }); err != nil {
			return true, err
		}
	}
}

// hearsEcho says whether a connection hears what another one says. A ping proves nothing where it does not: with a pooler
// that lends sessions for a transaction, who listens is not who is asked. So nothing is asked while the echo is awaited.
func (db *DB) hearsEcho(ctx context.Context, conn *pgx.Conn, channel, echo string, echoed *bool) (bool, error) {
	*echoed = false
	if err := within(ctx, func(ctx context.Context) error {
		_, err := db.pool.Exec(ctx, `SELECT pg_notify($1, $2)`, channel, echo)
		return err
	}); err != nil {
		return false, ctx.Err() // It is tried again.
	}
	err := hear(ctx, conn, proofCheck, func() bool { return *echoed })
	return *echoed, err
}

// hear takes what comes over a connection, for a time or until it is enough.
func hear(ctx context.Context, conn *pgx.Conn, limit time.Duration, enough func() bool) error {
	wait, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for !enough() {
		err := conn.PgConn().WaitForNotification(wait)
		switch {
		case err == nil:
		case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
			return err
		default:
			return nil
		}
	}
	return nil
}

// within limits how long a connection that nobody else waits for may wait.
func within(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, listenPatience)
	defer cancel()
	return do(ctx)
}

// The channels, and what their triggers write to them.
const (
	notificationChannel = "tsumugi_notification" // The id of each notification that is added.
	userChannel         = "tsumugi_user"         // The id of each user who changed, or whose session was revoked.

	// Before the id of a user, an organization or a session: there is another change, which ends nothing.
	stalePrefix = "stale "
)

// WatchNotifications implements org.Store.
func (db *DB) WatchNotifications(ctx context.Context, w org.Watcher) {
	db.listen(ctx, notificationChannel, listener{began: w.Listening, notified: withID(w.Added), lost: w.Lost})
}

// WatchUsers implements identity.Store. PostgreSQL tells of a change when it is committed. The answer to a statement on a
// connection that listens comes after what was told before: that is what proves that nothing is missing.
func (db *DB) WatchUsers(ctx context.Context, w identity.Watcher) {
	db.watcher.Store(&w)
	defer db.watcher.Store(nil)
	changed, stale := withID(w.Changed), withID(w.Stale)
	db.listen(ctx, userChannel, listener{
		began: w.Listening, proven: w.Proven, lost: w.Lost,
		notified: func(payload string) {
			if id, found := strings.CutPrefix(payload, stalePrefix); found {
				stale(id)
			} else {
				changed(payload)
			}
		},
	})
}

// listenToOwn has a connection of the pool listen, too: PostgreSQL tells a session of its own changes before it says that
// they are committed, so that nobody is answered before the watcher knows. See heardOwn.
func listenToOwn(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{userChannel}.Sanitize()); err != nil {
		return err
	}
	var session uint32 // As the database calls it: a pooler says something else when it is connected to.
	err := conn.QueryRow(ctx, `SELECT pg_backend_pid()::oid`).Scan(&session)
	conn.PgConn().CustomData()[ownSession] = session
	return err
}

const ownSession = "session"

// heardOwn tells the watcher what a connection of the pool has changed itself. What others change, it hears of whenever it
// is used next, long after the watcher.
func (db *DB) heardOwn(conn *pgconn.PgConn, n *pgconn.Notification) {
	if w := db.watcher.Load(); w != nil && n.PID == conn.CustomData()[ownSession] {
		withID(w.Stale)(strings.TrimPrefix(n.Payload, stalePrefix))
	}
}

// withID reads the id that a notification is. Anybody with the database may write to a channel: others are passed over.
func withID(tell func(uuid.UUID)) func(payload string) {
	return func(payload string) {
		if id, err := uuid.Parse(payload); err == nil {
			tell(id)
		}
	}
}
