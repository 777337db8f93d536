package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
)

var _ pool.Store = (*DB)(nil)

// Each insert removes some expired rows. Grants are kept until their last access tokens have expired, keys for the
// allowed clock skew longer.
const (
	poolSweep      = 10
	poolGrantAfter = 24 * time.Hour
	poolKeyAfter   = 24 * time.Hour
)

const (
	poolUserColumns = `u.sub, u.email, u.email_verified, u.name, u.groups, u.status, u.enabled, u.password_hash,
		u.temporary_until, u.version, u.created_at, u.updated_at`
	poolGrantColumns = `g.id, g.token_hash, g.sub, g.client_id, g.event_id, g.auth_time, g.expires_at, g.revoked_at`
)

func (db *DB) PoolKeys(ctx context.Context) ([]pool.Key, error) {
	keys, err := queryRows[pool.Key](ctx, db.pool,
		`SELECT id, private_key, created_at, active_from, retire_at FROM pool_keys ORDER BY active_from, id`)
	for i := range keys {
		if err == nil {
			keys[i].PrivateKey, err = db.openSecret(keys[i].PrivateKey, poolKeyOwner(keys[i].ID))
		}
	}
	return keys, err
}

func (db *DB) AddFirstPoolKey(ctx context.Context, key pool.Key) error {
	kept, err := db.sealSecret(key.PrivateKey, poolKeyOwner(key.ID))
	if err != nil {
		return err
	}
	return db.tx(ctx, func(tx pgx.Tx) error {
		// Servers that start at the same time are serialized; reads are not blocked.
		if err := exec(ctx, tx, `LOCK TABLE pool_keys IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return err
		}
		return exec(ctx, tx, `
			INSERT INTO pool_keys (id, private_key, created_at, active_from, retire_at)
			SELECT $1, $2, $3, $4, $5 WHERE NOT EXISTS (SELECT FROM pool_keys)`,
			key.ID, kept, key.CreatedAt, key.ActiveFrom, key.RetireAt)
	})
}

func (db *DB) RotatePoolKey(ctx context.Context, next pool.Key, retireAt time.Time) error {
	return db.tx(ctx, func(tx pgx.Tx) error { return db.rotatePoolKey(ctx, tx, next, retireAt) })
}

func (db *DB) rotatePoolKey(ctx context.Context, tx pgx.Tx, next pool.Key, retireAt time.Time) error {
	kept, err := db.sealSecret(next.PrivateKey, poolKeyOwner(next.ID))
	if err != nil {
		return err
	}
	return send(ctx, tx, func(batch *pgx.Batch) {
		batch.Queue(`LOCK TABLE pool_keys IN SHARE ROW EXCLUSIVE MODE`)
		// A key retires no earlier than it becomes active.
		batch.Queue(`UPDATE pool_keys SET retire_at = greatest($1, active_from) WHERE retire_at IS NULL`, retireAt)
		batch.Queue(`DELETE FROM pool_keys WHERE retire_at < $1`, next.CreatedAt.Add(-poolKeyAfter))
		batch.Queue(`
			INSERT INTO pool_keys (id, private_key, created_at, active_from, retire_at) VALUES ($1, $2, $3, $4, $5)`,
			next.ID, kept, next.CreatedAt, next.ActiveFrom, next.RetireAt)
	})
}

func (db *DB) CreatePoolUser(ctx context.Context, user pool.User) error {
	err := exec(ctx, db.pool, `
		INSERT INTO pool_users (sub, email, email_verified, name, groups, status, enabled,
		    password_hash, temporary_until,
			version, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		user.Sub, user.Email, user.EmailVerified, user.Name, orEmpty(user.Groups), user.Status, user.Enabled,
		user.PasswordHash, user.TemporaryUntil, user.Version, user.CreatedAt, user.UpdatedAt)
	if violates(err, "pool_users_pkey") { // Created at the same time.
		return fault.Wrap(err, fault.Conflict, "このアカウントはすでに登録されています。")
	}
	return poolEmailError(err)
}

// poolEmailError converts the error of a statement that sets the address of a user.
func poolEmailError(err error) error {
	if violates(err, "pool_users_email_key") {
		return fault.Wrap(err, fault.Conflict, "このメールアドレスはすでに登録されています。")
	}
	return err
}

func (db *DB) PoolUserBySub(ctx context.Context, sub uuid.UUID) (pool.User, error) {
	return queryRow[pool.User](ctx, db.pool, `SELECT `+poolUserColumns+` FROM pool_users u WHERE u.sub = $1`, sub)
}

func (db *DB) PoolUserByEmail(ctx context.Context, email string) (pool.User, error) {
	return queryRow[pool.User](ctx, db.pool, `SELECT `+poolUserColumns+` FROM pool_users u WHERE u.email = $1`,
		email)
}

func (db *DB) SetPoolPassword(ctx context.Context, sub uuid.UUID, password pool.Password, at time.Time) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := execRow(ctx, tx, pgx.ErrNoRows, `
			UPDATE pool_users SET password_hash = $2, status = $3, temporary_until = $4,
			    version = version + 1, updated_at = $5
			WHERE sub = $1`,
			sub, password.Hash, password.Status, password.TemporaryUntil, at); err != nil {
			return err
		}
		return revokePoolGrants(ctx, tx, sub, uuid.Nil, at)
	})
}

