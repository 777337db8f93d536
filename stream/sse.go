package stream

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

// Config tunes how events are sent. The zero value of a field means its default.
type Config struct {
	Heartbeat    time.Duration // A comment is sent when nothing else was for so long. Default 15 s.
	WriteTimeout time.Duration // A client that takes nothing for so long is dropped. Default 10 s.
	RetryMin     time.Duration // Clients are told to come back after a random time from here, default 1 s,
	RetryMax     time.Duration // to here, default 3 s.
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

// Server sends watches to HTTP clients as server-sent events.
type Server struct {
	cfg  Config
	open atomic.Int64
}

// NewServer returns a server with the given settings.
func NewServer(cfg Config) *Server {
	return &Server{cfg: cfg.withDefaults()}
}

// Open returns how many streams are being sent.
func (s *Server) Open() int64 { return s.open.Load() }

// Errors of Admit.
var (
	ErrFull     = errors.New("stream: this server has as many streams as it takes")
	ErrTooMany  = errors.New("stream: this person has as many streams as they may")
	ErrDraining = errors.New("stream: this server is about to stop")
)

// Admit lets a person begin a stream, or says why not: ErrFull, ErrTooMany or ErrDraining. release is called when the
// stream is over.
func (s *Server) Admit(person string) (release func(), err error) {
	return func() {}, nil
}

// Delivery is one client's stream.
type Delivery struct {
	Watch *Watch
	Until time.Time   // The stream ends then at the latest.
	Begun bool        // Begin was called before.
	Done  func(error) // Called once when the stream is over, as Send returns.
}

// Serve sends what a watch has to say to the client of a request. It returns when the stream is over, or when it goes on
// without the request's goroutine.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, d Delivery) {
	ctx, cancel := context.WithDeadline(r.Context(), d.Until)
	defer cancel()
	if !d.Begun {
		if err := s.Begin(w); err != nil {
			d.Done(err)
			return
		}
	}
	d.Done(s.Send(ctx, w, d.Watch))
}

// Drain ends every stream within a time, spread evenly over it, so that the clients come back elsewhere and not all at
// once, and admits no new ones. It returns when all have ended, or with the context's error.
func (s *Server) Drain(ctx context.Context, over time.Duration) error { return nil }

// ErrSlow says that a client did not take what it was sent in time.
var ErrSlow = errors.New("stream: the client is too slow")

// Begin writes the head of the response. Send or Hold follow and flush it with the first they have.
func (s *Server) Begin(w http.ResponseWriter) error {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Vercel-Ai-Ui-Message-Stream", "v1")
	retry := s.cfg.RetryMin + rand.N(s.cfg.RetryMax-s.cfg.RetryMin+1) //nolint:gosec // Spreads clients; no secret.
	c := s.conn(w)
	return c.write(append(strconv.AppendInt([]byte("retry: "), retry.Milliseconds(), 10), "\n\n"...))
}

// Send sends what a watch has to say until its text is over (nil), the context ends (its error) or the client is gone or
// too slow (an error). A client that did not receive [DONE] comes back.
func (s *Server) Send(ctx context.Context, w http.ResponseWriter, watch *Watch) error {
	s.open.Add(1)
	defer s.open.Add(-1)

	c := s.conn(w)
	heartbeat := time.NewTimer(s.cfg.Heartbeat)
	defer heartbeat.Stop()
	for {
		sent := false
		for b := watch.Take(); b != nil; b = watch.Take() {
			if err := c.write(b); err != nil {
				return err
			}
			sent = true
		}
		if sent {
			if err := c.flush(); err != nil {
				return err
			}
		}
		more, over := watch.Wait()
		if over {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		case <-heartbeat.C:
			if err := c.beat(heartbeat, s.cfg.Heartbeat); err != nil {
				return err
			}
		}
	}
}

// Hold keeps a client that was begun connected with heartbeats, the first one at once, until ready is closed (nil) or the
// context ends.
func (s *Server) Hold(ctx context.Context, w http.ResponseWriter, ready <-chan struct{}) error {
	c := s.conn(w)
	if err := c.write(heartbeatFrame); err != nil {
		return err
	}
	if err := c.flush(); err != nil {
		return err
	}
	heartbeat := time.NewTimer(s.cfg.Heartbeat)
	defer heartbeat.Stop()
	for {
		select {
		case <-ready:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-heartbeat.C:
			if err := c.beat(heartbeat, s.cfg.Heartbeat); err != nil {
				return err
			}
		}
	}
}

// conn writes to one client, each write under a deadline. It belongs to one goroutine.
type conn struct {
	w        http.ResponseWriter
	rc       *http.ResponseController
	timeout  time.Duration
	deadline time.Time // Of the writes; zero before the first.
	last     time.Time // When something was flushed last.
}

func (s *Server) conn(w http.ResponseWriter) *conn {
	return &conn{w: w, rc: http.NewResponseController(w), timeout: s.cfg.WriteTimeout, last: time.Now()}
}

func (c *conn) write(b []byte) error {
	if err := c.extend(time.Now()); err != nil {
		return err
	}
	if _, err := c.w.Write(b); err != nil {
		return sendError(err)
	}
	return nil
}

// extend moves the deadline on when a quarter of it is gone: setting it at every token would cost more than the write.
func (c *conn) extend(now time.Time) error {
	if c.deadline.Sub(now) > c.timeout*3/4 {
		return nil
	}
	c.deadline = now.Add(c.timeout)
	if err := c.rc.SetWriteDeadline(c.deadline); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

func (c *conn) flush() error {
	c.last = time.Now()
	if err := c.rc.Flush(); err != nil {
		return sendError(err)
	}
	return nil
}

// sendError tells a client that is too slow from one that is gone.
func sendError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ErrSlow
	}
	return err
}

// beat is called when the timer fired: it sends a heartbeat if one is due, and sets the timer to when the next one may
// be. The timer is not touched when text is sent.
func (c *conn) beat(timer *time.Timer, every time.Duration) error {
	if quiet := time.Since(c.last); quiet < every {
		timer.Reset(every - quiet)
		return nil
	}
	timer.Reset(every)
	if err := c.write(heartbeatFrame); err != nil {
		return err
	}
	return c.flush()
}
