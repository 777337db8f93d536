package saml_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// hold signs in at the identity provider with an assertion that requires consent.
func (f *fixture) hold(nameID, email string) (link string, b begun) {
	f.t.Helper()
	b = f.begin("/home/skill")
	outcome := must.Get(f.post(b, f.forge(b.request.ID, nameID, email, "名前").bytes(f.t)))(f.t)
	if outcome.Link == "" || outcome.Code != "" || outcome.Test != uuid.Nil {
		f.t.Fatalf("%s: got %+v", email, outcome)
	}
	return outcome.Link, b
}

func (f *fixture) byPassword(u identity.Actor, at time.Time) identity.Actor {
	u.AuthType, u.AuthTime = identity.AuthCognito, at.Truncate(time.Second)
	return u
}

// TestR58_AdministratorsAreLinkedWithTheirConsent: an address is not sufficient to sign in as an administrator.
func TestR58_AdministratorsAreLinkedWithTheirConsent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	manager := actor(f.member(f.org, "manager@corp.example", identity.RoleOrganizationAdmin, identity.AuthCognito))
	for _, who := range []identity.Actor{f.admin, manager} {
		link, b := f.hold("n-"+who.Email, who.Email)
		pending, err := f.sso.PendingLink(t.Context(), f.org, link, b.Browser)
		if err != nil || pending.MemberEmail != who.Email || pending.UserID != who.ID {
			t.Fatalf("held %+v, %v", pending, err)
		}
		confirm := func(who identity.Actor, link, browser string) (string, error) {
			return f.sso.Link(t.Context(), who, f.org, link, browser, sso.Origin{RequestID: "r2"})
		}
		now := f.clock.now()
		federated, earlier := f.byPassword(who, now), f.byPassword(who, now.Add(-time.Minute))
		federated.AuthType = identity.AuthFederated
		for name, c := range map[string]struct {
			who           identity.Actor
			link, browser string
			code          fault.Code
		}{
			"somebody else's password": {f.byPassword(actor(f.alice), now), link, b.Browser, fault.Forbidden},
			"no password":              {federated, link, b.Browser, fault.Forbidden},
			"a session from before":    {earlier, link, b.Browser, fault.Forbidden},
			"another browser":          {f.byPassword(who, now), link, f.begin("").Browser, sso.CodeState},
			"another link":             {f.byPassword(who, now), link + "x", b.Browser, sso.CodeState},
		} {
			if _, err := confirm(c.who, c.link, c.browser); fault.CodeOf(err) != c.code {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := value[int](f, `SELECT count(*) FROM federated_identities WHERE user_id = $1`, who.ID); n != 0 {
			t.Fatal("linked without consent")
		}
		code := must.Get(confirm(f.byPassword(who, now), link, b.Browser))(t)
		session, err := f.sso.Exchange(t.Context(), f.org, code, b.Browser)
		if err != nil || session.Next != "/home/skill" {
			t.Fatalf("got %+v, %v", session, err)
		}
		if _, err := confirm(f.byPassword(who, now), link, b.Browser); fault.CodeOf(err) != sso.CodeState {
			t.Errorf("used twice: %v", err)
		}
		if _, err := f.signIn("n-"+who.Email, who.Email, "名前"); err != nil {
			t.Errorf("the next time: %v", err)
		}
		if _, err := f.signIn("another", who.Email, "別人"); fault.CodeOf(err) != sso.CodeLinked {
			t.Errorf("another NameID: %v", err)
		}
		told := value[string](f, `
			SELECT actor_email || ' ' || (details @> '[{"field": "consent", "after": "password"}]')::text
				|| ' ' || request_id
			FROM audit_events WHERE action = 'member.link' AND target_id = $1`, who.ID.String())
		if want := who.Email + " true r2"; told != want {
			t.Errorf("the audit log tells of %q, want %q", told, want)
		}
	}
}

// TestR58_HeldLinksExpireWithTheirBasis: a pending link expires after a time, and ends with changes of the settings or
// the member.
func TestR58_HeldLinksExpireWithTheirBasis(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(f *fixture)
		code   fault.Code
	}{
		"ten minutes": {func(f *fixture) { f.clock.pass(10 * time.Minute) }, sso.CodeState},
		"single sign-on is off": {
			func(f *fixture) { f.exec(`UPDATE organizations SET auth_type = 'cognito'`) },
			sso.CodeState,
		},
		"another provider": {
			func(f *fixture) { f.exec(`UPDATE saml_configs SET entity_id = 'https://other.example'`) },
			sso.CodeState,
		},
		"the member is inactive": {func(f *fixture) {
			f.exec(`UPDATE users SET state = 'inactive' WHERE id = $1`,
				f.admin.ID)
		}, sso.CodeInactive},
		"the address is another member's": {func(f *fixture) {
			f.exec(`UPDATE users SET email = 'former@corp.example' WHERE id = $1`, f.admin.ID)
			f.exec(`UPDATE users SET email = 'admin@corp.example' WHERE id = $1`, f.alice.ID)
		}, sso.CodeNotLinked},
		"linked in another tab": {func(f *fixture) {
			link, b := f.hold("n2", f.admin.Email)
			_, err := f.sso.Link(f.t.Context(), f.byPassword(f.admin, f.clock.now()), f.org, link, b.Browser,
				sso.Origin{})
			must.Succeed(f.t, err)
		}, sso.CodeLinked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			link, b := f.hold("n1", f.admin.Email)
			c.change(f)
			who := f.byPassword(f.admin, f.clock.now())
			if _, err := f.sso.Link(t.Context(), who, f.org, link, b.Browser,
				sso.Origin{}); fault.CodeOf(err) != c.code {
				t.Errorf("got %v", err)
			}
		})
	}
}
