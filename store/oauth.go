package store

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oauth"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

var _ oauth.Store = (*DB)(nil)

// TokenByHash implements oauth.Store. It searches all organizations, because the token determines the
// organization.
func (db *DB) TokenByHash(ctx context.Context, hash []byte) (oauth.StoredToken, error) {
	return findRow[oauth.StoredToken](ctx, db.pool, fault.Errorf(fault.NotFound, "%s", oauth.ErrNoConnection.Detail), `
		WITH first_use AS (
		    UPDATE connection_tokens SET used_at = now() WHERE hash = $1 AND kind = 'access' AND used_at IS NULL
		)
		SELECT u.subject, s.id AS session, s.auth_type, s.began_at AS auth_time, t.expires_at, s.client_id AS client,
		       s.scopes, t.kind, t.used_at IS NOT NULL AS used
		FROM connection_tokens t
		JOIN sessions s ON s.id = t.session_id
		JOIN users u ON u.organization_id = s.organization_id AND u.id = s.user_id
		WHERE t.hash = $1`, hash)
}

// AddGrant implements oauth.Store.
func (db *DB) AddGrant(ctx context.Context, g oauth.Grant) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockSession(ctx, tx, g.Session); err != nil {
			return err
		}
		return exec(ctx, tx, `
			INSERT INTO connection_grants (hash, user_code_hash, client_id, scopes, redirect_uri, challenge, address,
			                               user_agent, organization_id, user_id, auth_type, answered_at, created_at,
			                               expires_at, poll_interval)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
			g.Hash, g.UserCodeHash, g.ClientID, g.Scopes, g.RedirectURI, g.Challenge, g.Address, storable(g.UserAgent),
			g.OrganizationID, g.UserID, g.AuthType, g.AnsweredAt, g.CreatedAt, g.ExpiresAt, g.PollInterval)
	})
}

// lockSession refuses a session that has ended since its call was authenticated. Until the transaction ends, it delays
// whatever ends the session, which then finds and ends the new connection as well. An unknown session is accepted.
func lockSession(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	for _, ended := range []string{
		`SELECT ended_at IS NOT NULL FROM sessions WHERE id = $1 FOR SHARE`,
		`SELECT revoked_at IS NOT NULL FROM pool_grants WHERE id = $1 FOR SHARE`,
	} {
		found, err := queryValues[bool](ctx, tx, ended, id)
		if err != nil {
			return err
		}
		if slices.Contains(found, true) {
			return identity.ErrExpired
		}
	}
	return nil
}

const selectGrant = `
	SELECT hash, user_code_hash, client_id, scopes, redirect_uri, challenge, address, user_agent, organization_id,
	       user_id, auth_type, answered_at, denied, created_at, expires_at, polled_at, poll_interval, used_at
	FROM connection_grants `

// GrantByUserCode implements oauth.Store.
func (db *DB) GrantByUserCode(ctx context.Context, userCodeHash []byte) (oauth.Grant, error) {
	return findRow[oauth.Grant](ctx, db.pool, oauth.ErrNoDevice, selectGrant+`
		WHERE user_code_hash = $1 AND answered_at IS NULL AND expires_at > now()`, userCodeHash)
}

// AnswerGrant implements oauth.Store.
func (db *DB) AnswerGrant(ctx context.Context, actor identity.Actor, userCodeHash []byte, denied bool) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockSession(ctx, tx, actor.Session); err != nil {
			return err
		}
		return execRow(ctx, tx, oauth.ErrNoDevice, `
			UPDATE connection_grants
			SET organization_id = $2, user_id = $3, auth_type = $4, denied = $5, answered_at = now()
			WHERE user_code_hash = $1 AND answered_at IS NULL AND expires_at > now()`,
			userCodeHash, actor.OrganizationID, actor.ID, actor.AuthType, denied)
	})
}

// RedeemGrant implements oauth.Store.
func (db *DB) RedeemGrant(
	ctx context.Context, hash []byte, origin oauth.Origin,
	redeem func(*oauth.Grant) (*oauth.NewConnection, error),
) error {
	var refused error // The changes by redeem are stored, so its error must not roll them back.
	err := db.tx(ctx, func(tx pgx.Tx) error {
		grant, err := queryRow[oauth.Grant](ctx, tx, selectGrant+`WHERE hash = $1 FOR UPDATE`, hash)
		refused = fault.Errorf(oauth.InvalidGrant, "the code is not valid")
		switch {
		case isNoRows(err):
			return nil
		case err != nil:
			return err
		case grant.UsedAt != nil:
			return endReused(ctx, tx, origin, `id = (SELECT g.session_id FROM connection_grants g WHERE g.hash = $1)`,
				hash)
		}
		var opening *oauth.NewConnection
		opening, refused = redeem(&grant)
		var opened *uuid.UUID
		if refused == nil {
			opened = &opening.ID
			if err := openConnection(ctx, tx, grant, *opening, origin); err != nil {
				return err
			}
		}
		return exec(ctx, tx, `
			UPDATE connection_grants SET polled_at = $2, poll_interval = $3, used_at = $4, session_id = $5
			WHERE hash = $1`,
			hash, grant.PolledAt, grant.PollInterval, grant.UsedAt, opened)
	})
	if err != nil {
		return err
	}
	return refused
}

func openConnection(
	ctx context.Context, tx pgx.Tx, g oauth.Grant, o oauth.NewConnection, origin oauth.Origin,
) error {
	if err := exec(ctx, tx, `
		INSERT INTO sessions (id, organization_id, user_id, auth_type, began_at, used_at, user_agent, address,
		    client_id, scopes)
		VALUES ($1, $2, $3, $4, $5, now(), $6, $7, $8, $9)`,
		o.ID, g.OrganizationID, g.UserID, g.AuthType, g.AnsweredAt, storable(o.UserAgent), storableAddress(o.Address),
		g.ClientID, g.Scopes); err != nil {
		return err
	}
	if err := addTokens(ctx, tx, o.ID, nil, o.Tokens); err != nil {
		return err
	}
	return auditConnections(ctx, tx, org.ActionConnect, nil, origin, []uuid.UUID{o.ID})
}

// addTokens adds tokens to a connection. parent is the hash of the refresh token that was exchanged for them, nil for
// none.
func addTokens(ctx context.Context, tx pgx.Tx, id uuid.UUID, parent []byte, tokens []oauth.Token) error {
	return send(ctx, tx, func(batch *pgx.Batch) {
		for _, t := range tokens {
			batch.Queue(`
				INSERT INTO connection_tokens (hash, session_id, kind, expires_at, parent) VALUES ($1, $2, $3, $4, $5)`,
				t.Hash, id, t.Kind, t.ExpiresAt, parent)
		}
	})
}

// RotateTokens implements oauth.Store.
func (db *DB) RotateTokens(ctx context.Context, r oauth.Rotation) error {
	var refused error
	err := db.tx(ctx, func(tx pgx.Tx) error {
		refused = fault.Errorf(oauth.InvalidGrant, "the refresh token is not valid")
		held, err := queryRow[struct {
			SessionID     uuid.UUID
			Used, InGrace bool
		}](ctx, tx, `
			SELECT t.session_id, t.used_at IS NOT NULL AS used,
			       coalesce(t.used_at > now() - $2::interval, false) AS in_grace
			FROM connection_tokens t JOIN sessions s ON s.id = t.session_id
			WHERE t.hash = $1 AND t.kind = 'refresh' AND t.expires_at > now() AND s.ended_at IS NULL
			FOR UPDATE`, r.Hash, r.Grace)
		switch {
		case isNoRows(err):
			return nil
		case err != nil:
			return err
		}
		if held.Used {
			unused, err := voidNext(ctx, tx, held.SessionID, r)
			if err != nil {
				return err
			}
			if !held.InGrace || !unused {
				return endReused(ctx, tx, r.Origin, `id = $1`, held.SessionID)
			}
		}
		refused = nil
		if err := exec(ctx, tx, `
			UPDATE connection_tokens SET used_at = coalesce(used_at, now()) WHERE hash = $1`, r.Hash); err != nil {
			return err
		}
		if err := exec(ctx, tx, `
			UPDATE sessions SET used_at = now(), user_agent = $2, address = $3 WHERE id = $1`,
			held.SessionID, storable(r.Origin.UserAgent), storableAddress(r.Origin.Address)); err != nil {
			return err
		}
		return addTokens(ctx, tx, held.SessionID, r.Hash, r.Next)
	})
	if err != nil {
		return err
	}
	return refused
}

// voidNext voids the tokens that a refresh token was exchanged for earlier, and reports whether none of them was used.
// If another client holds them, one of the two clients has stolen the refresh token. The access token of that client
// has expired, and its next refresh ends the connection.
func voidNext(ctx context.Context, tx pgx.Tx, id uuid.UUID, r oauth.Rotation) (unused bool, err error) {
	tag, err := tx.Exec(ctx, `
		UPDATE connection_tokens
		SET parent = NULL, used_at = now(), expires_at = CASE kind WHEN 'access' THEN now() ELSE expires_at END
		WHERE session_id = $1 AND parent = $2 AND used_at IS NULL`, id, r.Hash)
	return tag.RowsAffected() == int64(len(r.Next)), err
}

// endReused ends the connection whose code or refresh token was used twice: one of the two users has stolen it.
func endReused(ctx context.Context, tx pgx.Tx, origin oauth.Origin, which string, arg any) error {
	ended, err := endConnections(ctx, tx, which, arg)
	if err != nil {
		return err
	}
	return auditConnections(ctx, tx, org.ActionConnectionReused, nil, origin, ended)
}

// endConnections ends connections and returns their ids. Triggers notify the servers.
func endConnections(ctx context.Context, tx pgx.Tx, which string, args ...any) ([]uuid.UUID, error) {
	return queryValues[uuid.UUID](ctx, tx, `
		UPDATE sessions SET ended_at = now() WHERE client_id <> '' AND ended_at IS NULL AND `+which+
		` RETURNING id`, args...)
}

// auditConnections logs an action on connections. The actor is by, or the client on behalf of the owner if by is nil.
func auditConnections(
	ctx context.Context, tx pgx.Tx, action org.Action, by *identity.Actor, origin oauth.Origin, ids []uuid.UUID,
) error {
	owners, err := queryRows[struct {
		ID, OrganizationID, UserID    uuid.UUID
		Client, Name, UserName, Email string
	}](ctx, tx, `
		SELECT s.id, s.organization_id, s.user_id, s.client_id AS client, s.name, u.name AS user_name, u.email
		FROM sessions s JOIN users u ON u.organization_id = s.organization_id AND u.id = s.user_id
		WHERE s.id = ANY($1)`, ids)
	if err != nil {
		return err
	}
	for _, o := range owners {
		event := org.Event{
			OrganizationID: &o.OrganizationID, Action: action, TargetKind: org.TargetConnection,
			TargetID: o.ID.String(), TargetLabel: o.Client,
		}
		if o.Name != "" {
			event.TargetLabel = o.Name
		}
		if by != nil {
			event.By = org.AuditActorOf(*by)
		} else {
			event.By = org.AuditActor{
				Kind: org.ByMember, ID: &o.UserID, Name: o.UserName, Email: o.Email, Address: origin.Address,
				RequestID: origin.RequestID,
			}
		}
		if by != nil && by.ID != o.UserID {
			event.Details = []org.Change{{Field: "owner", Before: o.Email}}
		}
		if err := audit(ctx, tx, event); err != nil {
			return err
		}
	}
	return nil
}

// EndByToken implements oauth.Store.
func (db *DB) EndByToken(ctx context.Context, clientID string, hash []byte, origin oauth.Origin) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		ended, err := endConnections(ctx, tx, `
			client_id = $1 AND id = (SELECT t.session_id FROM connection_tokens t WHERE t.hash = $2)`, clientID, hash)
		if err != nil {
			return err
		}
		return auditConnections(ctx, tx, org.ActionDisconnect, nil, origin, ended)
	})
}

// AddPersonal implements oauth.Store. It locks the organization's row, so that no token is created while personal
// tokens are being forbidden.
func (db *DB) AddPersonal(
	ctx context.Context, actor identity.Actor, n oauth.NewToken, o oauth.NewConnection,
) (oauth.Connection, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (created oauth.Connection, err error) {
		allowed, err := queryValue[bool](ctx, tx, `SELECT personal_tokens FROM organizations WHERE id = $1 FOR SHARE`,
			actor.OrganizationID)
		if err == nil && !allowed {
			err = oauth.ErrPersonalForbidden
		}
		if err == nil {
			err = lockSession(ctx, tx, actor.Session)
		}
		if err != nil {
			return created, err
		}
		err = exec(ctx, tx, `
			INSERT INTO sessions (id, organization_id, user_id, auth_type, began_at, used_at, user_agent, client_id,
			                      name, scopes, expires_at, request_id)
			VALUES ($1, $2, $3, $4, now(), now(), '', 'personal', $5, $6, $7, $8)`,
			o.ID, actor.OrganizationID, actor.ID, actor.AuthType, n.Name, n.Scopes, n.ExpiresAt, n.RequestID)
		switch {
		case hasCode(err, codeUnique):
			return created, oauth.ErrTokenCreated
		case err == nil:
			err = addTokens(ctx, tx, o.ID, nil, o.Tokens)
		}
		if err != nil {
			return created, err
		}
		created, err = queryRow[oauth.Connection](ctx, tx, selectConnections+` AND s.id = $2`,
			actor.OrganizationID, o.ID)
		if err != nil {
			return created, err
		}
		return created, auditConnections(ctx, tx, org.ActionConnect, &actor, oauth.Origin{}, []uuid.UUID{o.ID})
	})
}

// fromConnections selects the active connections of the organization $1.
var fromConnections = `
	FROM sessions s
	JOIN users u ON u.organization_id = s.organization_id AND u.id = s.user_id
	JOIN organizations o ON o.id = u.organization_id
	LEFT JOIN pool_grants g ON g.id = s.id
	WHERE s.organization_id = $1 AND s.client_id <> '' AND NOT coalesce(` +
	sessionEnded("s.began_at", "s.auth_type") + `, false)`

var selectConnections = `
	SELECT s.id, s.user_id, u.name AS user_name, u.email AS user_email, s.client_id, s.name, s.scopes,
	       s.began_at AS created_at, s.used_at, s.expires_at, s.user_agent, s.address` + fromConnections

// ListConnections implements oauth.Store.
func (db *DB) ListConnections(ctx context.Context, actor identity.Actor) ([]oauth.Connection, error) {
	return queryRows[oauth.Connection](ctx, db.pool,
		selectConnections+` AND s.user_id = $2 ORDER BY s.used_at DESC, s.id DESC`, actor.OrganizationID, actor.ID)
}

// ListAllConnections implements oauth.Store.
func (db *DB) ListAllConnections(
	ctx context.Context, organizationID uuid.UUID, offset, limit int,
) ([]oauth.Connection, int, error) {
	return queryPage[oauth.Connection](ctx, db, `SELECT count(*)`+fromConnections,
		selectConnections+` ORDER BY s.used_at DESC, s.id DESC OFFSET $2 LIMIT $3`, []any{organizationID}, offset, limit)
}

// EndConnection implements oauth.Store.
func (db *DB) EndConnection(ctx context.Context, actor identity.Actor, id uuid.UUID, all bool) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if all {
			if err := lockForRole(ctx, tx, actor.OrganizationID, actor.ID, identity.Role.IsAdmin); err != nil {
				return err
			}
			ofAdmin, err := queryValue[bool](ctx, tx, `
				SELECT EXISTS (
				    SELECT FROM sessions s JOIN users u ON u.id = s.user_id
				    WHERE s.organization_id = $1 AND s.id = $2 AND s.client_id <> '' AND u.id <> $3 AND u.role <> 'general-user')`,
				actor.OrganizationID, id, actor.ID)
			if err == nil && ofAdmin {
				err = lockForSuper(ctx, tx, actor)
			}
			if err != nil {
				return err
			}
		}
		ended, err := endConnections(ctx, tx, `organization_id = $1 AND (user_id = $2 OR $3) AND id = $4`,
			actor.OrganizationID, actor.ID, all, id)
		if err != nil {
			return err
		}
		if len(ended) == 0 {
			return oauth.ErrNoConnection
		}
		return auditConnections(ctx, tx, org.ActionDisconnect, &actor, oauth.Origin{}, ended)
	})
}

// PersonalTokens implements oauth.Store.
func (db *DB) PersonalTokens(ctx context.Context, organizationID uuid.UUID) (bool, error) {
	return queryValue[bool](ctx, db.pool, `SELECT personal_tokens FROM organizations WHERE id = $1`, organizationID)
}

// SetPersonalTokens implements oauth.Store.
func (db *DB) SetPersonalTokens(ctx context.Context, actor identity.Actor, allowed bool) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockForRole(ctx, tx, actor.OrganizationID, actor.ID, identity.Role.IsAdmin); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `
			UPDATE organizations SET personal_tokens = $2 WHERE id = $1 AND personal_tokens <> $2`,
			actor.OrganizationID, allowed)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		change := org.Change{Field: "personal_tokens", Before: "on", After: "off"}
		if allowed {
			change.Before, change.After = change.After, change.Before
		} else if _, err := endConnections(ctx, tx, `organization_id = $1 AND client_id = 'personal'`,
			actor.OrganizationID); err != nil {
			return err
		}
		return audit(ctx, tx, organizationEvent(actor, org.ActionConnectionPolicy, change))
	})
}

// expiredTokenRetention is the time for which expired codes and tokens are stored. A client that uses one receives an
// error saying that it has expired.
const expiredTokenRetention = 24 * time.Hour

// sweepConnections deletes expired codes and tokens.
func sweepConnections(ctx context.Context, tx pgx.Tx) error {
	return send(ctx, tx, func(batch *pgx.Batch) {
		for _, table := range []string{"connection_tokens", "connection_grants"} {
			batch.Queue(`DELETE FROM `+table+` WHERE expires_at < now() - $1::interval`, expiredTokenRetention)
		}
	})
}

// endAccountConnections ends the connections of an account of the user pool and deletes its grants, so that a user who
// can no longer sign in has no access through a connection.
func endAccountConnections(ctx context.Context, tx pgx.Tx, sub uuid.UUID) error {
	if err := exec(ctx, tx, `
		DELETE FROM connection_grants g USING users u
		WHERE u.subject = $1 AND g.organization_id = u.organization_id AND g.user_id = u.id`,
		sub.String()); err != nil {
		return err
	}
	_, err := endConnections(ctx, tx, `
		(organization_id, user_id) = (SELECT u.organization_id, u.id FROM users u WHERE u.subject = $1)`, sub.String())
	return err
}
