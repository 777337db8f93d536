package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/oauth2"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// clientConfig is the configuration of golang.org/x/oauth2 for the command line, from the metadata.
func (f *fixture) clientConfig() *oauth2.Config {
	f.t.Helper()
	found := get[api.OAuthMetadata](f, http.StatusOK,
		call{method: "GET", path: "/.well-known/oauth-authorization-server"})
	if found.Issuer != issuer || found.AuthorizationEndpoint != issuer+"/oauth/grant" {
		f.t.Fatalf("got %+v", found)
	}
	here := func(endpoint string) string { return strings.Replace(endpoint, issuer, f.url, 1) }
	return &oauth2.Config{
		ClientID: cliClient, RedirectURL: cliRedirect, Scopes: []string{"chat"},
		Endpoint: oauth2.Endpoint{
			AuthURL: here(found.AuthorizationEndpoint), TokenURL: here(found.TokenEndpoint),
			DeviceAuthURL: here(found.DeviceAuthorizationEndpoint),
		},
	}
}

// clientMe requests the connected person with the client's transport.
func (f *fixture) clientMe(client *http.Client) {
	f.t.Helper()
	req := must.Get(http.NewRequestWithContext(f.t.Context(), http.MethodGet, f.url+"/v1/me", nil))(f.t)
	resp := must.Get(client.Do(req))(f.t)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		f.t.Errorf("got %d", resp.StatusCode)
	}
}

// TestAnIndependentClientConnects uses golang.org/x/oauth2 with PKCE. It detects by itself that clients have no secret.
func TestAnIndependentClientConnects(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	cfg, verifier := f.clientConfig(), oauth2.GenerateVerifier()
	page := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet,
		cfg.AuthCodeURL("xyz", oauth2.S256ChallengeOption(verifier)), nil))(t)
	request := map[string]any{"allow": true}
	for name, values := range page.URL.Query() {
		request[name] = values[0]
	}
	answer := f.allow(f.alice.Subject, request)
	if answer.Get("state") != "xyz" {
		t.Errorf("answered %v", answer)
	}
	token := must.Get(cfg.Exchange(t.Context(), answer.Get("code"), oauth2.VerifierOption(verifier)))(t)
	f.clientMe(cfg.Client(t.Context(), token))
	old := *token
	token.AccessToken, token.ExpiresIn, token.Expiry = "", 0, token.Expiry.AddDate(0, 0, -1)
	source := cfg.TokenSource(t.Context(), token)
	if next, err := source.Token(); err != nil || next.RefreshToken == old.RefreshToken {
		t.Fatalf("refreshed: %+v, %v", next, err)
	}
	f.clientMe(oauth2.NewClient(t.Context(), source))
	if _, err := cfg.Exchange(t.Context(), answer.Get("code"), oauth2.VerifierOption(verifier)); err == nil ||
		!strings.Contains(err.Error(), "invalid_grant") {
		t.Errorf("a code a second time: %v", err)
	}
}

// TestAnIndependentClientConnectsADevice polls until a person has answered.
func TestAnIndependentClientConnectsADevice(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	cfg := f.clientConfig()
	code := must.Get(cfg.DeviceAuth(t.Context()))(t)
	if resp := f.do(call{
		method: "PUT", path: "/v1/oauth2/device", token: f.alice.Subject,
		body: map[string]any{"user_code": code.UserCode, "allow": true},
	}); resp.status != http.StatusNoContent {
		t.Fatalf("%d %s", resp.status, resp.body)
	}
	code.Interval = 1 // The person has already answered.
	token := must.Get(cfg.DeviceAccessToken(context.WithoutCancel(t.Context()), code))(t)
	f.clientMe(cfg.Client(t.Context(), token))
}
