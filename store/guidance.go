package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// guidanceColumns are the columns of guidanceRow, from an organization o and the profile p of a user, which may be
// missing.
const guidanceColumns = `o.instructions, coalesce(p.name, '') AS about_name,
	coalesce(p.department, '') AS about_department, coalesce(p.tone, '') AS about_tone,
	coalesce(p.signature, '') AS about_signature`

type guidanceRow struct {
	Instructions    string
	AboutName       string
	AboutDepartment string
	AboutTone       string
	AboutSignature  string
}

func (r guidanceRow) guidance() org.Guidance {
	return org.Guidance{
		Instructions: r.Instructions,
		About: org.About{
			Name: r.AboutName, Department: r.AboutDepartment, Tone: r.AboutTone, Signature: r.AboutSignature,
		},
	}
}

// Guidance implements org.Store and chat.Store.
func (db *DB) Guidance(ctx context.Context, organizationID, userID uuid.UUID) (org.Guidance, error) {
	row, err := findRow[guidanceRow](ctx, db.pool, org.ErrNoOrganization, `
		SELECT `+guidanceColumns+`
		FROM organizations o
		LEFT JOIN profiles p ON p.organization_id = o.id AND p.user_id = $2
		WHERE o.id = $1`, organizationID, userID)
	return row.guidance(), err
}

// SetAbout implements org.Store.
func (db *DB) SetAbout(ctx context.Context, organizationID, userID uuid.UUID, about org.About) error {
	return exec(ctx, db.pool, `
		INSERT INTO profiles (organization_id, user_id, name, department, tone, signature)
		VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (user_id) DO UPDATE
		SET name = excluded.name, department = excluded.department, tone = excluded.tone,
		    signature = excluded.signature, updated_at = now()
		WHERE profiles.organization_id = excluded.organization_id`,
		organizationID, userID, about.Name, about.Department, about.Tone, about.Signature)
}

// SetInstructions implements org.Store.
func (db *DB) SetInstructions(
	ctx context.Context, actor identity.Actor, text string, check func(*org.Member) error,
) error {
	return db.changeOrganization(ctx, actor, check, func(tx pgx.Tx) error {
		changed, err := tx.Exec(ctx, `UPDATE organizations SET instructions = $2 WHERE id = $1 AND instructions <> $2`,
			actor.OrganizationID, text)
		if err != nil || changed.RowsAffected() == 0 {
			return err
		}
		return audit(ctx, tx, organizationEvent(actor, org.ActionInstructions))
	})
}
