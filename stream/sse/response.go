package sse

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// response is a stream written by net/http. Its methods belong to the goroutine of the request, except for cut.
type response struct {
	server    *Server
	w         http.ResponseWriter
	rc        *http.ResponseController
	brief     bool // The deadline is cleared after a write: after it, HTTP/2 would end even an idle stream.
	admission *Admission
	half      <-chan struct{} // Closed when the client closes its sending side; nil if that ends the context.
	// Signals beat when a heartbeat may be due. Waiting for the timer's own channel costs more.
	timer    *time.Timer
	beat     chan struct{} // Has capacity one.
	every    time.Duration // The silence after which a heartbeat is due.
	last     time.Time     // Time of the last write.
	deadline time.Time     // Of the write in progress.
	flushed  bool          // Whether the head was sent.

	ctx context.Context // Ends when the stream must end early, with the reason as its cause.
	end context.CancelCauseFunc

	mu      sync.Mutex
	writing bool // Guarded by mu.
}

// open adds a stream written by net/http. It fails if streams must not begin. The caller must call close.
func (s *Server) open(ctx context.Context, w http.ResponseWriter, brief bool, a *Admission) (*response, error) {
	r := &response{
		server: s, w: w, rc: http.NewResponseController(w), brief: brief, admission: a, half: halfClosed(ctx),
		beat: make(chan struct{}, 1), every: s.cfg.Heartbeat,
	}
	r.ctx, r.end = context.WithCancelCause(ctx)
	r.timer = time.AfterFunc(r.every, r.beatNow)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(a, r); err != nil {
		r.timer.Stop()
		r.end(nil)
		return nil, err
	}
	s.responses[r] = struct{}{}
	return r, nil
}

func (r *response) close() {
	r.timer.Stop()
	r.end(nil)
	s := r.server
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.responses, r)
	r.admission.pause()
	s.left()
}

// Hold keeps a client connected after Begin, with heartbeats, the first one at once. It returns nil when ready is
// closed, the context's error when the context ends, and ErrDraining or ErrEnded when the stream is ended early.
// admission may be nil.
func (s *Server) Hold(ctx context.Context, w http.ResponseWriter, admission *Admission, ready <-chan struct{}) error {
	held, err := s.open(ctx, w, true, admission)
	if err != nil {
		return err
	}
	defer held.close()
	held.beatNow()
	return held.wait(ready)
}

// respond sends a delivery by net/http. It returns when the stream has ended.
func (s *Server) respond(w http.ResponseWriter, r *http.Request, d Delivery) {
	flushed, panicked, err := false, true, ErrGone
	defer func() {
		if err == nil || panicked { // A panic of w is not recovered, and also aborts the response.
			return
		}
		if !flushed {
			// Send at least the head, because a client may repeat a request without a response.
			rc := http.NewResponseController(w)
			_ = rc.SetWriteDeadline(time.Now().Add(s.cfg.WriteTimeout))
			_ = rc.Flush()
		}
		// Otherwise net/http would complete the response, which would look like a whole answer.
		panic(http.ErrAbortHandler)
	}()
	defer func() { s.finish(d.Done, err) }()
	flushed, err = s.follow(w, r, d)
	panicked = false
}

// follow sends a delivery until the stream has ended.
func (s *Server) follow(w http.ResponseWriter, req *http.Request, d Delivery) (flushed bool, err error) {
	ctx := req.Context()
	if !d.Until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, d.Until)
		defer cancel()
	}
	r, err := s.open(ctx, w, req.ProtoMajor > 1, d.Admission)
	if err != nil {
		return false, err
	}
	defer r.close()
	defer func() { flushed = r.flushed }()
	var pieces [][]byte
	if !d.Begun {
		pieces = append(pieces, s.retry())
	}
	for since := (time.Time{}); ; since = d.Watch.Changed() {
		for piece := d.Watch.Take(); piece != nil; piece = d.Watch.Take() {
			if pieces = append(pieces, piece); len(pieces) == maxPieces {
				break
			}
		}
		if err := r.write(pieces, since); err != nil {
			return false, err
		}
		clear(pieces) // Releases the written pieces.
		pieces = pieces[:0]
		if over, err := d.Watch.Over(); over {
			if err != nil {
				_ = r.write([][]byte{s.retrySoon()}, time.Time{})
			}
			_ = r.setDeadline(time.Now().Add(s.cfg.WriteTimeout)) // Lets net/http complete the response.
			return false, err
		}
		more, _ := d.Watch.Wait()
		if more == nil {
			continue // The text has just ended.
		}
		if err := r.wait(more); err != nil {
			return false, err
		}
	}
}

