package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
)

// UpdatePoolUser implements pool.Store.
func (db *DB) UpdatePoolUser(ctx context.Context, sub uuid.UUID, change pool.UserChange, at time.Time) error {
	return poolEmailError(execRow(ctx, db.pool, pgx.ErrNoRows, `
		UPDATE pool_users SET email = coalesce($2, email), email_verified = coalesce($3, email_verified),
			name = coalesce($4, name), updated_at = $5,
			version = version + CASE WHEN email = coalesce($2, email) THEN 0 ELSE 1 END
		WHERE sub = $1`,
		sub, change.Email, change.EmailVerified, change.Name, at))
}

// SavePoolCode implements pool.Store.
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

// PoolCode implements pool.Store.
func (db *DB) PoolCode(ctx context.Context, key []byte, at time.Time) (pool.Code, error) {
	return queryRow[pool.Code](ctx, db.pool, `
		SELECT key, sub, version, code_hash AS hash, tries, expires_at FROM pool_codes
		    WHERE key = $1 AND expires_at > $2`, key, at)
}

// TryPoolCode implements pool.Store.
func (db *DB) TryPoolCode(ctx context.Context, code pool.Code, at time.Time) (pool.Code, error) {
	return queryRow[pool.Code](ctx, db.pool, `
		UPDATE pool_codes SET tries = least(tries + 1, 1000) WHERE key = $1 AND code_hash = $2 AND expires_at > $3
		RETURNING key, sub, version, code_hash AS hash, tries, expires_at`, code.Key, code.Hash, at)
}

// UsePoolCode implements pool.Store.
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
