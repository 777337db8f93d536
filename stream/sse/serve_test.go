package sse_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// ask opens a stream with a raw HTTP client, and returns the connection and the response.
func ask(t testing.TB, server *httptest.Server, lastEventID string) (net.Conn, *http.Response) {
	t.Helper()
	conn := must.Get(net.Dial("tcp", server.Listener.Addr().String()))(t)
	t.Cleanup(func() { _ = conn.Close() })
	return conn, askOver(t, conn, "HTTP/1.1", lastEventID)
}

func askOver(t testing.TB, conn net.Conn, proto, lastEventID string) *http.Response {
	t.Helper()
	request := "GET / " + proto + "\r\nHost: x\r\n"
	if lastEventID != "" {
		request += "Last-Event-ID: " + lastEventID + "\r\n"
	}
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	return resp
}

// readBody reads a stream to its end. It accepts an end without the last chunk, after which a client should reconnect.
func readBody(t testing.TB, body io.Reader) []byte {
	t.Helper()
	raw, err := io.ReadAll(body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	return raw
}

// TestHijackedConnections checks which connections are hijacked, and that the events are the same on both
// ways.
func TestHijackedConnections(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, proto string
		fast        bool
		taken       int64
		close       bool
	}{
		{"on", "HTTP/1.1", true, 1, true},
		{"off", "HTTP/1.1", false, 0, false},
		{"HTTP/1.0", "HTTP/1.0", true, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := newText(1)
			text.AppendText(sample)
			s := sse.NewServer(sse.Config{Fast: c.fast})
			ended := make(chan error, 1)
			server := serve(t, text, s, ended)
			conn := must.Get(net.Dial("tcp", server.Listener.Addr().String()))(t)
			defer conn.Close()
			resp := askOver(t, conn, c.proto, "")
			first := make([]byte, 1) // The head is sent before the stream is registered.
			if _, err := io.ReadFull(resp.Body, first); err != nil {
				t.Fatal(err)
			}
			if st := s.Stats(); st.OpenFast != c.taken || st.OpenHTTP != 1-c.taken {
				t.Errorf("%d fast, %d by net/http", st.OpenFast, st.OpenHTTP)
			}
			chunked := len(resp.TransferEncoding) > 0
			if resp.Close != c.close || chunked == (c.proto == "HTTP/1.0") || resp.Header.Get("Date") == "" ||
				resp.Header.Get("X-Request-Id") == "" {
				t.Errorf("got %+v", resp)
			}
			text.AppendText("終")
			text.Finish(done)
			var c streamtest.Client
			read(t, &c, append(first, readBody(t, resp.Body)...))
			if err := <-ended; c.Text != sample+"終" || !c.Done || err != nil {
				t.Errorf("got %q, %v", c.Text, err)
			}
		})
	}
}

// TestR05_DropsAndResumesOverTheWire: clients connect and disconnect at random while an answer is written, so that it
// has one, several or no watchers. The test checks the final text of each client.
func TestR05_DropsAndResumesOverTheWire(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		const readers, visits = 5, 150
		text := newText(1)
		s := sse.NewServer(cfg)
		server := serve(t, text, s, nil)
		var clients sync.WaitGroup
		var last atomic.Bool // From now on clients stay to the end.
		for i := range readers {
			clients.Go(func() {
				rng := rand.New(rand.NewPCG(5, uint64(i)))
				c := streamtest.Client{}
				for !c.Done {
					conn, resp := ask(t, server, c.Cursor)
					body := io.Reader(resp.Body)
					if !last.Load() {
						body = io.LimitReader(body, int64(rng.IntN(2000)))
					}
					raw := readBody(t, body)
					_ = conn.Close()
					if whole := bytes.LastIndex(raw, []byte("\n\n")); whole > 0 {
						c.End = "" // A client that was disconnected before the end mark receives the end again.
						read(t, &c, raw[:whole+2])
					}
				}
				if c.Text != text.Text() || c.End == "" {
					t.Errorf("got %d of %d bytes, ends %v", len(c.Text), len(text.Text()), c.End)
				}
			})
		}
		for tokens, opened := uint64(0), uint64(0); opened < visits; opened = s.Stats().Opened {
			if tokens < 100*(opened+1) { // Keeps the writer at about the speed of the clients.
				text.AppendText("紡ぐ")
				tokens++
			}
			runtime.Gosched()
		}
		last.Store(true)
		text.Finish(done)
		clients.Wait()
		if st := s.Stats(); st.Opened < visits || st.Resets != 0 || st.Bytes == 0 {
			t.Errorf("got %+v", st)
		}
	})
}

