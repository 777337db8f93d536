package store

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/channel/workspace"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// channelSweep is the number of expired rows that each insert removes.
const channelSweep = 10

// installationRow is a row of channel_installations.
type installationRow struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	Surface        string
	TeamID         string
	EnterpriseID   string
	AppID          string
	BotUserID      string
	TeamName       string
	ChangedAt      time.Time
	Source         channel.Source
	AutoLink       bool
	SharedChannels bool
	Channels       []string
	Credentials    string
}

const selectInstallation = `
	SELECT id, organization_id, surface, team_id, enterprise_id, app_id, bot_user_id, team_name, updated_at AS changed_at,
	       source, auto_link, shared_channels, channels, credentials
	FROM channel_installations `

// openCredentials are credentials in the form that is encrypted.
type openCredentials channel.Credentials

func credentialsOwner(id uuid.UUID) string { return "channel_installations " + id.String() }

// installation decrypts a row's credentials.
func (db *DB) installation(r installationRow) (channel.Installation, error) {
	in := channel.Installation{
		ID: r.ID, OrganizationID: r.OrganizationID, Surface: r.Surface, TeamID: r.TeamID, EnterpriseID: r.EnterpriseID,
		AppID: r.AppID, BotUserID: r.BotUserID, TeamName: r.TeamName, ChangedAt: r.ChangedAt, Source: r.Source,
		Policy: channel.Policy{AutoLink: r.AutoLink, SharedChannels: r.SharedChannels, Channels: r.Channels},
	}
	if r.Credentials == "" {
		return in, nil
	}
	plain, err := db.secrets.Open(r.Credentials, credentialsOwner(r.ID))
	if err != nil {
		return channel.Installation{}, err
	}
	return in, json.Unmarshal(plain, (*openCredentials)(&in.Credentials))
}

// findInstallation returns the installation that matches a condition.
func (db *DB) findInstallation(ctx context.Context, q querier, where string, args ...any) (channel.Installation, error) {
	row, err := findRow[installationRow](ctx, q, channel.ErrNotInstalled, selectInstallation+where, args...)
	if err != nil {
		return channel.Installation{}, err
	}
	return db.installation(row)
}

func (db *DB) FindInstallation(
	ctx context.Context, surface, enterpriseID, teamID string,
) (channel.Installation, error) {
	return db.findInstallation(ctx, db.pool, `
		WHERE surface = $1 AND (team_id = $2 AND team_id <> '' OR enterprise_id = $3 AND enterprise_id <> '')
		ORDER BY team_id = '' LIMIT 1`, surface, teamID, enterpriseID)
}

func (db *DB) Installation(ctx context.Context, id uuid.UUID) (channel.Installation, error) {
	return db.findInstallation(ctx, db.pool, `WHERE id = $1`, id)
}

func (db *DB) OrganizationInstallation(
	ctx context.Context, organizationID uuid.UUID, surface string,
) (channel.Installation, error) {
	return db.findInstallation(ctx, db.pool, `WHERE organization_id = $1 AND surface = $2`, organizationID, surface)
}

func (db *DB) ListInstallations(ctx context.Context, surface string) ([]channel.Installation, error) {
	rows, err := queryRows[installationRow](ctx, db.pool, selectInstallation+`WHERE surface = $1 ORDER BY id`, surface)
	if err != nil {
		return nil, err
	}
	list := make([]channel.Installation, len(rows))
	for i, row := range rows {
		if list[i], err = db.installation(row); err != nil {
			// The key of this installation is missing. The other installations still work.
			row.Credentials = ""
			list[i], _ = db.installation(row)
		}
	}
	return list, nil
}

func (db *DB) ChangeInstallation(
	ctx context.Context, actor identity.Actor, surface string, change func(*channel.Installation) error,
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockForSuper(ctx, tx, actor); err != nil {
			return err
		}
		before, err := db.findInstallation(ctx, tx, `WHERE organization_id = $1 AND surface = $2`,
			actor.OrganizationID, surface)
		if errors.Is(err, channel.ErrNotInstalled) {
			before, err = channel.Installation{
				ID: uuidv7.New(), OrganizationID: actor.OrganizationID, Surface: surface, Source: channel.SourceStored,
			}, nil
		}
		if err != nil {
			return err
		}
		after := before
		if err := change(&after); err != nil {
			return err
		}
		if workspaceChanged(before, after) {
			// The links and conversations of another workspace belong to other people.
			if err := deleteInstallation(ctx, tx, before.ID); err != nil {
				return err
			}
			after.ID = uuidv7.New()
		}
		if err := db.saveInstallation(ctx, tx, after); err != nil {
			return err
		}
		changes := installationChanges(before, after)
		if len(changes) == 0 {
			return nil
		}
		return audit(ctx, tx, installationEvent(org.AuditActorOf(actor), org.ActionSlackEdit, after, changes...))
	})
}

