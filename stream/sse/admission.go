package sse

import (
	"errors"
	"maps"
	"slices"
)

// Errors of Admit.
var (
	ErrFull     = errors.New("sse: this server has as many streams as it takes")
	ErrDraining = errors.New("sse: this server is about to stop")
)

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

// begin notes that a stream is sent for an admission, nil if it needs none. It fails if it is too late to begin. It
// belongs to holders of mu.
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

// pause undoes begin. It belongs to holders of the server's mu.
func (a *Admission) pause() {
	if a != nil {
		a.stream = nil
	}
}
