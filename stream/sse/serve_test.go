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
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
)

// ask opens a stream with a client that knows nothing but HTTP, and returns the connection and the response.
func ask(t testing.TB, server *httptest.Server, lastEventID string) (net.Conn, *http.Response) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
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

// readBody reads a stream to its end. An end without the last chunk is an end, too: it says "come back".
func readBody(t testing.TB, body io.Reader) []byte {
	t.Helper()
	raw, err := io.ReadAll(body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	return raw
}

// TestFastPathIsTakenWhereItCan holds who is served how, and that nobody can tell by the events.
func TestFastPathIsTakenWhereItCan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, proto string
		fast        bool
		taken       int64
		close       bool
	}{
		{"on", "HTTP/1.1", true, 1, true}, {"off", "HTTP/1.1", false, 0, false}, {"HTTP/1.0", "HTTP/1.0", true, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := newText(1)
			text.AppendText(sample)
			s := sse.NewServer(sse.Config{Fast: c.fast})
			ended := make(chan error, 1)
			server := serve(t, text, s, ended)
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			resp := askOver(t, conn, c.proto, "")
			first := make([]byte, 1) // The head comes before the stream is one of the server's.
			if _, err := io.ReadFull(resp.Body, first); err != nil {
				t.Fatal(err)
			}
			if st := s.Stats(); st.OpenFast != c.taken || st.OpenHTTP != 1-c.taken {
				t.Errorf("%d fast, %d by net/http", st.OpenFast, st.OpenHTTP)
			}
			if chunked := len(resp.TransferEncoding) > 0; resp.Close != c.close || chunked == (c.proto == "HTTP/1.0") || resp.Header.Get("Date") == "" || resp.Header.Get("X-Request-Id") == "" {
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

// TestR05_DropsAndResumesOverTheWire has clients that come and go at random while an answer is written, so that it has
// one, several or no watchers, and holds what each has in the end.
func TestR05_DropsAndResumesOverTheWire(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		const readers, visits = 5, 150
		text := newText(1)
		s := sse.NewServer(cfg)
		server := serve(t, text, s, nil)
		var clients sync.WaitGroup
		var last atomic.Bool // They stay to the end from now on.
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
						c.End = "" // Who was cut off before the end mark is told of the end again.
						read(t, &c, raw[:whole+2])
					}
				}
				if c.Text != text.Text() || c.End == "" {
					t.Errorf("got %d of %d bytes, ends %v", len(c.Text), len(text.Text()), c.End)
				}
			})
		}
		for tokens, opened := uint64(0), uint64(0); opened < visits; opened = s.Stats().Opened {
			if tokens < 100*(opened+1) { // About as fast as they read.
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

// TestSlowReaderIsDroppedAndHurtsNobody has one client of twenty read nothing.
func TestSlowReaderIsDroppedAndHurtsNobody(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		const readers, events = 19, 10_000
		token := strings.Repeat("紡", 20)
		text := newText(1)
		ended := make(chan error, readers+1)
		cfg.WriteTimeout = 6 * time.Second // In which each of the others reads something, however busy the machine is.
		s := sse.NewServer(cfg)
		server := serve(t, text, s, ended)
		stalled, _ := ask(t, server, "")
		if err := stalled.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		var others sync.WaitGroup
		for range readers {
			_, resp := ask(t, server, "")
			others.Go(func() {
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
		if slow != 1 || s.Stats().Ends.Slow != 1 || s.Stats().Ends.Done != readers {
			t.Errorf("%d readers were dropped, want the one that stalls: %+v", slow, s.Stats())
		}
	})
}

// TestR28_ClientsThatVanishAreNoticed holds that a client that leaves gives its place back: while nothing is sent, and in
// the middle of a write.
func TestR28_ClientsThatVanishAreNoticed(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		for name, leave := range map[string]func(*stream.Text, net.Conn){
			"quiet": func(_ *stream.Text, conn net.Conn) { _ = conn.Close() },
			"half closed before": func(_ *stream.Text, conn net.Conn) {
				_ = conn.(*net.TCPConn).CloseWrite()
				_ = conn.Close()
			},
			"in a write": func(text *stream.Text, conn net.Conn) {
				text.AppendText(strings.Repeat("紡", 3<<20))
				_ = conn.Close()
			},
			"reset": func(text *stream.Text, conn net.Conn) {
				_ = conn.(*net.TCPConn).SetLinger(0)
				_ = conn.Close()
				text.AppendText("紡")
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				text := newText(1)
				ended := make(chan error, 1)
				s := sse.NewServer(cfg)
				server := serve(t, text, s, ended)
				conn, _ := ask(t, server, "")
				leave(text, conn)
				if err := <-ended; !errors.Is(err, sse.ErrGone) {
					t.Errorf("got %v", err)
				}
				for open(s) > 0 || s.Stats().Ends.Gone == 0 {
					runtime.Gosched()
				}
				if s.Stats().Ends.Gone != 1 {
					t.Errorf("got %+v", s.Stats())
				}
				_, resp := ask(t, server, "")
				text.Finish(done)
				var c streamtest.Client
				if read(t, &c, readBody(t, resp.Body)); !c.Done {
					t.Error("whoever comes later is not served")
				}
			})
		}
	})
}