func (db *DB) ChangePoolPassword(
	ctx context.Context, sub uuid.UUID, version int64, password pool.Password, keep uuid.UUID, event pool.Event,
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := execRow(ctx, tx, errPoolUserChanged, `
			UPDATE pool_users SET password_hash = $3, status = $4, temporary_until = $5,
			    version = version + 1, updated_at = $6
			WHERE sub = $1 AND version = $2 AND enabled`,
			sub, version, password.Hash, password.Status, password.TemporaryUntil, event.At); err != nil {
			return err
		}
		if err := revokePoolGrants(ctx, tx, sub, keep, event.At); err != nil {
			return err
		}
		return auditSignIn(ctx, tx, event)
	})
}

func (db *DB) RehashPoolPassword(ctx context.Context, sub uuid.UUID, old, hash string) error {
	return exec(ctx, db.pool, `UPDATE pool_users SET password_hash = $3 WHERE sub = $1 AND password_hash = $2`, sub,
		old, hash)
}

func (db *DB) SetPoolUserEnabled(ctx context.Context, sub uuid.UUID, enabled bool, at time.Time) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		err := execRow(ctx, tx, pgx.ErrNoRows, `
			UPDATE pool_users SET enabled = $2, version = version + 1, updated_at = $3
			    WHERE sub = $1`, sub, enabled, at)
		if err != nil || enabled {
			return err
		}
		return revokePoolGrants(ctx, tx, sub, uuid.Nil, at)
	})
}

func (db *DB) DeletePoolUser(ctx context.Context, sub uuid.UUID) error {
	return db.tx(ctx, func(tx pgx.Tx) error { // Retries a deadlock with a completing challenge.
		return execRow(ctx, tx, pgx.ErrNoRows, `DELETE FROM pool_users WHERE sub = $1`, sub)
	})
}

// poolAttempts is a row of pool_attempts. The times of a new row are nil.
type poolAttempts struct {
	Failures    int
	LockedUntil *time.Time
	ForgottenAt *time.Time
}

func (a poolAttempts) domain() pool.Attempts {
	attempts := pool.Attempts{Failures: a.Failures}
	if a.LockedUntil != nil {
		attempts.LockedUntil = *a.LockedUntil
	}
	if a.ForgottenAt != nil {
		attempts.ForgottenAt = *a.ForgottenAt
	}
	return attempts
}

func (db *DB) PoolAttempts(ctx context.Context, keys ...[]byte) ([]pool.Attempts, error) {
	rows, err := queryRows[poolAttempts](ctx, db.pool, `
		SELECT coalesce(a.failures, 0) AS failures, a.locked_until, a.forgotten_at
		FROM unnest($1::bytea[]) WITH ORDINALITY AS k(key, place)
		LEFT JOIN pool_attempts a ON a.key = k.key
		ORDER BY k.place`, keys)
	return convert(rows, poolAttempts.domain), err
}

func (db *DB) UpdatePoolAttempts(
	ctx context.Context, keys [][]byte, at time.Time, update func([]pool.Attempts) []pool.Attempts,
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		return updatePoolAttempts(ctx, tx, keys, at, func(a []pool.Attempts) ([]pool.Attempts,
			error,
		) {
			return update(a), nil
		})
	})
}

