package store

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

func (db *DB) BeginInvite(ctx context.Context, call org.InviteCall) (org.BeginInviteResult, error) {
	var result org.BeginInviteResult
	err := db.tx(ctx, func(tx pgx.Tx) error {
		result = org.BeginInviteResult{}
		if err := lockOrganization(ctx, tx, call.OrganizationID); err != nil {
			return err
		}
		if err := checkInviter(ctx, tx, call); err != nil {
			return err
		}
		earlier, err := claimInvite(ctx, tx, call)
		switch {
		case err != nil:
			return err
		case earlier != nil && !bytes.Equal(earlier.RequestHash, call.RequestHash[:]):
			return org.ErrRequestConflict
		case earlier != nil && earlier.Results != nil:
			result.Invitations, err = withAddedMembers(ctx, tx, call, earlier.Results)
			return err
		case earlier != nil && earlier.Busy:
			result.Busy = true
			return nil
		}
		if result.Invitations, err = reserve(ctx, tx, call); err != nil {
			return err
		}
		result.Leftovers, err = pendingAccountDeletions(ctx, tx, call)
		return err
	})
	return result, err
}

// checkInviter checks whether the inviting member is still allowed to invite.
func checkInviter(ctx context.Context, tx pgx.Tx, call org.InviteCall) error {
	var actor *org.Member
	if call.By.ID != nil {
		var err error
		if actor, err = findActor(ctx, tx, call.OrganizationID, *call.By.ID); err != nil {
			return err
		}
	}
	return call.Check(actor)
}

// inviteRow is a stored invite call.
type inviteRow struct {
	RequestHash []byte
	Results     []org.Invitation // Nil: no results yet.
	Busy        bool
}

// claimInvite claims a call, unless it is being processed or finished. It returns the earlier state of the call, nil
// for a new one. The lock on the organization serializes claims.
func claimInvite(ctx context.Context, tx pgx.Tx, call org.InviteCall) (*inviteRow, error) {
	tag, err := tx.Exec(ctx, `
		INSERT INTO invite_requests (organization_id, request_id, request_hash, claimed_until)
		VALUES ($1, $2, $3, now() + $4::interval)
		ON CONFLICT DO NOTHING`, call.OrganizationID, call.RequestID, call.RequestHash[:], call.Claim)
	if err != nil || tag.RowsAffected() > 0 {
		return nil, err
	}
	row, err := queryRow[inviteRow](ctx, tx, `
		SELECT request_hash, results, claimed_until > now() AS busy FROM invite_requests
		WHERE organization_id = $1 AND request_id = $2`, call.OrganizationID, call.RequestID)
	if err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, `
		UPDATE invite_requests
		SET claimed_until = now() + $3::interval
		WHERE organization_id = $1 AND request_id = $2 AND claimed_until <= now()`,
		call.OrganizationID, call.RequestID, call.Claim)
	return &row, err
}

// withAddedMembers returns the results of a call together with the members that the call has added.
func withAddedMembers(
	ctx context.Context, tx pgx.Tx, call org.InviteCall, results []org.Invitation,
) ([]org.Invitation, error) {
	members, err := queryRows[org.Member](ctx, tx, selectMember+`
		WHERE u.organization_id = $1 AND u.invite_request_id = $2`, call.OrganizationID, call.RequestID)
	if err != nil {
		return nil, err
	}
	for i := range results {
		for j := range members {
			if results[i].Result == org.Invited && members[j].Email == results[i].Email {
				results[i].Member = &members[j]
			}
		}
	}
	return results, nil
}

// knownRow is a member with one of the invited addresses.
type knownRow struct {
	org.Member
	Mine    bool // Invited by this call.
	Pending bool // Invited by this call and not known to the identity provider yet.
}

// reserve gives each invitee either a member row and a seat or a result.
func reserve(ctx context.Context, tx pgx.Tx, call org.InviteCall) ([]org.Invitation, error) {
	known, err := knownMembers(ctx, tx, call)
	if err != nil {
		return nil, err
	}
	free, err := freeSeats(ctx, tx, call.OrganizationID)
	if err != nil {
		return nil, err
	}
	organization, err := queryValue[identity.AuthType](ctx, tx, `SELECT auth_type FROM organizations WHERE id = $1`,
		call.OrganizationID)
	if err != nil {
		return nil, err
	}
	invitations := make([]org.Invitation, len(call.Invitees))
	for i, invitee := range call.Invitees {
		invitation := org.Invitation{Email: invitee.Email}
		row, found := known[invitee.Email]
		switch {
		case found && row.OrganizationID != call.OrganizationID:
			invitation.Result = org.InviteUnavailable
		case found && row.Mine && row.Pending:
			invitation.Member = &row.Member // An earlier attempt of this call was interrupted.
		case found && row.Mine:
			invitation.Result, invitation.Member = org.Invited, &row.Member
		case found:
			invitation.Result = org.AlreadyMember
		case free <= 0:
			invitation.Result = org.NoSeat
		default:
			if invitation.Member, err = addInvited(ctx, tx, call, invitee, organization); err != nil {
				return nil, err
			}
			if free--; invitation.Member == nil {
				free++
				invitation.Result = org.InviteUnavailable // Another organization has just added the address.
			}
		}
		invitations[i] = invitation
	}
	return invitations, nil
}

