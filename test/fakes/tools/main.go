// Command faketools serves a tool server with OAuth for browser tests, by the official SDK. An authorization server
// issues the tokens; faketools asks it about each one (RFC 7662), as the client "crm".
//
//	faketools --listen 127.0.0.1:9914 --issuer http://127.0.0.1:9998 --introspection http://127.0.0.1:9998/introspect
//
// It prints its URL. Its tool whoami returns the account of the token. It is not part of the product. It imports package
// fakes and the SDK.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/tsumugi-ai/tsumugi/test/fakes"
)

const (
	requestTimeout = 5 * time.Second
	scope          = "crm"
)

func main() { fakes.Main("faketools", run) }

// run serves until ctx is cancelled. Its output begins with the server's URL.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("faketools", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "127.0.0.1:9914", "address to serve on; port 0 takes a free one")
	issuer := flags.String("issuer", "", "URL of the authorization server")
	introspection := flags.String("introspection", "", "URL of its introspection endpoint")
	secret := flags.String("secret", "", "secret of the client crm there")
	if err := fakes.Parse(flags, args); err != nil {
		return err
	}
	return fakes.Serve(ctx, *listen, requestTimeout, stdout, func(root string) (http.Handler, string, error) {
		resource := root + "/mcp"
		const metadata = "/.well-known/oauth-protected-resource/mcp"
		mux := http.NewServeMux()
		mux.Handle(metadata, auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
			Resource: resource, AuthorizationServers: []string{*issuer}, ScopesSupported: []string{scope},
		}))
		verify := verifier{endpoint: *introspection, secret: *secret, resource: resource}
		mux.Handle("/mcp", auth.RequireBearerToken(verify.token, &auth.RequireBearerTokenOptions{
			ResourceMetadataURL: root + metadata, Scopes: []string{scope},
		})(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newServer() },
			&sdk.StreamableHTTPOptions{Stateless: true})))
		return mux, resource + "\n", nil
	})
}

func newServer() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "crm", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{
		Name: "whoami", Title: "アカウントの確認", Description: "どのアカウントで操作しているかを返します。",
		InputSchema: json.RawMessage(`{"type":"object"}`),
	}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		text := "アカウントは" + r.Extra.TokenInfo.UserID + "です。"
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
	})
	return server
}

// verifier asks an authorization server about tokens.
type verifier struct{ endpoint, secret, resource string }

// token is an auth.TokenVerifier. It accepts tokens for this resource only (RFC 8707).
func (v verifier) token(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	form := url.Values{"token": {token}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, v.endpoint, strings.NewReader(form))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.SetBasicAuth("crm", v.secret)
	response, err := http.DefaultClient.Do(request) //nolint:gosec // The user of this test tool chooses the URL.
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	var found struct {
		Active   bool   `json:"active"`
		Audience string `json:"aud"`
		Subject  string `json:"sub"`
		Scope    string `json:"scope"`
		Expires  int64  `json:"exp"`
	}
	if err := json.NewDecoder(response.Body).Decode(&found); err != nil {
		return nil, err
	}
	if !found.Active || found.Audience != v.resource {
		return nil, fmt.Errorf("%w: active %t, for %q", auth.ErrInvalidToken, found.Active, found.Audience)
	}
	return &auth.TokenInfo{
		UserID: found.Subject, Scopes: strings.Fields(found.Scope), Expiration: time.Unix(found.Expires, 0),
	}, nil
}
