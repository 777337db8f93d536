package pool_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// jwks fetches the public keys.
func (f *fixture) jwks(t *testing.T) reply {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet,
		f.server.URL+"/pool/"+poolID+"/.well-known/jwks.json", http.NoBody))(t)
	return do(t, f.server, req)
}

func (f *fixture) keyIDs(t *testing.T) []string {
	t.Helper()
	var ids []string
	for _, key := range f.jwks(t).fields["keys"].([]any) {
		ids = append(ids, key.(map[string]any)["kid"].(string))
	}
	return ids
}

func TestR36_Claims(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sub := f.create(t, pool.NewUser{
		Email: "kumi@example.com", Name: "久美", PermanentPassword: password, Groups: []string{"sales", "editors"},
	})
	out := must.Get(f.signIn(t.Context(), "kumi@example.com", password))(t)
	set := must.Get(keyfunc.NewJWKSetJSON(json.RawMessage(f.jwks(t).body)))(t)

	common := []string{
		"auth_time", "cognito:groups", "event_id", "exp", "iat", "iss", "jti", "origin_jti", "sub",
		"token_use",
	}
	for use, c := range map[string]struct {
		token *string
		names []string
		texts map[string]string
	}{
		"id": {
			out.AuthenticationResult.IdToken,
			[]string{"aud", "cognito:username", "email", "email_verified", "name"},
			map[string]string{
				"aud": clientID, "cognito:username": sub.String(), "email": "kumi@example.com",
				"name": "久美",
			},
		},
		"access": {
			out.AuthenticationResult.AccessToken,
			[]string{"client_id", "scope", "username"},
			map[string]string{
				"client_id": clientID, "username": sub.String(),
				"scope": "aws.cognito.signin.user.admin",
			},
		},
	} {
		header, got := claims(t, c.token)
		if header["alg"] != "RS256" || len(header) != 2 || !slices.Contains(f.keyIDs(t), header["kid"].(string)) {
			t.Errorf("%s: header %v", use, header)
		}
		names := make([]string, 0, len(got))
		for name := range got {
			names = append(names, name)
		}
		slices.Sort(names)
		want := slices.Sorted(slices.Values(append(slices.Clone(common), c.names...)))
		if !slices.Equal(names, want) {
			t.Errorf("%s has the claims %v, want %v", use, names, want)
		}
		c.texts["token_use"], c.texts["iss"], c.texts["sub"] = use, issuer, sub.String()
		for name, value := range c.texts {
			if got[name] != value {
				t.Errorf("%s: %s = %v, want %s", use, name, got[name], value)
			}
		}
		for _, name := range []string{"event_id", "jti", "origin_jti"} {
			if _, err := uuid.Parse(got[name].(string)); err != nil {
				t.Errorf("%s: %s = %v", use, name, got[name])
			}
		}
		if groups, ok := got["cognito:groups"].([]any); !ok || len(groups) != 2 || groups[0] != "sales" {
			t.Errorf("%s: groups %v", use, got["cognito:groups"])
		}
		// A third party verifies it with the JWKS only; the server verifies it with Keyfunc.
		for name, key := range map[string]jwt.Keyfunc{"JWKS": set.Keyfunc, "in process": f.Keyfunc(t.Context())} {
			_, err := jwt.Parse(*c.token, key, jwt.WithValidMethods([]string{"RS256"}), jwt.WithIssuer(issuer),
				jwt.WithTimeFunc(f.clock.Now))
			if err != nil {
				t.Errorf("%s, %s: %v", use, name, err)
			}
		}
	}
	_, id := claims(t, f.mustSignIn(t).IdToken)
	if _, ok := id["cognito:groups"]; ok || id["email_verified"] != true {
		t.Errorf("a user without groups: %v", id)
	}
}

func TestJWKSHasNoPrivateKeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.jwks(t)
	if r.status != 200 || r.header.Get("Content-Type") != "application/json" ||
		r.header.Get("Cache-Control") != "public, max-age=300" {
		t.Errorf("got %d %v", r.status, r.header)
	}
	keys := r.fields["keys"].([]any)
	if len(keys) != 1 {
		t.Fatalf("%d keys", len(keys))
	}
	key := keys[0].(map[string]any)
	if key["kty"] != "RSA" || key["alg"] != "RS256" || key["use"] != "sig" || key["e"] != "AQAB" || len(key) != 6 {
		t.Errorf("key %v", key)
	}
	n := must.Get(base64.RawURLEncoding.DecodeString(key["n"].(string)))(t)
	if new(big.Int).SetBytes(n).BitLen() != 2048 {
		t.Errorf("%d bits", new(big.Int).SetBytes(n).BitLen())
	}
	for path, status := range map[string]int{
		"/pool/" + poolID + "/.well-known/jwks.json":             200,
		"/pool/ap-northeast-1_Other/.well-known/jwks.json":       405,
		"/pool/.well-known/jwks.json":                            405,
		"/pool/" + poolID + "/.well-known/openid-configurations": 405,
	} {
		req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodHead, f.server.URL+path, http.NoBody))(t)
		if r := do(t, f.server, req); r.status != status {
			t.Errorf("%s: %d", path, r.status)
		}
	}
	if r := post(t, f.server, "InitiateAuth", "{}"); r.status != 400 {
		t.Errorf("got %d", r.status)
	}
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost,
		f.server.URL+"/pool/"+poolID+"/.well-known/jwks.json", http.NoBody))(t)
	if r := do(t, f.server, req); r.status != 405 || r.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d %v", r.status, r.header)
	}
}

// sign returns a token forged by an attacker.
func sign(t *testing.T, method jwt.SigningMethod, key any, header map[string]any, c jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(method, c)
	for name, value := range header {
		token.Header[name] = value
	}
	text := must.Get(token.SignedString(key))(t)
	return text
}

func TestR47_ForgedTokens(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	result := f.mustSignIn(t)
	header, payload := claims(t, result.AccessToken)
	kid := header["kid"]
	own := must.Get(rsa.GenerateKey(rand.Reader, 2048))(t)
	e := base64.RawURLEncoding.EncodeToString(big.NewInt(int64(own.E)).Bytes())
	embedded := map[string]any{
		"kty": "RSA", "n": base64.RawURLEncoding.EncodeToString(own.N.Bytes()), "e": e,
		"alg": "RS256", "kid": kid,
	}
	public := must.Get(f.Keyfunc(t.Context())(&jwt.Token{Header: header}))(t)
	der := must.Get(x509.MarshalPKIXPublicKey(public))(t)
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	parts := strings.Split(*result.AccessToken, ".")
	stripped := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"` + kid.(string) + `"}`))

	forged := map[string]string{
		"none": sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, map[string]any{"kid": kid},
			payload),
		"none, signature": stripped + "." + parts[1] + "." + parts[2],
		"HS256, PEM":      sign(t, jwt.SigningMethodHS256, publicPEM, map[string]any{"kid": kid}, payload),
		"HS256, DER":      sign(t, jwt.SigningMethodHS256, der, map[string]any{"kid": kid}, payload),
		"RS512":           sign(t, jwt.SigningMethodRS512, own, map[string]any{"kid": kid}, payload),
		"PS256":           sign(t, jwt.SigningMethodPS256, own, map[string]any{"kid": kid}, payload),
		"another's key":   sign(t, jwt.SigningMethodRS256, own, map[string]any{"kid": kid}, payload),
		"no kid":          sign(t, jwt.SigningMethodRS256, own, nil, payload),
		"unknown kid":     sign(t, jwt.SigningMethodRS256, own, map[string]any{"kid": "other"}, payload),
		"path in kid":     sign(t, jwt.SigningMethodRS256, own, map[string]any{"kid": "../../dev/null"}, payload),
		"SQL in kid":      sign(t, jwt.SigningMethodRS256, own, map[string]any{"kid": "x' union select 'y"}, payload),
		"number as kid":   sign(t, jwt.SigningMethodRS256, own, map[string]any{"kid": 7}, payload),
		"jwk":             sign(t, jwt.SigningMethodRS256, own, map[string]any{"kid": kid, "jwk": embedded}, payload),
		"jku": sign(t, jwt.SigningMethodRS256, own,
			map[string]any{"kid": "other", "jku": "https://evil.example/jwks.json"}, payload),
		"x5u": sign(t, jwt.SigningMethodRS256, own,
			map[string]any{"kid": "other", "x5u": "https://evil.example/x"}, payload),
		"empty signature": parts[0] + "." + parts[1] + ".",
		"other payload": parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"token_use":"access"}`)) +
			"." + parts[2],
		"bit of signature": *result.AccessToken + "A",
	}
	for name, token := range forged {
		_, err := f.getUser(t.Context(), token)
		if err == nil {
			t.Errorf("%s was taken", name)
			continue
		}
		wantNotAuthorized(t, err, "Invalid Access Token")
	}
	must.Get(f.getUser(t.Context(), *result.AccessToken))(t)
}

