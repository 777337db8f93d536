package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/channel/workspace"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

var _ workspace.Store = (*DB)(nil)

func (db *DB) PersonLink(ctx context.Context, in channel.Installation, person string) (channel.LinkedMember, error) {
	row, err := queryRow[struct {
		UserID      uuid.UUID
		Name, Email string
		State       identity.State
	}](ctx, db.pool, `
		SELECT u.id AS user_id, u.name, u.email, `+memberState+` AS state
		FROM channel_links l
		JOIN users u ON u.organization_id = l.organization_id AND u.id = l.user_id
		JOIN organizations o ON o.id = u.organization_id
		WHERE l.organization_id = $1 AND l.installation_id = $2 AND l.person = $3`, in.OrganizationID, in.ID, person)
	switch {
	case isNoRows(err):
		return channel.LinkedMember{State: channel.LinkNone}, nil
	case err != nil:
		return channel.LinkedMember{}, err
	case row.State != identity.StateActive:
		return channel.LinkedMember{State: channel.LinkRemoved}, nil
	}
	return channel.LinkedMember{
		State: channel.LinkActive, Owner: identity.Owner{OrganizationID: in.OrganizationID, UserID: row.UserID},
		Name: row.Name, Email: row.Email,
	}, nil
}

const (
	fromLinks = `
		FROM channel_links l
		JOIN channel_installations i ON i.organization_id = l.organization_id AND i.id = l.installation_id
		JOIN users u ON u.organization_id = l.organization_id AND u.id = l.user_id
		WHERE l.organization_id = $1 AND i.surface = $2`
	selectLinks = `
		SELECT u.id AS user_id, u.name AS user_name, u.email AS user_email, l.person, l.person_name AS name,
		       l.automatic, l.created_at` + fromLinks
)

func (db *DB) MemberLink(
	ctx context.Context, organizationID, userID uuid.UUID, surface string,
) (workspace.MemberLink, error) {
	return findRow[workspace.MemberLink](ctx, db.pool, workspace.ErrNotLinked, selectLinks+` AND l.user_id = $3`,
		organizationID, surface, userID)
}

func (db *DB) ListLinks(
	ctx context.Context, organizationID uuid.UUID, surface string, offset, limit int,
) ([]workspace.MemberLink, int, error) {
	return queryPage[workspace.MemberLink](ctx, db, `SELECT count(*)`+fromLinks,
		selectLinks+` ORDER BY l.created_at DESC, l.person OFFSET $3 LIMIT $4`, []any{organizationID, surface},
		offset, limit)
}

// LinkByEmail implements workspace.Store. For an account of the user pool, the pool records whether the address is
// confirmed. The member must also have signed in: invitations are sent to the address, and identity providers assert
// it.
func (db *DB) LinkByEmail(
	ctx context.Context, in channel.Installation, person workspace.Person, email string,
) (linked bool, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		linked = false
		members, err := queryRows[struct {
			ID    uuid.UUID
			Email string
		}](ctx, tx, `
			SELECT u.id, u.email
			FROM users u
			LEFT JOIN pool_users p ON p.sub::text = u.subject
			WHERE u.organization_id = $1 AND u.email = lower($2) AND u.state = 'active'
			    AND u.last_signed_in_at IS NOT NULL AND coalesce(p.email_verified, true)
			    AND NOT EXISTS (SELECT FROM channel_links l
			                    WHERE l.organization_id = u.organization_id AND l.installation_id = $3 AND l.user_id = u.id)
			FOR UPDATE OF u`, in.OrganizationID, email, in.ID)
		if err != nil || len(members) != 1 {
			return err
		}
		tag, err := tx.Exec(ctx, `
			INSERT INTO channel_links (organization_id, installation_id, person, person_name, user_id, automatic)
			SELECT $1, $2, $3, $4, $5, true
			FROM channel_installations WHERE organization_id = $1 AND id = $2 AND auto_link
			ON CONFLICT DO NOTHING`, in.OrganizationID, in.ID, person.ID, storable(person.Name), members[0].ID)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		linked = true
		return auditLink(ctx, tx, org.System(), org.ActionSlackLink, linkRow{
			OrganizationID: in.OrganizationID, UserID: members[0].ID, Email: members[0].Email, Person: person.ID,
			PersonName: person.Name, Automatic: true,
		})
	})
	return linked, err
}

// linkRow has the fields of a link that are written to the audit log.
type linkRow struct {
	OrganizationID uuid.UUID
	UserID         uuid.UUID
	Email          string
	Person         string
	PersonName     string
	Automatic      bool
}

func auditLink(ctx context.Context, tx pgx.Tx, by org.AuditActor, action org.Action, l linkRow) error {
	how := "sign_in"
	if l.Automatic {
		how = "email"
	}
	person := org.Change{Field: "slack_person", After: l.PersonName + " (" + l.Person + ")"}
	if action == org.ActionSlackUnlink {
		person.Before, person.After = person.After, ""
	}
	return audit(ctx, tx, org.Event{
		OrganizationID: &l.OrganizationID, By: by, Action: action, TargetKind: org.TargetUser,
		TargetID: l.UserID.String(), TargetLabel: l.Email,
		Details: []org.Change{person, {Field: "linked_by", After: how}},
	})
}

