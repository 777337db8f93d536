package stream_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	r3labs "github.com/r3labs/sse/v2"
	"go.uber.org/goleak"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// The peer's client leaves its reader behind when it is unsubscribed.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/r3labs/sse/v2.(*Client).readLoop"))
}

// recorder is a response whose writes are kept, with the time of each.
type recorder struct {
	mu     sync.Mutex
	header http.Header
	body   bytes.Buffer // Guarded by mu.
	times  []time.Time  // Guarded by mu.
}

func newRecorder() *recorder { return &recorder{header: make(http.Header)} }

func (r *recorder) Header() http.Header              { return r.header }
func (r *recorder) WriteHeader(int)                  {}
func (r *recorder) Flush()                           {}
func (r *recorder) SetWriteDeadline(time.Time) error { return nil }
func (r *recorder) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times = append(r.times, time.Now())
	return r.body.Write(b)
}

// onBothPaths runs a test once with each way to send.
func onBothPaths(t *testing.T, test func(t *testing.T, cfg stream.Config)) {
	t.Parallel()
	for name, fast := range map[string]bool{"fast": true, "net-http": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, stream.Config{Fast: fast})
		})
	}
}

// serve answers every request with a watch of the text. ended receives how each stream ended, if it is not nil.
func serve(t *testing.T, text *stream.Text, s *stream.Server, ended chan<- error) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "request")
		s.Serve(w, r, stream.Delivery{Watch: text.Watch(r.Header.Get("Last-Event-ID")), Done: func(err error) {
			if ended != nil {
				ended <- err
			}
		}})
	}))
	t.Cleanup(func() {
		s.Close()
		server.Close()
	})
	return server
}

func TestR01_HeadOfAStream(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg stream.Config) {
		text := newText(1)
		server := serve(t, text, stream.NewServer(cfg), nil)
		resp, err := server.Client().Get(server.URL) // Returns although the text says nothing yet.
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		for name, want := range map[string]string{
			"Content-Type": "text/event-stream", "Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no",
			"X-Vercel-Ai-Ui-Message-Stream": "v1", "Content-Encoding": "", "X-Request-Id": "request",
		} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
		first := make([]byte, len("retry: 1000\n\nid: 1-0\n"))
		if _, err := io.ReadFull(resp.Body, first); err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(first, []byte("retry: ")) || !bytes.HasSuffix(first, []byte("\n\nid: 1-0\n")) {
			t.Errorf("begins with %q", first)
		}
		text.Finish(done)
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
	})
}

func TestR12_HeartbeatsWhileTheModelIsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		text := newText(1)
		s := stream.NewServer(stream.Config{})
		w := newRecorder()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Send(ctx, w, text.Watch("")) }()
		synctest.Wait()
		time.Sleep(20 * time.Second) // Of the bubble's clock.
		text.AppendText("あ")
		time.Sleep(60 * time.Second)
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		for i := 1; i < len(w.times); i++ {
			if quiet := w.times[i].Sub(w.times[i-1]); quiet > 15*time.Second {
				t.Errorf("%v between two writes", quiet)
			}
		}
		if _, comments := parseEvents(t, w.body.Bytes()); comments < 4 || comments > 5 {
			t.Errorf("got %d heartbeats in 80 s", comments)
		}
	})
}

func TestHoldBeatsUntilThereIsSomethingToSend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := stream.NewServer(stream.Config{})
		w := newRecorder()
		ready := make(chan struct{})
		held := make(chan error)
		go func() { held <- s.Hold(t.Context(), w, ready) }()
		time.Sleep(50 * time.Second)
		close(ready)
		if err := <-held; err != nil {
			t.Error(err)
		}
		if _, comments := parseEvents(t, w.body.Bytes()); comments != 4 {
			t.Errorf("got %d heartbeats in 50 s", comments)
		}
	})
}

// TestSlowReaderIsDroppedAndHurtsNobody has one client read nothing while megabytes are published.
func TestSlowReaderIsDroppedAndHurtsNobody(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg stream.Config) {
		text := newText(1)
		sent := make(chan error, 20)
		cfg.WriteTimeout = 2 * time.Second
		server := serve(t, text, stream.NewServer(cfg), sent)

		stalled, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer stalled.Close()
		if err := stalled.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(stalled, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		const readers = 3
		bodies := make(chan []byte, readers)
		for range readers {
			go func() {
				resp, err := server.Client().Get(server.URL)
				if err != nil {
					bodies <- nil
					return
				}
				defer resp.Body.Close()
				body, _ := io.ReadAll(resp.Body)
				bodies <- body
			}()
		}
		// More than the sockets' buffers hold.
		piece := strings.Repeat("紡", 10_000)
		const pieces = 240
		for range pieces {
			text.AppendText(piece)
		}
		text.Finish(done)
		slow := 0
		for range readers + 1 {
			if err := <-sent; errors.Is(err, stream.ErrSlow) {
				slow++
			} else if err != nil {
				t.Error(err)
			}
		}
		if slow != 1 {
			t.Errorf("%d readers were dropped, want the one that stalls", slow)
		}
		for range readers {
			var c client
			c.read(t, <-bodies)
			if len(c.text) != pieces*len(piece) || !c.done {
				t.Errorf("a reader got %d of %d bytes", len(c.text), pieces*len(piece))
			}
		}
	})
}

func TestR16_NothingIsLeftOfClosedStreams(t *testing.T) {
	t.Parallel()
	hub := stream.NewHub(stream.HubConfig{})
	text := hub.Open(stream.Head{MessageID: "m", Run: 1})
	text.AppendText("こんにちは")
	s := stream.NewServer(stream.Config{})
	before := runtime.NumGoroutine()
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		var streams sync.WaitGroup
		for range 100 {
			streams.Go(func() {
				w := newRecorder()
				if err := s.Begin(w, httptest.NewRequest(http.MethodGet, "/", nil)); err != nil {
					t.Error(err)
				}
				_ = s.Send(ctx, w, text.Watch(""))
				leave := hub.Join("nobody opens this").Leave
				leave()
			})
		}
		for s.Open() < 100 {
			runtime.Gosched()
		}
		cancel()
		streams.Wait()
	}
	if n := s.Open(); n != 0 {
		t.Errorf("%d streams count as open", n)
	}
	if after := runtime.NumGoroutine(); after > before+50 { // Other tests run meanwhile; 10,000 would show.
		t.Errorf("%d goroutines before, %d after", before, after)
	}
}

// TestR3labsClientReadsTheStream reads with a client that we did not write, over a dropped connection.
func TestR3labsClientReadsTheStream(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg stream.Config) {
		text := newText(1)
		cfg.RetryMin, cfg.RetryMax = time.Millisecond, time.Millisecond
		server := serve(t, text, stream.NewServer(cfg), nil)
		peer := r3labs.NewClient(server.URL)
		peer.ReconnectNotify = func(error, time.Duration) {}
		events := make(chan *r3labs.Event, 1000)
		if err := peer.SubscribeChanRaw(events); err != nil {
			t.Fatal(err)
		}
		defer peer.Unsubscribe(events)
		c := client{}
		next := func() {
			e := <-events
			if len(e.Data) == 0 {
				return // It hands comments and retry on as events without data.
			}
			c.read(t, append(append(append(append([]byte("id: "), e.ID...), "\ndata: "...), e.Data...), "\n\n"...))
		}
		text.AppendText(sample)
		for c.text != sample {
			next()
		}
		server.CloseClientConnections()
		text.AppendText(sample)
		text.Finish(done)
		for !c.done {
			next()
		}
		if c.text != sample+sample {
			t.Errorf("got %q", c.text)
		}
	})
}
