package main

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// histogram counts durations with a relative error of at most 1/64. It is safe for concurrent use; its zero value is
// empty.
type histogram struct {
	counts [(64 - precision) << precision]atomic.Uint64
	total  atomic.Uint64
	most   atomic.Int64
}

// precision is the number of significant bits of a number of microseconds after the first bit.
const precision = 6

// add counts a duration. Negative durations, which are caused by inexact clocks, count as zero.
func (h *histogram) add(d time.Duration) {
	us := uint64(max(d.Microseconds(), 0))
	h.counts[bucketOf(us)].Add(1)
	h.total.Add(1)
	for most := h.most.Load(); int64(d) > most && !h.most.CompareAndSwap(most, int64(d)); most = h.most.Load() {
		continue
	}
}

// bucketOf returns the bucket of a number. Numbers of up to precision+1 bits have one bucket each. Larger numbers with
// the same length and the same first precision+1 bits share a bucket.
func bucketOf(n uint64) int {
	shift := max(bits.Len64(n)-precision-1, 0)
	return shift<<precision + int(n>>shift)
}

// startOf returns the smallest number of a bucket.
func startOf(bucket int) uint64 {
	shift := max(bucket>>precision-1, 0)
	return uint64(bucket-shift<<precision) << shift
}

// quantile returns the duration that a share q of the durations does not exceed, within the precision. It returns 0 for
// an empty histogram.
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

// stats are the clients' counters. They are safe for concurrent use.
type stats struct {
	attached   atomic.Int64 // Clients with an open stream.
	events     atomic.Int64 // Events with text.
	tokens     atomic.Int64 // Tokens received live, without tokens that a reconnected client received late.
	gaps       atomic.Int64 // Gaps after which a client requested the whole text again.
	repeated   atomic.Int64 // Events with text that a client had already received.
	wrong      atomic.Int64 // Clients whose text differs from the stored one.
	right      atomic.Int64 // Clients whose text equals the stored one.
	resets     atomic.Int64 // Resets that a client received.
	reconnects atomic.Int64
	refused    atomic.Int64 // Stream requests with status 429 or 503.
	failed     atomic.Int64 // Clients that received a failure of the answer.
	broken     atomic.Int64 // Connections that failed, or got another status.
	lag        histogram    // Delays of the tokens from their due time.
}
