package api_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/test/must"
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

// authorization returns a valid authorization request of the extension.
func authorization() map[string]any {
	return map[string]any{
		"response_type": "code", "client_id": extensionClient, "redirect_uri": extensionRedirect, "state": "状態",
		"scope": "chat extension", "code_challenge": challengeOf(codeVerifier), "code_challenge_method": "S256",
		"allow": true,
	}
}

// changed returns a copy of a record with changed fields. Nil removes a field.
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

// allow answers an authorization request as a person, and returns the query of the redirect.
func (f *fixture) allow(token string, request map[string]any) url.Values {
	f.t.Helper()
	answer := get[api.GrantRedirect](f, http.StatusOK, call{
		method: "POST", path: "/v1/oauth2/grant", token: token, body: request,
	})
	redirect, query, _ := strings.Cut(answer.RedirectTo, "?")
	if redirect != request["redirect_uri"] {
		f.t.Fatalf("redirected to %s", answer.RedirectTo)
	}
	values := must.Get(url.ParseQuery(query))(f.t)
	return values
}

// post sends a form like an OAuth client.
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

// tokens decodes the tokens of a response.
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

// status calls a path with a token and returns the status.
func (f *fixture) status(path, token string) int {
	f.t.Helper()
	return f.do(call{method: "GET", path: path, token: token}).status
}
