package sse

import (
	"errors"
	"maps"
	"slices"
)

// Errors of Admit.
var (
	ErrFull     = errors.New("sse: the server has its maximum of streams")
	ErrDraining = errors.New("sse: the server is about to stop")
)

// Admission is a person's permission for one stream, while it is held and while it is sent. Release gives it back.
type Admission struct {
	server   *Server
	person   string
	released bool  // Guarded by the server's mu.
	ended    bool  // Guarded by the server's mu. End was called.
	stream   ender // Guarded by the server's mu. Nil while nothing is sent or held.
}

// admissions are those of one person.
type admissions map[*Admission]struct{}

// ender is a stream that can be ended early.
type ender interface {
	// cut ends the stream early, with the error that Delivery.Done or Hold's caller gets. It is called with no lock
	// held.
	cut(err error)
}

// Admit lets a person begin a stream, or returns ErrFull or ErrDraining. At the limit it looks for clients that have
// left first: a page that is reloaded opens its new stream before the server has noticed the end of the old one.
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

// Release gives the admission back when the stream is over. A second call does nothing.
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

// End ends every stream of a person at once: those that are sent or held, and, as soon as they begin, those that have
// been admitted. The clients reconnect, and are refused or resume. It has no effect on later admissions, not even of a
// request that was authenticated before.
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

// cutter is a stream that its owner ends.
type cutter func(err error)

func (c cutter) cut(err error) { c(err) }

// Attach ties a stream that the caller sends by itself to its admission: cut is called, from any goroutine, when the
// stream must end early. It fails if the stream must not begin any more.
func (a *Admission) Attach(cut func(err error)) error {
	a.server.mu.Lock()
	defer a.server.mu.Unlock()
	return a.server.begin(a, cutter(cut))
}

// People returns the people who have admissions, in no order.
func (s *Server) People() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.people))
}

// begin attaches a stream to an admission, which may be nil. It fails if the stream must not begin any more. The caller
// holds mu.
func (s *Server) begin(a *Admission, stream ender) error {
	switch {
	case s.closed:
		return ErrDraining
	case a == nil:
		return nil
	case a.ended:
		return ErrEnded
	}
	a.stream = stream
	return nil
}

// pause undoes begin. The caller holds the server's mu.
func (a *Admission) pause() {
	if a != nil {
		a.stream = nil
	}
}
