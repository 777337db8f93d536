package sse

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// Stats is what a server has done since it was made. All but the open streams only grow.
type Stats struct {
	OpenFast int64 // Open streams on connections that were taken over.
	OpenHTTP int64 // Open streams that net/http writes, held ones included.

	Opened     uint64 // Streams begun, of either kind.
	Resumes    uint64 // Of those: the client had a cursor.
	Resets     uint64 // Of those: the cursor was not valid.
	Writes     uint64 // System calls' worth of writes.
	Bytes      uint64 // Of events, heads left out.
	Heartbeats uint64
	Drains     uint64 // Times that a socket did not take what was written at once.
	Ends       Ends
	Lag        []Lag // From a publish to the end of the write that carried it, by duration.
	LagSum     time.Duration
}

// Ends counts the streams that are over, by reason.
type Ends struct {
	Done    uint64 // The text was over.
	Moved   uint64 // The text was abandoned: another run follows, or another server writes it.
	Gone    uint64 // The client left.
	Slow    uint64 // The client did not take a write in time.
	Expired uint64 // Its time was up, or End was called.
	Drained uint64 // The server was about to stop.
}

// Lag is one bucket of a histogram.
type Lag struct {
	UpTo  time.Duration // Inclusive; 0 for no bound.
	Count uint64        // In this bucket alone.
}

// lagBounds are the upper bounds of the histogram's buckets but the last, which has none.
func lagBounds() [lagBuckets - 1]time.Duration {
	const us, ms = time.Microsecond, time.Millisecond
	return [...]time.Duration{
		50 * us, 100 * us, 250 * us, 500 * us, ms, 2500 * us, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms,
		time.Second,
	}
}

const lagBuckets = 14

// counters is what Stats reads.
type counters struct {
	opened, resumes, resets, writes, bytes, heartbeats, drains atomic.Uint64
	done, moved, gone, slow, expired, drained                  atomic.Uint64
	lag                                                        [lagBuckets]atomic.Uint64
	lagSum                                                     atomic.Int64
}

// wrote counts a write that ended at a time. since is when its first byte was published, zero if that is not known.
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

// begun counts a stream that begins.
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

// Stats returns what the server has done so far. The figures are not of one moment.
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
