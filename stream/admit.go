package stream

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Errors of Admit.
var (
	ErrFull     = errors.New("stream: this server has as many streams as it takes")
	ErrTooMany  = errors.New("stream: this person has as many streams as they may")
	ErrDraining = errors.New("stream: this server is about to stop")
)

// reapEvery is how often, at most, dead clients are looked for because somebody has too many streams.
const reapEvery = 100 * time.Millisecond

// Admit lets a person begin a stream, or says why not: ErrFull, ErrTooMany or ErrDraining. release is called when the
// stream is over; a second call does nothing.
func (s *Server) Admit(person string) (release func(), err error) {
	a := &admission{server: s, person: person}
	if err = s.admit(a); (errors.Is(err, ErrTooMany) || errors.Is(err, ErrFull)) && s.reap() {
		err = s.admit(a)
	}
	if err != nil {
		return nil, err
	}
	return a.release, nil
}

// admission is a person's place for a stream.
type admission struct {
	server   *Server
	person   string
	released atomic.Bool
}

func (s *Server) admit(a *admission) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.draining:
		return ErrDraining
	case s.cfg.MaxStreamsPerPerson > 0 && s.people[a.person] >= s.cfg.MaxStreamsPerPerson:
		return ErrTooMany
	case s.cfg.MaxStreams > 0 && s.admitted >= s.cfg.MaxStreams:
		return ErrFull
	}
	s.admitted++
	s.people[a.person]++
	return nil
}

func (a *admission) release() {
	if a.released.Swap(true) {
		return
	}
	s := a.server
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admitted--
	if s.people[a.person]--; s.people[a.person] == 0 {
		delete(s.people, a.person)
	}
	s.left()
}

// call is a stream that net/http sends. end has the reason why it is to end early.
type call struct {
	end chan error // With room for one.
}

// enter notes a stream that net/http sends. It fails once the server is closed.
func (s *Server) enter() (*call, error) {
	c := &call{end: make(chan error, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hurry {
		return nil, ErrDraining
	}
	s.calls[c] = struct{}{}
	return c, nil
}

func (s *Server) leave(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, c)
	s.left()
}

// cut has the stream end soon.
func (c *call) cut(err error) {
	select {
	case c.end <- err:
	default:
	}
}

// left tells Drain if nobody is left. It belongs to holders of mu.
func (s *Server) left() {
	if s.empty != nil && s.admitted == 0 && len(s.clients) == 0 && len(s.calls) == 0 {
		close(s.empty)
		s.empty = nil
	}
}

// Open returns how many streams are being sent or held.
func (s *Server) Open() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.clients) + len(s.calls))
}

// Drain ends every stream within a time, spread evenly over it, so that the clients come back elsewhere and not all at
// once, and admits no new ones. It returns when all have ended, or with the context's error.
func (s *Server) Drain(ctx context.Context, over time.Duration) error {
	ends, empty := s.beginDrain()
	began, n := time.Now(), len(ends)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i, end := range ends {
		// Each at a random time in a slice of its own.
		at := time.Duration((float64(i) + rand.Float64()) / float64(n) * float64(over)) //nolint:gosec // Spreads clients; no secret.
		timer.Reset(time.Until(began.Add(at)))
		select {
		case <-timer.C:
			end(ErrDraining)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	timer.Reset(time.Until(began.Add(over)))
	select {
	case <-timer.C:
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	// Those that were admitted before, and begun since.
	s.endAll()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// beginDrain returns what ends the streams that are open, in random order, and a channel that is closed when none is.
func (s *Server) beginDrain() (ends []func(error), empty <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	if s.empty == nil {
		s.empty = make(chan struct{})
	}
	empty = s.empty
	s.left()
	ends = s.open()
	rand.Shuffle(len(ends), func(i, j int) { ends[i], ends[j] = ends[j], ends[i] }) //nolint:gosec // Spreads clients; no secret.
	return ends, empty
}

// open returns what ends the streams that are open. It belongs to holders of mu.
func (s *Server) open() []func(error) {
	ends := make([]func(error), 0, len(s.clients)+len(s.calls))
	for _, c := range s.clients {
		ends = append(ends, func(err error) { c.cut(err, false) })
	}
	for c := range s.calls {
		ends = append(ends, c.cut)
	}
	return ends
}

// endAll ends every stream, and has those that are still begun end at once.
func (s *Server) endAll() {
	s.mu.Lock()
	s.draining, s.hurry = true, true
	ends := s.open()
	s.mu.Unlock()
	for _, end := range ends {
		end(ErrDraining)
	}
}

// Close ends every stream at once, and waits for the server's goroutines. None can be sent any more.
func (s *Server) Close() {
	s.endAll()
	s.pumps.Wait()
}
