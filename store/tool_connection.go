package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/secret"
	"github.com/tsumugi-ai/tsumugi/internal/toolserver"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// attemptSweep is the number of expired attempts that each insert removes.
const attemptSweep = 10

func toolTokensOwner(id string) string { return "tool_connections " + id }

// SetToolAuthorization implements toolserver.ConnectionStore.
func (db *DB) SetToolAuthorization(
	ctx context.Context, organizationID, id uuid.UUID, a toolserver.Authorization, registered *toolserver.Client,
) error {
	if registered == nil {
		return execRow(ctx, db.pool, toolserver.ErrNoServer, `
			UPDATE tool_servers SET oauth = $3 WHERE organization_id = $1 AND id = $2`, organizationID, id, a)
	}
	kept := ""
	if registered.Secret != "" {
		var err error
		if kept, err = db.secrets.Seal([]byte(registered.Secret), toolSecretOwner(id.String())); err != nil {
			return err
		}
	}
	// Of two registrations at the same time, the second one counts: an attempt with the first one fails and is repeated.
	return execRow(ctx, db.pool, toolserver.ErrNoServer, `
		UPDATE tool_servers SET oauth = $3, client_id = $4, registered = true, secret = $5
		WHERE organization_id = $1 AND id = $2`, organizationID, id, a, registered.ID, kept)
}

// ForgetToolClient implements toolserver.ConnectionStore.
func (db *DB) ForgetToolClient(ctx context.Context, organizationID, id uuid.UUID, clientID string) error {
	return exec(ctx, db.pool, `
		UPDATE tool_servers SET oauth = NULL, client_id = '', registered = false, secret = ''
		WHERE organization_id = $1 AND id = $2 AND registered AND client_id = $3`, organizationID, id, clientID)
}

