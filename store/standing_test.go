package store_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/store"
)

// TestR45_EverythingAStandingIsReadFromIsTold changes each column that UserBySubject reads, as another process does.
func TestR45_EverythingAStandingIsReadFromIsTold(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	grant := f.session(t, "ann")
	told, stale := f.watchUsers(t)
	wantTold(t, told, uuid.Nil)
	for _, column := range []string{"name = '別名'", "email = 'anne@example.com'", "subject = 'another'", "auth_type = 'federated_idp'"} {
		f.exec(t, `UPDATE users SET `+column+` WHERE id = $1`, f.ann.UserID)
		wantTold(t, stale, f.ann.UserID)
	}
	f.exec(t, `UPDATE users SET organization_id = $2 WHERE id = $1`, f.bob.UserID, f.b)
	wantTold(t, stale, f.bob.UserID)
	for _, column := range []string{"name = '別社'", "auth_type = 'federated_idp'"} {
		f.exec(t, `UPDATE organizations SET `+column+` WHERE id = $1`, f.a)
		wantTold(t, stale, f.a)
	}
	wantTold(t, told, f.ann.UserID)
	f.exec(t, `UPDATE pool_grants SET revoked_at = now() WHERE id = $1`, grant.ID) // Ann has another subject by now.
	wantTold(t, stale, grant.ID)

	f.exec(t, `UPDATE users SET name = name, last_signed_in_at = now(), invited_at = now()`)
	f.exec(t, `UPDATE organizations SET name = name, mail_domains = '{x.example}'`)
	f.exec(t, `UPDATE pool_grants SET revoked_at = revoked_at`)
	f.exec(t, `UPDATE users SET role = 'organization-admin' WHERE id = $1`, f.mallory.UserID)
	wantTold(t, told, f.mallory.UserID)
	if len(stale) > 0 {
		t.Errorf("%d more than have changed", len(stale))
	}
}

// TestR45_OwnChangesAreKnownBeforeTheyAreAnswered has the listening connection lag behind for as long as the test lasts.
func TestR45_OwnChangesAreKnownBeforeTheyAreAnswered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ann := f.session(t, "ann")
	var mu sync.Mutex
	stale := make(map[uuid.UUID]bool)
	listening, behind, release := make(chan struct{}), make(chan struct{}, 100), make(chan struct{})
	f.watch(t, identity.Watcher{
		Listening: func() { close(listening) },
		Changed: func(uuid.UUID) {
			behind <- struct{}{}
			<-release
		},
		Stale: func(id uuid.UUID) {
			mu.Lock()
			defer mu.Unlock()
			stale[id] = true
		},
		Proven: func(time.Time) {}, Lost: func(error) {},
	})
	t.Cleanup(func() { close(release) })
	<-listening
	f.exec(t, `SELECT pg_notify('tsumugi_user', $1)`, uuid.NewString())
	<-behind
	edit := func(id uuid.UUID, change func(*org.MemberChange)) func() error {
		return func() error {
			_, err := f.ChangeMember(t.Context(), f.a, id, org.System(), func(r org.Roster) (org.MemberChange, error) {
				c := org.MemberChange{Name: r.Member.Name, Role: r.Member.Role, State: r.Member.State, Action: org.ActionEdit, Details: []org.Change{{Field: "x"}}}
				change(&c)
				return c, nil
			})
			return err
		}
	}
	super := identity.Actor{User: identity.User{ID: f.bob.UserID, OrganizationID: f.a}}
	name, sub, grant := "別社", ann.Sub, ann.ID
	again := func() uuid.UUID { return f.session(t, "mallory").ID }
	for _, c := range []struct {
		what   string
		id     uuid.UUID
		change func() error
	}{
		{"role", f.bob.UserID, edit(f.bob.UserID, func(c *org.MemberChange) { c.Role = identity.RoleOrganizationSuperAdmin })},
		{"name", f.ann.UserID, edit(f.ann.UserID, func(c *org.MemberChange) { c.Name = "別名" })},
		{"state", f.ann.UserID, edit(f.ann.UserID, func(c *org.MemberChange) { c.State = identity.StateInactive })},
		{"session", grant, func() error { return f.RevokeGrant(t.Context(), grant, time.Now()) }},
		{"sessions", again(), func() error {
			return f.RevokeGrants(t.Context(), uuid.NewSHA1(uuid.Nil, []byte("mallory")), time.Now())
		}},
		{"password", f.mallory.UserID, func() error {
			f.exec(t, `UPDATE pool_grants SET revoked_at = NULL`)
			return f.SetPoolPassword(t.Context(), uuid.NewSHA1(uuid.Nil, []byte("mallory")), pool.Password{Status: pool.StatusConfirmed}, time.Now())
		}},
		{"account", f.ann.UserID, func() error {
			f.exec(t, `UPDATE pool_grants SET revoked_at = NULL`)
			return f.SetPoolUserEnabled(t.Context(), sub, false, time.Now())
		}},
		{"subject", f.ann.UserID, func() error { return f.FinishInvite(t.Context(), f.ann.UserID, "another") }},
		{"the organization's name", f.a, func() error {
			_, err := f.EditOrganization(t.Context(), f.a, &name, nil, org.System())
			return err
		}},
		{"single sign-on", f.a, func() error {
			return f.ChangeSAMLSettings(t.Context(), super, saml.ActionEdit, func(s *saml.Settings, _ int) error {
				s.Enabled = true
				return nil
			})
		}},
		{"removal", f.ann.UserID, edit(f.ann.UserID, func(c *org.MemberChange) { c.Remove = true })},
	} {
		mu.Lock()
		clear(stale)
		mu.Unlock()
		must(t, c.change())
		mu.Lock()
		if !stale[c.id] {
			t.Errorf("%s: %v is told of, want %v", c.what, stale, c.id)
		}
		mu.Unlock()
	}
}

