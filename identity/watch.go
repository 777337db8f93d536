package identity

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	lookTimeout  = 4 * time.Second        // How long the watch asks the database,
	lookPause    = 200 * time.Millisecond // and how often: the pool's connections may be from before the interruption.
	silentBefore = time.Minute            // For how long a lost connection may have been silent, clocks that differ included.
	changesKept  = 30 * time.Second       // Longer than a request takes from its token to what it opens.
)

// changes are the users who have changed lately. The zero value is ready for use.
type changes struct {
	mu    sync.Mutex
	at    map[uuid.UUID]time.Time // Guarded by mu. When this server was told.
	sweep time.Time               // Guarded by mu. When old ones are forgotten next.
}

// note remembers that a user has changed.
func (c *changes) note(userID uuid.UUID) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil {
		c.at = make(map[uuid.UUID]time.Time)
	}
	c.at[userID] = now
	if now.Before(c.sweep) {
		return
	}
	c.sweep = now.Add(changesKept)
	for id, at := range c.at {
		if now.Sub(at) > changesKept {
			delete(c.at, id)
		}
	}
}

// since reports whether a user has changed after a time.
func (c *changes) since(userID uuid.UUID, at time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed, known := c.at[userID]
	return known && !changed.Before(at)
}

// watch tells of users who change.
type watch struct {
	store   Store
	events  Events
	changes *changes
	log     *slog.Logger

	// The rest belongs to run.
	lost time.Time // When the interruption began; zero while there is none.
}

// run tells of users until the context ends.
func (w *watch) run(ctx context.Context) {
	w.lost = time.Now() // Nothing is told before the first Listening.
	w.store.WatchUsers(ctx, Watcher{
		Listening: func() { w.catchUp(ctx) },
		Changed:   w.tell,
		Lost: func(err error) {
			if w.lost.IsZero() {
				w.lost = time.Now()
			}
			w.log.Warn("streams of users who change may go on for a while: the database does not tell of them", "err", err)
		},
	})
}

func (w *watch) tell(userID uuid.UUID) {
	w.changes.note(userID) // First: whoever opens something from now on asks for it.
	w.events.PersonChanged(userID)
}

// catchUp looks for those who have changed in an interruption. If they cannot be found it tells of everybody: who is still
// allowed to comes back.
func (w *watch) catchUp(ctx context.Context) {
	present := w.events.Present()
	if len(present) > 0 {
		outdated, err := w.outdated(ctx, present)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.log.Warn("looking for users who have changed failed: the streams of all end", "err", err)
			outdated = present
		}
		for _, id := range outdated {
			w.tell(id)
		}
	}
	w.lost = time.Time{}
}

// outdated asks who has changed in an interruption until it is told.
func (w *watch) outdated(ctx context.Context, present []uuid.UUID) ([]uuid.UUID, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	for {
		outdated, err := w.store.Outdated(ctx, present, time.Since(w.lost)+silentBefore)
		if err == nil {
			return outdated, nil
		}
		select {
		case <-time.After(lookPause):
		case <-ctx.Done():
			return nil, err
		}
	}
}
