package api_test

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

// TestR45_PeopleEndTheirSessions: people end one session or all others, and administrators end a member's. Open streams
// of these sessions end.
func TestR45_PeopleEndTheirSessions(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{pool: true})
	f.account(&f.alice)
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.bob.ID)
	here, there, elsewhere := f.signIn(f.alice), f.signIn(f.alice), f.signIn(f.alice)
	me := func(s session) response {
		return f.do(call{
			method: "GET", path: "/v1/me", token: s.IDToken,
			header: map[string]string{"User-Agent": firefox},
		})
	}
	for _, s := range []session{elsewhere, there, here} {
		if resp := me(s); resp.status != http.StatusOK {
			t.Fatalf("%d %s", resp.status, resp.body)
		}
	}
	list := func() []api.Session {
		return get[api.SessionList](f, http.StatusOK, call{
			method: "GET", path: "/v1/session",
			token: here.IDToken,
		}).Items
	}
	sessions := list()
	if len(sessions) != 3 || !sessions[0].Current || sessions[1].Current || sessions[0].Device != "Firefox（Linux）" ||
		sessions[0].Address != "127.0.0.1" || sessions[0].AuthType != api.Cognito ||
		!sessions[0].ExpiresAt.After(sessions[0].BeganAt) {
		t.Fatalf("got %+v", sessions)
	}
	socket := f.join(there.IDToken)
	end := func(path, token string, want int) {
		t.Helper()
		if resp := f.do(call{method: "DELETE", path: path, token: token}); resp.status != want {
			t.Errorf("DELETE %s: %d %s", path, resp.status, resp.body)
		}
	}
	ended := func(what string, s session) {
		t.Helper()
		if resp := me(s); resp.status != http.StatusUnauthorized || resp.problem(t).Detail != "jwt expired" {
			t.Errorf("%s: %d %s", what, resp.status, resp.body)
		}
		if f.refresh(s).status == http.StatusOK {
			t.Errorf("%s: refreshed", what)
		}
	}
	end("/v1/session/"+sessions[1].ID.String(), f.bob.Subject, http.StatusNotFound) // A session of another person.
	end("/v1/session/"+sessions[1].ID.String(), here.IDToken, http.StatusNoContent)
	ended("the one that was ended", there)
	if end := socket.closed(); end.Code != 4401 {
		t.Errorf("the socket: %+v", end)
	}
	end("/v1/session/"+sessions[1].ID.String(), here.IDToken, http.StatusNotFound)
	end("/v1/session", here.IDToken, http.StatusNoContent)
	ended("all others", elsewhere)
	if left := list(); len(left) != 1 || !left[0].Current {
		t.Errorf("left %+v", left)
	}
	end("/v1/user/"+f.alice.ID.String()+"/session", f.alice.Subject, http.StatusForbidden)
	// This route is not for the actor's own sessions.
	end("/v1/user/"+f.bob.ID.String()+"/session", f.bob.Subject, http.StatusForbidden)
	end("/v1/user/"+f.alice.ID.String()+"/session", f.bob.Subject, http.StatusNoContent)
	ended("by an administrator", here)
	if resp := me(f.signIn(f.alice)); resp.status != http.StatusOK {
		t.Errorf("signed in again: %d %s", resp.status, resp.body)
	}
}

func TestSessionLimitsAreSuperAdmins(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", f.alice.ID)
	limits := func(idle, most int) map[string]any {
		return map[string]any{
			"single_sign_on": map[string]any{"idle_minutes": idle, "max_minutes": most},
			"password":       map[string]any{"idle_minutes": 43200, "max_minutes": 43200},
			"connection":     map[string]any{"idle_minutes": 1440},
		}
	}
	for _, c := range []struct {
		idle, most int
		field      string
	}{
		{4, 60, "single_sign_on.idle_minutes"},
		{61, 60, "single_sign_on.idle_minutes"},
		{30, 59, "single_sign_on.max_minutes"},
		{30, 43201, "single_sign_on.max_minutes"},
	} {
		resp := f.do(call{
			method: "PUT", path: "/v1/session-limits", token: f.alice.Subject,
			body: limits(c.idle, c.most),
		})
		if p := resp.problem(t); resp.status != http.StatusBadRequest || len(p.Errors) != 1 ||
			p.Errors[0].Field != c.field {
			t.Errorf("%d/%d: %d %s", c.idle, c.most, resp.status, resp.body)
		}
	}
	for _, connection := range []any{
		map[string]any{"idle_minutes": 4}, map[string]any{"idle_minutes": 43201},
	} {
		resp := f.do(call{
			method: "PUT", path: "/v1/session-limits", token: f.alice.Subject,
			body: changed(limits(15, 60), map[string]any{"connection": connection}),
		})
		if p := resp.problem(t); resp.status != http.StatusBadRequest || len(p.Errors) != 1 ||
			p.Errors[0].Field != "connection.idle_minutes" {
			t.Errorf("%v: %d %s", connection, resp.status, resp.body)
		}
	}
	get[api.SessionLimits](f, http.StatusOK, call{
		method: "PUT", path: "/v1/session-limits", token: f.alice.Subject,
		body: limits(15, 60),
	})
	get[api.SessionLimits](f, http.StatusOK, call{
		method: "PUT", path: "/v1/session-limits", token: f.alice.Subject,
		body: map[string]any{"single_sign_on": map[string]any{"idle_minutes": 20}},
	})
	got := get[api.SessionLimits](f, http.StatusOK, call{
		method: "GET", path: "/v1/session-limits",
		token: f.alice.Subject,
	})
	if got.SingleSignOn != (api.SessionLimit{IdleMinutes: 20, MaxMinutes: 60}) || got.Password.MaxMinutes != 43200 ||
		got.Connection.IdleMinutes != 1440 {
		t.Errorf("got %+v", got)
	}
}

