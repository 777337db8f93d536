package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// TestR86_EndedConnectionsAreRefused: the next call and refresh of an ended connection are refused, and its streams
// end.
func TestR86_EndedConnectionsAreRefused(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(f *fixture, tokens api.OAuthTokens){
		"its owner ends it": func(f *fixture, _ api.OAuthTokens) {
			f.endConnections("/v1/connection", f.alice.Subject)
		},
		"an administrator ends it": func(f *fixture, _ api.OAuthTokens) {
			f.endConnections("/v1/organization/connection", f.bob.Subject)
		},
		"an administrator ends all sessions": func(f *fixture, _ api.OAuthTokens) {
			f.noContent(call{
				method: "DELETE", path: "/v1/user/" + f.alice.ID.String() + "/session", token: f.bob.Subject,
			})
		},
		"the client revokes it": func(f *fixture, tokens api.OAuthTokens) {
			f.post("/v1/oauth2/revoke", url.Values{"client_id": {extensionClient}, "token": {tokens.AccessToken}})
			var address string
			f.scan(&address, "SELECT coalesce(host(address), '') FROM audit_events WHERE action = 'connection.end'")
			if address == "" {
				f.t.Error("the audit log has no address")
			}
		},
		"its refresh token is used twice": func(f *fixture, tokens api.OAuthTokens) {
			next := f.tokens(f.post("/v1/oauth2/token", refreshForm(tokens.RefreshToken)))
			f.status("/v1/me", next.AccessToken)
			f.post("/v1/oauth2/token", refreshForm(tokens.RefreshToken))
		},
		"its owner's password is reset": func(f *fixture, _ api.OAuthTokens) {
			allowed := codeForm(f.allow(f.alice.Subject, authorization()).Get("code"))
			defer func() {
				f.refuses("what was allowed before", "invalid_grant", f.post("/v1/oauth2/token", allowed))
			}()
			f.callPool("ForgotPassword", map[string]any{"ClientId": "client", "Username": f.alice.Email})
			if resp := f.callPool("ConfirmForgotPassword", map[string]any{
				"ClientId": "client", "Username": f.alice.Email, "ConfirmationCode": (<-f.users.codes).Code,
				"Password": "Another-Horse-9",
			}); resp.status != http.StatusOK {
				f.t.Errorf("%d %s", resp.status, resp.body)
			}
		},
		"single sign-on is required": func(f *fixture, _ api.OAuthTokens) {
			f.exec("UPDATE organizations SET auth_type = 'federated_idp' WHERE id = $1", f.alice.OrganizationID)
		},
		"its owner is deactivated": func(f *fixture, _ api.OAuthTokens) {
			f.exec("UPDATE users SET state = 'inactive' WHERE id = $1", f.alice.ID)
		},
		"its owner is removed": func(f *fixture, _ api.OAuthTokens) {
			f.noContent(call{method: "DELETE", path: "/v1/user/" + f.alice.ID.String(), token: f.bob.Subject})
		},
		"it was not used for too long": func(f *fixture, _ api.OAuthTokens) {
			f.exec("UPDATE sessions SET used_at = used_at - interval '31 days'")
			if err := f.db.EndStaleSessions(f.t.Context()); err != nil {
				f.t.Error(err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			model := llmtest.NewLive()
			f := newFixtureWith(t, model, settings{pool: true})
			f.account(&f.alice)
			f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", f.bob.ID)
			tokens := f.connect(f.alice.Subject)
			ask := f.ask(f.thread(f.alice.Subject), "糸とは")
			ask.token = tokens.AccessToken
			asked := f.open(ask)
			answer := model.Next(t)
			answer.Emit("繭から")
			for asked.text != "繭から" {
				asked.next(t)
			}
			socket := f.join(tokens.AccessToken)

			end(f, tokens)
			if status := f.status("/v1/me", tokens.AccessToken); status != http.StatusUnauthorized {
				t.Errorf("the next call: %d", status)
			}
			f.refuses("a refresh", "invalid_grant", f.post("/v1/oauth2/token", refreshForm(tokens.RefreshToken)))
			asked.cut(t)
			if closed := socket.closed(); closed.Code != 4401 {
				t.Errorf("the socket: %+v", closed)
			}
			if resp := f.do(ask); resp.status != http.StatusUnauthorized {
				t.Errorf("the stream again: %d %s", resp.status, resp.body)
			}
			answer.Finish()
		})
	}
}

// endConnections ends all connections in a list.
func (f *fixture) endConnections(path, token string) {
	f.t.Helper()
	for _, c := range get[api.ConnectionList](f, http.StatusOK, call{method: "GET", path: path, token: token}).Items {
		f.noContent(call{method: "DELETE", path: path + "/" + c.ID.String(), token: token})
	}
}

func (f *fixture) noContent(c call) {
	f.t.Helper()
	if resp := f.do(c); resp.status != http.StatusNoContent {
		f.t.Fatalf("%s %s: %d %s", c.method, c.path, resp.status, resp.body)
	}
}

// TestR84_ConnectionsOfOtherMembers: connections of other members are treated as if they did not exist.
func TestR84_ConnectionsOfOtherMembers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = ANY($1)", []uuid.UUID{f.bob.ID, f.stranger.ID})
	f.connect(f.alice.Subject)
	own := get[api.ConnectionList](f, http.StatusOK,
		call{method: "GET", path: "/v1/connection", token: f.alice.Subject})
	if own.Total != 1 || own.Items[0].Name != "Tsumugi ブラウザー拡張機能" || own.Items[0].Kind != api.ConnectionOfClient ||
		own.Items[0].User != (api.ConnectionUser{}) {
		t.Fatalf("got %+v", own)
	}
	id := own.Items[0].ID.String()
	for _, attempt := range []struct{ path, token string }{
		{"/v1/connection/" + id, f.bob.Subject},
		{"/v1/connection/" + id, f.stranger.Subject},
		{"/v1/organization/connection/" + id, f.stranger.Subject},
		{"/v1/session/" + id, f.alice.Subject}, // A connection is not a session of the app.
	} {
		resp := f.do(call{method: "DELETE", path: attempt.path, token: attempt.token})
		missing := f.do(call{
			method: "DELETE", path: strings.Replace(attempt.path, id, newID(), 1), token: attempt.token,
		})
		if resp.status != http.StatusNotFound || shown(t, resp) != shown(t, missing) {
			t.Errorf("%s: %s", attempt.path, shown(t, resp))
		}
	}
	all := get[api.ConnectionList](f, http.StatusOK,
		call{method: "GET", path: "/v1/organization/connection", token: f.bob.Subject})
	if all.Total != 1 || all.Items[0].User.Email != f.alice.Email {
		t.Errorf("got %+v", all)
	}
	if other := get[api.ConnectionList](f, http.StatusOK,
		call{method: "GET", path: "/v1/organization/connection", token: f.stranger.Subject}); other.Total != 0 {
		t.Errorf("another organization's: %+v", other)
	}
	f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", f.alice.ID)
	end := call{method: "DELETE", path: "/v1/organization/connection/" + id, token: f.bob.Subject}
	if resp := f.do(end); resp.status != http.StatusForbidden {
		t.Errorf("a super-admin's: %d %s", resp.status, resp.body)
	}
	f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", f.bob.ID)
	defer func() { f.noContent(end) }()
	if sessions := get[api.SessionList](f, http.StatusOK,
		call{method: "GET", path: "/v1/session", token: f.alice.Subject}); len(sessions.Items) != 0 {
		t.Errorf("connections stand among the sessions: %+v", sessions)
	}
}

