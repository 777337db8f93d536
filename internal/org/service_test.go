package org_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// board is a store with notices added by the test.
type board struct {
	org.Store
	added chan uuid.UUID // uuid.Nil means that listening begins.

	mu      sync.Mutex // Guards the fields below.
	notices map[uuid.UUID]org.Notification
	down    bool
}

func newBoard() *board {
	return &board{added: make(chan uuid.UUID), notices: make(map[uuid.UUID]org.Notification)}
}

func (b *board) put(at time.Time) uuid.UUID {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := uuid.New()
	b.notices[id] = org.Notification{ID: id, PublishedAt: at}
	return id
}

// end sets the end of a notice.
func (b *board) end(id uuid.UUID, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.notices[id]
	n.EndsAt = &at
	b.notices[id] = n
}

func (b *board) remove(id uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.notices, id)
}

func (b *board) setDown(down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = down
}

var errDown = fault.Errorf(fault.Unavailable, "down")

func (b *board) FindNotification(_ context.Context, id uuid.UUID) (org.Notification, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, ok := b.notices[id]
	switch {
	case b.down:
		return n, errDown
	case !ok:
		return n, fault.Errorf(fault.NotFound, "none")
	}
	return n, nil
}

func (b *board) UpcomingNotifications(context.Context) (map[uuid.UUID]time.Time, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return nil, errDown
	}
	upcoming := make(map[uuid.UUID]time.Time)
	for id, n := range b.notices {
		if n.PublishedAt.After(time.Now()) {
			upcoming[id] = n.PublishedAt
		} else if n.EndsAt != nil && n.EndsAt.After(time.Now()) {
			upcoming[id] = *n.EndsAt
		}
	}
	return upcoming, nil
}

func (b *board) WatchNotifications(ctx context.Context, w identity.Watcher) {
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-b.added:
			if id == uuid.Nil {
				w.Lost(errors.New("lost"))
				w.Listening()
			} else {
				w.Changed(id)
			}
		}
	}
}

func (b *board) ReadNotifications(_ context.Context, _, _ uuid.UUID, ids []uuid.UUID) error {
	if slices.Contains(ids, uuid.Nil) {
		return errDown
	}
	return nil
}

func (b *board) ClaimAccountChanges(context.Context, *uuid.UUID, time.Duration, int) ([]org.AccountChange, error) {
	return nil, nil
}

func (b *board) DeleteExpiredInvites(context.Context, time.Duration) error { return nil }

// screen records events.
type screen struct {
	mu   sync.Mutex // Guards the fields below.
	told []uuid.UUID
	when []time.Time
}

func (s *screen) note(ids ...uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told, s.when = append(s.told, ids...), append(s.when, time.Now())
}

func (s *screen) NotificationPublished(n org.Notification) { s.note(n.ID) }
func (s *screen) NotificationEnded(n org.Notification)     { s.note(uuid.Max, n.ID) }
func (s *screen) NotificationsMissed()                     { s.note(uuid.Nil) }
func (s *screen) NotificationsRead(user uuid.UUID, ids []uuid.UUID) {
	s.note(append([]uuid.UUID{user}, ids...)...)
}

func (s *screen) take() ([]uuid.UUID, []time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	told, when := s.told, s.when
	s.told, s.when = nil, nil
	return told, when
}

func TestNoticesAreAnnouncedWhenDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s := newBoard(), &screen{}
		service := org.NewService(b, nil, s, slog.New(slog.DiscardHandler))
		began := time.Now()
		before := b.put(began.Add(time.Hour)) // Before the server begins to listen.
		service.Start()
		defer service.Stop()
		want := func(what string, ids ...uuid.UUID) []time.Time {
			t.Helper()
			synctest.Wait()
			told, when := s.take()
			if !slices.Equal(told, ids) {
				t.Fatalf("%s: told %v, want %v", what, told, ids)
			}
			return when
		}
		b.added <- uuid.Nil
		want("listening for the first time", uuid.Nil) // Notices may have been published after tabs were opened.
		now := b.put(began)
		b.added <- now
		want("a notice", now)
		b.added <- uuid.New()
		want("one that is gone again")

		later, withdrawn := b.put(began.Add(2*time.Hour)), b.put(began.Add(90*time.Minute))
		b.added <- later
		b.added <- withdrawn
		want("notices for later")
		b.remove(withdrawn)
		<-time.After(61 * time.Minute)
		if when := want("an hour later", before); !when[0].Equal(began.Add(time.Hour)) {
			t.Errorf("told at %v", when)
		}
		<-time.After(3 * time.Hour)
		want("all that was for later", later)

		b.added <- uuid.Nil
		want("after an interruption", uuid.Nil)
		b.setDown(true)
		b.added <- now
		want("the database cannot be read", uuid.Nil)
	})
}

