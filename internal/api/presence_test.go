package api_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// cut waits for the end of a stream, which must end in time and before the text.
func (e *events) cut(t *testing.T) {
	t.Helper()
	late := time.AfterFunc(30*time.Second, func() { _ = e.body.Close() })
	e.all(t)
	if !late.Stop() {
		t.Error("the stream goes on for half a minute")
	}
	if e.types[len(e.types)-1] == "[DONE]" {
		t.Errorf("the text ended: %v", e.types)
	}
}

// TestR45_ChangesHoldAtOnce changes an actor who has two streams and a live socket.
func TestR45_ChangesHoldAtOnce(t *testing.T) {
	t.Parallel()
	type test struct {
		change func(f *fixture, own session)
		plain  bool
		detail string   // Detail of the next call's refusal; "" if the call succeeds.
		role   api.Role // The role in the response.
		renews bool     // The refresh token is still valid.

		everybody bool // The change applies to the whole organization.
	}
	user := func(f *fixture) string { return "/v1/user/" + f.alice.ID.String() }
	edit := func(body map[string]any) func(*fixture, session) {
		return func(f *fixture, _ session) {
			get[api.User](f, http.StatusOK, call{method: "PUT", path: user(f), token: f.bob.Subject, body: body})
		}
	}
	const noUser, expired = "Not authenticated: no user found", "jwt expired"
	tests := map[string]test{
		"disable":           {change: edit(map[string]any{"state": "inactive"}), detail: noUser},
		"disable, net/http": {change: edit(map[string]any{"state": "inactive"}), detail: noUser, plain: true},
		"role change": {
			change: edit(map[string]any{"role": "organization-admin"}),
			role:   "organization-admin", renews: true,
		},
		"role change, net/http": {
			change: edit(map[string]any{"role": "organization-admin"}),
			role:   "organization-admin", renews: true, plain: true,
		},
		"remove": {detail: noUser, change: func(f *fixture, _ session) {
			if resp := f.do(call{
				method: "DELETE", path: user(f),
				token: f.bob.Subject,
			}); resp.status != http.StatusNoContent {
				f.t.Fatalf("%d %s", resp.status, resp.body)
			}
		}},
		"sign-out": {detail: expired, change: func(f *fixture, own session) {
			get[api.SignOut](f, http.StatusOK, call{method: "POST", path: "/v1/signout", token: own.IDToken})
		}},
		"global sign-out, net/http": {detail: expired, plain: true, change: func(f *fixture, own session) {
			if resp := f.callPool("GlobalSignOut",
				map[string]any{"AccessToken": own.AccessToken}); resp.status != http.StatusOK {
				f.t.Fatalf("%d %s", resp.status, resp.body)
			}
		}},
		"reset": {detail: expired, change: func(f *fixture, _ session) {
			f.callPool("ForgotPassword", map[string]any{"ClientId": "client", "Username": f.alice.Email})
			resp := f.callPool("ConfirmForgotPassword", map[string]any{
				"ClientId": "client", "Username": f.alice.Email, "ConfirmationCode": (<-f.users.codes).Code,
				"Password": "Another-Horse-9",
			})
			if resp.status != http.StatusOK {
				f.t.Fatalf("%d %s", resp.status, resp.body)
			}
		}},
		"single sign-on is wanted": {
			detail: "この組織ではシングルサインオンでログインしてください。", renews: true, everybody: true,
			change: func(f *fixture, _ session) {
				f.exec("UPDATE organizations SET auth_type = 'federated_idp' WHERE id = $1", f.alice.OrganizationID)
			},
		},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := llmtest.NewLive()
			f := newFixtureWith(t, model, settings{pool: true, plain: c.plain})
			f.account(&f.alice)
			f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", f.bob.ID)
			own := f.signIn(f.alice)
			me := call{method: "GET", path: "/v1/me", token: own.IDToken}
			get[api.Me](f, http.StatusOK, me)
			thread := f.thread(own.IDToken)
			ask := f.ask(thread, "糸とは")
			ask.token = own.IDToken
			asked := f.open(ask)
			answer := model.Next(t)
			answer.Emit("繭から")
			for asked.text != "繭から" {
				asked.next(t)
			}
			list := get[api.MessageList](f, http.StatusOK, call{
				method: "GET",
				path:   "/v1/message?thread_id=" + thread.ID.String(), token: own.IDToken,
			})
			attached := f.open(call{
				method: "GET", path: "/v1/message/" + list.Items[0].ID.String() + "/stream",
				token: own.IDToken,
			})
			for attached.text != "繭から" {
				attached.next(t)
			}
			socket, other := f.join(own.IDToken), f.join(f.bob.Subject)

			c.change(f, own)
			resp := f.do(me)
			if c.detail != "" {
				if p := resp.problem(t); resp.status != http.StatusUnauthorized || p.Detail != c.detail {
					t.Errorf("the next call: %d %+v", resp.status, p)
				}
			} else if !strings.Contains(string(resp.body), string(`"role":"`+c.role+`"`)) {
				t.Errorf("the next call: %d %s", resp.status, resp.body)
			}
			if renewed := f.refresh(own).status == http.StatusOK; renewed != c.renews {
				t.Errorf("refreshed: %v", renewed)
			}
			asked.cut(t)
			attached.cut(t)
			if end := socket.closed(); end.Code != 4401 || end.Reason != "jwt expired" {
				t.Errorf("the socket: %+v", end)
			}
			ask.header = map[string]string{"Last-Event-ID": asked.id}
			if c.detail != "" {
				for _, again := range []call{ask, {
					method: "GET",
					path:   "/v1/message/" + list.Items[0].ID.String() + "/stream", token: own.IDToken,
				}} {
					if resp := f.do(again); resp.status != http.StatusUnauthorized {
						t.Errorf("%s again: %d %s", again.method, resp.status, resp.body)
					}
				}
			} else {
				resumed := f.open(ask)
				answer.Emit("引いたもの。")
				answer.Finish()
				if resumed.all(t); asked.text+resumed.text != "繭から引いたもの。" {
					t.Errorf("resumed: %q", resumed.text)
				}
			}
			if !c.everybody { // The streams of other people continue.
				f.events.NotificationsRead(f.bob.ID, []uuid.UUID{f.bob.ID})
				other.want("notification")
			}
		})
	}
}

