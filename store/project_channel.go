package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/project"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

func (db *DB) FindChannel(ctx context.Context, owner identity.Owner, installationID uuid.UUID, channel string) (
	*project.Binding, error,
) {
	row, err := queryRow[struct {
		project.Project
		BindingID uuid.UUID
	}](ctx, db.pool, `
		SELECT c.id AS binding_id, p.id, p.name, p.archived_at, p.deleted_at,
		       (SELECT s.id FROM skills s WHERE s.id = p.skill_id AND s.retired_at IS NULL) AS skill_id,
		       coalesce((SELECT a.role::text FROM granted_projects($1, $2) a WHERE a.project_id = p.id), '') AS role
		FROM project_channels c
		JOIN projects p ON p.id = c.project_id
		WHERE c.organization_id = $1 AND c.installation_id = $3 AND c.channel = $4`,
		owner.OrganizationID, owner.UserID, installationID, channel)
	return nilIfNoRow(&project.Binding{ID: row.BindingID, Project: row.Project}, err)
}

func (db *DB) BindChannel(ctx context.Context, actor identity.Actor, name string, c project.Channel,
	check func(project.Project) error,
) (project.Project, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (p project.Project, _ error) {
		// The lock keeps the names of projects, and two projects from binding a channel at the same time.
		if err := lockOrganization(ctx, tx, actor.OrganizationID); err != nil {
			return p, err
		}
		// Archived projects count only if no other one has the name.
		ids, err := queryValues[uuid.UUID](ctx, tx, `
			SELECT id
			FROM (SELECT p.id, rank() OVER (ORDER BY p.archived_at IS NOT NULL) AS place
			      FROM projects_of($1, $2) a
			      JOIN projects p ON p.id = a.project_id
			      WHERE a.role = 'manager' AND lower(normalize(p.name, NFKC)) = $3) named
			WHERE place = 1
			LIMIT 2`, actor.OrganizationID, actor.ID, normalizeSearch(name))
		switch {
		case err != nil:
			return p, err
		case len(ids) == 0:
			return p, project.ErrNoManaged
		case len(ids) > 1:
			return p, project.ErrSameName
		}
		if p, err = lockProject(ctx, tx, actor, ids[0]); err == nil {
			err = check(p)
		}
		if err != nil {
			return p, err
		}
		bound, err := releaseChannel(ctx, tx, c, p.ID)
		if err != nil || bound {
			return p, err
		}
		count, err := queryValue[int](ctx, tx, `SELECT count(*) FROM project_channels WHERE project_id = $1`, p.ID)
		if err == nil && count >= project.MaxChannels {
			err = project.ErrManyChannels
		}
		if err != nil {
			return p, err
		}
		if err := exec(ctx, tx, `
			INSERT INTO project_channels (id, organization_id, project_id, installation_id, channel, name, bound_by)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`, uuidv7.New(), actor.OrganizationID, p.ID, c.InstallationID, c.Channel,
			storable(c.Name), actor.ID); err != nil {
			return p, err
		}
		return p, auditProject(ctx, tx, actor, org.ActionProjectBind, p, []org.Change{{Field: "channel", After: c.Label()}})
	})
}

// releaseChannel reports whether a channel is bound to a project. It removes the binding to a deleted project, and
// returns project.ErrBound for a binding to another one.
func releaseChannel(ctx context.Context, tx pgx.Tx, c project.Channel, projectID uuid.UUID) (bound bool, _ error) {
	rows, err := queryRows[struct {
		ID        uuid.UUID
		ProjectID uuid.UUID
		DeletedAt *time.Time
	}](ctx, tx, `
		SELECT c.id, c.project_id, p.deleted_at
		FROM project_channels c
		JOIN projects p ON p.id = c.project_id
		WHERE c.installation_id = $1 AND c.channel = $2`, c.InstallationID, c.Channel)
	switch {
	case err != nil || len(rows) == 0:
		return false, err
	case rows[0].ProjectID == projectID:
		return true, nil
	case rows[0].DeletedAt == nil:
		return false, project.ErrBound
	}
	return false, exec(ctx, tx, `DELETE FROM project_channels WHERE id = $1`, rows[0].ID)
}

func (db *DB) UnbindChannel(ctx context.Context, actor identity.Actor, projectID, id uuid.UUID,
	check func(project.Project, *org.Member) error,
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		member, err := lockForActor(ctx, tx, actor)
		if err != nil {
			return err
		}
		p, err := lockAnyProject(ctx, tx, actor, projectID)
		if err == nil {
			err = check(p, member)
		}
		if err != nil {
			return err
		}
		c, err := findRow[project.Channel](ctx, tx, project.ErrNoChannel, `
			DELETE FROM project_channels WHERE project_id = $1 AND id = $2 RETURNING channel, name`, projectID, id)
		if err != nil {
			return err
		}
		return auditProject(ctx, tx, actor, org.ActionProjectUnbind, p, []org.Change{{Field: "channel", Before: c.Label()}})
	})
}

// channelRow is a channel of a project.
type channelRow struct {
	project.Channel
	UserID   *uuid.UUID
	UserName string
}

func (r channelRow) bound() project.Channel {
	if r.UserID != nil {
		r.BoundBy = &project.Member{ID: *r.UserID, Name: r.UserName}
	}
	return r.Channel
}

func (db *DB) ListChannels(ctx context.Context, owner identity.Owner, id uuid.UUID) ([]project.Channel, error) {
	if _, err := db.ProjectRole(ctx, owner, id); err != nil {
		return nil, err
	}
	rows, err := queryRows[channelRow](ctx, db.pool, `
		SELECT c.id, c.installation_id, c.channel, c.name, c.bound_at, u.id AS user_id, coalesce(u.name, '') AS user_name
		FROM project_channels c
		LEFT JOIN users u ON u.id = c.bound_by
		WHERE c.organization_id = $1 AND c.project_id = $2
		ORDER BY c.bound_at, c.id`, owner.OrganizationID, id)
	return convert(rows, channelRow.bound), err
}