// TestAddressRanges: an organization restricts the addresses of its members. Calls and
// sockets from other addresses are refused and recorded in the audit log. An actor's own address must be allowed.
func TestAddressRanges(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{api: func(cfg *api.Config) {
		cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	}})
	f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", f.alice.ID)
	from := func(address, method, path, token string, body any) response {
		return f.do(call{
			method: method, path: path, token: token, body: body,
			header: map[string]string{"X-Forwarded-For": address},
		})
	}
	set := func(ranges ...string) response {
		return from("203.0.113.7", "PUT", "/v1/address-range", f.alice.Subject, map[string]any{"ranges": ranges})
	}
	for _, wrong := range [][]string{
		{"198.51.100.0/24"},
		{"office"},
		{"203.0.113.0/33"},
		{"224.0.0.0/4", "203.0.113.7"},
		{"::ffff:203.0.113.0/120"},
		{""},
		{"fe80::1%eth0", "203.0.113.7"},
		slices.Repeat([]string{"203.0.113.7"}, 101),
	} {
		if resp := set(wrong...); resp.status != http.StatusBadRequest || resp.problem(t).Errors[0].Field != "ranges" {
			t.Errorf("%v: %d %s", wrong[0], resp.status, resp.body)
		}
	}
	open := f.join(f.bob.Subject) // From 127.0.0.1.
	resp := set(" 203.0.113.9/24", "2001:db8::1", "203.0.113.0/24")
	if got := string(resp.body); resp.status != http.StatusOK ||
		!strings.Contains(got, `"ranges":["203.0.113.0/24","2001:db8::1/128"]`) ||
		!strings.Contains(got, `"address":"203.0.113.7"`) {
		t.Fatalf("%d %s", resp.status, got)
	}
	open.closed()
	for address, status := range map[string]int{
		"203.0.113.200": http.StatusOK, "2001:db8::1": http.StatusOK, "::ffff:203.0.113.1": http.StatusOK,
		"198.51.100.1": http.StatusForbidden, "2001:db8::2": http.StatusForbidden, "": http.StatusForbidden,
	} {
		resp := from(address, "GET", "/v1/me", f.bob.Subject, nil)
		if resp.status != status || status == http.StatusForbidden && resp.problem(t).Code != "address_refused" {
			t.Errorf("%q: %d %s", address, resp.status, resp.body)
		}
	}
	again := dialLive(t, f.url, nil)
	again.auth(f.bob.Subject)
	if end := again.closed(); end.Code != websocket.StatusPolicyViolation {
		t.Errorf("a socket from outside: %+v", end)
	}
	if resp := from("198.51.100.1", "GET", "/v1/me", f.stranger.Subject, nil); resp.status != http.StatusOK {
		t.Errorf("another organization: %d %s", resp.status, resp.body)
	}
	from("198.51.100.1", "GET", "/v1/thread", f.bob.Subject, nil)
	log := string(from("203.0.113.7", "GET", "/v1/audit", f.alice.Subject, nil).body)
	for _, want := range []string{
		`"action":"address_ranges.edit"`, `"after":"203.0.113.0/24 2001:db8::1/128"`, `"action":"address.refuse"`, `"times":2`,
	} {
		if !strings.Contains(log, want) {
			t.Errorf("%s is not in the audit log: %s", want, log)
		}
	}
}

