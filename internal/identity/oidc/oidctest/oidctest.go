// Package oidctest is an OpenID provider for tests, which can send wrong responses. It imports go-jose only.
package oidctest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// The client of the provider.
const (
	ClientID     = "tsumugi"
	ClientSecret = "s3cret"
)

// Claims are the claims of a token.
type Claims map[string]any

// Provider is an OpenID provider. Its fields may be changed between requests.
type Provider struct {
	*httptest.Server

	Discovery Claims                      // Replaces fields of the discovery document.
	Token     Claims                      // Replaces claims of the id tokens. A nil value removes a claim.
	UserInfo  Claims                      // Response of the UserInfo endpoint; nil for none.
	Sign      func(payload []byte) string // Replaces the signature of tokens.
	Requests  atomic.Int64                // The number of requests so far.

	mu     sync.Mutex
	key    jose.JSONWebKey // Guarded by mu.
	grants map[string]grant
}

// grant is a code that was not exchanged yet.
type grant struct{ nonce, challenge, subject string }

// New starts a provider, which the test stops.
func New(t testing.TB) *Provider {
	t.Helper()
	p := &Provider{grants: make(map[string]grant)}
	p.Rotate(t)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /userinfo", func(w http.ResponseWriter, _ *http.Request) { respond(w, http.StatusOK, p.UserInfo) })
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.Requests.Add(1)
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// Rotate replaces the provider's key. It returns the old one.
func (p *Provider) Rotate(t testing.TB) jose.JSONWebKey {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.key
	p.key = jose.JSONWebKey{Key: private, KeyID: rand.Text(), Algorithm: string(jose.RS256), Use: "sig"}
	return old
}

// Key returns the provider's key.
func (p *Provider) Key() jose.JSONWebKey {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.key
}

// Authorize signs a person in for the address of an authentication request, and returns the parameters of the redirect.
func (p *Provider) Authorize(t testing.TB, address, subject string) url.Values {
	t.Helper()
	request, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q, code := request.Query(), rand.Text()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.grants[code] = grant{nonce: q.Get("nonce"), challenge: q.Get("code_challenge"), subject: subject}
	return url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {p.URL}}
}

// SignWith returns a token with a signature by a key.
func SignWith(t testing.TB, algorithm jose.SignatureAlgorithm, key any, payload []byte) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// LogoutToken returns a valid logout token with changed claims. A nil value removes a claim.
func (p *Provider) LogoutToken(t testing.TB, change Claims) string {
	t.Helper()
	now := time.Now()
	return p.sign(t, Claims{
		"iss": p.URL, "aud": ClientID, "iat": now.Unix(), "exp": now.Add(2 * time.Minute).Unix(), "jti": rand.Text(),
		"events": Claims{"http://schemas.openid.net/event/backchannel-logout": Claims{}},
	}, change)
}

// sign returns a token with changed claims.
func (p *Provider) sign(t testing.TB, claims, change Claims) string {
	t.Helper()
	maps.Copy(claims, change)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	if p.Sign != nil {
		return p.Sign(payload)
	}
	return SignWith(t, jose.RS256, p.Key(), payload)
}

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	document := Claims{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
		"jwks_uri": p.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"},
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
	}
	if p.UserInfo != nil {
		document["userinfo_endpoint"] = p.URL + "/userinfo"
	}
	maps.Copy(document, p.Discovery)
	respond(w, http.StatusOK, document)
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	key := p.Key()
	respond(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key.Public()}})
}

// token exchanges a code, once. It checks the client, and the code verifier against the challenge.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	if id, secret, _ := r.BasicAuth(); id != ClientID || secret != ClientSecret {
		respond(w, http.StatusUnauthorized, Claims{"error": "invalid_client"})
		return
	}
	code := r.FormValue("code")
	p.mu.Lock()
	g, known := p.grants[code]
	delete(p.grants, code)
	p.mu.Unlock()
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !known || base64.RawURLEncoding.EncodeToString(sum[:]) != g.challenge {
		respond(w, http.StatusBadRequest, Claims{"error": "invalid_grant"})
		return
	}
	now := time.Now()
	claims := Claims{
		"iss": p.URL, "sub": g.subject, "aud": ClientID, "nonce": g.nonce, "iat": now.Unix(),
		"exp": now.Add(5 * time.Minute).Unix(), "sid": "sid-" + g.subject, "name": "名前",
		"email": g.subject + "@corp.example", "email_verified": true,
	}
	respond(w, http.StatusOK, Claims{
		"access_token": "a", "token_type": "Bearer", "id_token": p.sign(failer{}, claims, p.Token),
	})
}

// failer is the test of a handler, which runs on another goroutine.
type failer struct{ testing.TB }

func (failer) Helper() {}

func (failer) Fatal(args ...any) { panic(args) }

func respond(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // Of tests.
}
