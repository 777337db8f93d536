package sse_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	r3labs "github.com/r3labs/sse/v2"
	"go.uber.org/goleak"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
	"github.com/tsumugi-ai/tsumugi/test/leak"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// The third-party client leaks its reader after unsubscribing.
func TestMain(m *testing.M) {
	leak.Main(m, goleak.IgnoreAnyFunction("github.com/r3labs/sse/v2.(*Client).readLoop"))
}

// sample has difficult content: characters of one to four bytes, lines that look like fields, control characters.
const sample = "こんにちは、**「重要」**です。\r\ndata: x\n\nid: 9-9\n\u2028𠮷野家👨‍👩‍👧 \x00\x07\"\\ \ufeff終わり\t🍣"

var done = stream.End{Outcome: stream.Finished, FinishReason: "stop"}

func newText(run int) *stream.Text { return stream.NewText(stream.Head{MessageID: "0190", Run: run}) }

// read passes whole events to a client.
func read(t testing.TB, c *streamtest.Client, raw []byte) {
	t.Helper()
	must.Succeed(t, c.Read(raw))
}

// onBothPaths runs a test for each way of sending.
func onBothPaths(t *testing.T, test func(t *testing.T, cfg sse.Config)) {
	t.Parallel()
	for name, fast := range map[string]bool{"fast": true, "net-http": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, sse.Config{Fast: fast})
		})
	}
}

// serve answers every request with a watch of the text. It sends the result of each stream to ended, if that is not
// nil.
func serve(t *testing.T, text *stream.Text, s *sse.Server, ended chan<- error) *httptest.Server {
	t.Helper()
	return serveWith(t, s, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "request")
		s.Serve(w, r, sse.Delivery{Watch: text.Watch(r.Header.Get("Last-Event-ID")), Done: once(t, ended)})
	})
}

// serveWith serves every request with a handler. Socket buffers are small.
func serveWith(t *testing.T, s *sse.Server, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	return serveBuffered(t, s, 8<<10, handler)
}

// serveBuffered serves every request with a handler and write buffers of the given size.
func serveBuffered(t *testing.T, s *sse.Server, buffer int, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(sse.HalfClose(handler))
	server.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		if tcp, ok := conn.(*net.TCPConn); ok && state == http.StateNew {
			_ = tcp.SetWriteBuffer(buffer)
		}
	}
	server.Start()
	t.Cleanup(func() {
		s.Close()
		server.Close()
	})
	return server
}

// once returns a Done that sends its argument to ended and fails the test if it is called twice.
func once(t *testing.T, ended chan<- error) func(error) {
	var calls atomic.Int32
	return func(err error) {
		if calls.Add(1) > 1 {
			t.Error("a stream ended twice")
		}
		if ended != nil {
			ended <- err
		}
	}
}

// open returns the number of open and held streams of a server.
func open(s *sse.Server) int64 {
	st := s.Stats()
	return st.OpenFast + st.OpenHTTP
}

func TestR01_HeadOfAStream(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		text := newText(1)
		server := serve(t, text, sse.NewServer(cfg), nil)
		resp, err := server.Client().Get(server.URL) // Returns although the text is still empty.
		must.Succeed(t, err)
		defer resp.Body.Close()
		for name, want := range map[string]string{
			"Content-Type": "text/event-stream", "Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no",
			"X-Vercel-Ai-Ui-Message-Stream": "v1", "Content-Encoding": "", "X-Request-Id": "request",
		} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
		first := make([]byte, len("retry: 1000\n\ndata: {"))
		if _, err := io.ReadFull(resp.Body, first); err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(first, []byte("retry: ")) || !bytes.HasSuffix(first, []byte("\n\ndata: {")) {
			t.Errorf("begins with %q", first)
		}
		text.Finish(done)
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
	})
}

func TestHoldSendsHeartbeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sse.NewServer(sse.Config{})
		w := httptest.NewRecorder()
		ready := make(chan struct{})
		held := make(chan error)
		go func() { held <- s.Hold(t.Context(), w, nil, ready) }()
		time.Sleep(50 * time.Second)
		close(ready)
		if err := <-held; err != nil {
			t.Error(err)
		}
		if comments := bytes.Count(w.Body.Bytes(), []byte(":\n\n")); comments != 4 {
			t.Errorf("got %d heartbeats in 50 s", comments)
		}
	})
}

// always makes a client of r3labs/sse reconnect at once until the context ends.
type always struct{ ctx context.Context }

func (always) Reset() {}

func (a always) NextBackOff() time.Duration {
	if a.ctx.Err() != nil {
		return -1
	}
	return time.Millisecond
}

// TestR3labsClientReadsTheStream reads with a third-party client over a broken connection.
func TestR3labsClientReadsTheStream(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		text := newText(1)
		cfg.RetryMin, cfg.RetryMax = time.Millisecond, time.Millisecond
		s := sse.NewServer(cfg)
		conns := make(chan net.Conn, 10)
		server := serveWith(t, s, func(w http.ResponseWriter, r *http.Request) {
			s.Serve(w, r, sse.Delivery{Watch: text.Watch(r.Header.Get("Last-Event-ID")), Done: once(t, nil)})
		})
		peer := r3labs.NewClient(server.URL)
		peer.Connection.Transport = &http.Transport{DialContext: func(ctx context.Context, network,
			address string,
		) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			conns <- conn
			return conn, err
		}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		peer.ReconnectStrategy, peer.ReconnectNotify = always{ctx}, func(error, time.Duration) {}
		events := make(chan *r3labs.Event, 1000)
		must.Succeed(t, peer.SubscribeChanWithContext(ctx, "", events))
		c := streamtest.Client{}
		next := func() {
			e := <-events
			if len(e.Data) == 0 {
				return // The client reports comments and retry fields as events without data.
			}
			id := ""
			// The client assigns the last id to an event without an id.
			if bytes.Contains(e.Data, []byte("text-delta")) {
				id = "\nid: " + string(e.ID)
			}
			read(t, &c, []byte("data: "+string(e.Data)+id+"\n\n"))
		}
		text.AppendText(sample)
		for c.Text != sample {
			next()
		}
		_ = (<-conns).Close()
		text.AppendText(sample)
		text.Finish(done)
		for !c.Done { // The client may end by itself; its Unsubscribe would then block indefinitely.
			next()
		}
		if c.Text != sample+sample {
			t.Errorf("got %q", c.Text)
		}
	})
}
