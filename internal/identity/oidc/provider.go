package oidc

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/tsumugi-ai/tsumugi/internal/dial"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/internal/lru"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

const (
	maxIssuer       = 2048
	providerTimeout = 4 * time.Second // For all requests of one operation.
	maxBody         = 256 << 10       // Bytes of a response.
	maxToken        = 64 << 10        // Bytes of an id token or a logout token.
	maxRepeated     = 64 * maxBody    // Bytes of the responses that are repeated.
	maxShown        = 200             // Characters of a provider's text in an error.
)

// provider is an identity provider for the duration of one operation.
type provider struct {
	*oidc.Provider

	settings Settings
	metadata metadata
	client   *http.Client
	failed   *atomic.Pointer[error] // The error of the last request that got no response, or nil.
	expired  func() error           // Returns an error after the end of the operation's time limit.
}

// metadata are the fields of the discovery document that go-oidc does not interpret.
type metadata struct {
	JWKSURL     string   `json:"jwks_uri"`
	AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
	SendsIssuer bool     `json:"authorization_response_iss_parameter_supported"`
	TakesClaims bool     `json:"claims_parameter_supported"`
}

// unreachable is the error of a provider that gives no response.
type unreachable struct{ err error }

func (u *unreachable) Error() string { return "oidc: the provider is not reachable: " + u.err.Error() }

// Unwrap returns the cause.
func (u *unreachable) Unwrap() error { return u.err }

// boundedTransport limits the size of responses, and stores the error of a request without a response in failed.
type boundedTransport struct {
	base   http.RoundTripper
	failed *atomic.Pointer[error]
}

func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.base.RoundTrip(r)
	if err != nil {
		t.failed.Store(&err)
		return nil, err
	}
	if response.StatusCode >= http.StatusInternalServerError {
		err := fmt.Errorf("it responds %s", response.Status)
		t.failed.Store(&err)
	}
	response.Body = http.MaxBytesReader(nil, response.Body, maxBody)
	return response, nil
}

// repeatTime is the lifetime of a cached response.
const repeatTime = 10 * time.Second

// repeater is a transport that sends a request once in each period, and repeats the response until the next one. It
// bounds the requests that callers without authentication cause.
type repeater struct {
	base   http.RoundTripper
	now    func() time.Time
	latest *lru.Cache[string, func() ([]byte, error)] // Responses in the form of HTTP/1.1, by URL and period.
}

func (t *repeater) RoundTrip(r *http.Request) (*http.Response, error) {
	key := r.URL.String() + t.now().Truncate(repeatTime).String()
	read, found := t.latest.Get(key)
	if !found {
		read = sync.OnceValues(func() ([]byte, error) { return t.dump(r) })
		t.latest.Put(key, read, maxBody)
	}
	response, err := read()
	if err != nil {
		return nil, err
	}
	return http.ReadResponse(bufio.NewReader(bytes.NewReader(response)), r)
}

// dump sends a request. Its response is for other callers as well, so the end of this caller's request does not cancel it.
func (t *repeater) dump(r *http.Request) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), providerTimeout)
	defer cancel()
	response, err := t.base.RoundTrip(r.Clone(ctx))
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	response.Body = http.MaxBytesReader(nil, response.Body, maxBody)
	return httputil.DumpResponse(response, true)
}