// TestAddressRangesByUse: the app, personal access tokens and other connections can be restricted to different networks.
func TestAddressRangesByUse(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{api: func(cfg *api.Config) {
		cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	}})
	f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", f.alice.ID)
	const office, elsewhere, factory = "203.0.113.7", "198.51.100.1", "192.0.2.1"
	tokens := map[string]string{
		"app": f.bob.Subject, "api": f.personalToken(f.bob.Subject, "chat").Token, "extension": f.connect(f.bob.Subject).AccessToken,
	}
	set := func(body map[string]any) response {
		return f.do(call{
			method: "PUT", path: "/v1/address-range", token: f.alice.Subject, body: body,
			header: map[string]string{"X-Forwarded-For": office},
		})
	}
	for _, test := range []struct {
		body map[string]any
		open map[string][]string // The networks that each use is possible from.
	}{
		{
			map[string]any{"ranges": []string{office}},
			map[string][]string{"app": {office}, "api": {office}, "extension": {office}},
		},
		{
			map[string]any{"ranges": []string{office}, "api_ranges": []string{factory}, "connection_ranges": []string{}},
			map[string][]string{"app": {office}, "api": {factory}, "extension": {office, elsewhere, factory}},
		},
		{
			map[string]any{"connection_ranges": []string{office}},
			map[string][]string{"app": {office}, "api": {factory}, "extension": {office}},
		},
		{
			map[string]any{"ranges": []string{}, "api_ranges": nil, "connection_ranges": []string{factory, office}},
			map[string][]string{"app": {office, elsewhere, factory}, "api": {office, elsewhere, factory}, "extension": {office, factory}},
		},
	} {
		resp := set(test.body)
		if resp.status != http.StatusOK {
			t.Fatalf("%v: %d %s", test.body, resp.status, resp.body)
		}
		for use, token := range tokens {
			for _, address := range []string{office, elsewhere, factory} {
				resp := f.do(call{
					method: "GET", path: "/v1/me", token: token, header: map[string]string{"X-Forwarded-For": address},
				})
				if open := slices.Contains(test.open[use], address); open != (resp.status == http.StatusOK) ||
					!open && resp.problem(t).Code != "address_refused" {
					t.Errorf("%v: %s from %s: %d %s", test.body, use, address, resp.status, resp.body)
				}
				if use == "app" {
					continue // Sessions of the app cannot call the MCP server.
				}
				resp = f.do(call{
					method: "POST", path: "/mcp", token: token, header: map[string]string{
						"X-Forwarded-For": address, "Content-Type": "application/json",
						"Accept": "application/json, text/event-stream",
					},
					body: `{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}`,
				})
				if open := slices.Contains(test.open[use], address); open != (resp.status == http.StatusOK) ||
					!open && resp.problem(t).Code != "address_refused" {
					t.Errorf("%v: MCP with %s from %s: %d %s", test.body, use, address, resp.status, resp.body)
				}
			}
		}
	}
	for field, wrong := range map[string]map[string]any{
		"ranges":            {"ranges": []string{factory}, "api_ranges": []string{office}},
		"api_ranges":        {"ranges": []string{}, "api_ranges": []string{"factory"}},
		"connection_ranges": {"ranges": []string{}, "connection_ranges": []string{"::/129"}},
	} {
		if resp := set(wrong); resp.status != http.StatusBadRequest || resp.problem(t).Errors[0].Field != field {
			t.Errorf("%v: %d %s", wrong, resp.status, resp.body)
		}
	}

	open := f.join(f.bob.Subject) // A change closes all sockets; they connect again from where they may.
	if resp := set(map[string]any{"ranges": []string{}, "connection_ranges": []string{office}}); resp.status != http.StatusOK {
		t.Fatalf("%d %s", resp.status, resp.body)
	}
	open.closed()
	log := string(f.do(call{method: "GET", path: "/v1/audit", token: f.alice.Subject}).body)
	if want := `{"after":"192.0.2.1/32","before":"app","field":"api_address_ranges"}`; !strings.Contains(log, want) {
		t.Errorf("%s is not in the audit log: %s", want, log)
	}
}

