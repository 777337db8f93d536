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
	"github.com/tsumugi-ai/tsumugi/internal/identity/oidc"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

var _ oidc.Store = (*DB)(nil)

func oidcSecretOwner(organizationID string) string { return "oidc_configs " + organizationID }

func (db *DB) OIDCSettings(ctx context.Context, organizationID uuid.UUID) (oidc.Settings, error) {
	return db.oidcSettings(ctx, db.pool, organizationID)
}

func (db *DB) oidcSettings(ctx context.Context, q querier, organizationID uuid.UUID) (oidc.Settings, error) {
	settings, err := findRow[oidc.Settings](ctx, q, org.ErrNoOrganization, `
		SELECT o.id AS organization_id, o.auth_type = $2 AND o.sso_protocol = 'oidc' AS enabled, o.mail_domains,
		       coalesce(c.issuer, '') AS issuer, coalesce(c.client_id, '') AS client_id,
		       coalesce(c.client_secret, '') AS client_secret, coalesce(c.scopes, '{}') AS scopes,
		       coalesce(c.email_claim, '') AS email_claim, coalesce(c.name_claim, '') AS name_claim,
		       coalesce(c.groups_claim, '') AS groups_claim, coalesce(c.prompt, '') AS prompt,
		       coalesce(c.acr_values, '{}') AS acr_values, coalesce(c.max_age, 0) AS max_age,
		       coalesce(c.email_domains, '{}') AS email_domains, c.updated_at
		FROM organizations o
		LEFT JOIN oidc_configs c ON c.organization_id = o.id
		WHERE o.id = $1`, organizationID, identity.AuthFederated)
	if err != nil {
		return settings, err
	}
	settings.EmailDomains = ownDomains(settings.EmailDomains, settings.MailDomains)
	settings.ClientSecret, err = db.openSecret(settings.ClientSecret, oidcSecretOwner(organizationID.String()))
	return settings, err
}

func (db *DB) ChangeOIDCSettings(
	ctx context.Context, actor identity.Actor, action oidc.Action, change func(*oidc.Settings) error,
) (oidc.Settings, error) {
	return changeSSO(ctx, db, actor, org.Action(action), ssoSettings[oidc.Settings]{
		protocol: sso.OIDC, target: org.TargetOIDC, read: db.oidcSettings, save: db.saveOIDCSettings, changes: oidcChanges,
		describe: func(s oidc.Settings) (bool, string) { return s.Enabled, s.Issuer },
	}, change)
}

func (db *DB) saveOIDCSettings(ctx context.Context, tx pgx.Tx, s oidc.Settings) error {
	if s.UpdatedAt == nil {
		return nil
	}
	secret := s.ClientSecret
	if secret != "" {
		var err error
		if secret, err = db.sealSecret(secret, oidcSecretOwner(s.OrganizationID.String())); err != nil {
			return err
		}
	}
	return exec(ctx, tx, `
		INSERT INTO oidc_configs (organization_id, issuer, client_id, client_secret, scopes, email_claim, name_claim,
		                          groups_claim, prompt, acr_values, max_age, email_domains, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
		ON CONFLICT (organization_id) DO UPDATE SET issuer = $2, client_id = $3, client_secret = $4, scopes = $5,
		    email_claim = $6, name_claim = $7, groups_claim = $8, prompt = $9, acr_values = $10, max_age = $11,
		    email_domains = $12, updated_at = $13`,
		s.OrganizationID, s.Issuer, s.ClientID, secret, orEmpty(s.Scopes), s.EmailClaim, s.NameClaim, s.GroupsClaim,
		s.Prompt, orEmpty(s.ACRValues), s.MaxAge, orEmpty(s.EmailDomains), s.UpdatedAt)
}

