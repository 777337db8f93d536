package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
)

// factorRequired is the condition that the policy of organization o requires a second factor of its member u.
const factorRequired = `
	(o.factor_policy = 'everybody'
	    OR o.factor_policy = 'administrators' AND u.role IN ('organization-admin', 'organization-super-admin'))`

var errNoFactor = fault.Errorf(fault.Conflict, "認証アプリが登録されていません。")

func (db *DB) PoolFactor(ctx context.Context, sub uuid.UUID) (pool.Factor, error) {
	factor, err := queryRow[pool.Factor](ctx, db.pool, `
		SELECT coalesce(t.secret, '') AS secret, coalesce(t.pending, '') AS pending, coalesce(t.enabled, false) AS enabled,
		       (SELECT count(*) FROM pool_recovery_codes c WHERE c.sub = s.sub) AS recovery_codes,
		       (SELECT count(*) FROM pool_passkeys k WHERE k.sub = s.sub) AS passkeys,
		       EXISTS (SELECT FROM users u JOIN organizations o ON o.id = u.organization_id
		               WHERE u.subject = s.sub::text AND `+factorRequired+`) AS required
		FROM (SELECT $1::uuid AS sub) s
		LEFT JOIN pool_totp t ON t.sub = s.sub`, sub)
	if err != nil {
		return pool.Factor{}, err
	}
	if factor.Secret, err = db.openSecret(factor.Secret, poolTOTPOwner(sub.String())); err != nil {
		return pool.Factor{}, err
	}
	factor.Pending, err = db.openSecret(factor.Pending, poolTOTPOwner(sub.String()))
	return factor, err
}

func (db *DB) SetPendingTOTP(ctx context.Context, sub uuid.UUID, secret string) error {
	sealed, err := db.sealSecret(secret, poolTOTPOwner(sub.String()))
	if err != nil {
		return err
	}
	err = exec(ctx, db.pool, `
		INSERT INTO pool_totp (sub, pending) VALUES ($1, $2)
		ON CONFLICT (sub) DO UPDATE SET pending = excluded.pending`, sub, sealed)
	if hasCode(err, codeForeignKey) {
		return fault.Wrap(err, fault.NotFound, "ユーザーが見つかりません。")
	}
	return err
}

func (db *DB) VerifyTOTP(
	ctx context.Context, user pool.User, secret string, step int64, enable bool, event pool.Event,
) (pool.User, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (verified pool.User, err error) {
		verified, err = findRow[pool.User](ctx, tx, errPoolUserChanged, `
			UPDATE pool_users u SET version = version + 1, updated_at = $3 WHERE sub = $1 AND version = $2 AND enabled
			RETURNING `+poolUserColumns, user.Sub, user.Version, event.At)
		if err != nil {
			return verified, err
		}
		sealed, err := queryValue[string](ctx, tx, `SELECT pending FROM pool_totp WHERE sub = $1 FOR UPDATE`, user.Sub)
		if err != nil {
			return verified, ifNoRows(err, errPoolUserChanged)
		}
		if pending, err := db.openSecret(sealed, poolTOTPOwner(user.Sub.String())); err != nil {
			return verified, err
		} else if pending != secret {
			return verified, errPoolUserChanged
		}
		if err := exec(ctx, tx, `
			UPDATE pool_totp SET secret = pending, pending = '', step = $2, enabled = enabled OR $3 WHERE sub = $1`,
			user.Sub, step, enable); err != nil {
			return verified, err
		}
		return verified, auditSignIn(ctx, tx, event)
	})
}

func (db *DB) EnableTOTP(ctx context.Context, sub uuid.UUID, event pool.Event) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := endPoolChallenges(ctx, tx, sub, event.At); err != nil {
			return err
		}
		if err := execRow(ctx, tx, errNoFactor,
			`UPDATE pool_totp SET enabled = true WHERE sub = $1 AND secret <> ''`, sub); err != nil {
			return err
		}
		return auditSignIn(ctx, tx, event)
	})
}

// endPoolChallenges invalidates the sign-ins in progress of a user.
func endPoolChallenges(ctx context.Context, tx pgx.Tx, sub uuid.UUID, at time.Time) error {
	return exec(ctx, tx, `UPDATE pool_users SET version = version + 1, updated_at = $2 WHERE sub = $1`, sub, at)
}

