package identity

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

const (
	queryTimeout = 4 * time.Second // For one query after an interruption.
	// Pause before a failed query is retried, because pooled connections may predate the interruption.
	queryPause = 200 * time.Millisecond
	// Maximum time for which a lost connection may have been silent before it was detected, clock skew included.
	maxSilence = time.Minute
)

// watch reports changes of users.
type watch struct {
	store     Store
	changed   func(userID uuid.UUID)
	connected func() []uuid.UUID
	changes   *atomic.Uint64 // The Service's.
	log       *slog.Logger

	// Used only by the goroutine of run.
	lost time.Time // Start of the current interruption; zero without one.
}

// run reports changes until the context ends.
func (w *watch) run(ctx context.Context) {
	w.lost = time.Now() // No notifications arrive before the first Listening.
	w.store.WatchUsers(ctx, Watcher{
		Listening: func() {
			w.changes.Add(1) // Some notifications may have been missed.
			w.catchUp(ctx)
		},
		Changed: w.notify,
		Lost: func(err error) {
			if w.lost.IsZero() {
				w.lost = time.Now()
			}
			w.log.Warn("identity: connection for notifications lost, streams of changed users may stay open", "err", err)
		},
	})
}

func (w *watch) notify(userID uuid.UUID) {
	w.changes.Add(1) // First, so that an actor who opens a stream from now on is looked up again.
	w.changed(userID)
}

// catchUp finds the users who changed during an interruption. Streams stay open until then, because clients could not
// reconnect without the database, and most users have not changed.
func (w *watch) catchUp(ctx context.Context) {
	for _, id := range w.outdated(ctx) {
		w.notify(id)
	}
	w.lost = time.Time{}
}

// outdated returns the present users who changed during an interruption. It retries until the store answers or the
// context ends.
func (w *watch) outdated(ctx context.Context) []uuid.UUID {
	for failed := false; ; failed = true {
		present := w.connected()
		if len(present) == 0 {
			return nil
		}
		asking, cancel := context.WithTimeout(ctx, queryTimeout)
		outdated, err := w.store.ChangedUsers(asking, present, time.Since(w.lost)+maxSilence)
		cancel()
		if err == nil || ctx.Err() != nil {
			return outdated
		}
		if !failed {
			w.log.Warn("identity: looking up changed users failed, retrying", "err", err)
		}
		select {
		case <-time.After(queryPause):
		case <-ctx.Done():
			return nil
		}
	}
}
