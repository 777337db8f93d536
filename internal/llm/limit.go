package llm

import (
	"context"
	"errors"
	"time"

	"golang.org/x/time/rate"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// shortPatience is the maximum wait of a request that can be sent to another model instead.
const shortPatience = 5 * time.Second

var errLimit = errors.New("llm: the provider's own limit of this server is reached")

// limits are the limits for requests to a provider. The zero value has none.
type limits struct {
	calls  chan struct{} // A slot for each concurrent call; nil for no limit.
	tokens *rate.Limiter // Nil for no limit.
}

func newLimits(p Provider) *limits {
	l := &limits{}
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
	}
	leave = func(used int) {
		l.take(used - estimate)
		if l.calls != nil {
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
	return leave, nil
}

// take removes tokens from the bucket after the call. Later requests wait for them.
func (l *limits) take(tokens int) {
	if l.tokens == nil {
		return
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
