package api_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

const (
	extensionClient   = "tsumugi-extension"
	extensionRedirect = "https://abcdefghijklmnopabcdefghijklmnop.chromiumapp.org/"
	cliClient         = "tsumugi-cli"
	cliRedirect       = "http://127.0.0.1:49152/callback"
	codeVerifier      = "verifier-verifier-verifier-verifier-verifier"
)

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// authorization is an authorization request of the extension that is well-formed.
func authorization() map[string]any {
	return map[string]any{
		"response_type": "code", "client_id": extensionClient, "redirect_uri": extensionRedirect, "state": "状態",
		"scope": "chat extension", "code_challenge": challengeOf(codeVerifier), "code_challenge_method": "S256",
		"allow": true,
	}
}

// changed returns a copy of a record with other values. Nil removes a field.
func changed(record map[string]any, fields map[string]any) map[string]any {
	out := make(map[string]any, len(record))
	for name, value := range record {
		out[name] = value
	}
	for name, value := range fields {
		if out[name] = value; value == nil {
			delete(out, name)
		}
	}
	return out
}

func grantBody(string) any {
	return changed(authorization(), map[string]any{"redirect_uri": "https://elsewhere.example/"})
}

func personalToken(scopes ...string) map[string]any {
	return map[string]any{
		"request_id": newID(), "name": "集計", "scopes": scopes,
		"expires_on": time.Now().AddDate(0, 1, 0).Format(time.DateOnly),
	}
}

func (f *fixture) personalToken(token string, scopes ...string) api.PersonalToken {
	f.t.Helper()
	return get[api.PersonalToken](f, http.StatusCreated, call{
		method: "POST", path: "/v1/connection/token", token: token, body: personalToken(scopes...),
	})
}

// allow has a person answer an authorization request, and returns the query of the redirect.
func (f *fixture) allow(token string, request map[string]any) url.Values {
	f.t.Helper()
	answer := get[api.GrantRedirect](f, http.StatusOK, call{
		method: "POST", path: "/v1/oauth2/grant", token: token, body: request,
	})
	redirect, query, _ := strings.Cut(answer.RedirectTo, "?")
	if redirect != request["redirect_uri"] {
		f.t.Fatalf("redirected to %s", answer.RedirectTo)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		f.t.Fatal(err)
	}
	return values
}

// post sends a form as an OAuth client does.
func (f *fixture) post(path string, form url.Values) response {
	f.t.Helper()
	return f.do(call{
		method: "POST", path: path, body: form.Encode(),
		header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"},
	})
}

func codeForm(code string) url.Values {
	return url.Values{
		"grant_type": {"authorization_code"}, "client_id": {extensionClient}, "code": {code},
		"redirect_uri": {extensionRedirect}, "code_verifier": {codeVerifier},
	}
}

func refreshForm(token string) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "client_id": {extensionClient}, "refresh_token": {token}}
}

// tokens reads the tokens of an answer.
func (f *fixture) tokens(resp response) api.OAuthTokens {
	f.t.Helper()
	var tokens api.OAuthTokens
	if err := json.Unmarshal(resp.body, &tokens); err != nil || resp.status != http.StatusOK {
		f.t.Fatalf("%d %s", resp.status, resp.body)
	}
	if resp.header.Get("Cache-Control") != "no-store" || tokens.TokenType != "Bearer" || tokens.ExpiresIn != 3600 {
		f.t.Fatalf("%v %+v", resp.header, tokens)
	}
	return tokens
}

// connect connects the extension on behalf of a person.
func (f *fixture) connect(token string) api.OAuthTokens {
	f.t.Helper()
	return f.tokens(f.post("/v1/oauth2/token", codeForm(f.allow(token, authorization()).Get("code"))))
}

// refuses fails the test unless a call of an OAuth client is refused with an error of the RFCs.
func (f *fixture) refuses(what, code string, resp response) {
	f.t.Helper()
	var e api.OAuthError
	if err := json.Unmarshal(resp.body, &e); err != nil || e.Error != code || resp.status == http.StatusOK ||
		resp.header.Get("Cache-Control") != "no-store" {
		f.t.Errorf("%s: %d %s, want %s", what, resp.status, resp.body, code)
	}
}

// status calls an API with a token.
func (f *fixture) status(path, token string) int {
	f.t.Helper()
	return f.do(call{method: "GET", path: path, token: token}).status
}

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

