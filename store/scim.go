package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/scim"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

var _ scim.Store = (*DB)(nil)

func (db *DB) SCIMClient(ctx context.Context, tokenHash []byte) (scim.Client, error) {
	type row struct {
		scim.Client
		Used bool
	}
	client, err := findRow[row](ctx, db.pool, scim.ErrToken, `
		SELECT t.organization_id, t.id AS token_id, t.name AS token_name,
		       coalesce(t.last_used_at > now() - interval '1 minute', false) AS used
		FROM scim_tokens t
		JOIN organizations o ON o.id = t.organization_id
		WHERE t.hash = $1 AND o.deletes_at IS NULL`, tokenHash)
	if err != nil || client.Used {
		return client.Client, err
	}
	return client.Client, exec(ctx, db.pool, `UPDATE scim_tokens SET last_used_at = now() WHERE id = $1`, client.TokenID)
}

func (db *DB) SCIMTokens(ctx context.Context, organizationID uuid.UUID) ([]scim.Token, error) {
	return queryRows[scim.Token](ctx, db.pool, `
		SELECT id, name, created_by, created_at, last_used_at FROM scim_tokens
		WHERE organization_id = $1
		ORDER BY created_at, id`, organizationID)
}

func (db *DB) AddSCIMToken(ctx context.Context, actor identity.Actor, token scim.Token, hash []byte) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockForSuper(ctx, tx, actor); err != nil {
			return err
		}
		n, err := queryValue[int](ctx, tx, `SELECT count(*) FROM scim_tokens WHERE organization_id = $1`,
			actor.OrganizationID)
		if err != nil {
			return err
		}
		if n >= scim.MaxTokens {
			return fault.Errorf(fault.Conflict, "トークンは%d件まで作成できます。使わないトークンを失効させてください。", scim.MaxTokens)
		}
		if err := exec(ctx, tx, `
			INSERT INTO scim_tokens (id, organization_id, name, hash, created_by, created_at)
			VALUES ($1, $2, $3, $4, $5, $6)`,
			token.ID, actor.OrganizationID, token.Name, hash, token.CreatedBy, token.CreatedAt); err != nil {
			return err
		}
		return auditSCIMToken(ctx, tx, actor, org.ActionSCIMTokenCreate, token.ID, token.Name)
	})
}

func (db *DB) RevokeSCIMToken(ctx context.Context, actor identity.Actor, id uuid.UUID) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockForSuper(ctx, tx, actor); err != nil {
			return err
		}
		name, err := findValue[string](ctx, tx, fault.Errorf(fault.NotFound, "トークンが見つかりません。すでに失効している可能性があります。"),
			`DELETE FROM scim_tokens WHERE organization_id = $1 AND id = $2 RETURNING name`, actor.OrganizationID, id)
		if err != nil {
			return err
		}
		return auditSCIMToken(ctx, tx, actor, org.ActionSCIMTokenRevoke, id, name)
	})
}

func auditSCIMToken(ctx context.Context, tx pgx.Tx, actor identity.Actor, action org.Action, id uuid.UUID,
	name string,
) error {
	return audit(ctx, tx, org.Event{
		OrganizationID: &actor.OrganizationID, By: org.AuditActorOf(actor), Action: action,
		TargetKind: org.TargetSCIMToken, TargetID: id.String(), TargetLabel: name,
	})
}

