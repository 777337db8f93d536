package sse_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
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

// TestSlowReaderIsDroppedAndDelaysNobody: one of twenty clients does not read.
func TestSlowReaderIsDroppedAndDelaysNobody(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		const readers, events = 19, 10_000
		token := strings.Repeat("紡", 20)
		text := newText(1)
		ended := make(chan error, readers+1)
		cfg.WriteTimeout = 6 * time.Second // Long enough for the other clients to read on a busy machine.
		s := sse.NewServer(cfg)
		server := serve(t, text, s, ended)
		stalled, _ := ask(t, server, "")
		must.Succeed(t, stalled.(*net.TCPConn).SetReadBuffer(4<<10))
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

// TestSlowClientThatCatchesUpStays: a client pauses for less than the write timeout, and receives more text long after.
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
			line := must.Get(body.ReadString('\n'))(t)
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

// slowEnds waits for the ends of n streams and returns the number of those dropped as slow. It accepts no other ends.
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

// stuck is a response whose writes block until they are released.
type stuck struct {
	header  http.Header
	began   chan<- struct{} // Receives the first write. Buffered.
	letGo   <-chan struct{}
	writing atomic.Int32
	all     *atomic.Int32 // Writes in progress, of all responses.
	most    *atomic.Int32
	body    strings.Builder
}

func (s *stuck) Header() http.Header { return s.header }
func (s *stuck) WriteHeader(int)     {}
func (s *stuck) Flush()              {}

func (s *stuck) Write(b []byte) (int, error) {
	if s.writing.Add(1) > 1 {
		return 0, errors.New("two write at once")
	}
	defer s.writing.Add(-1)
	s.most.Store(max(s.most.Load(), s.all.Add(1)))
	defer s.all.Add(-1)
	select {
	case s.began <- struct{}{}:
	default:
	}
	<-s.letGo
	return s.body.Write(b)
}

// TestSlowClientsCostOneWriteEach: a stalled client on net/http has at most one write in progress, however much is
// published. The write uses the goroutine of its request.
func TestSlowClientsCostOneWriteEach(t *testing.T) {
	t.Parallel()
	const all, tokens = 5, 2000
	text := newText(1)
	s := sse.NewServer(sse.Config{MaxStreams: all, Heartbeat: 8 * time.Millisecond})
	began, letGo := make(chan struct{}, all), make(chan struct{})
	var writing, most atomic.Int32
	var responses []*stuck
	var requests sync.WaitGroup
	refused := map[error]int{}
	for _, person := range []string{"a", "a", "a", "a", "b", "b", "b", "c"} {
		admission, err := s.Admit(person)
		if err != nil {
			refused[err]++
			continue
		}
		w := &stuck{header: make(http.Header), began: began, letGo: letGo, all: &writing, most: &most}
		responses = append(responses, w)
		r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))(t)
		requests.Go(func() {
			s.Serve(w, r, sse.Delivery{Watch: text.Watch(""), Admission: admission, Done: func(err error) {
				if err != nil {
					t.Error(err)
				}
				admission.Release()
			}})
		})
		<-began
	}
	if len(responses) != all || refused[sse.ErrFull] != 3 {
		t.Errorf("%d were admitted, refused: %v", len(responses), refused)
	}
	for range tokens {
		text.AppendText("紡")
	}
	text.Finish(done)
	close(letGo)
	requests.Wait()
	s.Close()
	if most.Load() != all || writing.Load() != 0 {
		t.Errorf("%d wrote at once, %d still do", most.Load(), writing.Load())
	}
	for _, w := range responses {
		var c streamtest.Client
		raw, _ := io.ReadAll(strings.NewReader(w.body.String()))
		if read(t, &c, raw); !c.Done || c.Text != text.Text() {
			t.Errorf("got %d bytes of %d", len(c.Text), len(text.Text()))
		}
	}
}
