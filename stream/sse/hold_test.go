package sse_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
)

// TestLogIsGoneOnceAllHaveReadIt holds that whoever writes for the server keeps nothing alive of what was written: a segment
// that everybody has read is gone, but for the last one.
func TestLogIsGoneOnceAllHaveReadIt(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg sse.Config) {
		const watchers = 4
		update := stream.Update{Run: 1} // Several segments, told at once.
		for i := range 32 {
			data := fmt.Sprintf(`{"type":"data-step","id":"%d","data":{"detail":"%s"}}`, i, strings.Repeat("x", 700))
			update.Parts = append(update.Parts, stream.Part{Seq: i + 1, Key: strconv.Itoa(i), Data: []byte(data)})
		}
		text := newText(1)
		watch := text.Watch("")
		watch.Take()
		s := sse.NewServer(cfg)
		server := serve(t, text, s, nil)
		var readers sync.WaitGroup
		for range watchers {
			_, resp := ask(t, server, "")
			body := bufio.NewReader(resp.Body)
			readers.Go(func() {
				for line := ""; !strings.Contains(line, "終"); {
					var err error
					if line, err = body.ReadString('\n'); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		if err := text.Apply(update); err != nil {
			t.Error(err)
		}
		text.AppendText("終")
		readers.Wait()
		var pieces []weak.Pointer[byte]
		for piece := watch.Take(); piece != nil; piece = watch.Take() {
			pieces = append(pieces, weak.Make(&piece[0]))
		}
		read := pieces[:len(pieces)-1] // The text holds the last one.
		held := func(p weak.Pointer[byte]) bool { return p.Value() != nil }
		// Who wrote may still be about to let go.
		for deadline := time.Now().Add(10 * time.Second); slices.ContainsFunc(read, held) && time.Now().Before(deadline); {
			runtime.GC()
		}
		if len(read) < 2 || slices.ContainsFunc(read, held) {
			t.Errorf("of %d segments, some are held that all have read", len(read))
		}
		text.Finish(done)
	})
}

// stuck is a response whose writes wait until they are let go.
type stuck struct {
	header  http.Header
	began   chan<- struct{} // Told of the first write. Has room.
	letGo   <-chan struct{}
	writing atomic.Int32
	all     *atomic.Int32 // Writes that are under way to any.
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

// TestSlowClientsKeepOneHandEach holds what clients of net/http that take nothing can cost at most: a goroutine for each stream
// that was admitted, however much is published and however often they are looked at, beside the one that net/http has for it.
func TestSlowClientsKeepOneHandEach(t *testing.T) {
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
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		if err != nil {
			t.Fatal(err)
		}
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
	s.Close() // Waits for the hands.
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