// TestR45_DemotedAdministrators: the next administrator request is refused, whatever role the token has.
func TestR45_DemotedAdministrators(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{pool: true})
	for role, want := range map[string]int{
		"organization-super-admin": http.StatusOK,
		"general-user":             http.StatusForbidden,
	} {
		f.exec("UPDATE users SET role = $2 WHERE id = $1", f.alice.ID, role)
		for _, path := range []string{
			"/v1/user", "/v1/contract", "/v1/contract/usage/member", "/v1/audit",
			"/v1/saml-config",
		} {
			if resp := f.do(call{method: "GET", path: path, token: f.alice.Subject}); resp.status != want {
				t.Errorf("%s as %s: %d %s", path, role, resp.status, resp.body)
			}
		}
	}
}

// TestR45_OtherSessionsComeBack: ending one device's session keeps the others, which are only rechecked.
func TestR45_OtherSessionsComeBack(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{pool: true})
	f.account(&f.alice)
	one, other := f.signIn(f.alice), f.signIn(f.alice)
	socket := f.join(other.IDToken)
	get[api.SignOut](f, http.StatusOK, call{method: "POST", path: "/v1/signout", token: one.IDToken})
	if end := socket.closed(); end.Code != 4401 {
		t.Errorf("got %+v", end)
	}
	f.join(other.IDToken)
	if resp := f.refresh(other); resp.status != http.StatusOK {
		t.Errorf("%d %s", resp.status, resp.body)
	}
	if resp := f.refresh(one); resp.status == http.StatusOK {
		t.Error("the session that was ended is renewed")
	}
	// Signing out twice is not an error of the app, but every call with an ended session is refused.
	if p := f.do(call{method: "POST", path: "/v1/signout", token: one.IDToken}).problem(t); p.Detail != "jwt expired" {
		t.Errorf("got %+v", p)
	}
}