// TestHalfClosedClientsAreServed has clients close their sending side with the request, or later: while they are held,
// and while they are sent something.
func TestHalfClosedClientsAreServed(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		text := newText(1)
		cfg.Heartbeat = 800 * time.Millisecond
		s := sse.NewServer(cfg)
		ready := make(chan struct{})
		ended := make(chan error, 3)
		server := serveWith(t, s, func(w http.ResponseWriter, r *http.Request) {
			held := r.URL.Path == "/held"
			if held {
				if err := s.Begin(w, r); err != nil {
					t.Error(err)
				}
				if err := s.Hold(r.Context(), w, nil, ready); err != nil {
					t.Error(err)
				}
			}
			s.Serve(w, r, sse.Delivery{Watch: text.Watch(""), Begun: held, Done: func(err error) { ended <- err }})
		})
		var bodies []*bufio.Reader
		for _, c := range []struct {
			path string
			late bool
		}{{"/", false}, {"/", true}, {"/held", false}} {
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, "GET "+c.path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			body := bufio.NewReader(conn)
			if c.late {
				_, _ = body.Peek(1)
			}
			if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(body, nil)
			if err != nil {
				t.Fatal(err)
			}
			bodies = append(bodies, bufio.NewReader(resp.Body))
		}
		for i, body := range bodies {
			for beats := 0; beats < 5; { // It was found to send nothing more, and is still there.
				line, err := body.ReadString('\n')
				if err != nil {
					t.Fatal(i, err)
				}
				if line == ":\n" {
					beats++
				}
			}
		}
		close(ready)
		text.AppendText(sample)
		text.Finish(done)
		for range bodies {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		for i, body := range bodies {
			raw, err := io.ReadAll(body)
			if err != nil || !bytes.HasSuffix(raw, []byte("[DONE]\n\n")) {
				t.Errorf("%d ends with %v after %q", i, err, raw)
			}
		}
	})
}

func TestClientThatTalksOnIsIgnored(t *testing.T) {
	t.Parallel()
	text := newText(1)
	ended := make(chan error, 1)
	server := serve(t, text, sse.NewServer(sse.Config{Fast: true, Heartbeat: 80 * time.Millisecond}), ended)
	conn, resp := ask(t, server, "")
	if _, err := io.WriteString(conn, strings.Repeat("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 100)); err != nil {
		t.Fatal(err)
	}
	body := bufio.NewReader(resp.Body)
	for beats := 0; beats < 3; {
		line, err := body.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == ":\n" {
			beats++
		}
	}
	text.AppendText("届く")
	text.Finish(done)
	rest := readBody(t, body)
	if err := <-ended; err != nil || !bytes.Contains(rest, []byte("届く")) || !bytes.HasSuffix(rest, []byte("[DONE]\n\n")) {
		t.Errorf("%v after %q", err, rest)
	}
}

func TestStreamsEndWithTheirText(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		for name, finish := range map[string]func(*stream.Text){"finished": func(text *stream.Text) { text.Finish(done) }, "abandoned": (*stream.Text).Abandon} {
			text := newText(1)
			ended := make(chan error, 2)
			server := serve(t, text, sse.NewServer(cfg), ended)
			for range 2 { // Alone, and late.
				_, resp := ask(t, server, "")
				finish(text)
				var c streamtest.Client
				raw, broken := io.ReadAll(resp.Body)
				read(t, &c, raw)
				if err := <-ended; errors.Is(err, stream.ErrAbandoned) == c.Done || c.Done != (name == "finished") {
					t.Errorf("%s: %v, done %v", name, err, c.Done)
				}
				if c.Done != (broken == nil) { // Whoever reads a part must not take it for the whole.
					t.Errorf("%s: the body ends with %v", name, broken)
				}
			}
		}
	})
}

