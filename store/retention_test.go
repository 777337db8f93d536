package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// retain sets after how many days an organization's threads are deleted, 0 for never.
func (f *fixture) retain(t *testing.T, organizationID uuid.UUID, days int) {
	t.Helper()
	value := &days
	if days == 0 {
		value = nil
	}
	actor := identity.Actor{User: identity.User{ID: f.ann.UserID, OrganizationID: organizationID}}
	must(t, f.SetRetention(t.Context(), actor, value, func(*org.Member) error { return nil }))
}

// age moves the setting of an organization into the past, so that what owners were told in the last year counts.
func (f *fixture) age(t *testing.T, organizationID uuid.UUID) {
	t.Helper()
	f.exec(t, `UPDATE organizations SET retention_since = now() - interval '400 days' WHERE id = $1`, organizationID)
}

// old adds a thread that was touched so many days ago, and of which its owner was told so many days ago; negative if
// they were not.
func (f *fixture) old(t *testing.T, owner chat.Owner, touched, told float64) uuid.UUID {
	t.Helper()
	id := f.thread(t, owner).ID
	f.exec(t, `UPDATE threads SET touched_at = now() - $2 * interval '24 hours' WHERE id = $1`, id, touched)
	if told >= 0 {
		f.exec(t, `UPDATE threads SET told_at = now() - $2 * interval '24 hours' WHERE id = $1`, id, told)
	}
	return id
}

// hold runs SQL in a transaction, and returns a function that commits it.
func (f *fixture) hold(t *testing.T, sql string, args ...any) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), f.dsn)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), sql, args...)
	must(t, err)
	return func() { must(t, tx.Commit(t.Context())) }
}

func leavingNotice(telling chat.Telling) org.Notification {
	return org.Notification{
		ID: newID(), OrganizationID: &telling.Owner.OrganizationID, UserID: &telling.Owner.UserID,
		Level: org.LevelWarning, Title: fmt.Sprintf("%d", telling.Threads),
	}
}

// tellAll tells everybody whom there is to tell.
func (f *fixture) tellAll(t *testing.T) {
	t.Helper()
	for {
		told, err := f.TellOwners(t.Context(), 2, leavingNotice)
		must(t, err)
		if told == 0 {
			return
		}
	}
}

// deleteAll deletes what is to be deleted, and returns it.
func (f *fixture) deleteAll(t *testing.T) (ids []uuid.UUID) {
	t.Helper()
	for {
		left, err := f.DeleteLeft(t.Context(), 3)
		must(t, err)
		for _, e := range left {
			ids = append(ids, e.ThreadID)
		}
		if len(left) == 0 {
			return ids
		}
	}
}

// titles returns those of the notices to a person, newest first.
func (f *fixture) titles(t *testing.T, owner chat.Owner) (titles []string) {
	t.Helper()
	notices, err := f.ListNotifications(t.Context(), owner.OrganizationID, owner.UserID, 0, 100)
	must(t, err)
	for _, n := range notices {
		titles = append(titles, n.Title)
	}
	return titles
}

