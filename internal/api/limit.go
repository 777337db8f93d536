package api

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/go-chi/httprate"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/tally"
)

// window is the period of the limits. It is a sliding window: the count of the previous window is weighted by its
// remaining share.
const window = time.Minute

// limiter limits calls of a kind. A nil limiter has no limit.
type limiter struct {
	kind    Kind
	most    int
	refused string // The message for the person, with the seconds to wait.
	counter *httprate.RateLimiter
}

// newLimiter returns a limiter for most calls per minute on all servers together, or nil for no limit. name distinguishes
// the limiters of a kind.
func newLimiter(kind Kind, name string, most int, refused string, servers *tally.Tally) *limiter {
	if most <= 0 {
		return nil
	}
	// With a separate counter, windows are aligned to the minutes of the clock, so that the end of a window is known.
	return &limiter{kind: kind, most: most, refused: refused, counter: httprate.NewRateLimiter(most, window,
		httprate.WithLimitCounter(servers.Minute(string(kind)+" "+name, window)),
		httprate.WithResponseHeaders(httprate.ResponseHeaders{}))}
}

// take counts a request or refuses it.
func (l *limiter) take(w http.ResponseWriter, r *http.Request, key string) error {
	if l != nil && l.counter.OnLimit(w, r, key) {
		return l.refusal()
	}
	return nil
}

// check refuses a request if the limit is reached, without counting it.
func (l *limiter) check(key string) error {
	if l == nil {
		return nil
	}
	// Cannot fail, because the counter is in memory.
	if _, rate, _ := l.counter.Status(key); math.Round(rate) >= float64(l.most) {
		return l.refusal()
	}
	return nil
}

// count counts a request that look accepted.
func (l *limiter) count(key string) {
	if l != nil {
		// Cannot fail, because the counter is in memory.
		_ = l.counter.Counter().Increment(key, time.Now().UTC().Truncate(window))
	}
}

// refusal returns the error of an exceeded limit. The client may retry after the window has moved by one request.
func (l *limiter) refusal() error {
	now := time.Now()
	next := now.Truncate(window).Add(window).Sub(now) + window/time.Duration(l.most)
	return refusal(l.kind, fmt.Sprintf(l.refused, math.Ceil(next.Seconds())), next)
}

// addressKey returns the key for limits by address: an IPv4 address, or an IPv6 /64, which a provider assigns to one
// customer.
func addressKey(r *http.Request) string {
	return httprate.CanonicalizeIP(clientAddress(r.Context()).String())
}

// limitPool limits user pool calls by client address. Guesses, and calls that send mail, are counted per account and
// address, because an office may share one address, and one person's wrong passwords must not lock out the others. A
// higher limit per address for all accounts prevents trying one password on many accounts. Calls that the pool did not
// execute, because it was busy or had no database, are not counted.
func (s *Server) limitPool(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		address := addressKey(r)
		err := s.Limiter.each[KindSignIn].take(w, r, address)
		kind, account := pool.AttemptOf(r)
		account += " " + address
		if err == nil && kind != pool.NoAttempt {
			var leave func()
			if leave, err = s.admitGuess(r.Context(), account, address); err == nil {
				defer leave()
			}
		}
		if err != nil {
			pool.WriteBusy(w, fault.CodeOf(err) == fault.RateLimited, retryAfter(err))
			return
		}
		ww := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		next.ServeHTTP(ww, r)
		failed := ww.Status() >= http.StatusBadRequest
		if pool.Examined(ww.Status(), ww.Header()) && (kind == pool.SendsMail || kind == pool.Guess && failed) {
			s.Limiter.each[KindGuess].count(account)
			s.Limiter.each[KindAddressGuess].count(address)
		}
	})
}

// admitGuess waits for a slot, which leave releases. It refuses the guess if the limit is reached.
func (s *Server) admitGuess(ctx context.Context, account, address string) (leave func(), err error) {
	leaveAccount, err := s.guessTurns.take(ctx, account, guessesAtOnce)
	if err != nil {
		return nil, err
	}
	leaveAddress, err := s.guessTurns.take(ctx, address, addressGuessesAtOnce)
	if err != nil {
		leaveAccount()
		return nil, err
	}
	leave = func() { leaveAddress(); leaveAccount() }
	if err := cmp.Or(s.Limiter.each[KindGuess].check(account),
		s.Limiter.each[KindAddressGuess].check(address)); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// The result of a guess is known only when its call ends. Admitting many concurrent calls before any is counted would
// defeat the limit. Therefore only a few calls run concurrently and others wait. One account cannot occupy all slots of
// an address.
const (
	guessesAtOnce        = 4 // Per account and address.
	addressGuessesAtOnce = 16
	turnTimeout          = 4 * time.Second // Equal to the timeout in the user pool.
)

// turns bounds the concurrent calls per account and per address.
type turns struct {
	mu    sync.Mutex
	lines map[string]*line // Guarded by mu. Keys with calls that run or wait.
}

type line struct {
	places chan struct{} // Holds a token for each running call.
	calls  int           // Guarded by turns.mu. Running and waiting calls.
}

// take waits for a slot, which leave releases. The error has the code fault.Unavailable, or is the context's.
func (t *turns) take(ctx context.Context, key string, atOnce int) (leave func(), err error) {
	t.mu.Lock()
	if t.lines[key] == nil {
		t.lines[key] = &line{places: make(chan struct{}, atOnce)}
	}
	l := t.lines[key]
	l.calls++
	t.mu.Unlock()
	forget := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if l.calls--; l.calls == 0 {
			delete(t.lines, key)
		}
	}
	timer := time.NewTimer(turnTimeout)
	defer timer.Stop()
	select {
	case l.places <- struct{}{}:
		return func() { <-l.places; forget() }, nil
	case <-timer.C:
		err = fault.Errorf(fault.Unavailable, "%s", busyDetail)
	case <-ctx.Done():
		err = ctx.Err()
	}
	forget()
	return nil, err
}
