package store

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/internal/toolserver"
)

var _ toolserver.Store = (*DB)(nil)

func toolSecretOwner(id string) string { return "tool_servers " + id }

// selectToolServers selects servers with their tools. fromToolServers is the rest of the query.
const selectToolServers = `
	SELECT s.id, s.organization_id, s.key, s.name, s.url, s.auth, s.header_name, s.client_id, s.registered,
	       s.secret <> '' AS has_secret, s.enabled, s.everyone, s.checked_at, s.failure, now() AS read_at,
	       (SELECT array_agg(group_id ORDER BY group_id) FROM tool_server_groups WHERE server_id = s.id) AS group_ids,
	       (SELECT array_agg(g.name ORDER BY g.id) FROM tool_server_groups k JOIN member_groups g ON g.id = k.group_id
	        WHERE k.server_id = s.id) AS group_names,
	       (SELECT json_agg(t ORDER BY t.name) FROM tool_server_tools t WHERE t.server_id = s.id) AS tools`

const fromToolServers = `
	FROM tool_servers s
	WHERE s.organization_id = $1 `

// usableByPerson selects the enabled servers s that the person $2 of the organization $1 may use.
const usableByPerson = `
	AND s.enabled AND EXISTS (
	    SELECT FROM users u JOIN organizations o ON o.id = u.organization_id
	    WHERE u.organization_id = $1 AND u.id = $2 AND ` + memberState + ` = 'active')
	AND (s.everyone OR EXISTS (
	    SELECT FROM tool_server_groups k JOIN group_members m ON m.group_id = k.group_id
	    WHERE k.server_id = s.id AND m.user_id = $2)) `

func findToolServer(ctx context.Context, q querier, organizationID, id uuid.UUID) (toolserver.Server, error) {
	return findRow[toolserver.Server](ctx, q, toolserver.ErrNoServer, selectToolServers+fromToolServers+`AND s.id = $2`,
		organizationID, id)
}

// lockToolServer locks a server and returns it. All changes of a server's tools lock it, after the organization if they
// lock both, because they read the stored values and then write all of them.
func lockToolServer(ctx context.Context, tx pgx.Tx, organizationID, id uuid.UUID) (toolserver.Server, error) {
	if err := execRow(ctx, tx, toolserver.ErrNoServer, `
		SELECT FROM tool_servers WHERE organization_id = $1 AND id = $2 FOR NO KEY UPDATE`, organizationID, id); err != nil {
		return toolserver.Server{}, err
	}
	return findToolServer(ctx, tx, organizationID, id)
}

func (db *DB) ToolServers(ctx context.Context, organizationID uuid.UUID) ([]toolserver.Server, error) {
	return queryRows[toolserver.Server](ctx, db.pool, selectToolServers+fromToolServers+`ORDER BY s.name, s.id`,
		organizationID)
}

func (db *DB) ToolServer(ctx context.Context, organizationID, id uuid.UUID) (toolserver.Server, error) {
	return findToolServer(ctx, db.pool, organizationID, id)
}

func (db *DB) PersonToolServers(ctx context.Context, owner identity.Owner) ([]toolserver.Server, error) {
	return queryRows[toolserver.Server](ctx, db.pool, selectToolServers+`,
	       (SELECT c.connected_at FROM tool_connections c WHERE c.server_id = s.id AND c.user_id = $2) AS connected_at`+
		fromToolServers+usableByPerson+`ORDER BY s.name, s.id`, owner.OrganizationID, owner.UserID)
}

func (db *DB) ToolCallable(
	ctx context.Context, owner identity.Owner, serverID uuid.UUID, name, digest string,
) (bool, error) {
	found, err := queryRows[toolserver.Tool](ctx, db.pool, `
		SELECT t.accepted, t.offered, t.refused, t.gone, t.rule
		FROM tool_server_tools t JOIN tool_servers s ON s.id = t.server_id
		WHERE s.organization_id = $1 AND t.server_id = $3 AND t.name = $4`+usableByPerson,
		owner.OrganizationID, owner.UserID, serverID, name)
	return len(found) == 1 && found[0].Usable() && found[0].Accepted.Digest() == digest, err
}

