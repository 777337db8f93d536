package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// refusing is a server that refuses every token with an error.
type refusing struct {
	t       *testing.T
	handler http.Handler
	logged  bytes.Buffer
	log     *slog.Logger
	err     error
}

func newRefusing(t *testing.T) *refusing {
	t.Helper()
	s := &refusing{t: t}
	s.log = slog.New(api.NewLogHandler(slog.NewJSONHandler(&s.logged, nil)))
	var err error
	if s.handler, err = api.New(api.Services{
		Identity: identity.NewService(stalled{}, s, s.log),
		App:      fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}},
	}, api.Config{}, s.log); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *refusing) VerifyIDToken(ctx context.Context, _ string) (identity.Claims, error) {
	s.log.With("part", "identity").InfoContext(ctx, "looked at a token")
	return identity.Claims{}, s.err
}

// refuse makes a call that fails with an error, and returns the response and the log records.
func (s *refusing) refuse(err error, header ...string) (response, []map[string]any) {
	s.t.Helper()
	s.err = err
	s.logged.Reset()
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, "/v1/me", nil)
	r.Header.Set("Authorization", "Bearer x")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	var records []map[string]any
	for line := range strings.Lines(s.logged.String()) {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			s.t.Fatal(err)
		}
		records = append(records, record)
	}
	return response{w.Code, w.Header(), w.Body.Bytes()}, records
}

func TestProblemsAndLogsNameTheTrace(t *testing.T) {
	t.Parallel()
	s := newRefusing(t)
	const id, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for given, kept := range map[string]bool{
		"00-" + id + "-" + parent + "-01":                             true,
		"00-" + id + "-" + parent + "-00":                             true,
		"cc-" + id + "-" + parent + "-01-what-will-be":                true,
		"00-" + id + "-" + parent + "-01-more":                        false,
		"ff-" + id + "-" + parent + "-01":                             false,
		"00-" + strings.ToUpper(id) + "-" + parent + "-01":            false,
		"00-" + strings.Repeat("0", 32) + "-" + parent + "-01":        false,
		"00-" + id + "-" + strings.Repeat("0", 16) + "-01":            false,
		"00-" + id + "-" + parent + "-0g":                             false,
		"00-" + id + "-" + parent:                                     false,
		"00-" + id + "-" + parent + "-01" + strings.Repeat("-a", 500): false,
		"": false,
	} {
		resp, records := s.refuse(errors.New("broken"), "Traceparent", given, "X-Request-Id", "r-1")
		p := resp.problem(t)
		if (p.TraceID == id) != kept || len(p.TraceID) != 32 || p.TraceID == strings.Repeat("0", 32) {
			t.Errorf("given %q: %q", given, p.TraceID)
		}
		if len(records) != 3 {
			t.Fatalf("logged %v", records)
		}
		for _, record := range records {
			if record["trace_id"] != p.TraceID || record["request_id"] != "r-1" {
				t.Errorf("given %q: logged %v", given, record)
			}
		}
	}
	_, first := s.refuse(errors.New("broken"))
	_, second := s.refuse(errors.New("broken"))
	if first[0]["trace_id"] == second[0]["trace_id"] {
		t.Error("two requests have one trace")
	}
}

func TestRetryAfterIsRandomUnlessItIsKnown(t *testing.T) {
	t.Parallel()
	s := newRefusing(t)
	for name, tt := range map[string]struct {
		err         error
		status      int
		least, most int
		detail      string
	}{
		"overload":   {fault.Errorf(fault.Unavailable, ""), 503, 2, 10, "もう一度お試しください"},
		"too many":   {fault.Errorf(fault.RateLimited, ""), 429, 2, 10, "もう一度お試しください"},
		"time is up": {fmt.Errorf("reading keys: %w", context.DeadlineExceeded), 503, 2, 10, "もう一度お試しください"},
		"known": {&fault.Error{
			Code: fault.RateLimited, Detail: "待ってください。",
			RetryAfter: 89500 * time.Millisecond,
		}, 429, 90, 90, "待ってください。"},
		"defect":        {errors.New("broken"), 500, 0, 0, "サーバーで問題が発生しました"},
		"not signed in": {identity.ErrExpired, 401, 0, 0, "jwt expired"},
	} {
		seen := make(map[int]bool)
		for range 40 {
			resp, _ := s.refuse(tt.err)
			after, _ := strconv.Atoi(resp.header.Get("Retry-After"))
			if p := resp.problem(t); resp.status != tt.status || after < tt.least || after > tt.most ||
				!strings.Contains(p.Detail, tt.detail) {
				t.Fatalf("%s: %d, Retry-After %d, %+v", name, resp.status, after, p)
			}
			seen[after] = true
		}
		if len(seen) == 1 != (tt.least == tt.most) {
			t.Errorf("%s: Retry-After %v", name, seen)
		}
	}
}
