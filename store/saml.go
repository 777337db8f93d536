package store

import (
	"context"
	"crypto/sha256"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

var _ saml.Store = (*DB)(nil)

// samlTestAfter is the time for which the results of trials are stored.
const samlTestAfter = 24 * time.Hour

func (db *DB) SAMLKey(ctx context.Context) (saml.Key, error) {
	key, err := queryRow[saml.Key](ctx, db.pool, `SELECT private_key, certificate, created_at FROM saml_keys`)
	if err == nil {
		key.PrivateKey, err = db.openSecret(key.PrivateKey, samlKeyOwner)
	}
	return key, err
}

func (db *DB) AddFirstSAMLKey(ctx context.Context, key saml.Key) error {
	kept, err := db.sealSecret(key.PrivateKey, samlKeyOwner)
	if err != nil {
		return err
	}
	return exec(ctx, db.pool, `
		INSERT INTO saml_keys (private_key, certificate, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
		kept, key.Certificate, key.CreatedAt)
}

func (db *DB) SAMLSettings(ctx context.Context, organizationID uuid.UUID) (saml.Settings, error) {
	return samlSettings(ctx, db.pool, organizationID)
}

func samlSettings(ctx context.Context, q querier, organizationID uuid.UUID) (saml.Settings, error) {
	settings, err := findRow[saml.Settings](ctx, q, fault.Errorf(fault.NotFound, "組織が見つかりません。"), `
		SELECT o.id AS organization_id, o.auth_type = $2 AND o.sso_protocol = 'saml' AS enabled, o.mail_domains,
		       coalesce(c.entity_id, '') AS entity_id,
		       coalesce(c.sso_url, '') AS sso_url, coalesce(c.certificates, '{}') AS certificates,
		       coalesce(c.email_attribute, '') AS email_attribute, coalesce(c.name_attribute, '') AS name_attribute,
		       coalesce(c.email_domains, '{}') AS email_domains, c.updated_at,
		       coalesce(c.metadata_url, '') AS metadata_url, c.metadata_read_at, c.metadata_due_at,
		       coalesce(c.metadata_error, '') AS metadata_error
		FROM organizations o
		LEFT JOIN saml_configs c ON c.organization_id = o.id
		WHERE o.id = $1`, organizationID, identity.AuthFederated)
	settings.EmailDomains = ownDomains(settings.EmailDomains, settings.MailDomains)
	return settings, err
}

func (db *DB) ChangeSAMLSettings(
	ctx context.Context, actor identity.Actor, action saml.Action, change func(*saml.Settings) error,
) (saml.Settings, error) {
	return changeSSO(ctx, db, actor, org.Action(action), ssoSettings[saml.Settings]{
		protocol: sso.SAML, target: org.TargetSAML, read: samlSettings, save: saveSAMLSettings, changes: samlChanges,
		describe: func(s saml.Settings) (bool, string) { return s.Enabled, s.EntityID },
	}, change)
}

func saveSAMLSettings(ctx context.Context, tx pgx.Tx, s saml.Settings) error {
	if s.UpdatedAt == nil {
		return nil
	}
	return exec(ctx, tx, `
		INSERT INTO saml_configs (organization_id, entity_id, sso_url, certificates, email_attribute, name_attribute,
			email_domains, updated_at, metadata_url, metadata_read_at, metadata_due_at, metadata_error)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (organization_id) DO UPDATE SET entity_id = $2, sso_url = $3,
		    certificates = $4, email_attribute = $5,
			name_attribute = $6, email_domains = $7, updated_at = $8, metadata_url = $9, metadata_read_at = $10,
			metadata_due_at = $11, metadata_error = $12`,
		s.OrganizationID, s.EntityID, s.SSOURL, orEmpty(s.Certificates), s.EmailAttribute, s.NameAttribute,
		orEmpty(s.EmailDomains), s.UpdatedAt, s.MetadataURL, s.MetadataReadAt, s.MetadataDueAt, s.MetadataError)
}

func (db *DB) ClaimMetadataReadings(ctx context.Context, at, next time.Time) ([]saml.MetadataReading, error) {
	return queryRows[saml.MetadataReading](ctx, db.pool, `
		UPDATE saml_configs SET metadata_due_at = $2 WHERE metadata_due_at <= $1
		RETURNING organization_id, metadata_url AS url`, at, next)
}

func (db *DB) RefreshSAMLSettings(
	ctx context.Context, reading saml.MetadataReading, change func(*saml.Settings) error,
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockOrganization(ctx, tx, reading.OrganizationID); err != nil {
			return err
		}
		before, err := samlSettings(ctx, tx, reading.OrganizationID)
		if err != nil || before.MetadataURL != reading.URL {
			return err
		}
		after := before
		if err := change(&after); err != nil {
			return err
		}
		if err := saveSAMLSettings(ctx, tx, after); err != nil {
			return err
		}
		details := samlChanges(before, after)
		if len(details) == 0 {
			return nil
		}
		return audit(ctx, tx, org.Event{
			OrganizationID: &reading.OrganizationID, By: org.System(), Action: org.Action(saml.ActionRefresh),
			TargetKind: org.TargetSAML, TargetID: reading.OrganizationID.String(), TargetLabel: after.EntityID,
			Details: details,
		})
	})
}

func (db *DB) FailMetadataReading(
	ctx context.Context, reading saml.MetadataReading, reason string, next time.Time,
) error {
	return exec(ctx, db.pool, `
		UPDATE saml_configs SET metadata_error = $3, metadata_due_at = $4 WHERE organization_id = $1 AND metadata_url = $2`,
		reading.OrganizationID, reading.URL, reason, next)
}

func (db *DB) SAMLProviders(ctx context.Context) ([]saml.Provider, error) {
	return queryRows[saml.Provider](ctx, db.pool, `
		SELECT o.id AS organization_id, o.name AS organization_name, c.certificates
		FROM organizations o
		JOIN saml_configs c ON c.organization_id = o.id
		WHERE o.auth_type = $1 AND o.sso_protocol = 'saml' AND o.deletes_at IS NULL
		ORDER BY o.id`, identity.AuthFederated)
}

// ClaimWarning implements saml.Store. It removes the records of the organization's earlier certificates.
func (db *DB) ClaimWarning(ctx context.Context, warning saml.Warning, at time.Time) ([]saml.Administrator, error) {
	return txResult(ctx, db, func(tx pgx.Tx) ([]saml.Administrator, error) {
		if err := exec(ctx, tx, `DELETE FROM saml_warnings WHERE organization_id = $1 AND expires_at < $2`,
			warning.OrganizationID, warning.ExpiresAt); err != nil {
			return nil, err
		}
		return queryRows[saml.Administrator](ctx, tx, `
			WITH claimed AS (
			    INSERT INTO saml_warnings (organization_id, user_id, expires_at, days, claimed_at)
			    SELECT u.organization_id, u.id, $2, $3, $4
			    FROM users u
			    JOIN organizations o ON o.id = u.organization_id
			    WHERE u.organization_id = $1 AND `+memberState+` = 'active'
			        AND u.role IN ('organization-admin', 'organization-super-admin')
			    ORDER BY u.id
			    ON CONFLICT DO NOTHING
			    RETURNING user_id
			)
			SELECT u.id, u.email, u.name FROM claimed JOIN users u ON u.id = claimed.user_id`,
			warning.OrganizationID, warning.ExpiresAt, warning.Days, at)
	})
}

func (db *DB) ReleaseWarning(ctx context.Context, warning saml.Warning, memberID uuid.UUID) error {
	return exec(ctx, db.pool, `
		DELETE FROM saml_warnings WHERE organization_id = $1 AND user_id = $2 AND expires_at = $3 AND days = $4`,
		warning.OrganizationID, memberID, warning.ExpiresAt, warning.Days)
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
		{Field: "idp_metadata_url", Before: before.MetadataURL, After: after.MetadataURL},
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

func (db *DB) UseAssertion(ctx context.Context, use saml.Use, at time.Time) error {
	hash := sha256.Sum256([]byte(use.EntityID + "\x00" + use.AssertionID))
	err := db.batch(ctx, func(batch *pgx.Batch) {
		batch.Queue(sweep("saml_assertions", "organization_id, hash", "expires_at"), at, ssoSweep)
		batch.Queue(`INSERT INTO saml_assertions (organization_id, hash, expires_at) VALUES ($1, $2, $3)`,
			use.OrganizationID, hash[:], use.ExpiresAt)
	})
	if violates(err, "saml_assertions_pkey") {
		return fault.Wrap(err, fault.Conflict, "この応答はすでに使用されています。")
	}
	return err
}

func (db *DB) CreateSAMLTest(ctx context.Context, actor identity.Actor, test saml.Test, state sso.State,
	at time.Time,
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := send(ctx, tx, func(batch *pgx.Batch) {
			batch.Queue(sweep("saml_tests", "id", "created_at"), at.Add(-samlTestAfter), ssoSweep)
			batch.Queue(`INSERT INTO saml_tests (id, organization_id, status, created_at) VALUES ($1, $2, $3, $4)`,
				test.ID, actor.OrganizationID, test.Status, at)
			queueState(batch, state)
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

func (db *DB) FinishSAMLTest(ctx context.Context, organizationID uuid.UUID, test saml.Test) error {
	return exec(ctx, db.pool, `
		UPDATE saml_tests SET status = $3, error = $4, name_id = $5, email = $6, name = $7, attributes = $8
		WHERE id = $1 AND organization_id = $2`,
		test.ID, organizationID, test.Status, test.Error, test.NameID, test.Email, test.Name, orEmpty(test.Attributes))
}

func (db *DB) SAMLTest(ctx context.Context, organizationID, id uuid.UUID) (saml.Test, error) {
	return queryRow[saml.Test](ctx, db.pool, `
		SELECT id, status, error, name_id, email, name, attributes FROM saml_tests
		    WHERE id = $1 AND organization_id = $2`,
		id, organizationID)
}