// TestR45_AnswersComeAfterNotifications holds what the proof rests on: what a session is answered comes after everything that
// was committed, and answered, before it was asked.
func TestR45_AnswersComeAfterNotifications(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	cfg, err := pgx.ParseConfig(f.dsn)
	must(t, err)
	heard := ""
	cfg.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) { heard = n.Payload }
	listens, err := pgx.ConnectConfig(t.Context(), cfg)
	must(t, err)
	defer listens.Close(context.WithoutCancel(t.Context()))
	tells, err := pgx.Connect(t.Context(), f.dsn)
	must(t, err)
	defer tells.Close(context.WithoutCancel(t.Context()))
	_, err = listens.Exec(t.Context(), `LISTEN x`)
	must(t, err)
	for range 2000 {
		id := uuid.NewString()
		_, err := tells.Exec(t.Context(), `SELECT pg_notify('x', $1)`, id)
		must(t, err)
		if must(t, listens.Ping(t.Context())); heard != id {
			t.Fatalf("an answer came before what was committed: heard %q, want %q", heard, id)
		}
	}
}

// reception is an identity.Service with a real store, whose watch goes by way of a middleman.
type reception struct {
	*fixture
	*middleman
	people *identity.Service
	asked  atomic.Int64  // How often the store was asked for a standing.
	lost   chan struct{} // The link is.
}

func newReception(t *testing.T) *reception {
	t.Helper()
	r := &reception{fixture: newFixture(t), lost: make(chan struct{}, 100)}
	r.middleman = newMiddleman(t, r.fixture.dsn)
	r.DB = open(t, r.middleman.dsn)
	r.people = identity.NewService(&counting{r.DB, r}, subjects{}, slog.New(slog.DiscardHandler))
	r.people.Start(nobody{})
	t.Cleanup(r.people.Stop)
	return r
}

// counting is a store that says what it is asked for, and when it is lost.
type counting struct {
	*store.DB
	r *reception
}

func (c *counting) UserBySubject(ctx context.Context, subject string, session uuid.UUID) (identity.Standing, error) {
	c.r.asked.Add(1)
	return c.DB.UserBySubject(ctx, subject, session)
}

func (c *counting) WatchUsers(ctx context.Context, w identity.Watcher) {
	lost := w.Lost
	w.Lost = func(err error) {
		lost(err)
		c.r.lost <- struct{}{}
	}
	c.DB.WatchUsers(ctx, w)
}

// subjects are a verifier that takes a subject for a token.
type subjects struct{}

func (subjects) VerifyIDToken(_ context.Context, token string) (identity.Claims, error) {
	return identity.Claims{Subject: token, AuthType: identity.AuthCognito, ExpiresAt: time.Now().Add(time.Hour)}, nil
}

// nobody has anything open.
type nobody struct{}

func (nobody) PersonChanged(uuid.UUID) {}
func (nobody) Present() []uuid.UUID    { return nil }

// call says whether a call was let in, and whether the store was asked for it.
func (r *reception) call(t *testing.T, token string) (allowed, asked bool) {
	t.Helper()
	before := r.asked.Load()
	_, err := r.people.Authenticate(t.Context(), token)
	if err != nil && !errors.Is(err, identity.ErrNoUser) {
		t.Fatal(err)
	}
	return err == nil, r.asked.Load() > before
}

