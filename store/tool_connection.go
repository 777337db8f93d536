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

// isSameClient is the condition that the server s of the parameters organization $1, id $2, URL $3 and client id $4 is
// still the server that a connection was begun with. EditToolServer deletes connections when it changes these values.
const isSameClient = `s.organization_id = $1 AND s.id = $2 AND s.url = $3 AND s.auth = 'oauth' AND s.client_id = $4`

// SetToolAuthorization implements toolserver.Store. Of two registrations at the same time, the second one
// counts: a connection with the first one fails and is repeated.
func (db *DB) SetToolAuthorization(
	ctx context.Context, server toolserver.Server, a toolserver.Authorization, registered *toolserver.Client,
) error {
	if registered == nil {
		return execRow(ctx, db.pool, toolserver.ErrMoved, `
			UPDATE tool_servers s SET oauth = $5 WHERE `+isSameClient,
			server.OrganizationID, server.ID, server.URL, server.ClientID, a)
	}
	kept, err := db.sealToolSecret(server.ID, registered.Secret)
	if err != nil {
		return err
	}
	return execRow(ctx, db.pool, toolserver.ErrMoved, `
		UPDATE tool_servers SET oauth = $4, client_id = $5, registered = true, secret = $6
		WHERE organization_id = $1 AND id = $2 AND url = $3 AND auth = 'oauth' AND (client_id = '' OR registered)`,
		server.OrganizationID, server.ID, server.URL, a, registered.ID, kept)
}

func (db *DB) ForgetToolClient(ctx context.Context, organizationID, id uuid.UUID, clientID string) error {
	return exec(ctx, db.pool, `
		UPDATE tool_servers SET oauth = NULL, client_id = '', registered = false, secret = ''
		WHERE organization_id = $1 AND id = $2 AND registered AND client_id = $3`, organizationID, id, clientID)
}

func (db *DB) AddToolAttempt(ctx context.Context, a toolserver.Attempt) error {
	if db.secrets.Empty() {
		return secret.ErrNoKey
	}
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockSameClient(ctx, tx, a.OrganizationID, a.ServerID, a.URL, a.ClientID); err != nil {
			return err
		}
		return send(ctx, tx, func(batch *pgx.Batch) {
			batch.Queue(sweep("tool_attempts", "hash", "expires_at"), time.Now(), attemptSweep)
			batch.Queue(`
				INSERT INTO tool_attempts (hash, browser_hash, organization_id, user_id, server_id, verifier, expires_at)
				VALUES ($1, $2, $3, $4, $5, $6, $7)`,
				a.Hash, a.BrowserHash, a.OrganizationID, a.UserID, a.ServerID, a.Verifier, a.ExpiresAt)
		})
	})
}

// lockSameClient prevents changes of a server until the end of the transaction. The error is toolserver.ErrMoved if it
// has another address or client already.
func lockSameClient(ctx context.Context, tx pgx.Tx, organizationID, id uuid.UUID, url, clientID string) error {
	return execRow(ctx, tx, toolserver.ErrMoved, `SELECT FROM tool_servers s WHERE `+isSameClient+` FOR SHARE`,
		organizationID, id, url, clientID)
}

func (db *DB) TakeToolAttempt(ctx context.Context, hash, browserHash []byte, at time.Time) (toolserver.Attempt, error) {
	return findRow[toolserver.Attempt](ctx, db.pool, toolserver.ErrState, `
		DELETE FROM tool_attempts a USING tool_servers s
		WHERE a.hash = $1 AND a.browser_hash = $2 AND a.expires_at > $3 AND s.id = a.server_id
		RETURNING a.organization_id, a.user_id, a.server_id, s.url, s.client_id, a.verifier`, hash, browserHash, at)
}

func (db *DB) ToolConnection(
	ctx context.Context, owner identity.Owner, server toolserver.Server,
) (c toolserver.Connection, err error) {
	row, err := findRow[struct {
		ID     uuid.UUID
		Tokens string
	}](ctx, db.pool, toolserver.ErrNotConnected, `
		SELECT c.id, c.tokens FROM tool_connections c JOIN tool_servers s ON s.id = c.server_id
		WHERE c.organization_id = $1 AND c.user_id = $2 AND c.server_id = $3 AND s.url = $4`,
		owner.OrganizationID, owner.UserID, server.ID, server.URL)
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
	c.ID = id
	return c, err
}

// sealTokens returns the sealed tokens of a connection under another id.
func (db *DB) sealTokens(c toolserver.Connection) (id uuid.UUID, kept string, err error) {
	id = uuidv7.New()
	plain, err := json.Marshal(c) //nolint:gosec // Sealed below.
	if err == nil {
		kept, err = db.secrets.Seal(plain, toolTokensOwner(id.String()))
	}
	return id, kept, err
}

func (db *DB) SaveToolConnection(
	ctx context.Context, owner identity.Owner, server toolserver.Server, c toolserver.Connection,
) error {
	id, kept, err := db.sealTokens(c)
	if err != nil {
		return err
	}
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockSameClient(ctx, tx, owner.OrganizationID, server.ID, server.URL, server.ClientID); err != nil {
			return err
		}
		by, err := findRow[org.AuditActor](ctx, tx, toolserver.ErrNoServer, `
			SELECT 'user' AS kind, id, name, email FROM users WHERE organization_id = $1 AND id = $2 FOR KEY SHARE`,
			owner.OrganizationID, owner.UserID)
		if err != nil {
			return err
		}
		if err := exec(ctx, tx, `
			INSERT INTO tool_connections (organization_id, user_id, server_id, id, tokens) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (server_id, user_id) DO UPDATE SET id = $4, tokens = $5, connected_at = now()`,
			owner.OrganizationID, owner.UserID, server.ID, id, kept); err != nil {
			return err
		}
		return audit(ctx, tx, serverEvent(by, org.ActionToolConnect, server, nil))
	})
}

func (db *DB) RefreshToolConnection(
	ctx context.Context, owner identity.Owner, server toolserver.Server, stale, next toolserver.Connection,
) error {
	id, kept, err := db.sealTokens(next)
	if err != nil {
		return err
	}
	return exec(ctx, db.pool, `
		UPDATE tool_connections SET id = $5, tokens = $6
		WHERE organization_id = $1 AND user_id = $2 AND server_id = $3 AND id = $4`,
		owner.OrganizationID, owner.UserID, server.ID, stale.ID, id, kept)
}

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
		server := toolserver.Server{ID: serverID, OrganizationID: actor.OrganizationID, Name: row.Name}
		if err := audit(ctx, tx, serverEvent(org.AuditActorOf(actor), org.ActionToolDisconnect, server, nil)); err != nil {
			return c, err
		}
		c, _ = db.openTokens(row.ID, row.Tokens) // Without the key, the connection can still be removed.
		return c, nil
	})
}
