package identity

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

const (
	lookTimeout = 4 * time.Second // How long the watch waits for the database,
	// and after what pause it asks again: connections may be from before the interruption.
	lookPause = 200 * time.Millisecond
	// For how long a lost connection may have been silent, clocks that differ included.
	silentBefore = time.Minute
)

// watch tells of users who change.
type watch struct {
	store   Store
	events  Events
	changes *atomic.Uint64 // The Service's.
	log     *slog.Logger

	// The rest belongs to run.
	lost time.Time // When the interruption began; zero while there is none.
}

// run tells of users until the context ends.
func (w *watch) run(ctx context.Context) {
	w.lost = time.Now() // Nothing is told before the first Listening.
	w.store.WatchUsers(ctx, Watcher{
		Listening: func() {
			w.changes.Add(1) // Some may have been missed.
			w.catchUp(ctx)
		},
		Changed: w.tell,
		Lost: func(err error) {
			if w.lost.IsZero() {
				w.lost = time.Now()
			}
			w.log.Warn("streams of users who change may go on for a while: the database does not tell of them", "err",
				err)
		},
	})
}

func (w *watch) tell(userID uuid.UUID) {
	w.changes.Add(1) // First: anybody who opens something from now on is looked up again.
	w.events.PersonChanged(userID)
}

// catchUp looks for those who have changed in an interruption. What people have open goes on until it is known: nobody
// could come back without the database, and most have not changed.
func (w *watch) catchUp(ctx context.Context) {
	for _, id := range w.outdated(ctx) {
		w.tell(id)
	}
	w.lost = time.Time{}
}

// outdated returns who is present and has changed in an interruption. It asks until it is told, or the context ends.
func (w *watch) outdated(ctx context.Context) []uuid.UUID {
	for failed := false; ; failed = true {
		present := w.events.Present()
		if len(present) == 0 {
			return nil
		}
		asking, cancel := context.WithTimeout(ctx, lookTimeout)
		outdated, err := w.store.Outdated(asking, present, time.Since(w.lost)+silentBefore)
		cancel()
		if err == nil || ctx.Err() != nil {
			return outdated
		}
		if !failed {
			w.log.Warn("looking for users who have changed failed; it is tried again", "err", err)
		}
		select {
		case <-time.After(lookPause):
		case <-ctx.Done():
			return nil
		}
	}
}
