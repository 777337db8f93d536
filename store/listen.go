package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

const (
	// A connection that says nothing is asked whether it is alive. Both together are how late a change may be told
	// where a connection was lost and nobody noticed.
	listenCheck    = 2 * time.Second
	listenPatience = 2500 * time.Millisecond // For an answer of the database.

	listenPauseMin = 200 * time.Millisecond
	listenPauseMax = 5 * time.Second
)

// listener is told what comes over a channel of the database.
type listener struct {
	began    func()               // From now on everything is told. Called again after an interruption.
	notified func(payload string) // What a notification says.
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
	cfg := db.pool.Config().ConnConfig
	cfg.RuntimeParams["application_name"] += " " + channel
	// While this goroutine reads from the connection.
	cfg.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) {
		l.notified(n.Payload)
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
	for {
		if err := hear(ctx, conn); err != nil {
			return true, err
		}
		if err := within(ctx, conn.Ping); err != nil {
			return true, err
		}
	}
}

// hear takes what comes over a connection, until nothing has come for a while.
func hear(ctx context.Context, conn *pgx.Conn) error {
	for {
		wait, cancel := context.WithTimeout(ctx, listenCheck)
		err := conn.PgConn().WaitForNotification(wait)
		cancel()
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
	}
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
	sourceChannel       = "tsumugi_source"       // Nothing but that a data source waits to be read.
)

// WatchNotifications implements org.Store.
func (db *DB) WatchNotifications(ctx context.Context, w org.Watcher) {
	db.listen(ctx, notificationChannel, listener{began: w.Listening, notified: withID(w.Added), lost: w.Lost})
}

// WatchUsers implements identity.Store. PostgreSQL tells of a change when it is committed.
func (db *DB) WatchUsers(ctx context.Context, w identity.Watcher) {
	db.listen(ctx, userChannel, listener{began: w.Listening, notified: withID(w.Changed), lost: w.Lost})
}

// withID reads the id that a notification is. Anybody with the database may write to a channel: others are passed over.
func withID(tell func(uuid.UUID)) func(payload string) {
	return func(payload string) {
		if id, err := uuid.Parse(payload); err == nil {
			tell(id)
		}
	}
}