// soonRetry matches a retry field of less than a second at the end of a stream.
var soonRetry = regexp.MustCompile(`retry: \d{1,3}\n\n$`)

func TestStreamsEndWithTheirText(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		for name, finish := range map[string]func(*stream.Text){
			"finished": func(text *stream.Text) { text.Finish(done) }, "abandoned": (*stream.Text).Abandon,
		} {
			text := newText(1)
			ended := make(chan error, 2)
			server := serve(t, text, sse.NewServer(cfg), ended)
			for range 2 { // As the only client, and after the end.
				_, resp := ask(t, server, "")
				finish(text)
				var c streamtest.Client
				raw, broken := io.ReadAll(resp.Body)
				read(t, &c, raw)
				if err := <-ended; errors.Is(err, stream.ErrAbandoned) == c.Done || c.Done != (name == "finished") {
					t.Errorf("%s: %v, done %v", name, err, c.Done)
				}
				if soonRetry.Match(raw) == c.Done { // The next run begins soon.
					t.Errorf("%s: the stream ends with %q", name, raw)
				}
				if c.Done != (broken == nil) { // A client must not treat a part as the whole.
					t.Errorf("%s: the body ends with %v", name, broken)
				}
			}
		}
	})
}

// TestHeldStreamsAreTakenOver holds a client before its text exists.
func TestHeldStreamsAreTakenOver(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		text := newText(1)
		s := sse.NewServer(cfg)
		ready, held := make(chan struct{}), make(chan struct{})
		server := serveWith(t, s, func(w http.ResponseWriter, r *http.Request) {
			if err := s.Begin(w, r); err != nil {
				t.Error(err)
			}
			if err := s.Hold(r.Context(), w, nil, ready); err != nil {
				t.Error(err)
			}
			s.Serve(w, r, sse.Delivery{Watch: text.Watch(""), Begun: true, Done: once(t, nil)})
			close(held)
		})
		_, resp := ask(t, server, "")
		close(ready)
		if cfg.Fast {
			<-held
			if st := s.Stats(); st.OpenFast != 1 || st.OpenHTTP != 0 {
				t.Errorf("got %+v", st)
			}
		}
		text.AppendText(sample)
		text.Finish(done)
		raw := readBody(t, resp.Body)
		var c streamtest.Client
		read(t, &c, raw)
		if c.Text != sample || !c.Done || bytes.Count(raw, []byte("retry: ")) != 1 ||
			!bytes.Contains(raw, []byte("\n\n:\n\n")) {
			t.Errorf("got %q", raw)
		}
		<-held
	})
}

// TestCloseEndsOpenStreams closes a server while some of its clients do not read.
func TestCloseEndsOpenStreams(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		const streams = 10
		text := newText(1)
		s := sse.NewServer(cfg)
		ended := make(chan error, streams)
		server := serve(t, text, s, ended)
		for i := range streams {
			_, resp := ask(t, server, "")
			if i%2 == 0 {
				go func() { _, _ = io.Copy(io.Discard, resp.Body) }()
			}
		}
		stop := make(chan struct{})
		var publisher sync.WaitGroup
		publisher.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					text.AppendText("紡ぐ")
				}
			}
		})
		for s.Stats().Bytes < 1<<20 {
			runtime.Gosched()
		}
		server.CloseClientConnections() // Makes net/http abort its writes.
		s.Close()
		for range streams {
			if err := <-ended; !errors.Is(err, sse.ErrDraining) && (cfg.Fast || !errors.Is(err, sse.ErrGone)) {
				t.Errorf("got %v", err)
			}
		}
		close(stop)
		publisher.Wait()
		if n := open(s); n != 0 {
			t.Errorf("%d streams are open", n)
		}
	})
}