func (db *DB) ToolSecrets(ctx context.Context, server toolserver.Server) (toolserver.Secrets, error) {
	secrets, err := findRow[toolserver.Secrets](ctx, db.pool, toolserver.ErrMoved, `
		SELECT secret, oauth FROM tool_servers WHERE organization_id = $1 AND id = $2 AND url = $3`,
		server.OrganizationID, server.ID, server.URL)
	if secrets.Secret != "" {
		secrets.Secret, err = db.openSecret(secrets.Secret, toolSecretOwner(server.ID.String()))
	}
	return secrets, err
}

func (db *DB) AddToolServer(ctx context.Context, actor identity.Actor, server toolserver.Server) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockForSuper(ctx, tx, actor); err != nil {
			return err
		}
		n, err := queryValue[int](ctx, tx, `SELECT count(*) FROM tool_servers WHERE organization_id = $1`,
			actor.OrganizationID)
		switch {
		case err != nil:
			return err
		case n >= toolserver.MaxServers:
			return toolserver.ErrTooManyServers
		}
		if err := exec(ctx, tx, `
			INSERT INTO tool_servers (id, organization_id, key, name, url, auth) VALUES ($1, $2, $3, $4, $5, $6)`,
			server.ID, actor.OrganizationID, server.Key, server.Name, server.URL, server.Auth); err != nil {
			if violates(err, "tool_servers_key") {
				return toolserver.ErrKeyTaken()
			}
			return err
		}
		if err := db.saveToolServer(ctx, tx, server); err != nil {
			return err
		}
		return audit(ctx, tx, serverEvent(org.AuditActorOf(actor), org.ActionToolServerAdd, server,
			toolServerChanges(toolserver.Server{Enabled: true, Everyone: true}, server)))
	})
}

// sealToolSecret returns the stored form of a server's secret.
func (db *DB) sealToolSecret(id uuid.UUID, plain string) (string, error) {
	if plain == "" {
		return "", nil
	}
	return db.secrets.Seal([]byte(plain), toolSecretOwner(id.String()))
}

// saveToolServer stores the settings of a server, its groups, and a new secret sealed.
func (db *DB) saveToolServer(ctx context.Context, tx pgx.Tx, s toolserver.Server) error {
	kept := s.NewSecret
	if kept != nil {
		sealed, err := db.sealToolSecret(s.ID, *kept)
		if err != nil {
			return err
		}
		kept = &sealed
	}
	if err := exec(ctx, tx, `
		UPDATE tool_servers
		SET name = $3, url = $4, auth = $5, header_name = $6, client_id = $7, registered = $8, enabled = $9, everyone = $10,
		    checked_at = $11, failure = $12, secret = coalesce($13, secret), updated_at = now()
		WHERE organization_id = $1 AND id = $2`,
		s.OrganizationID, s.ID, s.Name, s.URL, s.Auth, s.HeaderName, s.ClientID, s.Registered, s.Enabled, s.Everyone,
		s.CheckedAt, s.Failure, kept); err != nil {
		return err
	}
	if err := exec(ctx, tx, `DELETE FROM tool_server_groups WHERE organization_id = $1 AND server_id = $2`,
		s.OrganizationID, s.ID); err != nil || len(s.GroupIDs) == 0 {
		return err
	}
	tag, err := tx.Exec(ctx, `
		INSERT INTO tool_server_groups (organization_id, server_id, group_id)
		SELECT g.organization_id, $2, g.id FROM member_groups g WHERE g.organization_id = $1 AND g.id = ANY ($3)`,
		s.OrganizationID, s.ID, s.GroupIDs)
	if err == nil && int(tag.RowsAffected()) != len(s.GroupIDs) {
		return toolserver.ErrUnknownGroup
	}
	return err
}

