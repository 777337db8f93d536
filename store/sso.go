package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

var _ sso.Store = (*DB)(nil)

// ssoSweep is the number of expired rows that each insert removes.
const ssoSweep = 10

// providerID is the expression for the entity id or issuer of the identity provider of organization o, or null.
const providerID = `
	CASE o.sso_protocol
	    WHEN 'oidc' THEN (SELECT c.issuer FROM oidc_configs c WHERE c.organization_id = o.id)
	    ELSE (SELECT c.entity_id FROM saml_configs c WHERE c.organization_id = o.id)
	END`

func (db *DB) SSOProvider(ctx context.Context, organizationID uuid.UUID) (sso.Provider, error) {
	return findRow[sso.Provider](ctx, db.pool, org.ErrNoOrganization, `
		SELECT CASE WHEN o.auth_type = $2 THEN o.sso_protocol ELSE '' END AS protocol,
		       CASE WHEN o.auth_type = $2 THEN coalesce(`+providerID+`, '') ELSE '' END AS id
		FROM organizations o
		WHERE o.id = $1`, organizationID, identity.AuthFederated)
}

// ownDomains returns the domains for single sign-on without those that an operator has removed from the organization.
func ownDomains(domains, mailDomains []string) []string {
	return slices.DeleteFunc(domains, func(domain string) bool { return !slices.Contains(mailDomains, domain) })
}

// ssoSettings describes the settings of a protocol for single sign-on.
type ssoSettings[S any] struct {
	protocol sso.Protocol
	target   string // Of the events in the audit log.
	read     func(ctx context.Context, q querier, organizationID uuid.UUID) (S, error)
	save     func(ctx context.Context, tx pgx.Tx, settings S) error
	describe func(settings S) (enabled bool, label string)
	changes  func(before, after S) []org.Change
}

// changeSSO replaces the settings of a protocol by the result of change, with the organization locked: another
// super-admin may have changed them. It logs the change unless it has no effect.
func changeSSO[S any](
	ctx context.Context, db *DB, actor identity.Actor, action org.Action, of ssoSettings[S], change func(*S) error,
) (S, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (after S, _ error) {
		if err := lockForSuper(ctx, tx, actor); err != nil {
			return after, err
		}
		before, err := of.read(ctx, tx, actor.OrganizationID)
		if err != nil {
			return after, err
		}
		after = before
		if err := change(&after); err != nil {
			return after, err
		}
		if err := of.save(ctx, tx, after); err != nil {
			return after, err
		}
		was, _ := of.describe(before)
		enabled, label := of.describe(after)
		if err := switchSSO(ctx, tx, actor.OrganizationID, of.protocol, was, enabled); err != nil {
			return after, err
		}
		details := of.changes(before, after)
		if len(details) == 0 {
			return after, nil
		}
		return after, audit(ctx, tx, org.Event{
			OrganizationID: &actor.OrganizationID, By: org.AuditActorOf(actor), Action: action, TargetKind: of.target,
			TargetID: actor.OrganizationID.String(), TargetLabel: label, Details: details,
		})
	})
}

// switchSSO switches single sign-on by a protocol on or off. It replaces another protocol.
func switchSSO(ctx context.Context, tx pgx.Tx, organizationID uuid.UUID, protocol sso.Protocol, before, after bool) error {
	switch {
	case before == after:
		return nil
	case !after:
		return exec(ctx, tx, `UPDATE organizations SET auth_type = $2 WHERE id = $1`, organizationID, identity.AuthCognito)
	}
	return execRow(ctx, tx, sso.ErrNoPasswordAdmin, `
		UPDATE organizations SET auth_type = $2, sso_protocol = $3
		WHERE id = $1 AND EXISTS (SELECT FROM users u
		    WHERE u.organization_id = $1 AND u.role = $4 AND u.state = $5 AND `+hasPassword+`)`,
		organizationID, identity.AuthFederated, protocol, identity.RoleOrganizationSuperAdmin, identity.StateActive)
}