// RecordSCIMCall implements scim.Store. Concurrent calls may leave a few more rows, which the next one deletes.
func (db *DB) RecordSCIMCall(ctx context.Context, c scim.Call) error {
	return db.batch(ctx, func(batch *pgx.Batch) {
		if c.Code == fault.RateLimited { // There may be many, and they must not displace other errors.
			batch.Queue(`DELETE FROM scim_calls WHERE organization_id = $1 AND code = $2`, c.OrganizationID, c.Code)
		}
		batch.Queue(`
			INSERT INTO scim_calls (id, organization_id, token_name, method, path, target, status, code, detail)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			uuidv7.New(), c.OrganizationID, c.TokenName, c.Method, storable(c.Path), storable(c.Target), c.Status, c.Code,
			storable(c.Detail))
		batch.Queue(`
			DELETE FROM scim_calls WHERE id IN (
			    SELECT id FROM scim_calls
			    WHERE organization_id = $1 AND (code <> '') = $2
			    ORDER BY id DESC
			    OFFSET $3
			    FOR UPDATE SKIP LOCKED)`, c.OrganizationID, c.Code != "", scim.MaxCalls)
	})
}

func (db *DB) SCIMCalls(ctx context.Context, organizationID uuid.UUID, refused bool) ([]scim.Call, error) {
	return queryRows[scim.Call](ctx, db.pool, `
		SELECT id, organization_id, at, token_name, method, path, target, status, code, detail
		FROM scim_calls
		WHERE organization_id = $1 AND (code <> '' OR NOT $2)
		ORDER BY id DESC
		LIMIT $3`, organizationID, refused, scim.MaxCalls)
}

// selectSCIMUser begins the queries for users of SCIM, which are all members that the identity provider has not deleted.
const selectSCIMUser = scimUserColumns + fromSCIMUsers

const scimUserColumns = `
	SELECT u.id, u.email, u.name, u.state, u.created_at, coalesce(s.external_id, '') AS external_id, s.attributes,
	       greatest(u.created_at, u.changed_at, s.updated_at) AS changed_at`

const fromSCIMUsers = `
	FROM users u
	LEFT JOIN scim_users s ON s.user_id = u.id
	WHERE u.organization_id = $1 AND s.deleted_at IS NULL`

func (db *DB) ListSCIMUsers(ctx context.Context, organizationID uuid.UUID, offset, limit int) ([]scim.User, int, error) {
	return queryPage[scim.User](ctx, db, `SELECT count(*)`+fromSCIMUsers, selectSCIMUser+` ORDER BY u.id OFFSET $2 LIMIT $3`,
		[]any{organizationID}, offset, limit)
}

// scimUsersAfter selects users with ids greater than $2. The join repeats the condition, so that both tables are read from
// there on.
const scimUsersAfter = scimUserColumns + `
	FROM users u
	LEFT JOIN scim_users s ON s.user_id = u.id AND s.user_id > $2
	WHERE u.organization_id = $1 AND u.id > $2 AND s.deleted_at IS NULL`

// scimUsersLimit ends the queries of scimUsersAfter.
const scimUsersLimit = `
	ORDER BY u.id
	LIMIT $3`

// scimUsersMatching selects the users of a scim.Match. Each of its parts uses an index.
const scimUsersMatching = scimUsersAfter + `
	AND u.id = ANY (ARRAY(
	    SELECT unnest($4::uuid[])
	    UNION ALL SELECT user_id FROM scim_users
	        WHERE organization_id = $1 AND lower(user_name) = ANY ($5::text[]) AND deleted_at IS NULL
	    UNION ALL SELECT user_id FROM scim_users
	        WHERE organization_id = $1 AND external_id = ANY ($6::text[]) AND deleted_at IS NULL
	    UNION ALL SELECT user_id FROM scim_users WHERE emails && $7::text[]
	    UNION ALL SELECT id FROM users WHERE email = ANY ($5::text[] || $7::text[])))` + scimUsersLimit

func (db *DB) FilterSCIMUsers(ctx context.Context, organizationID uuid.UUID, match *scim.Match, after uuid.UUID, limit int) (
	[]scim.User, error,
) {
	if match == nil {
		return queryRows[scim.User](ctx, db.pool, scimUsersAfter+scimUsersLimit, organizationID, after, limit)
	}
	return queryRows[scim.User](ctx, db.pool, scimUsersMatching, organizationID, after, limit, orEmpty(match.IDs),
		orEmpty(match.UserNames), orEmpty(match.ExternalIDs), orEmpty(match.Emails))
}

func (db *DB) FindSCIMUser(ctx context.Context, organizationID, id uuid.UUID) (scim.User, error) {
	return findSCIMUser(ctx, db.pool, organizationID, id)
}

func findSCIMUser(ctx context.Context, q querier, organizationID, id uuid.UUID) (scim.User, error) {
	return findRow[scim.User](ctx, q, org.ErrNoMember, selectSCIMUser+` AND u.id = $2`, organizationID, id)
}

func (db *DB) AddSCIMUser(ctx context.Context, client scim.Client, d scim.Draft,
	decide func(org.MemberContext) (org.MemberChange, error),
) (scim.User, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (none scim.User, _ error) {
		if err := lockOrganization(ctx, tx, client.OrganizationID); err != nil {
			return none, err
		}
		known, err := queryRows[struct {
			ID             uuid.UUID
			OrganizationID uuid.UUID
			Deleted        bool
		}](ctx, tx, `
			SELECT u.id, u.organization_id, s.deleted_at IS NOT NULL AS deleted
			FROM users u LEFT JOIN scim_users s ON s.user_id = u.id
			WHERE u.email = $1`, d.Email)
		if err != nil {
			return none, err
		}
		id := uuidv7.New()
		switch {
		case len(known) == 1 && known[0].OrganizationID == client.OrganizationID && known[0].Deleted:
			id = known[0].ID
			err = restoreSCIMUser(ctx, tx, client, id, d, decide)
		case len(known) == 1:
			err = fault.Errorf(scim.Uniqueness, "メールアドレス %s は、すでに別のメンバーが使用しています。", d.Email)
		default:
			err = insertSCIMMember(ctx, tx, client, id, d)
		}
		if err != nil {
			return none, err
		}
		if err := saveSCIMUser(ctx, tx, client, id, d); err != nil {
			return none, err
		}
		return findSCIMUser(ctx, tx, client.OrganizationID, id)
	})
}

// restoreSCIMUser changes a member whom the identity provider had deleted.
func restoreSCIMUser(ctx context.Context, tx pgx.Tx, client scim.Client, id uuid.UUID, d scim.Draft,
	decide func(org.MemberContext) (org.MemberChange, error),
) error {
	roster, err := lockRoster(ctx, tx, client.OrganizationID, id, nil)
	if err != nil {
		return err
	}
	change, err := decide(roster)
	if err != nil {
		return err
	}
	change.Details = append(change.Details, changed([]org.Change{
		{Field: "external_id", After: d.ExternalID}, {Field: "provisioning", Before: "off", After: "on"},
	})...)
	return applyMemberChange(ctx, tx, roster.Member, change, client.By())
}

// insertSCIMMember adds a member for single sign-on.
func insertSCIMMember(ctx context.Context, tx pgx.Tx, client scim.Client, id uuid.UUID, d scim.Draft) error {
	free, err := freeSeats(ctx, tx, client.OrganizationID)
	switch {
	case err != nil:
		return err
	case d.Active && free <= 0:
		return org.ErrNoSeat
	}
	subject, err := externalAccount(ctx, tx, d)
	if err != nil {
		return err
	}
	m := org.Member{ID: id, OrganizationID: client.OrganizationID, Subject: subject, Email: d.Email, Name: d.Name}
	if err := insertUser(ctx, tx, identity.NewUser{
		ID: id, OrganizationID: m.OrganizationID, Subject: subject, Email: d.Email, Name: d.Name,
		Role: identity.RoleGeneralUser, AuthType: identity.AuthFederated,
	}); err != nil {
		return err
	}
	state := identity.StateActive
	if !d.Active {
		state = identity.StateInactive
		if err := exec(ctx, tx, `UPDATE users SET state = $2 WHERE id = $1`, id, state); err != nil {
			return err
		}
	}
	return audit(ctx, tx, memberEvent(client.By(), org.ActionProvision, m, changed([]org.Change{
		{Field: "name", After: d.Name}, {Field: "external_id", After: d.ExternalID}, {Field: "state", After: string(state)},
	})...))
}

// externalAccount returns the subject of the account for a new member. As pool.CreateExternalUser does, it adds the
// account if necessary, and refuses an address that belongs to an account with a password.
func externalAccount(ctx context.Context, tx pgx.Tx, d scim.Draft) (string, error) {
	added := uuid.New()
	sub, err := findValue[uuid.UUID](ctx, tx,
		fault.Errorf(scim.Uniqueness, "このメールアドレスは、パスワードでログインする別のアカウントが使用しています。"), `
		INSERT INTO pool_users AS p (sub, email, email_verified, name, status, enabled, version, created_at, updated_at)
		VALUES ($1, $2, true, $3, $4, true, 1, now(), now())
		ON CONFLICT (email) DO UPDATE SET email = p.email WHERE p.status = $4
		RETURNING sub`, added, d.Email, d.Name, pool.StatusExternalProvider)
	if err == nil && sub != added {
		err = endEarlierSessions(ctx, tx, sub.String(), time.Now())
	}
	return sub.String(), err
}

// checkSCIMUser refuses names and external ids of other users. The organization must be locked.
func checkSCIMUser(ctx context.Context, tx pgx.Tx, client scim.Client, id uuid.UUID, d scim.Draft) error {
	taken, err := queryRow[struct{ UserName, ExternalID bool }](ctx, tx, `
		SELECT EXISTS (
		           SELECT FROM scim_users s
		           WHERE s.organization_id = $1 AND s.user_id <> $2 AND s.deleted_at IS NULL
		             AND lower(s.user_name) = lower($3)) OR EXISTS (
		           SELECT FROM users u
		           WHERE u.organization_id = $1 AND u.id <> $2 AND u.email = lower($3)
		             AND NOT EXISTS (SELECT FROM scim_users s WHERE s.user_id = u.id)) AS user_name,
		       EXISTS (
		           SELECT FROM scim_users s
		           WHERE s.organization_id = $1 AND s.user_id <> $2 AND s.deleted_at IS NULL AND s.external_id = $4) AS external_id`,
		client.OrganizationID, id, d.UserName, d.ExternalID)
	switch {
	case err != nil:
		return err
	case taken.UserName:
		return fault.Errorf(scim.Uniqueness, "userName %q は、すでに別の利用者が使用しています。", d.UserName)
	case taken.ExternalID:
		return fault.Errorf(scim.Uniqueness, "externalId %q は、すでに別の利用者が使用しています。", d.ExternalID)
	}
	return nil
}

// saveSCIMUser stores the attributes of a user. The organization must be locked.
func saveSCIMUser(ctx context.Context, tx pgx.Tx, client scim.Client, id uuid.UUID, d scim.Draft) error {
	if err := checkSCIMUser(ctx, tx, client, id, d); err != nil {
		return err
	}
	return exec(ctx, tx, `
		INSERT INTO scim_users (organization_id, user_id, user_name, external_id, emails, attributes)
		VALUES ($1, $2, $3, nullif($4, ''), $5, $6)
		ON CONFLICT (user_id) DO UPDATE
		SET user_name = $3, external_id = nullif($4, ''), emails = $5, attributes = $6, deleted_at = NULL, updated_at = now()`,
		client.OrganizationID, id, d.UserName, d.ExternalID, orEmpty(d.Emails), d.Attributes)
}

func (db *DB) ChangeSCIMUser(ctx context.Context, client scim.Client, id uuid.UUID,
	decide func(scim.User, org.MemberContext) (scim.Change, error),
) (scim.User, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (user scim.User, _ error) {
		roster, err := lockRoster(ctx, tx, client.OrganizationID, id, nil)
		if err != nil {
			return user, err
		}
		if user, err = findSCIMUser(ctx, tx, client.OrganizationID, id); err != nil {
			return user, err
		}
		change, err := decide(user, roster)
		if err != nil {
			return user, err
		}
		details := []org.Change{{Field: "external_id", Before: user.ExternalID, After: change.Draft.ExternalID}}
		if change.Delete {
			details = append(details, org.Change{Field: "provisioning", Before: "on", After: "off"})
			err = hideSCIMUser(ctx, tx, client, user)
		} else {
			err = changeSCIMUser(ctx, tx, client, roster.Member, &change)
		}
		if err != nil {
			return user, err
		}
		change.Member.Details = append(change.Member.Details, changed(details)...)
		if len(change.Member.Details) > 0 {
			if err := applyMemberChange(ctx, tx, roster.Member, change.Member, client.By()); err != nil {
				return user, err
			}
		}
		if change.Delete {
			return user, nil
		}
		return findSCIMUser(ctx, tx, client.OrganizationID, id)
	})
}

// changeSCIMUser stores the attributes of a user, and a new address with that of the account.
func changeSCIMUser(ctx context.Context, tx pgx.Tx, client scim.Client, m org.Member, change *scim.Change) error {
	d := change.Draft
	if err := saveSCIMUser(ctx, tx, client, m.ID, d); err != nil || d.Email == m.Email {
		return err
	}
	err := exec(ctx, tx, `UPDATE users SET email = $2 WHERE id = $1`, m.ID, d.Email)
	if err == nil {
		err = exec(ctx, tx, `
			UPDATE pool_users SET email = $2, updated_at = now(), version = version + 1
			WHERE sub::text = $1 AND status = 'EXTERNAL_PROVIDER'`, m.Subject, d.Email)
	}
	if hasCode(err, codeUnique) {
		return fault.Wrap(err, scim.Uniqueness, "メールアドレス %s は、すでに別のアカウントが使用しています。", d.Email)
	}
	change.Member.Details = append(change.Member.Details, org.Change{Field: "email", Before: m.Email, After: d.Email})
	return err
}

// hideSCIMUser hides a member from the identity provider, and removes them from its groups.
func hideSCIMUser(ctx context.Context, tx pgx.Tx, client scim.Client, user scim.User) error {
	if err := exec(ctx, tx, `
		INSERT INTO scim_users (organization_id, user_id, user_name, emails, attributes, deleted_at)
		VALUES ($1, $2, $3, '{}', '{}', now())
		ON CONFLICT (user_id) DO UPDATE
		SET deleted_at = now(), updated_at = now(), external_id = NULL, emails = '{}', attributes = '{}'`,
		client.OrganizationID, user.ID, user.Email); err != nil {
		return err
	}
	groups, err := queryRows[org.Group](ctx, tx, selectGroup+` AND g.source = $2 AND EXISTS (
		SELECT FROM group_members k WHERE k.group_id = g.id AND k.user_id = $3) ORDER BY g.id`,
		client.OrganizationID, org.GroupSCIM, user.ID)
	for _, g := range groups {
		if err == nil {
			_, err = moveMembers(ctx, tx, client.OrganizationID, client.By(), g, nil, []uuid.UUID{user.ID})
		}
	}
	return err
}