func (r *response) beatNow() {
	select {
	case r.beat <- struct{}{}:
	default:
	}
}

// wait sends heartbeats until ready is closed, which is not an error.
func (r *response) wait(ready <-chan struct{}) error {
	for {
		select {
		case <-ready:
			return nil
		case <-r.half:
			// The system of a disconnected client refuses new data.
			r.half, r.every, r.last = nil, r.server.sweepEvery(), time.Time{}
			r.beatNow()
		case <-r.beat:
			if left := r.every - time.Since(r.last); left > 0 {
				r.timer.Reset(left)
				continue
			}
			r.timer.Reset(r.every)
			r.server.counters.heartbeats.Add(1)
			if err := r.write([][]byte{heartbeat}, time.Time{}); err != nil {
				return err
			}
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		}
	}
}

// write writes and flushes. since is the time when the first piece was published, or zero if unknown.
func (r *response) write(pieces [][]byte, since time.Time) error {
	if len(pieces) == 0 {
		return nil
	}
	wrote, room := 0, 0
	defer r.disarm()
	for _, piece := range pieces {
		for len(piece) > 0 {
			if room == 0 {
				if err := r.arm(); err != nil {
					return err
				}
				room = maxPiece
			}
			n, err := r.w.Write(piece[:min(len(piece), room)])
			if err != nil {
				return r.writeError(err)
			}
			piece, wrote, room = piece[n:], wrote+n, room-n
		}
	}
	if err := r.rc.Flush(); err != nil {
		return r.writeError(err)
	}
	r.flushed, r.last = true, time.Now()
	r.server.counters.wrote(wrote, since, r.last)
	return nil
}

// arm begins a write with a deadline. It fails if the stream must end.
func (r *response) arm() error {
	r.deadline = time.Now().Add(r.server.cfg.WriteTimeout)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	r.writing = true
	return r.setDeadline(r.deadline)
}

// disarm ends a write.
func (r *response) disarm() {
	r.mu.Lock()
	r.writing = false
	r.mu.Unlock()
	if r.brief {
		_ = r.setDeadline(time.Time{})
	}
}

// writeError returns the reason of a failed write.
func (r *response) writeError(err error) error {
	if !time.Now().Before(r.deadline) {
		return ErrSlow // HTTP/2 returns another error for a stream that it has ended.
	}
	return cmp.Or(context.Cause(r.ctx), sendError(err))
}

func (r *response) setDeadline(at time.Time) error {
	if err := r.rc.SetWriteDeadline(at); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// cut implements ender. It interrupts a write in progress.
func (r *response) cut(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(err)
	if r.writing {
		_ = r.setDeadline(time.Unix(1, 0))
	}
}

// HalfClose wraps a handler of streams so that a client that closes its sending side after the request is served to the
// end. In this case net/http cancels the request's context, as if the client had disconnected. The handler's context is
// not canceled; a write detects whether the client is still connected.
func HalfClose(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 {
			ctx := context.WithoutCancel(r.Context())
			r = r.WithContext(context.WithValue(ctx, halfCloseKey{}, r.Context().Done()))
		}
		next.ServeHTTP(w, r)
	})
}

type halfCloseKey struct{}

// halfClosed returns a channel that is closed when the client of a request closes its sending side, or nil if that ends
// the context.
func halfClosed(ctx context.Context) <-chan struct{} {
	half, _ := ctx.Value(halfCloseKey{}).(<-chan struct{})
	return half
}
