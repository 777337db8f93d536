package tsumugi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	tsumugi "github.com/tsumugi-ai/tsumugi/clients/go"
)

// run is one run of the server's answer, with its deltas and its last chunk.
type run struct {
	deltas []string
	end    string // The last chunk; "" for a finish chunk.
}

func (r run) text() string { return strings.Join(r.deltas, "") }

// script returns the part of a run that a server sends after a cursor, as described in docs/streaming.md.
func script(number int, r run, cursor string, idFirst bool) []byte {
	return continuedScript(number, number, r, cursor, idFirst)
}

// continuedScript is script for a run that continues the text of another one.
func continuedScript(number, continued int, r run, cursor string, idFirst bool) []byte {
	var b bytes.Buffer
	event := func(id, format string, args ...any) {
		data := fmt.Sprintf("data: "+format+"\n", args...)
		switch {
		case id == "":
			b.WriteString(data + "\n")
		case idFirst:
			b.WriteString("id: " + id + "\n" + data + "\n")
		default:
			b.WriteString(data + "id: " + id + "\n\n")
		}
	}
	from, holds := 0, cursor == ""
	for at, i := 0, 0; i <= len(r.deltas); i++ {
		if at > 0 && (cursor == fmt.Sprintf("%d-%d", number, at) || cursor == fmt.Sprintf("%d-%d", continued, at)) {
			from, holds = at, true
		}
		if i < len(r.deltas) {
			at += len(r.deltas[i])
		}
	}
	b.WriteString("retry: 1\n\n")
	event(
		"",
		`{"type":"start","messageId":"answer","messageMetadata":{"run":%d,"thread_id":"thread",`+
			`"user_message_id":"question"}}`,
		number,
	)
	if !holds {
		event(fmt.Sprintf("%d-0", number), `{"type":"data-reset","data":{"run":%d},"transient":true}`, number)
	}
	event("", `{"type":"data-step","id":"retrieval","data":{"kind":"retrieval","status":"success"}}`)
	event("", `{"type":"text-start","id":"0"}`)
	at := 0
	for _, delta := range r.deltas {
		if at += len(delta); at > from {
			coded, _ := json.Marshal(delta)
			event(fmt.Sprintf("%d-%d", number, at), `{"type":"text-delta","id":"0","delta":%s}`, coded)
		}
	}
	event("", `{"type":"text-end","id":"0"}`)
	end := r.end
	if end == "" {
		end = `{"type":"finish","finishReason":"stop"}`
	}
	event(fmt.Sprintf("%d-%d", number, at), "%s", end)
	event("", "[DONE]")
	return b.Bytes()
}

// call is a received request.
type call struct {
	method, path, query, cursor, token, body string
	n                                        int // Number of earlier calls.
}

// server responds to each call with the result of a function, and records the calls.
type server struct {
	*httptest.Server
	mu    sync.Mutex
	calls []call // Guarded by mu.
}

// cut is a stream that ends after its bytes. It ends with the last chunk of the chunked coding, or without it, which
// simulates the death of a server.
type cut struct {
	body []byte
	dies bool
}

// newServer starts a server. answer returns a cut, an int (a status without a body) or any other value, which becomes
// JSON.
func newServer(t *testing.T, answer func(c call) any) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		c := call{
			r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Get("Last-Event-ID"),
			strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "),
			string(body), len(s.calls),
		}
		s.calls = append(s.calls, c)
		s.mu.Unlock()
		switch a := answer(c).(type) {
		case cut:
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			_, _ = w.Write(a.body)
			_ = http.NewResponseController(w).Flush()
			if a.dies {
				panic(http.ErrAbortHandler)
			}
		case int:
			w.WriteHeader(a)
		case *tsumugi.Problem:
			w.Header().Set("Content-Type", "application/problem+json")
			w.Header().Set("Retry-After", fmt.Sprint(int(a.RetryAfter.Seconds())))
			w.WriteHeader(a.Status)
			_ = json.NewEncoder(w).Encode(a)
		default:
			_ = json.NewEncoder(w).Encode(a)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) client() *tsumugi.Client {
	return &tsumugi.Client{URL: s.URL, Token: tsumugi.Bearer("token")}
}

// had returns the recorded calls.
func (s *server) had() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}
