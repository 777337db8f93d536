package api_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

func TestR85_CodeAndTokens(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	asked := get[api.GrantRequested](f, http.StatusOK, call{
		method: "GET", token: f.alice.Subject, path: "/v1/oauth2/grant?" + url.Values{
			"response_type": {"code"}, "client_id": {cliClient}, "redirect_uri": {cliRedirect},
			"code_challenge": {challengeOf(codeVerifier)}, "code_challenge_method": {"S256"},
		}.Encode(),
	})
	if asked.Client.ID != cliClient || len(asked.Scopes) != 2 || asked.LeadsTo != "127.0.0.1:49152" ||
		asked.RedirectTo != "" {
		t.Errorf("asked: %+v", asked)
	}
	answer := f.allow(f.alice.Subject, authorization())
	if answer.Get("state") != "状態" || answer.Get("iss") != issuer {
		t.Errorf("answered: %v", answer)
	}
	tokens := f.tokens(f.post("/v1/oauth2/token", codeForm(answer.Get("code"))))
	if tokens.Scope != "chat extension" || !strings.HasPrefix(tokens.AccessToken, "tsa_") {
		t.Errorf("got %+v", tokens)
	}
	me := get[api.Me](f, http.StatusOK, call{method: "GET", path: "/v1/me", token: tokens.AccessToken})
	if me.ID != f.alice.ID || me.AuthType != api.Cognito {
		t.Errorf("me: %+v", me)
	}
	if status := f.status("/v1/connection", tokens.AccessToken); status != http.StatusForbidden {
		t.Errorf("account settings: %d", status)
	}
	next := f.tokens(f.post("/v1/oauth2/token", refreshForm(tokens.RefreshToken)))
	if next.RefreshToken == tokens.RefreshToken || f.status("/v1/me", next.AccessToken) != http.StatusOK {
		t.Errorf("refreshed: %+v", next)
	}
	denied := f.allow(f.alice.Subject, changed(authorization(), map[string]any{"allow": false}))
	if denied.Get("error") != "access_denied" || denied.Get("code") != "" || denied.Get("state") != "状態" {
		t.Errorf("denied: %v", denied)
	}
	if resp := f.post("/v1/oauth2/revoke", url.Values{
		"client_id": {extensionClient}, "token": {next.RefreshToken},
	}); resp.status != http.StatusOK {
		t.Errorf("revoking: %d %s", resp.status, resp.body)
	}
	if f.status("/v1/me", next.AccessToken) != http.StatusUnauthorized {
		t.Error("the access token holds after the connection was revoked")
	}
	f.refuses("a refresh after that", "invalid_grant", f.post("/v1/oauth2/token", refreshForm(next.RefreshToken)))
	if resp := f.post("/v1/oauth2/revoke",
		url.Values{"client_id": {extensionClient}, "token": {"unknown"}}); resp.status !=
		http.StatusOK {
		t.Errorf("revoking an unknown token: %d %s", resp.status, resp.body)
	}
}

