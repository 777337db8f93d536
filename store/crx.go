package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/crx"
)

var _ crx.Store = (*DB)(nil)

// ExtensionRelease implements crx.Store.
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