// workspaceChanged reports whether after belongs to another workspace than before.
func workspaceChanged(before, after channel.Installation) bool {
	return before.Connected() && (before.TeamID != after.TeamID || before.EnterpriseID != after.EnterpriseID)
}

// saveInstallation inserts or updates an installation with its credentials sealed.
func (db *DB) saveInstallation(ctx context.Context, tx pgx.Tx, in channel.Installation) error {
	kept := ""
	if in.Credentials != (channel.Credentials{}) && in.Source == channel.SourceStored {
		plain, err := json.Marshal(openCredentials(in.Credentials)) //nolint:gosec // Sealed below.
		if err != nil {
			return err
		}
		if kept, err = db.secrets.Seal(plain, credentialsOwner(in.ID)); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO channel_installations (id, organization_id, surface, team_id, enterprise_id, app_id, bot_user_id,
		                                   team_name, source, auto_link, shared_channels, channels, credentials)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
		ON CONFLICT (organization_id, surface) DO UPDATE
		SET team_id = $4, enterprise_id = $5, app_id = $6, bot_user_id = $7, team_name = $8, source = $9, auto_link = $10,
		    shared_channels = $11, channels = $12, credentials = $13, updated_at = now()`,
		in.ID, in.OrganizationID, in.Surface, in.TeamID, in.EnterpriseID, in.AppID, in.BotUserID,
		storable(in.TeamName), in.Source, in.Policy.AutoLink, in.Policy.SharedChannels, orEmpty(in.Policy.Channels), kept)
	if violates(err, "channel_installations_workspace") || violates(err, "channel_installations_enterprise") {
		return workspace.ErrWorkspaceTaken
	}
	return err
}

// installationChanges returns the differences for the audit log. For credentials it records only that they have
// changed.
func installationChanges(before, after channel.Installation) []org.Change {
	b, a := before.Credentials, after.Credentials
	var changes []org.Change
	for _, field := range []struct{ name, before, after string }{
		{"bot_token", b.BotToken, a.BotToken},
		{"signing_secret", b.SigningSecret, a.SigningSecret},
		{"app_token", b.AppToken, a.AppToken},
		{"client_secret", b.ClientSecret, a.ClientSecret},
	} {
		if field.before != field.after {
			state := "set"
			if field.after == "" {
				state = "removed"
			}
			changes = append(changes, org.Change{Field: field.name, After: state})
		}
	}
	return append(changes, changed([]org.Change{
		{Field: "client_id", Before: b.ClientID, After: a.ClientID},
		{Field: "workspace", Before: workspaceLabel(before), After: workspaceLabel(after)},
		{
			Field: "auto_link", Before: strconv.FormatBool(before.Policy.AutoLink),
			After: strconv.FormatBool(after.Policy.AutoLink),
		},
		{
			Field: "shared_channels", Before: strconv.FormatBool(before.Policy.SharedChannels),
			After: strconv.FormatBool(after.Policy.SharedChannels),
		},
		{
			Field: "channels", Before: strings.Join(before.Policy.Channels, " "),
			After: strings.Join(after.Policy.Channels, " "),
		},
	})...)
}

// workspaceLabel returns the name of an installation's workspace for the audit log.
func workspaceLabel(in channel.Installation) string {
	if !in.Connected() {
		return ""
	}
	return strings.TrimSpace(in.TeamName + " (" + in.TeamID + in.EnterpriseID + ")")
}

func installationEvent(
	by org.AuditActor, action org.Action, in channel.Installation, changes ...org.Change,
) org.Event {
	return org.Event{
		OrganizationID: &in.OrganizationID, By: by, Action: action, TargetKind: org.TargetSlack, TargetID: in.ID.String(),
		TargetLabel: workspaceLabel(in), Details: changes,
	}
}

func (db *DB) RemoveInstallation(
	ctx context.Context, by org.AuditActor, organizationID uuid.UUID, surface string,
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if by.ID != nil {
			if err := lockForRole(ctx, tx, organizationID, *by.ID, isSuperAdmin); err != nil {
				return err
			}
		}
		return db.removeInstallation(ctx, tx, by, `WHERE organization_id = $1 AND surface = $2 FOR UPDATE`, organizationID,
			surface)
	})
}

func (db *DB) EraseInstallation(ctx context.Context, id uuid.UUID) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		return db.removeInstallation(ctx, tx, org.System(), `WHERE id = $1 FOR UPDATE`, id)
	})
}

func (db *DB) removeInstallation(ctx context.Context, tx pgx.Tx, by org.AuditActor, where string, args ...any) error {
	// The credentials need not be decrypted: an installation whose key is lost can be removed.
	row, err := findRow[installationRow](ctx, tx, channel.ErrNotInstalled, selectInstallation+where, args...)
	if err != nil {
		return err
	}
	if err := deleteInstallation(ctx, tx, row.ID); err != nil {
		return err
	}
	row.Credentials = ""
	removed, _ := db.installation(row)
	return audit(ctx, tx, installationEvent(by, org.ActionSlackRemove, removed))
}

// deleteInstallation deletes an installation with its links, proofs and conversations.
func deleteInstallation(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	return exec(ctx, tx, `DELETE FROM channel_installations WHERE id = $1`, id)
}

func (db *DB) AdoptInstallation(ctx context.Context, surface string, w workspace.Workspace) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		organization, err := queryValue[uuid.UUID](ctx, tx, `
			SELECT organization_id FROM channel_installations WHERE surface = $1 AND source = $2 LIMIT 1`,
			surface, channel.SourceEnvironment)
		if isNoRows(err) {
			organization, err = onlyOrganization(ctx, tx)
		}
		if err != nil {
			return err
		}
		if err := lockOrganization(ctx, tx, organization); err != nil {
			return err
		}
		before, err := db.findInstallation(ctx, tx, `WHERE organization_id = $1 AND surface = $2`, organization, surface)
		after := before
		switch {
		case errors.Is(err, channel.ErrNotInstalled):
			after = channel.Installation{ID: uuidv7.New(), OrganizationID: organization, Surface: surface}
		case err != nil:
			return err
		case before.Source == channel.SourceStored && before.Connected():
			return workspace.ErrConfigured
		}
		after.Source = channel.SourceEnvironment
		w.Apply(&after)
		if before.Source == after.Source && !workspaceChanged(before, after) && before.TeamName == after.TeamName {
			return nil
		}
		if workspaceChanged(before, after) {
			if err := deleteInstallation(ctx, tx, before.ID); err != nil {
				return err
			}
			after.ID = uuidv7.New()
		}
		if err := db.saveInstallation(ctx, tx, after); err != nil {
			return err
		}
		return audit(ctx, tx, installationEvent(org.System(), org.ActionSlackEdit, after,
			org.Change{Field: "workspace", Before: workspaceLabel(before), After: workspaceLabel(after)}))
	})
}

// onlyOrganization returns the only organization. It fails if there are several.
func onlyOrganization(ctx context.Context, tx pgx.Tx) (uuid.UUID, error) {
	ids, err := queryValues[uuid.UUID](ctx, tx, `SELECT id FROM organizations LIMIT 2`)
	switch {
	case err != nil:
		return uuid.Nil, err
	case len(ids) == 0:
		return uuid.Nil, org.ErrNoOrganization
	case len(ids) > 1:
		return uuid.Nil, workspace.ErrManyOrganizations
	}
	return ids[0], nil
}

func (db *DB) AddInstall(ctx context.Context, p workspace.Install) error {
	return db.batch(ctx, func(batch *pgx.Batch) {
		batch.Queue(`
			DELETE FROM channel_installs WHERE hash IN (
				SELECT hash FROM channel_installs WHERE expires_at < now() LIMIT $1 FOR UPDATE SKIP LOCKED)`, channelSweep)
		batch.Queue(`
			INSERT INTO channel_installs (hash, browser_hash, organization_id, user_id, surface, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6)`,
			p.Hash, p.BrowserHash, p.Actor.OrganizationID, p.Actor.ID, p.Surface, p.ExpiresAt)
	})
}

// TakeInstall implements workspace.Store. The actor is read again and has its current state.
func (db *DB) TakeInstall(
	ctx context.Context, surface string, hash, browserHash []byte, at time.Time,
) (identity.Actor, error) {
	row, err := queryRow[struct {
		ID, OrganizationID uuid.UUID
		Name, Email        string
		Role               identity.Role
		State              identity.State
	}](ctx, db.pool, `
		WITH taken AS (
		    DELETE FROM channel_installs
		    WHERE hash = $1 AND browser_hash = $2 AND surface = $3 AND expires_at > $4
		    RETURNING organization_id, user_id)
		SELECT u.id, u.organization_id, u.name, u.email, u.role, `+memberState+` AS state
		FROM taken t
		JOIN users u ON u.organization_id = t.organization_id AND u.id = t.user_id
		JOIN organizations o ON o.id = u.organization_id`,
		hash, browserHash, surface, at)
	if isNoRows(err) || err == nil && row.State != identity.StateActive {
		return identity.Actor{}, workspace.ErrState
	}
	return identity.Actor{User: identity.User{
		ID: row.ID, OrganizationID: row.OrganizationID, Name: row.Name, Email: row.Email, Role: row.Role,
	}}, err
}
