package sse

import (
	"context"
	"errors"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// lingerEvery is the interval between two checks of the lingering connections.
const lingerEvery = 100 * time.Millisecond

// lingering is a connection whose stream has ended and whose sending side is shut down. It is closed after the client
// has closed its side. Closing a connection with unread input resets it, and the client would lose data that it has not
// read.
type lingering struct {
	conn  net.Conn
	raw   syscall.RawConn
	since time.Time
	left  int // Bytes not acknowledged by the client's system at since.
}

// linger closes the connection of a stream that ended with err, as soon as this loses no sent data.
func (s *Server) linger(conn net.Conn, raw syscall.RawConn, err error) {
	if raw == nil || !complete(err) || conn.(interface{ CloseWrite() error }).CloseWrite() != nil {
		_ = conn.Close()
		return
	}
	left, _ := unacknowledged(raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrived = append(s.arrived, &lingering{conn, raw, time.Now(), left})
	if s.lingering++; s.lingering == 1 {
		s.work.Go(s.closeLingering)
	}
}

// complete reports whether all data of a stream that ended with err was sent.
func complete(err error) bool {
	return err == nil || errors.Is(err, stream.ErrAbandoned) || errors.Is(err, ErrDraining) ||
		errors.Is(err, ErrEnded) || errors.Is(err, context.DeadlineExceeded)
}

// closeLingering closes the lingering connections one by one, or all at once when the server is closed. It returns when
// none are left.
func (s *Server) closeLingering() {
	ticker := time.NewTicker(lingerEvery)
	defer ticker.Stop()
	var conns []*lingering
	for more := true; more; {
		stopping := false
		select {
		case <-ticker.C:
		case <-s.stop:
			stopping = true
		}
		s.mu.Lock()
		conns, s.arrived = append(conns, s.arrived...), nil
		s.mu.Unlock()
		before := len(conns)
		conns = slices.DeleteFunc(conns, func(l *lingering) bool {
			if l.waits(s.cfg.WriteTimeout) && !stopping {
				return false
			}
			_ = l.conn.Close()
			return true
		})
		s.mu.Lock()
		s.lingering -= before - len(conns)
		more = s.lingering > 0
		s.left()
		s.mu.Unlock()
	}
}

// waits discards input and reports whether the client still reads. Like a slow consumer, a client must accept 64 KiB
// within the timeout.
func (l *lingering) waits(timeout time.Duration) bool {
	if discard(l.raw) != nil {
		return false // Nothing more can arrive, so closing does not cause a reset.
	}
	now := time.Now()
	if now.Sub(l.since) < timeout {
		return true
	}
	left, err := unacknowledged(l.raw)
	if err != nil || left == 0 || left > l.left-maxPiece {
		return false
	}
	l.left, l.since = left, now
	return true
}