func TestR48_TokensOfOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	result := f.mustSignIn(t)
	_, err := f.getUser(t.Context(), *result.IdToken) // An id token is not an access token.
	wantNotAuthorized(t, err, "Invalid Access Token")

	// Tokens of pools with the same keys and another issuer or client.
	foreign := func(change func(*pool.Config)) *string {
		cfg := config(f.clock)
		change(&cfg)
		other := &fixture{Pool: newPool(t, cfg, f.db)}
		other.server = serve(t, other.Pool)
		r := other.post(t, "InitiateAuth", strings.Replace(signInBody(email, password), clientID, cfg.ClientID, 1))
		if r.status != 200 {
			t.Fatalf("%d %s", r.status, r.body)
		}
		return aws.String(r.fields["AuthenticationResult"].(map[string]any)["AccessToken"].(string))
	}
	for name, token := range map[string]*string{
		"issuer": foreign(func(c *pool.Config) { c.Issuer = "https://other.example/pool/" + poolID }),
		"client": foreign(func(c *pool.Config) { c.ClientID = "other" }),
	} {
		_, err := f.getUser(t.Context(), *token)
		if err == nil {
			t.Fatalf("the token of another %s was taken", name)
		}
		wantNotAuthorized(t, err, "Invalid Access Token")
		f.clock.Advance(2 * time.Hour)
		_, err = f.getUser(t.Context(), *token) // Its expiry is not revealed.
		wantNotAuthorized(t, err, "Invalid Access Token")
	}
}

func TestRefreshTokensBelongToTheirClient(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	result := f.mustSignIn(t)
	cfg := config(f.clock)
	cfg.ClientID = "other"
	server := serve(t, newPool(t, cfg, f.db))
	r := post(t, server, "InitiateAuth",
		`{"AuthFlow":"REFRESH_TOKEN_AUTH","ClientId":"other","AuthParameters":{"REFRESH_TOKEN":"`+
			*result.RefreshToken+`"}}`)
	if r.status != 400 || r.fields["message"] != "Invalid Refresh Token." {
		t.Errorf("got %d %s", r.status, r.body)
	}
	r = post(t, server, "RevokeToken", `{"ClientId":"other","Token":"`+*result.RefreshToken+`"}`)
	if r.status != 200 {
		t.Errorf("got %d %s", r.status, r.body)
	}
	_, err := f.refresh(t.Context(), *result.RefreshToken) // Not revoked.
	must.Succeed(t, err)
}