// TestNoticesEnd: notices end at a time that was set before or after the server received them, or at once.
func TestNoticesEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s := newBoard(), &screen{}
		service := org.NewService(b, nil, s, slog.New(slog.DiscardHandler))
		began := time.Now()
		before := b.put(began.Add(-time.Hour))
		b.end(before, began.Add(time.Hour))
		service.Start()
		defer service.Stop()
		want := func(what string, ids ...uuid.UUID) []time.Time {
			t.Helper()
			synctest.Wait()
			told, when := s.take()
			if !slices.Equal(told, ids) {
				t.Fatalf("%s: told %v, want %v", what, told, ids)
			}
			return when
		}
		b.added <- uuid.Nil
		later := b.put(began.Add(2 * time.Hour))
		b.end(later, began.Add(3*time.Hour))
		b.added <- later
		want("nothing has ended yet", uuid.Nil)
		<-time.After(time.Hour)
		want("an hour later", uuid.Max, before)
		<-time.After(time.Hour)
		want("two hours later", later)
		b.end(later, began.Add(4*time.Hour))
		b.added <- later
		want("it ends later than was said", later)
		<-time.After(61 * time.Minute)
		want("at its first end")
		<-time.After(time.Hour)
		if when := want("at its end", uuid.Max, later); !when[0].Equal(began.Add(4 * time.Hour)) {
			t.Errorf("ended at %v", when)
		}
		at := b.put(began)
		b.end(at, time.Now())
		b.added <- at
		want("ended by hand", uuid.Max, at)
	})
}

// TestFailedReadsOfNoticesAreRepeated: an upcoming notice that could not be read is not forgotten.
func TestFailedReadsOfNoticesAreRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s := newBoard(), &screen{}
		service := org.NewService(b, nil, s, slog.New(slog.DiscardHandler))
		service.Start()
		defer service.Stop()
		b.added <- uuid.Nil
		later := b.put(time.Now().Add(time.Hour))
		synctest.Wait()
		b.setDown(true)
		b.added <- later
		synctest.Wait()
		b.setDown(false)
		<-time.After(61 * time.Minute)
		synctest.Wait()
		if told, _ := s.take(); !slices.Equal(told, []uuid.UUID{uuid.Nil, uuid.Nil, uuid.Nil, later}) {
			t.Errorf("told %v", told)
		}
	})
}

// TestNoticesForLaterAreReadAgain: a failed read at the beginning of listening does not make the server forget upcoming
// notices.
func TestNoticesForLaterAreReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s := newBoard(), &screen{}
		service := org.NewService(b, nil, s, slog.New(slog.DiscardHandler))
		later := b.put(time.Now().Add(time.Hour))
		b.setDown(true)
		service.Start()
		defer service.Stop()
		b.added <- uuid.Nil
		<-time.After(time.Minute)
		b.setDown(false)
		<-time.After(time.Hour)
		synctest.Wait()
		if told, _ := s.take(); !slices.Equal(told, []uuid.UUID{uuid.Nil, uuid.Nil, later}) {
			t.Errorf("told %v", told)
		}
	})
}

func TestReadNoticesAreNotified(t *testing.T) {
	t.Parallel()
	s := &screen{}
	service := org.NewService(newBoard(), nil, s, slog.New(slog.DiscardHandler))
	user, notice := uuid.New(), uuid.New()
	must.Succeed(t, service.MarkRead(t.Context(), uuid.New(), user, []uuid.UUID{notice}))
	if err := service.MarkRead(t.Context(), uuid.New(), user, []uuid.UUID{uuid.Nil}); !errors.Is(err, errDown) {
		t.Errorf("got %v", err)
	}
	if told, _ := s.take(); !slices.Equal(told, []uuid.UUID{user, notice}) {
		t.Errorf("told %v", told)
	}
}
