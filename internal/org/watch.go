package org

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

const (
	readTimeout = 5 * time.Second  // Timeout of each database read.
	readAgain   = 10 * time.Second // Pause before a failed read is retried.
)

// watch publishes notices when they are due.
type watch struct {
	store  NoticeStore
	events Events
	log    *slog.Logger
	news   chan news

	// The fields below belong to run.
	upcoming map[uuid.UUID]time.Time // Notices that are due later.
	begun    bool                    // It has listened before.
	unread   bool                    // Reading the upcoming notices failed.
}

// news is a message from the database: a notice was added, or listening has begun.
type news struct {
	id        uuid.UUID
	listening bool
}

// listen forwards news from the database until the context ends.
func (w *watch) listen(ctx context.Context) {
	pass := func(n news) {
		select {
		case w.news <- n:
		case <-ctx.Done():
		}
	}
	w.store.WatchNotifications(ctx, Watcher{
		Listening: func() { pass(news{listening: true}) },
		Added:     func(id uuid.UUID) { pass(news{id: id}) },
		Lost: func(err error) {
			w.log.Warn("notices may be late: the database connection that announces them is lost", "err",
				err)
		},
	})
}

// run publishes notices until the context ends.
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
					w.events.NotificationsMissed() // Some may have been published meanwhile.
				}
			}
			for id, at := range w.upcoming {
				if !at.After(now) {
					delete(w.upcoming, id)
					w.announce(ctx, id)
				}
			}
		}
		w.set(next)
	}
}

// set resets the timer to the next due notice.
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

// listening is called when the database reports each new notice from now on.
func (w *watch) listening(ctx context.Context) {
	if w.begun {
		w.events.NotificationsMissed()
	}
	w.begun = true
	w.look(ctx)
}

// look reads the upcoming notices that were added before listening began.
func (w *watch) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	upcoming, err := w.store.UpcomingNotifications(ctx)
	if w.unread = err != nil; w.unread {
		w.log.Warn("reading upcoming notices failed", "err", err)
		return
	}
	w.upcoming = upcoming
}

// announce publishes a notice, or keeps it for later.
func (w *watch) announce(ctx context.Context, id uuid.UUID) {
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	n, err := w.store.FindNotification(reading, id)
	switch {
	case fault.CodeOf(err) == fault.NotFound || ctx.Err() != nil:
	case err != nil:
		w.log.Warn("reading a new notice failed", "notification_id", id, "err", err)
		w.events.NotificationsMissed()
	case n.PublishedAt.After(time.Now()):
		if w.upcoming == nil {
			w.upcoming = make(map[uuid.UUID]time.Time)
		}
		w.upcoming[id] = n.PublishedAt
	default:
		w.events.NotificationPublished(n)
	}
}
