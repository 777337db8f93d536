package api_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestR85_AReusedRefreshTokenEndsItsFamily(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	first := f.connect(f.alice.Subject)
	f.refuses("another client's", "invalid_grant", f.post("/v1/oauth2/token",
		changedForm(refreshForm(first.RefreshToken), "client_id", cliClient)))
	f.refuses("more scopes", "invalid_scope", f.post("/v1/oauth2/token",
		changedForm(refreshForm(first.RefreshToken), "scope", "documents")))
	f.refuses("an access token", "invalid_grant", f.post("/v1/oauth2/token", refreshForm(first.AccessToken)))
	if f.status("/v1/me", first.RefreshToken) != http.StatusUnauthorized {
		t.Error("a refresh token is taken for a bearer")
	}
	other := f.connect(f.alice.Subject)
	second := f.tokens(f.post("/v1/oauth2/token", refreshForm(first.RefreshToken)))
	third := f.tokens(f.post("/v1/oauth2/token", refreshForm(second.RefreshToken)))
	f.refuses("a refresh token a second time", "invalid_grant",
		f.post("/v1/oauth2/token", refreshForm(first.RefreshToken)))
	f.refuses("the newest one after that", "invalid_grant", f.post("/v1/oauth2/token", refreshForm(third.RefreshToken)))
	for _, token := range []string{first.AccessToken, third.AccessToken} {
		if f.status("/v1/me", token) != http.StatusUnauthorized {
			t.Error("an access token of the family holds")
		}
	}
	if f.status("/v1/me", other.AccessToken) != http.StatusOK {
		t.Error("another connection ended, too")
	}
	var reused int
	f.scan(&reused, `SELECT count(*) FROM audit_events WHERE action = 'connection.reuse'`)
	if reused != 1 {
		t.Errorf("the audit log has %d entries of reuse", reused)
	}
	f.exec("UPDATE connection_tokens SET expires_at = now() WHERE kind = 'refresh'")
	f.refuses("a stale refresh token", "invalid_grant", f.post("/v1/oauth2/token", refreshForm(other.RefreshToken)))
	f.exec("UPDATE connection_tokens SET expires_at = now()")
	if resp := f.do(call{
		method: "GET", path: "/v1/me", token: other.AccessToken,
	}); resp.problem(t).Detail != "jwt expired" {
		t.Errorf("an expired access token: %s", resp.body)
	}
}

// TestR85_RefreshAfterALostResponse: a refresh may be repeated for a short time if none of the new tokens was used. The
// tokens of the lost response then become invalid: their use means that another client has them.
func TestR85_RefreshAfterALostResponse(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	first := f.connect(f.alice.Subject)
	lost := f.tokens(f.post("/v1/oauth2/token", refreshForm(first.RefreshToken)))
	lostAgain := f.tokens(f.post("/v1/oauth2/token", refreshForm(first.RefreshToken)))
	got := f.tokens(f.post("/v1/oauth2/token", refreshForm(first.RefreshToken)))
	for _, void := range []api.OAuthTokens{lost, lostAgain} {
		resp := f.do(call{method: "GET", path: "/v1/me", token: void.AccessToken})
		if resp.status != http.StatusUnauthorized || resp.problem(t).Detail != "jwt expired" {
			t.Errorf("the access token of a lost answer: %d %s", resp.status, resp.body)
		}
	}
	if f.status("/v1/me", first.AccessToken) != http.StatusOK || f.status("/v1/me", got.AccessToken) != http.StatusOK {
		t.Error("the tokens of the connection do not hold")
	}
	next := f.tokens(f.post("/v1/oauth2/token", refreshForm(got.RefreshToken)))
	f.refuses("the refresh token of a lost answer", "invalid_grant",
		f.post("/v1/oauth2/token", refreshForm(lost.RefreshToken)))
	if f.status("/v1/me", next.AccessToken) != http.StatusUnauthorized {
		t.Error("the connection outlived two users of its refresh tokens")
	}
}

// TestR85_OtherRepeatedRefreshesEndTheConnection: any other repeated refresh ends the connection.
func TestR85_OtherRepeatedRefreshesEndTheConnection(t *testing.T) {
	t.Parallel()
	for what, spoil := range map[string]func(f *fixture, answer api.OAuthTokens){
		"the access token was used": func(f *fixture, answer api.OAuthTokens) {
			f.status("/v1/me", answer.AccessToken)
		},
		"the refresh token was used": func(f *fixture, answer api.OAuthTokens) {
			f.post("/v1/oauth2/token", refreshForm(answer.RefreshToken))
		},
		"more than a minute has passed": func(f *fixture, _ api.OAuthTokens) {
			f.exec("UPDATE connection_tokens SET used_at = used_at - interval '61 seconds'")
		},
		"single sign-on is required": func(f *fixture, _ api.OAuthTokens) {
			f.exec("UPDATE organizations SET auth_type = 'federated_idp' WHERE id = $1", f.alice.OrganizationID)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, llmtest.Say("はい"))
			first := f.connect(f.alice.Subject)
			answer := f.tokens(f.post("/v1/oauth2/token", refreshForm(first.RefreshToken)))
			spoil(f, answer)
			f.refuses("the refresh again", "invalid_grant", f.post("/v1/oauth2/token", refreshForm(first.RefreshToken)))
			f.refuses("the next one", "invalid_grant", f.post("/v1/oauth2/token", refreshForm(answer.RefreshToken)))
			var ended, reused int
			f.scan(&ended, `SELECT count(*) FROM sessions WHERE client_id <> '' AND ended_at IS NOT NULL`)
			f.scan(&reused, `SELECT count(*) FROM audit_events WHERE action = 'connection.reuse'`)
			if ended != 1 || reused != 1 {
				t.Errorf("%d connections ended, %d entries of reuse", ended, reused)
			}
		})
	}
}

