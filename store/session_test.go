package store_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// annIn returns Ann as the actor of a session that began at the given time.
func (f *fixture) annIn(session uuid.UUID, how identity.AuthType, began time.Time) identity.Actor {
	return identity.Actor{
		User: identity.User{
			ID: f.ann.UserID, OrganizationID: f.a, Subject: "sub-ann", Email: "ann@example.com",
			Name: "ann",
		},
		AuthType: how, AuthTime: began.Truncate(time.Second), Session: session,
		Address: netip.MustParseAddr("203.0.113.5"),
	}
}

// sessionEnded reports whether UserBySubject considers a session ended, and checks that ListSessions agrees.
func (f *fixture) sessionEnded(t *testing.T, a identity.Actor) bool {
	t.Helper()
	found := must.Get(f.UserBySubject(t.Context(), identity.Claims{
		Subject: a.Subject, Session: a.Session, AuthType: a.AuthType, AuthTime: a.AuthTime,
	}))(t)
	list := must.Get(f.ListSessions(t.Context(), a.OrganizationID, a.ID))(t)
	listed := false
	for _, s := range list {
		listed = listed || s.ID == a.Session
	}
	if listed == found.SessionOver {
		t.Errorf("over: %v, listed: %v", found.SessionOver, listed)
	}
	return found.SessionOver
}

// TestSessionsExpire checks an organization's time limits for each kind of sign-in.
func TestSessionsExpire(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sso, password := identity.AuthFederated, identity.AuthCognito
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		how           identity.AuthType
		began, unused time.Duration // Durations before now.
		over          bool
	}{
		"just begun":                           {sso, 0, 0, false},
		"unused for less than 8 h":             {sso, day, 8*time.Hour - time.Minute, false},
		"unused for 8 h":                       {sso, day, 8 * time.Hour, true},
		"single sign-on for nearly a week":     {sso, 7*day - time.Minute, 0, false},
		"single sign-on for a week":            {sso, 7*day + time.Second, 0, true},
		"a password, unused for 3 weeks":       {password, 22 * day, 21 * day, false},
		"a password for 30 days":               {password, 30*day + time.Second, 0, true},
		"used since, though begun long before": {sso, 6 * day, time.Hour, false},
	} {
		a := f.annIn(uuid.New(), c.how, time.Now().Add(-c.began))
		must.Succeed(t, f.RecordSession(t.Context(), identity.SessionUse{Actor: a, UserAgent: "x"}))
		f.exec(t, `UPDATE sessions SET used_at = now() - $2::interval WHERE id = $1`, a.Session, c.unused)
		if got := f.sessionEnded(t, a); got != c.over {
			t.Errorf("%s: over %v", name, got)
		}
	}
	unknown := f.annIn(uuid.New(), sso, time.Now().Add(-8*day))
	found, err := f.UserBySubject(t.Context(), identity.Claims{
		Subject: "sub-ann", Session: unknown.Session,
		AuthType: sso, AuthTime: unknown.AuthTime,
	})
	if err != nil || !found.SessionOver {
		t.Errorf("a session that was never used does not expire: %+v, %v", found, err)
	}
}

// TestEndedSessionsStayEnded: no later change of settings and no use of the session reactivates it.
func TestEndedSessionsStayEnded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	grant := f.session(t, "ann")
	a := f.annIn(grant.ID, identity.AuthFederated, time.Now())
	a.Subject = grant.Sub.String()
	use := identity.SessionUse{Actor: a, UserAgent: "Mozilla/5.0 (Windows NT 10.0) Chrome/130.0 Safari/537.36"}
	must.Succeed(t, f.RecordSession(t.Context(), use))
	list, err := f.ListSessions(t.Context(), f.a, f.ann.UserID)
	if err != nil || len(list) != 1 || identity.Agent(list[0].UserAgent) != "Chrome（Windows）" ||
		list[0].Address.String() != "203.0.113.5" ||
		list[0].ExpiresAt.After(grant.ExpiresAt) {
		t.Errorf("listed %+v, %v", list, err)
	}
	f.exec(t, `UPDATE sessions SET used_at = now() - interval '9 hours'`)
	told := f.watchUsers(t)
	wantNotified(t, told, uuid.Nil)
	must.Succeed(t, f.EndStaleSessions(t.Context()))
	wantNotified(t, told, f.ann.UserID)
	f.exec(t, `UPDATE organizations SET sso_idle_minutes = 1440`)
	must.Succeed(t, f.RecordSession(t.Context(), use))
	if !f.sessionEnded(t, a) {
		t.Error("the session is valid again")
	}
	if held, err := f.GrantByID(t.Context(), grant.ID); err != nil || held.Grant.RevokedAt == nil {
		t.Errorf("it can be refreshed: %+v, %v", held, err)
	}
	f.exec(t, `UPDATE sessions SET began_at = now() - interval '32 days'`)
	must.Succeed(t, f.EndStaleSessions(t.Context()))
	if n := value[int](t, f, `SELECT count(*) FROM sessions`); n != 0 {
		t.Errorf("%d are kept for ever", n)
	}
}

