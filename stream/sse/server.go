package sse

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// Config tunes the sending of events. The zero value of a field selects its default.
type Config struct {
	Heartbeat    time.Duration // Time without data after which a comment is sent. Default 15 s.
	WriteTimeout time.Duration // Time after which a client that accepts no data is disconnected. Default 10 s.
	RetryMin     time.Duration // Minimum of the clients' random reconnection time, default 1 s.
	RetryMax     time.Duration // Maximum of the clients' random reconnection time, default 3 s.

	// Fast lets Serve hijack plain HTTP/1.1 connections from net/http. Clients receive the same data. An idle stream
	// uses a tenth of the memory and no goroutine.
	Fast bool

	MaxStreams int // Maximum number of admissions; default unlimited.
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
	began    time.Time // The zero of the server's clock.
	counters counters
	writers  []*writer
	work     sync.WaitGroup // The goroutines of this server.
	poke     chan struct{}  // Starts a sweep at once. Has capacity one.
	stop     chan struct{}  // Closed by Close, to close lingering connections at once.

	mu          sync.Mutex
	subscribers []*subscriber           // Guarded by mu. Streams on hijacked connections.
	groups      map[*stream.Text]*group // Guarded by mu. The same, by text.
	responses   map[*response]struct{}  // Guarded by mu. Streams written by net/http, including held ones.
	admitted    int                     // Guarded by mu.
	people      map[string]admissions   // Guarded by mu. By person.
	draining    bool                    // Guarded by mu. Admit fails.
	closed      bool                    // Guarded by mu. No stream can begin.
	stopped     bool                    // Guarded by mu. The channel stop is closed.
	lingering   int                     // Guarded by mu. Connections of streams that have ended.
	arrived     []*lingering            // Guarded by mu. Connections that closeLingering has not yet added.
	empty       chan struct{}           // Guarded by mu. Closed when nothing is left; nil without Drain.
	quit        chan struct{}           // Guarded by mu. Ends the writers and the sweep; nil without subscribers.
	nextSweep   time.Duration           // Guarded by mu. By the server's clock.
	reaped      time.Time               // Guarded by mu. Time of the last Reap.
	turn        int                     // Guarded by mu. The writer for the next subscriber.
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
	Admission *Admission // The admission of the stream; may be nil.
	Until     time.Time  // Time limit of the stream; zero for none.
	Begun     bool       // Whether Begin was called before.

	// Done is called once when the stream has ended: with nil after the text's end, else with stream.ErrAbandoned,
	// ErrGone, ErrSlow, ErrDraining, ErrEnded or context.DeadlineExceeded. It may block briefly, and is called with no
	// lock held.
	Done func(error)
}

// Reasons for the end of a stream before the end of its text, in addition to stream.ErrAbandoned and ErrDraining.
var (
	ErrSlow  = errors.New("sse: the client is too slow") // The client did not accept data in time.
	ErrGone  = errors.New("sse: the client is gone")
	ErrEnded = errors.New("sse: the streams of this person were ended")
)

// Serve sends a watch to the client of a request. It returns when the stream has ended, or when it continues without
// the request's goroutine and without w and r. The response is complete only after the text's end. Otherwise it is
// aborted, with a panic with http.ErrAbortHandler if net/http writes it, so that no client treats a part as the whole.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, d Delivery) {
	s.counters.begun(d.Watch)
	if !d.Begun {
		s.head(w, r)
	}
	if s.takesOver(r) {
		rc := http.NewResponseController(w)
		if d.Begun {
			_ = rc.Flush() // Otherwise the output of Begin would be lost.
		} else {
			w.WriteHeader(http.StatusOK) // For wrappers of w.
		}
		// Data sent by the client after its request is ignored. After an error, net/http keeps the connection.
		if conn, _, err := rc.Hijack(); err == nil {
			s.takeOver(conn, d)
			return
		}
	}
	s.respond(w, r, d)
}

// takesOver reports whether the connection of a request can be hijacked after net/http has sent the head.
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

// Begin writes the head of the response. The caller must then call Hold or Serve, which flush it.
func (s *Server) Begin(w http.ResponseWriter, r *http.Request) error {
	s.head(w, r)
	_, err := w.Write(s.retry())
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
		h.Set("Connection", "close") // net/http does not regain the connection.
	}
}

// retrySoon returns the retry field for a client whose text was abandoned: another server is about to write it, or has
// begun to.
func (s *Server) retrySoon() []byte { return retryField(s.cfg.RetryMin/10, s.cfg.RetryMin*9/10) }

// retry returns the retry field of a stream.
func (s *Server) retry() []byte { return retryField(s.cfg.RetryMin, s.cfg.RetryMax) }

// retryField returns the retry field with a random time, so that the clients do not return all at once.
func retryField(least, most time.Duration) []byte {
	retry := least + rand.N(most-least+1) //nolint:gosec // Spreads clients; not a secret.
	return fmt.Appendf(nil, "retry: %d\n\n", retry.Milliseconds())
}

// sendError returns ErrSlow for a timed out write, and other errors unchanged.
func sendError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ErrSlow
	}
	return err
}
