package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

var _ saml.Store = (*DB)(nil)

// Each insert removes some expired rows.
const (
	samlSweep     = 10
	samlTestAfter = 24 * time.Hour
)

// SAMLKey implements saml.Store.
func (db *DB) SAMLKey(ctx context.Context) (saml.Key, error) {
	key, err := queryRow[saml.Key](ctx, db.pool, `SELECT private_key, certificate, created_at FROM saml_keys`)
	if err == nil {
		key.PrivateKey, err = db.openSecret(key.PrivateKey, samlKeyOwner)
	}
	return key, err
}

// AddFirstSAMLKey implements saml.Store.
func (db *DB) AddFirstSAMLKey(ctx context.Context, key saml.Key) error {
	kept, err := db.sealSecret(key.PrivateKey, samlKeyOwner)
	if err != nil {
		return err
	}
	return exec(ctx, db.pool, `
		INSERT INTO saml_keys (private_key, certificate, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
		kept, key.Certificate, key.CreatedAt)
}

// SAMLSettings implements saml.Store.
func (db *DB) SAMLSettings(ctx context.Context, organizationID uuid.UUID) (saml.Settings, error) {
	return samlSettings(ctx, db.pool, organizationID)
}

func samlSettings(ctx context.Context, q querier, organizationID uuid.UUID) (saml.Settings, error) {
	settings, err := findRow[saml.Settings](ctx, q, fault.Errorf(fault.NotFound, "組織が見つかりません。"), `
		SELECT o.id AS organization_id, o.auth_type = $2 AS enabled, o.mail_domains,
		       coalesce(c.entity_id, '') AS entity_id,
		       coalesce(c.sso_url, '') AS sso_url, coalesce(c.certificates, '{}') AS certificates,
		       coalesce(c.email_attribute, '') AS email_attribute, coalesce(c.name_attribute, '') AS name_attribute,
		       coalesce(c.email_domains, '{}') AS email_domains, c.updated_at
		FROM organizations o
		LEFT JOIN saml_configs c ON c.organization_id = o.id
		WHERE o.id = $1`, organizationID, identity.AuthFederated)
	settings.EmailDomains = slices.DeleteFunc(settings.EmailDomains, func(domain string) bool {
		return !slices.Contains(settings.MailDomains, domain) // An operator has removed the domain.
	})
	return settings, err
}

// ChangeSAMLSettings implements saml.Store.
func (db *DB) ChangeSAMLSettings(
	ctx context.Context, actor identity.Actor, action saml.Action, change func(*saml.Settings, int) error,
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockForSuper(ctx, tx, actor); err != nil {
			return err
		}
		// The current settings: another super-admin may have changed them.
		before, err := samlSettings(ctx, tx, actor.OrganizationID)
		if err != nil {
			return err
		}
		passwordAdmins, err := queryValue[int](ctx, tx, `
			SELECT count(*) FROM users u WHERE u.organization_id = $1
			    AND u.role = $2 AND u.state = $3 AND `+hasPassword,
			actor.OrganizationID, identity.RoleOrganizationSuperAdmin, identity.StateActive)
		if err != nil {
			return err
		}
		after := before
		if err := change(&after, passwordAdmins); err != nil {
			return err
		}
		if err := saveSAMLSettings(ctx, tx, after); err != nil {
			return err
		}
		changes := samlChanges(before, after)
		if action == saml.ActionEdit && len(changes) == 0 {
			return nil // Nothing was changed.
		}
		return audit(ctx, tx, org.Event{
			OrganizationID: &actor.OrganizationID, By: org.AuditActorOf(actor), Action: org.Action(action),
			TargetKind: org.TargetSAML,
			TargetID:   actor.OrganizationID.String(), TargetLabel: after.EntityID, Details: changes,
		})
	})
}

func saveSAMLSettings(ctx context.Context, tx pgx.Tx, s saml.Settings) error {
	authType := identity.AuthCognito
	if s.Enabled {
		authType = identity.AuthFederated
	}
	if err := exec(ctx, tx, `UPDATE organizations SET auth_type = $2 WHERE id = $1 AND auth_type <> $2`,
		s.OrganizationID, authType); err != nil {
		return err
	}
	if s.UpdatedAt == nil {
		return nil
	}
	return exec(ctx, tx, `
		INSERT INTO saml_configs (organization_id, entity_id, sso_url, certificates, email_attribute, name_attribute,
			email_domains, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (organization_id) DO UPDATE SET entity_id = $2, sso_url = $3,
		    certificates = $4, email_attribute = $5,
			name_attribute = $6, email_domains = $7, updated_at = $8`,
		s.OrganizationID, s.EntityID, s.SSOURL, orEmpty(s.Certificates), s.EmailAttribute, s.NameAttribute,
		orEmpty(s.EmailDomains), s.UpdatedAt)
}

// samlChanges returns the differences between two settings. It identifies certificates by their fingerprints, like the
// settings page.
func samlChanges(before, after saml.Settings) []org.Change {
	certificates := func(s saml.Settings) string {
		var prints []string
		for _, der := range s.Certificates {
			prints = append(prints, saml.Fingerprint(der))
		}
		return strings.Join(prints, ", ")
	}
	return changed([]org.Change{
		{Field: "enabled", Before: strconv.FormatBool(before.Enabled), After: strconv.FormatBool(after.Enabled)},
		{Field: "idp_entity_id", Before: before.EntityID, After: after.EntityID},
		{Field: "idp_sso_url", Before: before.SSOURL, After: after.SSOURL},
		{Field: "email_attribute", Before: before.EmailAttribute, After: after.EmailAttribute},
		{Field: "name_attribute", Before: before.NameAttribute, After: after.NameAttribute},
		{Field: "idp_certificates", Before: certificates(before), After: certificates(after)},
		{
			Field: "email_domains", Before: strings.Join(before.EmailDomains, ", "),
			After: strings.Join(after.EmailDomains, ", "),
		},
	})
}

// CreateSAMLState implements saml.Store.
func (db *DB) CreateSAMLState(ctx context.Context, state saml.State, at time.Time) error {
	return db.batch(ctx, func(batch *pgx.Batch) {
		batch.Queue(sweep("saml_states", "hash", "expires_at"), at, samlSweep)
		queueSAMLState(batch, state)
	})
}

func queueSAMLState(batch *pgx.Batch, s saml.State) {
	batch.Queue(`
		INSERT INTO saml_states (hash, browser_hash, organization_id, request_id, next, test_id, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		s.Hash, s.BrowserHash, s.OrganizationID, s.RequestID, s.Next, s.TestID, s.ExpiresAt)
}

// TakeSAMLState implements saml.Store.
func (db *DB) TakeSAMLState(
	ctx context.Context, organizationID uuid.UUID, hash, browserHash []byte, at time.Time,
) (saml.State, error) {
	return queryRow[saml.State](ctx, db.pool, `
		DELETE FROM saml_states WHERE hash = $1 AND browser_hash = $2 AND organization_id = $3 AND expires_at > $4
		RETURNING hash, browser_hash, organization_id, request_id, next, test_id, expires_at`,
		hash, browserHash, organizationID, at)
}

// UseAssertion implements saml.Store.
func (db *DB) UseAssertion(ctx context.Context, use saml.Use, at time.Time) error {
	hash := sha256.Sum256([]byte(use.EntityID + "\x00" + use.AssertionID))
	err := db.batch(ctx, func(batch *pgx.Batch) {
		batch.Queue(sweep("saml_assertions", "organization_id, hash", "expires_at"), at, samlSweep)
		batch.Queue(`INSERT INTO saml_assertions (organization_id, hash, expires_at) VALUES ($1, $2, $3)`,
			use.OrganizationID, hash[:], use.ExpiresAt)
	})
	if violates(err, "saml_assertions_pkey") {
		return fault.Wrap(err, fault.Conflict, "この応答はすでに使用されています。")
	}
	return err
}

// AcceptAssertion implements saml.Store.
func (db *DB) AcceptAssertion(
	ctx context.Context, a saml.Acceptance, at time.Time, decide func(saml.Candidates) (saml.Decision, error),
) error {
	var refused error // decide's error is not the database's and must not be translated.
	err := db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockOrganization(ctx, tx, a.OrganizationID); err != nil {
			return err
		}
		if a.ConsentHash != nil {
			if err := takeHeldAssertion(ctx, tx, a, at); err != nil {
				return err
			}
		}
		found, err := samlCandidates(ctx, tx, a)
		if err != nil {
			return err
		}
		var decision saml.Decision
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
			return storeHeldAssertion(ctx, tx, a, decision.Member, at)
		}
		if decision.Link {
			if err := linkSAML(ctx, tx, a, decision, found, at); err != nil {
				return err
			}
		}
		return storeSAMLCode(ctx, tx, a.Code, decision.Member, at)
	})
	if errors.Is(err, errRefused) {
		return refused
	}
	return err
}