func TestSecurityNeedsARecentSignIn(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{pool: true})
	f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", f.alice.ID)
	f.account(&f.alice)
	old := f.signIn(f.alice)
	f.exec("UPDATE pool_grants SET auth_time = auth_time - interval '16 minutes' WHERE sub = $1", f.alice.Subject)
	var renewed struct{ AuthenticationResult session }
	must.Succeed(t, json.Unmarshal(f.refresh(old).body, &renewed))
	bob := "/v1/user/" + f.bob.ID.String()
	call := func(token, method, path string, body any) response {
		return f.do(call{method: method, path: path, token: token, body: body})
	}
	inviting := func(roles ...string) any {
		users := make([]map[string]any, len(roles))
		for i, role := range roles {
			users[i] = map[string]any{"email": role + "@example.com", "name": "紡 花子", "role": role}
		}
		return map[string]any{"users": users}
	}
	for _, c := range []struct {
		method, path string
		body         any
	}{
		{"PUT", "/v1/saml-config", map[string]any{"name_attribute": "cn"}},
		{"PUT", "/v1/saml-config/on", nil},
		{"PUT", "/v1/oidc-config", map[string]any{"client_id": "x"}},
		{"PUT", "/v1/factor-policy", map[string]any{"policy": "all"}},
		{"PUT", "/v1/address-range", map[string]any{"ranges": []string{}}},
		{"PUT", "/v1/session-limits", map[string]any{}},
		{"PUT", "/v1/connection-policy", map[string]any{}},
		{"POST", "/v1/connection/token", map[string]any{}},
		{"POST", "/v1/oauth2/grant", authorization()},
		{"PUT", "/v1/oauth2/device", map[string]any{"user_code": "BCDF-GHJK", "allow": true}},
		{"POST", "/v1/scim-config/token", map[string]any{"name": "Okta"}},
		{"DELETE", "/v1/scim-config/token/" + newID(), nil},
		{"DELETE", bob + "/factor", nil},
		{"PUT", bob, map[string]any{"role": "organization-admin"}},
		{"PUT", bob, map[string]any{"state": "active"}},
		{"POST", "/v1/user/invite", inviting("organization-super-admin")},
		{"POST", "/v1/user/invite", inviting("general-user", "organization-admin")},
		{"GET", "/v1/audit/csv", nil},
		{"GET", "/v1/user/csv", nil},
		{"GET", "/v1/contract/usage/csv", nil},
	} {
		resp := call(renewed.AuthenticationResult.IDToken, c.method, c.path, c.body)
		if resp.status != http.StatusForbidden || resp.problem(t).Code != "recent_sign_in_required" {
			t.Errorf("%s %s: %d %s", c.method, c.path, resp.status, resp.body)
		}
	}
	recent := f.signIn(f.alice).IDToken
	denied := changed(authorization(), map[string]any{"allow": false})
	for _, c := range []struct {
		token, method, path string
		body                any
	}{
		// Other changes, and reads, need no recent sign-in.
		{renewed.AuthenticationResult.IDToken, "PUT", bob, map[string]any{"name": "紡 次郎"}},
		{renewed.AuthenticationResult.IDToken, "PUT", bob, map[string]any{"state": "inactive"}},
		{renewed.AuthenticationResult.IDToken, "POST", "/v1/user/invite", inviting("general-user")},
		{renewed.AuthenticationResult.IDToken, "POST", "/v1/oauth2/grant", denied},
		{recent, "POST", "/v1/oauth2/grant", authorization()},
		{recent, "PUT", bob, map[string]any{"role": "organization-admin", "state": "active"}},
		{recent, "POST", "/v1/user/invite", inviting("organization-super-admin")},
	} {
		if resp := call(c.token, c.method, c.path, c.body); resp.status != http.StatusOK {
			t.Errorf("%s %s %v: %d %s", c.method, c.path, c.body, resp.status, resp.body)
		}
	}
}

// TestSecurityNeedsARecentAuthentication: a new session does not count as a recent sign-in if the identity provider did
// not ask the person to authenticate again, except for a connection.
func TestSecurityNeedsARecentAuthentication(t *testing.T) {
	t.Parallel()
	f := newSSO(t)
	f.configure()
	tokens(t, (&browser{f: f}).signIn("dora", ""))
	f.exec("UPDATE users SET role = 'organization-super-admin' WHERE email = 'dora@tsumugi.example'")
	for age, want := range map[time.Duration]int{16 * time.Minute: http.StatusForbidden, 14 * time.Minute: http.StatusOK} {
		f.idp.SetSessionAge(age)
		token := tokens(t, (&browser{f: f}).signIn("dora", "")).IDToken
		f.allow(token, authorization())
		resp := f.do(call{method: "PUT", path: "/v1/address-range", token: token, body: map[string]any{"ranges": []string{}}})
		if resp.status != want {
			t.Errorf("authenticated %s ago: %d %s", age, resp.status, resp.body)
		}
		if want != http.StatusOK {
			if got := resp.problem(t); got.Code != "recent_sign_in_required" || !strings.Contains(got.Detail, "IDプロバイダー") {
				t.Errorf("authenticated %s ago: %+v", age, got)
			}
		}
	}
}
