package pool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
)

// The lock-out is Cognito's: the fifth wrong password in a row locks for a second, each further one for twice as long,
// up to about a quarter of an hour. The count is reset after a quarter of an hour without an attempt. See
// https://docs.aws.amazon.com/cognito/latest/developerguide/authentication.html#authentication-flow-lockout-behavior
//
// It counts by account and address together, so that guessing does not lock out the account's owner at other addresses,
// or other people at the same address. A higher limit counts all addresses together, against distributed guessing. That
// limit does not apply to devices on which the owner has signed in, because otherwise anyone could lock out the owner.
const (
	freeFailures    = 5  // For an account, from one address.
	accountFailures = 50 // For an account, from all addresses.
	firstLock       = time.Second
	longestLock     = 15 * time.Minute
	quietTime       = 15 * time.Minute
)

// errLocked means that the account is locked. Each operation has a specific message for it.
var errLocked = errors.New("pool: too many wrong passwords or codes")

// at returns the attempts that have not expired at a time.
func (a Attempts) at(now time.Time) Attempts {
	if !now.Before(a.ForgottenAt) {
		return Attempts{}
	}
	return a
}

// locked reports whether all passwords are rejected at a time.
func (a Attempts) locked(now time.Time) bool { return now.Before(a.LockedUntil) }

// failed returns the attempts after one more wrong password. The first free ones do not lock.
func (a Attempts) failed(now time.Time, free int) Attempts {
	a = a.at(now)
	a.Failures++
	a.LockedUntil = now
	if over := a.Failures - free; over >= 0 {
		a.LockedUntil = now.Add(min(firstLock<<min(over, 30), longestLock))
	}
	a.ForgottenAt = a.LockedUntil.Add(quietTime)
	return a
}

