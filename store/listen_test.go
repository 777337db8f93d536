package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// watched returns the events of a watcher: ids of notifications, uuid.Nil for listening, uuid.Max for an interruption.
func watched(t *testing.T, f *fixture) <-chan uuid.UUID {
	t.Helper()
	told := make(chan uuid.UUID, 16)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.WatchNotifications(ctx, identity.Watcher{
			Listening: func() { told <- uuid.Nil },
			Changed:   func(id uuid.UUID) { told <- id },
			Lost:      func(error) { told <- uuid.Max },
		})
	}()
	t.Cleanup(func() { stop(); <-done })
	return told
}

func wantNotified(t *testing.T, told <-chan uuid.UUID, want ...uuid.UUID) {
	t.Helper()
	for _, id := range want {
		select {
		case got := <-told:
			if got != id {
				t.Fatalf("got %v, want %v", got, id)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("got no notification, want %v", id)
		}
	}
}

func TestNewNotificationsAreAnnounced(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	told := watched(t, f)
	wantNotified(t, told, uuid.Nil)

	byStore, bySQL := newID(), newID()
	must.Succeed(t, f.PublishNotification(t.Context(), org.Notification{ID: byStore, Title: "x", Level: org.LevelInfo}))
	f.exec(t, `SELECT pg_notify('tsumugi_notification', 'no id')`)
	f.exec(t, `INSERT INTO notifications (id, organization_id, title, level) VALUES ($1, $2, 'x', 'warning')`, bySQL,
		f.a)
	wantNotified(t, told, byStore, bySQL)

	n, err := f.FindNotification(t.Context(), bySQL)
	if err != nil || n.OrganizationID == nil || *n.OrganizationID != f.a || n.Level != org.LevelWarning || n.Read {
		t.Errorf("found %+v, %v", n, err)
	}
	_, err = f.FindNotification(t.Context(), newID())
	wantCode(t, err, fault.NotFound)
}

func TestInterruptedWatchReconnects(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	told := watched(t, f)
	wantNotified(t, told, uuid.Nil)
	for range 2 {
		f.exec(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE application_name LIKE '% tsumugi_notification' AND datname = current_database()`)
		wantNotified(t, told, uuid.Max, uuid.Nil)
	}
	id := newID()
	must.Succeed(t, f.PublishNotification(t.Context(), org.Notification{ID: id, Title: "x", Level: org.LevelInfo}))
	wantNotified(t, told, id)
}

func TestUpcomingNotifications(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	at := time.Now().Add(time.Hour).Truncate(time.Microsecond)
	later := newID()
	must.Succeed(t, f.PublishNotification(t.Context(), org.Notification{ID: newID(), Title: "x", Level: org.LevelInfo}))
	must.Succeed(t, f.PublishNotification(t.Context(), org.Notification{
		ID: later, Title: "x", Level: org.LevelInfo,
		PublishedAt: at,
	}))
	upcoming, err := f.UpcomingNotifications(t.Context())
	if err != nil || len(upcoming) != 1 || !upcoming[later].Equal(at) {
		t.Errorf("got %v, %v", upcoming, err)
	}
}
