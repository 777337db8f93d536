package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/text/unicode/norm"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// noSubject is the prefix of the placeholder subject of a member whom the identity provider does not know yet. No real
// subject has it.
const noSubject = "invite:"

// openReset is the condition that the request f to reset a second factor has not expired, and that member a, who made
// it, is still an active administrator.
const openReset = `f.requested_at > now() - interval '1 day' AND a.state = 'active'
	AND a.role IN ('organization-admin', 'organization-super-admin')`

// selectMember begins every query for members.
const selectMember = `
	SELECT u.id, u.organization_id,
	       CASE WHEN starts_with(u.subject, '` + noSubject + `') THEN '' ELSE u.subject END AS subject,
	       u.email, u.name, u.role, u.state, u.auth_type, u.invited_at, u.last_signed_in_at,
	       EXISTS (SELECT FROM federated_identities i
	               JOIN organizations o ON o.id = i.organization_id
	               WHERE i.organization_id = u.organization_id AND i.user_id = u.id AND i.protocol = o.sso_protocol
	                 AND i.entity_id = ` + providerID + `) AS sso_linked,
	       EXISTS (SELECT FROM pool_totp t WHERE t.sub::text = u.subject AND t.enabled)
	           OR EXISTS (SELECT FROM pool_passkeys k WHERE k.sub::text = u.subject) AS second_factor,
	       coalesce((SELECT a.name FROM factor_resets f JOIN users a ON a.id = f.requested_by
	                 WHERE f.user_id = u.id AND ` + openReset + `), '') AS factor_reset_by,
	       u.limit_rule, ` + monthsLimit + ` AS limit_tokens, ` + tokensUsed + ` AS tokens_used
	FROM users u`

// whereMembers selects members. Its parameters are the organization, the search text, the role, the state and the group;
// an empty string and the zero group select all.
const whereMembers = `
	WHERE u.organization_id = $1
	  AND ($2 = '' OR position($2 IN lower(normalize(u.name, NFKC))) > 0 OR position($2 IN u.email) > 0)
	  AND ($3 = '' OR u.role = $3)
	  AND ($4 = '' OR $4 = CASE WHEN u.state = 'inactive' THEN 'inactive'
	                            WHEN u.invited_at > coalesce(u.last_signed_in_at, '-infinity') THEN 'invited'
	                            ELSE 'active' END)
	  AND ($5 = '00000000-0000-0000-0000-000000000000'::uuid
	       OR EXISTS (SELECT FROM group_members k WHERE k.group_id = $5 AND k.user_id = u.id))`

// hasPassword is the condition that member u has set a password and can sign in with it. In the embedded user pool, the
// account must be confirmed. With another provider, the member must have signed in since the last invitation, if there
// was one.
//
//nolint:gosec // SQL, no credential.
const hasPassword = `
	(u.auth_type = 'cognito' AND coalesce(
	    (SELECT p.status = 'CONFIRMED' FROM pool_users p
	     WHERE p.email = u.email AND p.sub::text = u.subject AND p.status <> 'EXTERNAL_PROVIDER'),
	    u.invited_at IS NULL OR u.last_signed_in_at >= u.invited_at, false))`

func (db *DB) ListMembers(ctx context.Context, organizationID uuid.UUID, q org.MemberQuery) ([]org.Member, int, error) {
	return queryPage[org.Member](ctx, db, `SELECT count(*) FROM users u`+whereMembers, pageOfMembers,
		memberArgs(organizationID, q), q.Offset, q.Limit)
}

func (db *DB) EachMember(ctx context.Context, organizationID uuid.UUID, q org.MemberQuery, do func(org.Member)) error {
	return eachRow(ctx, db.pool, do, pageOfMembers, append(memberArgs(organizationID, q), q.Offset, q.Limit)...)
}

const pageOfMembers = selectMember + whereMembers + `
	ORDER BY u.name, u.id
	OFFSET $6 LIMIT $7`

// memberArgs returns the parameters of whereMembers.
func memberArgs(organizationID uuid.UUID, q org.MemberQuery) []any {
	return []any{organizationID, normalizeSearch(q.Search), q.Role, q.State, q.GroupID}
}

func (db *DB) FindMemberByEmail(ctx context.Context, email string) (org.Member, error) {
	return findRow[org.Member](ctx, db.pool, org.ErrNoMember, selectMember+` WHERE u.email = $1`, email)
}

func findMember(ctx context.Context, q querier, organizationID, id uuid.UUID) (org.Member, error) {
	return findRow[org.Member](ctx, q, org.ErrNoMember, selectMember+` WHERE u.organization_id = $1 AND u.id = $2`,
		organizationID, id)
}

