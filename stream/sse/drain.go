package sse

import (
	"context"
	"math/rand/v2"
	"time"
)

// Drain admits no new streams and ends the open ones, spread evenly over a duration so that the clients do not all
// reconnect at once. It returns when all streams have ended and their clients have read the sent data, or with the
// context's error.
func (s *Server) Drain(ctx context.Context, over time.Duration) error {
	streams, empty := s.beginDrain()
	began, n := time.Now(), len(streams)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i, stream := range streams {
		// Each stream ends at a random time in its slice of the duration.
		slice := over / time.Duration(n)
		at := time.Duration(i)*slice + rand.N(slice+1) //nolint:gosec // Spreads clients; not a secret.
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
	// Streams that were admitted before and have begun since.
	s.endAll()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// beginDrain returns the open streams in random order, and a channel that is closed when none are left.
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
	//nolint:gosec // Spreads clients; not a secret.
	rand.Shuffle(len(streams), func(i, j int) { streams[i], streams[j] = streams[j], streams[i] })
	return streams, empty
}

// streams returns the open streams. The caller holds mu.
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

// endAll ends every stream and prevents new ones.
func (s *Server) endAll() {
	s.mu.Lock()
	s.draining, s.closed = true, true
	streams := s.streams()
	s.mu.Unlock()
	for _, stream := range streams {
		stream.cut(ErrDraining)
	}
}

// Close ends every stream at once without waiting for clients, and waits for the server's goroutines. It prevents new
// streams. A blocked write to an HTTP/2 connection ends only with the connection: close the http.Server first, or set
// its WriteByteTimeout.
func (s *Server) Close() {
	s.endAll()
	s.mu.Lock()
	if !s.stopped {
		s.stopped = true
		close(s.stop)
	}
	s.mu.Unlock()
	s.work.Wait()
}

// left notifies Drain if no stream, no admission and no lingering connection is left. The caller holds mu.
func (s *Server) left() {
	if s.empty != nil && s.admitted == 0 && s.lingering == 0 && len(s.subscribers) == 0 && len(s.responses) == 0 {
		close(s.empty)
		s.empty = nil
	}
}
