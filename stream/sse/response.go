package sse

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// response is a client's connection as net/http lends it, an outlet. What is written goes out with flush.
type response struct {
	w        http.ResponseWriter
	timeout  time.Duration
	deadline time.Time     // Belongs to who writes. Of the writes; zero if there is none.
	panicked any           // The same. What a write has panicked with.
	flushed  bool          // The same. The head has been sent.
	brief    bool          // A deadline that passes ends the stream even while nothing is written.
	over     chan struct{} // Closed when nothing is written any more.

	mu     sync.Mutex
	closed bool // Guarded by mu. The stream is over, or about to be.
}

func (s *Server) response(w http.ResponseWriter, r *http.Request) *response {
	return &response{w: w, timeout: s.cfg.WriteTimeout, brief: r.ProtoMajor > 1, over: make(chan struct{})}
}

func (r *response) Write(b []byte) (int, error) { return r.w.Write(b) }

// flush sends what was written.
func (r *response) flush() error {
	err := http.NewResponseController(r.w).Flush()
	r.flushed = r.flushed || err == nil
	return err
}

// send writes and flushes.
func (r *response) send(b []byte) error {
	err := r.SetWriteDeadline(time.Now().Add(r.timeout))
	if err == nil {
		_, err = r.Write(b)
	}
	if err == nil {
		err = r.flush()
	}
	if err != nil {
		return sendError(err)
	}
	return r.SetWriteDeadline(time.Time{})
}

// catch is deferred by who writes on a goroutine of ours, where net/http does not catch what a wrapped writer panics with.
func (r *response) catch(err *error) {
	if v := recover(); v != nil {
		r.panicked, *err = v, fmt.Errorf("sse: a write panicked: %v", v)
	}
}

// late reports whether the time for a write is up. It belongs to who writes.
func (r *response) late(now time.Time) bool { return !r.deadline.IsZero() && !now.Before(r.deadline) }

// SetWriteDeadline implements outlet. A deadline is only moved on when a quarter of the time is gone: setting it for every
// token would cost more than the write. Where it does no harm while nothing is written, it is left as it is then.
func (r *response) SetWriteDeadline(at time.Time) error {
	if !r.brief && (at.IsZero() || r.deadline.Sub(at) > -r.timeout/4) {
		return nil
	}
	r.deadline = at
	return r.set(at)
}

func (r *response) set(at time.Time) error {
	if err := http.NewResponseController(r.w).SetWriteDeadline(at); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// interrupt has whoever writes wait no longer. Once the response was closed, the connection belongs to others.
func (r *response) interrupt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		_ = r.set(time.Unix(1, 0))
	}
}

// Close implements outlet. It leaves net/http time to end the response.
func (r *response) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return r.set(time.Now().Add(r.timeout))
}