// TestR85_RefreshesAtTheSameTime: concurrent refreshes leave one valid refresh token.
func TestR85_RefreshesAtTheSameTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	first := f.connect(f.alice.Subject)
	answers := make(chan response)
	for range 4 {
		go func() { answers <- f.post("/v1/oauth2/token", refreshForm(first.RefreshToken)) }()
	}
	var tokens [4]api.OAuthTokens
	for i := range tokens {
		tokens[i] = f.tokens(<-answers)
	}
	valid := 0
	for _, got := range tokens {
		if f.status("/v1/me", got.AccessToken) == http.StatusOK {
			valid++
		}
	}
	var unused int
	f.scan(&unused, `SELECT count(*) FROM connection_tokens WHERE kind = 'refresh' AND used_at IS NULL`)
	if valid != 1 || unused != 1 {
		t.Errorf("%d access tokens and %d refresh tokens hold", valid, unused)
	}
}

// TestConnectionsHaveASeparateIdleLimit: the extension still works on the next morning without a sign-in.
func TestConnectionsHaveASeparateIdleLimit(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	tokens := f.connect("sso:" + f.alice.Subject)
	for _, step := range []struct {
		what, change string
		status       int
	}{
		{"after a night", "", http.StatusOK},
		{
			"with a limit of half a day", "UPDATE organizations SET connection_idle_minutes = 720",
			http.StatusUnauthorized,
		},
		{"with a limit of a day", "UPDATE organizations SET connection_idle_minutes = 1440", http.StatusOK},
		{
			"a week after it began", "UPDATE sessions SET began_at = began_at - interval '7 days'",
			http.StatusUnauthorized,
		},
		{"with two weeks for sessions", "UPDATE organizations SET sso_max_minutes = 20160", http.StatusOK},
	} {
		f.exec("UPDATE sessions SET used_at = now() - interval '14 hours'")
		if step.change != "" {
			f.exec(step.change)
		}
		if status := f.status("/v1/me", tokens.AccessToken); status != step.status {
			t.Errorf("%s: %d", step.what, status)
		}
	}
}

// TestR86_ConnectionsCarryHowTheirSessionBegan: if single sign-on becomes required, connections allowed in a password
// session end.
func TestR86_ConnectionsCarryHowTheirSessionBegan(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	device := func(token string) api.OAuthTokens {
		var code api.DeviceCode
		resp := f.post("/v1/oauth2/device", url.Values{"client_id": {cliClient}, "scope": {"chat"}})
		must.Succeed(t, json.Unmarshal(resp.body, &code))
		f.noContent(call{
			method: "PUT", path: "/v1/oauth2/device", token: token,
			body: map[string]any{"user_code": code.UserCode, "allow": true},
		})
		return f.tokens(f.post("/v1/oauth2/token", url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "client_id": {cliClient},
			"device_code": {code.DeviceCode},
		}))
	}
	sso := "sso:" + f.alice.Subject
	tokens := map[string]int{
		f.connect(f.alice.Subject).AccessToken:              http.StatusUnauthorized,
		device(f.alice.Subject).AccessToken:                 http.StatusUnauthorized,
		f.personalToken(f.alice.Subject, "chat").Token:      http.StatusUnauthorized,
		f.connect(sso).AccessToken:                          http.StatusOK,
		device(sso).AccessToken:                             http.StatusOK,
		f.personalToken(sso, "chat").Token:                  http.StatusOK,
		f.refreshed(f.connect(f.alice.Subject)).AccessToken: http.StatusUnauthorized,
		f.refreshed(f.connect(sso)).AccessToken:             http.StatusOK,
	}
	f.exec("UPDATE organizations SET auth_type = 'federated_idp'")
	for token, want := range tokens {
		if status := f.status("/v1/me", token); status != want {
			t.Errorf("%d, want %d", status, want)
		}
	}
}

// refreshed exchanges a refresh token.
func (f *fixture) refreshed(tokens api.OAuthTokens) api.OAuthTokens {
	f.t.Helper()
	return f.tokens(f.post("/v1/oauth2/token", refreshForm(tokens.RefreshToken)))
}

// TestR85_RefreshesFromOtherNetworks: a refresh from outside of the organization's networks fails without ending the
// connection, and a reused token ends it from anywhere.
func TestR85_RefreshesFromOtherNetworks(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	first := f.connect(f.alice.Subject)
	second := f.tokens(f.post("/v1/oauth2/token", refreshForm(first.RefreshToken)))
	if f.status("/v1/me", second.AccessToken) != http.StatusOK {
		t.Fatal("the second access token is refused")
	}
	f.exec("UPDATE organizations SET address_ranges = '{203.0.113.0/24}'")
	f.refuses("the current token", "access_denied", f.post("/v1/oauth2/token", refreshForm(second.RefreshToken)))
	f.exec("UPDATE organizations SET address_ranges = '{}'")
	third := f.tokens(f.post("/v1/oauth2/token", refreshForm(second.RefreshToken)))
	f.exec("UPDATE organizations SET address_ranges = '{203.0.113.0/24}'")
	f.refuses("a reused token", "invalid_grant", f.post("/v1/oauth2/token", refreshForm(first.RefreshToken)))
	f.exec("UPDATE organizations SET address_ranges = '{}'")
	f.refuses("the newest token after that", "invalid_grant", f.post("/v1/oauth2/token", refreshForm(third.RefreshToken)))
}