func (db *DB) RemoveFactor(ctx context.Context, sub uuid.UUID, passkeys bool, event pool.Event) (bool, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (bool, error) {
		if err := endPoolChallenges(ctx, tx, sub, event.At); err != nil {
			return false, err
		}
		removed, err := queryValue[bool](ctx, tx, `
			WITH totp AS (DELETE FROM pool_totp WHERE sub = $1 RETURNING enabled),
			     keys AS (DELETE FROM pool_passkeys WHERE sub = $1 AND $2 RETURNING id)
			SELECT coalesce((SELECT enabled FROM totp), false) OR EXISTS (SELECT FROM keys)`, sub, passkeys)
		if err == nil {
			err = dropRecoveryCodes(ctx, tx, sub)
		}
		if err != nil || !removed {
			return removed, err
		}
		return removed, auditSignIn(ctx, tx, event)
	})
}

// dropRecoveryCodes deletes the recovery codes of a user without a second factor. The user must be locked.
func dropRecoveryCodes(ctx context.Context, tx pgx.Tx, sub uuid.UUID) error {
	return exec(ctx, tx, `DELETE FROM pool_recovery_codes c WHERE sub = $1 AND NOT `+hasFactor("c"), sub)
}

// hasFactor is the condition that the user of a row has a second factor.
func hasFactor(row string) string {
	return `(EXISTS (SELECT FROM pool_totp t WHERE t.sub = ` + row + `.sub AND t.enabled)
	    OR EXISTS (SELECT FROM pool_passkeys k WHERE k.sub = ` + row + `.sub))`
}

func (db *DB) SetRecoveryCodes(ctx context.Context, sub uuid.UUID, hashes [][]byte, event pool.Event) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		// The lock serializes concurrent calls, so that the codes of only one of them remain.
		if err := execRow(ctx, tx, errNoFactor,
			`SELECT FROM pool_users u WHERE sub = $1 AND `+hasFactor("u")+` FOR UPDATE`, sub); err != nil {
			return err
		}
		if err := send(ctx, tx, func(batch *pgx.Batch) {
			batch.Queue(`DELETE FROM pool_recovery_codes WHERE sub = $1`, sub)
			batch.Queue(`INSERT INTO pool_recovery_codes (sub, hash) SELECT $1, unnest($2::bytea[])`, sub, hashes)
		}); err != nil {
			return err
		}
		return auditSignIn(ctx, tx, event)
	})
}

func (db *DB) HasRecoveryCode(ctx context.Context, sub uuid.UUID, hash []byte) (bool, error) {
	return queryValue[bool](ctx, db.pool,
		`SELECT EXISTS (SELECT FROM pool_recovery_codes WHERE sub = $1 AND hash = $2)`, sub, hash)
}

func (db *DB) UseFactor(ctx context.Context, challenge []byte, proof pool.FactorProof, at time.Time) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		sub, err := usePoolChallenge(ctx, tx, challenge, at)
		if err != nil {
			return ifNoRows(err, errPoolUserChanged)
		}
		if proof.RecoveryHash != nil {
			return execRow(ctx, tx, pgx.ErrNoRows, `DELETE FROM pool_recovery_codes WHERE sub = $1 AND hash = $2`, sub,
				proof.RecoveryHash)
		}
		if proof.Step != 0 {
			return execRow(ctx, tx, pgx.ErrNoRows, `UPDATE pool_totp SET step = $2 WHERE sub = $1 AND step < $2`, sub,
				proof.Step)
		}
		return nil
	})
}

// usePoolChallenge consumes a challenge and returns its user, or uuid.Nil for any user. The error is pgx.ErrNoRows if it
// does not exist, was used, or has expired.
func usePoolChallenge(ctx context.Context, tx pgx.Tx, hash []byte, at time.Time) (uuid.UUID, error) {
	return queryValue[uuid.UUID](ctx, tx, `
		UPDATE pool_challenges SET used_at = $2 WHERE hash = $1 AND used_at IS NULL AND expires_at > $2
		RETURNING coalesce(sub, $3)`, hash, at, uuid.Nil)
}
