package sse_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream/sse"
	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// overTLS starts a server with HTTP/2 or, over TLS, HTTP/1.1. conns counts the connections.
func overTLS(
	t *testing.T, http2 bool, s *sse.Server, handler http.HandlerFunc,
) (server *httptest.Server, conns *atomic.Int64) {
	t.Helper()
	conns = new(atomic.Int64)
	server = httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = http2
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Config.HTTP2 = &http.HTTP2Config{WriteByteTimeout: 10 * time.Second}
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections() // Makes net/http abort its writes.
		s.Close()
		server.Close()
	})
	return server, conns
}

// TestR01_RetryIsSentToClientsHeldForNoTime: the text begins between the head and the first heartbeat.
func TestR01_RetryIsSentToClientsHeldForNoTime(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		text := newText(1)
		text.Finish(done)
		s := sse.NewServer(cfg)
		ready := make(chan struct{})
		close(ready)
		server := serveWith(t, s, func(w http.ResponseWriter, r *http.Request) {
			if err := errors.Join(s.Begin(w, r), s.Hold(r.Context(), w, nil, ready)); err != nil {
				t.Error(err)
			}
			s.Serve(w, r, sse.Delivery{Watch: text.Watch(""), Begun: true, Done: once(t, nil)})
		})
		for range 20 {
			_, resp := ask(t, server, "")
			if raw := readBody(t, resp.Body); !bytes.HasPrefix(raw, []byte("retry: ")) ||
				bytes.Count(raw, []byte("retry: ")) != 1 {
				t.Errorf("got %q", raw)
			}
		}
	})
}

// TestSlowStreamDelaysNoOtherOfItsConnection: one of several HTTP/2 streams on a connection is not read.
func TestSlowStreamDelaysNoOtherOfItsConnection(t *testing.T) {
	t.Parallel()
	const readers, events = 3, 3500
	token := strings.Repeat("紡", 500) // Together more than a stream's flow control window.
	text := newText(1)
	ended := make(chan error, readers+1)
	s := sse.NewServer(sse.Config{WriteTimeout: 8 * time.Second})
	server, conns := overTLS(t, true, s, func(w http.ResponseWriter, r *http.Request) {
		s.Serve(w, r, sse.Delivery{Watch: text.Watch(""), Done: once(t, ended)})
	})
	get := func() *http.Response {
		resp := must.Get(server.Client().Get(server.URL))(t)
		return resp
	}
	stalled := get()
	defer stalled.Body.Close()
	var others sync.WaitGroup
	for range readers {
		resp := get()
		others.Go(func() {
			defer resp.Body.Close()
			var c streamtest.Client
			if read(t, &c, readBody(t, resp.Body)); len(c.Text) != events*len(token) || !c.Done {
				t.Errorf("a reader got %d of %d bytes", len(c.Text), events*len(token))
			}
		})
	}
	for range events {
		text.AppendText(token)
	}
	text.Finish(done)
	others.Wait()
	slow := slowEnds(t, ended, readers+1)
	resp := get()
	defer resp.Body.Close()
	var c streamtest.Client
	if read(t, &c, readBody(t, resp.Body)); !c.Done || slow != 1 || conns.Load() != 1 || s.Stats().Ends.Slow != 1 {
		t.Errorf("%d were dropped, %d connections, then done: %v, %+v", slow, conns.Load(), c.Done, s.Stats().Ends)
	}
}

// panicking is a response that panics in its fourth write.
type panicking struct {
	http.ResponseWriter
	writes int
}

func (c *panicking) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *panicking) Write(b []byte) (int, error) {
	if c.writes++; c.writes > 3 {
		panic(http.ErrAbortHandler)
	}
	return c.ResponseWriter.Write(b)
}

// TestPanicOfAWriterEndsOnlyItsStream: a wrapper of a response panics in a write.
func TestPanicOfAWriterEndsOnlyItsStream(t *testing.T) {
	t.Parallel()
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := newText(1)
			s := sse.NewServer(sse.Config{})
			ended := make(chan error, 1)
			server, _ := overTLS(t, http2, s, func(w http.ResponseWriter, r *http.Request) {
				d := sse.Delivery{Watch: text.Watch(""), Done: once(t, nil)}
				if r.Header.Get("Last-Event-ID") != "" {
					w, d.Done = &panicking{ResponseWriter: w}, once(t, ended)
				}
				s.Serve(w, r, d)
			})
			get := func(cursor string) *http.Response {
				r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil))(t)
				if cursor != "" {
					r.Header.Set("Last-Event-ID", cursor)
				}
				resp := must.Get(server.Client().Do(r))(t)
				return resp
			}
			steady, broken := get(""), get("1-0")
			defer steady.Body.Close()
			defer broken.Body.Close()
			var err error
			for err == nil {
				text.AppendText("紡")
				select {
				case err = <-ended:
				default:
					runtime.Gosched()
				}
			}
			if !errors.Is(err, sse.ErrGone) {
				t.Errorf("got %v", err)
			}
			if _, err := io.ReadAll(broken.Body); err == nil {
				t.Error("the response seems whole")
			}
			text.Finish(done)
			var c streamtest.Client
			if read(t, &c, readBody(t, steady.Body)); !c.Done || c.Text != text.Text() {
				t.Errorf("the other one got %q", c.Text)
			}
		})
	}
}

