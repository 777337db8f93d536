package pool

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// storeTimeout limits each call of the store, so that a stalled database is detected while clients still wait.
const storeTimeout = 5 * time.Second

// limited is a Store that applies storeTimeout to each call.
type limited struct{ store Store }

var _ Store = limited{}

// query makes a call that returns a value.
func query[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return call(ctx)
}

// exec makes a call that returns only an error.
func exec(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return call(ctx)
}

func (l limited) PoolKeys(ctx context.Context) ([]Key, error) { return query(ctx, l.store.PoolKeys) }

func (l limited) AddFirstPoolKey(ctx context.Context, key Key) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.AddFirstPoolKey(ctx, key) })
}

func (l limited) RotatePoolKey(ctx context.Context, next Key, retireAt time.Time) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.RotatePoolKey(ctx, next, retireAt) })
}

func (l limited) CreatePoolUser(ctx context.Context, user User) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.CreatePoolUser(ctx, user) })
}

func (l limited) PoolUserBySub(ctx context.Context, sub uuid.UUID) (User, error) {
	return query(ctx, func(ctx context.Context) (User, error) { return l.store.PoolUserBySub(ctx, sub) })
}

func (l limited) PoolUserByEmail(ctx context.Context, email string) (User, error) {
	return query(ctx, func(ctx context.Context) (User, error) { return l.store.PoolUserByEmail(ctx, email) })
}

func (l limited) SetPoolPassword(ctx context.Context, sub uuid.UUID, password Password, at time.Time) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.SetPoolPassword(ctx, sub, password, at) })
}

func (l limited) ChangePoolPassword(
	ctx context.Context, sub uuid.UUID, version int64, password Password, keep uuid.UUID, event Event,
) error {
	return exec(ctx, func(ctx context.Context) error {
		return l.store.ChangePoolPassword(ctx, sub, version, password, keep, event)
	})
}

func (l limited) RehashPoolPassword(ctx context.Context, sub uuid.UUID, old, hash string) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.RehashPoolPassword(ctx, sub, old, hash) })
}

func (l limited) SetPoolUserEnabled(ctx context.Context, sub uuid.UUID, enabled bool, at time.Time) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.SetPoolUserEnabled(ctx, sub, enabled, at) })
}

func (l limited) DeletePoolUser(ctx context.Context, sub uuid.UUID) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.DeletePoolUser(ctx, sub) })
}

func (l limited) UpdatePoolUser(ctx context.Context, sub uuid.UUID, change UserChange, at time.Time) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.UpdatePoolUser(ctx, sub, change, at) })
}

func (l limited) SavePoolCode(
	ctx context.Context, code Code, countKey []byte, at time.Time, count func(Attempts) (Attempts, error),
) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.SavePoolCode(ctx, code, countKey, at, count) })
}

func (l limited) PoolCode(ctx context.Context, key []byte, at time.Time) (Code, error) {
	return query(ctx, func(ctx context.Context) (Code, error) { return l.store.PoolCode(ctx, key, at) })
}

func (l limited) TryPoolCode(ctx context.Context, code Code, at time.Time) (Code, error) {
	return query(ctx, func(ctx context.Context) (Code, error) { return l.store.TryPoolCode(ctx, code, at) })
}

func (l limited) UsePoolCode(ctx context.Context, code Code, password Password, event Event) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.UsePoolCode(ctx, code, password, event) })
}

func (l limited) PoolAttempts(ctx context.Context, keys ...[]byte) ([]Attempts, error) {
	return query(ctx, func(ctx context.Context) ([]Attempts, error) { return l.store.PoolAttempts(ctx, keys...) })
}

func (l limited) UpdatePoolAttempts(
	ctx context.Context, keys [][]byte, at time.Time, update func([]Attempts) []Attempts,
) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.UpdatePoolAttempts(ctx, keys, at, update) })
}

func (l limited) KnowsDevice(ctx context.Context, sub uuid.UUID, device []byte) (bool, error) {
	return query(ctx, func(ctx context.Context) (bool, error) { return l.store.KnowsDevice(ctx, sub, device) })
}

func (l limited) RecordPoolEvent(ctx context.Context, event Event) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.RecordPoolEvent(ctx, event) })
}

func (l limited) CreateChallenge(ctx context.Context, challenge Challenge, at time.Time) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.CreateChallenge(ctx, challenge, at) })
}

func (l limited) ChallengeByHash(ctx context.Context, hash []byte) (Challenge, error) {
	return query(ctx, func(ctx context.Context) (Challenge, error) { return l.store.ChallengeByHash(ctx, hash) })
}

func (l limited) CompleteChallenge(ctx context.Context, hash []byte, password Password, name string, event Event) (User,
	error,
) {
	return query(ctx, func(ctx context.Context) (User, error) {
		return l.store.CompleteChallenge(ctx, hash, password, name, event)
	})
}

func (l limited) CreateGrant(ctx context.Context, grant Grant, version int64, event Event) (newDevice bool, err error) {
	return query(ctx, func(ctx context.Context) (bool, error) {
		return l.store.CreateGrant(ctx, grant, version,
			event)
	})
}

func (l limited) GrantByToken(ctx context.Context, tokenHash []byte) (GrantUser, error) {
	return query(ctx, func(ctx context.Context) (GrantUser, error) { return l.store.GrantByToken(ctx, tokenHash) })
}

func (l limited) GrantByID(ctx context.Context, id uuid.UUID) (GrantUser, error) {
	return query(ctx, func(ctx context.Context) (GrantUser, error) { return l.store.GrantByID(ctx, id) })
}

func (l limited) RevokeGrant(ctx context.Context, id uuid.UUID, event Event) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.RevokeGrant(ctx, id, event) })
}

func (l limited) RevokeGrants(ctx context.Context, sub uuid.UUID, event Event) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.RevokeGrants(ctx, sub, event) })
}
