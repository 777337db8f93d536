package sse_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestR28_DisconnectedClientsAreDetected: the stream of a disconnected client ends, both while nothing is sent and
// during a write.
func TestR28_DisconnectedClientsAreDetected(t *testing.T) {
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
					t.Error("a later client is not served")
				}
			})
		}
	})
}

// TestHalfClosedClientsAreServed: clients close their sending side with the request or later, while their stream is
// held or sent.
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
			conn := must.Get(net.Dial("tcp", server.Listener.Addr().String()))(t)
			defer conn.Close()
			if _, err := io.WriteString(conn, "GET "+c.path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			body := bufio.NewReader(conn)
			if c.late {
				_, _ = body.Peek(1)
			}
			must.Succeed(t, conn.(*net.TCPConn).CloseWrite())
			resp := must.Get(http.ReadResponse(body, nil))(t)
			bodies = append(bodies, bufio.NewReader(resp.Body))
		}
		for i, body := range bodies {
			// The server has detected the half-closed connection; the client is still connected.
			for beats := 0; beats < 5; {
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

func TestInputAfterTheRequestIsIgnored(t *testing.T) {
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
		line := must.Get(body.ReadString('\n'))(t)
		if line == ":\n" {
			beats++
		}
	}
	text.AppendText("届く")
	text.Finish(done)
	rest := readBody(t, body)
	if err := <-ended; err != nil || !bytes.Contains(rest, []byte("届く")) ||
		!bytes.HasSuffix(rest, []byte("[DONE]\n\n")) {
		t.Errorf("%v after %q", err, rest)
	}
}

func TestR16_NothingIsLeftOfClosedStreams(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		const together = 50
		streams := 1000 // Without the goroutines of net/http.
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
			s.Serve(w, r, sse.Delivery{
				Watch: text.Watch(""), Admission: admission,
				Done: func(error) { admission.Release() },
			})
		})
		goroutines, files := runtime.NumGoroutine(), openFiles(t)
		for range streams / together {
			var clients sync.WaitGroup
			for range together {
				clients.Go(func() { openAndLeave(t, server) })
			}
			clients.Wait()
			text.AppendText("。") // Detects the disconnected clients.
		}
		for open(s) > 0 || s.Stats().Ends.Gone < uint64(streams) { // The last one is counted after it is closed.
			runtime.Gosched()
		}
		closed := time.Now()
		st := s.Stats()
		if st.Opened != uint64(streams) || st.Ends.Gone != uint64(streams) || st.OpenFast+st.OpenHTTP != 0 {
			t.Errorf("got %+v", st)
		}
		// Other tests run concurrently; a leak of 10,000 would be visible. Closed connections take a moment to end.
		for n := runtime.NumGoroutine(); n > goroutines+200; n = runtime.NumGoroutine() {
			if time.Since(closed) > time.Minute {
				t.Fatalf("%d goroutines before, %d after", goroutines, n)
			}
			runtime.Gosched()
		}
		for n := openFiles(t); n > files+400; n = openFiles(t) {
			if time.Since(closed) > time.Minute {
				t.Fatalf("%d open files before, %d after", files, n)
			}
			runtime.Gosched()
		}
	})
}

// openAndLeave opens a stream and disconnects after its first bytes.
func openAndLeave(t *testing.T, server *httptest.Server) {
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
		return 0 // Not available on this system.
	}
	return len(list)
}
