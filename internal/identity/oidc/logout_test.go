package oidc_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oidc/oidctest"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestBackChannelLogout(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sessions := make(map[string]sso.Session)
	for device, sid := range map[string]string{"pc": "s1", "phone": "s2"} {
		f.idp.Token = oidctest.Claims{"sid": sid}
		session := must.Get(f.signIn("alice"))(t)
		sessions[device] = session
	}
	f.idp.Token = nil
	other := must.Get(f.signIn("bob"))(t)
	alive := func(s sso.Session) bool {
		_, err := f.sso.Refresh(t.Context(), clientID, s.RefreshToken)
		return err == nil
	}
	logout := func(token string) error { return f.oidc.Logout(t.Context(), f.org, token) }
	for name, change := range map[string]oidctest.Claims{
		"nobody":       {},
		"an id token":  {"sub": "alice", "nonce": "x"},
		"no event":     {"sub": "alice", "events": nil},
		"no jti":       {"sub": "alice", "jti": nil},
		"no exp":       {"sub": "alice", "exp": nil},
		"no iat":       {"sub": "alice", "iat": nil},
		"expired":      {"sub": "alice", "exp": time.Now().Add(-time.Minute).Unix()},
		"from later":   {"sub": "alice", "iat": time.Now().Add(time.Hour).Unix()},
		"other client": {"sub": "alice", "aud": "another"},
		"other issuer": {"sub": "alice", "iss": "https://other.example"},
		"over 64 KiB":  {"sub": "alice", "more": strings.Repeat("x", 64<<10)},
		"empty names":  {"sub": "", "sid": ""},
	} {
		if err := logout(f.idp.LogoutToken(t, change)); fault.CodeOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := logout("x"); fault.CodeOf(err) != fault.Invalid {
		t.Errorf("no token: %v", err)
	}
	f.idp.Sign = func(payload []byte) string { return oidctest.SignWith(t, jose.RS256, oidctest.New(t).Key(), payload) }
	if err := logout(f.idp.LogoutToken(t, oidctest.Claims{"sub": "alice"})); fault.CodeOf(err) != fault.Invalid {
		t.Errorf("signed by another provider: %v", err)
	}
	f.idp.Sign = nil
	if !alive(sessions["pc"]) || !alive(sessions["phone"]) {
		t.Fatal("a refused token has ended a session")
	}
	// A code that was not exchanged yet.
	f.idp.Token = oidctest.Claims{"sid": "s1"}
	start := f.begin()
	outcome := must.Get(f.answer(start.Browser, f.idp.Authorize(t, start.URL, "alice")))(t)
	must.Succeed(t, logout(f.idp.LogoutToken(t, oidctest.Claims{"sid": "s1", "sub": "alice"})))
	if alive(sessions["pc"]) || !alive(sessions["phone"]) || !alive(other) {
		t.Error("a logout of one session ended others, or not that one")
	}
	if _, err := f.sso.Exchange(t.Context(), f.org, outcome.Code, start.Browser); fault.CodeOf(err) != sso.CodeState {
		t.Errorf("a code of the ended session: %v", err)
	}
	// A code that is being exchanged.
	f.idp.Token = oidctest.Claims{"sid": "s3"}
	f.beforeGrant = func() {
		must.Succeed(t, logout(f.idp.LogoutToken(t, oidctest.Claims{"sid": "s3", "sub": "alice"})))
	}
	if session, err := f.signIn("alice"); fault.CodeOf(err) != sso.CodeState || alive(session) {
		t.Errorf("a session that ended while it began: %v", err)
	}
	all := f.idp.LogoutToken(t, oidctest.Claims{"sub": "alice"})
	must.Succeed(t, logout(all))
	if alive(sessions["phone"]) || !alive(other) {
		t.Error("a logout of a person ended the sessions of others, or not theirs")
	}
	f.idp.Token = nil
	again := must.Get(f.signIn("alice"))(t)
	if err := logout(all); fault.CodeOf(err) != fault.Invalid || !alive(again) {
		t.Errorf("the logout token again: %v", err)
	}
}

// TestLogoutTokensOfStrangersCauseFewRequests: tokens with unknown keys do not make the server read the provider's keys
// each time, and a new key of the provider is accepted after repeatTime.
func TestLogoutTokensOfStrangersCauseFewRequests(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	session := must.Get(f.signIn("alice"))(t)
	logout := func() error {
		return f.oidc.Logout(t.Context(), f.org, f.idp.LogoutToken(t, oidctest.Claims{"sub": "alice"}))
	}
	stranger := oidctest.New(t).Key()
	f.idp.Sign = func(payload []byte) string { return oidctest.SignWith(t, jose.RS256, stranger, payload) }
	before := f.idp.Requests.Load()
	for range 20 {
		if err := logout(); fault.CodeOf(err) != fault.Invalid {
			t.Errorf("%v", err)
		}
	}
	// Two in each period. The calls may take more than one.
	if n := f.idp.Requests.Load() - before; n > 8 {
		t.Errorf("%d requests", n)
	}
	f.idp.Sign = nil
	f.idp.Rotate(t)
	f.clock.pass(10 * time.Second)
	must.Succeed(t, logout())
	if _, err := f.sso.Refresh(t.Context(), clientID, session.RefreshToken); err == nil {
		t.Error("the session has not ended")
	}
}

