package sse_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream/sse"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestAdmitCountsExactly(t *testing.T) {
	t.Parallel()
	s := sse.NewServer(sse.Config{MaxStreams: 30})
	var admitted, full atomic.Int32
	releases := make(chan func(), 200)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			admission, err := s.Admit([]string{"a", "b"}[i%2])
			switch {
			case err == nil:
				admitted.Add(1)
				releases <- admission.Release
			case errors.Is(err, sse.ErrFull):
				full.Add(1)
			}
		})
	}
	all.Wait()
	if admitted.Load() != 30 || full.Load() != 170 {
		t.Errorf("%d admitted, %d full", admitted.Load(), full.Load())
	}
	close(releases)
	for release := range releases {
		all.Go(func() { release(); release() })
	}
	all.Wait()
	for range 30 {
		if _, err := s.Admit("a"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Admit("a"); !errors.Is(err, sse.ErrFull) {
		t.Errorf("got %v", err)
	}
}

// TestR31_StreamsOfDisconnectedClientsEnd reloads a page while the number of streams is at its limit.
func TestR31_StreamsOfDisconnectedClientsEnd(t *testing.T) {
	t.Parallel()
	text := newText(1)
	s := sse.NewServer(sse.Config{Fast: true, MaxStreams: 1})
	server := serveWith(t, s, func(w http.ResponseWriter, r *http.Request) {
		admission, err := s.Admit("person")
		if err != nil {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		s.Serve(w, r, sse.Delivery{
			Watch: text.Watch(""), Admission: admission,
			Done: func(error) { admission.Release() },
		})
	})
	conn, _ := ask(t, server, "")
	resp, err := server.Client().Get(server.URL)
	if err != nil || resp.StatusCode != http.StatusTooManyRequests {
		t.Fatal(resp, err)
	}
	_ = resp.Body.Close()
	_ = conn.Close()
	for began := time.Now(); ; {
		resp := must.Get(server.Client().Get(server.URL))(t)
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatal("the place was not given back")
		}
	}
}

// TestR18_DrainSpreadsTheEnds ends streams of all kinds over five seconds.
func TestR18_DrainSpreadsTheEnds(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		const streams, over = 100, 5 * time.Second
		text := newText(1)
		handler := func(s *sse.Server) http.HandlerFunc {
			var n atomic.Int32
			return func(w http.ResponseWriter, r *http.Request) {
				admission, err := s.Admit("person")
				if err != nil {
					t.Error(err)
					return
				}
				done := func(err error) {
					if admission.Release(); !errors.Is(err, sse.ErrDraining) {
						t.Errorf("got %v", err)
					}
				}
				if n.Add(1)%10 > 0 {
					s.Serve(w, r, sse.Delivery{Watch: text.Watch(""), Admission: admission, Done: done})
					return
				}
				if err := s.Begin(w, r); err != nil {
					t.Error(err)
				}
				done(s.Hold(r.Context(), w, admission, nil))
			}
		}
		bubble(t, func() *sse.Server { return sse.NewServer(cfg) }, handler, func(s *sse.Server, ask func() io.Reader) {
			var readers sync.WaitGroup
			reads := make([]*timed, streams)
			for i := range streams {
				body := ask()
				readers.Go(func() { reads[i] = readTimed(body) })
			}
			time.Sleep(time.Minute)
			began := time.Now()
			drained := make(chan error)
			go func() { drained <- s.Drain(context.Background(), over) }()
			time.Sleep(over / 2)
			if _, err := s.Admit("person"); !errors.Is(err, sse.ErrDraining) {
				t.Errorf("got %v", err)
			}
			text.AppendText("まだ続く") // The remaining ones are still served.
			if err := <-drained; err != nil || open(s) != 0 {
				t.Errorf("%v, %d are open", err, open(s))
			}
			readers.Wait()
			var ends [5]int
			for _, r := range reads {
				ends[min(int(r.end.Sub(began)/time.Second), 4)]++
			}
			for _, n := range ends {
				if n < 15 || n > 25 {
					t.Errorf("ends by second: %v", ends)
				}
			}
			if st := s.Stats(); !cfg.Fast && st.Ends.Drained != streams*9/10 {
				t.Errorf("got %+v", st)
			}
		})
	})
}

