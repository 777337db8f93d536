package sse

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"
)

// A sweep looks at every client once in a while: at whether it is still there, at its heartbeat and its time.

// lookEvery is how often, at most.
const lookEvery = time.Second

func (s *Server) sweep(quit <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for round := uint8(0); ; round++ {
		select {
		case <-timer.C:
		case <-s.poke:
		case <-quit:
			return
		}
		timer.Reset(s.lookAtAll(round))
	}
}

// probeTime is how long reap waits for the systems of clients to refuse what they were sent.
const probeTime = 20 * time.Millisecond

// look has the sweep look now. It belongs to holders of mu.
func (s *Server) look() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// pace is the time between two looks.
func (s *Server) pace() time.Duration { return min(lookEvery, s.cfg.Heartbeat/8) }

// busyRounds is in how many rounds a client to which much is sent is looked at once: a system call for each of thousands holds
// up what is sent meanwhile, and whether such a client is there shows when it is sent something.
const busyRounds = 16

// lookAtAll looks at every client and returns after which time to do so again.
func (s *Server) lookAtAll(round uint8) time.Duration {
	b := s.burst()
	defer s.unburst(b)
	now := s.clock(time.Now())
	next := now + s.pace()
	s.mu.Lock()
	s.nextLook = next // Who comes now and has to leave earlier pokes.
	s.mu.Unlock()
	eachOf(&s.mu, &s.clients, func(c *client) {
		switch {
		case c.until != 0 && now >= c.until:
			c.cut(context.DeadlineExceeded)
			return
		case c.until != 0:
			next = min(next, c.until)
		}
		silence := now - time.Duration(c.last.Load())
		if (silence >= s.pace() || (round+c.lead)%busyRounds == 0) && !c.present(false) {
			return
		}
		// One whose heartbeat would be late at the next look gets it now; those that were sent something together, apart.
		quiet := s.cfg.Heartbeat - s.pace() - s.cfg.Heartbeat/3*time.Duration(c.lead)/256
		if silence >= quiet || c.half.Load() {
			c.beat.Store(true)
			c.pump(b, false)
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextLook = next
	return next - s.clock(time.Now())
}

// present ends the stream of a client that has left. here is as with pump.
func (c *client) present(here bool) bool {
	switch err := discard(c.raw); {
	case err == nil:
		return true
	case errors.Is(err, io.EOF):
		c.probe()
		return true
	}
	c.cutOff(ErrGone, here)
	return false
}

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
	found := s.lookForDead()
	if !found {
		time.Sleep(probeTime)
		found = s.lookForDead()
	}
	return found
}

// lookForDead reports whether a client has left. Of one that only seems to have, the next call knows.
func (s *Server) lookForDead() (found bool) {
	eachOf(&s.mu, &s.clients, func(c *client) { found = !c.present(true) || found })
	return found
}

func randomByte() uint8 { return uint8(rand.N(256)) } //nolint:gosec // Spreads clients; no secret.