func (db *DB) ChangeMember(
	ctx context.Context, organizationID, userID uuid.UUID, by org.AuditActor,
	decide func(org.MemberContext) (org.MemberChange, error),
) (org.Member, error) {
	var member org.Member
	err := db.tx(ctx, func(tx pgx.Tx) error {
		roster, err := lockRoster(ctx, tx, organizationID, userID, by.ID)
		if err != nil {
			return err
		}
		member = roster.Member
		change, err := decide(roster)
		if err != nil || len(change.Details) == 0 {
			return err
		}
		if err := applyMemberChange(ctx, tx, roster.Member, change, by); err != nil || change.Remove {
			return err
		}
		member, err = findMember(ctx, tx, organizationID, userID)
		return err
	})
	return member, err
}

// applyMemberChange stores a change of a member, queues it for the identity provider, and logs it. It names managers of
// projects that have lost their last one. The organization must be locked.
func applyMemberChange(ctx context.Context, tx pgx.Tx, m org.Member, change org.MemberChange, by org.AuditActor) error {
	var err error
	switch {
	case change.Remove:
		err = removeMember(ctx, tx, m.OrganizationID, m.ID)
	case change.Unlink:
		err = unlinkMember(ctx, tx, m)
	case change.EndSessions:
		err = endMemberSessions(ctx, tx, m)
	case change.RequestFactorReset:
		err = requestFactorReset(ctx, tx, m, by)
	case change.ResetFactor:
		err = resetFactor(ctx, tx, m)
	default:
		err = updateMember(ctx, tx, m, change)
	}
	if err != nil {
		return err
	}
	if err := queueAccountChange(ctx, tx, m, change); err != nil {
		return err
	}
	if err := audit(ctx, tx, memberEvent(by, change.Action, m, change.Details...)); err != nil {
		return err
	}
	if change.Remove || change.State != m.State {
		return nameManagers(ctx, tx, m.OrganizationID)
	}
	return nil
}

// updateMember stores the changed fields of a member. It ends the sessions of a member who becomes inactive, so that none
// is valid again after a reactivation.
func updateMember(ctx context.Context, tx pgx.Tx, m org.Member, c org.MemberChange) error {
	err := exec(ctx, tx, `UPDATE users SET name = $2, role = $3, state = $4 WHERE id = $1`, m.ID, c.Name, c.Role, c.State)
	if err == nil && c.Limit != nil {
		err = exec(ctx, tx, `UPDATE users SET limit_rule = $2, limit_tokens = $3 WHERE id = $1`,
			m.ID, c.Limit.Rule, c.Limit.Tokens)
	}
	if err == nil && m.State == identity.StateActive && c.State != identity.StateActive {
		err = endMemberSessions(ctx, tx, m)
	}
	return err
}

// unlinkMember removes a member's links to identity providers and ends their sessions.
func unlinkMember(ctx context.Context, tx pgx.Tx, m org.Member) error {
	if err := exec(ctx, tx, `
		DELETE FROM federated_identities
		    WHERE organization_id = $1 AND user_id = $2`, m.OrganizationID, m.ID); err != nil {
		return err
	}
	return endMemberSessions(ctx, tx, m)
}

// removeMember removes a member with their threads, except shared ones. The threads are locked first, in the order of
// BeginGeneration, which locks a thread and then refers to its owner.
func removeMember(ctx context.Context, tx pgx.Tx, organizationID, userID uuid.UUID) error {
	if err := exec(ctx, tx, `
		SELECT 1 FROM threads WHERE organization_id = $1 AND user_id = $2
		    ORDER BY id FOR UPDATE`, organizationID, userID); err != nil {
		return err
	}
	if err := passOnThreads(ctx, tx, organizationID, userID); err != nil {
		return err
	}
	return exec(ctx, tx, `DELETE FROM users WHERE organization_id = $1 AND id = $2`, organizationID, userID)
}

