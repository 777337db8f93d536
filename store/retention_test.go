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
	"github.com/tsumugi-ai/tsumugi/internal/project"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// retain sets the number of days after which an organization's threads are deleted, 0 for never.
func (f *fixture) retain(t *testing.T, organizationID uuid.UUID, days int) {
	t.Helper()
	value := &days
	if days == 0 {
		value = nil
	}
	actor := identity.Actor{User: identity.User{ID: f.ann.UserID, OrganizationID: organizationID}}
	must.Succeed(t, f.SetRetention(t.Context(), actor, value, func(*org.Member) error { return nil }))
}

// age dates an organization's setting back by 400 days, so that notifications of the last year are valid.
func (f *fixture) age(t *testing.T, organizationID uuid.UUID) {
	t.Helper()
	f.exec(t, `UPDATE organizations SET retention_since = now() - interval '400 days' WHERE id = $1`, organizationID)
}

// oldThread adds a thread that was touched that many days ago, and whose owner was notified told days ago. A negative
// told means that the owner was not notified.
func (f *fixture) oldThread(t *testing.T, owner identity.Owner, touched, told float64) uuid.UUID {
	t.Helper()
	id := f.thread(t, owner).ID
	f.exec(t, `UPDATE threads SET touched_at = now() - $2 * interval '24 hours' WHERE id = $1`, id, touched)
	if told >= 0 {
		f.exec(t, `UPDATE threads SET told_at = now() - $2 * interval '24 hours' WHERE id = $1`, id, told)
	}
	return id
}

// project adds a project of an owner with a number of days.
func (f *fixture) project(t *testing.T, owner identity.Owner, days *int) uuid.UUID {
	t.Helper()
	id := newID()
	f.exec(t, `
		INSERT INTO projects (id, organization_id, name, retention_days, request_id, request_hash)
		VALUES ($1, $2, '製糸', $3, $1, '')`, id, owner.OrganizationID, days)
	f.exec(t, `INSERT INTO project_grants (organization_id, project_id, user_id, role) VALUES ($1, $2, $3, 'manager')`,
		owner.OrganizationID, id, owner.UserID)
	return id
}

// hold runs SQL in a transaction and returns a function that commits it.
func (f *fixture) hold(t *testing.T, sql string, args ...any) (release func()) {
	t.Helper()
	conn := must.Get(pgx.Connect(t.Context(), f.dsn))(t)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx := must.Get(conn.Begin(t.Context()))(t)
	must.Get(tx.Exec(t.Context(), sql, args...))(t)
	return func() { must.Succeed(t, tx.Commit(t.Context())) }
}

func leavingNotice(telling chat.RetentionNotice) org.Notification {
	return org.Notification{
		ID: newID(), OrganizationID: &telling.OrganizationID, UserID: &telling.UserID,
		Level: org.LevelWarning, Title: fmt.Sprintf("%d", telling.Threads),
	}
}

// notifyAll notifies all owners of threads that are due for deletion.
func (f *fixture) notifyAll(t *testing.T) {
	t.Helper()
	for {
		told := must.Get(f.NotifyOwners(t.Context(), 2, leavingNotice))(t)
		if told == 0 {
			return
		}
	}
}

// deleteAll deletes all threads that are due and returns their ids.
func (f *fixture) deleteAll(t *testing.T) (ids []uuid.UUID) {
	t.Helper()
	for {
		left := must.Get(f.DeleteDue(t.Context(), 3))(t)
		for _, e := range left {
			ids = append(ids, e.ThreadID)
		}
		if len(left) == 0 {
			return ids
		}
	}
}

// titles returns the titles of a user's notifications, newest first.
func (f *fixture) titles(t *testing.T, owner identity.Owner) (titles []string) {
	t.Helper()
	notices := must.Get(f.ListNotifications(t.Context(), owner.OrganizationID, owner.UserID, 0, 100))(t)
	for _, n := range notices {
		titles = append(titles, n.Title)
	}
	return titles
}

