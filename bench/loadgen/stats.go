package main

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// histogram counts durations, to within a sixty-fourth of each. It is safe for concurrent use; its zero value is empty.
type histogram struct {
	counts [(64 - precision) << precision]atomic.Uint64
	total  atomic.Uint64
	most   atomic.Int64
}

// precision is how many bits of a number of microseconds count, beside the first.
const precision = 6

// add counts a duration. A negative one counts as none: clocks are not that exact.
func (h *histogram) add(d time.Duration) {
	us := uint64(max(d.Microseconds(), 0))
	h.counts[bucketOf(us)].Add(1)
	h.total.Add(1)
	for most := h.most.Load(); int64(d) > most && !h.most.CompareAndSwap(most, int64(d)); most = h.most.Load() {
		continue
	}
}

// bucketOf returns the bucket of a number: numbers of up to precision+1 bits have one each, larger ones share one with
// those that begin with the same bits.
func bucketOf(n uint64) int {
	shift := max(bits.Len64(n)-precision-1, 0)
	return shift<<precision + int(n>>shift)
}

// startOf returns the smallest number of a bucket.
func startOf(bucket int) uint64 {
	shift := max(bucket>>precision-1, 0)
	return uint64(bucket-shift<<precision) << shift
}

// quantile returns a duration that a share q of all does not exceed, give or take the precision; 0 if there are none.
func (h *histogram) quantile(q float64) time.Duration {
	total := h.total.Load()
	rank := uint64(q*float64(total) + 0.999999)
	seen := uint64(0)
	for i := range h.counts {
		if seen += h.counts[i].Load(); seen >= max(rank, 1) {
			return min(time.Duration(startOf(i))*time.Microsecond, time.Duration(h.most.Load()))
		}
	}
	return 0
}

// stats is what the clients count. It is safe for concurrent use.
type stats struct {
	attached   atomic.Int64 // Clients that are being sent a stream.
	events     atomic.Int64 // Events with text.
	tokens     atomic.Int64 // Tokens that came when they were due, not afterwards to a client who had missed them.
	gaps       atomic.Int64 // Times that text was missing, so that a client asked for the whole anew.
	repeated   atomic.Int64 // Events of text that a client had already.
	wrong      atomic.Int64 // Clients whose text differs from the stored one.
	right      atomic.Int64 // Clients whose text is the stored one.
	resets     atomic.Int64 // Times that a client was told to forget what it had.
	reconnects atomic.Int64
	refused    atomic.Int64 // Streams that were answered 429 or 503.
	failed     atomic.Int64 // Clients who were told that the answer failed.
	broken     atomic.Int64 // Connections that could not be made, or were answered otherwise.
	lag        histogram    // Of the tokens, from when they were due.
}
