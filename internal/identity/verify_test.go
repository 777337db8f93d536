package identity_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

const (
	issuer   = "https://tsumugi.example/pool/ap-northeast-1_Test"
	clientID = "client"
)

// signer holds the pool's key and an attacker's.
type signer struct {
	own, other *rsa.PrivateKey
	now        time.Time
}

func newSigner(t *testing.T) *signer {
	t.Helper()
	own := must.Get(rsa.GenerateKey(rand.Reader, 2048))(t)
	other := must.Get(rsa.GenerateKey(rand.Reader, 2048))(t)
	return &signer{own: own, other: other, now: time.Date(2026, 3, 4, 14, 5, 0, 0, time.UTC)}
}

// verifier returns a verifier of the pool's tokens for its password client.
func (s *signer) verifier() *identity.PoolVerifier {
	return identity.NewPoolVerifier(func() time.Time { return s.now }, s.issuer(clientID, identity.AuthCognito))
}

// issuer returns an issuer with the pool's key under the id "k1" and no other key.
func (s *signer) issuer(client string, how identity.AuthType) identity.Issuer {
	return identity.Issuer{URL: issuer, ClientID: client, AuthType: how, Key: func(context.Context) jwt.Keyfunc {
		return func(token *jwt.Token) (any, error) {
			if token.Header["kid"] != "k1" {
				return nil, errors.New("unknown key")
			}
			return &s.own.PublicKey, nil
		}
	}}
}

// token returns a valid id token after applying change to it.
func (s *signer) token(t *testing.T, method jwt.SigningMethod, key any,
	change func(header map[string]any, claims jwt.MapClaims),
) string {
	t.Helper()
	token := jwt.NewWithClaims(method, jwt.MapClaims{
		"sub": "subject", "iss": issuer, "aud": clientID, "token_use": "id", "iat": s.now.Unix(),
		"exp": s.now.Add(time.Hour).Unix(),
	})
	token.Header["kid"] = "k1"
	if change != nil {
		change(token.Header, token.Claims.(jwt.MapClaims))
	}
	signed := must.Get(token.SignedString(key))(t)
	return signed
}

func TestR47_R48_InvalidTokens(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	v := s.verifier()
	claims, err := v.VerifyIDToken(t.Context(), s.token(t, jwt.SigningMethodRS256, s.own, nil))
	if err != nil || claims.Subject != "subject" || !claims.ExpiresAt.Equal(s.now.Add(time.Hour)) {
		t.Fatalf("a good token: %+v, %v", claims, err)
	}
	public := x509.MarshalPKCS1PublicKey(&s.own.PublicKey)
	set := func(name string, value any) func(map[string]any, jwt.MapClaims) {
		return func(_ map[string]any, claims jwt.MapClaims) { claims[name] = value }
	}
	header := func(name string, value any) func(map[string]any, jwt.MapClaims) {
		return func(header map[string]any, _ jwt.MapClaims) { header[name] = value }
	}
	jwk := map[string]string{"kty": "RSA", "n": base64.RawURLEncoding.EncodeToString(s.other.N.Bytes()), "e": "AQAB"}
	good := s.token(t, jwt.SigningMethodRS256, s.own, nil)
	for name, token := range map[string]string{
		"alg none":                  s.token(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil),
		"HS256 with the public key": s.token(t, jwt.SigningMethodHS256, public, nil),
		"another key":               s.token(t, jwt.SigningMethodRS256, s.other, nil),
		"another algorithm":         s.token(t, jwt.SigningMethodRS512, s.own, nil),
		"kid injection":             s.token(t, jwt.SigningMethodRS256, s.other, header("kid", "../../k1' OR '1'='1")),
		"no kid": s.token(t, jwt.SigningMethodRS256, s.own,
			func(h map[string]any, _ jwt.MapClaims) { delete(h, "kid") }),
		"jwk in the header": s.token(t, jwt.SigningMethodRS256, s.other, header("jwk", jwk)),
		"jku in the header": s.token(t, jwt.SigningMethodRS256, s.other,
			header("jku", "https://evil.example/jwks.json")),
		"another issuer":  s.token(t, jwt.SigningMethodRS256, s.own, set("iss", issuer+"2")),
		"another client":  s.token(t, jwt.SigningMethodRS256, s.own, set("aud", "other")),
		"an access token": s.token(t, jwt.SigningMethodRS256, s.own, set("token_use", "access")),
		"no token_use": s.token(t, jwt.SigningMethodRS256, s.own,
			func(_ map[string]any, c jwt.MapClaims) { delete(c, "token_use") }),
		"no subject": s.token(t, jwt.SigningMethodRS256, s.own, set("sub", "")),
		"no end": s.token(t, jwt.SigningMethodRS256, s.own,
			func(_ map[string]any, c jwt.MapClaims) { delete(c, "exp") }),
		"not yet": s.token(t, jwt.SigningMethodRS256, s.own,
			set("nbf", s.now.Add(time.Hour).Unix())),
		"run out and of another key": s.token(t, jwt.SigningMethodRS256, s.other,
			set("exp", s.now.Add(-time.Hour).Unix())),
		"run out and of a stranger": s.token(t, jwt.SigningMethodRS256, s.own,
			func(_ map[string]any, c jwt.MapClaims) { c["exp"], c["iss"] = s.now.Add(-time.Hour).Unix(), "x" }),
		"huge":    good + strings.Repeat("a", 1<<20),
		"cut off": good[:len(good)-10],
		"empty":   "", "garbage": "a.b.c", "dots": strings.Repeat(".", 1000),
	} {
		_, err := v.VerifyIDToken(t.Context(), token)
		if fault.CodeOf(err) != fault.Unauthenticated || errors.Is(err, identity.ErrExpired) ||
			fault.DetailOf(err) != "Not authenticated" {
			t.Errorf("%s: %v", name, err)
		}
	}
	expired := s.token(t, jwt.SigningMethodRS256, s.own, set("exp", s.now.Add(-time.Second).Unix()))
	if _, err := v.VerifyIDToken(t.Context(), expired); !errors.Is(err, identity.ErrExpired) {
		t.Errorf("run out: %v", err)
	}
}