// discover reads the discovery document of the provider of settings, and checks its addresses. The provider's requests
// use transport. The error is a rejection, or *unreachable.
func (s *Service) discover(ctx context.Context, settings Settings, transport http.RoundTripper) (*provider, error) {
	p := &provider{settings: settings, failed: new(atomic.Pointer[error]), expired: ctx.Err}
	p.client = &http.Client{
		Timeout:   providerTimeout, // For requests that ignore the context.
		Transport: boundedTransport{base: transport, failed: p.failed},
		// A redirect could send the client's secret to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if err := s.providers.CheckURL("発行者", settings.Issuer); err != nil {
		return nil, err
	}
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), settings.Issuer)
	if mismatch, ok := errors.AsType[*oidc.IssuerMismatchError](err); ok {
		return nil, sso.Reject("the discovery document has another issuer", fmt.Sprintf(
			"ディスカバリー文書の発行者「%s」が、設定した発行者と一致しません。末尾の「/」も含めて、同じ値を入力してください。",
			runes.OneLine(mismatch.Discovered, maxShown)))
	}
	if err != nil {
		return nil, p.fail(err, "the discovery document cannot be read", "ディスカバリー文書を読み取れません。発行者を確認してください。")
	}
	p.Provider = found
	if err := found.Claims(&p.metadata); err != nil {
		return nil, sso.Reject("the discovery document is malformed", "ディスカバリー文書の形式が正しくありません。")
	}
	for _, endpoint := range []struct{ name, url string }{
		{"認可エンドポイント", found.Endpoint().AuthURL},
		{"トークンエンドポイント", found.Endpoint().TokenURL},
		{"公開鍵（jwks_uri）", p.metadata.JWKSURL},
		{"UserInfoエンドポイント", found.UserInfoEndpoint()},
	} {
		if endpoint.url == "" && endpoint.url == found.UserInfoEndpoint() {
			continue
		}
		if err := s.providers.CheckURL(endpoint.name, endpoint.url); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// fail returns the error of a request: *unreachable if the provider gave no response, and otherwise a rejection.
func (p *provider) fail(err error, reason, advice string) error {
	cause := p.expired()
	if failed := p.failed.Load(); failed != nil {
		cause = *failed
	}
	switch {
	case errors.Is(cause, dial.ErrForbidden):
		return sso.ErrInside("IDプロバイダー")
	case cause != nil:
		return &unreachable{cause}
	}
	return sso.Reject(reason+": "+runes.OneLine(err.Error(), maxShown), advice)
}

// context returns a context whose requests use the provider's client.
func (p *provider) context(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, p.client)
}

// verifier returns a verifier for tokens of the client, signed with the provider's current keys. It accepts no symmetric
// signatures.
func (p *provider) verifier(ctx context.Context, now func() time.Time) *oidc.IDTokenVerifier {
	return p.VerifierContext(p.context(ctx), &oidc.Config{ClientID: p.settings.ClientID, Now: now})
}

// client returns the OAuth client of the settings.
func (s *Service) client(p *provider) *oauth2.Config {
	endpoint := p.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if methods := p.metadata.AuthMethods; p.settings.ClientSecret == "" ||
		slices.Contains(methods, "client_secret_post") && !slices.Contains(methods, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: p.settings.ClientID, ClientSecret: p.settings.ClientSecret, Endpoint: endpoint,
		RedirectURL: s.redirectURL(p.settings.OrganizationID), Scopes: p.settings.Scopes,
	}
}

// checkKeys reads the provider's keys, and rejects a set without a key for signatures.
func (p *provider) checkKeys(ctx context.Context) error {
	const reason, advice = "the keys cannot be read", "公開鍵（jwks_uri）を読み取れません。"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.metadata.JWKSURL, nil)
	if err != nil {
		return p.fail(err, reason, advice)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return p.fail(err, reason, advice)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	var set struct {
		Keys []struct {
			Type string `json:"kty"`
			Use  string `json:"use"`
		} `json:"keys"`
	}
	if err == nil {
		err = json.Unmarshal(body, &set)
	}
	if err != nil {
		return p.fail(err, reason, advice)
	}
	for _, key := range set.Keys {
		if key.Use != "enc" && slices.Contains([]string{"RSA", "EC", "OKP"}, key.Type) {
			return nil
		}
	}
	return sso.Reject("there is no key", "公開鍵（jwks_uri）に、署名を確認できる鍵がありません。")
}

// describe returns the reason of an error of discover in Japanese, for an administrator.
func describe(err error) string {
	if rejection, ok := errors.AsType[*sso.Rejection](err); ok {
		return rejection.Advice
	}
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		return "IDプロバイダーの証明書を確認できません。社内の認証局を使う場合は、サーバーの運用担当者に設定TSUMUGI_CA_FILEを依頼してください。"
	}
	return "IDプロバイダーに接続できません。発行者のURLと、サーバーからの接続を確認してください。"
}