// TestR99_NothingIsDeletedWithoutNotice: among threads of random age and state, only those are deleted whose retention
// time has expired and whose owner was notified at least 14 days before.
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
			told = 14 + []float64{-0.001, 0.001}[random.IntN(2)] // Close to the limit.
		}
		if told >= 0 {
			told = max(told, 0.1) // Only notifyAll sets later times.
		}
		owner := []identity.Owner{f.ann, f.bob}[random.IntN(2)]
		if random.IntN(8) == 0 {
			owner = f.mallory // An owner of an organization without retention.
		}
		id := f.oldThread(t, owner, touched, told)
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
	f.notifyAll(t)
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
		t.Errorf("seed %d: the owners of %d threads were not notified", seed, n)
	}
	if n := value[int](t, f, `SELECT count(*) FROM threads WHERE told_at > now() - interval '1 hour'
		AND (touched_at > now() - interval '39 days' OR pinned OR expires_at IS NOT NULL)`); n != 0 {
		t.Errorf("seed %d: the owners of %d threads that are kept were notified", seed, n)
	}
	counted := value[int](t, f, `SELECT coalesce(sum((details -> 0 ->> 'after')::int), 0) FROM audit_events
		WHERE action = 'retention.delete' AND organization_id = $1`, f.a)
	entries := value[int](t, f, `SELECT count(*) FROM audit_events WHERE action = 'retention.delete'`)
	if counted != len(got) || entries > 2 || entries == 0 && len(got) > 0 { // Two entries around midnight.
		t.Errorf("seed %d: %d are counted in %d entries, %d were deleted", seed, counted, entries, len(got))
	}
	if n := value[int](t, f, `SELECT count(*) FROM audit_events
		WHERE action = 'retention.delete' AND (details -> 0 ->> 'after')::int > 3 AND last_at IS NULL`); n > 0 {
		t.Errorf("seed %d: %d entries of several deletions have no time of the last one", seed, n)
	}
}