// TestSessionsEndDuringTheExchange: no session begins if the session at the provider, or all sessions of the member, end
// while the provider's code is exchanged.
func TestSessionsEndDuringTheExchange(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	members := org.NewService(f.db, nil, nil, slog.New(slog.DiscardHandler))
	f.idp.Token = oidctest.Claims{"sid": "s1"}
	must.Get(f.signIn("alice"))(t)
	logout := func(claims oidctest.Claims) func() error {
		return func() error { return f.oidc.Logout(t.Context(), f.org, f.idp.LogoutToken(t, claims)) }
	}
	for _, c := range []struct {
		meanwhile func() error
		want      fault.Code
	}{
		{logout(oidctest.Claims{"sub": "alice", "sid": "s1"}), sso.CodeState},
		{logout(oidctest.Claims{"sub": "alice"}), sso.CodeState},
		{logout(oidctest.Claims{"sid": "s1"}), sso.CodeState},
		{func() error { return members.EndMemberSessions(t.Context(), f.admin, f.alice.ID) }, sso.CodeState},
		{logout(oidctest.Claims{"sub": "alice", "sid": "s2"}), ""},
		{logout(oidctest.Claims{"sub": "bob"}), ""},
	} {
		f.idp.Sign = func(payload []byte) string { // Of the id token.
			f.idp.Sign = nil
			if err := c.meanwhile(); err != nil {
				t.Error(err)
			}
			return oidctest.SignWith(t, jose.RS256, f.idp.Key(), payload)
		}
		if _, err := f.signIn("alice"); fault.CodeOf(err) != c.want {
			t.Errorf("signed in with %q, want %q", fault.CodeOf(err), c.want)
		}
	}
}

// TestPendingSignInsEndWithSessions: a link that waits for consent ends with a logout at the provider, and codes and links
// end with the sessions of their member.
func TestPendingSignInsEndWithSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	members := org.NewService(f.db, nil, nil, slog.New(slog.DiscardHandler))
	hold := func(subject, sid string) (sso.Outcome, string) {
		t.Helper()
		f.idp.Token = oidctest.Claims{"sid": sid}
		start := f.begin()
		outcome := must.Get(f.answer(start.Browser, f.idp.Authorize(t, start.URL, subject)))(t)
		return outcome, start.Browser
	}
	link := func(outcome sso.Outcome, browser string) error {
		who := f.admin
		who.AuthType, who.AuthTime = identity.AuthCognito, time.Now().Add(time.Second)
		_, err := f.sso.Link(t.Context(), who, f.org, outcome.Link, browser, sso.Origin{})
		return err
	}
	exchange := func(outcome sso.Outcome, browser string) error {
		_, err := f.sso.Exchange(t.Context(), f.org, outcome.Code, browser)
		return err
	}
	ended := func(what string, err error) {
		t.Helper()
		if fault.CodeOf(err) != sso.CodeState {
			t.Errorf("%s: %v", what, err)
		}
	}
	code, codeBrowser := hold("alice", "s0")
	must.Succeed(t, members.EndMemberSessions(t.Context(), f.admin, f.alice.ID))
	ended("a code after the sessions of its member", exchange(code, codeBrowser))

	boss := f.member("boss@corp.example", identity.RoleOrganizationSuperAdmin)
	by := f.admin
	by.ID = boss.ID
	pending, browser := hold("admin", "s0")
	must.Succeed(t, members.EndMemberSessions(t.Context(), by, f.admin.ID))
	ended("a link after the sessions of its member", link(pending, browser))

	of, ofBrowser := hold("admin", "s1")
	another, anotherBrowser := hold("admin", "s2")
	must.Succeed(t,
		f.oidc.Logout(t.Context(), f.org, f.idp.LogoutToken(t, oidctest.Claims{"sid": "s1", "sub": "admin"})))
	ended("a link of the ended session", link(of, ofBrowser))
	must.Succeed(t, link(another, anotherBrowser))
	code, codeBrowser = hold("admin", "s3")
	must.Succeed(t, members.UnlinkMember(t.Context(), by, f.admin.ID))
	ended("a code after unlinking", exchange(code, codeBrowser))
}
