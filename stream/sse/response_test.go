package sse_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream/sse"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestR12_QuietStreamsOutliveTheirWriteDeadline keeps streams idle for longer than the write timeout. HTTP/2 resets a
// stream whose deadline has passed, even without a write in progress.
func TestR12_QuietStreamsOutliveTheirWriteDeadline(t *testing.T) {
	t.Parallel()
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := newText(1)
			s := sse.NewServer(sse.Config{WriteTimeout: 2 * time.Second, Heartbeat: 2500 * time.Millisecond})
			ready, ended := make(chan struct{}), make(chan error, 1)
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if err := errors.Join(s.Begin(w, r), s.Hold(r.Context(), w, nil, ready)); err != nil {
					t.Error(err)
				}
				s.Serve(w, r, sse.Delivery{Watch: text.Watch(""), Begun: true, Done: once(t, ended)})
			}))
			server.EnableHTTP2 = http2
			server.StartTLS()
			t.Cleanup(func() {
				s.Close()
				server.Close()
			})
			resp := must.Get(server.Client().Get(server.URL))(t)
			defer resp.Body.Close()
			body := bufio.NewReader(resp.Body)
			for beats := 0; beats < 4; {
				line := must.Get(body.ReadString('\n'))(t)
				if line == ":\n" {
					beats++
				}
				if beats == 2 && line == ":\n" { // One at the beginning, one after a quiet time. Two more from Serve.
					close(ready)
				}
			}
			text.AppendText(sample)
			text.Finish(done)
			rest, err := io.ReadAll(body)
			if err != nil || !bytes.HasSuffix(rest, []byte("[DONE]\n\n")) || resp.ProtoMajor == 2 != http2 {
				t.Errorf("%s: %v after %q", resp.Proto, err, rest)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestR13_StreamEndsAtItsTimeLimit ends an idle stream at its time limit. The response is incomplete.
func TestR13_StreamEndsAtItsTimeLimit(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		text := newText(1)
		cfg.WriteTimeout = 2 * time.Second
		s := sse.NewServer(cfg)
		ended := make(chan error, 1)
		server := serveWith(t, s, func(w http.ResponseWriter, r *http.Request) {
			until := time.Now().Add(2500 * time.Millisecond)
			s.Serve(w, r, sse.Delivery{Watch: text.Watch(""), Until: until, Done: func(err error) { ended <- err }})
		})
		_, resp := ask(t, server, "")
		if _, err := io.Copy(io.Discard, resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("the body ends with %v", err)
		}
		if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}