// TestR99_NothingIsDeletedWithoutNotice: for threads of any age and state, and several settings, exactly those are
// deleted whose days are over and of which their owner was told 14 days before.
func TestR99_NothingIsDeletedWithoutNotice(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // Makes test data.
	const days = 60
	f.retain(t, f.a, days)
	f.age(t, f.a)
	want := make(map[uuid.UUID]bool)
	for range 120 {
		touched, told := 100*random.Float64(), 40*random.Float64()-10
		if random.IntN(4) == 0 {
			told = 14 + []float64{-0.001, 0.001}[random.IntN(2)] // Around the limit.
		}
		if told >= 0 {
			told = max(told, 0.1) // Not just now.
		}
		owner := []chat.Owner{f.ann, f.bob}[random.IntN(2)]
		if random.IntN(8) == 0 {
			owner = f.mallory // Whose organization keeps its threads.
		}
		id := f.old(t, owner, touched, told)
		state := random.IntN(8)
		switch state {
		case 0:
			f.exec(t, `UPDATE threads SET pinned = true WHERE id = $1`, id)
		case 1:
			f.exec(t, `UPDATE threads SET expires_at = now() + interval '1 hour' WHERE id = $1`, id)
		case 2:
			f.exec(t, `UPDATE threads SET archived = true WHERE id = $1`, id)
		}
		want[id] = owner != f.mallory && touched > days && told > 14 && state > 1
	}
	f.tellAll(t)
	got := f.deleteAll(t)
	for id, gone := range want {
		if slices.Contains(got, id) != gone {
			t.Errorf("seed %d: deleted %v, want %v: %s", seed, !gone, gone, value[string](t, f,
				`SELECT coalesce((SELECT concat_ws(' ', now() - touched_at, now() - told_at, pinned, expires_at)
				                  FROM threads WHERE id = $1), 'deleted')`, id))
		}
	}
	if n := value[int](t, f, `SELECT count(*) FROM threads WHERE organization_id = $1 AND told_at IS NULL AND NOT pinned
		AND expires_at IS NULL AND touched_at <= now() - interval '46 days'`, f.a); n != 0 {
		t.Errorf("seed %d: of %d threads that have to be, nobody was told", seed, n)
	}
	if n := value[int](t, f, `SELECT count(*) FROM threads WHERE told_at > now() - interval '1 hour'
		AND (touched_at > now() - interval '39 days' OR pinned OR expires_at IS NOT NULL)`); n != 0 {
		t.Errorf("seed %d: somebody was told of %d threads that are kept", seed, n)
	}
	counted := value[int](t, f, `SELECT coalesce(sum((details -> 0 ->> 'after')::int), 0) FROM audit_events
		WHERE action = 'retention.delete' AND organization_id = $1`, f.a)
	entries := value[int](t, f, `SELECT count(*) FROM audit_events WHERE action = 'retention.delete'`)
	if counted != len(got) || entries > 2 || entries == 0 && len(got) > 0 { // Two if midnight has passed.
		t.Errorf("seed %d: %d are counted in %d entries, %d were deleted", seed, counted, entries, len(got))
	}
}