// oidcChanges returns the differences between two settings. For the secret it records only that it has changed.
func oidcChanges(before, after oidc.Settings) []org.Change {
	secretState := func() string {
		switch after.ClientSecret {
		case before.ClientSecret:
			return ""
		case "":
			return "removed"
		}
		return "set"
	}
	list := func(values []string) string { return strings.Join(values, ", ") }
	return changed([]org.Change{
		{Field: "enabled", Before: strconv.FormatBool(before.Enabled), After: strconv.FormatBool(after.Enabled)},
		{Field: "issuer", Before: before.Issuer, After: after.Issuer},
		{Field: "client_id", Before: before.ClientID, After: after.ClientID},
		{Field: "client_secret", After: secretState()},
		{Field: "scopes", Before: list(before.Scopes), After: list(after.Scopes)},
		{Field: "email_claim", Before: before.EmailClaim, After: after.EmailClaim},
		{Field: "name_claim", Before: before.NameClaim, After: after.NameClaim},
		{Field: "groups_claim", Before: before.GroupsClaim, After: after.GroupsClaim},
		{Field: "prompt", Before: before.Prompt, After: after.Prompt},
		{Field: "acr_values", Before: list(before.ACRValues), After: list(after.ACRValues)},
		{Field: "max_age", Before: strconv.Itoa(before.MaxAge), After: strconv.Itoa(after.MaxAge)},
		{Field: "email_domains", Before: list(before.EmailDomains), After: list(after.EmailDomains)},
	})
}

// logoutRetention is the retention of logouts, for sign-ins that are exchanging the provider's code. An exchange takes
// less.
const logoutRetention = time.Minute

// logoutHash returns the key of a logout in saml_assertions, with logoutRetention after its time.
func logoutHash(issuer, subject, session string) []byte {
	hash := sha256.Sum256([]byte(issuer + "\x00ended\x00" + subject + "\x00" + session))
	return hash[:]
}

// EndProviderSessions implements oidc.Store. It ends recorded sessions, which closes their streams, revokes unused sessions, and
// ends sign-ins in progress. A sign-in that is still exchanging the provider's code finds the stored logout.
func (db *DB) EndProviderSessions(ctx context.Context, l oidc.Logout, at time.Time) error {
	hash := sha256.Sum256([]byte(l.Issuer + "\x00logout\x00" + l.TokenID))
	err := db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockOrganization(ctx, tx, l.OrganizationID); err != nil {
			return err
		}
		return send(ctx, tx, func(batch *pgx.Batch) {
			batch.Queue(sweep("saml_assertions", "organization_id, hash", "expires_at"), at, ssoSweep)
			batch.Queue(`INSERT INTO saml_assertions (organization_id, hash, expires_at) VALUES ($1, $2, $3)`,
				l.OrganizationID, hash[:], l.ExpiresAt)
			batch.Queue(`
				INSERT INTO saml_assertions (organization_id, hash, expires_at)
				VALUES ($1, $2, clock_timestamp() + $3::interval)
				ON CONFLICT (organization_id, hash) DO UPDATE SET expires_at = excluded.expires_at`,
				l.OrganizationID, logoutHash(l.Issuer, l.Subject, l.SessionID), logoutRetention)
			batch.Queue(`
				DELETE FROM saml_codes
				WHERE organization_id = $1 AND entity_id = $2 AND ($3 = '' OR name_id = $3)
				    AND ($4 = '' OR provider_session = $4)`, l.OrganizationID, l.Issuer, l.Subject, l.SessionID)
			batch.Queue(`
				DELETE FROM saml_links
				WHERE organization_id = $1 AND protocol = $5 AND entity_id = $2 AND ($3 = '' OR name_id = $3)
				    AND ($4 = '' OR provider_session = $4)`, l.OrganizationID, l.Issuer, l.Subject, l.SessionID, sso.OIDC)
			batch.Queue(`
				WITH ended AS (
				    UPDATE pool_grants g SET revoked_at = now()
				    FROM users u
				    WHERE u.organization_id = $1 AND u.subject = g.sub::text AND g.revoked_at IS NULL
				        AND g.provider = $2 AND ($3 = '' OR g.provider_person = $3)
				        AND ($4 = '' OR g.provider_session = $4)
				    RETURNING g.id
				)
				UPDATE sessions s SET ended_at = now() FROM ended
				WHERE s.id = ended.id AND s.ended_at IS NULL`, l.OrganizationID, l.Issuer, l.Subject, l.SessionID)
		})
	})
	if violates(err, "saml_assertions_pkey") {
		return fault.Wrap(err, fault.Conflict, "このログアウトトークンはすでに使用されています。")
	}
	return err
}
