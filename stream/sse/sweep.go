package sse

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"
)

// sweepEvery returns the time between two sweeps. A sweep visits every subscriber, so one a second is enough; with a
// shorter heartbeat, an eighth keeps heartbeats in time.
func (s *Server) sweepEvery() time.Duration { return min(time.Second, s.cfg.Heartbeat/8) }

// randomQuiet draws after how much silence a subscriber gets a heartbeat: in time, if the sweep before it just missed
// it.
func (s *Server) randomQuiet() time.Duration {
	// Spreads heartbeats; not a secret.
	return s.cfg.Heartbeat - s.sweepEvery() - rand.N(s.cfg.Heartbeat/3) //nolint:gosec
}

// sweep looks at every subscriber once in a while: whether it is there, and whether its heartbeat is due or its time is
// up.
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

// sweepNow has the sweep look at once. The caller holds mu.
func (s *Server) sweepNow() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// sweepOnce looks at every subscriber and returns after which time to do so again.
func (s *Server) sweepOnce() time.Duration {
	now := s.clock(time.Now())
	next := now + s.sweepEvery()
	s.mu.Lock()
	s.nextSweep = next // A subscriber that comes now and must leave earlier calls sweepNow.
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
		// Whether a subscriber is there that is sent something shows then.
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

// present reports whether a subscriber is there, and ends the stream of one that has left.
func (c *subscriber) present() bool {
	err := discard(c.raw)
	if err == nil {
		return true
	}
	if errors.Is(err, io.EOF) {
		// It has left, or has only closed its side and reads on: the system of one that has left refuses what it is
		// sent. It is sent heartbeats with every sweep from now on.
		if !c.half.Swap(true) {
			c.sendHeartbeat()
		}
		return true
	}
	c.cut(ErrGone)
	return false
}

const (
	reapEvery = 100 * time.Millisecond // How often Reap looks, at most.
	probeTime = 20 * time.Millisecond  // How long it waits for the systems of clients to refuse what they were sent.
)

// Reap ends the streams of clients that have left, unless that was done just before. It reports whether there were any.
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

// endAbsent reports whether a client has left, and returns when its stream has ended. A client that may only have
// closed its side is known by the next call.
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
