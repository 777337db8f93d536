package chat

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// lease is how long this server may take its generations for its own, by its own monotonic clock: for Config.Lease from
// when its last renewal began, which is no later than when the database counts from. A server that was held up for
// longer (stopped, swapped out, starved) sees by it that others may have taken over, before it publishes anything.
type lease struct {
	began time.Time    // What until counts from.
	until atomic.Int64 // Nanoseconds.
	away  atomic.Int64 // Nanoseconds. When a renewal failed last; 0 for never.

	mu     sync.Mutex
	asking chan struct{} // Guarded by mu. Closed when the renewal that is under way is over; nil while none is.
}

// fresh is asked before every piece of text.
func (l *lease) fresh() bool { return int64(time.Since(l.began)) < l.until.Load() }

// blind says whether the database was out of reach so short a time ago that others, for whom it was too, may not have
// renewed their leases yet: that they are silent says nothing then.
func (l *lease) blind(lease time.Duration) bool {
	away := l.away.Load()
	return away > 0 && time.Since(l.began)-time.Duration(away) < lease
}

// extend belongs to the renewal that is under way.
func (l *lease) extend(to time.Time) {
	l.until.Store(max(l.until.Load(), int64(to.Sub(l.began))))
}

// confirm makes sure, before something is published, that the generations which are not dropped are this server's own.
// It waits for the database only if the lease has run out.
func (s *Service) confirm() {
	// A renewal that was under way while this server was held up says nothing about now; the next one does.
	for tries := 0; tries < 3 && !s.lease.fresh(); tries++ {
		_ = s.renew() // It has logged its error.
	}
}

// renew renews the lease, or waits for the renewal that is under way. The error is that of its own one.
func (s *Service) renew() error {
	l := &s.lease
	l.mu.Lock()
	if asking := l.asking; asking != nil {
		l.mu.Unlock()
		<-asking
		return nil
	}
	done := make(chan struct{})
	l.asking = done
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.asking = nil
		l.mu.Unlock()
		close(done)
	}()
	return s.renewNow()
}

// renewNow belongs to renew.
func (s *Service) renewNow() error {
	held, names := s.held()
	timeout := min(commitTimeout, max(s.cfg.Lease/2, time.Second))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.root), timeout)
	defer cancel()
	// One that is cut off may still reach the database: after Stop has taken the server off the list, and put it back.
	defer context.AfterFunc(s.root, func() {
		select {
		case <-time.After(s.cfg.Heartbeat):
			cancel()
		case <-ctx.Done():
		}
	})()
	began := time.Now()
	renewal, err := s.servers.Renew(ctx, s.serverID, names)
	if err != nil {
		s.lease.away.Store(int64(time.Since(s.lease.began)))
		s.log.ErrorContext(ctx, "renewing the lease failed", "generations", len(names), "err", err)
		if time.Since(began) < timeout+timeout/4 {
			// Nobody takes over through a database that is away, and should it be away for this server alone, what a
			// stale run has to say is refused where it is stored and between servers. So the answers go on until the
			// next heartbeat has had its say. If the attempt itself was held up, its failure says nothing.
			s.lease.extend(time.Now().Add(s.cfg.Heartbeat + timeout))
		}
		return err
	}
	for _, id := range renewal.Lost {
		s.drop(held[id])
	}
	for _, id := range renewal.Stopped {
		held[id].cancel(errStopped)
	}
	s.lease.extend(began.Add(s.cfg.Lease)) // Last: once the lease is fresh, lost generations are abandoned.
	return nil
}

// hold notes that a generation was stored as this server's own, by a transaction that was begun at some time. If that
// is so long ago that a lease renewed before it may have run out, another server may have taken it over since, and the
// lease may have been renewed without a word about it: so it is asked about first.
func (s *Service) hold(g *generation, since time.Time) {
	g.state.Store(writing)
	if time.Since(since) > s.cfg.Lease/2 {
		_ = s.renew() // One that is under way may know nothing of it,
		_ = s.renew() // the next one does.
	}
	g.stored <- true
}

// held returns the generations that are being written, and their names.
func (s *Service) held() (map[uuid.UUID]*generation, []Held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held, names := make(map[uuid.UUID]*generation, len(s.running)), make([]Held, 0, len(s.running))
	for id, g := range s.running {
		if g.state.Load() == writing {
			held[id] = g
			names = append(names, Held{MessageID: id, Run: g.answer.Run})
		}
	}
	return held, names
}

// drop ends a generation that is not this server's own any more: nothing more of it is published or stored. One whose
// end is just being stored finds out by that.
func (s *Service) drop(g *generation) {
	if !g.state.CompareAndSwap(writing, lost) {
		return
	}
	s.hub.Close(g.text) // A client that comes back gets it from the server that has it.
	g.cancel(errLost)
	s.metrics.Fenced(1)
	s.log.WarnContext(g.life, "generation dropped: it is no longer this server's", "message_id", g.answer.ID, "run",
		g.answer.Run)
}
