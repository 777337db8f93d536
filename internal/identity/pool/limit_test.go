package pool_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
)

// stalled is a database that stops responding after the pool has read its key. Its other methods must not be called.
type stalled struct {
	pool.Store
	keys []pool.Key
}

func (s *stalled) PoolKeys(context.Context) ([]pool.Key, error) { return s.keys, nil }

func (s *stalled) AddFirstPoolKey(_ context.Context, key pool.Key) error {
	s.keys = append(s.keys, key)
	return nil
}

func (*stalled) PoolUserByEmail(ctx context.Context, _ string) (pool.User, error) {
	<-ctx.Done()
	return pool.User{}, ctx.Err()
}

func (*stalled) PoolUserBySub(ctx context.Context, _ uuid.UUID) (pool.User, error) {
	<-ctx.Done()
	return pool.User{}, ctx.Err()
}

func (*stalled) GrantByToken(ctx context.Context, _ []byte) (pool.GrantUser, error) {
	<-ctx.Done()
	return pool.GrantUser{}, ctx.Err()
}

func TestStalledDatabaseIsReportedInTime(t *testing.T) {
	t.Parallel()
	for name, parameters := range map[string]string{
		"password": `"AuthFlow":"USER_PASSWORD_AUTH","AuthParameters":{"USERNAME":"` + email + `","PASSWORD":"` +
			password + `"}`,
		"refresh": `"AuthFlow":"REFRESH_TOKEN_AUTH","AuthParameters":{"REFRESH_TOKEN":"abc"}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, config(newClock()), &stalled{})
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/pool/",
				strings.NewReader(`{"ClientId":"`+clientID+`",`+parameters+`}`))
			r.Header.Set("Content-Type", "application/x-amz-json-1.1")
			r.Header.Set("X-Amz-Target", "AWSCognitoIdentityProviderService.InitiateAuth")
			w := httptest.NewRecorder()
			began := time.Now()
			p.Handler().ServeHTTP(w, r)
			if took := time.Since(began); w.Code != http.StatusServiceUnavailable ||
				!strings.Contains(w.Body.String(), "ServiceUnavailableException") ||
				w.Header().Get("Retry-After") == "" || took > 5*time.Second {
				t.Errorf("%s: %d after %v: %s", name, w.Code, took, w.Body)
			}
		})
	}
}
