package oauth_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oauth"
)

// FuzzR85_Ask: for any request, the browser is redirected to registered addresses only, the scopes do not exceed the
// client's, and a challenge with S256 is required.
func FuzzR85_Ask(f *testing.F) {
	const extension = "https://abcdefghijklmnopabcdefghijklmnop.chromiumapp.org/"
	challenge := strings.Repeat("A", 43)
	for _, seed := range []struct{ client, redirect, scope, state, method string }{
		{"tsumugi-cli", "http://127.0.0.1:49152/callback", "chat", "xyz", "S256"},
		{"tsumugi-cli", "http://[::1]:1/callback", "", "", "S256"},
		{"tsumugi-cli", "http://127.0.0.1:80@evil.example/callback", "chat", "", "S256"},
		{"tsumugi-cli", "http://127.0.0.1:1/callback?x=%00#y", "chat admin", "", "plain"},
		{"tsumugi-mcp", "http://127.0.0.1:33418/", "chat documents", "", "S256"},
		{"tsumugi-mcp", "http://localhost:1", "", "", "S256"},
		{"tsumugi-mcp", "http://localhost:1@evil.example:1", "", "", "S256"},
		{"tsumugi-extension", extension, "extension chat", "\x00\r\nLocation: x", ""},
		{"tsumugi-extension", extension + "\t", "extension", "あ", "S256"},
		{"", "", "", "", ""},
	} {
		f.Add(seed.client, seed.redirect, seed.scope, seed.state, challenge, seed.method)
	}
	service := oauth.NewService(oauth.Config{
		PublicURL: "https://tsumugi.example",
		Clients:   oauth.Clients([]string{"chrome-extension://abcdefghijklmnopabcdefghijklmnop"}),
	}, nil, nil)
	f.Fuzz(func(t *testing.T, client, redirect, scope, state, challenge, method string) {
		request := oauth.Request{
			ResponseType: "code", ClientID: client, RedirectURI: redirect, Scope: scope, State: state,
			Challenge: challenge, ChallengeMethod: method,
		}
		consent, refused, err := service.ValidateRequest(request)
		if err != nil {
			return
		}
		leads := redirect == extension
		if client == "tsumugi-mcp" {
			u, err := url.Parse(redirect)
			leads = err == nil && u.Scheme == "http" && u.User == nil && u.RawQuery == "" && u.Fragment == "" &&
				slices.Contains([]string{"", "/", "/callback", "/oauth/callback"}, u.Path) &&
				(u.Hostname() == "127.0.0.1" || u.Hostname() == "localhost")
		}
		if client == "tsumugi-cli" {
			u, err := url.Parse(redirect)
			leads = err == nil && u.Scheme == "http" && u.User == nil && u.Path == "/callback" && u.RawQuery == "" &&
				u.Fragment == "" && (u.Hostname() == "127.0.0.1" || u.Hostname() == "::1")
		}
		if !leads || consent.Redirect.String() != redirect {
			t.Fatalf("%s leads to %q", client, redirect)
		}
		if refused == "" {
			if method != "S256" || len(challenge) != 43 || len(consent.Scopes) == 0 ||
				client != "tsumugi-extension" && strings.Contains(scope, string(identity.ScopeExtension)) {
				t.Errorf("%+v is asked for %v", request, consent.Scopes)
			}
			if refused, err = service.Deny(request); err != nil {
				t.Fatal(err)
			}
		}
		answer, err := url.Parse(refused)
		if err != nil || !strings.HasPrefix(refused, redirect+"?") || strings.ContainsAny(refused, "\r\n") {
			t.Fatalf("the client is told by %q, %v", refused, err)
		}
		if q := answer.Query(); q.Get("error") == "" || q.Get("iss") != "https://tsumugi.example" || q.Has("code") {
			t.Errorf("the client is told %v", q)
		}
	})
}
