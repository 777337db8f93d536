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

// Admission is a person's permission to open one stream. It lasts until Release.
type Admission struct {
	server   *Server
	person   string
	released bool  // Guarded by the server's mu.
	ended    bool  // Guarded by the server's mu. End was called.
	stream   ender // Guarded by the server's mu. Nil without a stream.
}

// admissions are the admissions of one person.
type admissions map[*Admission]struct{}

// ender is a stream that can be ended early.
type ender interface {
	// cut ends the stream early, with the error for Delivery.Done or the caller of Hold. It is called with no lock
	// held.
	cut(err error)
}

// Admit permits a person to begin a stream, or returns ErrFull or ErrDraining. At the limit it first ends the streams
// of disconnected clients: a reloaded page opens its new stream before the server has detected the end of the old one.
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

// Release ends the admission after its stream. Further calls have no effect.
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

// End ends all streams of a person: open and held ones at once, and admitted ones as soon as they begin. The clients
// reconnect, and are refused or resume. End has no effect on later admissions, even for a request that was
// authenticated before.
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

// cutter implements ender for a stream that its owner ends.
type cutter func(err error)

func (c cutter) cut(err error) { c(err) }

// Attach binds a stream that the caller sends to its admission. The server calls cut, from any goroutine and possibly
// several times, when the stream must end early. It calls cut at once if the person's streams were ended since the
// admission. Attach fails if the server is closed.
func (a *Admission) Attach(cut func(err error)) error {
	a.server.mu.Lock()
	ended := a.ended
	a.ended = false
	err := a.server.begin(a, cutter(cut))
	a.server.mu.Unlock()
	if err == nil && ended {
		cut(ErrEnded)
	}
	return err
}

// People returns the people who have admissions, in any order.
func (s *Server) People() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.people))
}

// begin attaches a stream to an admission, which may be nil. It fails if the stream must not begin. The caller holds
// mu.
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

// pause reverts begin. The caller holds the server's mu.
func (a *Admission) pause() {
	if a != nil {
		a.stream = nil
	}
}
