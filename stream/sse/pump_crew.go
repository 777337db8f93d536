package sse

import (
	"sync"
	"time"
)

// maxIdleHands is how many hands are kept for later. What needs more at once gets them, for a while.
const maxIdleHands = 256

// crew is the hands that have nothing to do: goroutines that write to clients that have to be waited for. They are few even
// where there are many such clients, and the last to become idle is the first to be called, so that their stacks, which have
// grown to what a write takes, are warm. A new goroutine for each write would grow its stack anew.
type crew struct {
	mu     sync.Mutex     // Taken while the server's mu is held, or none.
	opened bool           // Guarded by mu. There are clients, so that hands may wait for work.
	idle   []chan *client // Guarded by mu. What they wait for; has room for one.
}

// open and close begin and end the time in which hands may wait.
func (c *crew) open() {
	c.mu.Lock()
	c.opened = true
	c.mu.Unlock()
}

func (c *crew) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened = false
	for _, hand := range c.idle {
		close(hand)
	}
	c.idle = nil
}

// call returns a hand that is idle, nil if there is none.
func (c *crew) call() chan<- *client {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := len(c.idle) - 1
	if end < 0 {
		return nil
	}
	hand := c.idle[end]
	c.idle = c.idle[:end]
	return hand
}

// rest notes that a hand is idle. It reports whether the hand is to wait.
func (c *crew) rest(hand chan *client) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.opened || len(c.idle) == maxIdleHands {
		return false
	}
	c.idle = append(c.idle, hand)
	return true
}

// lendHand has a client that was claimed written to by somebody who may wait for it. since is when what there is to write was
// published, zero if that is not known.
func (s *Server) lendHand(c *client, since time.Time) {
	c.since = 0
	if !since.IsZero() {
		c.since = s.clock(since)
	}
	if hand := s.crew.call(); hand != nil {
		hand <- c
		return
	}
	s.pumps.Go(func() { s.hand(c) })
}

// hand writes to a client until it has caught up, and then to others.
func (s *Server) hand(c *client) {
	b := s.burst()
	defer s.unburst(b)
	work := make(chan *client, 1)
	for c != nil {
		if b.since = (time.Time{}); c.since != 0 {
			b.since = s.began.Add(c.since)
		}
		c.drain(b)
		s.counters.collect(&b.tally)
		c = nil // It is not kept alive by a hand that waits.
		if s.crew.rest(work) {
			c = <-work
		}
	}
}