func (db *DB) EditToolServer(
	ctx context.Context, actor identity.Actor, id uuid.UUID, change func(*toolserver.Server) error,
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockForSuper(ctx, tx, actor); err != nil {
			return err
		}
		before, err := lockToolServer(ctx, tx, actor.OrganizationID, id)
		if err != nil {
			return err
		}
		after := before
		after.Tools = slices.Clone(before.Tools)
		if err := change(&after); err != nil {
			return err
		}
		if err := db.saveToolServer(ctx, tx, after); err != nil {
			return err
		}
		if before.URL != after.URL || before.Auth != after.Auth || before.ClientID != after.ClientID {
			// The tokens and the authorization server belong to the old address or client.
			if err := send(ctx, tx, func(batch *pgx.Batch) {
				batch.Queue(`DELETE FROM tool_connections WHERE organization_id = $1 AND server_id = $2`, actor.OrganizationID, id)
				batch.Queue(`DELETE FROM tool_attempts WHERE organization_id = $1 AND server_id = $2`, actor.OrganizationID, id)
				batch.Queue(`UPDATE tool_servers SET oauth = NULL WHERE organization_id = $1 AND id = $2`,
					actor.OrganizationID, id)
			}); err != nil {
				return err
			}
		}
		if before.URL != after.URL {
			if err := endToolPermissions(ctx, tx, after); err != nil {
				return err
			}
		}
		by := org.AuditActorOf(actor)
		if changes := toolServerChanges(before, after); len(changes) > 0 {
			if err := audit(ctx, tx, serverEvent(by, org.ActionToolServerEdit, after, changes)); err != nil {
				return err
			}
		}
		return saveEditedTools(ctx, tx, by, before, after)
	})
}

// saveEditedTools stores the tools that an administrator has changed.
func saveEditedTools(ctx context.Context, tx pgx.Tx, by org.AuditActor, from, to toolserver.Server) error {
	for i, after := range to.Tools {
		before, action := from.Tools[i], org.ActionToolEdit
		if before.Offered != nil && after.Offered == nil {
			action = org.ActionToolAccept
		}
		changes := changed([]org.Change{
			{Field: "rule", Before: string(before.Rule), After: string(after.Rule)},
			{Field: "read_only", Before: strconv.FormatBool(before.ReadOnly), After: strconv.FormatBool(after.ReadOnly)},
			{Field: "idempotent", Before: strconv.FormatBool(before.Idempotent), After: strconv.FormatBool(after.Idempotent)},
			{Field: "definition", Before: before.Accepted.Digest(), After: after.Accepted.Digest()},
		})
		if len(changes) == 0 {
			continue
		}
		if err := send(ctx, tx, func(batch *pgx.Batch) { queueTool(batch, to, after) }); err != nil {
			return err
		}
		if err := audit(ctx, tx, toolEvent(by, action, to, after.Name, changes)); err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) RemoveToolServer(ctx context.Context, actor identity.Actor, id uuid.UUID) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockForSuper(ctx, tx, actor); err != nil {
			return err
		}
		server, err := findToolServer(ctx, tx, actor.OrganizationID, id)
		if err != nil {
			return err
		}
		if err := exec(ctx, tx, `DELETE FROM tool_servers WHERE organization_id = $1 AND id = $2`,
			actor.OrganizationID, id); err != nil {
			return err
		}
		if err := endToolPermissions(ctx, tx, server); err != nil {
			return err
		}
		return audit(ctx, tx, serverEvent(org.AuditActorOf(actor), org.ActionToolServerRemove, server, nil))
	})
}

// endToolPermissions deletes the approvals for the rest of threads of a server's tools. They do not hold for the tools of
// another server with the same names.
func endToolPermissions(ctx context.Context, tx pgx.Tx, server toolserver.Server) error {
	return exec(ctx, tx, `DELETE FROM tool_permissions WHERE organization_id = $1 AND starts_with(tool, $2)`,
		server.OrganizationID, server.Key+tool.Separator)
}

