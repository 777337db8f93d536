package main

import (
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/secret"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestSuperAdminsSeeTheStateOfTheirServices uses a provider that lists its model and refuses all questions, and a mail
// server that ends each session. Views of the state ask no question and connect to the mail server once.
func TestSuperAdminsSeeTheStateOfTheirServices(t *testing.T) {
	t.Parallel()
	var questions, mails atomic.Int32
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = w.Write([]byte(`{"data":[{"id":"gpt-4o-mini"}]}`))
			return
		}
		questions.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer provider.Close()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mails.Add(1)
			_ = conn.Close()
		}
	}()
	o := on(t)
	p := start(t, t.TempDir(), append(o.environ, "OPENAI_BASE_URL="+provider.URL+"/v1",
		"TSUMUGI_SEARCH_URL=http://127.0.0.1:1", "TSUMUGI_SECRET_KEY="+secret.NewKey(),
		"SMTP_URL=smtp://"+listener.Addr().String()+"?tls=none", "TSUMUGI_MAIL_FROM=Tsumugi <a@example.com>")...)
	signOn(t, o.dsn(), "デモ株式会社", time.Now().AddDate(0, 0, 7))
	super := p.signIn(t, "admin@demo.example")

	thread := p.thread(t, super)
	p.json(t, "PUT", "/v1/thread/"+thread, super, map[string]any{"title": "名前を付けた"}, nil) // The model writes no title.
	ask := map[string]any{"request_id": uuid.NewString(), "thread_id": thread, "content": "こんにちは"}
	if status := p.json(t, "POST", "/v1/message/sync", super, ask, nil); status != http.StatusOK {
		t.Fatalf("got %d", status)
	}
	want := map[string]string{
		"files": "ok", "model": "failure", "web-search": "ok", "mail": "failure", "single-sign-on": "warning",
	}
	for range 2 {
		var answer struct{ Items []map[string]string }
		if status := p.json(t, "GET", "/v1/organization/state", super, nil, &answer); status != http.StatusOK {
			t.Fatalf("got %d", status)
		}
		got := make(map[string]string)
		for _, item := range answer.Items {
			got[item["id"]] = item["state"]
			if len(item) != 2 {
				t.Errorf("more than the state: %v", item)
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	if questions.Load() != 1 || mails.Load() != 1 {
		t.Errorf("%d questions, %d mail sessions", questions.Load(), mails.Load())
	}
}
