package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/crx"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/secret"
)

// Kinds of records that a secret is bound to.
const (
	samlKeyOwner      = "saml_keys"
	extensionKeyOwner = "extension_release"
	signingKeyOwner   = "signing_keys"
)

func poolKeyOwner(id string) string { return "pool_keys " + id }

func poolTOTPOwner(sub string) string { return "pool_totp " + sub }

// sealSecret returns a secret in its stored form: sealed if there is a key, otherwise in plain text.
func (db *DB) sealSecret(plain, owner string) (string, error) {
	if db.secrets.Empty() {
		return plain, nil
	}
	return db.secrets.Seal([]byte(plain), owner)
}

// openSecret returns the secret of a stored form. Secrets that were stored without a key are in plain text.
func (db *DB) openSecret(kept, owner string) (string, error) {
	if !secret.Sealed(kept) {
		return kept, nil
	}
	plain, err := db.secrets.Open(kept, owner)
	return string(plain), err
}

// secretTables are the tables that contain secrets. The first parameter of a write is the id as text.
var secretTables = []struct {
	read, write string
	owner       func(id string) string
}{
	{
		`SELECT '' AS id, private_key AS kept FROM saml_keys`,
		`UPDATE saml_keys SET private_key = $2 WHERE $1 = ''`,
		func(string) string { return samlKeyOwner },
	},
	{
		`SELECT '' AS id, private_key AS kept FROM extension_release`,
		`UPDATE extension_release SET private_key = $2 WHERE $1 = ''`,
		func(string) string { return extensionKeyOwner },
	},
	{
		`SELECT '' AS id, private_key AS kept FROM signing_keys`,
		`UPDATE signing_keys SET private_key = $2 WHERE $1 = ''`,
		func(string) string { return signingKeyOwner },
	},
	{
		`SELECT id, private_key AS kept FROM pool_keys`,
		`UPDATE pool_keys SET private_key = $2 WHERE id = $1`,
		poolKeyOwner,
	},
	{
		`SELECT sub::text AS id, secret AS kept FROM pool_totp WHERE secret <> ''`,
		`UPDATE pool_totp SET secret = $2 WHERE sub::text = $1`,
		poolTOTPOwner,
	},
	{
		`SELECT sub::text AS id, pending AS kept FROM pool_totp WHERE pending <> ''`,
		`UPDATE pool_totp SET pending = $2 WHERE sub::text = $1`,
		poolTOTPOwner,
	},
	{
		`SELECT organization_id::text AS id, client_secret AS kept FROM oidc_configs WHERE client_secret <> ''`,
		`UPDATE oidc_configs SET client_secret = $2 WHERE organization_id::text = $1`,
		oidcSecretOwner,
	},
	{
		`SELECT id::text, credentials AS kept FROM channel_installations WHERE credentials <> ''`,
		`UPDATE channel_installations SET credentials = $2 WHERE id::text = $1`,
		func(id string) string { return credentialsOwner(uuid.MustParse(id)) },
	},
	{
		`SELECT id::text, secret AS kept FROM tool_servers WHERE secret <> ''`,
		`UPDATE tool_servers SET secret = $2 WHERE id::text = $1`,
		toolSecretOwner,
	},
	{
		`SELECT id::text, tokens AS kept FROM tool_connections`,
		`UPDATE tool_connections SET tokens = $2 WHERE id::text = $1`,
		toolTokensOwner,
	},
}