// attemptsKey returns the key under which attempts on an account are counted. A user has one count for all their names;
// an unknown name has one too, so that a lock-out does not reveal whether an account exists.
func attemptsKey(user *User, name string) []byte {
	text := "name " + name
	if user != nil {
		text = "user " + user.Sub.String()
	}
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// attemptsKeys returns the keys under which wrong passwords of an account are counted: for the caller's address, and
// for all addresses.
func attemptsKeys(ctx context.Context, user *User, name string) [][]byte {
	return keysFrom(ctx, attemptsKey(user, name))
}

// factorKeys returns the keys under which wrong codes of a user's second factor are counted. They are not those of
// passwords, because the right password must not reset the count of codes.
func factorKeys(ctx context.Context, user User) [][]byte {
	sum := sha256.Sum256([]byte("factor " + user.Sub.String()))
	return keysFrom(ctx, sum[:])
}

// keysFrom returns the key of an account at the caller's address, and the key itself.
func keysFrom(ctx context.Context, account []byte) [][]byte {
	here := sha256.Sum256(append([]byte("from "+originOf(ctx).Network()+" "), account...))
	return [][]byte{here[:], account}
}

// authenticate returns the user with a name if the password is right and the account is not locked. Every failure has
// the response and the timing of a wrong password.
func (p *Pool) authenticate(ctx context.Context, name, password string) (User, error) {
	user, err := p.findUser(ctx, name)
	if err != nil {
		return User{}, err
	}
	if err := p.checkPassword(ctx, user, name, password, ActionSignInFailed); err != nil {
		return User{}, err
	}
	return *user, nil
}

// checkPassword rejects a wrong password, and every password while the account is locked. user is nil for an unknown
// name. A wrong password is recorded in the audit log as the given action.
//
// Concurrent passwords are verified concurrently, but counted one after the other. A password that arrives while the
// account is locked is rejected without verification. A password is also rejected, even if right, if other attempts
// lock the account during its verification. Concurrent attempts therefore reveal no more than sequential ones.
func (p *Pool) checkPassword(ctx context.Context, user *User, name, password string, wrong Action) error {
	encoded := ""
	if user != nil {
		encoded = user.PasswordHash
	}
	asTyped := false
	right, err := p.try(ctx, user, attemptsKeys(ctx, user, normalizeName(name)), wrong, "password",
		func() (right bool, err error) {
			right, asTyped, err = p.hasher.verify(ctx, encoded, password)
			return right, err
		})
	switch {
	case err != nil:
		return err
	case !right:
		return incorrectPassword()
	case asTyped:
		p.rehash(ctx, user, password)
	}
	return nil
}

// try verifies a secret of a user, nil for an unknown name, and counts the result under the keys. A wrong one is
// recorded in the audit log as the given action and reason. The error is errLocked while the keys are locked.
func (p *Pool) try(
	ctx context.Context, user *User, keys [][]byte, wrong Action, reason string, verify func() (bool, error),
) (right bool, err error) {
	known, err := p.knowsDevice(ctx, user)
	if err != nil {
		return false, err
	}
	attempts, err := p.store.PoolAttempts(timeout.Call(ctx), keys...)
	if err != nil {
		return false, err
	}
	if locked(attempts, known, p.now()) {
		return false, errLocked
	}
	if right, err = verify(); err != nil {
		return false, err
	}
	lockedNow, err := p.count(ctx, keys, known, right)
	if err != nil {
		return false, err
	}
	if !right {
		p.refused(ctx, wrong, user, reason)
	}
	if lockedNow {
		p.refused(ctx, actionLocked, user, "")
	}
	return right, nil
}

// rehash replaces the hash of a password as typed by a hash of the normalized password. A failure is only logged,
// because the old hash stays valid.
func (p *Pool) rehash(ctx context.Context, user *User, password string) {
	encoded, err := p.hasher.hash(ctx, password)
	if err == nil {
		err = p.store.RehashPoolPassword(timeout.Call(ctx), user.Sub, user.PasswordHash, encoded)
	}
	if err != nil {
		p.cfg.Logger.WarnContext(ctx, "pool: old password hash not replaced", "sub", user.Sub, "err", err)
	}
}

// knowsDevice reports whether a user has signed in on this device before. It queries the store even for unknown names,
// to take the same time.
func (p *Pool) knowsDevice(ctx context.Context, user *User) (bool, error) {
	device := originOf(ctx).DeviceKey()
	if device == nil {
		return false, nil
	}
	sub := uuid.Nil
	if user != nil {
		sub = user.Sub
	}
	return p.store.KnowsDevice(timeout.Call(ctx), sub, device)
}

// locked reports whether passwords are rejected. attempts are those from the caller's address and from all addresses.
func locked(attempts []Attempts, known bool, now time.Time) bool {
	return attempts[0].locked(now) || attempts[1].locked(now) && !known
}

// count records the result of an attempt, or rejects it if the account was locked meanwhile. It reports whether the
// account is now locked.
func (p *Pool) count(ctx context.Context, keys [][]byte, known, right bool) (bool, error) {
	if right {
		// Usually there are no failures to reset, so no write is needed.
		attempts, err := p.store.PoolAttempts(timeout.Call(ctx), keys...)
		if err != nil || attempts[0].Failures+attempts[1].Failures == 0 {
			return false, err
		}
	}
	now := p.now()
	var refused bool
	var after []Attempts
	err := p.store.UpdatePoolAttempts(timeout.Call(ctx), keys, now, func(a []Attempts) []Attempts {
		refused = locked(a, known, now)
		switch {
		case refused:
			after = a
		case right:
			after = make([]Attempts, len(a))
		default:
			after = []Attempts{a[0].failed(now, freeFailures), a[1].failed(now, accountFailures)}
		}
		return after
	})
	if err != nil {
		return false, err
	}
	if refused {
		return false, errLocked
	}
	lockedNow := locked(after, known, now)
	if lockedNow {
		p.cfg.Logger.InfoContext(ctx, "pool: account locked after wrong passwords or codes", "account",
			hex.EncodeToString(keys[1][:8]),
			"failures", after[0].Failures, "of_all_addresses", after[1].Failures, "until", after[0].LockedUntil)
	}
	return lockedNow, nil
}

// findUser returns the user with that name, a sub or an address, or nil.
func (p *Pool) findUser(ctx context.Context, name string) (*User, error) {
	// Normalizing could shorten it to an existing address, while attempts are counted under the typed name.
	if len(name) > maxTyped {
		return nil, nil
	}
	var user User
	var err error
	if sub, ok := parseSub(name); ok {
		user, err = p.store.PoolUserBySub(timeout.Call(ctx), sub)
	} else if email := NormalizeEmail(name); validEmail(email) {
		user, err = p.store.PoolUserByEmail(timeout.Call(ctx), email)
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
