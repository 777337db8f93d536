package ratelimit

import (
	"cmp"
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// AdmitGuess admits an attempt to sign in to an account. Guesses are counted per account and address, because an office
// may share one address, and one person's wrong passwords must not lock out the others. A higher limit per address for
// all accounts prevents trying one password on many accounts.
//
// It waits for a slot, which leave releases, and refuses the guess if a limit is reached. If the attempt was a wrong
// guess, the caller calls CountGuess before leave.
func (l *Limiter) AdmitGuess(ctx context.Context, account string, address netip.Addr) (leave func(), err error) {
	byAccount, byAddress := guessKeys(account, address)
	leaveAccount, err := l.guesses.take(ctx, byAccount, guessesAtOnce)
	if err != nil {
		return nil, err
	}
	leaveAddress, err := l.guesses.take(ctx, byAddress, addressGuessesAtOnce)
	if err != nil {
		leaveAccount()
		return nil, err
	}
	leave = func() { leaveAddress(); leaveAccount() }
	if err := cmp.Or(l.each[KindGuess].check(byAccount), l.each[KindAddressGuess].check(byAddress)); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// CountGuess counts a guess that AdmitGuess admitted.
func (l *Limiter) CountGuess(account string, address netip.Addr) {
	byAccount, byAddress := guessKeys(account, address)
	l.each[KindGuess].count(byAccount)
	l.each[KindAddressGuess].count(byAddress)
}

func guessKeys(account string, address netip.Addr) (byAccount, byAddress string) {
	byAddress = addressKey(address)
	return account + " " + byAddress, byAddress
}

// GuessCode calls try unless the person has guessed too many user codes. It counts the guess if the error of try is
// fault.NotFound.
func (l *Limiter) GuessCode(actor identity.Actor, try func() error) error {
	guesses, key := l.each[KindGuess], "user code "+actor.ID.String()
	if err := guesses.check(key); err != nil {
		return err
	}
	err := try()
	if fault.CodeOf(err) == fault.NotFound {
		guesses.count(key)
	}
	return err
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
		err = fault.Wrap(context.DeadlineExceeded, fault.Unavailable, "")
	case <-ctx.Done():
		err = ctx.Err()
	}
	forget()
	return nil, err
}