func updatePoolAttempts(
	ctx context.Context, tx pgx.Tx, keys [][]byte, at time.Time, update func([]pool.Attempts) ([]pool.Attempts, error),
) error {
	before := make([]pool.Attempts, len(keys))
	for i, key := range keys {
		// The no-op update locks the row, which exists afterwards.
		row, err := queryRow[poolAttempts](ctx, tx, `
			INSERT INTO pool_attempts (key) VALUES ($1) ON CONFLICT (key) DO UPDATE SET key = excluded.key
			RETURNING failures, locked_until, forgotten_at`, key)
		if err != nil {
			return err
		}
		before[i] = row.domain()
	}
	after, err := update(before)
	if err != nil {
		return err
	}
	return send(ctx, tx, func(batch *pgx.Batch) {
		for i, key := range keys {
			if next := after[i]; next.Failures == 0 {
				batch.Queue(`DELETE FROM pool_attempts WHERE key = $1`, key)
			} else {
				batch.Queue(`UPDATE pool_attempts SET failures = $2, locked_until = $3, forgotten_at = $4 WHERE key = $1`,
					key, next.Failures, next.LockedUntil, next.ForgottenAt)
			}
		}
		batch.Queue(`
			DELETE FROM pool_attempts WHERE key IN (
				SELECT key FROM pool_attempts WHERE forgotten_at < $1 AND key <> ALL ($2) LIMIT $3 FOR UPDATE SKIP LOCKED)`,
			at, keys, poolSweep)
	})
}

func (db *DB) CreateChallenge(ctx context.Context, challenge pool.Challenge, at time.Time) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if challenge.Sub != uuid.Nil {
			if err := lockPoolUser(ctx, tx, challenge.Sub, challenge.Version); err != nil {
				return err
			}
		}
		return send(ctx, tx, func(batch *pgx.Batch) {
			batch.Queue(sweep("pool_challenges", "hash", "expires_at"), at, poolSweep)
			batch.Queue(`
				INSERT INTO pool_challenges (hash, name, sub, client_id, version, expires_at)
				    VALUES ($1, $2, nullif($3::uuid, $7), $4, $5, $6)`,
				challenge.Hash, challenge.Name, challenge.Sub, challenge.ClientID, challenge.Version, challenge.ExpiresAt,
				uuid.Nil)
		})
	})
}

func (db *DB) ChallengeByHash(ctx context.Context, hash []byte) (pool.Challenge, error) {
	return queryRow[pool.Challenge](ctx, db.pool, `
		SELECT hash, name, coalesce(sub, $2) AS sub, client_id, version, expires_at, used_at FROM pool_challenges
		WHERE hash = $1`, hash, uuid.Nil)
}

func (db *DB) CompleteChallenge(
	ctx context.Context, hash []byte, password pool.Password, name string, event pool.Event,
) (user pool.User, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		challenge, err := queryRow[pool.Challenge](ctx, tx, `
			UPDATE pool_challenges SET used_at = $2 WHERE hash = $1 AND used_at IS NULL AND expires_at > $2
			RETURNING hash, name, sub, client_id, version, expires_at, used_at`, hash, event.At)
		if err != nil {
			return err
		}
		user, err = queryRow[pool.User](ctx, tx, `
			UPDATE pool_users u SET password_hash = $3, status = $4, temporary_until = $5,
				name = coalesce(nullif($6, ''), name), version = version + 1, updated_at = $7
			WHERE sub = $1 AND version = $2 AND enabled RETURNING `+poolUserColumns,
			challenge.Sub, challenge.Version, password.Hash, password.Status, password.TemporaryUntil, name, event.At)
		if err != nil {
			return err
		}
		return auditSignIn(ctx, tx, event)
	})
	if fault.CodeOf(err) == fault.NotFound {
		return pool.User{}, fault.Wrap(err, fault.Conflict, "このセッションはもう使えません。")
	}
	return user, err
}

