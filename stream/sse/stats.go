package sse

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// Stats holds the statistics of a server since its creation. All values except the open streams only grow.
type Stats struct {
	OpenFast int64 // Open streams on hijacked connections.
	OpenHTTP int64 // Open streams written by net/http, including held ones.

	Opened     uint64 // Streams begun, of either kind.
	Resumes    uint64 // Of those: clients with a cursor.
	Resets     uint64 // Of those: clients with an invalid cursor.
	Writes     uint64 // Write system calls.
	Bytes      uint64 // Bytes of events, without heads.
	Heartbeats uint64
	Drains     uint64 // Writes that a socket did not accept completely.
	Ends       Ends
	Lag        []Lag // Time from a publication to the end of its write, by duration.
	LagSum     time.Duration
}

// Ends counts ended streams by reason.
type Ends struct {
	Done    uint64 // The text ended.
	Moved   uint64 // The text was abandoned: another run follows, or another server writes it.
	Gone    uint64 // The client disconnected.
	Slow    uint64 // The client did not accept a write in time.
	Expired uint64 // The stream reached its time limit, or End was called.
	Drained uint64 // The server was stopping.
}

// Lag is one bucket of a histogram.
type Lag struct {
	UpTo  time.Duration // Inclusive; 0 for no bound.
	Count uint64        // In this bucket only.
}

// lagBounds returns the upper bounds of the histogram's buckets, except for the last one, which is unbounded.
func lagBounds() [lagBuckets - 1]time.Duration {
	const us, ms = time.Microsecond, time.Millisecond
	return [...]time.Duration{
		50 * us, 100 * us, 250 * us, 500 * us, ms, 2500 * us, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms,
		time.Second,
	}
}

const lagBuckets = 14

// counters holds the values of Stats.
type counters struct {
	opened, resumes, resets, writes, bytes, heartbeats, drains atomic.Uint64
	done, moved, gone, slow, expired, drained                  atomic.Uint64
	lag                                                        [lagBuckets]atomic.Uint64
	lagSum                                                     atomic.Int64
}

// wrote counts a write. now is its end, since the publication of its first byte, or zero if unknown.
func (c *counters) wrote(n int, since, now time.Time) {
	c.writes.Add(1)
	c.bytes.Add(uint64(n)) //nolint:gosec // A length.
	if since.IsZero() {
		return
	}
	lag := now.Sub(since)
	c.lagSum.Add(int64(lag))
	bounds := lagBounds()
	bucket, _ := slices.BinarySearch(bounds[:], lag)
	c.lag[bucket].Add(1)
}

// begun counts a new stream.
func (c *counters) begun(w *stream.Watch) {
	c.opened.Add(1)
	if w.Resumed() {
		c.resumes.Add(1)
	}
	if w.Reset() {
		c.resets.Add(1)
	}
}

// over counts the end of a stream.
func (c *counters) over(err error) {
	switch {
	case err == nil:
		c.done.Add(1)
	case errors.Is(err, stream.ErrAbandoned):
		c.moved.Add(1)
	case errors.Is(err, ErrSlow):
		c.slow.Add(1)
	case errors.Is(err, ErrDraining):
		c.drained.Add(1)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrEnded):
		c.expired.Add(1)
	default:
		c.gone.Add(1)
	}
}

// Stats returns the statistics of the server. It reads the values at slightly different times.
func (s *Server) Stats() Stats {
	c := &s.counters
	st := Stats{
		Opened: c.opened.Load(), Resumes: c.resumes.Load(), Resets: c.resets.Load(), Writes: c.writes.Load(),
		Bytes: c.bytes.Load(), Heartbeats: c.heartbeats.Load(), Drains: c.drains.Load(),
		Ends: Ends{
			Done: c.done.Load(), Moved: c.moved.Load(), Gone: c.gone.Load(), Slow: c.slow.Load(),
			Expired: c.expired.Load(), Drained: c.drained.Load(),
		},
		Lag: make([]Lag, lagBuckets), LagSum: time.Duration(c.lagSum.Load()),
	}
	bounds := lagBounds()
	for i := range st.Lag {
		st.Lag[i].Count = c.lag[i].Load()
		if i < len(bounds) {
			st.Lag[i].UpTo = bounds[i]
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st.OpenFast, st.OpenHTTP = int64(len(s.subscribers)), int64(len(s.responses))
	return st
}
