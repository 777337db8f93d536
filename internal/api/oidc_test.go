package api_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oidc/oidctest"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestSignInByOpenIDConnect uses the calls of the screens, of the browser and of the provider.
func TestSignInByOpenIDConnect(t *testing.T) {
	t.Parallel()
	idp := oidctest.New(t)
	model := llmtest.NewLive()
	f := &sso{fixture: newFixtureWith(t, model, settings{pool: true, providers: idp.Client().Transport})}
	f.admin = f.member(f.alice.OrganizationID, "admin@tsumugi.example")
	f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", f.admin.ID)
	f.account(&f.admin)
	f.account(&f.alice)
	put := func(status int, path string, body any) api.OIDCConfig {
		t.Helper()
		return get[api.OIDCConfig](f.fixture, status, call{method: "PUT", path: path, token: f.admin.Subject, body: body})
	}
	initial := get[api.OIDCConfig](f.fixture, http.StatusOK, call{
		method: "GET", path: "/v1/oidc-config", token: f.admin.Subject,
	})
	callback := "/v1/oidc/" + f.alice.OrganizationID.String() + "/callback"
	if initial.RedirectURL != issuer+callback || initial.EmailClaim != "email" || len(initial.Scopes) != 3 ||
		initial.EmailDomains[0] != "tsumugi.example" {
		t.Errorf("initially %+v", initial)
	}
	config := put(http.StatusOK, "/v1/oidc-config", map[string]any{
		"issuer": idp.URL, "client_id": oidctest.ClientID, "client_secret": oidctest.ClientSecret, "groups_claim": "groups",
	})
	if !config.HasClientSecret || config.Issuer != idp.URL || config.Enabled {
		t.Errorf("got %+v", config)
	}
	if resp := f.do(call{
		method: "GET", path: "/v1/oidc-config", token: f.admin.Subject,
	}); strings.Contains(string(resp.body), oidctest.ClientSecret) {
		t.Errorf("the secret is shown: %s", resp.body)
	}
	test := get[api.OIDCTest](f.fixture, http.StatusOK, call{
		method: "POST", path: "/v1/oidc-config/test", token: f.admin.Subject,
	})
	if len(test.Checks) != 3 || !test.Checks[2].Ok {
		t.Errorf("got %+v", test)
	}
	if on := put(http.StatusOK, "/v1/oidc-config/on", nil); !on.Enabled {
		t.Errorf("got %+v", on)
	}

	idp.Token = oidctest.Claims{"email": "alice@tsumugi.example", "groups": []string{"営業部"}}
	b := &browser{f: f}
	answer := func(address string) (string, url.Values) {
		t.Helper()
		return landed(t, b.get(callback+"?"+idp.Authorize(t, address, "a1").Encode()))
	}
	_, query := answer(b.authorize("/home/thread?id=1").header.Get("Location"))
	record := tokens(t, b.get("/v1/oauth2/callback?"+query.Encode()))
	if record.AuthType != api.FederatedIdp || record.Next != "/home/thread?id=1" {
		t.Errorf("got %+v", record)
	}
	me := get[api.Me](f.fixture, http.StatusOK, call{method: "GET", path: "/v1/me", token: record.IDToken})
	if me.ID != f.alice.ID {
		t.Errorf("got %+v", me)
	}
	groups := get[api.GroupList](f.fixture, http.StatusOK, call{method: "GET", path: "/v1/group", token: f.admin.Subject})
	if len(groups.Items) != 1 || groups.Items[0].Name != "営業部" || groups.Items[0].Source != api.Oidc ||
		groups.Items[0].MemberCount != 1 {
		t.Fatalf("got %+v", groups)
	}
	if resp := f.do(call{
		method: "PUT", path: "/v1/group/" + groups.Items[0].ID.String() + "/member", token: f.admin.Subject,
		body: map[string]any{"add": []string{f.admin.ID.String()}},
	}); resp.status != http.StatusConflict {
		t.Errorf("an administrator changes a group of the provider: %d %s", resp.status, resp.body)
	}

	// The provider ends the session, with its stream and its socket.
	socket := f.join(record.IDToken)
	ask := f.ask(f.thread(record.IDToken), "糸とは")
	ask.token = record.IDToken
	stream := f.open(ask)
	logout := func(token string) response {
		t.Helper()
		return f.do(call{
			method: "POST", path: "/v1/oidc/" + f.alice.OrganizationID.String() + "/logout",
			body: url.Values{"logout_token": {token}}.Encode(), header: map[string]string{
				"Content-Type": "application/x-www-form-urlencoded",
			},
		})
	}
	for name, token := range map[string]string{
		"an invalid token": "x", "a large token": idp.LogoutToken(t, oidctest.Claims{"sub": strings.Repeat("x", 64<<10)}),
	} {
		if resp := logout(token); resp.status != http.StatusBadRequest || resp.header.Get("Cache-Control") != "no-store" ||
			!strings.Contains(string(resp.body), `"error":"invalid_request"`) ||
			!strings.Contains(string(resp.body), `"error_description":"ログアウトトークン`) {
			t.Errorf("%s: %d %v %s", name, resp.status, resp.header, resp.body)
		}
	}
	if resp := logout(idp.LogoutToken(t, oidctest.Claims{"sub": "a1"})); resp.status != http.StatusOK {
		t.Errorf("got %d %s", resp.status, resp.body)
	}
	if end := socket.closed(); end.Code != 4401 {
		t.Errorf("the socket: %+v", end)
	}
	stream.cut(t)
	if resp := f.do(call{method: "GET", path: "/v1/me", token: record.IDToken}); resp.status != http.StatusUnauthorized {
		t.Errorf("the next call: %d", resp.status)
	}

	// The provider is not reachable: the page shows the reason, and super-admins sign in with their passwords.
	start := b.authorize("").header.Get("Location")
	idp.Close()
	for _, landing := range []func() (string, url.Values){
		func() (string, url.Values) { return landed(t, b.authorize("")) },
		func() (string, url.Values) { return answer(start) },
	} {
		path, query := landing()
		if path != "/oauth2/callback" || query.Get("error") != "sso_unavailable" ||
			query.Get("organization_id") != f.alice.OrganizationID.String() {
			t.Errorf("got %s %v", path, query)
		}
	}
	if p := f.do(call{
		method: "PUT", path: "/v1/oidc-config", token: f.admin.Subject, body: map[string]any{
			"issuer":        "https://10.0.0.1",
			"client_secret": "x",
		},
	}).problem(t); len(p.Errors) != 1 || !strings.Contains(p.Errors[0].Message, "TSUMUGI_IDENTITY_HOSTS") {
		t.Errorf("got %+v", p)
	}
	get[api.Me](f.fixture, http.StatusOK, call{
		method: "GET", path: "/v1/me", token: f.signIn(f.admin).IDToken,
	})
}