func (db *DB) CreateGrant(ctx context.Context, grant pool.Grant, version int64, event pool.Event) (newDevice bool,
	err error,
) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockPoolUser(ctx, tx, grant.Sub, version); err != nil {
			return err
		}
		// Whatever ends the sessions of the user deletes the code, and then the sessions: a code that is left here has not
		// been ended, and a session that is stored here will be.
		if code := grant.External.CodeHash; code != nil {
			if err := execRow(ctx, tx, errPoolUserChanged, `DELETE FROM saml_codes WHERE hash = $1`, code); err != nil {
				return err
			}
		}
		if err := send(ctx, tx, func(batch *pgx.Batch) {
			batch.Queue(sweep("pool_grants", "id", "expires_at"), grant.AuthTime.Add(-poolGrantAfter), poolSweep)
			batch.Queue(`
				INSERT INTO pool_grants (id, token_hash, sub, client_id, event_id, auth_time, expires_at, provider,
				                         provider_person, provider_session, authenticated_at)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
				grant.ID, grant.TokenHash, grant.Sub, grant.ClientID, grant.EventID, grant.AuthTime, grant.ExpiresAt,
				grant.External.Provider, grant.External.Person, grant.External.Session, grant.AuthenticatedAt)
		}); err != nil {
			return err
		}
		if newDevice, err = recordPoolDevice(ctx, tx, grant.Sub, event.Origin.DeviceKey(), event.At); err != nil {
			return err
		}
		return auditSignIn(ctx, tx, event)
	})
	return newDevice, err
}

// lockPoolUser locks a user until the transaction ends, so that an old password grants nothing to a user who is being
// disabled or whose password is being changed. If the user has changed, the error has the code fault.Conflict.
func lockPoolUser(ctx context.Context, tx pgx.Tx, sub uuid.UUID, version int64) error {
	return execRow(ctx, tx, errPoolUserChanged,
		`SELECT FROM pool_users WHERE sub = $1 AND version = $2 AND enabled FOR SHARE`, sub, version)
}

var errPoolUserChanged = fault.Errorf(fault.Conflict, "ユーザーの状態が変わりました。")

// poolGrantUser reads a grant and its user from one row. Both have a column sub with the same value.
func poolGrantUser(ctx context.Context, q querier, where string, arg any) (pool.GrantUser, error) {
	return queryOne(ctx, q, func(row pgx.CollectableRow) (held pool.GrantUser, err error) {
		g, u := &held.Grant, &held.User
		err = row.Scan(&g.ID, &g.TokenHash, &g.Sub, &g.ClientID, &g.EventID, &g.AuthTime, &g.ExpiresAt, &g.RevokedAt,
			&u.Sub, &u.Email, &u.EmailVerified, &u.Name, &u.Groups, &u.Status, &u.Enabled, &u.PasswordHash,
			&u.TemporaryUntil, &u.Version, &u.CreatedAt, &u.UpdatedAt)
		return held, err
	}, `
		SELECT `+poolGrantColumns+`, `+poolUserColumns+`
		FROM pool_grants g JOIN pool_users u USING (sub) WHERE `+where, arg)
}

func (db *DB) GrantByToken(ctx context.Context, tokenHash []byte) (pool.GrantUser, error) {
	return poolGrantUser(ctx, db.pool, `g.token_hash = $1`, tokenHash)
}

func (db *DB) GrantByID(ctx context.Context, id uuid.UUID) (pool.GrantUser, error) {
	return poolGrantUser(ctx, db.pool, `g.id = $1`, id)
}

func (db *DB) RevokeGrant(ctx context.Context, id uuid.UUID, event pool.Event) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		sub, err := queryValue[uuid.UUID](ctx, tx, `
			UPDATE pool_grants SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL RETURNING sub`, id, event.At)
		if err != nil {
			return ifNoRows(err, nil)
		}
		event.Sub = sub
		return auditSignIn(ctx, tx, event)
	})
}

func (db *DB) RevokeGrants(ctx context.Context, sub uuid.UUID, event pool.Event) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := revokePoolGrants(ctx, tx, sub, uuid.Nil, event.At); err != nil {
			return err
		}
		return auditSignIn(ctx, tx, event)
	})
}

// revokePoolGrants revokes all grants of a user except one, and ends the user's connections.
func revokePoolGrants(ctx context.Context, tx pgx.Tx, sub, keep uuid.UUID, at time.Time) error {
	if err := exec(ctx, tx, `
		UPDATE pool_grants SET revoked_at = $3 WHERE sub = $1
		    AND id <> $2 AND revoked_at IS NULL`, sub, keep, at); err != nil {
		return err
	}
	return endAccountConnections(ctx, tx, sub)
}

// endEarlierSessions ends the remaining sessions of an account, so that a new member does not get sessions of an
// earlier one. Sessions at other identity providers are not recorded here.
func endEarlierSessions(ctx context.Context, tx pgx.Tx, subject string, at time.Time) error {
	sub, err := uuid.Parse(subject)
	if err != nil { // Not an account of the pool.
		return nil //nolint:nilerr // There is nothing to end.
	}
	return revokePoolGrants(ctx, tx, sub, uuid.Nil, at)
}

func (db *DB) UpdatePoolUser(ctx context.Context, sub uuid.UUID, change pool.UserChange, at time.Time) error {
	return poolEmailError(execRow(ctx, db.pool, pgx.ErrNoRows, `
		UPDATE pool_users SET email = coalesce($2, email), email_verified = coalesce($3, email_verified),
			name = coalesce($4, name), updated_at = $5,
			version = version + CASE WHEN email = coalesce($2, email) THEN 0 ELSE 1 END
		WHERE sub = $1`,
		sub, change.Email, change.EmailVerified, change.Name, at))
}

func (db *DB) SavePoolCode(
	ctx context.Context, code pool.Code, countKey []byte, at time.Time,
	count func(pool.Attempts) (pool.Attempts, error),
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		one := func(a []pool.Attempts) ([]pool.Attempts, error) {
			next, err := count(a[0])
			return []pool.Attempts{next}, err
		}
		if err := updatePoolAttempts(ctx, tx, [][]byte{countKey}, at, one); err != nil {
			return err
		}
		err := send(ctx, tx, func(batch *pgx.Batch) {
			batch.Queue(sweep("pool_codes", "key", "expires_at"), at, poolSweep)
			batch.Queue(`
				INSERT INTO pool_codes (key, sub, version, code_hash, expires_at) VALUES ($1, $2, $3, $4, $5)
				ON CONFLICT (key) DO UPDATE SET sub = excluded.sub, version = excluded.version,
				    code_hash = excluded.code_hash, tries = 0, expires_at = excluded.expires_at`,
				code.Key, code.Sub, code.Version, code.Hash, code.ExpiresAt)
		})
		if hasCode(err, codeForeignKey) {
			return fault.Wrap(err, fault.NotFound, "ユーザーが見つかりません。")
		}
		return err
	})
}

func (db *DB) PoolCode(ctx context.Context, key []byte, at time.Time) (pool.Code, error) {
	return queryRow[pool.Code](ctx, db.pool, `
		SELECT key, sub, version, code_hash AS hash, tries, expires_at FROM pool_codes
		    WHERE key = $1 AND expires_at > $2`, key, at)
}

func (db *DB) TryPoolCode(ctx context.Context, code pool.Code, at time.Time) (pool.Code, error) {
	return queryRow[pool.Code](ctx, db.pool, `
		UPDATE pool_codes SET tries = least(tries + 1, 1000) WHERE key = $1 AND code_hash = $2 AND expires_at > $3
		RETURNING key, sub, version, code_hash AS hash, tries, expires_at`, code.Key, code.Hash, at)
}

func (db *DB) UsePoolCode(ctx context.Context, code pool.Code, password pool.Password, event pool.Event) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := execRow(ctx, tx, errPoolUserChanged,
			`DELETE FROM pool_codes WHERE key = $1 AND code_hash = $2 AND expires_at > $3`,
			code.Key, code.Hash, event.At); err != nil {
			return err
		}
		if err := execRow(ctx, tx, errPoolUserChanged, `
			UPDATE pool_users SET password_hash = $3, status = $4, temporary_until = $5, email_verified = true,
				version = version + 1, updated_at = $6
			WHERE sub = $1 AND version = $2 AND enabled`,
			code.Sub, code.Version, password.Hash, password.Status, password.TemporaryUntil, event.At); err != nil {
			return err
		}
		if err := revokePoolGrants(ctx, tx, *code.Sub, uuid.Nil, event.At); err != nil {
			return err
		}
		return auditSignIn(ctx, tx, event)
	})
}
