package chat

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// Renewal is the result of Renew.
type Renewal struct {
	Lost    []uuid.UUID // No longer owned by this server: taken over, ended, or deleted with their thread.
	Stopped []uuid.UUID // Still owned by this server, with a stop request of their owner.
}

// slowRenewal is the minimum duration of a late renewal.
const slowRenewal = time.Second

// lease is how long this server may consider its generations its own, by its own monotonic clock: Config.Lease from the
// beginning of its last renewal, which is not later than the time that the database records. A server that was
// suspended for longer (stopped, swapped out, starved) thereby notices that others may have taken over, before it
// publishes anything.
type lease struct {
	began    time.Time    // The origin of until.
	until    atomic.Int64 // Nanoseconds.
	troubled atomic.Int64 // Nanoseconds. When a renewal last failed, or was late; 0 for never.

	mu       sync.Mutex
	renewing chan struct{} // Guarded by mu. Closed at the end of the renewal in progress; otherwise nil.
}

// valid reports whether the lease is valid. It is called before every piece of text.
func (l *lease) valid() bool { return int64(time.Since(l.began)) < l.until.Load() }

// recentlyTroubled reports whether a renewal of this server has failed or was late within the last lease. The database
// may then have been unreachable, or the whole machine suspended, and other servers may not have renewed their leases
// yet. Their silence does not mean that they are dead.
func (l *lease) recentlyTroubled(lease time.Duration) bool {
	at := l.troubled.Load()
	return at > 0 && time.Since(l.began)-time.Duration(at) < lease
}

// renewed extends the lease after a renewal. Only the renewal in progress calls it.
func (l *lease) renewed(began time.Time, took, lease time.Duration) {
	until := l.until.Load()
	if took > slowRenewal || until > 0 && int64(began.Sub(l.began)) > until {
		l.troubled.Store(int64(time.Since(l.began)))
	}
	l.extend(began.Add(lease))
}

// extend is called by the renewal in progress only.
func (l *lease) extend(to time.Time) {
	l.until.Store(max(l.until.Load(), int64(to.Sub(l.began))))
}

// ensureLease makes sure, before something is published, that the generations that are not dropped are this server's
// own. It waits for the database only if the lease has expired.
func (s *Service) ensureLease() {
	// A renewal that was in progress while this server was suspended returns an old state; the next one does not.
	for tries := 0; tries < 3 && !s.lease.valid(); tries++ {
		_ = s.renew() // Logs its own error.
	}
}

// renew renews the lease, or waits for the renewal in progress. The error is that of its own renewal only.
func (s *Service) renew() error {
	l := &s.lease
	l.mu.Lock()
	if renewing := l.renewing; renewing != nil {
		l.mu.Unlock()
		<-renewing
		return nil
	}
	done := make(chan struct{})
	l.renewing = done
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.renewing = nil
		l.mu.Unlock()
		close(done)
	}()
	return s.renewNow()
}

// renewNow is called by renew only.
func (s *Service) renewNow() error {
	owned, runs := s.ownedRuns()
	timeout := min(commitTimeout, max(s.cfg.Lease/2, time.Second))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.root), timeout)
	defer cancel()
	// A renewal that is canceled may still reach the database, after Stop has removed the server's row, and add the row
	// again. So it gets a heartbeat's time to finish.
	defer context.AfterFunc(s.root, func() {
		select {
		case <-time.After(s.cfg.Heartbeat):
			cancel()
		case <-ctx.Done():
		}
	})()
	began := time.Now()
	renewal, err := s.store.Renew(ctx, s.serverID, runs)
	if err != nil {
		s.lease.troubled.Store(int64(time.Since(s.lease.began)))
		s.log.ErrorContext(ctx, "renewing the lease failed", "generations", len(runs), "err", err)
		if time.Since(began) < timeout+timeout/4 {
			// No server can take over while the database is down. If it is unreachable for this server alone, the
			// output of a stale run is refused by the store and by other servers. So the answers continue until the
			// next heartbeat has been tried. If the attempt itself was suspended, its failure proves nothing.
			s.lease.extend(time.Now().Add(s.cfg.Heartbeat + timeout))
		}
		return err
	}
	for _, id := range renewal.Lost {
		// An answer that waited for a decision meanwhile had no server for a time. It is this server's again.
		if o := owned[id]; o.waits.Load() == o.before {
			s.drop(o.generation)
		}
	}
	for _, id := range renewal.Stopped {
		owned[id].cancel(errStopped)
	}
	s.lease.renewed(began, time.Since(began), s.cfg.Lease) // After the drops: a valid lease lets generations publish.
	return nil
}

// confirmOwnership marks a generation as this server's own after a transaction that began at since. If that is so long
// ago that a lease renewed before it may have expired, another server may have taken the generation over, and the lease
// may have been renewed without checking it. In that case the lease is renewed first.
func (s *Service) confirmOwnership(g *generation, since time.Time) {
	s.own(g, since)
	g.stored <- true
}

// own is confirmOwnership for a stored generation.
func (s *Service) own(g *generation, since time.Time) {
	g.state.Store(stateWriting)
	if time.Since(since) > s.cfg.Lease/2 {
		_ = s.renew() // A renewal in progress may not include it,
		_ = s.renew() // the next one does.
	}
}

// ownedRun is a generation that this server owns.
type ownedRun struct {
	*generation

	before int64 // The number of its waits for decisions until now.
}

// ownedRuns returns the generations that this server owns, and their names.
func (s *Service) ownedRuns() (map[uuid.UUID]ownedRun, []RunID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	owned, runs := make(map[uuid.UUID]ownedRun, len(s.running)), make([]RunID, 0, len(s.running))
	for id, g := range s.running {
		waits := g.waits.Load() // Before the state.
		if g.state.Load() == stateWriting {
			owned[id] = ownedRun{g, waits}
			runs = append(runs, RunID{MessageID: id, Run: g.answer.Run})
		}
	}
	return owned, runs
}

// drop ends a generation that this server no longer owns: it publishes and stores nothing more. One whose end is being
// stored is left alone: the store refuses it.
func (s *Service) drop(g *generation) {
	if !g.state.CompareAndSwap(stateWriting, stateLost) {
		return
	}
	s.hub.Close(g.text) // Its clients reconnect and find the server that owns it.
	g.cancel(errLost)
	s.metrics.Fenced(1)
	s.log.WarnContext(g.life, "generation dropped: it is no longer this server's", "message_id", g.answer.ID, "run",
		g.answer.Run)
}
