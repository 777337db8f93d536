package sse_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
)

// pipes creates connections that use only the clock of a synctest bubble.
type pipes struct{ conns chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// bubble runs a test in a synctest bubble with a server. ask opens a stream and returns its body.
func bubble(
	t *testing.T, s func() *sse.Server, handler func(*sse.Server) http.HandlerFunc,
	test func(s *sse.Server, ask func() io.Reader),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := s()
		listener := pipes{make(chan net.Conn, 1)}
		server := &http.Server{Handler: handler(s)}
		served := make(chan struct{})
		go func() { defer close(served); _ = server.Serve(listener) }()
		var clients []net.Conn
		test(s, func() io.Reader {
			client, conn := net.Pipe()
			clients = append(clients, client)
			listener.conns <- conn
			return askOver(t, client, "HTTP/1.1", "").Body
		})
		s.Close()
		for _, c := range clients {
			_ = c.Close()
		}
		close(listener.conns)
		<-served
		_ = server.Close()
	})
}

// timed is a received piece with its time.
type timed struct {
	raw   []byte
	reads []time.Time
	end   time.Time
}

func readTimed(body io.Reader) *timed {
	r := &timed{}
	buf := make([]byte, 4096)
	for {
		n, err := body.Read(buf)
		if err != nil {
			r.end = time.Now()
			return r
		}
		r.raw = append(r.raw, buf[:n]...)
		r.reads = append(r.reads, time.Now())
	}
}

func TestR12_HeartbeatsWhileTheModelIsSilent(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		const streams = 20
		text := newText(1)
		handler := func(s *sse.Server) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				s.Serve(w, r, sse.Delivery{Watch: text.Watch(""), Done: func(error) {}})
			}
		}
		bubble(t, func() *sse.Server { return sse.NewServer(cfg) }, handler, func(s *sse.Server, ask func() io.Reader) {
			var readers sync.WaitGroup
			reads := make([]*timed, streams)
			for i := range streams {
				body := ask()
				readers.Go(func() { reads[i] = readTimed(body) })
			}
			time.Sleep(20 * time.Second) // By the bubble's clock.
			text.AppendText("あ")
			time.Sleep(60 * time.Second)
			s.Close()
			readers.Wait()
			seconds := make(map[time.Time]int)
			for _, r := range reads {
				for i := 1; i < len(r.reads); i++ {
					if quiet := r.reads[i].Sub(r.reads[i-1]); quiet > 15*time.Second {
						t.Errorf("%v between two writes", quiet)
					}
				}
				if comments := bytes.Count(r.raw, []byte("\n:\n")); comments < 4 || comments > 8 {
					t.Errorf("got %d heartbeats in 80 s", comments)
				}
				seconds[r.reads[len(r.reads)-1].Truncate(time.Second)]++
			}
			if cfg.Fast && len(seconds) < 3 {
				t.Errorf("heartbeats come all at once: %v", seconds)
			}
		})
	})
}

func TestR13_StreamsEndWhenTheirTimeIsUp(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		text := newText(1)
		began := make(chan time.Time, 1)
		ended := make(chan error, 1)
		life := 10*time.Minute + 123*time.Millisecond
		handler := func(s *sse.Server) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				began <- time.Now()
				s.Serve(w, r, sse.Delivery{Watch: text.Watch(""), Until: time.Now().Add(life), Done: once(t, ended)})
			}
		}
		bubble(t, func() *sse.Server { return sse.NewServer(cfg) }, handler, func(_ *sse.Server, ask func() io.Reader) {
			check := func(r *timed) {
				if lived := r.end.Sub(<-began); lived != life {
					t.Errorf("lived for %v, not %v", lived, life)
				}
				if err := <-ended; !errors.Is(err, context.DeadlineExceeded) ||
					bytes.Contains(r.raw, []byte("[DONE]")) {
					t.Errorf("%v after %q", err, r.raw)
				}
			}
			check(readTimed(ask()))
			// A stream with an earlier deadline joins while the sweep waits.
			other := ask()
			began := <-began
			time.Sleep(10 * time.Millisecond)
			rest := make(chan *timed)
			go func() { rest <- readTimed(other) }()
			long := life
			life = 300 * time.Millisecond
			check(readTimed(ask()))
			if r := <-rest; r.end.Sub(began) != long {
				t.Errorf("lived for %v, not %v", r.end.Sub(began), long)
			}
		})
	})
}

// TestEveryWatcherIsNotifiedAtOnce tests a slowly published text with one watcher, then three, then one.
func TestEveryWatcherIsNotifiedAtOnce(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		text := newText(1)
		handler := func(s *sse.Server) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				s.Serve(w, r, sse.Delivery{Watch: text.Watch(""), Done: func(error) {}})
			}
		}
		bubble(t, func() *sse.Server { return sse.NewServer(cfg) }, handler, func(_ *sse.Server, ask func() io.Reader) {
			var bodies []*bufio.Reader
			for _, n := range []int{1, 3} {
				for len(bodies) < n {
					bodies = append(bodies, bufio.NewReader(ask()))
				}
				for range 5 {
					time.Sleep(10 * time.Millisecond)
					text.AppendText("紡")
					published := time.Now()
					want := strings.Count(text.Text(), "紡")
					for _, body := range bodies {
						if awaitText(t, body, want); time.Since(published) > 0 {
							t.Errorf("told after %v", time.Since(published))
						}
					}
				}
			}
		})
	})
}

// awaitText reads until the cursor is after the given number of characters.
func awaitText(t *testing.T, body *bufio.Reader, characters int) {
	t.Helper()
	id := "id: " + stream.Cursor{Run: 1, Offset: characters * len("紡")}.String() + "\n"
	for line := ""; line != id; {
		var err error
		if line, err = body.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	for line := ""; line != "\n"; { // A pipe's writer blocks until everything is read.
		line, _ = body.ReadString('\n')
	}
}
