package ratelimit

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/go-chi/httprate"

	"github.com/tsumugi-ai/tsumugi/internal/tally"
)

// window is the period of the limits. It is a sliding window: the count of the previous window is weighted by its
// remaining share.
const window = time.Minute

// rate limits calls of a kind per minute. A nil rate has no limit.
type rate struct {
	kind    Kind
	most    int
	refused string // The message for the person, with the seconds to wait.
	counter *httprate.RateLimiter

	mu sync.Mutex // Held from the check of a call until it is counted.
}

// newRate returns a rate for most calls per minute on all servers together, or nil for no limit. name distinguishes the
// rates of a kind.
func newRate(kind Kind, name string, most int, refused string, servers *tally.Tally) *rate {
	if most <= 0 {
		return nil
	}
	// With a separate counter, windows are aligned to the minutes of the clock, so that the end of a window is known.
	return &rate{kind: kind, most: most, refused: refused, counter: httprate.NewRateLimiter(most, window,
		httprate.WithLimitCounter(servers.Minute(string(kind)+" "+name)))}
}

// take counts a call or refuses it.
func (r *rate) take(key string) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.check(key); err != nil {
		return err
	}
	r.count(key)
	return nil
}

// check refuses a call if the limit is reached, without counting it.
func (r *rate) check(key string) error {
	if r == nil {
		return nil
	}
	// Cannot fail, because the counter is in memory.
	if _, calls, _ := r.counter.Status(key); math.Round(calls) >= float64(r.most) {
		return r.refusal()
	}
	return nil
}

// count counts a call that check accepted.
func (r *rate) count(key string) {
	if r != nil {
		// Cannot fail, because the counter is in memory.
		_ = r.counter.Counter().Increment(key, time.Now().UTC().Truncate(window))
	}
}

// refusal returns the error of an exceeded limit. The client may retry after the window has moved by one call.
func (r *rate) refusal() error {
	now := time.Now()
	next := now.Truncate(window).Add(window).Sub(now) + window/time.Duration(r.most)
	return refusal(r.kind, fmt.Sprintf(r.refused, math.Ceil(next.Seconds())), next)
}