func TestServersThatStartAtOnceAgreeOnAKey(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	c := newClock()
	fixtures := make([]*fixture, 6)
	var wg sync.WaitGroup
	for i := range fixtures {
		wg.Go(func() {
			p, err := pool.New(context.WithoutCancel(t.Context()), config(c), db)
			if err != nil {
				t.Error(err)
				return
			}
			fixtures[i] = &fixture{Pool: p}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	var first []string
	for _, f := range fixtures {
		f.server = serve(t, f.Pool)
		ids := f.keyIDs(t)
		if first == nil {
			first = ids
		}
		if len(ids) != 1 || !slices.Equal(ids, first) {
			t.Errorf("keys %v, the first server has %v", ids, first)
		}
	}
}

func TestKeysRotate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	old := f.mustSignIn(t)
	oldHeader, _ := claims(t, old.AccessToken)
	// Another process rotates the key; this server notices within a minute.
	change, err := newPool(t, config(f.clock), f.db).RotateKey(ctx)
	must.Succeed(t, err)
	if !change.ActiveFrom.Equal(f.clock.Now().Truncate(time.Microsecond).Add(10*time.Minute)) ||
		!change.OldUntil.Equal(change.ActiveFrom.Add(65*time.Minute)) {
		t.Errorf("announced: %+v", change)
	}
	if len(f.keyIDs(t)) != 1 {
		t.Error("the keys are read again too soon")
	}
	f.clock.Advance(time.Minute)
	if ids := f.keyIDs(t); len(ids) != 2 || ids[0] != oldHeader["kid"] {
		t.Fatalf("keys %v", ids)
	}
	header, _ := claims(t, f.mustSignIn(t).AccessToken)
	if header["kid"] != oldHeader["kid"] {
		t.Error("the new key signs before others can have seen it")
	}
	f.clock.Advance(9 * time.Minute)
	late := must.Get(f.refresh(ctx, *old.RefreshToken))(t)
	header, _ = claims(t, late.AuthenticationResult.AccessToken)
	if header["kid"] != change.ID {
		t.Error("the old key still signs")
	}
	for _, token := range []*string{old.AccessToken, late.AuthenticationResult.AccessToken} {
		must.Get(f.getUser(ctx, *token))(t)
	}
	f.clock.Advance(time.Hour + 5*time.Minute)
	if ids := f.keyIDs(t); len(ids) != 1 || ids[0] != header["kid"] {
		t.Errorf("keys %v", ids)
	}
	_, err = f.getUser(ctx, *old.AccessToken)
	wantNotAuthorized(t, err, "Invalid Access Token") // Its key has been removed.
	f.mustSignIn(t)

	// A day later, the next rotation deletes retired keys.
	f.clock.Advance(25 * time.Hour)
	next := must.Get(f.RotateKey(ctx))(t)
	keys := must.Get(f.db.PoolKeys(ctx))(t)
	if len(keys) != 2 || keys[0].ID != change.ID || keys[1].ID != next.ID {
		t.Errorf("%d keys", len(keys))
	}
}

// readings counts the reads of the keys, and fails on demand.
type readings struct {
	pool.Store
	mu   sync.Mutex // Guards the fields below.
	n    int
	fail error
}

func (s *readings) PoolKeys(ctx context.Context) ([]pool.Key, error) {
	s.mu.Lock()
	s.n++
	err := s.fail
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return s.Store.PoolKeys(ctx)
}

func (s *readings) set(err error) (before int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
	return s.n
}

func TestR49_UnknownKeysDoNotReachTheDatabase(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	counted := &readings{Store: f.db}
	p := newPool(t, config(f.clock), counted)
	before := counted.set(nil)
	for range 1000 {
		if _, err := p.Keyfunc(t.Context())(&jwt.Token{Header: map[string]any{"kid": uuid.NewString()}}); err == nil {
			t.Fatal("an unknown key was found")
		}
	}
	if n := counted.set(nil); n != before {
		t.Errorf("%d readings", n-before)
	}
	// While the database is unavailable, the known keys stay in use, and calls do not query it each time.
	id, _ := claims(t, f.mustSignIn(t).IdToken)
	f.clock.Advance(2 * time.Minute)
	counted.set(context.DeadlineExceeded)
	for range 100 {
		must.Get(p.Keyfunc(t.Context())(&jwt.Token{Header: id}))(t)
	}
	if n := counted.set(nil); n != before+1 {
		t.Errorf("%d readings", n-before)
	}
	f.clock.Advance(5 * time.Second)
	must.Get(p.Keyfunc(t.Context())(&jwt.Token{Header: id}))(t)
	if n := counted.set(nil); n != before+2 {
		t.Errorf("%d readings", n-before)
	}
}