// TestR45_MissedChangesAreCaughtUp disconnects the server from the database's notifications.
func TestR45_MissedChangesAreCaughtUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	gone, stays := f.join(f.alice.Subject), f.join(f.bob.Subject)
	f.exec("ALTER TABLE users DISABLE TRIGGER USER")
	f.exec("UPDATE users SET state = 'inactive' WHERE id = $1", f.alice.ID)
	f.exec(
		`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE '% tsumugi_user'
			AND datname = current_database()`,
	)
	if end := gone.closed(); end.Code != 4401 {
		t.Errorf("got %+v", end)
	}
	f.events.NotificationsRead(f.bob.ID, []uuid.UUID{f.bob.ID})
	stays.want("notification")
}

// TestR45_DisabledDuringAWaitingCall disables an actor during their waiting call.
func TestR45_DisabledDuringAWaitingCall(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	ask := f.ask(f.thread(f.alice.Subject), "糸とは")
	ask.path = "/v1/message/sync"
	answered := make(chan response, 1)
	var asking sync.WaitGroup
	asking.Go(func() { answered <- f.do(ask) })
	defer asking.Wait()
	answer := model.Next(t)
	answer.Emit("ひみつ")
	f.exec("UPDATE users SET state = 'inactive' WHERE id = $1", f.alice.ID)
	answer.Finish()
	if resp := <-answered; resp.status != http.StatusUnauthorized || strings.Contains(string(resp.body), "ひみつ") {
		t.Errorf("%d %s", resp.status, resp.body)
	}
}

// TestSessionsOfSingleSignOn checks which sign-in methods are accepted, and the app's response.
func TestSessionsOfSingleSignOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	me := func(token string) response { return f.do(call{method: "GET", path: "/v1/me", token: token}) }
	if got := get[api.Me](f, http.StatusOK, call{
		method: "GET", path: "/v1/me",
		token: "sso:" + f.alice.Subject,
	}); got.AuthType != "federated_idp" {
		t.Errorf("got %+v", got)
	}
	f.exec("UPDATE organizations SET auth_type = 'federated_idp' WHERE id = $1", f.alice.OrganizationID)
	resp := me(f.alice.Subject)
	if p := resp.problem(t); resp.status != http.StatusUnauthorized || p.Code != "sso_required" ||
		p.Detail != identity.ErrSSORequired.Detail {
		t.Errorf("a password: %d %+v", resp.status, p)
	}
	c := dialLive(t, f.url, nil)
	c.auth(f.alice.Subject)
	if end := c.closed(); end.Code != 4401 || end.Reason != identity.ErrSSORequired.Detail {
		t.Errorf("the socket: %+v", end)
	}
	if resp := me("sso:" + f.alice.Subject); resp.status != http.StatusOK {
		t.Errorf("single sign-on: %d %s", resp.status, resp.body)
	}
	f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", f.alice.ID)
	if resp := me(f.alice.Subject); resp.status != http.StatusOK {
		t.Errorf("a super-admin's password: %d %s", resp.status, resp.body)
	}
	way := get[api.AuthType](f, http.StatusOK, call{
		method: "POST", path: "/v1/auth-type",
		body: map[string]any{"email": f.alice.Email},
	})
	if way.AuthType != "federated_idp" || way.ClientID != "client" || way.Endpoint != "/pool/" ||
		way.OrganizationID != f.alice.OrganizationID {
		t.Errorf("got %+v", way)
	}
}