func (db *DB) SaveDiscovery(ctx context.Context, organizationID, id uuid.UUID, found toolserver.Discovery) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		before, err := lockToolServer(ctx, tx, organizationID, id)
		if err != nil {
			return err
		}
		if before.URL != found.URL {
			return toolserver.ErrMoved
		}
		if before.CheckedAt != nil && found.At.Before(*before.CheckedAt) {
			return nil // A discovery that began later was faster.
		}
		after, changedTools := before.Apply(found)
		if err := exec(ctx, tx, `
			UPDATE tool_servers SET checked_at = $3, failure = $4 WHERE organization_id = $1 AND id = $2`,
			organizationID, id, after.CheckedAt, storable(after.Failure)); err != nil || found.Failure != "" {
			return err
		}
		if err := send(ctx, tx, func(batch *pgx.Batch) {
			for _, t := range after.Tools {
				queueTool(batch, after, t)
			}
			batch.Queue(deleteUnusedToolsSQL, organizationID, id)
		}); err != nil {
			return err
		}
		for _, name := range changedTools {
			if err := audit(ctx, tx, toolEvent(org.System(), org.ActionToolChange, after, name, nil)); err != nil {
				return err
			}
		}
		return nil
	})
}

// deleteUnusedToolsSQL deletes tools that the server $2 does not have any more, so that a server that renames its tools
// each time does not fill the database. It keeps tools that an administrator has changed, that a skill names or that a
// person has approved for a thread: otherwise the server could replace their definitions unseen.
const deleteUnusedToolsSQL = `
	DELETE FROM tool_server_tools t
	WHERE t.organization_id = $1 AND t.server_id = $2 AND t.gone
	  AND t.rule = 'ask' AND NOT t.read_only AND NOT t.idempotent
	  AND NOT EXISTS (SELECT FROM skills s
	                  WHERE (s.organization_id = $1 OR s.organization_id IS NULL) AND t.name = ANY (s.tools))
	  AND NOT EXISTS (SELECT FROM tool_permissions p WHERE p.organization_id = $1 AND p.tool = t.name)`

// queueTool stores a tool of a server.
func queueTool(batch *pgx.Batch, s toolserver.Server, t toolserver.Tool) {
	batch.Queue(`
		INSERT INTO tool_server_tools (organization_id, server_id, name, remote, accepted, offered, refused, gone, rule,
		                               read_only, idempotent)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
		ON CONFLICT (server_id, name) DO UPDATE
		SET accepted = $5, offered = $6, refused = $7, gone = $8, rule = $9, read_only = $10, idempotent = $11`,
		s.OrganizationID, s.ID, t.Name, t.Remote, t.Accepted, t.Offered, t.Refused, t.Gone, t.Rule, t.ReadOnly, t.Idempotent)
}

// serverEvent returns an audit entry about a server.
func serverEvent(by org.AuditActor, action org.Action, s toolserver.Server, changes []org.Change) org.Event {
	return org.Event{
		OrganizationID: &s.OrganizationID, By: by, Action: action, TargetKind: org.TargetToolServer,
		TargetID: s.ID.String(), TargetLabel: s.Name, Details: changes,
	}
}

// toolEvent returns an audit entry about a tool of a server.
func toolEvent(by org.AuditActor, action org.Action, s toolserver.Server, name string, changes []org.Change) org.Event {
	event := serverEvent(by, action, s, changes)
	event.TargetKind, event.TargetLabel = org.TargetTool, name
	return event
}

// toolServerChanges returns the differences between two servers. For the secret it records only that it has changed.
func toolServerChanges(before, after toolserver.Server) []org.Change {
	secret := ""
	if after.NewSecret != nil && (*after.NewSecret != "" || before.HasSecret) {
		secret = "set"
		if *after.NewSecret == "" {
			secret = "removed"
		}
	}
	groups := func(s toolserver.Server) string {
		return strings.Join(convert(s.GroupIDs, func(id uuid.UUID) string { return id.String() }), ", ")
	}
	return changed([]org.Change{
		{Field: "name", Before: before.Name, After: after.Name},
		{Field: "url", Before: before.URL, After: after.URL},
		{Field: "auth", Before: string(before.Auth), After: string(after.Auth)},
		{Field: "header_name", Before: before.HeaderName, After: after.HeaderName},
		{Field: "client_id", Before: before.ClientID, After: after.ClientID},
		{Field: "secret", After: secret},
		{Field: "server_enabled", Before: strconv.FormatBool(before.Enabled), After: strconv.FormatBool(after.Enabled)},
		{Field: "everyone", Before: strconv.FormatBool(before.Everyone), After: strconv.FormatBool(after.Everyone)},
		{Field: "groups", Before: groups(before), After: groups(after)},
	})
}
