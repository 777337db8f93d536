package pool

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/timeout"
)

// timeoutStore is a Store that applies timeout.Store to each call. A limit of a whole operation would include the time
// for which a password waits to be hashed.
type timeoutStore struct{ store Store }

var _ Store = timeoutStore{}

// query makes a call that returns a value.
func query[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout.Store)
	defer cancel()
	return call(ctx)
}

// exec makes a call that returns only an error.
func exec(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout.Store)
	defer cancel()
	return call(ctx)
}

func (l timeoutStore) PoolKeys(ctx context.Context) ([]Key, error) {
	return query(ctx, l.store.PoolKeys)
}

func (l timeoutStore) AddFirstPoolKey(ctx context.Context, key Key) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.AddFirstPoolKey(ctx, key) })
}

func (l timeoutStore) RotatePoolKey(ctx context.Context, next Key, retireAt time.Time) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.RotatePoolKey(ctx, next, retireAt) })
}

func (l timeoutStore) CreatePoolUser(ctx context.Context, user User) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.CreatePoolUser(ctx, user) })
}

func (l timeoutStore) PoolUserBySub(ctx context.Context, sub uuid.UUID) (User, error) {
	return query(ctx, func(ctx context.Context) (User, error) { return l.store.PoolUserBySub(ctx, sub) })
}

func (l timeoutStore) PoolUserByEmail(ctx context.Context, email string) (User, error) {
	return query(ctx, func(ctx context.Context) (User, error) { return l.store.PoolUserByEmail(ctx, email) })
}

func (l timeoutStore) SetPoolPassword(ctx context.Context, sub uuid.UUID, password Password, at time.Time) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.SetPoolPassword(ctx, sub, password, at) })
}

func (l timeoutStore) ChangePoolPassword(
	ctx context.Context, sub uuid.UUID, version int64, password Password, keep uuid.UUID, event Event,
) error {
	return exec(ctx, func(ctx context.Context) error {
		return l.store.ChangePoolPassword(ctx, sub, version, password, keep, event)
	})
}

func (l timeoutStore) RehashPoolPassword(ctx context.Context, sub uuid.UUID, old, hash string) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.RehashPoolPassword(ctx, sub, old, hash) })
}

func (l timeoutStore) SetPoolUserEnabled(ctx context.Context, sub uuid.UUID, enabled bool, at time.Time) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.SetPoolUserEnabled(ctx, sub, enabled, at) })
}

func (l timeoutStore) DeletePoolUser(ctx context.Context, sub uuid.UUID) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.DeletePoolUser(ctx, sub) })
}

func (l timeoutStore) UpdatePoolUser(ctx context.Context, sub uuid.UUID, change UserChange, at time.Time) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.UpdatePoolUser(ctx, sub, change, at) })
}

func (l timeoutStore) SavePoolCode(
	ctx context.Context, code Code, countKey []byte, at time.Time, count func(Attempts) (Attempts, error),
) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.SavePoolCode(ctx, code, countKey, at, count) })
}

func (l timeoutStore) PoolCode(ctx context.Context, key []byte, at time.Time) (Code, error) {
	return query(ctx, func(ctx context.Context) (Code, error) { return l.store.PoolCode(ctx, key, at) })
}

func (l timeoutStore) TryPoolCode(ctx context.Context, code Code, at time.Time) (Code, error) {
	return query(ctx, func(ctx context.Context) (Code, error) { return l.store.TryPoolCode(ctx, code, at) })
}

func (l timeoutStore) UsePoolCode(ctx context.Context, code Code, password Password, event Event) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.UsePoolCode(ctx, code, password, event) })
}

func (l timeoutStore) PoolAttempts(ctx context.Context, keys ...[]byte) ([]Attempts, error) {
	return query(ctx, func(ctx context.Context) ([]Attempts, error) { return l.store.PoolAttempts(ctx, keys...) })
}

func (l timeoutStore) UpdatePoolAttempts(
	ctx context.Context, keys [][]byte, at time.Time, update func([]Attempts) []Attempts,
) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.UpdatePoolAttempts(ctx, keys, at, update) })
}

func (l timeoutStore) KnowsDevice(ctx context.Context, sub uuid.UUID, device []byte) (bool, error) {
	return query(ctx, func(ctx context.Context) (bool, error) { return l.store.KnowsDevice(ctx, sub, device) })
}

func (l timeoutStore) RecordPoolEvent(ctx context.Context, event Event) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.RecordPoolEvent(ctx, event) })
}

func (l timeoutStore) CreateChallenge(ctx context.Context, challenge Challenge, at time.Time) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.CreateChallenge(ctx, challenge, at) })
}

func (l timeoutStore) ChallengeByHash(ctx context.Context, hash []byte) (Challenge, error) {
	return query(ctx, func(ctx context.Context) (Challenge, error) { return l.store.ChallengeByHash(ctx, hash) })
}

func (l timeoutStore) CompleteChallenge(
	ctx context.Context, hash []byte, password Password, name string, event Event,
) (User, error) {
	return query(ctx, func(ctx context.Context) (User, error) {
		return l.store.CompleteChallenge(ctx, hash, password, name, event)
	})
}