// RotateSecrets seals every stored secret with the first key, on behalf of an operator, and logs it. It returns the
// number of secrets, and the number of those that were in plain text or sealed with another key. Without a key the
// error is secret.ErrNoKey.
func (db *DB) RotateSecrets(ctx context.Context, by org.AuditActor) (all, sealed int, err error) {
	if db.secrets.Empty() {
		return 0, 0, secret.ErrNoKey
	}
	err = db.tx(ctx, func(tx pgx.Tx) error {
		all, sealed = 0, 0
		for _, v := range secretTables {
			rows, err := queryRows[struct{ ID, Kept string }](ctx, tx, v.read+` FOR UPDATE`)
			if err != nil {
				return err
			}
			all += len(rows)
			for _, row := range rows {
				if db.secrets.Current(row.Kept) {
					continue
				}
				plain, err := db.openSecret(row.Kept, v.owner(row.ID))
				if err != nil {
					return err
				}
				kept, err := db.sealSecret(plain, v.owner(row.ID))
				if err != nil {
					return err
				}
				if err := exec(ctx, tx, v.write, row.ID, kept); err != nil {
					return err
				}
				sealed++
			}
		}
		if sealed == 0 {
			return nil
		}
		return audit(ctx, tx, org.Event{
			By: by, Action: org.ActionSecretRotate, TargetKind: org.TargetKey, TargetLabel: db.secrets.String(),
		})
	})
	return all, sealed, err
}

// SecretState counts the stored secrets, for operators.
type SecretState struct {
	All        int
	Plain      int // Not encrypted.
	Unreadable int // Encrypted with a key that the DB does not have.
}

// CheckSecrets decrypts every stored secret and returns the counts.
func (db *DB) CheckSecrets(ctx context.Context) (s SecretState, err error) {
	for _, v := range secretTables {
		rows, err := queryRows[struct{ ID, Kept string }](ctx, db.pool, v.read)
		if err != nil {
			return SecretState{}, err
		}
		for _, row := range rows {
			s.All++
			if !secret.Sealed(row.Kept) {
				s.Plain++
			} else if _, err := db.openSecret(row.Kept, v.owner(row.ID)); err != nil {
				s.Unreadable++
			}
		}
	}
	return s, nil
}

// ExtensionRelease is a crx.ReleaseStore.
func (db *DB) ExtensionRelease(ctx context.Context, digest [32]byte, create func() (string, error),
) (r crx.Release, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		// This lock serializes servers that start at the same time, so that they share one key.
		if err := exec(ctx, tx, `LOCK TABLE extension_release IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, `
			UPDATE extension_release SET build = build + (digest <> $1)::int, digest = $1
			RETURNING private_key, build`, digest[:]).Scan(&r.PrivateKey, &r.Build)
		if err == nil {
			r.PrivateKey, err = db.openSecret(r.PrivateKey, extensionKeyOwner)
		}
		if !isNoRows(err) {
			return err
		}
		if r.PrivateKey, err = create(); err != nil {
			return err
		}
		kept, err := db.sealSecret(r.PrivateKey, extensionKeyOwner)
		if err != nil {
			return err
		}
		r.Build = 1
		return exec(ctx, tx, `INSERT INTO extension_release (private_key, digest, build) VALUES ($1, $2, $3)`,
			kept, digest[:], r.Build)
	})
	return r, err
}

// SigningKey returns the key that signs certificates. It creates the key at the first call.
func (db *DB) SigningKey(ctx context.Context) (org.SigningKey, error) {
	text, err := txResult(ctx, db, func(tx pgx.Tx) (string, error) {
		// This lock serializes servers that start at the same time, so that they share one key.
		if err := exec(ctx, tx, `LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return "", err
		}
		kept, err := queryValue[string](ctx, tx, `SELECT private_key FROM signing_keys`)
		if !isNoRows(err) {
			if err != nil {
				return "", err
			}
			return db.openSecret(kept, signingKeyOwner)
		}
		text, err := org.NewSigningKey()
		if err != nil {
			return "", err
		}
		if kept, err = db.sealSecret(text, signingKeyOwner); err != nil {
			return "", err
		}
		return text, exec(ctx, tx, `INSERT INTO signing_keys (private_key) VALUES ($1)`, kept)
	})
	if err != nil {
		return org.SigningKey{}, err
	}
	return org.ParseSigningKey(text)
}
