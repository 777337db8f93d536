package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oauth"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestRemovingAMemberDeletesTheirThreads: removing a member deletes the member's threads, including a running answer.
// The usage is kept.
func TestRemovingAMemberDeletesTheirThreads(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server, thread := newID(), f.thread(t, f.ann)
	first := f.exchange(t, f.ann, thread.ID, server, "質問", "回答")
	must.Succeed(t, f.GiveFeedback(t.Context(), f.ann, first.Answer.ID, chat.Feedback{Rating: chat.RatingGood}))
	again := question(f.ann, thread.ID, server)
	again.Question, again.Regenerate = first.Question, true
	again.Answer.ParentID = &first.Question.ID
	second := must.Get(f.BeginGeneration(t.Context(), again))(t)
	must.Succeed(t, f.end(t, outcome(f.ann, second, server, "別の回答")))
	running := must.Get(f.BeginGeneration(t.Context(), question(f.ann, f.thread(t, f.ann).ID, server)))(t)
	bobs := f.exchange(t, f.bob, f.thread(t, f.bob).ID, server, "質問", "回答")

	remove := func(org.MemberContext) (org.MemberChange, error) {
		return org.MemberChange{
			Remove: true, Action: org.ActionRemove,
			Details: []org.Change{{Field: "name", Before: "ann"}},
		}, nil
	}
	gone, err := f.ChangeMember(t.Context(), f.a, f.ann.UserID, org.System(), remove)
	if err != nil || gone.ID != f.ann.UserID || gone.Email != "ann@example.com" {
		t.Fatalf("removed %+v, %v", gone, err)
	}
	if _, err := f.ChangeMember(t.Context(), f.a, f.ann.UserID, org.System(), remove); !errors.Is(err,
		org.ErrNoMember) {
		t.Errorf("again: %v", err)
	}
	if err := f.end(t, outcome(f.ann, running, server, "遅い回答")); !errors.Is(err, chat.ErrStaleRun) {
		t.Errorf("the answer that was being written: %v", err)
	}
	for _, table := range []string{"threads", "generations", "message_feedback"} {
		if n := value[int](t, f, `SELECT count(*) FROM `+table+` WHERE user_id = $1`, f.ann.UserID); n != 0 {
			t.Errorf("%d rows of %s are left", n, table)
		}
	}
	if _, err := f.FindMessage(t.Context(), f.bob, bobs.Answer.ID); err != nil {
		t.Errorf("a colleague's answer: %v", err)
	}
	members, total, err := f.UsageByMember(t.Context(), f.a, 0, 10)
	if err != nil || total != 2 || members[0].UserID != nil || members[0].Messages != 2 ||
		*members[1].UserID != f.bob.UserID {
		t.Errorf("used %+v, %v", members, err)
	}
	if members, total, err := f.UsageByMember(t.Context(), f.a, 5, 10); err != nil || total != 2 || len(members) != 0 {
		t.Errorf("past the end %d, %+v, %v", total, members, err)
	}
}

// TestChangesSurviveALateRefusal: an attempt at an invitation fails after a second attempt has succeeded and the member
// was changed.
func TestChangesSurviveALateRefusal(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	result, err := f.BeginInvite(t.Context(), org.InviteCall{
		OrganizationID: f.a, RequestID: newID(), By: org.System(), Action: org.ActionInvite, Claim: time.Minute,
		Check: func(*org.Member) error { return nil }, Invitees: []org.Invitee{{
			Email: "new@example.com", Name: "x",
			Role: "general-user",
		}},
	})
	must.Succeed(t, err)
	m := *result.Invitations[0].Member
	must.Succeed(t, f.FinishInvite(t.Context(), m.ID, "sub-new"))
	_, err = f.ChangeMember(t.Context(), f.a, m.ID, org.System(), func(r org.MemberContext) (org.MemberChange, error) {
		return org.MemberChange{
			Name: r.Member.Name, Role: r.Member.Role, State: "inactive", Action: org.ActionEdit,
			Details: []org.Change{{Field: "state"}},
		}, nil
	})
	must.Succeed(t, err)
	must.Succeed(t, f.AbandonInvite(t.Context(), m, org.InviteFailed, org.System()))
	if n := value[int](t, f, `SELECT count(*) FROM account_changes WHERE state`); n != 1 {
		t.Error("no change is queued for the identity provider")
	}
	if n := value[int](t, f, `SELECT count(*) FROM users WHERE id = $1`, m.ID); n != 1 {
		t.Error("the member is gone")
	}
}

