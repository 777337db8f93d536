package store

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// endedSessionRetention is the time for which ended sessions are stored. It exceeds the longest session, so that an
// ended session cannot be recorded again as a new one.
const endedSessionRetention = 31 * 24 * time.Hour

// sessionEnded returns the condition that a session of user u of organization o has ended, by the records of the user
// pool (g) and of this server (s). began and how are columns or parameters: the start and the identity.AuthType of the
// session. A password session, except a super-admin's, also ends when single sign-on is switched on or off. Connections
// have a separate idle limit. Personal access tokens have an expiry time instead of the organization's limits. Times
// are compared in whole seconds, the precision of the times in tokens.
func sessionEnded(began, how string) string {
	return `(g.revoked_at IS NOT NULL OR g.expires_at <= now() OR s.ended_at IS NOT NULL
	    OR ` + began + ` < date_trunc('second', u.sessions_since)
	    OR ` + how + ` = 'cognito' AND u.role <> 'organization-super-admin'
	        AND ` + began + ` < date_trunc('second', o.changed_at)
	    OR s.expires_at <= now()
	    OR s.client_id IS DISTINCT FROM 'personal' AND (
	        ` + began + ` <= now() - make_interval(mins =>
	            CASE ` + how + ` WHEN 'cognito' THEN o.password_max_minutes ELSE o.sso_max_minutes END)
	        OR s.used_at <= now() - make_interval(mins =>
	            CASE WHEN s.client_id <> '' THEN o.connection_idle_minutes
	                WHEN ` + how + ` = 'cognito' THEN o.password_idle_minutes ELSE o.sso_idle_minutes END)))`
}

func (db *DB) RecordSession(ctx context.Context, use identity.SessionUse) error {
	a := use.Actor
	return exec(ctx, db.pool, `
		INSERT INTO sessions AS s (id, organization_id, user_id, auth_type, began_at, used_at, user_agent, address)
		VALUES ($1, $2, $3, $4, $5, now(), $6, $7)
		ON CONFLICT (id) DO UPDATE SET used_at = now(), user_agent = excluded.user_agent, address = excluded.address
		WHERE s.ended_at IS NULL AND s.user_id = excluded.user_id`,
		a.Session, a.OrganizationID, a.ID, a.AuthType, a.AuthTime, storable(use.UserAgent), storableAddress(a.Address))
}

func (db *DB) ListSessions(ctx context.Context, organizationID, userID uuid.UUID) ([]identity.Session, error) {
	return queryRows[identity.Session](ctx, db.pool, `
		SELECT s.id, s.auth_type, s.began_at, s.used_at, s.user_agent, s.address,
		       least(g.expires_at, s.began_at + make_interval(mins =>
		           CASE s.auth_type WHEN 'cognito' THEN o.password_max_minutes
		               ELSE o.sso_max_minutes END)) AS expires_at
		FROM sessions s
		JOIN users u ON u.organization_id = s.organization_id AND u.id = s.user_id
		JOIN organizations o ON o.id = u.organization_id
		LEFT JOIN pool_grants g ON g.id = s.id
		WHERE s.organization_id = $1 AND s.user_id = $2 AND s.client_id = ''
		    AND NOT coalesce(`+sessionEnded("s.began_at", "s.auth_type")+`, false)
		ORDER BY s.used_at DESC, s.id`, organizationID, userID)
}

func (db *DB) EndSession(ctx context.Context, actor identity.Actor, session uuid.UUID) error {
	return db.endSessions(ctx, actor, `id = $3`, session, session != actor.Session)
}

func (db *DB) EndOtherSessions(ctx context.Context, actor identity.Actor) error {
	err := db.endSessions(ctx, actor, `id <> $3`, actor.Session, true)
	if fault.CodeOf(err) == fault.NotFound { // There are no other sessions.
		return nil
	}
	return err
}

