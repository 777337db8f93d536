package api_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
)

// arrive signs in at the identity provider and returns the path and query of the browser's final page.
func (b *browser) arrive(login string) (string, url.Values) {
	b.f.t.Helper()
	posted := b.f.respond(b.authorize("").header.Get("Location"), login)
	return landed(b.f.t, b.post(posted.path, posted.fields))
}

// TestR58_AdministratorAgreesToBeLinked performs the complete flow: identity provider, password, consent, session.
func TestR58_AdministratorAgreesToBeLinked(t *testing.T) {
	t.Parallel()
	f := newSSO(t)
	f.configure()
	b := &browser{f: f}
	path, query := b.arrive("admin")
	if path != "/login/link" || query.Get("code") != "" || query.Get("link") == "" {
		t.Fatalf("landed at %s %v", path, query)
	}
	page := b.get("/v1/oauth2/link?" + query.Encode())
	if page.status != http.StatusOK || string(page.body) != `{"email":"admin@tsumugi.example"}` {
		t.Errorf("the page: %d %s", page.status, page.body)
	}
	if other := (&browser{f: f}).get("/v1/oauth2/link?" +
		query.Encode()); other.problem(t).Code != "sso_state_invalid" {
		t.Errorf("another browser: %d %s", other.status, other.body)
	}
	confirm := func(token, cookie string) response {
		return f.do(call{
			method: "POST", path: "/v1/oauth2/link", token: token,
			header: map[string]string{"Cookie": cookie}, body: map[string]any{
				"organization_id": query.Get("organization_id"), "link": query.Get("link"),
			},
		})
	}
	ended := f.signIn(f.admin)
	get[api.SignOut](f.fixture, http.StatusOK, call{method: "POST", path: "/v1/signout", token: ended.IDToken})
	for name, c := range map[string]struct {
		token, cookie string
		status        int
	}{
		"nobody":               {"", b.cookie, 401},
		"a colleague":          {f.signIn(f.alice).IDToken, b.cookie, 403},
		"another browser":      {f.signIn(f.admin).IDToken, "", 400},
		"without the password": {"sso:" + f.admin.Subject, b.cookie, 403},
		"an ended session":     {ended.IDToken, b.cookie, 401},
	} {
		if resp := confirm(c.token, c.cookie); resp.status != c.status {
			t.Errorf("%s: %d %s", name, resp.status, resp.body)
		}
	}
	var linked api.SSOLinked
	agreed := confirm(f.signIn(f.admin).IDToken, b.cookie)
	if err := json.Unmarshal(agreed.body, &linked); err != nil || agreed.status != http.StatusOK {
		t.Fatalf("%d %s", agreed.status, agreed.body)
	}
	record := tokens(t, b.get("/v1/oauth2/callback?"+url.Values{
		"organization_id": {linked.OrganizationID.String()}, "code": {linked.Code},
	}.Encode()))
	me := get[api.Me](f.fixture, http.StatusOK, call{method: "GET", path: "/v1/me", token: record.IDToken})
	if me.ID != f.admin.ID || me.AuthType != api.FederatedIdp {
		t.Errorf("got %+v", me)
	}
	if again := tokens(t, b.signIn("admin", "")); again.IDToken == "" {
		t.Error("the next time needs consent again")
	}
}

// TestR58_SecondNameIDIsRefused: a second NameID is refused until an administrator unlinks the member, which ends their
// sessions.
func TestR58_SecondNameIDIsRefused(t *testing.T) {
	t.Parallel()
	f := newSSO(t)
	f.configure()
	b := &browser{f: f}
	own := tokens(t, b.signIn("alice", ""))
	if path, query := b.arrive("mallory"); path != "/oauth2/callback" || query.Get("error") != "account_linked" {
		t.Fatalf("landed at %s %v", path, query)
	}
	unlink := call{method: "DELETE", path: "/v1/user/" + f.alice.ID.String() + "/sso-link", token: f.admin.Subject}
	members := get[api.UserList](f.fixture, http.StatusOK, call{
		method: "GET", path: "/v1/user?q=alice",
		token: f.admin.Subject,
	})
	if len(members.Items) != 1 || !members.Items[0].SsoLinked {
		t.Errorf("got %+v", members.Items)
	}
	if resp := f.do(unlink); resp.status != http.StatusNoContent {
		t.Fatalf("%d %s", resp.status, resp.body)
	}
	if resp := f.do(unlink); resp.status != http.StatusConflict {
		t.Errorf("again: %d %s", resp.status, resp.body)
	}
	if p := f.do(call{method: "GET", path: "/v1/me", token: own.IDToken}).problem(t); p.Detail != "jwt expired" {
		t.Errorf("the session goes on: %+v", p)
	}
	audit := get[api.AuditEventList](f.fixture, http.StatusOK,
		call{method: "GET", path: "/v1/audit?action=member.unlink", token: f.admin.Subject})
	if len(audit.Items) != 1 || audit.Items[0].ActorEmail != f.admin.Email || len(audit.Items[0].Details) != 1 {
		t.Errorf("the audit log tells of %+v", audit.Items)
	}
	members = get[api.UserList](f.fixture, http.StatusOK, call{
		method: "GET", path: "/v1/user?q=alice",
		token: f.admin.Subject,
	})
	if members.Items[0].SsoLinked {
		t.Error("still linked")
	}
	tokens(t, b.signIn("alice", ""))
}
