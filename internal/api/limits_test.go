package api_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// stalled is a database that does not respond.
type stalled struct{ identity.Store }

func (stalled) UserBySubject(ctx context.Context, _ identity.Claims) (identity.UserStatus, error) {
	<-ctx.Done()
	return identity.UserStatus{}, fault.Wrap(ctx.Err(), fault.Unavailable, "データベースに接続できません。")
}

// stalledServer returns a server with a stalled database.
func stalledServer(t *testing.T) http.Handler {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	handler := must.Get(api.New(api.Services{
		Identity: identity.NewService(stalled{}, verifier{}, log),
		App:      fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}},
		Ready:    func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	}, api.Config{}, log))(t)
	return handler
}

func TestStalledDatabaseIsReportedInTime(t *testing.T) {
	t.Parallel()
	for _, c := range []string{
		"GET /readyz", "GET /v1/me", "POST /v1/message/stream",
		"GET /v1/message/" + newID() + "/stream",
	} {
		synctest.Test(t, func(t *testing.T) {
			method, path, _ := strings.Cut(c, " ")
			r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
			r.Header.Set("Authorization", "Bearer alice")
			w := httptest.NewRecorder()
			began := time.Now()
			stalledServer(t).ServeHTTP(w, r)
			if took := time.Since(began); w.Code != http.StatusServiceUnavailable ||
				w.Header().Get("Retry-After") == "" || took > 5*time.Second {
				t.Errorf("%s: %d after %v: %s", c, w.Code, took, w.Body)
			}
		})
	}
}

// pipeListener returns one connection, which uses the clock of a synctest bubble.
type pipeListener struct {
	conns chan net.Conn
}

func (l pipeListener) Accept() (net.Conn, error) {
	if c, ok := <-l.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l pipeListener) Close() error   { return nil }
func (l pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

func TestR63_SlowBodiesTimeOut(t *testing.T) {
	t.Parallel()
	for name, token := range map[string]string{"read": "", "not even read": "forged"} {
		synctest.Test(t, func(t *testing.T) {
			client, conn := net.Pipe()
			listener := pipeListener{make(chan net.Conn, 1)}
			listener.conns <- conn
			server := &http.Server{Handler: stalledServer(t), ReadHeaderTimeout: time.Second}
			served := make(chan struct{})
			go func() { defer close(served); _ = server.Serve(listener) }()

			path := "/v1/auth-type"
			if token != "" {
				path = "/v1/thread"
			}
			must.Get(io.WriteString(client, "POST "+path+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+token+
				"\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"))(t)
			began := time.Now()
			answer, err := http.ReadResponse(bufio.NewReader(client), nil)
			if err != nil || answer.StatusCode < 400 || time.Since(began) > time.Minute {
				t.Errorf("%s: %+v, %v after %v", name, answer, err, time.Since(began))
			}
			_ = client.Close()
			close(listener.conns)
			<-served
		})
	}
}

// TestR63_ClientsThatDoNotReadTimeOut requests more than a connection buffers and reads nothing for minutes.
func TestR63_ClientsThatDoNotReadTimeOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, conn := net.Pipe()
		listener := pipeListener{make(chan net.Conn, 1)}
		listener.conns <- conn
		server := &http.Server{Handler: stalledServer(t), ReadHeaderTimeout: time.Second}
		served := make(chan struct{})
		go func() { defer close(served); _ = server.Serve(listener) }()
		if _, err := io.WriteString(client,
			"GET /openapi.yaml HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		<-time.After(5 * time.Minute)
		if rest, err := io.ReadAll(client); err != nil || len(rest) > 0 {
			t.Errorf("%d bytes were kept for it, %v", len(rest), err)
		}
		_ = client.Close()
		close(listener.conns)
		<-served
	})
}

// deadlines records the read deadlines of a connection.
type deadlines struct {
	*httptest.ResponseRecorder
	set []bool // False for a cleared deadline.
}

// SetReadDeadline is called by http.ResponseController.
func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.set = append(d.set, !at.IsZero())
	return nil
}

// TestBodyDeadlineEndsWithTheBody: a stream, whose connection is read continuously, outlives the deadline of the
// question's body.
func TestBodyDeadlineEndsWithTheBody(t *testing.T) {
	t.Parallel()
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/auth-type", strings.NewReader(`{"email":"x"}`))
	r.Header.Set("Content-Type", "application/json")
	stalledServer(t).ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest || len(w.set) < 2 || !w.set[0] || slices.Contains(w.set[1:], true) {
		t.Errorf("%d, deadlines %v", w.Code, w.set)
	}
}