func TestPersonalTokens(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.bob.ID)
	created := f.personalToken(f.alice.Subject, "documents", "chat", "chat")
	if !strings.HasPrefix(created.Token, "tsk_") || created.Connection.Kind != api.ConnectionPersonal ||
		len(created.Connection.Scopes) != 2 || !created.Connection.LastUsedAt.IsZero() {
		t.Errorf("got %+v", created)
	}
	if f.status("/v1/thread", created.Token) != http.StatusOK ||
		f.status("/v1/user", created.Token) != http.StatusForbidden {
		t.Error("the token is not bound to its scopes")
	}
	for what, fields := range map[string]map[string]any{
		"no name":       {"name": " "},
		"a long name":   {"name": strings.Repeat("名", 101)},
		"another order": {"name": "a\u202eb"},
		"no letter":     {"name": "\u3164"},
		"no scope":      {"scopes": []string{}},
		"unknown scope": {"scopes": []string{"admin"}},
		"yesterday":     {"expires_on": time.Now().AddDate(0, 0, -1).Format(time.DateOnly)},
		"in two years":  {"expires_on": time.Now().AddDate(2, 0, 0).Format(time.DateOnly)},
		"no date":       {"expires_on": "いつか"},
		"no request":    {"request_id": nil},
	} {
		resp := f.do(call{
			method: "POST", path: "/v1/connection/token", token: f.alice.Subject,
			body: changed(personalToken("chat"), fields),
		})
		if resp.status != http.StatusBadRequest || len(resp.problem(t).Errors) != 1 {
			t.Errorf("%s: %d %s", what, resp.status, resp.body)
		}
	}
	// The token of a repeated request cannot be shown again, and no new token is created.
	request := personalToken("chat")
	f.do(call{method: "POST", path: "/v1/connection/token", token: f.alice.Subject, body: request})
	for range 2 {
		resp := f.do(call{method: "POST", path: "/v1/connection/token", token: f.alice.Subject, body: request})
		if p := resp.problem(t); resp.status != http.StatusConflict || p.Code != "conflict" ||
			!strings.Contains(p.Detail, "すでに作成されて") {
			t.Errorf("a request again: %d %s", resp.status, resp.body)
		}
	}
	if list := get[api.ConnectionList](f, http.StatusOK,
		call{method: "GET", path: "/v1/connection", token: f.alice.Subject}); list.Total != 2 {
		t.Errorf("there are %d tokens", list.Total)
	}
	get[api.PersonalToken](f, http.StatusCreated, // The same request id of another person is a different request.
		call{method: "POST", path: "/v1/connection/token", token: f.bob.Subject, body: request})
	stored := ""
	f.scan(&stored, `SELECT string_agg(t::text || s::text, '') FROM connection_tokens t, sessions s`)
	if strings.Contains(stored, created.Token) || strings.Contains(stored, created.Token[4:]) {
		t.Error("the token is stored")
	}
	f.exec("UPDATE sessions SET expires_at = now() WHERE client_id = 'personal'")
	if f.status("/v1/me", created.Token) != http.StatusUnauthorized {
		t.Error("the token holds after its last day")
	}

	// An administrator forbids personal access tokens.
	created = f.personalToken(f.alice.Subject, "chat")
	policy := func(token string, allowed bool) int {
		return f.do(call{
			method: "PUT", path: "/v1/connection-policy", token: token,
			body: map[string]any{"personal_tokens": allowed},
		}).status
	}
	if policy(f.alice.Subject, false) != http.StatusForbidden || policy(f.bob.Subject, false) != http.StatusOK {
		t.Error("who may set the policy")
	}
	if f.status("/v1/me", created.Token) != http.StatusUnauthorized {
		t.Error("the token holds after it was forbidden")
	}
	if resp := f.do(call{
		method: "POST", path: "/v1/connection/token", token: f.alice.Subject, body: personalToken("chat"),
	}); resp.status != http.StatusForbidden {
		t.Errorf("%d %s", resp.status, resp.body)
	}
	policy(f.bob.Subject, true)
	f.personalToken(f.alice.Subject, "chat")
}