// TestR85_RequestsThatAreRefused: some without a redirect, because it would lead anywhere, the others with one.
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

// TestR85_CodesThatAreRefused: of another client, redirect or verifier, and used twice.
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
	// A code that met a wrong verifier is used.
	form := codeForm(f.allow(f.alice.Subject, authorization()).Get("code"))
	f.refuses("a wrong verifier", "invalid_grant",
		f.post("/v1/oauth2/token", changedForm(form, "code_verifier", strings.Repeat("x", 43))))
	f.refuses("the right one after it", "invalid_grant", f.post("/v1/oauth2/token", form))

	// A second use ends what the first one began.
	form = codeForm(f.allow(f.alice.Subject, authorization()).Get("code"))
	tokens := f.tokens(f.post("/v1/oauth2/token", form))
	f.refuses("a code a second time", "invalid_grant", f.post("/v1/oauth2/token", form))
	if f.status("/v1/me", tokens.AccessToken) != http.StatusUnauthorized {
		t.Error("the access token of a code that was used twice holds")
	}
	f.refuses("its refresh token", "invalid_grant", f.post("/v1/oauth2/token", refreshForm(tokens.RefreshToken)))

	// A code holds for a minute.
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

// TestR85_ALostAnswerIsGivenAgain: a refresh may be repeated for a while if nothing that it was answered with was used.
// Those tokens are void then: whoever comes with them has a token that somebody else used, too.
func TestR85_ALostAnswerIsGivenAgain(t *testing.T) {
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

// TestR85_WhatIsNoLostAnswer ends the connection.
func TestR85_WhatIsNoLostAnswer(t *testing.T) {
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

// TestR85_RefreshesAtTheSameTime leave one valid refresh token.
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

// TestConnectionsHaveAnIdleLimitOfTheirOwn: the extension is used the next morning without a sign-in.
func TestConnectionsHaveAnIdleLimitOfTheirOwn(t *testing.T) {
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

// TestR86_ConnectionsCarryHowTheirSessionBegan: where single sign-on becomes required, those that were allowed in a
// session by password are over.
func TestR86_ConnectionsCarryHowTheirSessionBegan(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	device := func(token string) api.OAuthTokens {
		var code api.DeviceCode
		resp := f.post("/v1/oauth2/device", url.Values{"client_id": {cliClient}, "scope": {"chat"}})
		if err := json.Unmarshal(resp.body, &code); err != nil {
			t.Fatal(err)
		}
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

// TestR85_Devices polls as RFC 8628 has it.
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

// TestR85_UserCodesAreNotGuessed: a person is refused after some wrong ones.
func TestR85_UserCodesAreNotGuessed(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{limits: api.DefaultLimits()})
	guess := func(token string) int {
		return f.do(call{method: "GET", path: "/v1/oauth2/device?user_code=BCDF-GHJK", token: token}).status
	}
	statuses := make(map[int]int)
	for range 50 { // More than two minutes allow, should one begin meanwhile.
		statuses[guess(f.alice.Subject)]++
	}
	if statuses[http.StatusTooManyRequests] < 5 || statuses[http.StatusNotFound] > 41 {
		t.Errorf("got %v", statuses)
	}
	if status := guess(f.bob.Subject); status != http.StatusNotFound {
		t.Errorf("somebody else: %d", status)
	}
}

// TestFormsAreReadStrictly tries what an OAuth client must not send.
func TestFormsAreReadStrictly(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	const form = "application/x-www-form-urlencoded"
	for what, test := range map[string]struct {
		header map[string]string
		body   string
		code   string
	}{
		"JSON": {map[string]string{"Content-Type": "application/json"}, `{}`, "invalid_request"},
		"a secret": {
			map[string]string{"Content-Type": form, "Authorization": "Basic eDp5"}, "client_id=x", "invalid_client",
		},
		"twice": {
			map[string]string{"Content-Type": form}, "client_id=tsumugi-cli&client_id=x", "invalid_request",
		},
		"no form": {map[string]string{"Content-Type": form}, "%zz", "invalid_request"},
		"too large": {
			map[string]string{"Content-Type": form}, "x=" + strings.Repeat("x", 17<<10), "invalid_request",
		},
		"nothing": {map[string]string{"Content-Type": form}, "", "invalid_client"},
		"NUL in a code": {
			map[string]string{"Content-Type": form},
			"grant_type=authorization_code&client_id=tsumugi-cli&code=%00",
			"invalid_grant",
		},
	} {
		f.refuses(what, test.code, f.do(call{
			method: "POST", path: "/v1/oauth2/token", body: test.body, header: test.header,
		}))
	}
}

// FuzzBearer: whatever stands in the header, a request without a token is answered 401.
func FuzzBearer(f *testing.F) {
	for _, seed := range []string{
		"Bearer tsa_x", "Bearer tsk_" + strings.Repeat("A", 43), "bearer  forged", "Basic x", "", "Bearer  ",
		"Bearer \u00a0",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", header)
		token, err := api.Bearer(r)
		if (err == nil) != (token != "") || token != strings.TrimSpace(token) {
			t.Errorf("%q: %q, %v", header, token, err)
		}
	})
}

// FuzzForm: a form is read with each parameter once, or refused with an error of RFC 6749.
func FuzzForm(f *testing.F) {
	for _, seed := range []string{"grant_type=refresh_token&client_id=x", "a=1&a=2", "%zz", "a;b", "\x00", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		form, code := api.DecodeForm(r)
		for name, values := range form {
			if len(values) != 1 {
				t.Errorf("%q has %d values", name, len(values))
			}
		}
		if (code == "") != (form != nil) {
			t.Errorf("%q: %v, %q", body, form, code)
		}
	})
}

// TestR86_WhatEndsAConnection: its next call and refresh are refused, and what is open in it ends.
func TestR86_WhatEndsAConnection(t *testing.T) {
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

// endConnections ends all connections that a list shows.
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

// TestR84_ConnectionsOfSomebodyElse are like those that do not exist.
func TestR84_ConnectionsOfSomebodyElse(t *testing.T) {
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
		{"/v1/session/" + id, f.alice.Subject}, // It is no session of the app.
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
	// The token of a repeated request cannot be shown again, and there is no other one.
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
	get[api.PersonalToken](f, http.StatusCreated, // Somebody else's request is another one.
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

	// An administrator forbids them.
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

// TestR59_Scopes walks the router as connections with each scope.
func TestR59_Scopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tokens := make(map[identity.Scope]string)
	for scope := range scopesOfRoutes {
		tokens[scope] = w.personalToken(w.super, string(scope)).Token
	}
	for _, route := range routesOf(t, w.handler) {
		if access[route].may == nil {
			continue // Nobody authenticates there, or by other means.
		}
		for scope, token := range tokens {
			resp := w.do(access[route].call(route, token, newID()))
			refused := resp.status == http.StatusForbidden && strings.Contains(string(resp.body), "insufficient_scope")
			if refused == scopesOfRoutes[scope](route) {
				t.Errorf("%s with the scope %s: %d %s", route, scope, resp.status, resp.body)
			}
		}
	}
}

// scopesOfRoutes says which routes the scopes allow.
var scopesOfRoutes = map[identity.Scope]func(route string) bool{
	identity.ScopeChat: func(route string) bool {
		return has(route, "/v1/category", "/v1/skill", "/v1/favorite_skill", "/v1/notification",
			"/v1/thread", "/v1/share",
			"/v1/message", "/v1/message_feedback", "/v1/me", "/v1/models", "/v1/chat") &&
			!strings.Contains(route, "preprocess") &&
			// Skills are made in the app alone.
			(!has(route, "/v1/skill") || route == "GET /v1/skill" || route == "GET /v1/skill/{skill_id}")
	},
	identity.ScopeDocuments: func(route string) bool {
		return has(route, "/v1/data-source", "/v1/me") || strings.Contains(route, "preprocess")
	},
	identity.ScopeExtension: func(route string) bool {
		return has(route, "/external/chrome_extension", "/v1/me") || route == "GET /v1/thread/{thread_id}" ||
			route == "GET /v1/message" || route == "POST /v1/message/stream" ||
			strings.HasPrefix(route, "GET ") && strings.HasSuffix(route, "/stream") ||
			strings.HasSuffix(route, "{message_id}/stop") || has(route, "/v1/message_feedback")
	},
}

// has reports whether a route's path is one of some, or below.
func has(route string, paths ...string) bool {
	_, path, _ := strings.Cut(route, " ")
	for _, p := range paths {
		if path == p || strings.HasPrefix(path, p+"/") || strings.HasPrefix(path, p+"-") {
			return true
		}
	}
	return false
}