// RemovePersonLink implements workspace.Store. The audit log names the member, who removes the link on the surface.
func (db *DB) RemovePersonLink(ctx context.Context, in channel.Installation, person string) (bool, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (bool, error) {
		return removeLink(ctx, tx, nil, `
			l.organization_id = $1 AND l.installation_id = $2 AND l.person = $3`, in.OrganizationID, in.ID, person)
	})
}

func (db *DB) RemoveMemberLink(
	ctx context.Context, by org.AuditActor, organizationID, userID uuid.UUID, surface string,
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if *by.ID != userID {
			if err := lockForRole(ctx, tx, organizationID, *by.ID, isSuperAdmin); err != nil {
				return err
			}
		}
		removed, err := removeLink(ctx, tx, &by, `
			l.organization_id = $1 AND l.user_id = $2 AND l.installation_id = (
			    SELECT i.id FROM channel_installations i WHERE i.organization_id = $1 AND i.surface = $3)`,
			organizationID, userID, surface)
		if err == nil && !removed {
			return workspace.ErrNotLinked
		}
		return err
	})
}

// removeLink removes the link that a condition selects. The audit log names by, or the linked member if by is nil.
func removeLink(ctx context.Context, tx pgx.Tx, by *org.AuditActor, where string, args ...any) (removed bool, err error) {
	rows, err := queryRows[struct {
		linkRow
		UserName string
	}](ctx, tx, `
		DELETE FROM channel_links l USING users u
		WHERE u.organization_id = l.organization_id AND u.id = l.user_id AND `+where+`
		RETURNING l.organization_id, l.user_id, u.email, l.person, l.person_name, l.automatic, u.name AS user_name`,
		args...)
	if err != nil || len(rows) == 0 {
		return false, err
	}
	row := rows[0]
	doer := org.AuditActor{Kind: org.ByMember, ID: &row.UserID, Name: row.UserName, Email: row.Email}
	if by != nil {
		doer = *by
	}
	return true, auditLink(ctx, tx, doer, org.ActionSlackUnlink, row.linkRow)
}

func (db *DB) AddProof(ctx context.Context, p workspace.Proof) error {
	return db.batch(ctx, func(batch *pgx.Batch) {
		batch.Queue(`
			DELETE FROM channel_proofs WHERE hash IN (
				SELECT hash FROM channel_proofs WHERE expires_at < now() LIMIT $1 FOR UPDATE SKIP LOCKED)`, channelSweep)
		batch.Queue(`
			INSERT INTO channel_proofs (hash, browser_hash, organization_id, installation_id, person, user_id, nonce,
			                            expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			p.Hash, p.BrowserHash, p.OrganizationID, p.InstallationID, p.Person, p.UserID, p.Nonce, p.ExpiresAt)
	})
}

const proofColumns = `hash, browser_hash, installation_id, organization_id, person, user_id, nonce, expires_at`

func (db *DB) PendingProof(
	ctx context.Context, organizationID uuid.UUID, hash []byte, at time.Time,
) (workspace.Proof, error) {
	return findRow[workspace.Proof](ctx, db.pool, workspace.ErrProofState, `
		SELECT `+proofColumns+`
		FROM channel_proofs
		WHERE organization_id = $1 AND hash = $2 AND expires_at > $3 AND browser_hash IS NULL`, organizationID, hash, at)
}

func (db *DB) TakeProof(ctx context.Context, hash, browserHash []byte, at time.Time) (workspace.Proof, error) {
	return findRow[workspace.Proof](ctx, db.pool, workspace.ErrProofState, `
		DELETE FROM channel_proofs WHERE hash = $1 AND browser_hash = $2 AND expires_at > $3
		RETURNING `+proofColumns, hash, browserHash, at)
}

func (db *DB) AddLink(ctx context.Context, p workspace.Proof, person workspace.Person) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		member, err := findActor(ctx, tx, p.OrganizationID, *p.UserID)
		if err != nil {
			return err
		}
		if member == nil || member.State != identity.StateActive {
			return workspace.ErrProofState
		}
		tag, err := tx.Exec(ctx, `
			INSERT INTO channel_links AS l (organization_id, installation_id, person, person_name, user_id, automatic)
			VALUES ($1, $2, $3, $4, $5, false)
			ON CONFLICT (installation_id, person) DO UPDATE SET person_name = $4 WHERE l.user_id = $5`,
			p.OrganizationID, p.InstallationID, person.ID, storable(person.Name), p.UserID)
		switch {
		case violates(err, "channel_links_installation_id_user_id_key"):
			return workspace.ErrMemberTaken
		case hasCode(err, codeForeignKey):
			return workspace.ErrProofState // The installation or the member was deleted.
		case err != nil:
			return err
		case tag.RowsAffected() == 0:
			return workspace.ErrPersonTaken
		}
		if err := exec(ctx, tx, `
			DELETE FROM channel_proofs WHERE organization_id = $1 AND installation_id = $2 AND person = $3`,
			p.OrganizationID, p.InstallationID, person.ID); err != nil {
			return err
		}
		return auditLink(ctx, tx, org.AuditActor{Kind: org.ByMember, ID: p.UserID, Name: member.Name, Email: member.Email},
			org.ActionSlackLink, linkRow{
				OrganizationID: p.OrganizationID, UserID: *p.UserID, Email: member.Email, Person: person.ID,
				PersonName: person.Name,
			})
	})
}
