package sse

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// Errors of Admit.
var (
	ErrFull     = errors.New("sse: this server has as many streams as it takes")
	ErrDraining = errors.New("sse: this server is about to stop")
)

// reapEvery is how often, at most, dead clients are looked for because somebody has too many streams.
const reapEvery = 100 * time.Millisecond

// Admission is a person's place for a stream: for what they are held with, and then for what they are sent. It is given
// back by Release.
type Admission struct {
	server   *Server
	person   string
	released bool  // Guarded by the server's mu.
	ended    bool  // Guarded by the server's mu. End was called.
	stream   ender // Guarded by the server's mu. What is sent now; nil while nothing is.
}

// admissions are those of one person.
type admissions map[*Admission]struct{}

// ender is a stream that can be ended early.
type ender interface {
	// cut has the stream end soon, as Delivery.Done or Hold is told. It is called with no lock held.
	cut(err error)
}

// Admit lets a person begin a stream, or says why not: ErrFull or ErrDraining.
func (s *Server) Admit(person string) (*Admission, error) {
	a := &Admission{server: s, person: person}
	err := s.admit(a)
	if errors.Is(err, ErrFull) && s.Reap() {
		err = s.admit(a)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

func (s *Server) admit(a *Admission) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.draining:
		return ErrDraining
	case s.cfg.MaxStreams > 0 && s.admitted >= s.cfg.MaxStreams:
		return ErrFull
	}
	s.admitted++
	if s.people[a.person] == nil {
		s.people[a.person] = make(admissions, 1)
	}
	s.people[a.person][a] = struct{}{}
	return nil
}

// Release gives the place back when the stream is over. A second call does nothing.
func (a *Admission) Release() {
	s := a.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.released {
		return
	}
	a.released = true
	s.admitted--
	delete(s.people[a.person], a)
	if len(s.people[a.person]) == 0 {
		delete(s.people, a.person)
	}
	s.left()
}

// End ends every stream of a person at once, as if its time had come: those that are sent or held, and, with the first that
// they would be sent, those that were admitted and have not begun. The clients come back by themselves, and are refused or
// resume. Whoever is admitted afterwards is not meant, a request that was authenticated before among them.
func (s *Server) End(person string) {
	var streams []ender
	s.mu.Lock()
	for a := range s.people[person] {
		a.ended = true
		if a.stream != nil {
			streams = append(streams, a.stream)
		}
	}
	s.mu.Unlock()
	for _, stream := range streams {
		stream.cut(ErrEnded)
	}
}

// People returns who has been admitted, in no order.
func (s *Server) People() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.people))
}

// begin notes that a stream is sent for an admission, nil if it needs none. It fails if it is too late to begin. It belongs to
// holders of mu.
func (s *Server) begin(a *Admission, stream ender) error {
	switch {
	case s.hurry:
		return ErrDraining
	case a == nil:
		return nil
	case a.ended:
		return ErrEnded
	}
	a.stream = stream
	return nil
}

// pause undoes begin. It belongs to holders of the server's mu.
func (a *Admission) pause() {
	if a != nil {
		a.stream = nil
	}
}

// call is a stream that is held. end has the reason why it is to end early.
type call struct {
	admission *Admission
	end       chan error // With room for one.
}

// enter notes a stream that is held. It fails if it is too late to begin.
func (s *Server) enter(a *Admission) (*call, error) {
	c := &call{admission: a, end: make(chan error, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(a, c); err != nil {
		return nil, err
	}
	s.calls[c] = struct{}{}
	return c, nil
}

func (s *Server) leave(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, c)
	c.admission.pause()
	s.left()
}

// cut implements ender.
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

// Drain ends every stream within a time, spread evenly over it, so that the clients come back elsewhere and not all at
// once, and admits no new ones. It returns when all have ended, or with the context's error.
func (s *Server) Drain(ctx context.Context, over time.Duration) error {
	streams, empty := s.beginDrain()
	began, n := time.Now(), len(streams)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i, stream := range streams {
		// Each at a random time in a slice of its own.
		at := time.Duration((float64(i) + rand.Float64()) / float64(n) * float64(over)) //nolint:gosec // Spreads clients; no secret.
		timer.Reset(time.Until(began.Add(at)))
		select {
		case <-timer.C:
			stream.cut(ErrDraining)
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

// beginDrain returns the streams that are open, in random order, and a channel that is closed when none is.
func (s *Server) beginDrain() (streams []ender, empty <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	if s.empty == nil {
		s.empty = make(chan struct{})
	}
	empty = s.empty
	s.left()
	streams = s.open()
	//nolint:gosec // Spreads clients; no secret.
	rand.Shuffle(len(streams), func(i, j int) { streams[i], streams[j] = streams[j], streams[i] })
	return streams, empty
}

// open returns the streams that are open. It belongs to holders of mu.
func (s *Server) open() []ender {
	streams := make([]ender, 0, len(s.clients)+len(s.calls))
	for _, c := range s.clients {
		streams = append(streams, c)
	}
	for c := range s.calls {
		streams = append(streams, c)
	}
	return streams
}

// endAll ends every stream, and has those that are still begun end at once.
func (s *Server) endAll() {
	s.mu.Lock()
	s.draining, s.hurry = true, true
	streams := s.open()
	s.mu.Unlock()
	for _, stream := range streams {
		stream.cut(ErrDraining)
	}
}

// Close ends every stream at once, and waits for the server's goroutines. None can be sent any more. A write to an HTTP/2
// connection of which nothing is taken ends with the connection only: the http.Server is closed before, or has a WriteByteTimeout.
func (s *Server) Close() {
	s.endAll()
	s.pumps.Wait()
}
