package stream_test

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// TestLogIsGoneOnceAllHaveReadIt holds that no goroutine of the server keeps alive what it wrote last.
func TestLogIsGoneOnceAllHaveReadIt(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg stream.Config) {
		const watchers, tokens = 4, 20_000
		hub := stream.NewHub(stream.HubConfig{})
		text := hub.Open(stream.Head{MessageID: "0190", Run: 1})
		s := stream.NewServer(cfg)
		server := serve(t, text, s, nil)
		var readers sync.WaitGroup
		for range watchers {
			_, resp := ask(t, server, "")
			body := bufio.NewReader(resp.Body)
			readers.Go(func() {
				for last := ""; !strings.Contains(last, "終"); {
					line, err := body.ReadString('\n')
					if err != nil {
						t.Error(err)
						return
					}
					last = line
				}
			})
		}
		for range tokens {
			text.AppendText("紡")
		}
		text.AppendText("終")
		readers.Wait()
		const tail = 16 << 10
		held := tail + 1
		for deadline := time.Now().Add(10 * time.Second); held > tail && time.Now().Before(deadline); {
			runtime.GC() // A pool forgets with the second one, and a goroutine may still be about to rest.
			held = hub.Stats().LogBytes
		}
		if held > tail {
			t.Errorf("%d bytes of events are held that nobody has still to read", held)
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
	const perPerson, all, tokens = 3, 5, 10_000
	text := newText(1)
	s := stream.NewServer(stream.Config{MaxStreams: all, MaxStreamsPerPerson: perPerson, Heartbeat: 8 * time.Millisecond})
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
			s.Serve(w, r, stream.Delivery{Watch: text.Watch(""), Admission: admission, Done: func(err error) {
				if err != nil {
					t.Error(err)
				}
				admission.Release()
			}})
		})
		<-began
	}
	if len(responses) != all || refused[stream.ErrTooMany] != 1 || refused[stream.ErrFull] != 2 {
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
		var c client
		raw, _ := io.ReadAll(strings.NewReader(w.body.String()))
		if c.read(t, raw); !c.done || c.text != text.Text() {
			t.Errorf("got %d bytes of %d", len(c.text), len(text.Text()))
		}
	}
}
