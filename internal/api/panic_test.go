package api_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// oneUser is a database with one active user for every subject.
type oneUser struct{ identity.Store }

func (oneUser) UserBySubject(context.Context, identity.Claims) (identity.UserStatus, error) {
	return identity.UserStatus{User: identity.User{ID: uuid.Must(uuid.NewV7()), State: identity.StateActive}}, nil
}

// TestR16_PanicReleasesTheAdmission uses no chat service, so that every stream panics.
func TestR16_PanicReleasesTheAdmission(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	streams := sse.NewServer(sse.Config{MaxStreams: 1})
	handler := must.Get(api.New(api.Services{
		Identity: identity.NewService(oneUser{}, verifier{}, log), Stream: streams,
		App: fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}},
	}, api.Config{}, log))(t)
	ask := `{"thread_id":"` + newID() + `","request_id":"` + newID() + `","content":"糸とは"}`
	for range 2 {
		for _, r := range []*http.Request{
			httptest.NewRequestWithContext(t.Context(), "GET", "/v1/message/"+newID()+"/stream", nil),
			httptest.NewRequestWithContext(t.Context(), "POST", "/v1/message/stream", strings.NewReader(ask)),
		} {
			r.Header.Set("Authorization", "Bearer alice")
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != http.StatusInternalServerError {
				t.Errorf("%s: %d %s", r.Method, w.Code, w.Body)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := streams.Drain(ctx, 0); err != nil {
		t.Error("a stream that never was is waited for:", err)
	}
}

// TestUnknownMethodsAreOneInMetrics: unknown methods must not create separate time series.
func TestUnknownMethodsAreOneInMetrics(t *testing.T) {
	t.Parallel()
	var methods []string
	handler := must.Get(api.New(api.Services{
		App:     fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}},
		Measure: func(method, _ string, _ int, _ time.Duration) { methods = append(methods, method) },
	}, api.Config{}, slog.New(slog.DiscardHandler)))(t)
	for _, method := range []string{"GET", "MADEUP1", "MADEUP2"} {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), method, "/v1/live", nil))
	}
	if got := strings.Join(methods, " "); got != "GET other other" {
		t.Errorf("got %s", got)
	}
}