// TestR58_InvitedMembersBeginWithoutSessions: a member who gets the account of a removed member does not get its
// sessions.
func TestR58_InvitedMembersBeginWithoutSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	now := time.Now()
	left := pool.User{
		Sub: uuid.New(), Email: "new@example.com", Name: "x", Status: pool.StatusExternalProvider, Enabled: true,
		Version: 1, CreatedAt: now, UpdatedAt: now,
	}
	must.Succeed(t, f.CreatePoolUser(t.Context(), left))
	grant := pool.Grant{
		ID: uuid.New(), TokenHash: digest("old"), Sub: left.Sub, ClientID: "sso", EventID: uuid.New(),
		AuthTime: now, ExpiresAt: now.Add(time.Hour),
	}
	must.Get(f.CreateGrant(t.Context(), grant, 1, pool.Event{}))(t)
	result := must.Get(f.BeginInvite(t.Context(), org.InviteCall{
		OrganizationID: f.a, RequestID: newID(), By: org.System(), Action: org.ActionInvite, Claim: time.Minute,
		Check: func(*org.Member) error { return nil }, Invitees: []org.Invitee{{
			Email: left.Email, Name: "x",
			Role: "general-user",
		}},
	}))(t)
	must.Succeed(t, f.FinishInvite(t.Context(), result.Invitations[0].Member.ID, left.Sub.String()))
	if status, err := f.UserBySubject(t.Context(), claims(left.Sub.String(), grant.ID)); err != nil ||
		!status.SessionOver {
		t.Errorf("the session is still valid for %+v, %v", status, err)
	}
}