var errRefused = errors.New("refused")

// samlCandidates returns the members whom an assertion may identify. The organization must be locked.
func samlCandidates(ctx context.Context, tx pgx.Tx, a saml.Acceptance) (found saml.Candidates, err error) {
	// A member has signed in if they have opened the app or any identity provider has authenticated them.
	const member = `
		SELECT u.id, u.organization_id, u.subject, u.email, u.name, u.role, ` + memberState + ` AS state, u.auth_type,
		    u.last_signed_in_at IS NOT NULL OR EXISTS (
		        SELECT 1 FROM federated_identities i WHERE i.organization_id = u.organization_id
		            AND i.user_id = u.id) AS signed_in
		FROM users u
		JOIN organizations o ON o.id = u.organization_id `
	linked, err := queryRows[saml.Member](ctx, tx, member+`
		JOIN federated_identities f ON f.organization_id = u.organization_id AND f.user_id = u.id
		WHERE f.organization_id = $1 AND f.entity_id = $2 AND f.name_id = $3`, a.OrganizationID, a.EntityID, a.NameID)
	if err != nil {
		return found, err
	}
	if len(linked) == 1 {
		found.Linked = &linked[0]
		return found, nil
	}
	// In any organization, because an address belongs to one member only.
	named, err := queryRows[saml.Member](ctx, tx, member+`WHERE u.email = $1`, strings.ToLower(a.Email))
	if err != nil {
		return found, err
	}
	if len(named) == 1 {
		found.ByEmail = &named[0]
		if found.LinkedToAnother, err = queryValue[bool](ctx, tx, `
			SELECT EXISTS (SELECT FROM federated_identities WHERE organization_id = $1
			    AND user_id = $2 AND entity_id = $3)`,
			a.OrganizationID, found.ByEmail.ID, a.EntityID); err != nil {
			return found, err
		}
	}
	free, err := freeSeats(ctx, tx, a.OrganizationID)
	found.SeatFree = free > 0
	return found, err
}

