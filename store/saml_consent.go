package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
)

// storeHeldAssertion stores an assertion under the hash of its code until its member has consented.
func storeHeldAssertion(ctx context.Context, tx pgx.Tx, a saml.Acceptance, userID uuid.UUID, at time.Time) error {
	return send(ctx, tx, func(batch *pgx.Batch) {
		batch.Queue(sweep("saml_links", "hash", "expires_at"), at, samlSweep)
		batch.Queue(`
			INSERT INTO saml_links (hash, browser_hash, organization_id, user_id, entity_id, name_id, email, next,
			                        session_until, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
			a.Code.Hash, a.Code.BrowserHash, a.OrganizationID, userID, a.EntityID, a.NameID, a.Email, a.Code.Next,
			a.Code.SessionUntil, at, a.ConsentUntil)
	})
}

// FindPendingLink implements saml.Store.
func (db *DB) FindPendingLink(
	ctx context.Context, organizationID uuid.UUID, hash, browserHash []byte, at time.Time,
) (saml.PendingLink, error) {
	return queryRow[saml.PendingLink](ctx, db.pool, `
		SELECT l.organization_id, l.user_id, u.email AS member_email, l.entity_id, l.name_id, l.email, l.next,
		       l.session_until, l.created_at
		FROM saml_links l
		JOIN users u ON u.organization_id = l.organization_id AND u.id = l.user_id
		WHERE l.hash = $1 AND l.browser_hash = $2 AND l.organization_id = $3 AND l.expires_at > $4`,
		hash, browserHash, organizationID, at)
}

// takeHeldAssertion deletes the held assertion of an acceptance, which can be used only once. If it does not exist or
// has expired, the error is pgx.ErrNoRows.
func takeHeldAssertion(ctx context.Context, tx pgx.Tx, a saml.Acceptance, at time.Time) error {
	return execRow(ctx, tx, pgx.ErrNoRows, `
		DELETE FROM saml_links WHERE hash = $1 AND browser_hash = $2 AND organization_id = $3 AND expires_at > $4`,
		a.ConsentHash, a.Code.BrowserHash, a.OrganizationID, at)
}