func (l timeoutStore) PoolFactor(ctx context.Context, sub uuid.UUID) (Factor, error) {
	return query(ctx, func(ctx context.Context) (Factor, error) { return l.store.PoolFactor(ctx, sub) })
}

func (l timeoutStore) SetPendingTOTP(ctx context.Context, sub uuid.UUID, secret string) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.SetPendingTOTP(ctx, sub, secret) })
}

func (l timeoutStore) VerifyTOTP(
	ctx context.Context, user User, secret string, step int64, enable bool, event Event,
) (User, error) {
	return query(ctx, func(ctx context.Context) (User, error) {
		return l.store.VerifyTOTP(ctx, user, secret, step, enable, event)
	})
}

func (l timeoutStore) EnableTOTP(ctx context.Context, sub uuid.UUID, event Event) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.EnableTOTP(ctx, sub, event) })
}

func (l timeoutStore) RemoveFactor(
	ctx context.Context, sub uuid.UUID, passkeys bool, event Event,
) (bool, error) {
	return query(ctx, func(ctx context.Context) (bool, error) {
		return l.store.RemoveFactor(ctx, sub, passkeys, event)
	})
}

func (l timeoutStore) SetRecoveryCodes(ctx context.Context, sub uuid.UUID, hashes [][]byte, event Event) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.SetRecoveryCodes(ctx, sub, hashes, event) })
}

func (l timeoutStore) HasRecoveryCode(ctx context.Context, sub uuid.UUID, hash []byte) (bool, error) {
	return query(ctx, func(ctx context.Context) (bool, error) { return l.store.HasRecoveryCode(ctx, sub, hash) })
}

func (l timeoutStore) UseFactor(ctx context.Context, challenge []byte, proof FactorProof, at time.Time) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.UseFactor(ctx, challenge, proof, at) })
}

func (l timeoutStore) Passkeys(ctx context.Context, sub uuid.UUID) ([]Passkey, error) {
	return query(ctx, func(ctx context.Context) ([]Passkey, error) { return l.store.Passkeys(ctx, sub) })
}

func (l timeoutStore) PasskeyByID(ctx context.Context, id []byte) (Passkey, error) {
	return query(ctx, func(ctx context.Context) (Passkey, error) { return l.store.PasskeyByID(ctx, id) })
}

func (l timeoutStore) AddPasskey(
	ctx context.Context, challenge []byte, user User, passkey Passkey, event Event,
) (User, error) {
	return query(ctx, func(ctx context.Context) (User, error) {
		return l.store.AddPasskey(ctx, challenge, user, passkey, event)
	})
}

func (l timeoutStore) UsePasskey(ctx context.Context, challenge []byte, passkey Passkey, at time.Time) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.UsePasskey(ctx, challenge, passkey, at) })
}

func (l timeoutStore) RenamePasskey(ctx context.Context, sub uuid.UUID, id []byte, name string) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.RenamePasskey(ctx, sub, id, name) })
}

func (l timeoutStore) RemovePasskey(ctx context.Context, sub uuid.UUID, id []byte, event Event) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.RemovePasskey(ctx, sub, id, event) })
}

func (l timeoutStore) TrustedSince(
	ctx context.Context, user User, device []byte, after time.Time,
) (*time.Time, error) {
	return query(ctx, func(ctx context.Context) (*time.Time, error) {
		return l.store.TrustedSince(ctx, user, device, after)
	})
}

func (l timeoutStore) TrustDevice(ctx context.Context, user User, device TrustedDevice) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.TrustDevice(ctx, user, device) })
}

func (l timeoutStore) TrustedDevices(ctx context.Context, user User, after time.Time) ([]TrustedDevice, error) {
	return query(ctx, func(ctx context.Context) ([]TrustedDevice, error) {
		return l.store.TrustedDevices(ctx, user, after)
	})
}

func (l timeoutStore) DistrustDevice(ctx context.Context, sub uuid.UUID, device []byte) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.DistrustDevice(ctx, sub, device) })
}

func (l timeoutStore) CreateGrant(
	ctx context.Context, grant Grant, version int64, event Event,
) (newDevice bool, err error) {
	return query(ctx, func(ctx context.Context) (bool, error) {
		return l.store.CreateGrant(ctx, grant, version,
			event)
	})
}

func (l timeoutStore) GrantByToken(ctx context.Context, tokenHash []byte) (GrantUser, error) {
	return query(ctx, func(ctx context.Context) (GrantUser, error) { return l.store.GrantByToken(ctx, tokenHash) })
}

func (l timeoutStore) GrantByID(ctx context.Context, id uuid.UUID) (GrantUser, error) {
	return query(ctx, func(ctx context.Context) (GrantUser, error) { return l.store.GrantByID(ctx, id) })
}

func (l timeoutStore) RevokeGrant(ctx context.Context, id uuid.UUID, event Event) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.RevokeGrant(ctx, id, event) })
}

func (l timeoutStore) RevokeGrants(ctx context.Context, sub uuid.UUID, event Event) error {
	return exec(ctx, func(ctx context.Context) error { return l.store.RevokeGrants(ctx, sub, event) })
}
