package sse

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// Config tunes how events are sent. The zero value of a field means its default.
type Config struct {
	Heartbeat    time.Duration // A comment is sent when nothing else was for so long. Default 15 s.
	WriteTimeout time.Duration // A client that takes nothing for so long is dropped. Default 10 s.
	RetryMin     time.Duration // Clients reconnect after a random time from here, default 1 s,
	RetryMax     time.Duration // to here, default 3 s.

	// Fast has Serve take plain HTTP/1.1 connections over from net/http. What a client receives is the same, and an
	// idle stream costs a tenth of the memory and no goroutine.
	Fast bool

	MaxStreams int // Admit lets so many in, default any number.
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	set(&c.Heartbeat, 15*time.Second)
	set(&c.WriteTimeout, 10*time.Second)
	set(&c.RetryMin, time.Second)
	set(&c.RetryMax, 3*time.Second)
	c.RetryMax = max(c.RetryMax, c.RetryMin)
	return c
}

// Server sends watches to HTTP clients as server-sent events. It is safe for concurrent use; its zero value is not
// usable.
type Server struct {
	cfg      Config
	began    time.Time // The server's clock counts from here.
	counters counters
	writers  []*writer
	work     sync.WaitGroup // The goroutines of this server.
	poke     chan struct{}  // Has the sweep not wait. Has room for one.
	stop     chan struct{}  // Closed by Close: lingering connections are closed at once.

	mu          sync.Mutex
	subscribers []*subscriber           // Guarded by mu. Streams on connections that were taken over.
	groups      map[*stream.Text]*group // Guarded by mu. The same, by text.
	responses   map[*response]struct{}  // Guarded by mu. Streams that net/http writes, held ones among them.
	admitted    int                     // Guarded by mu.
	people      map[string]admissions   // Guarded by mu. By person.
	draining    bool                    // Guarded by mu. Admit fails.
	closed      bool                    // Guarded by mu. No stream can begin.
	stopped     bool                    // Guarded by mu. The channel stop is closed.
	lingering   int                     // Guarded by mu. Connections of streams that have ended.
	arrived     []*lingering            // Guarded by mu. Those that closeLingering has not looked at yet.
	empty       chan struct{}           // Guarded by mu. Closed when nothing is left; nil without Drain.
	quit        chan struct{}           // Guarded by mu. Ends the writers and the sweep; nil without subscribers.
	nextSweep   time.Duration           // Guarded by mu. By the server's clock.
	reaped      time.Time               // Guarded by mu. When Reap looked last.
	turn        int                     // Guarded by mu. The writer that gets the next subscriber.
}

// NewServer returns a server with the given settings.
func NewServer(cfg Config) *Server {
	s := &Server{
		cfg: cfg.withDefaults(), began: time.Now(), poke: make(chan struct{}, 1), stop: make(chan struct{}),
		groups:    make(map[*stream.Text]*group),
		responses: make(map[*response]struct{}), people: make(map[string]admissions),
	}
	for range runtime.GOMAXPROCS(0) {
		s.writers = append(s.writers, &writer{call: make(chan struct{}, 1)})
	}
	return s
}

// clock converts a time to the server's clock, which is monotonic.
func (s *Server) clock(t time.Time) time.Duration { return t.Sub(s.began) }

// Delivery is one client's stream.
type Delivery struct {
	Watch     *stream.Watch
	Admission *Admission // What End ends the stream by. May be nil.
	Until     time.Time  // The stream ends then at the latest; zero for never.
	Begun     bool       // Begin was called before.

	// Done is called once when the stream is over: with nil after the text's end, else with stream.ErrAbandoned,
	// ErrGone, ErrSlow, ErrDraining, ErrEnded or context.DeadlineExceeded. It may block for a moment, and is called
	// with no lock held.
	Done func(error)
}

// Why a stream ended before its text did, beside stream.ErrAbandoned and ErrDraining.
var (
	ErrSlow  = errors.New("sse: the client is too slow") // It did not take what it was sent in time.
	ErrGone  = errors.New("sse: the client is gone")
	ErrEnded = errors.New("sse: the streams of this person were ended")
)

// Serve sends a watch to the client of a request. It returns when the stream is over, or when it goes on without the
// request's goroutine and without w and r. The response is complete only after the text's end. Otherwise it is aborted,
// by a panic with http.ErrAbortHandler where net/http writes it, so that no client takes a part for the whole.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, d Delivery) {
	s.counters.begun(d.Watch)
	if !d.Begun {
		s.head(w, r)
	}
	if s.takesOver(r) {
		rc := http.NewResponseController(w)
		if d.Begun {
			_ = rc.Flush() // What Begin wrote would be lost.
		} else {
			w.WriteHeader(http.StatusOK) // For what wraps w.
		}
		// What the client has sent after its request is ignored. On an error, net/http keeps the connection.
		if conn, _, err := rc.Hijack(); err == nil {
			s.takeOver(conn, d)
			return
		}
	}
	s.respond(w, r, d)
}

// takesOver reports whether the connection of a request can be taken over once net/http has sent the head.
func (s *Server) takesOver(r *http.Request) bool {
	return s.cfg.Fast && canTakeOver && r.TLS == nil && r.Method != http.MethodHead &&
		r.ProtoMajor == 1 && r.ProtoMinor >= 1
}

// finish counts and reports the end of a stream.
func (s *Server) finish(done func(error), err error) {
	switch {
	case err == nil, errors.Is(err, stream.ErrAbandoned), errors.Is(err, ErrGone), errors.Is(err, ErrSlow),
		errors.Is(err, ErrDraining), errors.Is(err, ErrEnded), errors.Is(err, context.DeadlineExceeded):
	default:
		err = fmt.Errorf("%w: %w", ErrGone, err)
	}
	s.counters.over(err)
	done(err)
}

// Begin writes the head of the response. Hold or Serve must follow; they flush it.
func (s *Server) Begin(w http.ResponseWriter, r *http.Request) error {
	s.head(w, r)
	_, err := w.Write(s.appendRetry(nil))
	return err
}

// head sets the response's header.
func (s *Server) head(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Vercel-Ai-Ui-Message-Stream", "v1")
	if s.takesOver(r) {
		h.Set("Connection", "close") // net/http does not get the connection back.
	}
}

// appendRetry appends the retry field, with a time drawn at random.
func (s *Server) appendRetry(dst []byte) []byte {
	retry := s.cfg.RetryMin + rand.N(s.cfg.RetryMax-s.cfg.RetryMin+1) //nolint:gosec // Spreads clients; not a secret.
	return append(strconv.AppendInt(append(dst, "retry: "...), retry.Milliseconds(), 10), "\n\n"...)
}

// sendError returns ErrSlow for a write that has timed out, and other errors as they are.
func sendError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ErrSlow
	}
	return err
}