// TestVerifiedTokensAreNotTrustedForLong: a cached token expires on time, and soon after its key is withdrawn.
func TestVerifiedTokensAreNotTrustedForLong(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	looked, retired := 0, false
	pool := s.issuer(clientID, identity.AuthCognito)
	pool.Key = func(context.Context) jwt.Keyfunc {
		return func(*jwt.Token) (any, error) {
			if looked++; retired {
				return nil, errors.New("unknown key")
			}
			return &s.own.PublicKey, nil
		}
	}
	v := identity.NewPoolVerifier(func() time.Time { return s.now }, pool)
	holds := func(token string) {
		t.Helper()
		if _, err := v.VerifyIDToken(t.Context(), token); err != nil {
			t.Error(err)
		}
	}
	short := s.token(t, jwt.SigningMethodRS256, s.own, func(_ map[string]any,
		c jwt.MapClaims,
	) {
		c["exp"] = s.now.Add(30 * time.Second).Unix()
	})
	long := s.token(t, jwt.SigningMethodRS256, s.own, nil)
	for range 3 {
		holds(short)
		holds(long)
	}
	if looked != 2 {
		t.Errorf("two tokens were looked into %d times", looked)
	}
	if _, err := v.VerifyIDToken(t.Context(), long[:len(long)-4]+"AAAA"); fault.CodeOf(err) != fault.Unauthenticated {
		t.Errorf("another signature: %v", err)
	}
	s.now, retired = s.now.Add(30*time.Second), true
	holds(long) // The key has just been withdrawn.
	if _, err := v.VerifyIDToken(t.Context(), short); fault.CodeOf(err) != fault.Unauthenticated {
		t.Errorf("run out: %v", err)
	}
	s.now = s.now.Add(30 * time.Second)
	if _, err := v.VerifyIDToken(t.Context(), long); fault.CodeOf(err) != fault.Unauthenticated {
		t.Errorf("of a retired key: %v", err)
	}
}

func FuzzR47_Tokens(f *testing.F) {
	f.Add("eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.")
	f.Add("a.b.c")
	v := identity.NewPoolVerifier(time.Now, identity.Issuer{
		URL: issuer, ClientID: clientID,
		Key: func(context.Context) jwt.Keyfunc {
			return func(*jwt.Token) (any, error) { return nil, errors.New("no key") }
		},
	})
	f.Fuzz(func(t *testing.T, token string) {
		if _, err := v.VerifyIDToken(t.Context(), token); fault.CodeOf(err) != fault.Unauthenticated {
			t.Errorf("%q: %v", token, err)
		}
	})
}

func TestActorTravelsInTheContext(t *testing.T) {
	t.Parallel()
	if _, err := identity.ActorFrom(t.Context()); fault.CodeOf(err) != fault.Unauthenticated {
		t.Errorf("got %v", err)
	}
	want := identity.Actor{User: identity.User{ID: uuid.New()}}
	if got, err := identity.ActorFrom(identity.WithActor(t.Context(), want)); err != nil ||
		!reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}