// linkSAML links a NameID to a member, and logs it.
func linkSAML(ctx context.Context, tx pgx.Tx, a saml.Acceptance, decision saml.Decision, found saml.Candidates,
	at time.Time,
) error {
	if err := exec(ctx, tx, `
		INSERT INTO federated_identities (organization_id, entity_id, name_id, user_id, created_at)
		    VALUES ($1, $2, $3, $4, $5)`,
		a.OrganizationID, a.EntityID, a.NameID, decision.Member, at); err != nil {
		return err
	}
	event := org.Event{
		OrganizationID: &a.OrganizationID, Action: org.ActionLink, TargetKind: org.TargetUser,
		TargetID: decision.Member.String(),
		Details: []org.Change{
			{Field: "idp_entity_id", After: a.EntityID},
			{Field: "name_id", After: a.NameID},
			{Field: "email", After: a.Email},
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

func storeSAMLCode(ctx context.Context, tx pgx.Tx, c saml.Code, userID uuid.UUID, at time.Time) error {
	return send(ctx, tx, func(batch *pgx.Batch) {
		batch.Queue(sweep("saml_codes", "hash", "expires_at"), at, samlSweep)
		batch.Queue(`
			INSERT INTO saml_codes (hash, browser_hash, organization_id, user_id, next, session_until, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			c.Hash, c.BrowserHash, c.OrganizationID, userID, c.Next, c.SessionUntil, c.ExpiresAt)
	})
}

// TakeSAMLCode implements saml.Store.
func (db *DB) TakeSAMLCode(
	ctx context.Context, organizationID uuid.UUID, hash, browserHash []byte, at time.Time,
) (saml.Grantee, error) {
	return queryRow[saml.Grantee](ctx, db.pool, `
		DELETE FROM saml_codes c USING users u, organizations o
		WHERE c.hash = $1 AND c.browser_hash = $2 AND c.organization_id = $3 AND c.expires_at > $4
		  AND u.organization_id = c.organization_id AND u.id = c.user_id AND `+memberState+` = $5
		  AND o.id = c.organization_id AND o.auth_type = $6
		RETURNING u.subject, u.email, u.name, c.next, c.session_until`,
		hash, browserHash, organizationID, at, identity.StateActive, identity.AuthFederated)
}

// CreateSAMLTest implements saml.Store.
func (db *DB) CreateSAMLTest(ctx context.Context, actor identity.Actor, test saml.Test, state saml.State,
	at time.Time,
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := send(ctx, tx, func(batch *pgx.Batch) {
			batch.Queue(sweep("saml_tests", "id", "created_at"), at.Add(-samlTestAfter), samlSweep)
			batch.Queue(`INSERT INTO saml_tests (id, organization_id, status, created_at) VALUES ($1, $2, $3, $4)`,
				test.ID, actor.OrganizationID, test.Status, at)
			queueSAMLState(batch, state)
		}); err != nil {
			return err
		}
		return audit(ctx, tx, org.Event{
			OrganizationID: &actor.OrganizationID, By: org.AuditActorOf(actor), Action: org.ActionSAMLTest,
			TargetKind: org.TargetSAML,
			TargetID:   actor.OrganizationID.String(),
		})
	})
}

// FinishSAMLTest implements saml.Store.
func (db *DB) FinishSAMLTest(ctx context.Context, organizationID uuid.UUID, test saml.Test) error {
	return exec(ctx, db.pool, `
		UPDATE saml_tests SET status = $3, error = $4, name_id = $5, email = $6, name = $7, attributes = $8
		WHERE id = $1 AND organization_id = $2`,
		test.ID, organizationID, test.Status, test.Error, test.NameID, test.Email, test.Name, orEmpty(test.Attributes))
}

// SAMLTest implements saml.Store.
func (db *DB) SAMLTest(ctx context.Context, organizationID, id uuid.UUID) (saml.Test, error) {
	return queryRow[saml.Test](ctx, db.pool, `
		SELECT id, status, error, name_id, email, name, attributes FROM saml_tests
		    WHERE id = $1 AND organization_id = $2`,
		id, organizationID)
}

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