// TestR99_ServersShareTheWork: everybody is told once, and each thread is deleted once, with eight servers at once.
func TestR99_ServersShareTheWork(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.retain(t, f.a, 30)
	f.age(t, f.a)
	var people []chat.Owner
	for i := range 12 {
		owner := f.user(t, f.a, fmt.Sprintf("person%d", i))
		people = append(people, owner)
		for range 5 {
			f.old(t, owner, 20, -1) // To be told of.
			f.old(t, owner, 10, -1) // Soon.
			f.old(t, owner, 40, 15) // To be deleted.
		}
	}
	var mu sync.Mutex
	var deleted []uuid.UUID
	var servers sync.WaitGroup
	for range 8 {
		servers.Go(func() {
			for {
				told, err := f.TellOwners(t.Context(), 2, leavingNotice)
				left, failed := f.DeleteLeft(t.Context(), 7)
				if err != nil || failed != nil {
					t.Error(err, failed)
					return
				}
				mu.Lock()
				for _, e := range left {
					deleted = append(deleted, e.ThreadID)
				}
				mu.Unlock()
				if told == 0 && len(left) == 0 {
					return
				}
			}
		})
	}
	servers.Wait()
	f.tellAll(t) // What was locked when the last server looked.
	deleted = append(deleted, f.deleteAll(t)...)
	slices.SortFunc(deleted, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	if n := len(slices.Compact(deleted)); n != 60 || len(deleted) != 60 {
		t.Errorf("%d deletions of %d threads, want 60", len(deleted), n)
	}
	for _, owner := range people {
		if got := f.titles(t, owner); !slices.Equal(got, []string{"10"}) {
			t.Errorf("a person with ten threads is told %q", got)
		}
		count, err := f.CountLeaving(t.Context(), owner)
		must(t, err)
		list, err := f.ListLeaving(t.Context(), owner, 0, 100)
		must(t, err)
		if count.Threads != 10 || len(list) != 10 || !list[0].DeletesAt.Equal(*count.First) ||
			time.Until(list[0].DeletesAt) < chat.KeptAfterTelling-time.Minute ||
			time.Until(list[9].DeletesAt) > 20*24*time.Hour {
			t.Errorf("a person with ten threads is shown %+v, %+v", count, list)
		}
	}
}

// TestR99_CrashLeavesAllOrNothing: what was not told is not recorded as told, and what was not counted is not deleted.
func TestR99_CrashLeavesAllOrNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.retain(t, f.a, 30)
	f.age(t, f.a)
	untold, left := f.old(t, f.ann, 40, -1), f.old(t, f.ann, 40, 20)
	if _, err := f.TellOwners(t.Context(), 10, func(chat.Telling) org.Notification {
		return org.Notification{ID: newID()} // No notice that can be stored.
	}); err == nil {
		t.Error("a notice without a title was stored")
	}
	if value[bool](t, f, `SELECT told_at IS NOT NULL FROM threads WHERE id = $1`, untold) {
		t.Error("a thread counts as told although the notice was not stored")
	}
	f.exec(t, `ALTER TABLE audit_events ADD CONSTRAINT crash CHECK (action <> 'retention.delete') NOT VALID`)
	if _, err := f.DeleteLeft(t.Context(), 10); err == nil {
		t.Error("the deletion was not counted")
	}
	if value[int](t, f, `SELECT count(*) FROM threads WHERE id = $1`, left) != 1 {
		t.Error("a thread is deleted although that was not counted")
	}
	f.exec(t, `ALTER TABLE audit_events DROP CONSTRAINT crash`)
	f.tellAll(t)
	if got := f.deleteAll(t); !slices.Equal(got, []uuid.UUID{left}) || len(f.titles(t, f.ann)) != 1 {
		t.Errorf("afterwards %v are deleted, and Ann is told %q", got, f.titles(t, f.ann))
	}
}

// TestR99_TouchedAtTheLastMoment: a thread that is being touched or pinned is not waited for and not deleted, and its
// owner is told again before it is. A thread in which an answer is being generated is kept until that has ended.
func TestR99_TouchedAtTheLastMoment(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.retain(t, f.a, 30)
	f.age(t, f.a)
	touched, pinned := f.old(t, f.ann, 40, 20), f.old(t, f.ann, 40, 20)
	running := f.old(t, f.ann, 1, -1)
	begun, err := f.BeginGeneration(t.Context(), question(f.ann, running, newID()))
	must(t, err)
	f.exec(t, `UPDATE threads SET touched_at = now() - interval '40 days' WHERE id = $1`, running)
	f.exec(t, `UPDATE threads SET told_at = now() - interval '20 days' WHERE id = $1`, running)

	release := f.hold(t, `UPDATE threads SET touched_at = now() WHERE id = $1`, touched)
	_, err = f.EditThread(t.Context(), f.ann, pinned, chat.ThreadEdit{Pinned: new(true)})
	must(t, err)
	if got := f.deleteAll(t); len(got) > 0 {
		t.Errorf("deleted %v while one is touched, one is pinned and one is running", got)
	}
	release()
	if got := f.deleteAll(t); len(got) > 0 {
		t.Errorf("deleted %v after one was touched", got)
	}
	// The pin is taken off a year later: the owner is told again.
	_, err = f.EditThread(t.Context(), f.ann, pinned, chat.ThreadEdit{Pinned: new(false)})
	must(t, err)
	if got := f.deleteAll(t); len(got) > 0 {
		t.Errorf("deleted %v, of which nobody was told since", got)
	}
	f.tellAll(t)
	if list, err := f.ListLeaving(t.Context(), f.ann, 0, 10); err != nil || len(list) != 2 ||
		!slices.ContainsFunc(list, func(l chat.Leaving) bool { return l.ID == pinned }) {
		t.Errorf("Ann is shown %+v, %v", list, err)
	}
	f.exec(t, `UPDATE generations SET ended_at = now() WHERE message_id = $1`, begun.Answer.ID)
	if got := f.deleteAll(t); !slices.Equal(got, []uuid.UUID{running}) {
		t.Errorf("deleted %v when the answer had ended", got)
	}
	_, err = f.TouchThread(t.Context(), f.ann, pinned)
	must(t, err)
	if count, err := f.CountLeaving(t.Context(), f.ann); err != nil || count.Threads != 0 || count.First != nil {
		t.Errorf("after the last one was touched: %+v, %v", count, err)
	}
}