// endSessions ends the sessions of the actor that match which. If there are none, the error has the code
// fault.NotFound. A session that has not been used yet has a record only in the user pool.
func (db *DB) endSessions(ctx context.Context, actor identity.Actor, which string, session uuid.UUID,
	logged bool,
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		ended, err := tx.Exec(ctx, `
			UPDATE sessions SET ended_at = now()
			WHERE organization_id = $1 AND user_id = $2 AND client_id = ''
			    AND ended_at IS NULL AND `+which, actor.OrganizationID, actor.ID, session)
		if err != nil {
			return err
		}
		revoked, err := tx.Exec(ctx, `
			UPDATE pool_grants SET revoked_at = now()
			WHERE sub::text = (SELECT subject FROM users WHERE organization_id = $1 AND id = $2)
			    AND revoked_at IS NULL AND `+which,
			actor.OrganizationID, actor.ID, session)
		if err != nil {
			return err
		}
		if ended.RowsAffected()+revoked.RowsAffected() == 0 {
			return fault.Errorf(fault.NotFound, "セッションが見つかりません。")
		}
		if !logged {
			return nil
		}
		self := org.Member{ID: actor.ID, OrganizationID: actor.OrganizationID, Email: actor.Email}
		return audit(ctx, tx, memberEvent(org.AuditActorOf(actor), org.ActionSessionEnd, self))
	})
}

// EndStaleSessions implements identity.Store. Several servers may call it at the same time.
func (db *DB) EndStaleSessions(ctx context.Context) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := exec(ctx, tx, `
			WITH stale AS (
			    SELECT s.id
			    FROM sessions s
			    JOIN users u ON u.organization_id = s.organization_id AND u.id = s.user_id
			    JOIN organizations o ON o.id = u.organization_id
			    LEFT JOIN pool_grants g ON g.id = s.id
			    WHERE s.ended_at IS NULL AND `+sessionEnded("s.began_at", "s.auth_type")+`
			    ORDER BY s.id
			    FOR UPDATE OF s SKIP LOCKED
			), ended AS (
			    UPDATE sessions s SET ended_at = now() FROM stale WHERE s.id = stale.id RETURNING s.id
			)
			UPDATE pool_grants g SET revoked_at = now() FROM ended
			    WHERE g.id = ended.id AND g.revoked_at IS NULL`); err != nil {
			return err
		}
		if err := sweepConnections(ctx, tx); err != nil {
			return err
		}
		return exec(ctx, tx, `DELETE FROM sessions WHERE ended_at IS NOT NULL AND began_at < now() - $1::interval`,
			endedSessionRetention)
	})
}

// endMemberSessions ends all sessions of a member, including sessions of another identity provider that are not
// recorded here, and the member's sign-ins in progress. The organization must be locked.
func endMemberSessions(ctx context.Context, tx pgx.Tx, m org.Member) error {
	err := send(ctx, tx, func(batch *pgx.Batch) {
		batch.Queue(`
			UPDATE users SET sessions_since = clock_timestamp()
			    WHERE organization_id = $1 AND id = $2`, m.OrganizationID, m.ID)
		batch.Queue(`DELETE FROM saml_codes WHERE organization_id = $1 AND user_id = $2`, m.OrganizationID, m.ID)
		batch.Queue(`DELETE FROM saml_links WHERE organization_id = $1 AND user_id = $2`, m.OrganizationID, m.ID)
		batch.Queue(`
			UPDATE sessions SET ended_at = now() WHERE organization_id = $1 AND user_id = $2 AND ended_at IS NULL`,
			m.OrganizationID, m.ID)
	})
	if err != nil {
		return err
	}
	return endEarlierSessions(ctx, tx, m.Subject, time.Now())
}

func (db *DB) SessionLimits(ctx context.Context, organizationID uuid.UUID) (org.SessionLimits, error) {
	return sessionLimits(ctx, db.pool, organizationID)
}

func sessionLimits(ctx context.Context, q querier, organizationID uuid.UUID) (org.SessionLimits, error) {
	row, err := findRow[struct{ SSOIdle, SSOMax, PasswordIdle, PasswordMax, ConnectionIdle int }](ctx, q,
		org.ErrNoOrganization, `
		SELECT sso_idle_minutes AS ssoidle, sso_max_minutes AS ssomax, password_idle_minutes AS password_idle,
		       password_max_minutes AS password_max, connection_idle_minutes AS connection_idle
		FROM organizations WHERE id = $1`, organizationID)
	return org.SessionLimits{
		SingleSignOn: org.SessionLimit{Idle: row.SSOIdle, Max: row.SSOMax},
		Password:     org.SessionLimit{Idle: row.PasswordIdle, Max: row.PasswordMax},
		Connection:   row.ConnectionIdle,
	}, err
}

