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
)

// window is what limits are counted over. It slides: what was asked in the minute before counts for less and less.
const window = time.Minute

// limiter counts calls of a kind. A nil one lets any number pass.
type limiter struct {
	kind    Kind
	most    int
	refused string // What a person reads, with the seconds to wait.
	counter *httprate.RateLimiter
}

// newLimiter returns a limiter that lets so much pass in a minute, nil for any number.
func newLimiter(kind Kind, most int, refused string) *limiter {
	if most <= 0 {
		return nil
	}
	// A counter that is given makes windows begin with the minutes of the clock, so that it is known when one ends.
	return &limiter{kind: kind, most: most, refused: refused, counter: httprate.NewRateLimiter(most, window,
		httprate.WithLimitCounter(httprate.NewLocalLimitCounter(window)),
		httprate.WithResponseHeaders(httprate.ResponseHeaders{}))}
}

// take counts a request, or refuses it.
func (l *limiter) take(w http.ResponseWriter, r *http.Request, key string) error {
	if l != nil && l.counter.OnLimit(w, r, key) {
		return l.refusal()
	}
	return nil
}

// look refuses a request if too many were counted before.
func (l *limiter) look(key string) error {
	if l == nil {
		return nil
	}
	if _, rate, _ := l.counter.Status(key); math.Round(rate) >= float64(l.most) { // It is in memory: there is no error.
		return l.refusal()
	}
	return nil
}

// count counts what was looked at before.
func (l *limiter) count(key string) {
	if l != nil {
		_ = l.counter.Counter().Increment(key, time.Now().UTC().Truncate(window)) // It is in memory: there is no error.
	}
}

// refusal says that it was too much, and when it is worth coming back: when the window has moved on by one request.
func (l *limiter) refusal() error {
	now := time.Now()
	next := now.Truncate(window).Add(window).Sub(now) + window/time.Duration(l.most)
	return refusal(l.kind, fmt.Sprintf(l.refused, math.Ceil(next.Seconds())), next)
}

// addressKey is whom a limit by address counts: an IPv4 address, or the network that a provider gives one customer of
// IPv6.
func addressKey(r *http.Request) string {
	return httprate.CanonicalizeIP(clientAddress(r.Context()).String())
}

// limitPool limits calls of the user pool by where they come from. Those that guess, or have mail sent to somebody, are
// counted apart, by account and address together: an office may sign in at nine o'clock behind one address, and one
// person's wrong passwords keep nobody else there out. All accounts together have a higher limit, for passwords that
// are tried on many. What the pool did not look at, because it was too busy or had no database, counts for nothing.
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

// admitGuess waits for the turn of a guess, which leave ends, and refuses it if there were too many before.
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
	if err := cmp.Or(s.Limiter.each[KindGuess].look(account),
		s.Limiter.each[KindAddressGuess].look(address)); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// Whether a call was a wrong guess is known when it is over. If all that are made at once were let in before the first
// is counted, a limit of guesses would be none: so a few are under way, and others wait. One account cannot take all
// the turns of an address.
const (
	guessesAtOnce        = 4 // For one account, from one address.
	addressGuessesAtOnce = 16
	turnPatience         = 4 * time.Second // As the user pool's own.
)

// turns has the calls of each account and each address take turns.
type turns struct {
	mu    sync.Mutex
	lines map[string]*line // Guarded by mu. Of those that have calls under way, or waiting.
}

type line struct {
	places chan struct{} // Holds a token for each call that is under way.
	calls  int           // Guarded by turns.mu. Those that wait included.
}

// take waits for a turn, which leave ends. The error has the code fault.Unavailable, or is the context's.
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
	timer := time.NewTimer(turnPatience)
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