// TestR99_ChangedSettingBeginsAgain: a setting that is turned off and on again, or made shorter or longer, deletes
// nothing of which its owner was told before.
func TestR99_ChangedSettingBeginsAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.retain(t, f.a, 30)
	f.age(t, f.a)
	thread := f.old(t, f.ann, 300, 20)
	for i, days := range []int{0, 30, 90, 60} {
		f.retain(t, f.a, days)
		if got := f.deleteAll(t); len(got) > 0 {
			t.Fatalf("%d days: deleted %v", days, got)
		}
		forgot, err := f.ForgetTold(t.Context(), 10)
		must(t, err)
		if forgot != min(1, i) && i > 1 || i == 0 && forgot != 1 {
			t.Errorf("%d days: %d are forgotten", days, forgot)
		}
		f.tellAll(t)
		if got := f.deleteAll(t); len(got) > 0 {
			t.Fatalf("%d days: deleted %v, of which Ann was told just now", days, got)
		}
		if got := f.titles(t, f.ann); len(got) != i { // Not when it was turned off.
			t.Errorf("%d days: Ann is told %q", days, got)
		}
	}
	// The same setting again changes nothing.
	f.age(t, f.a)
	f.exec(t, `UPDATE threads SET told_at = now() - interval '15 days' WHERE id = $1`, thread)
	f.retain(t, f.a, 60)
	if forgot, err := f.ForgetTold(t.Context(), 10); err != nil || forgot != 0 {
		t.Errorf("%d are forgotten, %v", forgot, err)
	}
	if got := f.deleteAll(t); !slices.Equal(got, []uuid.UUID{thread}) {
		t.Errorf("deleted %v", got)
	}
	if n := value[int](t, f, `SELECT count(*) FROM audit_events WHERE action = 'retention.edit'`); n != 5 {
		t.Errorf("%d changes are in the audit log", n)
	}
}

func TestPreviewOfRetention(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, touched := range []float64{10, 45, 47, 59, 61, 100} {
		f.old(t, f.ann, touched, -1)
		f.old(t, f.mallory, touched, -1)
	}
	f.old(t, f.bob, 70, 1) // Told under an earlier setting.
	pinned := f.old(t, f.bob, 70, -1)
	f.exec(t, `UPDATE threads SET pinned = true WHERE id = $1`, pinned)
	got, err := f.PreviewRetention(t.Context(), f.a, 60)
	if err != nil || got != (org.RetentionPreview{Told: 5, Due: 3, Members: 2}) {
		t.Errorf("got %+v, %v", got, err)
	}
	actor := identity.Actor{User: identity.User{ID: f.ann.UserID, OrganizationID: f.a}}
	refused := fault.Errorf(fault.Forbidden, "no")
	if err := f.SetRetention(t.Context(), actor, new(60), func(*org.Member) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("a refused change: %v", err)
	}
	if days, err := f.Retention(t.Context(), f.a); err != nil || days != nil {
		t.Errorf("after a refused change: %v, %v", days, err)
	}
}
