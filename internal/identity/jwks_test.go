package identity_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// provider serves a JWKS without a network.
type provider struct {
	mu     sync.Mutex
	asked  int           // Guarded by mu.
	answer string        // Guarded by mu. The provider is unreachable if empty.
	status int           // Guarded by mu. 0 means 200.
	hold   chan struct{} // If not nil, responses wait until it is closed.
}

func (p *provider) RoundTrip(*http.Request) (*http.Response, error) {
	p.mu.Lock()
	p.asked++
	answer, status := p.answer, p.status
	p.mu.Unlock()
	if p.hold != nil {
		<-p.hold
	}
	if answer == "" {
		return nil, errors.New("no route to host")
	}
	if status == 0 {
		status = http.StatusOK
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status),
		Body: io.NopCloser(strings.NewReader(answer)),
	}, nil
}

func (p *provider) set(answer string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

func (p *provider) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// jwks returns the signer's own key under the given id.
func (s *signer) jwks(t *testing.T, id string) string {
	t.Helper()
	body := must.Get(json.Marshal(map[string]any{"keys": []any{map[string]string{
		"kty": "RSA", "alg": "RS256", "use": "sig", "kid": id, "e": "AQAB",
		"n": base64.RawURLEncoding.EncodeToString((*big.Int).Bytes(s.own.N)),
	}}}))(t)
	return string(body)
}

// remote returns a verifier that reads its keys from the provider.
func (s *signer) remote(p *provider) *identity.PoolVerifier {
	// The clock of a synctest bubble starts in 2000.
	now := func() time.Time { return time.Now().Add(s.now.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))) }
	keys := identity.NewRemoteKeys("https://idp.example/jwks.json", &http.Client{Transport: p}, now,
		slog.New(slog.DiscardHandler))
	return identity.NewPoolVerifier(now, identity.Issuer{
		URL: issuer, ClientID: clientID,
		AuthType: identity.AuthCognito, Key: keys.Keyfunc,
	})
}

func (s *signer) named(t *testing.T, kid string) string {
	t.Helper()
	return s.token(t, jwt.SigningMethodRS256, s.own, func(header map[string]any,
		_ jwt.MapClaims,
	) {
		header["kid"] = kid
	})
}

func TestR49_UnknownKeysCauseOneFetchAMinute(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	synctest.Test(t, func(t *testing.T) {
		p := &provider{answer: s.jwks(t, "k1"), hold: make(chan struct{})}
		v := s.remote(p)
		if p.count() != 0 {
			t.Fatal("the keys were read before they were needed")
		}
		good := s.named(t, "k1")
		// All concurrent requests wait for the first read.
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				token, want := good, fault.Code("")
				if i%2 == 1 {
					token, want = s.named(t, fmt.Sprint("unknown", i)), fault.Unauthenticated
				}
				if _, err := v.VerifyIDToken(t.Context(), token); fault.CodeOf(err) != want {
					t.Errorf("%d: %v", i, err)
				}
			})
		}
		synctest.Wait()
		close(p.hold)
		all.Wait()
		for minute := range 5 {
			for i := range 100 {
				if _, err := v.VerifyIDToken(t.Context(), s.named(t,
					fmt.Sprint("unknown", minute, i))); fault.CodeOf(err) != fault.Unauthenticated {
					t.Fatal(err)
				}
			}
			if p.count() > minute+1 {
				t.Errorf("after %d minutes the keys were read %d times", minute, p.count())
			}
			<-time.After(time.Minute)
		}
		for _, token := range []string{
			strings.Repeat("a", 9<<10),
			s.token(t, jwt.SigningMethodRS256, s.own, func(h map[string]any, _ jwt.MapClaims) { delete(h, "kid") }),
		} {
			before := p.count()
			if _, err := v.VerifyIDToken(t.Context(), token); fault.CodeOf(err) != fault.Unauthenticated ||
				p.count() != before {
				t.Errorf("huge, or without kid: %v, %d readings", err, p.count()-before)
			}
		}
	})
}

func TestR49_KeysThatCannotBeReadSignNobodyOut(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	synctest.Test(t, func(t *testing.T) {
		p := &provider{}
		v := s.remote(p)
		holds := func(what, kid string, want fault.Code) {
			t.Helper()
			if _, err := v.VerifyIDToken(t.Context(), s.named(t, kid)); fault.CodeOf(err) != want {
				t.Errorf("%s: %v", what, err)
			}
		}
		holds("it cannot be reached", "k1", fault.Unavailable)
		p.set(s.jwks(t, "k1"))
		holds("within the minute", "k1", fault.Unavailable)
		<-time.After(time.Minute)
		holds("it is back", "k1", "")

		// The provider changes its key and becomes unreachable: the known key stays in use.
		p.set("")
		<-time.After(2 * time.Minute)
		holds("the next key", "k2", fault.Unavailable)
		holds("the known key", "k1", "")
		p.set(s.jwks(t, "k2"))
		<-time.After(2 * time.Minute)
		holds("the next key, at last", "k2", "")
		holds("the key that was withdrawn", "k1", fault.Unauthenticated)

		for name, answer := range map[string]string{
			"no JSON": "<html>",
			"huge":    `{"keys":[],"x":"` + strings.Repeat("x", 1<<20) + `"}`,
		} {
			p.set(answer)
			<-time.After(2 * time.Minute)
			holds(name, "k3", fault.Unavailable)
			holds(name, "k2", "")
		}
	})
}

// TestWithdrawnKeysAreForgotten checks that keys are read again even if all tokens have known keys.
func TestWithdrawnKeysAreForgotten(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	synctest.Test(t, func(t *testing.T) {
		p := &provider{answer: s.jwks(t, "k1")}
		v := s.remote(p)
		token := s.token(t, jwt.SigningMethodRS256, s.own, func(_ map[string]any,
			c jwt.MapClaims,
		) {
			c["exp"] = s.now.Add(3 * time.Hour).Unix()
		})
		if _, err := v.VerifyIDToken(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		p.set(s.jwks(t, "k2"))
		<-time.After(59 * time.Minute)
		if _, err := v.VerifyIDToken(t.Context(), token); err != nil || p.count() != 1 {
			t.Errorf("within the hour: %v, %d readings", err, p.count())
		}
		<-time.After(2 * time.Minute)
		if _, err := v.VerifyIDToken(t.Context(), token); fault.CodeOf(err) != fault.Unauthenticated {
			t.Errorf("after an hour: %v", err)
		}
	})
}