// TestSingleSignOnEndsPasswordSessions: password sessions that ended when single sign-on was enabled stay ended
// when it is disabled again, except those of super-admins.
func TestSingleSignOnEndsPasswordSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for role, over := range map[string]bool{
		"general-user": true, "organization-admin": true,
		"organization-super-admin": false,
	} {
		f.exec(t, `UPDATE users SET role = $2 WHERE id = $1`, f.ann.UserID, role)
		before := f.annIn(uuid.New(), identity.AuthCognito, time.Now().Add(-time.Minute))
		sso := f.annIn(uuid.New(), identity.AuthFederated, time.Now().Add(-time.Minute))
		for _, a := range []identity.Actor{before, sso} {
			must.Succeed(t, f.RecordSession(t.Context(), identity.SessionUse{Actor: a}))
		}
		f.exec(t, `UPDATE organizations SET auth_type = 'federated_idp' WHERE id = $1`, f.a)
		f.exec(t, `UPDATE organizations SET auth_type = 'cognito' WHERE id = $1`, f.a)
		after := f.annIn(uuid.New(), identity.AuthCognito, time.Now())
		must.Succeed(t, f.RecordSession(t.Context(), identity.SessionUse{Actor: after}))
		if f.sessionEnded(t, before) != over || f.sessionEnded(t, sso) || f.sessionEnded(t, after) {
			t.Errorf("%s: over before %v, single sign-on %v, after %v", role, f.sessionEnded(t, before), f.sessionEnded(t, sso),
				f.sessionEnded(t, after))
		}
	}
}

// TestR45_SessionsAreEndedByTheirOwner: a user ends sessions one by one and all together, including those of other
// identity providers. Servers are notified.
func TestR45_SessionsAreEndedByTheirOwner(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var own []identity.Actor
	for range 4 {
		a := f.annIn(uuid.New(), identity.AuthCognito, time.Now().Add(-time.Minute))
		must.Succeed(t, f.RecordSession(t.Context(), identity.SessionUse{Actor: a}))
		own = append(own, a)
	}
	told := f.watchUsers(t)
	wantNotified(t, told, uuid.Nil)
	bob := own[0]
	bob.ID = f.bob.UserID
	wantCode(t, f.EndSession(t.Context(), bob, own[1].Session), fault.NotFound)
	must.Succeed(t, f.EndSession(t.Context(), own[0], own[1].Session))
	wantNotified(t, told, f.ann.UserID)
	wantCode(t, f.EndSession(t.Context(), own[0], own[1].Session), fault.NotFound)
	must.Succeed(t, f.EndOtherSessions(t.Context(), own[0]))
	wantNotified(t, told, f.ann.UserID)
	must.Succeed(t, f.EndOtherSessions(t.Context(), own[0])) // There are no other sessions.
	for i, a := range own {
		if f.sessionEnded(t, a) != (i > 0) {
			t.Errorf("session %d: over %v", i, f.sessionEnded(t, a))
		}
	}
	outdated, err := f.ChangedUsers(t.Context(), f.everyone(), time.Minute)
	if err != nil || len(outdated) != 1 || outdated[0] != f.ann.UserID {
		t.Errorf("outdated %v, %v", outdated, err)
	}
	if n := value[int](t, f, `SELECT count(*) FROM audit_events WHERE action = 'session.revoke' AND actor_id = $1`,
		f.ann.UserID); n != 2 {
		t.Errorf("the audit log has %d entries", n)
	}
	_, err = f.ChangeMember(t.Context(), f.a, f.ann.UserID, org.System(), func(org.MemberContext) (org.MemberChange, error) {
		return org.MemberChange{
			EndSessions: true, Action: org.ActionSessionEnd,
			Details: []org.Change{{Field: "sessions"}},
		}, nil
	})
	must.Succeed(t, err)
	wantNotified(t, told, f.ann.UserID)
	unseen := f.annIn(uuid.New(), identity.AuthCognito, time.Now().Add(-time.Minute))
	found, err := f.UserBySubject(t.Context(), claimsOf(unseen))
	if err != nil || !found.SessionOver || !f.sessionEnded(t, own[0]) {
		t.Errorf("signed out everywhere: %+v, %v", found, err)
	}
}

func claimsOf(a identity.Actor) identity.Claims {
	return identity.Claims{Subject: a.Subject, Session: a.Session, AuthType: a.AuthType, AuthTime: a.AuthTime}
}

func (f *fixture) everyone() []uuid.UUID {
	return []uuid.UUID{f.ann.UserID, f.bob.UserID, f.mallory.UserID}
}

func TestSessionLimits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	super := f.annIn(uuid.New(), identity.AuthCognito, time.Now())
	may := func(*org.Member) error { return nil }
	before, err := f.SessionLimits(t.Context(), f.a)
	want := org.SessionLimits{
		SingleSignOn: org.SessionLimit{Idle: 480, Max: 10080},
		Password:     org.SessionLimit{Idle: 43200, Max: 43200},
		Connection:   43200,
	}
	if err != nil || before != want {
		t.Errorf("got %+v, %v", before, err)
	}
	want.SingleSignOn, want.Password.Idle = org.SessionLimit{Idle: 15, Max: 60}, 240
	want.Connection = 1440
	set := func(limits *org.SessionLimits) error {
		*limits = want
		return nil
	}
	for range 2 {
		if after, err := f.SetSessionLimits(t.Context(), super, set, may); err != nil || after != want {
			t.Errorf("set %+v, %v", after, err)
		}
	}
	if after, err := f.SessionLimits(t.Context(), f.a); err != nil || after != want {
		t.Errorf("got %+v, %v", after, err)
	}
	if told := value[string](t, f, `
		SELECT string_agg(d->>'field' || '=' || (d->>'after'), ' ') FROM audit_events, jsonb_array_elements(details) d
		WHERE action = 'session_limits.edit'`); told != "sso_idle_minutes=15 sso_max_minutes=60 "+
		"password_idle_minutes=240 connection_idle_minutes=1440" {
		t.Errorf("the audit log has %s", told)
	}
	_, err = f.SetSessionLimits(t.Context(), super, set, func(*org.Member) error { return org.ErrForbidden })
	wantCode(t, err, fault.Forbidden)
}
