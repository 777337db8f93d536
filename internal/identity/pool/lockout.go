package pool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// The lock-out is Cognito's: the fifth wrong password in a row locks for a second, each further one for twice as long, up
// to about a quarter of an hour. A quarter of an hour without an attempt forgets the count. See
// https://docs.aws.amazon.com/cognito/latest/developerguide/authentication.html#authentication-flow-lockout-behavior
const (
	freeFailures = 5
	firstLock    = time.Second
	longestLock  = 15 * time.Minute
	quietTime    = 15 * time.Minute
)

// errLocked says that the account is locked. Operations word it differently.
var errLocked = errors.New("pool: too many wrong passwords")

// at returns the attempts as they count now.
func (a Attempts) at(now time.Time) Attempts {
	if !now.Before(a.ForgottenAt) {
		return Attempts{}
	}
	return a
}

// locked reports whether no password is looked at now.
func (a Attempts) locked(now time.Time) bool { return now.Before(a.LockedUntil) }

// failed returns the attempts after one more wrong password.
func (a Attempts) failed(now time.Time) Attempts {
	a = a.at(now)
	a.Failures++
	a.LockedUntil = now
	if over := a.Failures - freeFailures; over >= 0 {
		a.LockedUntil = now.Add(min(firstLock<<min(over, 30), longestLock))
	}
	a.ForgottenAt = a.LockedUntil.Add(quietTime)
	return a
}

// attemptsKey returns where the attempts on an account are counted. A user has one count under all their names; a name
// that is nobody's has one too, so that being locked out says nothing about an account.
func attemptsKey(user *User, name string) []byte {
	text := "name " + name
	if user != nil {
		text = "user " + user.Sub.String()
	}
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// authenticate returns the user with that name if the password is theirs and the account is not locked. Whatever is
// wrong, the answer and the time that it takes are those for a wrong password.
func (p *Pool) authenticate(ctx context.Context, name, password string) (User, error) {
	user, err := p.findUser(ctx, name)
	if err != nil {
		return User{}, err
	}
	encoded := ""
	if user != nil {
		encoded = user.PasswordHash
	}
	if err := p.checkPassword(ctx, attemptsKey(user, normalizeName(name)), encoded, password); err != nil {
		return User{}, err
	}
	return *user, nil
}

// checkPassword refuses a password that is not the one that was hashed, and any while the account is locked.
//
// Passwords that arrive together are checked together, but their outcomes count one after the other: one that comes in
// while the account is locked, or turned out right only after others had locked it, is refused unread. So trying many at
// once tells no more than trying one by one.
func (p *Pool) checkPassword(ctx context.Context, key []byte, encoded, password string) error {
	attempts, err := p.store.PoolAttempts(ctx, key)
	if err != nil {
		return err
	}
	if attempts.locked(p.now()) {
		return errLocked
	}
	right, err := p.hasher.verify(ctx, encoded, password)
	if err != nil {
		return err
	}
	if err := p.count(ctx, key, right); err != nil {
		return err
	}
	if !right {
		return incorrectPassword()
	}
	return nil
}

// count records the outcome of an attempt, or refuses it if the account has been locked meanwhile.
func (p *Pool) count(ctx context.Context, key []byte, right bool) error {
	if right {
		// Nearly always nothing is counted, and nothing has to be written.
		attempts, err := p.store.PoolAttempts(ctx, key)
		if err != nil || attempts.Failures == 0 {
			return err
		}
	}
	now := p.now()
	var refused bool
	var after Attempts
	err := p.store.UpdatePoolAttempts(ctx, key, now, func(a Attempts) Attempts {
		refused = a.locked(now)
		switch {
		case refused:
			after = a
		case right:
			after = Attempts{}
		default:
			after = a.failed(now)
		}
		return after
	})
	if err != nil {
		return err
	}
	if refused {
		return errLocked
	}
	if after.locked(now) {
		p.cfg.Logger.InfoContext(ctx, "pool: an account is locked after wrong passwords",
			"account", hex.EncodeToString(key[:8]), "failures", after.Failures, "until", after.LockedUntil)
	}
	return nil
}

// findUser returns the user with that name, a sub or an address, or nil.
func (p *Pool) findUser(ctx context.Context, name string) (*User, error) {
	if len(name) > maxTyped { // With somebody's address in it, perhaps; but attempts count under what was typed.
		return nil, nil
	}
	var user User
	var err error
	if sub, ok := parseSub(name); ok {
		user, err = p.store.PoolUserBySub(ctx, sub)
	} else if email := NormalizeEmail(name); validEmail(email) {
		user, err = p.store.PoolUserByEmail(ctx, email)
	} else {
		return nil, nil
	}
	if fault.CodeOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &user, nil
}