// TestR05_StreamsOverTLSAreCutOffAtRandom: clients disconnect, are ended, time out and stop reading. The test checks
// the final text of each, that each stream ends once, and that every admission is released.
func TestR05_StreamsOverTLSAreCutOffAtRandom(t *testing.T) {
	t.Parallel()
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const readers, visits = 8, 150
			text := newText(1)
			s := sse.NewServer(sse.Config{WriteTimeout: 10 * time.Second, Heartbeat: 20 * time.Millisecond})
			var streams, ends atomic.Int64
			var last atomic.Bool
			server, _ := overTLS(t, http2, s, func(w http.ResponseWriter, r *http.Request) {
				a, err := s.Admit(r.URL.Path)
				if err != nil {
					t.Error(err)
					return
				}
				d := sse.Delivery{Watch: text.Watch(r.Header.Get("Last-Event-ID")), Admission: a}
				if rand.N(3) == 0 && !last.Load() {
					d.Until = time.Now().Add(rand.N(5 * time.Millisecond))
				}
				streams.Add(1)
				count := once(t, nil)
				d.Done = func(err error) { count(err); a.Release(); ends.Add(1) }
				s.Serve(w, r, d)
			})
			var clients sync.WaitGroup
			for i := range readers {
				clients.Go(func() {
					person := "/" + string(rune('a'+i))
					for c := (streamtest.Client{}); !c.Done; {
						visit(t, &c, server, person, last.Load())
						if c.Done && (c.Text != text.Text() || c.End == "") {
							t.Errorf("got %d of %d bytes, ends %v", len(c.Text), len(text.Text()), c.End)
						}
					}
				})
			}
			for n := 0; streams.Load() < visits; n++ {
				if int64(n) < 100*(streams.Load()+1) { // Keeps the writer at about the speed of the clients.
					text.AppendText("紡ぐ")
				}
				if n%50 == 0 {
					s.End("/" + string(rune('a'+rand.N(readers))))
				}
				runtime.Gosched()
			}
			last.Store(true)
			text.Finish(done)
			clients.Wait()
			for ends.Load() < streams.Load() {
				runtime.Gosched()
			}
			if n := open(s); n != 0 || len(s.People()) != 0 || s.Stats().Resets != 0 {
				t.Errorf("%d are open, %v still have a place, %d resets", n, s.People(), s.Stats().Resets)
			}
		})
	}
}

// visit opens a stream and reads some of it, or all of it on the last visit.
func visit(t *testing.T, c *streamtest.Client, server *httptest.Server, path string, last bool) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, nil)
	if err != nil {
		t.Error(err)
		return
	}
	if c.Cursor != "" {
		r.Header.Set("Last-Event-ID", c.Cursor)
	}
	resp, err := server.Client().Do(r)
	if err != nil {
		return // Ended before it began.
	}
	defer resp.Body.Close()
	body := io.Reader(resp.Body)
	if !last {
		body = io.LimitReader(body, rand.Int64N(5000))
	}
	raw, _ := io.ReadAll(body)
	if whole := bytes.LastIndex(raw, []byte("\n\n")); whole > 0 {
		c.End = "" // A client that was disconnected before the end mark receives the end again.
		read(t, c, raw[:whole+2])
	}
}

// stuckConn is a connection that stops reading once it is stuck.
type stuckConn struct {
	net.Conn
	stuck atomic.Bool
	gone  chan struct{}
}

func (c *stuckConn) Read(b []byte) (int, error) {
	if c.stuck.Load() {
		<-c.gone
	}
	return c.Conn.Read(b)
}

// TestCloseWithBlockedConnections: the clients of some connections, with several streams each, stop
// reading.
func TestCloseWithBlockedConnections(t *testing.T) {
	t.Parallel()
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const streams = 3
			text := newText(1)
			ended := make(chan error, streams)
			s := sse.NewServer(sse.Config{WriteTimeout: time.Minute})
			server, _ := overTLS(t, http2, s, func(w http.ResponseWriter, r *http.Request) {
				s.Serve(w, r, sse.Delivery{Watch: text.Watch(""), Done: once(t, ended)})
			})
			var conns []*stuckConn
			gone := make(chan struct{})
			transport := server.Client().Transport.(*http.Transport) //nolint:forcetypeassert // As documented.
			transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, address)
				conns = append(conns, &stuckConn{Conn: conn, gone: gone})
				return conns[len(conns)-1], err
			}
			defer transport.CloseIdleConnections()
			for range streams {
				resp := must.Get(server.Client().Get(server.URL))(t)
				defer resp.Body.Close()
			}
			for _, conn := range conns {
				conn.stuck.Store(true)
				defer conn.Close()
			}
			defer close(gone)
			for range 2000 {
				text.AppendText(strings.Repeat("紡", 3000))
			}
			s.Close()
			for range streams {
				if err := <-ended; err == nil {
					t.Error("told all to a client that reads nothing")
				}
			}
		})
	}
}