// TestDeactivationEndsSessions: the sessions, connections and codes of a member who was deactivated stay ended after the
// reactivation, even if the identity provider has received no change. The account is in the embedded user pool or in
// another one.
func TestDeactivationEndsSessions(t *testing.T) {
	t.Parallel()
	for _, embedded := range []bool{true, false} {
		f := newFixture(t)
		grant := f.session(t, "ann")
		if !embedded {
			f.exec(t, `DELETE FROM pool_users`)
		}
		begun := time.Now().Add(-2 * time.Second)
		browser, unused := f.annIn(grant.ID, identity.AuthCognito, begun), f.annIn(uuid.New(), identity.AuthCognito, begun)
		browser.Subject, unused.Subject = grant.Sub.String(), grant.Sub.String()
		must.Succeed(t, f.RecordSession(t.Context(), identity.SessionUse{Actor: browser}))
		connection := newID()
		_, err := f.AddPersonal(t.Context(), browser, oauth.NewToken{
			RequestID: newID(), Name: "x", Scopes: []identity.Scope{identity.ScopeChat}, ExpiresAt: begun.Add(time.Hour),
		}, oauth.NewConnection{ID: connection})
		must.Succeed(t, err)
		must.Succeed(t, f.AddGrant(t.Context(), oauth.Grant{
			Hash: digest("code"), ClientID: "cli", Scopes: []identity.Scope{identity.ScopeChat}, OrganizationID: &f.a,
			UserID: &f.ann.UserID, AuthType: &browser.AuthType, AnsweredAt: &begun, CreatedAt: begun,
			ExpiresAt: begun.Add(time.Hour),
		}))
		for _, state := range []identity.State{identity.StateInactive, identity.StateActive} {
			must.Get(f.ChangeMember(t.Context(), f.a, f.ann.UserID, org.System(),
				func(r org.MemberContext) (org.MemberChange, error) {
					return org.MemberChange{
						Name: r.Member.Name, Role: r.Member.Role, State: state, Action: org.ActionEdit,
						Details: []org.Change{{Field: "state"}},
					}, nil
				}))(t)
		}
		for name, session := range map[string]uuid.UUID{
			"the browser": browser.Session, "an unused session": unused.Session, "a personal token": connection,
		} {
			found, err := f.UserBySubject(t.Context(), identity.Claims{
				Subject: browser.Subject, Session: session, AuthType: browser.AuthType, AuthTime: browser.AuthTime,
			})
			if err != nil || !found.SessionOver {
				t.Errorf("embedded %v, %s: %+v, %v", embedded, name, found, err)
			}
		}
		if n := value[int](t, f, `
			SELECT (SELECT count(*) FROM connection_grants) + (SELECT count(*) FROM sessions WHERE ended_at IS NULL)
			    + (SELECT count(*) FROM pool_grants WHERE revoked_at IS NULL)`); n != 0 {
			t.Errorf("embedded %v: %d sessions, grants and codes are left", embedded, n)
		}
		// Calls that were authenticated before the sessions ended.
		_, err = f.AddPersonal(t.Context(), browser, oauth.NewToken{
			RequestID: newID(), Name: "y", Scopes: []identity.Scope{identity.ScopeChat}, ExpiresAt: begun.Add(time.Hour),
		}, oauth.NewConnection{ID: newID()})
		if fault.CodeOf(err) != fault.Unauthenticated {
			t.Errorf("embedded %v, a late personal token: %v", embedded, err)
		}
		late := oauth.Grant{
			Hash: digest("late"), UserCodeHash: digest("user"), ClientID: "cli", Scopes: []identity.Scope{identity.ScopeChat},
			CreatedAt: begun, ExpiresAt: begun.Add(time.Hour),
		}
		must.Succeed(t, f.AddGrant(t.Context(), late))
		if err := f.AnswerGrant(t.Context(), browser, late.UserCodeHash, false); fault.CodeOf(err) != fault.Unauthenticated {
			t.Errorf("embedded %v, a late device: %v", embedded, err)
		}
		late.Hash, late.UserCodeHash, late.Session = digest("later"), nil, browser.Session
		late.OrganizationID, late.UserID, late.AuthType, late.AnsweredAt = &f.a, &f.ann.UserID, &browser.AuthType, &begun
		if err := f.AddGrant(t.Context(), late); fault.CodeOf(err) != fault.Unauthenticated {
			t.Errorf("embedded %v, a late code: %v", embedded, err)
		}
	}
}

// TestRefusedChangesLeaveNothing: a refused change is not stored, logged or queued.
func TestRefusedChangesLeaveNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for what, decide := range map[string]func(org.MemberContext) (org.MemberChange, error){
		"a refusal": func(org.MemberContext) (org.MemberChange, error) {
			return org.MemberChange{Remove: true, Details: []org.Change{{Field: "x"}}}, org.ErrForbidden
		},
		"what no member has": func(r org.MemberContext) (org.MemberChange, error) {
			return org.MemberChange{
				Name: "x", Role: "king", State: r.Member.State, Action: org.ActionEdit,
				Details: []org.Change{{Field: "role"}},
			}, nil
		},
	} {
		if _, err := f.ChangeMember(t.Context(), f.a, f.ann.UserID, org.System(), decide); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	for _, organization := range []uuid.UUID{f.b, newID()} {
		if _, err := f.ChangeMember(t.Context(), organization, f.ann.UserID, org.System(), nil); err == nil {
			t.Error("somebody else's member")
		}
	}
	if name := value[string](t, f, `SELECT name FROM users WHERE id = $1`, f.ann.UserID); name != "ann" {
		t.Errorf("now they are called %q", name)
	}
	n := value[int](t, f, `SELECT (SELECT count(*) FROM audit_events) + (SELECT count(*) FROM account_changes)`)
	if n != 0 {
		t.Errorf("%d rows record it", n)
	}
}