// TestR85_RequestsThatAreRefused: requests with an untrusted redirect URI are refused without a redirect, the others
// with one.
func TestR85_RequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	for what, fields := range map[string]map[string]any{
		"an unknown client":  {"client_id": "somebody"},
		"no client":          {"client_id": ""},
		"a foreign redirect": {"redirect_uri": "https://evil.example/"},
		"another path":       {"redirect_uri": extensionRedirect + "x"},
		"a query":            {"redirect_uri": extensionRedirect + "?x=1"},
		"another client's":   {"redirect_uri": cliRedirect},
		"a name in front": {
			"redirect_uri": "https://abcdefghijklmnopabcdefghijklmnop.chromiumapp.org@evil.example/",
		},
		"a loopback by name":    {"client_id": cliClient, "redirect_uri": "http://localhost:49152/callback"},
		"a loopback with TLS":   {"client_id": cliClient, "redirect_uri": "https://127.0.0.1:49152/callback"},
		"a loopback's password": {"client_id": cliClient, "redirect_uri": "http://a@127.0.0.1:49152/callback"},
		"a loopback's fragment": {"client_id": cliClient, "redirect_uri": "http://127.0.0.1:49152/callback#x"},
		"a port that is none":   {"client_id": cliClient, "redirect_uri": "http://127.0.0.1:x/callback"},
		"a longer address":      {"client_id": cliClient, "redirect_uri": "http://127.0.0.1.evil.example:80/callback"},
	} {
		for _, allow := range []bool{true, false} {
			resp := f.do(call{
				method: "POST", path: "/v1/oauth2/grant", token: f.alice.Subject,
				body: changed(changed(authorization(), fields), map[string]any{"allow": allow}),
			})
			if resp.status != http.StatusBadRequest {
				t.Errorf("%s: %d %s", what, resp.status, resp.body)
			}
		}
	}
	for what, test := range map[string]struct {
		fields map[string]any
		code   string
	}{
		"PKCE by plain": {
			map[string]any{"code_challenge_method": "plain", "code_challenge": codeVerifier}, "invalid_request",
		},
		"no method, which is plain": {map[string]any{"code_challenge_method": nil}, "invalid_request"},
		"no challenge":              {map[string]any{"code_challenge": nil}, "invalid_request"},
		"no PKCE": {
			map[string]any{"code_challenge": nil, "code_challenge_method": nil}, "invalid_request",
		},
		"a challenge that is none": {map[string]any{"code_challenge": strings.Repeat("あ", 43)}, "invalid_request"},
		"the implicit flow":        {map[string]any{"response_type": "token"}, "unsupported_response_type"},
		"a scope that is none":     {map[string]any{"scope": "chat admin"}, "invalid_scope"},
	} {
		answer := f.allow(f.alice.Subject, changed(authorization(), test.fields))
		if answer.Get("error") != test.code || answer.Get("code") != "" || answer.Get("state") != "状態" {
			t.Errorf("%s: %v", what, answer)
		}
	}
	f.refuses("a scope that is not the client's", "invalid_scope", f.post("/v1/oauth2/device",
		url.Values{"client_id": {cliClient}, "scope": {"extension"}}))
}

// TestR85_CodesThatAreRefused: codes of another client, redirect URI or verifier are refused, and used codes.
func TestR85_CodesThatAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	for what, test := range map[string]struct {
		name, value string
		code        string
	}{
		"another verifier":  {"code_verifier", strings.Repeat("x", 43), "invalid_grant"},
		"the challenge":     {"code_verifier", challengeOf(codeVerifier), "invalid_grant"},
		"no verifier":       {"code_verifier", "", "invalid_grant"},
		"another redirect":  {"redirect_uri", cliRedirect, "invalid_grant"},
		"no redirect":       {"redirect_uri", "", "invalid_grant"},
		"another client":    {"client_id", cliClient, "invalid_grant"},
		"an unknown client": {"client_id", "somebody", "invalid_client"},
		"no code":           {"code", "", "invalid_request"},
		"an unknown code":   {"code", "x", "invalid_grant"},
		"no grant type":     {"grant_type", "", "invalid_request"},
		"passwords":         {"grant_type", "password", "unsupported_grant_type"},
		"as a device code":  {"grant_type", "urn:ietf:params:oauth:grant-type:device_code", "invalid_request"},
	} {
		form := codeForm(f.allow(f.alice.Subject, authorization()).Get("code"))
		form.Set(test.name, test.value)
		f.refuses(what, test.code, f.post("/v1/oauth2/token", form))
	}
	// A wrong verifier uses up the code.
	form := codeForm(f.allow(f.alice.Subject, authorization()).Get("code"))
	f.refuses("a wrong verifier", "invalid_grant",
		f.post("/v1/oauth2/token", changedForm(form, "code_verifier", strings.Repeat("x", 43))))
	f.refuses("the right one after it", "invalid_grant", f.post("/v1/oauth2/token", form))

	// The second use ends the connection of the first use.
	form = codeForm(f.allow(f.alice.Subject, authorization()).Get("code"))
	tokens := f.tokens(f.post("/v1/oauth2/token", form))
	f.refuses("a code a second time", "invalid_grant", f.post("/v1/oauth2/token", form))
	if f.status("/v1/me", tokens.AccessToken) != http.StatusUnauthorized {
		t.Error("the access token of a code that was used twice holds")
	}
	f.refuses("its refresh token", "invalid_grant", f.post("/v1/oauth2/token", refreshForm(tokens.RefreshToken)))

	// A code is valid for a minute.
	form = codeForm(f.allow(f.alice.Subject, authorization()).Get("code"))
	f.exec("UPDATE connection_grants SET expires_at = expires_at - interval '61 seconds'")
	f.refuses("a code after a minute", "invalid_grant", f.post("/v1/oauth2/token", form))
}

func changedForm(form url.Values, name, value string) url.Values {
	out := url.Values{}
	for key, values := range form {
		out[key] = values
	}
	out.Set(name, value)
	return out
}

