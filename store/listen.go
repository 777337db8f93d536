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
)

const (
	// An idle connection is checked after listenCheck. If the connection was lost unnoticed, a notification is delayed
	// by at most listenCheck and listenTimeout. Together they stay below the 5 s within which the streams of a disabled
	// user must end.
	listenCheck   = 2 * time.Second
	listenTimeout = 2500 * time.Millisecond // Limit for the database's reply to the check.

	listenPauseMin = 200 * time.Millisecond
	listenPauseMax = 5 * time.Second
)

// listener has the callbacks for the notifications of a channel.
type listener struct {
	began    func()               // No notification is missed from now on. Called again after an interruption.
	notified func(payload string) // Called for each notification.
	lost     func(err error)      // The connection was lost; listen reconnects.
}

// listen calls l in this goroutine for the notifications of a channel until the context ends. It opens a separate
// connection, because it would occupy one of the pool permanently.
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
	// pgx calls it in this goroutine while reading from the connection.
	cfg.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) {
		l.notified(n.Payload)
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return false, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listenTimeout)
		defer cancel()
		_ = conn.Close(ctx) // The connection may be lost already.
	}()
	if err := withListenTimeout(ctx, func(ctx context.Context) error {
		_, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize())
		return err
	}); err != nil {
		return false, err
	}
	l.began()
	for {
		if err := receive(ctx, conn); err != nil {
			return true, err
		}
		if err := withListenTimeout(ctx, conn.Ping); err != nil {
			return true, err
		}
	}
}

// receive receives notifications until the connection has been idle for listenCheck.
func receive(ctx context.Context, conn *pgx.Conn) error {
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

// withListenTimeout limits the duration of a call on the listening connection.
func withListenTimeout(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, listenTimeout)
	defer cancel()
	return do(ctx)
}

// Channels of notifications, with the payloads that the triggers send.
const (
	notificationChannel = "tsumugi_notification" // The id of each new or changed notification.
	userChannel         = "tsumugi_user"         // The id of each user who was changed or whose session was revoked.
	sourceChannel       = "tsumugi_source"       // No payload: a data source is waiting to be processed.
)

func (db *DB) WatchNotifications(ctx context.Context, w identity.Watcher) {
	db.listen(ctx, notificationChannel, listener{began: w.Listening, notified: withID(w.Changed), lost: w.Lost})
}

// WatchUsers implements identity.Store. PostgreSQL sends a notification when its transaction commits.
func (db *DB) WatchUsers(ctx context.Context, w identity.Watcher) {
	db.listen(ctx, userChannel, listener{began: w.Listening, notified: withID(w.Changed), lost: w.Lost})
}

// withID parses a payload as an id. It ignores other payloads, because every user of the database may notify a channel.
func withID(tell func(uuid.UUID)) func(payload string) {
	return func(payload string) {
		if id, err := uuid.Parse(payload); err == nil {
			tell(id)
		}
	}
}