// TestHeldStreamsAreTakenOver has a client wait before there is a text.
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
		if c.Text != sample || !c.Done || bytes.Count(raw, []byte("retry: ")) != 1 || !bytes.Contains(raw, []byte("\n\n:\n\n")) {
			t.Errorf("got %q", raw)
		}
		<-held
	})
}

// TestCloseEndsWhatIsUnderWay closes a server that writes to clients of which some read nothing.
func TestCloseEndsWhatIsUnderWay(t *testing.T) {
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
		server.CloseClientConnections() // Has net/http give up its writes.
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

// TestSlowClientThatCatchesUpStays has a client pause for less than the time for a write, and be sent more long after.
func TestSlowClientThatCatchesUpStays(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		cfg.WriteTimeout, cfg.Heartbeat = 6*time.Second, 6500*time.Millisecond
		text := newText(1)
		s := sse.NewServer(cfg)
		ended := make(chan error, 1)
		server := serve(t, text, s, ended)
		_, resp := ask(t, server, "")
		text.AppendText(strings.Repeat("紡", 2<<20))
		for cfg.Fast && s.Stats().Drains == 0 {
			runtime.Gosched()
		}
		body := bufio.NewReader(resp.Body)
		for beats := 0; beats < 2; {
			line, err := body.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if line == ":\n" {
				beats++
			}
		}
		text.Finish(done)
		if rest := readBody(t, body); !bytes.HasSuffix(rest, []byte("[DONE]\n\n")) || <-ended != nil {
			t.Errorf("ends with %q", rest)
		}
	})
}

func TestR16_NothingIsLeftOfClosedStreams(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		const together = 50
		streams := 1000 // What net/http does with connections is not ours.
		if cfg.Fast {
			streams = 10_000
		}
		text := newText(1)
		text.AppendText("こんにちは")
		s := sse.NewServer(cfg)
		server := serveWith(t, s, func(w http.ResponseWriter, r *http.Request) {
			admission, err := s.Admit("person")
			if err != nil {
				t.Error(err)
				return
			}
			s.Serve(w, r, sse.Delivery{Watch: text.Watch(""), Admission: admission, Done: func(error) { admission.Release() }})
		})
		goroutines, files := runtime.NumGoroutine(), openFiles(t)
		for range streams / together {
			var clients sync.WaitGroup
			for range together {
				clients.Go(func() { comeAndGo(t, server) })
			}
			clients.Wait()
			text.AppendText("。") // Shows who is gone.
		}
		for open(s) > 0 || s.Stats().Ends.Gone < uint64(streams) { // The last is counted when it is no longer open.
			runtime.Gosched()
		}
		st := s.Stats()
		if st.Opened != uint64(streams) || st.Ends.Gone != uint64(streams) || st.OpenFast+st.OpenHTTP != 0 {
			t.Errorf("got %+v", st)
		}
		// Other tests run meanwhile; 10,000 would show.
		if n := runtime.NumGoroutine(); n > goroutines+200 {
			t.Errorf("%d goroutines before, %d after", goroutines, n)
		}
		if n := openFiles(t); n > files+400 {
			t.Errorf("%d open files before, %d after", files, n)
		}
	})
}

// comeAndGo opens a stream and leaves when the first of it has come.
func comeAndGo(t *testing.T, server *httptest.Server) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Error(err)
	}
	if _, err := conn.Read(make([]byte, 10)); err != nil {
		t.Error(err)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0 // No such thing on this system.
	}
	return len(list)
}

// slowEnds waits for the ends of n streams and returns how many of them were dropped for being slow. None ends otherwise.
func slowEnds(t *testing.T, ended <-chan error, n int) (slow int) {
	t.Helper()
	for range n {
		if err := <-ended; errors.Is(err, sse.ErrSlow) {
			slow++
		} else if err != nil {
			t.Error(err)
		}
	}
	return slow
}