func (db *DB) SetSessionLimits(
	ctx context.Context, actor identity.Actor, change func(*org.SessionLimits) error, check func(*org.Member) error,
) (limits org.SessionLimits, err error) {
	err = db.changeOrganization(ctx, actor, check, func(tx pgx.Tx) error {
		before, err := sessionLimits(ctx, tx, actor.OrganizationID)
		if err != nil {
			return err
		}
		limits = before
		if err := change(&limits); err != nil {
			return err
		}
		changes := limits.Changes(before)
		if len(changes) == 0 {
			return nil
		}
		if err := exec(ctx, tx, `
			UPDATE organizations
			SET sso_idle_minutes = $2, sso_max_minutes = $3, password_idle_minutes = $4, password_max_minutes = $5,
			    connection_idle_minutes = $6
			WHERE id = $1`, actor.OrganizationID, limits.SingleSignOn.Idle, limits.SingleSignOn.Max,
			limits.Password.Idle, limits.Password.Max, limits.Connection); err != nil {
			return err
		}
		return audit(ctx, tx, organizationEvent(actor, org.ActionSessionLimits, changes...))
	})
	return limits, err
}

func (db *DB) AddressRanges(ctx context.Context, organizationID uuid.UUID) (org.AddressRanges, error) {
	return addressRanges(ctx, db.pool, organizationID)
}

func addressRanges(ctx context.Context, q querier, organizationID uuid.UUID) (org.AddressRanges, error) {
	return findRow[org.AddressRanges](ctx, q, org.ErrNoOrganization, `
		SELECT address_ranges AS app, api_address_ranges AS api, connection_address_ranges AS connections
		FROM organizations WHERE id = $1`, organizationID)
}

func (db *DB) SetAddressRanges(
	ctx context.Context, actor identity.Actor, change func(*org.AddressRanges) error, check func(*org.Member) error,
) (ranges org.AddressRanges, err error) {
	err = db.changeOrganization(ctx, actor, check, func(tx pgx.Tx) error {
		ranges, err = changeAddressRanges(ctx, tx, organizationEvent(actor, org.ActionAddressRanges), change)
		return err
	})
	return ranges, err
}

// ClearAddressRanges removes the networks of an organization for an operator, so that its members can use it from
// anywhere.
func (db *DB) ClearAddressRanges(ctx context.Context, organizationID uuid.UUID, by org.AuditActor) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		_, err := changeAddressRanges(ctx, tx, org.Event{
			OrganizationID: &organizationID, By: by, Action: org.ActionAddressRanges,
			TargetKind: org.TargetOrganization, TargetID: organizationID.String(),
		}, func(ranges *org.AddressRanges) error {
			*ranges = org.AddressRanges{App: []netip.Prefix{}}
			return nil
		})
		return err
	})
}

// changeAddressRanges changes the networks of the organization of an event, which it logs with the changes. A trigger
// notifies the servers.
func changeAddressRanges(
	ctx context.Context, tx pgx.Tx, event org.Event, change func(*org.AddressRanges) error,
) (org.AddressRanges, error) {
	ranges, err := addressRanges(ctx, tx, *event.OrganizationID)
	if err != nil {
		return ranges, err
	}
	before := ranges.Texts()
	if err := change(&ranges); err != nil {
		return ranges, err
	}
	after := ranges.Texts()
	text := func(ranges *[]string) string {
		if ranges == nil {
			return "app"
		}
		return strings.Join(*ranges, " ")
	}
	event.Details = changed([]org.Change{
		{Field: "address_ranges", Before: text(&before.App), After: text(&after.App)},
		{Field: "api_address_ranges", Before: text(before.API), After: text(after.API)},
		{Field: "connection_address_ranges", Before: text(before.Connections), After: text(after.Connections)},
	})
	if len(event.Details) == 0 {
		return ranges, nil
	}
	if err := exec(ctx, tx, `
		UPDATE organizations SET address_ranges = $2, api_address_ranges = $3, connection_address_ranges = $4
		WHERE id = $1`, event.OrganizationID, ranges.App, ranges.API, ranges.Connections); err != nil {
		return ranges, err
	}
	return ranges, audit(ctx, tx, event)
}
