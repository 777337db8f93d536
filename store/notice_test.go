package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestNoticesOfAdministrators(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	actor := identity.Actor{User: identity.User{OrganizationID: f.a, ID: f.ann.UserID}}
	other := identity.Actor{User: identity.User{OrganizationID: f.b, ID: f.mallory.UserID}}
	allow := func(m *org.Member, _ bool) error {
		if m == nil {
			t.Error("no member")
		}
		return nil
	}
	call := func(title string, in time.Duration) org.NoticeCall {
		n := org.Notification{ID: newID(), Title: title, Body: "本文", Level: org.LevelInfo, Audience: org.AudienceAll}
		if in != 0 {
			n.PublishedAt = time.Now().Add(in)
		}
		return org.NoticeCall{RequestID: newID(), RequestHash: [32]byte{1}, Notice: n}
	}
	first := call("今日", 0)
	notice, err := f.AddNotice(t.Context(), actor, first, allow)
	if err != nil || notice.ID != first.Notice.ID || !notice.Own || time.Since(notice.PublishedAt) > time.Minute {
		t.Fatalf("added %+v, %v", notice, err)
	}
	again := first
	again.Notice.ID = newID()
	if got, err := f.AddNotice(t.Context(), actor, again, func(_ *org.Member, known bool) error {
		if !known {
			t.Error("the repeated call is not known")
		}
		return nil
	}); err != nil || got.ID != notice.ID {
		t.Errorf("repeated: %+v, %v", got, err)
	}
	again.RequestHash = [32]byte{2}
	if _, err := f.AddNotice(t.Context(), actor, again, allow); !errors.Is(err, org.ErrRequestConflict) {
		t.Errorf("with another body: %v", err)
	}
	if _, err := f.AddNotice(t.Context(), other, first, allow); err == nil {
		t.Error("the same id in another organization")
	}
	refused := errors.New("refused")
	if _, err := f.AddNotice(t.Context(), actor, call("x", 0), func(*org.Member, bool) error {
		return refused
	}); !errors.Is(err, refused) {
		t.Errorf("refused: %v", err)
	}
	scheduled := must.Get(f.AddNotice(t.Context(), actor, call("明日", 24*time.Hour), allow))(t)
	operators := newID()
	must.Succeed(t, f.PublishNotification(t.Context(), org.Notification{
		ID: operators, OrganizationID: &f.a, Title: "運用担当者から", Level: org.LevelInfo,
		PublishedAt: time.Now().Add(-time.Hour),
	}))
	must.Succeed(t, f.PublishNotification(t.Context(), org.Notification{
		ID: newID(), Title: "運用担当者の予約", Level: org.LevelInfo, PublishedAt: time.Now().Add(time.Hour),
	}))
	if _, err := f.AddNotice(t.Context(), other, call("他社", 0), allow); err != nil {
		t.Fatal(err)
	}
	var titles []string
	list, total, err := f.ListNotices(t.Context(), f.a, 0, 10)
	for _, n := range list {
		titles = append(titles, n.Title)
	}
	if err != nil || total != 3 || !equal(titles, "明日", "今日", "運用担当者から") {
		t.Errorf("listed %q of %d, %v", titles, total, err)
	}
	if page, total, err := f.ListNotices(t.Context(), f.a, 1, 1); err != nil || total != 3 || page[0].ID != notice.ID {
		t.Errorf("the second page: %+v of %d, %v", page, total, err)
	}
	if n, err := f.FindNotice(t.Context(), f.a, operators); err != nil || n.Own {
		t.Errorf("an operator's: %+v, %v", n, err)
	}
	f.changeNotices(t, actor, other, notice, scheduled, operators)
}

// changeNotices continues with a published notice, a scheduled one, and one of an operator.
func (f *fixture) changeNotices(t *testing.T, actor, other identity.Actor, notice, scheduled org.Notification,
	operators uuid.UUID,
) {
	t.Helper()
	change := func(by identity.Actor, id uuid.UUID, c org.NoticeChange) (org.Notification, error) {
		return f.ChangeNotice(t.Context(), by, id, func(_ *org.Member, n org.Notification) (org.NoticeChange, error) {
			c.Notice.ID = n.ID
			return c, nil
		})
	}
	details := []org.Change{{Field: "title", Before: "a", After: "b"}}
	for name, id := range map[string]uuid.UUID{"another organization's": notice.ID, "nobody's": newID()} {
		if _, err := change(other, id, org.NoticeChange{Remove: true, Details: details}); !errors.Is(err,
			org.ErrNoNotice) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := f.FindNotice(t.Context(), f.b, id); !errors.Is(err, org.ErrNoNotice) {
			t.Errorf("found %s: %v", name, err)
		}
	}
	if _, err := change(actor, operators, org.NoticeChange{Remove: true, Details: details}); !errors.Is(err,
		org.ErrNoNotice) {
		t.Errorf("an operator's: %v", err)
	}
	upcoming, err := f.UpcomingNotifications(t.Context())
	if _, ok := upcoming[scheduled.ID]; err != nil || !ok || len(upcoming) != 2 {
		t.Errorf("upcoming %v, %v", upcoming, err)
	}
	end := time.Now().Add(time.Hour)
	after := notice
	after.Title, after.EndsAt = "本日", &end
	if _, err := change(actor, notice.ID, org.NoticeChange{
		Notice: after, Action: org.ActionNoticeEdit, Details: details,
	}); err != nil {
		t.Fatal(err)
	}
	if upcoming, err = f.UpcomingNotifications(t.Context()); err != nil || upcoming[notice.ID].IsZero() {
		t.Errorf("its end is not upcoming: %v, %v", upcoming, err)
	}
	seen := func() (titles []string) {
		list := must.Get(f.ListNotifications(t.Context(), f.a, f.bob.UserID, 0, 10))(t)
		for _, n := range list {
			titles = append(titles, n.Title)
		}
		return titles
	}
	if got := seen(); !equal(got, "本日", "運用担当者から") {
		t.Errorf("members see %q", got)
	}
	f.exec(t, `UPDATE notifications SET published_at = now() - interval '1 hour', ends_at = now() WHERE id = $1`, notice.ID)
	if got := seen(); !equal(got, "運用担当者から") {
		t.Errorf("after the end members see %q", got)
	}
	must.Succeed(t, f.ReadNotifications(t.Context(), f.a, f.bob.UserID, []uuid.UUID{notice.ID}))
	if n := value[int](t, f, `SELECT count(*) FROM notification_reads`); n != 0 {
		t.Errorf("%d have read an ended notice", n)
	}
	if _, err := change(actor, scheduled.ID, org.NoticeChange{
		Remove: true, Action: org.ActionNoticeDelete, Details: details,
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.FindNotice(t.Context(), f.a, scheduled.ID); !errors.Is(err, org.ErrNoNotice) {
		t.Errorf("deleted: %v", err)
	}
	events, _, err := f.ListEvents(t.Context(), org.AuditQuery{OrganizationID: &f.a, Limit: 10})
	var actions []string
	for _, e := range events {
		actions = append(actions, string(e.Action)+" "+e.TargetLabel)
	}
	if err != nil || !equal(actions, "notification.delete 明日", "notification.edit 本日", "notification.publish 明日",
		"notification.publish 今日") {
		t.Errorf("logged %q, %v", actions, err)
	}
}
