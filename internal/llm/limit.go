package llm

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/tally"
)

// The kinds of counts that servers exchange.
const (
	kindCalls  = "model_call"
	kindTokens = "model_token"
)

// othersEvery is the polling interval of a call that waits for the calls of other servers.
const othersEvery = 100 * time.Millisecond

// shortPatience is the maximum wait of a request that can be sent to another model instead.
const shortPatience = 5 * time.Second

var errLimit = errors.New("llm: the limit for the provider is reached")

// limits limits the requests of all servers to a provider.
type limits struct {
	key    string        // Of the provider, for the counts of all servers. Providers may share an address.
	calls  chan struct{} // A slot for each concurrent call of this server; nil for no limit.
	tokens *rate.Limiter // Nil for no limit.

	running *tally.Level // Calls in progress, by provider.
	used    *tally.Count // Tokens, by provider.

	mu  sync.Mutex
	own int // Guarded by mu. Calls of this server in progress.
}

func newLimits(p Provider, running *tally.Level, used *tally.Count) *limits {
	l := &limits{key: tally.Key(p.Config.BaseURL + " " + p.Config.APIKey + " " + p.Routes[0].ID), running: running, used: used}
	if p.MaxConcurrent > 0 {
		l.calls = make(chan struct{}, p.MaxConcurrent)
	}
	if p.TokensPerMinute > 0 {
		l.tokens = rate.NewLimiter(rate.Limit(float64(p.TokensPerMinute)/time.Minute.Seconds()), p.TokensPerMinute)
	}
	return l
}

// enter waits until a request with an estimated number of tokens may be sent. The caller must call leave with the
// actual number. If the wait would exceed patience, the error has CodeRateLimited.
func (l *limits) enter(ctx context.Context, estimate int, patience time.Duration) (leave func(used int), err error) {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if l.calls != nil {
		select {
		case l.calls <- struct{}{}:
		case <-within.Done():
			return nil, l.refusal(ctx)
		}
		if !l.awaitOthers(within) {
			<-l.calls
			return nil, l.refusal(ctx)
		}
	}
	leave = func(used int) {
		l.spend(used - estimate)
		if l.calls != nil {
			l.end()
			<-l.calls
		}
	}
	if l.tokens == nil {
		return leave, nil
	}
	estimate = min(estimate, l.tokens.Burst()) // A longer request waits for a full bucket.
	if l.tokens.WaitN(within, estimate) != nil {
		leave(estimate)
		return nil, l.refusal(ctx)
	}
	l.used.Add(l.key, estimate)
	return leave, nil
}

// awaitOthers waits until the calls of all servers permit another one, and begins it. It returns false if the context
// ends first.
func (l *limits) awaitOthers(ctx context.Context) bool {
	if l.begin() {
		return true
	}
	tick := time.NewTicker(othersEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if l.begin() {
				return true
			}
		case <-ctx.Done():
			return false
		}
	}
}

// begin begins a call if the calls of all servers permit it. Each server may always have one, so that busy servers do
// not exclude another one.
func (l *limits) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own > 0 && l.own+l.running.Others(l.key) >= cap(l.calls) {
		return false
	}
	l.own++
	l.running.Set(l.key, l.own)
	return true
}

// end ends a call.
func (l *limits) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.own--
	l.running.Set(l.key, l.own)
}

// spend counts tokens of this server after its call. A negative number returns tokens that the call did not use.
func (l *limits) spend(tokens int) {
	l.take(tokens)
	l.used.Add(l.key, tokens)
}

// take removes tokens from the bucket, or adds tokens if the number is negative. Requests wait while the bucket is empty.
func (l *limits) take(tokens int) {
	if l.tokens == nil {
		return
	}
	if tokens < 0 { // The bucket does not become fuller than its size.
		l.tokens.ReserveN(time.Now(), tokens)
	}
	for tokens > 0 {
		part := min(tokens, l.tokens.Burst())
		l.tokens.ReserveN(time.Now(), part)
		tokens -= part
	}
}

func (l *limits) refusal(ctx context.Context) error {
	if ctx.Err() != nil {
		return Canceled(ctx)
	}
	return fault.Wrap(errLimit, CodeRateLimited, detailRateLimited)
}