// passOnThreads gives the shared threads of a member who is removed to the managers of their projects with the oldest
// grants. For that, the member's own role passes to others first. A deleted project, which can be restored, may have no
// manager; its threads pass to the member who would become the manager. The texts of the threads are indexed for the
// new owners.
func passOnThreads(ctx context.Context, tx pgx.Tx, organizationID, userID uuid.UUID) error {
	if err := exec(ctx, tx, `
		UPDATE users SET state = 'inactive' WHERE organization_id = $1 AND id = $2`, organizationID, userID); err != nil {
		return err
	}
	if err := nameManagers(ctx, tx, organizationID); err != nil {
		return err
	}
	return exec(ctx, tx, `
		WITH passed AS (
		    UPDATE threads t
		    SET user_id = heir.user_id, request_id = NULL, pinned = false, told_at = NULL, updated_at = clock_timestamp()
		    FROM (SELECT p.id AS project_id, coalesce((`+firstManager+`), (`+nextManager+`)) AS user_id
		          FROM projects p
		          WHERE p.organization_id = $1 AND p.id IN (
		              SELECT s.project_id FROM threads s WHERE s.user_id = $2 AND s.visibility = 'project')) heir
		    WHERE t.organization_id = $1 AND t.user_id = $2 AND t.visibility = 'project' AND heir.project_id = t.project_id
		      AND heir.user_id IS NOT NULL
		    RETURNING t.id, t.user_id, t.title
		), forgotten AS (
		    DELETE FROM search_entries e USING passed WHERE e.thread_id = passed.id
		)
		INSERT INTO search_pending (organization_id, user_id, thread_id, message_id)
		SELECT $1, p.user_id, p.id, NULL FROM passed p WHERE p.title <> ''
		UNION ALL
		SELECT $1, p.user_id, p.id, m.id
		FROM passed p
		JOIN messages m ON m.thread_id = p.id AND m.completed_at IS NOT NULL AND m.content <> ''
		ON CONFLICT (thread_id, message_id) DO UPDATE SET user_id = excluded.user_id`, organizationID, userID)
}

func (db *DB) PreviewRemoval(ctx context.Context, organizationID, userID uuid.UUID) (org.RemovalPreview, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (org.RemovalPreview, error) {
		preview, err := findRow[org.RemovalPreview](ctx, tx, org.ErrNoMember, `
			SELECT (SELECT count(*)
			        FROM threads t
			        WHERE t.user_id = u.id AND t.visibility = 'private' AND t.expires_at IS NULL) AS threads,
			       (SELECT count(*) FROM data_sources d
			        WHERE d.user_id = u.id
			          AND NOT EXISTS (SELECT FROM shared_documents k WHERE k.data_source_id = d.id)
			          AND NOT EXISTS (SELECT FROM project_sources k WHERE k.data_source_id = d.id)) AS files,
			       (SELECT count(*) FROM skills s WHERE s.owner_id = u.id AND s.origin <> 'draft') AS skills,
			       (SELECT count(*) FROM shares h WHERE h.organization_id = $1 AND h.user_id = u.id) AS shares
			FROM users u
			WHERE u.organization_id = $1 AND u.id = $2`, organizationID, userID)
		if err != nil {
			return preview, err
		}
		preview.Kept, err = queryRows[org.SharedDocuments](ctx, tx, `
			SELECT s.id AS skill_id, s.name AS skill_name, array_agg(d.filename ORDER BY k.place) AS filenames
			FROM data_sources d
			JOIN shared_documents k ON k.data_source_id = d.id
			JOIN skills s ON s.id = k.skill_id
			WHERE d.organization_id = $1 AND d.user_id = $2
			GROUP BY s.id, s.name
			ORDER BY s.name, s.id`, organizationID, userID)
		return preview, err
	})
}

// lockRoster locks an organization and reads the members that the rules of org depend on. It reads in separate
// statements after the lock, so that they see everything that was committed before the lock was granted. Inserts that
// refer to the member's row by a foreign key do not wait.
func lockRoster(
	ctx context.Context, tx pgx.Tx, organizationID, userID uuid.UUID, actorID *uuid.UUID,
) (r org.MemberContext, err error) {
	if err := lockOrganization(ctx, tx, organizationID); err != nil {
		return r, err
	}
	if r.Member, err = findRow[org.Member](ctx, tx, org.ErrNoMember, selectMember+`
		WHERE u.organization_id = $1 AND u.id = $2 FOR NO KEY UPDATE`, organizationID, userID); err != nil {
		return r, err
	}
	if actorID != nil {
		if r.Actor, err = findActor(ctx, tx, organizationID, *actorID); err != nil {
			return r, err
		}
	}
	if r.FactorReset, err = factorReset(ctx, tx, userID); err != nil {
		return r, err
	}
	if r.FreeSeats, err = freeSeats(ctx, tx, organizationID); err != nil {
		return r, err
	}
	err = tx.QueryRow(ctx, `
		SELECT (SELECT o.auth_type = $4 FROM organizations o WHERE o.id = $1),
		       count(*), count(*) FILTER (WHERE `+hasPassword+`),
		       count(*) FILTER (WHERE u.id = $5 AND `+hasPassword+`) > 0,
		       ARRAY (SELECT i.name_id FROM federated_identities i WHERE i.organization_id = $1 AND i.user_id = $5
		           ORDER BY i.created_at)
		FROM users u
		WHERE u.organization_id = $1 AND u.role = $2 AND u.state = $3`,
		organizationID, identity.RoleOrganizationSuperAdmin, identity.StateActive, identity.AuthFederated, userID,
	).Scan(&r.SingleSignOn, &r.ActiveSupers, &r.PasswordSupers, &r.HasPassword, &r.NameIDs)
	return r, err
}