// knownMembers returns the members with one of the invited addresses. It also postpones the account changes that an
// earlier attempt of the call queued, so that this attempt makes them.
func knownMembers(ctx context.Context, tx pgx.Tx, call org.InviteCall) (map[string]knownRow, error) {
	rows, err := queryRows[knownRow](ctx, tx, `
		SELECT m.*, m.subject = '' AS pending,
		       EXISTS (SELECT FROM users i
		               WHERE i.id = m.id AND i.organization_id = $2 AND i.invite_request_id = $3) AS mine
		FROM (`+selectMember+` WHERE u.email = ANY ($1)) m`, addresses(call), call.OrganizationID, call.RequestID)
	if err != nil {
		return nil, err
	}
	known := make(map[string]knownRow, len(rows))
	for _, row := range rows {
		known[row.Email] = row
	}
	_, err = tx.Exec(ctx, `
		UPDATE account_changes a
		SET due_at = now() + $3::interval
		FROM users u
		WHERE u.id = a.user_id AND a.invite AND u.organization_id = $1 AND u.invite_request_id = $2`,
		call.OrganizationID, call.RequestID, call.Claim)
	return known, err
}

func addresses(call org.InviteCall) []string {
	return convert(call.Invitees, func(i org.Invitee) string { return i.Email })
}

// addInvited adds a member whom the identity provider does not know yet. It returns nil if the address is taken.
func addInvited(ctx context.Context, tx pgx.Tx, call org.InviteCall, i org.Invitee,
	organization identity.AuthType,
) (*org.Member, error) {
	id := uuidv7.New()
	m := org.Member{
		ID: id, OrganizationID: call.OrganizationID, Email: i.Email, Name: i.Name, Role: i.Role,
		State:    identity.StateActive,
		AuthType: org.AuthTypeOf(organization, i.Role),
	}
	err := tx.QueryRow(ctx, `
		INSERT INTO users AS u (id, organization_id, subject, email, name, role, auth_type, invited_at, invite_request_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, now(), $8)
		ON CONFLICT (email) DO NOTHING
		RETURNING u.invited_at, u.limit_rule, `+monthsLimit+` AS limit_tokens`,
		id, call.OrganizationID, noSubject+id.String(), i.Email, i.Name, i.Role, m.AuthType,
		call.RequestID).Scan(&m.InvitedAt, &m.LimitRule, &m.LimitTokens)
	if isNoRows(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO account_changes (user_id, organization_id, subject, email, invite, due_at)
		VALUES ($1, $2, '', $3, true, now() + $4::interval)`, id, call.OrganizationID, i.Email, call.Claim)
	if err != nil {
		return nil, err
	}
	return &m, audit(ctx, tx, memberEvent(call.By, call.Action, m,
		org.Change{Field: "name", After: m.Name}, org.Change{Field: "role", After: string(m.Role)}))
}

// pendingAccountDeletions returns removed members with one of the invited addresses whose accounts are not deleted yet.
func pendingAccountDeletions(ctx context.Context, tx pgx.Tx, call org.InviteCall) ([]uuid.UUID, error) {
	return queryValues[uuid.UUID](ctx, tx, `SELECT user_id FROM account_changes WHERE remove AND email = ANY ($1)`,
		addresses(call))
}

func (db *DB) FinishInvite(ctx context.Context, userID uuid.UUID, subject string) error {
	gone := false
	err := db.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE users SET subject = $2 WHERE id = $1`, userID, subject)
		if hasCode(err, codeUnique) {
			return errSubjectTaken
		}
		if err != nil {
			return err
		}
		if err := endEarlierSessions(ctx, tx, subject, time.Now()); err != nil {
			return err
		}
		gone = tag.RowsAffected() == 0
		return send(ctx, tx, func(batch *pgx.Batch) {
			batch.Queue(`
				UPDATE account_changes
				SET subject = $2, invite = false, attempts = 0, due_at = now()
				WHERE user_id = $1`, userID, subject)
			batch.Queue(`DELETE FROM account_changes WHERE user_id = $1 AND NOT (name OR state OR factor OR remove)`, userID)
		})
	})
	if err == nil && gone {
		err = org.ErrNoMember
	}
	return err
}

