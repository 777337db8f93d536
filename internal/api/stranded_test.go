package api_test

import (
	"net/http"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
)

// TestPasswordsForMembersOfSingleSignOn: when single sign-on is disabled, its members are invited to set a password and
// remain the same members, also after it is enabled again.
func TestPasswordsForMembersOfSingleSignOn(t *testing.T) {
	t.Parallel()
	f := newSSO(t)
	f.configure()
	const email = "dora@tsumugi.example"
	whoIs := func(token string) api.Me {
		t.Helper()
		return get[api.Me](f.fixture, http.StatusOK, call{method: "GET", path: "/v1/me", token: token})
	}
	federated := tokens(t, (&browser{f: f}).signIn("dora", "")).IDToken
	dora, thread := whoIs(federated), f.thread(federated)

	resend := call{
		method: "POST", path: "/v1/user/invite/resend", token: f.admin.Subject,
		body: map[string]any{"user_id": dora.ID},
	}
	if resp := f.do(resend); resp.status != http.StatusConflict {
		t.Errorf("while single sign-on is on: %d %s", resp.status, resp.body)
	}
	if off := get[api.SAMLConfig](f.fixture, http.StatusOK, call{
		method: "PUT", path: "/v1/saml-config/off",
		token: f.admin.Subject,
	}); off.Enabled {
		t.Fatalf("got %+v", off)
	}
	resend.token = f.alice.Subject
	if resp := f.do(resend); resp.status != http.StatusForbidden {
		t.Errorf("by a general user: %d %s", resp.status, resp.body)
	}
	resend.token = f.admin.Subject
	for range 2 { // The second password is valid.
		if resp := f.do(resend); resp.status != http.StatusNoContent {
			t.Fatalf("got %d %s", resp.status, resp.body)
		}
	}
	if resp := f.do(call{method: "GET", path: "/v1/me", token: federated}); resp.status != http.StatusUnauthorized {
		t.Errorf("the session before: %d %s", resp.status, resp.body)
	}
	invited := get[api.UserList](f.fixture, http.StatusOK, call{
		method: "GET", path: "/v1/user?state=invited",
		token: f.admin.Subject,
	})
	if len(invited.Items) != 1 || invited.Items[0].ID != dora.ID || invited.Items[0].AuthType != api.Cognito {
		t.Errorf("invited are %+v", invited)
	}

	password := f.firstSignIn(email).IDToken
	if me := whoIs(password); me.ID != dora.ID || me.AuthType != api.Cognito {
		t.Errorf("with the password: %+v", me)
	}
	if got := get[api.Thread](f.fixture, http.StatusOK, call{
		method: "GET", path: "/v1/thread/" + thread.ID.String(),
		token: password,
	}); got.ID != thread.ID {
		t.Errorf("got %+v", got)
	}
	if resp := f.do(resend); resp.status != http.StatusConflict {
		t.Errorf("to somebody who has signed in: %d %s", resp.status, resp.body)
	}
	get[api.SAMLConfig](f.fixture, http.StatusOK, call{
		method: "PUT", path: "/v1/saml-config/on",
		token: f.admin.Subject,
	})
	if me := whoIs(tokens(t, (&browser{f: f}).signIn("dora", "")).IDToken); me.ID != dora.ID {
		t.Errorf("by single sign-on again: %+v", me)
	}
}