func (db *DB) CreateSSOState(ctx context.Context, state sso.State, at time.Time) error {
	return db.batch(ctx, func(batch *pgx.Batch) {
		batch.Queue(sweep("saml_states", "hash", "expires_at"), at, ssoSweep)
		queueState(batch, state)
	})
}

func queueState(batch *pgx.Batch, s sso.State) {
	batch.Queue(`
		INSERT INTO saml_states (hash, browser_hash, organization_id, request_id, next, test_id, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		s.Hash, s.BrowserHash, s.OrganizationID, s.RequestID, s.Next, s.TestID, s.ExpiresAt)
}

func (db *DB) TakeSSOState(
	ctx context.Context, organizationID uuid.UUID, hash, browserHash []byte, at time.Time,
) (sso.State, error) {
	return queryRow[sso.State](ctx, db.pool, `
		DELETE FROM saml_states WHERE hash = $1 AND browser_hash = $2 AND organization_id = $3 AND expires_at > $4
		RETURNING hash, browser_hash, organization_id, request_id, next, test_id, expires_at,
		          clock_timestamp() AS taken_at`,
		hash, browserHash, organizationID, at)
}

func (db *DB) AcceptPerson(
	ctx context.Context, a sso.Acceptance, at time.Time, decide func(sso.Candidates) (sso.Decision, error),
) error {
	var refused error // decide's error is not the database's and must not be translated.
	err := db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockOrganization(ctx, tx, a.OrganizationID); err != nil {
			return err
		}
		if a.ConsentHash != nil {
			if err := takePendingLink(ctx, tx, a, at); err != nil {
				return err
			}
		}
		found, err := ssoCandidates(ctx, tx, a)
		if err == nil {
			found.Ended, err = ssoEnded(ctx, tx, a, found)
		}
		if err != nil {
			return err
		}
		var decision sso.Decision
		if decision, refused = decide(found); refused != nil {
			return errRefused
		}
		if decision.Provision != nil {
			if err := insertUser(ctx, tx, *decision.Provision); err != nil {
				return err
			}
			if err := endEarlierSessions(ctx, tx, decision.Provision.Subject, at); err != nil {
				return err
			}
		}
		if decision.Consent && a.ConsentHash == nil {
			return storePendingLink(ctx, tx, a, decision.Member, at)
		}
		if decision.Link {
			if err := linkPerson(ctx, tx, a, decision, found, at); err != nil {
				return err
			}
		}
		if a.Person.Groups != nil {
			if err := setProviderGroups(ctx, tx, a.OrganizationID, decision.Member, org.GroupOIDC, a.Person.Groups); err != nil {
				return err
			}
		}
		return storeCode(ctx, tx, a, decision.Member, at)
	})
	if errors.Is(err, errRefused) {
		return refused
	}
	return err
}

var errRefused = errors.New("refused")

// ssoCandidates returns the members who may match a person. The organization must be locked.
func ssoCandidates(ctx context.Context, tx pgx.Tx, a sso.Acceptance) (found sso.Candidates, err error) {
	// A member has signed in if they have opened the app or any identity provider has authenticated them.
	const member = `
		SELECT u.id, u.organization_id, u.email, u.name, u.role, ` + memberState + ` AS state, u.auth_type,
		    u.last_signed_in_at IS NOT NULL OR EXISTS (
		        SELECT 1 FROM federated_identities i WHERE i.organization_id = u.organization_id
		            AND i.user_id = u.id) AS signed_in
		FROM users u
		JOIN organizations o ON o.id = u.organization_id `
	linked, err := queryRows[sso.Member](ctx, tx, member+`
		JOIN federated_identities f ON f.organization_id = u.organization_id AND f.user_id = u.id
		WHERE f.organization_id = $1 AND f.protocol = $2 AND f.entity_id = $3 AND f.name_id = $4`,
		a.OrganizationID, a.Person.Provider.Protocol, a.Person.Provider.ID, a.Person.ID)
	if err != nil {
		return found, err
	}
	if len(linked) == 1 {
		found.Linked = &linked[0]
		return found, nil
	}
	// In any organization, because an address belongs to one member only.
	named, err := queryRows[sso.Member](ctx, tx, member+`WHERE u.email = $1`, strings.ToLower(a.Person.Email))
	if err != nil {
		return found, err
	}
	if len(named) == 1 {
		found.ByEmail = &named[0]
		if found.LinkedToAnother, err = queryValue[bool](ctx, tx, `
			SELECT EXISTS (SELECT FROM federated_identities WHERE organization_id = $1
			    AND user_id = $2 AND protocol = $3 AND entity_id = $4)`,
			a.OrganizationID, found.ByEmail.ID, a.Person.Provider.Protocol, a.Person.Provider.ID); err != nil {
			return found, err
		}
	}
	if found.Locked, err = queryValue[bool](ctx, tx, `SELECT deletes_at IS NOT NULL FROM organizations WHERE id = $1`,
		a.OrganizationID); err != nil {
		return found, err
	}
	free, err := freeSeats(ctx, tx, a.OrganizationID)
	found.SeatFree = free > 0
	return found, err
}

// ssoEnded returns Candidates.Ended. The organization must be locked, which delays whatever ends sessions until the code
// of this sign-in is stored and can be deleted.
func ssoEnded(ctx context.Context, tx pgx.Tx, a sso.Acceptance, found sso.Candidates) (bool, error) {
	if a.ArrivedAt.IsZero() {
		return false, nil
	}
	member := cmp.Or(found.Linked, found.ByEmail, &sso.Member{})
	who := a.Person
	return queryValue[bool](ctx, tx, `
		SELECT EXISTS (SELECT FROM users WHERE id = $1 AND sessions_since > $2)
		    OR EXISTS (SELECT FROM saml_assertions
		        WHERE organization_id = $3 AND hash = ANY($4) AND expires_at > $2::timestamptz + $5::interval)`,
		member.ID, a.ArrivedAt, a.OrganizationID, [][]byte{
			logoutHash(who.Provider.ID, who.ID, who.SessionID), logoutHash(who.Provider.ID, who.ID, ""),
			logoutHash(who.Provider.ID, "", who.SessionID),
		}, logoutRetention)
}

// linkPerson links a person to a member, and logs it.
func linkPerson(ctx context.Context, tx pgx.Tx, a sso.Acceptance, decision sso.Decision, found sso.Candidates,
	at time.Time,
) error {
	if err := exec(ctx, tx, `
		INSERT INTO federated_identities (organization_id, protocol, entity_id, name_id, user_id, created_at)
		VALUES ($1, $2, $3, $4, $5, $6)`,
		a.OrganizationID, a.Person.Provider.Protocol, a.Person.Provider.ID, a.Person.ID, decision.Member, at); err != nil {
		return err
	}
	event := org.Event{
		OrganizationID: &a.OrganizationID, Action: org.ActionLink, TargetKind: org.TargetUser,
		TargetID: decision.Member.String(),
		Details: []org.Change{
			{Field: "idp_entity_id", After: a.Person.Provider.ID},
			{Field: "name_id", After: a.Person.ID},
			{Field: "email", After: a.Person.Email},
		},
	}
	var name, email string
	if decision.Provision != nil {
		event.Action, name, email = org.ActionProvision, decision.Provision.Name, decision.Provision.Email
	} else {
		name, email = found.ByEmail.Name, found.ByEmail.Email
	}
	if decision.Consent {
		event.Details = append(event.Details, org.Change{Field: "consent", After: "password"})
	}
	event.TargetLabel, event.By = email, org.AuditActor{
		Kind: org.ByMember, ID: &decision.Member, Name: name, Email: email, Address: a.Origin.Address,
		RequestID: a.Origin.RequestID,
	}
	return audit(ctx, tx, event)
}

func storeCode(ctx context.Context, tx pgx.Tx, a sso.Acceptance, userID uuid.UUID, at time.Time) error {
	return send(ctx, tx, func(batch *pgx.Batch) {
		batch.Queue(sweep("saml_codes", "hash", "expires_at"), at, ssoSweep)
		batch.Queue(`
			INSERT INTO saml_codes (hash, browser_hash, organization_id, user_id, next, session_until, expires_at,
			                        entity_id, name_id, provider_session, authenticated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
			a.Code.Hash, a.Code.BrowserHash, a.Code.OrganizationID, userID, a.Code.Next, a.Code.SessionUntil,
			a.Code.ExpiresAt, a.Person.Provider.ID, a.Person.ID, a.Person.SessionID, a.Person.AuthenticatedAt)
	})
}