// TestR99_ServersShareTheWork: while eight servers work concurrently, each owner is notified once and each thread is
// deleted once.
func TestR99_ServersShareTheWork(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.retain(t, f.a, 30)
	f.age(t, f.a)
	var people []identity.Owner
	for i := range 12 {
		owner := f.user(t, f.a, fmt.Sprintf("person%d", i))
		people = append(people, owner)
		for range 5 {
			f.oldThread(t, owner, 20, -1) // The owner has to be notified.
			f.oldThread(t, owner, 10, -1) // The owner has to be notified soon.
			f.oldThread(t, owner, 40, 15) // To be deleted.
		}
	}
	var mu sync.Mutex
	var deleted []uuid.UUID
	var servers sync.WaitGroup
	for range 8 {
		servers.Go(func() {
			for {
				told, err := f.NotifyOwners(t.Context(), 2, leavingNotice)
				left, failed := f.DeleteDue(t.Context(), 7)
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
	f.notifyAll(t) // Rows that were locked during the last pass of the servers.
	deleted = append(deleted, f.deleteAll(t)...)
	slices.SortFunc(deleted, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	if n := len(slices.Compact(deleted)); n != 60 || len(deleted) != 60 {
		t.Errorf("%d deletions of %d threads, want 60", len(deleted), n)
	}
	for _, owner := range people {
		if got := f.titles(t, owner); !slices.Equal(got, []string{"10"}) {
			t.Errorf("an owner of ten threads is notified of %q", got)
		}
		count := must.Get(f.CountExpiring(t.Context(), owner))(t)
		list := must.Get(f.ListExpiring(t.Context(), owner, 0, 100))(t)
		if count.Threads != 10 || len(list) != 10 || !list[0].DeletesAt.Equal(*count.First) ||
			time.Until(list[0].DeletesAt) < chat.NoticePeriod-time.Minute ||
			time.Until(list[9].DeletesAt) > 20*24*time.Hour {
			t.Errorf("an owner of ten threads sees %+v, %+v", count, list)
		}
	}
}

// TestR99_NotificationsAndDeletionsAreAtomic: a thread is marked as notified only if the notification is stored, and
// deleted only if the deletion is counted in the audit log.
func TestR99_NotificationsAndDeletionsAreAtomic(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.retain(t, f.a, 30)
	f.age(t, f.a)
	untold, left := f.oldThread(t, f.ann, 40, -1), f.oldThread(t, f.ann, 40, 20)
	if _, err := f.NotifyOwners(t.Context(), 10, func(chat.RetentionNotice) org.Notification {
		return org.Notification{ID: newID()} // A notification without a title cannot be stored.
	}); err == nil {
		t.Error("a notification without a title was stored")
	}
	if value[bool](t, f, `SELECT told_at IS NOT NULL FROM threads WHERE id = $1`, untold) {
		t.Error("a thread is marked as notified although the notification was not stored")
	}
	f.exec(t, `ALTER TABLE audit_events ADD CONSTRAINT crash CHECK (action <> 'retention.delete') NOT VALID`)
	if _, err := f.DeleteDue(t.Context(), 10); err == nil {
		t.Error("a deletion that cannot be counted succeeded")
	}
	if value[int](t, f, `SELECT count(*) FROM threads WHERE id = $1`, left) != 1 {
		t.Error("a thread is deleted although the deletion was not counted")
	}
	f.exec(t, `ALTER TABLE audit_events DROP CONSTRAINT crash`)
	f.notifyAll(t)
	if got := f.deleteAll(t); !slices.Equal(got, []uuid.UUID{left}) || len(f.titles(t, f.ann)) != 1 {
		t.Errorf("afterwards %v are deleted, and Ann is notified of %q", got, f.titles(t, f.ann))
	}
}

// TestR99_TouchedThreadIsKept: DeleteDue skips a thread that is being touched or pinned, without waiting for it.
// The owner is notified again before the thread is deleted. A thread with a running answer is kept until the answer has
// ended.
func TestR99_TouchedThreadIsKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.retain(t, f.a, 30)
	f.age(t, f.a)
	touched, pinned := f.oldThread(t, f.ann, 40, 20), f.oldThread(t, f.ann, 40, 20)
	running := f.oldThread(t, f.ann, 1, -1)
	begun := must.Get(f.BeginGeneration(t.Context(), question(f.ann, running, newID())))(t)
	f.exec(t, `UPDATE threads SET touched_at = now() - interval '40 days' WHERE id = $1`, running)
	f.exec(t, `UPDATE threads SET told_at = now() - interval '20 days' WHERE id = $1`, running)

	release := f.hold(t, `UPDATE threads SET touched_at = now() WHERE id = $1`, touched)
	must.Get(f.EditThread(t.Context(), f.ann, pinned, chat.ThreadEdit{Pinned: new(true)}))(t)
	if got := f.deleteAll(t); len(got) > 0 {
		t.Errorf("deleted %v while one is touched, one is pinned and one is running", got)
	}
	release()
	if got := f.deleteAll(t); len(got) > 0 {
		t.Errorf("deleted %v after one was touched", got)
	}
	// The thread is unpinned: its owner has to be notified again.
	must.Get(f.EditThread(t.Context(), f.ann, pinned, chat.ThreadEdit{Pinned: new(false)}))(t)
	if got := f.deleteAll(t); len(got) > 0 {
		t.Errorf("deleted %v without a new notification", got)
	}
	f.notifyAll(t)
	if list, err := f.ListExpiring(t.Context(), f.ann, 0, 10); err != nil || len(list) != 2 ||
		!slices.ContainsFunc(list, func(l chat.ExpiringThread) bool { return l.ID == pinned }) {
		t.Errorf("Ann is shown %+v, %v", list, err)
	}
	f.exec(t, `UPDATE generations SET ended_at = now() WHERE message_id = $1`, begun.Answer.ID)
	if got := f.deleteAll(t); !slices.Equal(got, []uuid.UUID{running}) {
		t.Errorf("deleted %v when the answer had ended", got)
	}
	must.Get(f.TouchThread(t.Context(), f.ann, pinned))(t)
	if count, err := f.CountExpiring(t.Context(), f.ann); err != nil || count.Threads != 0 || count.First != nil {
		t.Errorf("after the last one was touched: %+v, %v", count, err)
	}
}

// TestNoticesAboutThreadsThatTheirOwnersMayNotOpen: a manager is notified of the shared threads of a former member of the
// project, and can keep them, but not of the private ones. The threads of a deleted project are not deleted.
func TestNoticesAboutThreadsThatTheirOwnersMayNotOpen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.project(t, f.ann, new(30))
	f.exec(t, `UPDATE projects SET retention_since = now() - interval '400 days'`)
	threads := make(map[string]uuid.UUID)
	for _, visibility := range []string{"private", "project"} {
		threads[visibility] = f.oldThread(t, f.bob, 40, -1)
		f.exec(t, `UPDATE threads SET project_id = $2, visibility = $3 WHERE id = $1`, threads[visibility], id, visibility)
	}
	marked := func() int { return value[int](t, f, `SELECT count(*) FROM threads WHERE told_at IS NOT NULL`) }
	changeProject := func(to project.State) {
		actor := identity.Actor{User: identity.User{ID: f.ann.UserID, OrganizationID: f.a}}
		must.Succeed(t,
			f.ChangeLifecycle(t.Context(), actor, id, to, func(project.Project, *org.Member) error { return nil }))
	}
	changeProject(project.Deleted)
	if f.notifyAll(t); marked() != 0 {
		t.Errorf("%d threads of a deleted project are marked", marked())
	}
	f.exec(t, `UPDATE threads SET told_at = now() - interval '20 days'`)
	for range 2 {
		if got := f.deleteAll(t); len(got) > 0 {
			t.Errorf("deleted %v", got)
		}
		changeProject(project.Active)
	}
	must.Get(f.ClearOutdatedNotices(t.Context(), 10))(t)

	f.notifyAll(t)
	if bob, ann := f.titles(t, f.bob), f.titles(t, f.ann); len(bob) != 0 || !slices.Equal(ann, []string{"1"}) || marked() != 2 {
		t.Errorf("Bob is notified of %q, Ann of %q, %d threads are marked", bob, ann, marked())
	}
	shown := func(owner identity.Owner) (ids []uuid.UUID) {
		list := must.Get(f.ListExpiring(t.Context(), owner, 0, 10))(t)
		for _, l := range list {
			ids = append(ids, l.ID)
		}
		if count, err := f.CountExpiring(t.Context(), owner); err != nil || count.Threads != len(ids) {
			t.Errorf("%d are listed, but counted: %+v, %v", len(ids), count, err)
		}
		return ids
	}
	if bob, ann := shown(f.bob), shown(f.ann); len(bob) != 0 || !slices.Equal(ann, []uuid.UUID{threads["project"]}) {
		t.Errorf("Bob is shown %v, Ann %v", bob, ann)
	}
	f.exec(t, `INSERT INTO project_grants (organization_id, project_id, user_id, role) VALUES ($1, $2, $3, 'viewer')`,
		f.a, id, f.bob.UserID)
	if bob, ann := shown(f.bob), shown(f.ann); len(bob) != 2 || len(ann) != 0 {
		t.Errorf("with a role again, Bob is shown %v, Ann %v", bob, ann)
	}
	f.exec(t, `DELETE FROM project_grants WHERE user_id = $1`, f.bob.UserID)
	must.Get(f.TouchThread(t.Context(), f.ann, threads["project"]))(t)
	if ann := shown(f.ann); len(ann) != 0 {
		t.Errorf("after she kept it, Ann is shown %v", ann)
	}
}

// TestR99_ChangedSettingNeedsNewNotifications: after the setting was switched off and on, shortened or extended, an
// earlier notification does not suffice to delete a thread.
func TestR99_ChangedSettingNeedsNewNotifications(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.retain(t, f.a, 30)
	f.age(t, f.a)
	thread := f.oldThread(t, f.ann, 300, 20)
	for i, days := range []int{0, 30, 90, 60} {
		f.retain(t, f.a, days)
		if got := f.deleteAll(t); len(got) > 0 {
			t.Fatalf("%d days: deleted %v", days, got)
		}
		forgot := must.Get(f.ClearOutdatedNotices(t.Context(), 10))(t)
		if forgot != min(1, i) && i > 1 || i == 0 && forgot != 1 {
			t.Errorf("%d days: %d marks are removed", days, forgot)
		}
		f.notifyAll(t)
		if got := f.deleteAll(t); len(got) > 0 {
			t.Fatalf("%d days: deleted %v right after the notification", days, got)
		}
		if got := f.titles(t, f.ann); len(got) != i { // Switching the setting off causes no notification.
			t.Errorf("%d days: Ann is notified of %q", days, got)
		}
	}
	// Saving the same setting again changes nothing.
	f.age(t, f.a)
	f.exec(t, `UPDATE threads SET told_at = now() - interval '15 days' WHERE id = $1`, thread)
	f.retain(t, f.a, 60)
	if forgot, err := f.ClearOutdatedNotices(t.Context(), 10); err != nil || forgot != 0 {
		t.Errorf("%d marks are removed, %v", forgot, err)
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
		f.oldThread(t, f.ann, touched, -1)
		f.oldThread(t, f.mallory, touched, -1)
	}
	f.oldThread(t, f.bob, 70, 1) // Notified under an earlier setting.
	pinned := f.oldThread(t, f.bob, 70, -1)
	f.exec(t, `UPDATE threads SET pinned = true WHERE id = $1`, pinned)
	// In projects, shared threads follow the setting of the project, and private threads the shorter one.
	for _, days := range []*int{nil, new(30), new(90)} {
		project := f.project(t, f.ann, days)
		for _, visibility := range []string{"private", "project"} {
			f.exec(t, `UPDATE threads SET project_id = $2, visibility = $3 WHERE id = $1`, f.oldThread(t, f.ann, 70, -1),
				project, visibility)
		}
	}
	// Threads of a deleted project are not deleted by the setting.
	deleted := f.project(t, f.ann, nil)
	f.exec(t, `UPDATE threads SET project_id = $2 WHERE id = $1`, f.oldThread(t, f.ann, 70, -1), deleted)
	f.exec(t, `UPDATE projects SET deleted_at = now() WHERE id = $1`, deleted)
	got, err := f.PreviewRetention(t.Context(), f.a, 60)
	if err != nil || got != (org.RetentionPreview{Told: 8, Due: 6, Members: 2}) {
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

// TestExpiringThreadsOfALeftProject: a member without a role in a project is not shown the own threads in it that will be
// deleted, which the member cannot open.
func TestExpiringThreadsOfALeftProject(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.retain(t, f.a, 30)
	f.age(t, f.a)
	thread, project := f.oldThread(t, f.ann, 40, 1), f.project(t, f.ann, nil)
	f.exec(t, `UPDATE threads SET project_id = $2 WHERE id = $1`, thread, project)
	f.exec(t, `UPDATE threads SET told_at = now() - interval '1 day' WHERE id = $1`, thread)
	for want := 1; want >= 0; want-- {
		list := must.Get(f.ListExpiring(t.Context(), f.ann, 0, 10))(t)
		count := must.Get(f.CountExpiring(t.Context(), f.ann))(t)
		if len(list) != want || count.Threads != want {
			t.Errorf("Ann is shown %+v, %+v, want %d", list, count, want)
		}
		f.exec(t, `DELETE FROM project_grants WHERE project_id = $1`, project)
	}
}