// TestR85_Devices polls as specified in RFC 8628.
func TestR85_Devices(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	begin := func() (api.DeviceCode, url.Values) {
		t.Helper()
		var code api.DeviceCode
		resp := f.do(call{
			method: "POST", path: "/v1/oauth2/device",
			body:   url.Values{"client_id": {cliClient}, "scope": {"chat"}}.Encode(),
			header: map[string]string{"Content-Type": "application/x-www-form-urlencoded", "User-Agent": firefox},
		})
		if err := json.Unmarshal(resp.body, &code); err != nil || resp.status != http.StatusOK {
			t.Fatalf("%d %s", resp.status, resp.body)
		}
		return code, url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "client_id": {cliClient},
			"device_code": {code.DeviceCode},
		}
	}
	poll := func(form url.Values) response { return f.post("/v1/oauth2/token", form) }
	later := func() { f.exec("UPDATE connection_grants SET polled_at = polled_at - interval '1 minute'") }
	answer := func(code string, allow bool) response {
		return f.do(call{
			method: "PUT", path: "/v1/oauth2/device", token: f.alice.Subject,
			body: map[string]any{"user_code": code, "allow": allow},
		})
	}

	code, form := begin()
	if code.Interval != 5 || code.ExpiresIn != 600 || code.VerificationURI != issuer+"/oauth/device" ||
		code.VerificationURIComplete != issuer+"/oauth/device?user_code="+code.UserCode {
		t.Errorf("got %+v", code)
	}
	f.refuses("before anybody answered", "authorization_pending", poll(form))
	f.refuses("at once again", "slow_down", poll(form))
	var interval int
	f.scan(&interval, "SELECT poll_interval FROM connection_grants")
	if interval != 10 {
		t.Errorf("the interval is %d", interval)
	}
	later()
	f.refuses("another client", "invalid_grant", poll(changedForm(form, "client_id", extensionClient)))
	asked := get[api.DeviceRequested](f, http.StatusOK, call{
		method: "GET", token: f.alice.Subject,
		path: "/v1/oauth2/device?user_code=" + strings.ToLower(strings.Replace(code.UserCode, "-", "%20", 1)),
	})
	if asked.Client.ID != cliClient || asked.Device != "Firefox（Linux）" || asked.Address != "127.0.0.1" {
		t.Errorf("asked: %+v", asked)
	}
	if resp := answer(code.UserCode, true); resp.status != http.StatusNoContent {
		t.Fatalf("%d %s", resp.status, resp.body)
	}
	if resp := answer(code.UserCode, false); resp.status != http.StatusNotFound {
		t.Errorf("answering twice: %d", resp.status)
	}
	tokens := f.tokens(poll(form))
	if tokens.Scope != "chat" || f.status("/v1/thread", tokens.AccessToken) != http.StatusOK ||
		f.status("/v1/data-source", tokens.AccessToken) != http.StatusForbidden {
		t.Errorf("got %+v", tokens)
	}
	f.refuses("a device code a second time", "invalid_grant", poll(form))
	if f.status("/v1/me", tokens.AccessToken) != http.StatusUnauthorized {
		t.Error("the tokens of a device code that was used twice hold")
	}

	code, form = begin()
	answer(code.UserCode, false)
	f.refuses("denied", "access_denied", poll(form))
	code, form = begin()
	f.exec("UPDATE connection_grants SET expires_at = now()")
	f.refuses("expired", "expired_token", poll(form))
	if resp := answer(code.UserCode, true); resp.status != http.StatusNotFound {
		t.Errorf("answering what has expired: %d", resp.status)
	}
}

// TestR85_UserCodesAreNotGuessed: after several wrong codes, further ones of the person are refused.
func TestR85_UserCodesAreNotGuessed(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{limits: ratelimit.DefaultLimits()})
	guess := func(token string) int {
		return f.do(call{method: "GET", path: "/v1/oauth2/device?user_code=BCDF-GHJK", token: token}).status
	}
	statuses := make(map[int]int)
	for range 50 { // More than the limit of two minutes, because a new minute may begin meanwhile.
		statuses[guess(f.alice.Subject)]++
	}
	if statuses[http.StatusTooManyRequests] < 5 || statuses[http.StatusNotFound] > 41 {
		t.Errorf("got %v", statuses)
	}
	if status := guess(f.bob.Subject); status != http.StatusNotFound {
		t.Errorf("somebody else: %d", status)
	}
}
