package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
)

const webAuthnColumns = `id, sub, name, public_key, sign_count, backup_eligible, created_at, last_used_at`

var (
	errNoPasskey    = fault.Errorf(fault.NotFound, "パスキーが見つかりません。")
	errPasskeyTaken = fault.Errorf(fault.Conflict, "このパスキーは登録できません。")
	errLastFactor   = fault.Errorf(fault.Conflict, "二段階認証が必要なため、最後のパスキーは削除できません。")
)

func (db *DB) Passkeys(ctx context.Context, sub uuid.UUID) ([]pool.Passkey, error) {
	return queryRows[pool.Passkey](ctx, db.pool,
		`SELECT `+webAuthnColumns+` FROM pool_passkeys WHERE sub = $1 ORDER BY created_at, id`, sub)
}

func (db *DB) PasskeyByID(ctx context.Context, id []byte) (pool.Passkey, error) {
	return queryRow[pool.Passkey](ctx, db.pool, `SELECT `+webAuthnColumns+` FROM pool_passkeys WHERE id = $1`, id)
}

func (db *DB) AddPasskey(
	ctx context.Context, challenge []byte, user pool.User, passkey pool.Passkey, event pool.Event,
) (pool.User, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (changed pool.User, err error) {
		sub, err := usePoolChallenge(ctx, tx, challenge, event.At)
		if err != nil {
			return changed, err
		}
		if sub != passkey.Sub {
			return changed, pgx.ErrNoRows
		}
		// The lock of the row serializes concurrent calls, so that the user gets no more passkeys than the maximum.
		changed, err = queryRow[pool.User](ctx, tx, `
			UPDATE pool_users u SET updated_at = $3, version = version + CASE WHEN `+hasFactor("u")+` THEN 0 ELSE 1 END
			WHERE sub = $1 AND version = $2 AND enabled
			RETURNING `+poolUserColumns, sub, user.Version, event.At)
		if err != nil {
			return changed, err
		}
		if err := execRow(ctx, tx, errPasskeyTaken, `
			INSERT INTO pool_passkeys (id, sub, name, public_key, sign_count, backup_eligible, created_at)
			SELECT $1, $2, $3, $4, $5, $6, $7 WHERE (SELECT count(*) FROM pool_passkeys WHERE sub = $2) < $8
			ON CONFLICT (id) DO NOTHING`,
			passkey.ID, passkey.Sub, passkey.Name, passkey.PublicKey, passkey.SignCount, passkey.BackupEligible,
			passkey.CreatedAt, pool.MaxPasskeys); err != nil {
			return changed, err
		}
		return changed, auditSignIn(ctx, tx, event)
	})
}

func (db *DB) UsePasskey(ctx context.Context, challenge []byte, passkey pool.Passkey, at time.Time) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if _, err := usePoolChallenge(ctx, tx, challenge, at); err != nil {
			return ifNoRows(err, errPoolUserChanged)
		}
		return execRow(ctx, tx, errNoPasskey, `
			UPDATE pool_passkeys SET sign_count = $3, last_used_at = $4
			WHERE id = $1 AND sub = $2 AND (sign_count < $3 OR sign_count = 0 AND $3 = 0)`,
			passkey.ID, passkey.Sub, passkey.SignCount, at)
	})
}

func (db *DB) RenamePasskey(ctx context.Context, sub uuid.UUID, id []byte, name string) error {
	return execRow(ctx, db.pool, errNoPasskey, `UPDATE pool_passkeys SET name = $3 WHERE sub = $1 AND id = $2`, sub, id,
		name)
}

func (db *DB) RemovePasskey(ctx context.Context, sub uuid.UUID, id []byte, event pool.Event) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		// The lock serializes concurrent calls, so that they do not remove all passkeys together.
		if err := execRow(ctx, tx, errNoPasskey, `SELECT FROM pool_users WHERE sub = $1 FOR UPDATE`, sub); err != nil {
			return err
		}
		if err := execRow(ctx, tx, errNoPasskey, `DELETE FROM pool_passkeys WHERE sub = $1 AND id = $2`, sub,
			id); err != nil {
			return err
		}
		lacking, err := queryValue[bool](ctx, tx, `
			SELECT EXISTS (SELECT FROM users u JOIN organizations o ON o.id = u.organization_id
			               WHERE u.subject = p.sub::text AND `+factorRequired+`) AND NOT `+hasFactor("p")+`
			FROM pool_users p WHERE p.sub = $1`, sub)
		if err != nil {
			return err
		}
		if lacking {
			return errLastFactor
		}
		if err := dropRecoveryCodes(ctx, tx, sub); err != nil {
			return err
		}
		return auditSignIn(ctx, tx, event)
	})
}

const trusted = `sub = $1 AND trusted_version = $2 AND trusted_at > $3`

func (db *DB) TrustedSince(
	ctx context.Context, user pool.User, device []byte, after time.Time,
) (*time.Time, error) {
	return queryValue[*time.Time](ctx, db.pool,
		`SELECT max(trusted_at) FROM pool_devices WHERE `+trusted+` AND device = $4`, user.Sub, user.Version, after, device)
}

func (db *DB) TrustDevice(ctx context.Context, user pool.User, device pool.TrustedDevice) error {
	return exec(ctx, db.pool, `
		UPDATE pool_devices SET trusted_at = $3, trusted_version = $4, agent = $5 WHERE sub = $1 AND device = $2`,
		user.Sub, device.Key, device.TrustedAt, user.Version, storable(device.Agent))
}

func (db *DB) TrustedDevices(ctx context.Context, user pool.User, after time.Time) ([]pool.TrustedDevice, error) {
	return queryRows[pool.TrustedDevice](ctx, db.pool, `
		SELECT device AS key, agent, trusted_at, seen_at FROM pool_devices WHERE `+trusted+`
		ORDER BY trusted_at DESC, device`, user.Sub, user.Version, after)
}

func (db *DB) DistrustDevice(ctx context.Context, sub uuid.UUID, device []byte) error {
	return execRow(ctx, db.pool, pgx.ErrNoRows, `
		UPDATE pool_devices SET trusted_at = NULL, trusted_version = NULL, agent = ''
		WHERE sub = $1 AND device = $2 AND trusted_at IS NOT NULL`, sub, device)
}
