package org

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

const (
	readTimeout = 5 * time.Second  // Timeout of each database read.
	readAgain   = 10 * time.Second // Pause before a failed read is retried.
)

// watch publishes notices when they are due, and ends them.
type watch struct {
	store  Store
	events Events
	log    *slog.Logger
	news   chan news

	// The fields below belong to run.
	upcoming map[uuid.UUID]time.Time // Notices to publish or to end later.
	unread   bool                    // Whether reading the upcoming notices failed.
}

// news is a message from the database: a notice was added or changed, or listening has begun.
type news struct {
	id        uuid.UUID
	listening bool
}

// listen forwards messages from the database until the context ends.
func (w *watch) listen(ctx context.Context) {
	pass := func(n news) {
		select {
		case w.news <- n:
		case <-ctx.Done():
		}
	}
	w.store.WatchNotifications(ctx, identity.Watcher{
		Listening: func() { pass(news{listening: true}) },
		Changed:   func(id uuid.UUID) { pass(news{id: id}) },
		Lost: func(err error) {
			w.log.Warn("org: connection for notifications lost, notices may be late", "err", err)
		},
	})
}

// run publishes and ends notices until the context ends.
func (w *watch) run(ctx context.Context) {
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-w.news:
			if n.listening {
				w.listening(ctx)
			} else {
				w.announce(ctx, n.id)
			}
		case now := <-next.C:
			if w.unread {
				if w.look(ctx); !w.unread {
					w.events.NotificationsMissed() // Some notices may have been published meanwhile.
				}
			}
			for id, at := range w.upcoming {
				if !at.After(now) {
					w.announce(ctx, id)
				}
			}
		}
		w.set(next)
	}
}

// set sets the timer for the next notice to publish or to end.
func (w *watch) set(next *time.Timer) {
	next.Stop()
	var first time.Time
	for _, at := range w.upcoming {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	switch {
	case w.unread:
		next.Reset(readAgain)
	case !first.IsZero():
		next.Reset(time.Until(first))
	}
}

// listening is called when the database begins to report changes of notices. Earlier changes may have been missed, also
// when the server has just started.
func (w *watch) listening(ctx context.Context) {
	w.events.NotificationsMissed()
	w.look(ctx)
}

// look reads upcoming notices that were added before listening began.
func (w *watch) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	upcoming, err := w.store.UpcomingNotifications(ctx)
	if w.unread = err != nil; w.unread {
		w.log.Warn("org: reading upcoming notices failed", "err", err)
		return
	}
	w.upcoming = upcoming
}

// announce publishes or ends a notice, or stores it for later.
func (w *watch) announce(ctx context.Context, id uuid.UUID) {
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	n, err := w.store.FindNotification(reading, id)
	delete(w.upcoming, id)
	switch {
	case fault.CodeOf(err) == fault.NotFound || ctx.Err() != nil:
		return
	case err != nil:
		w.log.Warn("org: reading a notice failed", "notification_id", id, "err", err)
		w.events.NotificationsMissed()
		w.unread = true
		return
	}
	switch n.State(time.Now()) {
	case noticeScheduled:
		w.await(id, n.PublishedAt)
	case noticePublished:
		if n.EndsAt != nil {
			w.await(id, *n.EndsAt)
		}
		w.events.NotificationPublished(n)
	case noticeEnded:
		w.events.NotificationEnded(n)
	}
}

// await stores a notice for later.
func (w *watch) await(id uuid.UUID, at time.Time) {
	if w.upcoming == nil {
		w.upcoming = make(map[uuid.UUID]time.Time)
	}
	w.upcoming[id] = at
}
