package sse

import (
	"context"
	"math/rand/v2"
	"time"
)

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
	streams = s.streams()
	//nolint:gosec // Spreads clients; no secret.
	rand.Shuffle(len(streams), func(i, j int) { streams[i], streams[j] = streams[j], streams[i] })
	return streams, empty
}

// streams returns the streams that are open. It belongs to holders of mu.
func (s *Server) streams() []ender {
	streams := make([]ender, 0, len(s.subscribers)+len(s.responses))
	for _, c := range s.subscribers {
		streams = append(streams, c)
	}
	for r := range s.responses {
		streams = append(streams, r)
	}
	return streams
}

// endAll ends every stream, and has those that are still begun end at once.
func (s *Server) endAll() {
	s.mu.Lock()
	s.draining, s.closed = true, true
	streams := s.streams()
	s.mu.Unlock()
	for _, stream := range streams {
		stream.cut(ErrDraining)
	}
}

// Close ends every stream at once, and waits for the server's goroutines. None can be sent any more. A write to an HTTP/2
// connection of which nothing is taken ends with the connection only: the http.Server is closed before, or has a WriteByteTimeout.
func (s *Server) Close() {
	s.endAll()
	s.work.Wait()
}

// left tells Drain if nobody is left. It belongs to holders of mu.
func (s *Server) left() {
	if s.empty != nil && s.admitted == 0 && len(s.subscribers) == 0 && len(s.responses) == 0 {
		close(s.empty)
		s.empty = nil
	}
}
