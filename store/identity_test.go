package store_test

import (
	"context"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// claims returns the claims of a password session that begins now.
func claims(subject string, session uuid.UUID) identity.Claims {
	return identity.Claims{Subject: subject, Session: session, AuthType: identity.AuthCognito, AuthTime: time.Now()}
}

// session signs in a member with an account in the user pool, and returns the grant.
func (f *fixture) session(t *testing.T, name string) pool.Grant {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Microsecond)
	sub := uuid.NewSHA1(uuid.Nil, []byte(name))
	f.exec(t, `UPDATE users SET subject = $2 WHERE email = $1`, name+"@example.com", sub.String())
	f.exec(t, `
		INSERT INTO pool_users (sub, email, name, status, created_at, updated_at)
		VALUES ($1, $2, $3, 'CONFIRMED', $4, $4) ON CONFLICT DO NOTHING`, sub, name+"@example.com", name, now)
	grant := pool.Grant{
		ID: uuid.New(), TokenHash: digest(name), Sub: sub, ClientID: "client", EventID: uuid.New(), AuthTime: now,
		ExpiresAt: now.Add(24 * time.Hour),
	}
	must.Get(f.CreateGrant(t.Context(), grant, 1, pool.Event{}))(t)
	return grant
}

func TestR45_RevokedSessionIsKnownAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	grant := f.session(t, "ann")
	revoked := func(session uuid.UUID) bool {
		t.Helper()
		found := must.Get(f.UserBySubject(t.Context(), claims(grant.Sub.String(), session)))(t)
		if found.ID != f.ann.UserID {
			t.Errorf("found %+v", found)
		}
		return found.SessionOver
	}
	if revoked(grant.ID) {
		t.Error("it is revoked from the start")
	}
	must.Succeed(t, f.RevokeGrant(t.Context(), grant.ID, pool.Event{At: time.Now()}))
	if !revoked(grant.ID) {
		t.Error("it is not revoked")
	}
	if revoked(uuid.New()) || revoked(uuid.Nil) {
		t.Error("a session of another provider is revoked")
	}
}

// watchUsers returns the events of a watcher: ids of users, uuid.Nil for listening, uuid.Max for an interruption.
func (f *fixture) watchUsers(t *testing.T) <-chan uuid.UUID {
	t.Helper()
	told := make(chan uuid.UUID, 16)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.WatchUsers(ctx, identity.Watcher{
			Listening: func() { told <- uuid.Nil },
			Changed:   func(id uuid.UUID) { told <- id },
			Lost:      func(error) { told <- uuid.Max },
		})
	}()
	t.Cleanup(func() { stop(); <-done })
	return told
}

func TestR45_ChangedUsersAreNotified(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	grant := f.session(t, "ann")
	told := f.watchUsers(t)
	wantNotified(t, told, uuid.Nil)

	f.exec(t, `SELECT pg_notify('tsumugi_user', 'no id')`)
	must.Succeed(t, f.RevokeGrant(t.Context(), grant.ID, pool.Event{At: time.Now()}))
	wantNotified(t, told, f.ann.UserID)
	must.Succeed(t,
		f.RevokeGrant(t.Context(), grant.ID, pool.Event{At: time.Now()})) // Already revoked: nothing changes.
	must.Succeed(t, f.MarkSignedIn(t.Context(), f.ann.UserID))
	f.exec(t, `UPDATE users SET name = 'x', role = role, state = state`)
	f.exec(t, `UPDATE users SET role = 'organization-admin' WHERE id = $1`, f.bob.UserID)
	wantNotified(t, told, f.bob.UserID)
	f.exec(t, `UPDATE users SET state = 'inactive' WHERE id = $1`, f.ann.UserID)
	wantNotified(t, told, f.ann.UserID)
	f.exec(t, `UPDATE organizations SET auth_type = 'federated_idp' WHERE id = $1`, f.b)
	wantNotified(t, told, f.mallory.UserID)
	f.exec(t, `DELETE FROM users WHERE id = $1`, f.bob.UserID)
	wantNotified(t, told, f.bob.UserID)
}

// TestR45_WatchThatStallsIsNoticed suspends the database process of the listening connection, which causes no error.
func TestR45_WatchThatStallsIsNoticed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	told := f.watchUsers(t)
	wantNotified(t, told, uuid.Nil)
	pid := value[int](t, f, `
		SELECT pid FROM pg_stat_activity WHERE application_name LIKE '% tsumugi_user' AND datname = current_database()`)
	must.Succeed(t, syscall.Kill(pid, syscall.SIGSTOP))
	t.Cleanup(func() { must.Succeed(t, syscall.Kill(pid, syscall.SIGCONT)) })
	stopped := time.Now()
	wantNotified(t, told, uuid.Max, uuid.Nil)
	t.Logf("noticed after %v", time.Since(stopped))
	f.exec(t, `UPDATE users SET state = 'inactive' WHERE id = $1`, f.ann.UserID)
	wantNotified(t, told, f.ann.UserID)
}

func TestR45_OutdatedUsers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	now := time.Now()
	must.Succeed(t, f.RevokeGrant(t.Context(), f.session(t, "ann").ID, pool.Event{At: now}))
	must.Succeed(t, f.RevokeGrant(t.Context(), f.session(t, "mallory").ID, pool.Event{At: now.Add(-time.Hour)}))
	inactive, gone := f.user(t, f.b, "inactive").UserID, newID()
	f.exec(t, `UPDATE users SET state = 'inactive' WHERE id = $1`, inactive)
	demoted := f.user(t, f.b, "demoted").UserID // Open pages may show data for administrators.
	f.exec(t, `UPDATE users SET role = 'organization-admin' WHERE id = $1`, demoted)
	f.exec(t, `UPDATE users SET role = 'general-user' WHERE id = $1`, demoted)
	turned, long := newID(), newID() // Switched to single sign-on now and an hour ago.
	for _, id := range []uuid.UUID{turned, long} {
		must.Succeed(t, f.CreateOrganization(t.Context(), org.Organization{ID: id, Name: "連携会社", AuthType: "cognito"}))
		f.exec(t, `UPDATE organizations SET auth_type = 'federated_idp' WHERE id = $1`, id)
	}
	f.exec(t, `UPDATE organizations SET changed_at = now() - interval '1 hour' WHERE id = $1`, long)
	hers, his := f.user(t, turned, "hers").UserID, f.user(t, long, "his").UserID
	for _, c := range []struct {
		within time.Duration
		want   []uuid.UUID
	}{
		{10 * time.Minute, []uuid.UUID{f.ann.UserID, inactive, gone, demoted, hers}},
		{2 * time.Hour, []uuid.UUID{f.ann.UserID, f.mallory.UserID, inactive, gone, demoted, hers, his}},
	} {
		got := must.Get(f.ChangedUsers(t.Context(), []uuid.UUID{
			f.ann.UserID, f.bob.UserID, f.mallory.UserID, inactive, gone,
			demoted, hers, his,
		}, c.within))(t)
		byText := func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }
		slices.SortFunc(got, byText)
		slices.SortFunc(c.want, byText)
		if !slices.Equal(got, c.want) {
			t.Errorf("within %v: %v, want %v", c.within, got, c.want)
		}
	}
}
