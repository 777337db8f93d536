package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

func (db *DB) FactorPolicy(ctx context.Context, organizationID uuid.UUID) (org.FactorPolicy, error) {
	return findValue[org.FactorPolicy](ctx, db.pool, org.ErrNoOrganization,
		`SELECT factor_policy FROM organizations WHERE id = $1`, organizationID)
}

func (db *DB) SetFactorPolicy(
	ctx context.Context, actor identity.Actor, policy org.FactorPolicy, check func(*org.Member) error,
) error {
	return db.changeOrganization(ctx, actor, check, func(tx pgx.Tx) error {
		before, err := findValue[string](ctx, tx, org.ErrNoOrganization,
			`SELECT factor_policy FROM organizations WHERE id = $1`, actor.OrganizationID)
		if err != nil || before == string(policy) {
			return err
		}
		if err := exec(ctx, tx, `UPDATE organizations SET factor_policy = $2 WHERE id = $1`, actor.OrganizationID,
			policy); err != nil {
			return err
		}
		// The new policy may require a code where a device was trusted before.
		if err := exec(ctx, tx, `
			UPDATE pool_devices d SET trusted_at = NULL, trusted_version = NULL, agent = '' FROM users u
			WHERE u.organization_id = $1 AND u.subject = d.sub::text AND d.trusted_at IS NOT NULL`,
			actor.OrganizationID); err != nil {
			return err
		}
		return audit(ctx, tx, organizationEvent(actor, org.ActionFactorPolicy,
			org.Change{Field: "factor_policy", Before: before, After: string(policy)}))
	})
}

// WasSuperAdmin implements org.Store. The audit log contains all changes of roles.
func (db *DB) WasSuperAdmin(
	ctx context.Context, organizationID, userID uuid.UUID, within time.Duration,
) (bool, error) {
	return queryValue[bool](ctx, db.pool, `
		SELECT EXISTS (SELECT FROM users WHERE organization_id = $1 AND id = $2 AND role = $3)
		    OR EXISTS (SELECT FROM audit_events
		               WHERE organization_id = $1 AND action = $4 AND at > now() - $5::interval AND target_id = $2::text
		                   AND details @> jsonb_build_array(jsonb_build_object('field', 'role', 'before', $3::text)))`,
		organizationID, userID, identity.RoleOrganizationSuperAdmin, org.ActionEdit, within)
}

// factorReset returns the open request to reset a member's second factor, or nil.
func factorReset(ctx context.Context, q querier, userID uuid.UUID) (*org.FactorReset, error) {
	reset, err := queryRow[org.FactorReset](ctx, q, `
		SELECT f.requested_by AS by, a.role = $2 AS by_super
		FROM factor_resets f
		JOIN users a ON a.id = f.requested_by
		WHERE f.user_id = $1 AND `+openReset, userID, identity.RoleOrganizationSuperAdmin)
	if err != nil {
		return nil, ifNoRows(err, nil)
	}
	return &reset, nil
}

// requestFactorReset records an administrator's request to reset a member's second factor.
func requestFactorReset(ctx context.Context, tx pgx.Tx, m org.Member, by org.AuditActor) error {
	return exec(ctx, tx, `
		INSERT INTO factor_resets (organization_id, user_id, requested_by, requested_at) VALUES ($1, $2, $3, now())
		ON CONFLICT (user_id) DO UPDATE SET requested_by = excluded.requested_by, requested_at = excluded.requested_at`,
		m.OrganizationID, m.ID, by.ID)
}

// resetFactor ends the sessions of a member whose second factor is removed at the identity provider.
func resetFactor(ctx context.Context, tx pgx.Tx, m org.Member) error {
	if err := exec(ctx, tx, `DELETE FROM factor_resets WHERE user_id = $1`, m.ID); err != nil {
		return err
	}
	return endMemberSessions(ctx, tx, m)
}