// errSubjectTaken means that an account of the identity provider belongs to another member.
var errSubjectTaken = fault.Errorf(fault.Conflict, "このアカウントは別のメンバーのものです。")

// AbandonInvite implements org.Store. Rows are locked in the order of ChangeMember. A row that is no longer an
// invitation is kept, because another call has changed it.
func (db *DB) AbandonInvite(ctx context.Context, m org.Member, result org.InviteResult, by org.AuditActor) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `DELETE FROM users WHERE id = $1 AND starts_with(subject, '`+noSubject+`')`, m.ID)
		if err != nil {
			return err
		}
		if err := exec(ctx, tx, `DELETE FROM account_changes WHERE user_id = $1 AND invite`, m.ID); err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return nil
		}
		return audit(ctx, tx, memberEvent(by, org.ActionInvite, m, org.Change{Field: "result", After: string(result)}))
	})
}

func (db *DB) EndInvite(ctx context.Context, organizationID, requestID uuid.UUID, results []org.Invitation) error {
	return exec(ctx, db.pool, `
		UPDATE invite_requests SET results = $3 WHERE organization_id = $1 AND request_id = $2`,
		organizationID, requestID, results)
}

func (db *DB) DeleteExpiredInvites(ctx context.Context, age time.Duration) error {
	return exec(ctx, db.pool, `DELETE FROM invite_requests WHERE created_at < now() - $1::interval`, age)
}

func (db *DB) FailResend(ctx context.Context, m org.Member, by org.AuditActor) error {
	failed := org.Change{Field: "result", After: string(org.InviteFailed)}
	return audit(ctx, db.pool, memberEvent(by, org.ActionResend, m, failed))
}

func (db *DB) MarkInvited(ctx context.Context, m org.Member, by org.AuditActor) error {
	gone := false
	err := db.tx(ctx, func(tx pgx.Tx) error {
		now, err := findRow[org.Member](ctx, tx, org.ErrNoMember,
			selectMember+` WHERE u.id = $1 FOR NO KEY UPDATE`, m.ID)
		if gone = errors.Is(err, org.ErrNoMember); gone {
			return scheduleAccountDeletion(ctx, tx, m)
		}
		if err != nil {
			return err
		}
		if m.AuthType == identity.AuthFederated { // An existing account: unchanged, or it has got a password.
			m.Subject, m.AuthType = now.Subject, now.AuthType
		}
		if err := setSubject(ctx, tx, m.ID, m.Subject); err != nil {
			return err
		}
		if err := exec(ctx, tx, `UPDATE users SET auth_type = $2, invited_at = now() WHERE id = $1`, m.ID,
			m.AuthType); err != nil {
			return err
		}
		if err := queueAccountChange(ctx, tx, m, org.MemberChange{Name: now.Name, State: now.State}); err != nil {
			return err
		}
		if now.AuthType == m.AuthType {
			return nil
		}
		return audit(ctx, tx, memberEvent(by, org.ActionEdit, m,
			org.Change{Field: "auth_type", Before: string(now.AuthType), After: string(m.AuthType)}))
	})
	if err == nil && gone {
		err = org.ErrNoMember
	}
	return err
}

// setSubject stores the identity provider's subject of a member, also in pending account changes.
func setSubject(ctx context.Context, tx pgx.Tx, userID uuid.UUID, subject string) error {
	err := exec(ctx, tx, `UPDATE users SET subject = $2 WHERE id = $1 AND subject <> $2`, userID, subject)
	if hasCode(err, codeUnique) {
		return errSubjectTaken
	}
	if err != nil {
		return err
	}
	return exec(ctx, tx, `
		UPDATE account_changes
		SET subject = $2, version = version + 1, due_at = now()
		WHERE user_id = $1 AND subject <> $2`, userID, subject)
}

// scheduleAccountDeletion schedules the deletion of a removed member's account.
func scheduleAccountDeletion(ctx context.Context, tx pgx.Tx, m org.Member) error {
	return exec(ctx, tx, `
		INSERT INTO account_changes AS a (user_id, organization_id, subject, email, remove, due_at)
		VALUES ($1, $2, $3, $4, true, now())
		ON CONFLICT (user_id) DO UPDATE
		SET subject = excluded.subject, remove = true, version = a.version + 1, due_at = now()`,
		m.ID, m.OrganizationID, m.Subject, m.Email)
}