// AddToolAttempt implements toolserver.ConnectionStore.
func (db *DB) AddToolAttempt(ctx context.Context, a toolserver.Attempt) error {
	if db.secrets.Empty() {
		return secret.ErrNoKey
	}
	return db.batch(ctx, func(batch *pgx.Batch) {
		batch.Queue(sweep("tool_attempts", "hash", "expires_at"), time.Now(), attemptSweep)
		batch.Queue(`
			INSERT INTO tool_attempts (hash, browser_hash, organization_id, user_id, server_id, verifier, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			a.Hash, a.BrowserHash, a.Owner.OrganizationID, a.Owner.UserID, a.ServerID, a.Verifier, a.ExpiresAt)
	})
}

// TakeToolAttempt implements toolserver.ConnectionStore.
func (db *DB) TakeToolAttempt(ctx context.Context, hash, browserHash []byte, at time.Time) (toolserver.Attempt, error) {
	row, err := findRow[struct {
		OrganizationID, UserID, ServerID uuid.UUID
		Verifier                         string
	}](ctx, db.pool, toolserver.ErrState, `
		DELETE FROM tool_attempts WHERE hash = $1 AND browser_hash = $2 AND expires_at > $3
		RETURNING organization_id, user_id, server_id, verifier`, hash, browserHash, at)
	return toolserver.Attempt{
		Owner: identity.Owner{OrganizationID: row.OrganizationID, UserID: row.UserID}, ServerID: row.ServerID,
		Verifier: row.Verifier,
	}, err
}

// ToolConnection implements toolserver.ConnectionStore.
func (db *DB) ToolConnection(
	ctx context.Context, owner identity.Owner, serverID uuid.UUID,
) (c toolserver.Connection, err error) {
	row, err := findRow[struct {
		ID     uuid.UUID
		Tokens string
	}](ctx, db.pool, toolserver.ErrNotConnected, `
		SELECT id, tokens FROM tool_connections WHERE organization_id = $1 AND user_id = $2 AND server_id = $3`,
		owner.OrganizationID, owner.UserID, serverID)
	if err != nil {
		return c, err
	}
	return db.openTokens(row.ID, row.Tokens)
}

func (db *DB) openTokens(id uuid.UUID, kept string) (c toolserver.Connection, err error) {
	plain, err := db.secrets.Open(kept, toolTokensOwner(id.String()))
	if err == nil {
		err = json.Unmarshal(plain, &c)
	}
	return c, err
}

// ConnectedServers implements toolserver.ConnectionStore.
func (db *DB) ConnectedServers(ctx context.Context, owner identity.Owner) (map[uuid.UUID]time.Time, error) {
	rows, err := queryRows[struct {
		ServerID    uuid.UUID
		ConnectedAt time.Time
	}](ctx, db.pool, `
		SELECT server_id, connected_at FROM tool_connections WHERE organization_id = $1 AND user_id = $2`,
		owner.OrganizationID, owner.UserID)
	connected := make(map[uuid.UUID]time.Time, len(rows))
	for _, row := range rows {
		connected[row.ServerID] = row.ConnectedAt
	}
	return connected, err
}

// SaveToolConnection implements toolserver.ConnectionStore.
func (db *DB) SaveToolConnection(
	ctx context.Context, owner identity.Owner, serverID uuid.UUID, c toolserver.Connection, refreshed bool,
) error {
	id := uuidv7.New()
	plain, err := json.Marshal(c) //nolint:gosec // Sealed below.
	if err != nil {
		return err
	}
	kept, err := db.secrets.Seal(plain, toolTokensOwner(id.String()))
	if err != nil {
		return err
	}
	if refreshed {
		return exec(ctx, db.pool, `
			UPDATE tool_connections SET id = $4, tokens = $5 WHERE organization_id = $1 AND user_id = $2 AND server_id = $3`,
			owner.OrganizationID, owner.UserID, serverID, id, kept)
	}
	return db.tx(ctx, func(tx pgx.Tx) error {
		person, err := findRow[struct {
			Name, Email string
			Server      string
		}](ctx, tx, toolserver.ErrNoServer, `
			SELECT u.name, u.email, s.name AS server FROM users u JOIN tool_servers s ON s.organization_id = u.organization_id
			WHERE u.organization_id = $1 AND u.id = $2 AND s.id = $3
			FOR KEY SHARE`, owner.OrganizationID, owner.UserID, serverID)
		if err != nil {
			return err
		}
		if err := exec(ctx, tx, `
			INSERT INTO tool_connections (organization_id, user_id, server_id, id, tokens) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (server_id, user_id) DO UPDATE SET id = $4, tokens = $5, connected_at = now()`,
			owner.OrganizationID, owner.UserID, serverID, id, kept); err != nil {
			return err
		}
		by := org.AuditActor{Kind: org.ByMember, ID: &owner.UserID, Name: person.Name, Email: person.Email}
		return audit(ctx, tx, connectionEvent(by, org.ActionToolConnect, owner.OrganizationID, serverID, person.Server))
	})
}

// RemoveToolConnection implements toolserver.ConnectionStore.
func (db *DB) RemoveToolConnection(
	ctx context.Context, actor identity.Actor, serverID uuid.UUID,
) (toolserver.Connection, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (c toolserver.Connection, _ error) {
		row, err := findRow[struct {
			ID           uuid.UUID
			Tokens, Name string
		}](ctx, tx, toolserver.ErrNotConnected, `
			DELETE FROM tool_connections c USING tool_servers s
			WHERE c.organization_id = $1 AND c.user_id = $2 AND c.server_id = $3 AND s.id = c.server_id
			RETURNING c.id, c.tokens, s.name`, actor.OrganizationID, actor.ID, serverID)
		if err != nil {
			return c, err
		}
		if err := audit(ctx, tx, connectionEvent(org.AuditActorOf(actor), org.ActionToolDisconnect, actor.OrganizationID,
			serverID, row.Name)); err != nil {
			return c, err
		}
		c, _ = db.openTokens(row.ID, row.Tokens) // Without the key, the connection can still be removed.
		return c, nil
	})
}

func connectionEvent(by org.AuditActor, action org.Action, organizationID, serverID uuid.UUID, name string) org.Event {
	return org.Event{
		OrganizationID: &organizationID, By: by, Action: action, TargetKind: org.TargetToolServer,
		TargetID: serverID.String(), TargetLabel: name,
	}
}
