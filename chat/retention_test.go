package chat_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestR99_OwnersAreNotifiedBeforeDeletion: a starting server notifies the owner of one thread, and deletes another
// thread whose owner was notified before. Open tabs are notified of the deletion.
func TestR99_OwnersAreNotifiedBeforeDeletion(t *testing.T) {
	t.Parallel()
	f, other, db := newRetained(t)
	events := &recordedEvents{deleted: make(chan struct{})}
	s := f.startWith(chat.Deps{Model: llmtest.Say("はい"), Events: events}, chat.Config{Expiry: time.Hour})
	await(t, "that the tabs are told", events.deleted)
	if got := strings.Join(events.take(), "|"); got != "deleted" {
		t.Errorf("the tabs are told %q", got)
	}
	if _, err := s.FindThread(t.Context(), f.owner, f.thread.ID); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("the thread whose time is over: %v", err)
	}
	list, err := s.ListExpiring(t.Context(), f.owner, 0, 10)
	if err != nil || len(list) != 1 || list[0].ID != other.ID {
		t.Fatalf("the owner is shown %+v, %v", list, err)
	}
	notices, err := db.ListNotifications(t.Context(), f.owner.OrganizationID, f.owner.UserID, 0, 10)
	if err != nil || len(notices) != 1 || !strings.Contains(notices[0].Title, "1件のチャット") ||
		!strings.Contains(notices[0].Body, "30日が過ぎた") || notices[0].URL != "/home/skill/leaving" ||
		!strings.Contains(notices[0].Body, list[0].DeletesAt.In(time.FixedZone("JST", 9*60*60)).Format("1月2日")) {
		t.Errorf("the owner is told %+v, %v", notices, err)
	}
}

// mutedStore is a store that refuses notices to owners.
type mutedStore struct{ chat.Store }

func (mutedStore) NotifyOwners(context.Context, int, func(chat.RetentionNotice) org.Notification) (int, error) {
	return 0, errors.New("refused")
}

// TestR99_RefusedNoticeDoesNotStopDeletions: a server that cannot notify an owner deletes the threads whose owners were
// notified before.
func TestR99_RefusedNoticeDoesNotStopDeletions(t *testing.T) {
	t.Parallel()
	f, _, db := newRetained(t)
	events := &recordedEvents{deleted: make(chan struct{})}
	f.startWith(chat.Deps{Store: mutedStore{db}, Model: llmtest.Say("はい"), Events: events},
		chat.Config{Expiry: time.Hour})
	await(t, "the deletion of the due thread", events.deleted)
}

// newRetained returns a fixture whose thread is due, because its owner was notified, and another thread of the owner,
// whose notice is due. No server runs.
func newRetained(t *testing.T) (*fixture, chat.Thread, *store.DB) {
	t.Helper()
	dsn := storetest.DSN(t)
	db := must.Get(store.Open(t.Context(), dsn))(t)
	t.Cleanup(db.Close)
	f := newFixtureOn(t, db, llmtest.Say("はい"))
	other := must.Get(f.server.CreateThread(t.Context(), f.owner, chat.NewThread{SkillID: chatSkill.ID}))(t)
	f.server.kill() // Otherwise it may delete the thread itself.
	conn := must.Get(pgx.Connect(t.Context(), dsn))(t)
	defer conn.Close(context.WithoutCancel(t.Context()))
	for _, sql := range []string{
		`UPDATE organizations SET retention_days = 30, retention_since = now() - interval '100 days'`,
		`UPDATE threads SET touched_at = now() - interval '31 days'`,
		`UPDATE threads SET told_at = now() - interval '15 days' WHERE id = '` + f.thread.ID.String() + `'`,
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	return f, other, db
}
