package sse

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"
)

// sweepEvery returns the interval between two sweeps. A sweep visits every subscriber, so once a second is enough. With
// a shorter heartbeat interval, an eighth of it keeps heartbeats in time.
func (s *Server) sweepEvery() time.Duration { return min(time.Second, s.cfg.Heartbeat/8) }

// randomQuiet returns a random time without data until a heartbeat is due. It is early enough even if a sweep just
// misses it.
func (s *Server) randomQuiet() time.Duration {
	// Spreads heartbeats; not a secret.
	return s.cfg.Heartbeat - s.sweepEvery() - rand.N(s.cfg.Heartbeat/3) //nolint:gosec
}

// sweep checks every subscriber periodically: whether it is connected, and whether its heartbeat or its time limit is
// due.
func (s *Server) sweep(quit <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-s.poke:
		case <-quit:
			return
		}
		timer.Reset(s.sweepOnce())
	}
}

// sweepNow starts a sweep at once. The caller holds mu.
func (s *Server) sweepNow() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// sweepOnce checks every subscriber and returns the time until the next sweep.
func (s *Server) sweepOnce() time.Duration {
	now := s.clock(time.Now())
	next := now + s.sweepEvery()
	s.mu.Lock()
	s.nextSweep = next // A new subscriber with an earlier time limit calls sweepNow.
	s.mu.Unlock()
	each(&s.mu, &s.subscribers, func(c *subscriber) {
		if c.until != 0 {
			if now >= c.until {
				c.cut(context.DeadlineExceeded)
				return
			}
			next = min(next, c.until)
		}
		silence := now - time.Duration(c.last.Load())
		// A write shows whether a subscriber is connected.
		if silence < s.sweepEvery() && !c.half.Load() || !c.present() {
			return
		}
		if silence >= c.quiet || c.half.Load() {
			c.sendHeartbeat()
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextSweep = next
	return next - s.clock(time.Now())
}

func (c *subscriber) sendHeartbeat() {
	c.beat.Store(true)
	c.shard.queue(time.Time{})
}

// present reports whether a subscriber is connected, and ends the stream of a disconnected one.
func (c *subscriber) present() bool {
	err := discard(c.raw)
	if err == nil {
		return true
	}
	if errors.Is(err, io.EOF) {
		// The client has disconnected, or has closed only its sending side and still reads. The system of a
		// disconnected client refuses new data, so the subscriber gets a heartbeat with every sweep from now on.
		if !c.half.Swap(true) {
			c.sendHeartbeat()
		}
		return true
	}
	c.cut(ErrGone)
	return false
}

const (
	reapEvery = 100 * time.Millisecond // Minimum interval between two runs of Reap.
	probeTime = 20 * time.Millisecond  // Time for the systems of clients to refuse new data.
)

// Reap ends the streams of disconnected clients, unless it has just run. It reports whether there were any.
func (s *Server) Reap() bool {
	now := time.Now()
	s.mu.Lock()
	due := now.Sub(s.reaped) >= reapEvery
	if due {
		s.reaped = now
	}
	s.mu.Unlock()
	if !due {
		return false
	}
	if s.endAbsent() {
		return true
	}
	time.Sleep(probeTime)
	return s.endAbsent()
}

// endAbsent reports whether a client has disconnected, and returns when its stream has ended. It takes two calls to
// detect a client that may have closed only its sending side.
func (s *Server) endAbsent() bool {
	var absent []*subscriber
	each(&s.mu, &s.subscribers, func(c *subscriber) {
		if !c.present() {
			absent = append(absent, c)
		}
	})
	for _, c := range absent {
		<-c.ending.Load().settled
	}
	return len(absent) > 0
}