// await calls until it is as wanted.
func (r *reception) await(t *testing.T, what, token string, want func(allowed, asked bool) bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !want(r.call(t, token)) {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

func remembered(allowed, asked bool) bool { return allowed && !asked }

func TestR45_ChangesReachWhatIsRemembered(t *testing.T) {
	t.Parallel()
	r := newReception(t)
	r.await(t, "ann is remembered", "sub-ann", remembered)
	r.exec(t, `UPDATE users SET state = 'inactive' WHERE id = $1`, r.ann.UserID) // Another process.
	r.await(t, "ann is refused", "sub-ann", func(allowed, _ bool) bool { return !allowed })

	r.await(t, "bob is remembered", "sub-bob", remembered)
	for _, state := range []identity.State{identity.StateInactive, identity.StateActive, identity.StateInactive} { // This one.
		_, err := r.ChangeMember(t.Context(), r.a, r.bob.UserID, org.System(), func(was org.Roster) (org.MemberChange, error) {
			return org.MemberChange{Name: was.Member.Name, Role: was.Member.Role, State: state, Action: org.ActionEdit, Details: []org.Change{{Field: "x"}}}, nil
		})
		must(t, err)
		if allowed, _ := r.call(t, "sub-bob"); allowed != (state == identity.StateActive) {
			t.Errorf("the call after they became %s: %v", state, allowed)
		}
	}
}

// TestR45_ChangeHoldsThoughTheWatchStalls: nothing comes over the connection that listens, and nobody says so.
func TestR45_ChangeHoldsThoughTheWatchStalls(t *testing.T) {
	t.Parallel()
	r := newReception(t)
	r.await(t, "ann is remembered", "sub-ann", remembered)
	r.stall.Lock()
	stalled := sync.OnceFunc(r.stall.Unlock)
	defer stalled()
	r.exec(t, `UPDATE users SET state = 'inactive' WHERE id = $1`, r.ann.UserID)
	changed := time.Now()
	begun := changed
	r.await(t, "ann is refused", "sub-ann", func(allowed, _ bool) bool {
		if allowed && begun.Sub(changed) > 5*time.Second {
			t.Fatalf("let in by a call that was begun %v after the change", begun.Sub(changed))
		}
		begun = time.Now() // No later than the next one.
		return !allowed
	})
	t.Logf("refused after %v", time.Since(changed))
	if _, asked := r.call(t, "sub-bob"); !asked {
		t.Error("bob is remembered while the watch stalls")
	}
	stalled()
	r.await(t, "bob is remembered again", "sub-bob", remembered)
}

// TestR45_StandingsAreReadWhileTheLinkIsCut: until it is there again, and what happened meanwhile is known.
func TestR45_StandingsAreReadWhileTheLinkIsCut(t *testing.T) {
	t.Parallel()
	r := newReception(t)
	r.await(t, "ann is remembered", "sub-ann", remembered)
	r.breakOff()
	<-r.lost
	for range 3 {
		if allowed, asked := r.call(t, "sub-ann"); !allowed || !asked {
			t.Errorf("without a link: allowed %v, asked %v", allowed, asked)
		}
	}
	r.exec(t, `UPDATE users SET state = 'inactive' WHERE id = $1`, r.ann.UserID)
	r.cut.Store(false)
	r.await(t, "bob is remembered", "sub-bob", remembered)
	if allowed, _ := r.call(t, "sub-ann"); allowed {
		t.Error("ann is remembered from before")
	}
}

// TestR45_NothingIsRememberedWithoutNotifications: a pooler answers for the database, but does not pass on what it tells.
func TestR45_NothingIsRememberedWithoutNotifications(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	m := newMiddleman(t, f.dsn)
	m.deaf.Store(true)
	f.DB = open(t, m.dsn)
	listening, proven := make(chan struct{}), make(chan time.Time, 100)
	f.watch(t, identity.Watcher{
		Listening: func() { close(listening) }, Changed: func(uuid.UUID) {}, Stale: func(uuid.UUID) {},
		Proven: func(at time.Time) { proven <- at }, Lost: func(err error) { t.Error(err) },
	})
	<-listening
	for range 4 { // To the startup, LISTEN and two pings.
		<-m.answers
	}
	if len(proven) > 0 {
		t.Error("it is proven that everything is told")
	}
	m.deaf.Store(false)
	<-proven
}