func (db *DB) FindSSOCode(
	ctx context.Context, organizationID uuid.UUID, hash, browserHash []byte, at time.Time,
) (sso.Grantee, error) {
	return queryRow[sso.Grantee](ctx, db.pool, `
		SELECT u.subject, u.email, u.name, c.next, c.session_until, c.entity_id AS provider_id, c.name_id AS person_id,
		       c.provider_session AS session_id, c.authenticated_at
		FROM saml_codes c
		JOIN users u ON u.organization_id = c.organization_id AND u.id = c.user_id
		JOIN organizations o ON o.id = c.organization_id
		WHERE c.hash = $1 AND c.browser_hash = $2 AND c.organization_id = $3 AND c.expires_at > $4
		  AND `+memberState+` = $5 AND o.auth_type = $6`,
		hash, browserHash, organizationID, at, identity.StateActive, identity.AuthFederated)
}

// storePendingLink stores a person under the hash of its code until its member has consented.
func storePendingLink(ctx context.Context, tx pgx.Tx, a sso.Acceptance, userID uuid.UUID, at time.Time) error {
	return send(ctx, tx, func(batch *pgx.Batch) {
		batch.Queue(sweep("saml_links", "hash", "expires_at"), at, ssoSweep)
		batch.Queue(`
			INSERT INTO saml_links (hash, browser_hash, organization_id, user_id, protocol, entity_id, name_id, email,
			                        next, session_until, created_at, expires_at, provider_session, groups)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
			a.Code.Hash, a.Code.BrowserHash, a.OrganizationID, userID, a.Person.Provider.Protocol,
			a.Person.Provider.ID, a.Person.ID, a.Person.Email, a.Code.Next, a.Code.SessionUntil, at, a.ConsentUntil,
			a.Person.SessionID, a.Person.Groups)
	})
}

func (db *DB) FindPendingLink(
	ctx context.Context, organizationID uuid.UUID, hash, browserHash []byte, at time.Time,
) (sso.PendingLink, error) {
	return queryOne(ctx, db.pool, func(row pgx.CollectableRow) (l sso.PendingLink, err error) {
		p := &l.Person
		err = row.Scan(&l.UserID, &l.MemberEmail, &l.Next, &l.SessionUntil, &l.CreatedAt,
			&p.Provider.Protocol, &p.Provider.ID, &p.ID, &p.Email, &p.SessionID, &p.Groups)
		return l, err
	}, `
		SELECT l.user_id, u.email, l.next, l.session_until, l.created_at, l.protocol, l.entity_id,
		       l.name_id, l.email, l.provider_session, l.groups
		FROM saml_links l
		JOIN users u ON u.organization_id = l.organization_id AND u.id = l.user_id
		WHERE l.hash = $1 AND l.browser_hash = $2 AND l.organization_id = $3 AND l.expires_at > $4`,
		hash, browserHash, organizationID, at)
}

// takePendingLink deletes the pending link of an acceptance, which can be used only once. If it does not exist or
// has expired, the error is pgx.ErrNoRows.
func takePendingLink(ctx context.Context, tx pgx.Tx, a sso.Acceptance, at time.Time) error {
	return execRow(ctx, tx, pgx.ErrNoRows, `
		DELETE FROM saml_links WHERE hash = $1 AND browser_hash = $2 AND organization_id = $3 AND expires_at > $4`,
		a.ConsentHash, a.Code.BrowserHash, a.OrganizationID, at)
}
