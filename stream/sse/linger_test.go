package sse_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// longAnswer fits into the server's write buffer but not into a slow client's read buffer.
var longAnswer = strings.Repeat("紡ぐ", 16<<10)

// serveLong serves a text through a write buffer larger than longAnswer.
func serveLong(t *testing.T, text *stream.Text, s *sse.Server, ended chan<- error) *httptest.Server {
	t.Helper()
	return serveBuffered(t, s, 1<<20, func(w http.ResponseWriter, r *http.Request) {
		s.Serve(w, r, sse.Delivery{Watch: text.Watch(""), Done: once(t, ended)})
	})
}

// askSlowly opens a stream over a connection with a small read buffer.
func askSlowly(t *testing.T, server *httptest.Server) (net.Conn, io.Reader) {
	t.Helper()
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		return errors.Join(raw.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10)
		}), err)
	}}
	conn := must.Get(dialer.DialContext(t.Context(), "tcp", server.Listener.Addr().String()))(t)
	t.Cleanup(func() { _ = conn.Close() })
	return conn, askOver(t, conn, "HTTP/1.1", "").Body
}

// TestSlowClientThatSendsMoreReadsTheWholeAnswer: a client that has read nothing sends bytes after the request, before
// and after the stream's end. A draining server waits for it.
func TestSlowClientThatSendsMoreReadsTheWholeAnswer(t *testing.T) {
	t.Parallel()
	for name, drained := range map[string]bool{"serving": false, "draining": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := newText(1)
			s := sse.NewServer(sse.Config{Fast: true, WriteTimeout: time.Minute})
			ended := make(chan error, 1)
			conn, body := askSlowly(t, serveLong(t, text, s, ended))
			more := bytes.Repeat([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), 1000)
			send := func() {
				if _, err := conn.Write(more); err != nil {
					t.Error(err)
				}
			}
			send()
			text.AppendText(longAnswer)
			text.Finish(done)
			must.Succeed(t, <-ended)
			drain := make(chan error, 1)
			if drained {
				go func() { drain <- s.Drain(context.Background(), 0) }()
			}
			send()
			raw, err := io.ReadAll(body)
			if err != nil {
				t.Fatalf("%v after %d bytes", err, len(raw))
			}
			var c streamtest.Client
			if read(t, &c, raw); c.Text != longAnswer || !c.Done {
				t.Errorf("got %d of %d bytes, done %v", len(c.Text), len(longAnswer), c.Done)
			}
			_ = conn.Close()
			if drained {
				if err := <-drain; err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestConnectionsLingerForTheWriteTimeout: the server waits at most for the write timeout for clients that stay
// connected after the end, whether they have read the answer or not.
func TestConnectionsLingerForTheWriteTimeout(t *testing.T) {
	t.Parallel()
	text := newText(1)
	s := sse.NewServer(sse.Config{Fast: true, WriteTimeout: 300 * time.Millisecond})
	ended := make(chan error, 2)
	server := serveLong(t, text, s, ended)
	_, _ = askSlowly(t, server)
	_, resp := ask(t, server, "")
	text.AppendText(longAnswer)
	text.Finish(done)
	readBody(t, resp.Body)
	if err := errors.Join(<-ended, <-ended, s.Drain(t.Context(), 0)); err != nil {
		t.Error(err)
	}
}