// TestWhoHasAPassword: only super-admins who can sign in with a password now count as an alternative to single sign-on.
func TestWhoHasAPassword(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec(t, `UPDATE users SET role = 'organization-super-admin', auth_type = 'federated_idp' WHERE id = $1`,
		f.ann.UserID)
	admin := identity.Actor{User: identity.User{OrganizationID: f.a, ID: f.ann.UserID}}
	for name, c := range map[string]struct {
		user   string // Description of the row.
		status string // In the embedded user pool. "" if the account is in AWS.
		has    bool
	}{
		"never invited": {`auth_type = 'cognito'`, "", true},
		"invited":       {`auth_type = 'cognito', invited_at = now()`, "", false},
		"invited, signed in": {
			`auth_type = 'cognito', invited_at = now() - interval '1 day', last_signed_in_at = now()`, "", true,
		},
		"signed in, then invited again": {
			`auth_type = 'cognito', invited_at = now(), last_signed_in_at = now() - interval '1 day'`, "", false,
		},
		"of single sign-on": {
			`auth_type = 'federated_idp', last_signed_in_at = now()`,
			"EXTERNAL_PROVIDER", false,
		},
		"invited here": {
			`auth_type = 'cognito', invited_at = now()`, "FORCE_CHANGE_PASSWORD",
			false,
		},
		"invited, came by single sign-on": {
			`auth_type = 'cognito', invited_at = now() - interval '1 day', last_signed_in_at = now()`,
			"FORCE_CHANGE_PASSWORD", false,
		},
		"chose a password, never opened it": {`auth_type = 'cognito', invited_at = now()`, "CONFIRMED", true},
		"of AWS, also came by single sign-on": {
			`auth_type = 'cognito', invited_at = now() - interval '1 day', last_signed_in_at = now()`,
			"EXTERNAL_PROVIDER", true,
		},
		"general user": {`auth_type = 'cognito', role = 'general-user'`, "CONFIRMED", false},
		"inactive":     {`auth_type = 'cognito', state = 'inactive'`, "CONFIRMED", false},
	} {
		id, subject := newID(), newID()
		must.Succeed(t, f.CreateUser(t.Context(), identity.NewUser{
			ID: id, OrganizationID: f.a, Subject: subject.String(), Email: id.String() + "@example.com", Name: name,
			Role: identity.RoleOrganizationSuperAdmin, AuthType: identity.AuthCognito,
		}))
		f.exec(t, `UPDATE users SET `+c.user+` WHERE id = $1`, id)
		if c.status != "" {
			f.exec(t, `
				INSERT INTO pool_users (sub, email, name, status, temporary_until, created_at, updated_at)
				VALUES ($1, $2, 'x', $3, CASE $3 WHEN 'FORCE_CHANGE_PASSWORD' THEN now() END, now(), now())`,
				subject, id.String()+"@example.com", c.status)
		}
		want := 0
		if c.has {
			want = 1
		}
		_, err := f.ChangeMember(t.Context(), f.a, id, org.System(), func(r org.MemberContext) (org.MemberChange, error) {
			if r.PasswordSupers != want || r.HasPassword != c.has {
				t.Errorf("%s: %v, %d in all", name, r.HasPassword, r.PasswordSupers)
			}
			return org.MemberChange{}, nil
		})
		must.Succeed(t, err)
		_, err = f.ChangeSAMLSettings(t.Context(), admin, saml.ActionOn, func(settings *saml.Settings) error {
			settings.Enabled = true
			return nil
		})
		if c.has != (err == nil) || !c.has && !errors.Is(err, sso.ErrNoPasswordAdmin) {
			t.Errorf("%s, to single sign-on: %v", name, err)
		}
		f.exec(t, `UPDATE organizations SET auth_type = 'cognito' WHERE id = $1`, f.a)
		f.exec(t, `DELETE FROM users WHERE id = $1`, id)
	}
}