// TestMixUp: an authorization code of one organization's provider is not sent to the token endpoint of another
// organization's provider (the mix-up attack of RFC 9700, section 4.4).
func TestMixUp(t *testing.T) {
	t.Parallel()
	honest, hostile := oidctest.New(t), oidctest.New(t)
	stolen := make(chan string, 1)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stolen <- r.FormValue("code")
		w.WriteHeader(http.StatusBadRequest)
	}))
	t.Cleanup(endpoint.Close)
	hostile.Discovery = oidctest.Claims{"token_endpoint": endpoint.URL}
	f := &sso{fixture: newFixtureWith(t, llmtest.NewLive(), settings{pool: true, providers: honest.Client().Transport})}
	other := f.organization("乙", "other.example")
	for organizationID, idp := range map[uuid.UUID]*oidctest.Provider{f.alice.OrganizationID: honest, other: hostile} {
		admin := f.member(organizationID, organizationID.String()+"@example.com")
		f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", admin.ID)
		f.account(&admin)
		for _, c := range []call{
			{path: "/v1/oidc-config", body: map[string]any{"issuer": idp.URL, "client_id": oidctest.ClientID}},
			{path: "/v1/oidc-config/on"},
		} {
			c.method, c.token = "PUT", admin.Subject
			get[api.OIDCConfig](f.fixture, http.StatusOK, c)
		}
	}
	attacker, victim := &browser{f: f}, &browser{f: f}
	request := must.Get(url.Parse(attacker.authorize("").header.Get("Location")))(t)
	lured := must.Get(url.Parse(victim.get("/v1/oauth2/authorize?organization_id=" + other.String()).header.Get("Location")))(t)
	query := request.Query()
	query.Set("state", lured.Query().Get("state"))
	request.RawQuery = query.Encode()
	answer := honest.Authorize(t, request.String(), "a1")
	answer.Del("iss") // Many providers do not send it.
	path := strings.TrimPrefix(query.Get("redirect_uri"), issuer)
	if _, landing := landed(t, victim.get(path+"?"+answer.Encode())); landing.Get("error") != "sso_state_invalid" {
		t.Errorf("got %v", landing)
	}
	select {
	case code := <-stolen:
		t.Errorf("the code %s was sent to the other provider", code)
	default:
	}
}