// findActor returns the current state of the acting member, nil for a former member.
func findActor(ctx context.Context, tx pgx.Tx, organizationID, id uuid.UUID) (*org.Member, error) {
	actor, err := findMember(ctx, tx, organizationID, id)
	switch {
	case errors.Is(err, org.ErrNoMember):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &actor, nil
}

// queueAccountChange queues an account change for the identity provider.
func queueAccountChange(ctx context.Context, tx pgx.Tx, m org.Member, c org.MemberChange) error {
	name, state := !c.Remove && c.Name != m.Name, !c.Remove && c.State != m.State
	if !name && !state && !c.ResetFactor && !c.Remove {
		return nil
	}
	return exec(ctx, tx, `
		INSERT INTO account_changes AS a (user_id, organization_id, subject, email, name, state, factor, remove, due_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now())
		ON CONFLICT (user_id) DO UPDATE
		SET name = a.name OR excluded.name, state = a.state OR excluded.state, factor = a.factor OR excluded.factor,
		    remove = a.remove OR excluded.remove, version = a.version + 1`,
		m.ID, m.OrganizationID, m.Subject, m.Email, name, state, c.ResetFactor, c.Remove)
}

// normalizeSearch normalizes a search text, so that case and width do not matter.
func normalizeSearch(text string) string {
	return strings.ToLower(norm.NFKC.String(strings.TrimSpace(text)))
}

func (db *DB) ClaimAccountChanges(ctx context.Context, userID *uuid.UUID, claim time.Duration,
	limit int,
) ([]org.AccountChange, error) {
	return txResult(ctx, db, func(tx pgx.Tx) ([]org.AccountChange, error) {
		changes, err := queryRows[org.AccountChange](ctx, tx, `
			WITH due AS (
			    SELECT user_id FROM account_changes
			    WHERE due_at <= now() AND ($1::uuid IS NULL OR user_id = $1)
			    ORDER BY due_at
			    LIMIT $3
			    FOR UPDATE SKIP LOCKED
			)
			UPDATE account_changes a
			SET due_at = now() + $2::interval, attempts = a.attempts + 1
			FROM due
			WHERE a.user_id = due.user_id
			RETURNING a.user_id, a.subject, a.invite, a.name, a.state, a.factor, a.version, a.attempts,
			          EXISTS (SELECT FROM users u WHERE u.subject = a.subject AND u.id <> a.user_id) AS reused`,
			userID, claim, limit)
		if err != nil || len(changes) == 0 {
			return nil, err
		}
		return changes, setMembers(ctx, tx, changes)
	})
}

// setMembers sets the current state of the members in account changes.
func setMembers(ctx context.Context, tx pgx.Tx, changes []org.AccountChange) error {
	ids := convert(changes, func(c org.AccountChange) uuid.UUID { return c.UserID })
	members, err := queryRows[org.Member](ctx, tx, selectMember+` WHERE u.id = ANY ($1)`, ids)
	byID := make(map[uuid.UUID]*org.Member, len(members))
	for i := range members {
		byID[members[i].ID] = &members[i]
	}
	for i := range changes {
		changes[i].Member = byID[changes[i].UserID]
	}
	return err
}

func (db *DB) FinishAccountChange(ctx context.Context, c org.AccountChange) (more bool, err error) {
	err = db.batch(ctx, func(batch *pgx.Batch) {
		batch.Queue(`DELETE FROM account_changes WHERE user_id = $1 AND version = $2`, c.UserID, c.Version)
		batch.Queue(`UPDATE account_changes SET due_at = now(), attempts = 0 WHERE user_id = $1`, c.UserID).
			Exec(setAffected(&more))
	})
	return more, err
}

func (db *DB) DeferAccountChange(ctx context.Context, userID uuid.UUID, pause time.Duration) error {
	return exec(ctx, db.pool, `UPDATE account_changes SET due_at = now() + $2::interval WHERE user_id = $1`, userID,
		pause)
}