// TestR45_StreamsOfOnePersonEnd ends a person's streams that are open, held, or not yet begun. Streams of another
// person continue.
func TestR45_StreamsOfOnePersonEnd(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		text := newText(1)
		s := sse.NewServer(cfg)
		ended := map[string]chan error{"a": make(chan error, 10), "b": make(chan error, 10)}
		admitted, begin := make(chan struct{}), make(chan struct{})
		server := serveWith(t, s, func(w http.ResponseWriter, r *http.Request) {
			person := r.Header.Get("Person")
			admission, err := s.Admit(person)
			if err != nil {
				t.Error(err)
				return
			}
			done := func(err error) {
				admission.Release()
				ended[person] <- err
			}
			switch r.URL.Path {
			case "/held":
				if err := s.Begin(w, r); err != nil {
					t.Error(err)
				}
				done(s.Hold(r.Context(), w, admission, nil))
				return
			case "/late":
				admitted <- struct{}{}
				<-begin
			}
			s.Serve(w, r, sse.Delivery{Watch: text.Watch(""), Admission: admission, Done: done})
		})
		bodies := make(chan string, 10)
		var readers sync.WaitGroup
		visit := func(person, path string) {
			readers.Go(func() {
				r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
				r.Header.Set("Person", person)
				r.Close = true // A request without a response is not repeated on a new connection.
				resp, err := server.Client().Do(r)
				if errors.Is(err, io.EOF) {
					bodies <- "" // Ended while its head was being sent.
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				bodies <- string(readBody(t, resp.Body))
			})
		}
		visit("a", "/late")
		<-admitted
		for _, path := range []string{"/", "/", "/held"} {
			visit("a", path)
			visit("b", path)
		}
		for open(s) < 6 {
			runtime.Gosched()
		}
		s.End("a")
		close(begin)
		for range 4 {
			if err := <-ended["a"]; !errors.Is(err, sse.ErrEnded) {
				t.Errorf("got %v", err)
			}
			if body := <-bodies; strings.Contains(body, "[DONE]") {
				t.Errorf("ended with %q", body)
			}
		}
		if people := s.People(); !slices.Equal(people, []string{"b"}) {
			t.Errorf("%v have streams", people)
		}
		visit("a", "/") // A later admission is not affected.
		for open(s) < 4 {
			runtime.Gosched()
		}
		text.Finish(done)
		for _, person := range []string{"a", "b", "b"} {
			if err := <-ended[person]; err != nil {
				t.Errorf("%s: %v", person, err)
			}
		}
		s.Close() // Ends the other person's held stream.
		readers.Wait()
		if st := s.Stats(); st.Ends.Expired != 3 {
			t.Errorf("got %+v", st.Ends)
		}
	})
}

func TestStatsCountTheLag(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		text := newText(1)
		s := sse.NewServer(cfg)
		ended := make(chan error, 1)
		server := serve(t, text, s, ended)
		_, resp := ask(t, server, "9-9")
		lines := bufio.NewScanner(resp.Body)
		next := func() { // The client has the latest piece and waits for the next one.
			for lines.Scan() && !strings.Contains(lines.Text(), "紡ぐ") {
				continue
			}
		}
		for range 100 {
			text.AppendText("紡ぐ")
			next()
		}
		text.Finish(done)
		for lines.Scan() {
			continue
		}
		<-ended
		st, timed := s.Stats(), uint64(0)
		for _, bucket := range st.Lag {
			timed += bucket.Count
		}
		if st.Opened != 1 || st.Resumes != 1 || st.Resets != 1 || timed == 0 || timed > st.Writes || st.LagSum <= 0 ||
			st.Bytes == 0 || st.Ends.Done != 1 {
			t.Errorf("got %+v", st)
		}
	})
}
