package store

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/project"
)

// grantRow is a grant of a project.
type grantRow struct {
	Kind        project.SubjectKind
	ID          uuid.UUID
	Name        string
	Email       string
	MemberCount int
	Role        project.Role
}

func (g grantRow) subject() project.Subject {
	return project.Subject{Kind: g.Kind, ID: g.ID, Name: g.Name, Email: g.Email, MemberCount: g.MemberCount}
}

func (g grantRow) grant() project.Grant { return project.Grant{Subject: g.subject(), Role: g.Role} }

func (db *DB) ListGrants(ctx context.Context, owner identity.Owner, id uuid.UUID) (project.Grants, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (project.Grants, error) {
		version, err := findValue[int](ctx, tx, project.ErrNoProject, `
			SELECT version FROM projects WHERE id = $3 AND project_role($1, $2, $3) IS NOT NULL`,
			owner.OrganizationID, owner.UserID, id)
		if err != nil {
			return project.Grants{}, err
		}
		grants, err := listGrants(ctx, tx, id)
		return project.Grants{Version: version, List: grants}, err
	})
}

// listGrants returns the grants of a project: the organization, groups and people by name.
func listGrants(ctx context.Context, q querier, id uuid.UUID) ([]project.Grant, error) {
	rows, err := queryRows[grantRow](ctx, q, `
		SELECT CASE WHEN u.id IS NOT NULL THEN 'user' WHEN r.id IS NOT NULL THEN 'group' ELSE 'organization' END AS kind,
		       coalesce(u.id, r.id, o.id) AS id, coalesce(u.name, r.name, o.name) AS name, coalesce(u.email, '') AS email,
		       CASE WHEN u.id IS NOT NULL THEN 0
		            WHEN r.id IS NOT NULL THEN r.member_count
		            ELSE (SELECT count(*) FROM users m WHERE m.organization_id = o.id) END AS member_count,
		       g.role::text
		FROM project_grants g
		JOIN organizations o ON o.id = g.organization_id
		LEFT JOIN users u ON u.id = g.user_id
		LEFT JOIN member_groups r ON r.id = g.group_id
		WHERE g.project_id = $1
		ORDER BY u.id IS NOT NULL, r.id IS NOT NULL, name, 2`, id)
	return convert(rows, grantRow.grant), err
}

func (db *DB) SetGrants(ctx context.Context, actor identity.Actor, id uuid.UUID, grants []project.Grant,
	check func(project.Project) error,
) (project.Grants, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (stored project.Grants, _ error) {
		p, err := lockProject(ctx, tx, actor, id)
		if err == nil && p.DeletedAt != nil {
			err = project.ErrNoProject
		}
		if err == nil {
			err = check(p)
		}
		if err == nil {
			err = findGrantSubjects(ctx, tx, actor.OrganizationID, grants)
		}
		if err != nil {
			return stored, err
		}
		before, err := listGrants(ctx, tx, id)
		if err != nil {
			return stored, err
		}
		if err := saveGrants(ctx, tx, actor.OrganizationID, id, grants); err != nil {
			return stored, err
		}
		if err := checkManagers(ctx, tx, id); err != nil {
			return stored, err
		}
		if stored.List, err = listGrants(ctx, tx, id); err != nil {
			return stored, err
		}
		changes := grantChanges(before, stored.List)
		if stored.Version = p.Version; len(changes) == 0 {
			return stored, nil
		}
		if stored.Version, err = nextVersion(ctx, tx, id); err != nil {
			return stored, err
		}
		return stored, auditProject(ctx, tx, actor, org.ActionProjectGrants, p, changes)
	})
}

// nextVersion increments the version of a project.
func nextVersion(ctx context.Context, tx pgx.Tx, id uuid.UUID) (int, error) {
	return queryValue[int](ctx, tx, `UPDATE projects SET version = version + 1 WHERE id = $1 RETURNING version`, id)
}

// findGrantSubjects checks that people and groups exist, and locks them against their removal.
func findGrantSubjects(ctx context.Context, tx pgx.Tx, organizationID uuid.UUID, grants []project.Grant) error {
	var known []uuid.UUID
	for kind, table := range map[project.SubjectKind]string{project.User: "users", project.Group: "member_groups"} {
		ids := subjectIDs(grants, kind)
		found, err := queryValues[uuid.UUID](ctx, tx, `
			SELECT id FROM `+table+` WHERE organization_id = $1 AND id = ANY ($2) ORDER BY id FOR KEY SHARE`,
			organizationID, ids)
		if err != nil {
			return err
		}
		known = append(known, found...)
	}
	for i, g := range grants {
		if g.Subject.Kind != project.Organization && !slices.Contains(known, g.Subject.ID) {
			return project.NoSubject(i)
		}
	}
	return nil
}

// subjectIDs returns the ids of the subjects of a kind.
func subjectIDs(grants []project.Grant, kind project.SubjectKind) []uuid.UUID {
	ids := []uuid.UUID{}
	for _, g := range grants {
		if g.Subject.Kind == kind {
			ids = append(ids, g.Subject.ID)
		}
	}
	return ids
}

// saveGrants replaces the grants of a project. It changes only rows that differ, because triggers close the streams of
// the members whose grants change.
func saveGrants(ctx context.Context, tx pgx.Tx, organizationID, id uuid.UUID, grants []project.Grant) error {
	users, groups, roles := make([]*uuid.UUID, len(grants)), make([]*uuid.UUID, len(grants)), make([]string, len(grants))
	for i, g := range grants {
		switch roles[i] = string(g.Role); g.Subject.Kind {
		case project.User:
			users[i] = &g.Subject.ID
		case project.Group:
			groups[i] = &g.Subject.ID
		}
	}
	const wanted = `unnest($2::uuid[], $3::uuid[], $4::text[]) AS w (user_id, group_id, role)`
	if err := exec(ctx, tx, `
		DELETE FROM project_grants g
		WHERE g.project_id = $1 AND NOT EXISTS (
		    SELECT FROM `+wanted+`
		    WHERE (w.user_id, w.group_id) IS NOT DISTINCT FROM (g.user_id, g.group_id))`,
		id, users, groups, roles); err != nil {
		return err
	}
	if err := exec(ctx, tx, `
		UPDATE project_grants g SET role = w.role::project_access
		FROM `+wanted+`
		WHERE g.project_id = $1 AND (w.user_id, w.group_id) IS NOT DISTINCT FROM (g.user_id, g.group_id)
		  AND g.role <> w.role::project_access`, id, users, groups, roles); err != nil {
		return err
	}
	return exec(ctx, tx, `
		INSERT INTO project_grants (organization_id, project_id, user_id, group_id, role)
		SELECT $5, $1, w.user_id, w.group_id, w.role::project_access FROM `+wanted+`
		ON CONFLICT DO NOTHING`, id, users, groups, roles, organizationID)
}

// hasManager is the condition that the project p has an active manager.
const hasManager = `EXISTS (
	SELECT FROM project_grants g, granted_members(g.organization_id, g.user_id, g.group_id) m
	JOIN users u ON u.id = m.user_id
	WHERE g.project_id = p.id AND g.role = 'manager' AND u.state = 'active')`

// checkManagers refuses a project without an active manager.
func checkManagers(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	managed, err := queryValue[bool](ctx, tx, `SELECT `+hasManager+` FROM projects p WHERE p.id = $1`, id)
	if err == nil && !managed {
		err = project.ErrLastManager
	}
	return err
}

// grantChanges returns the differences between the grants of a project, one for each subject.
func grantChanges(before, after []project.Grant) []org.Change {
	var changes []org.Change
	find := func(grants []project.Grant, subject project.Subject) project.Role {
		for _, g := range grants {
			if g.Subject.ID == subject.ID {
				return g.Role
			}
		}
		return ""
	}
	label := func(s project.Subject) string {
		if s.Kind == project.User {
			return s.Email
		}
		return s.Name
	}
	for _, g := range before {
		changes = append(changes, org.Change{
			Field: label(g.Subject), Before: string(g.Role), After: string(find(after, g.Subject)),
		})
	}
	for _, g := range after {
		if find(before, g.Subject) == "" {
			changes = append(changes, org.Change{Field: label(g.Subject), After: string(g.Role)})
		}
	}
	return changed(changes)
}

func (db *DB) LeaveProject(ctx context.Context, actor identity.Actor, id uuid.UUID) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		p, err := lockProject(ctx, tx, actor, id)
		if err == nil && p.DeletedAt != nil {
			err = project.ErrNoProject
		}
		if err != nil {
			return err
		}
		if err := exec(ctx, tx, `DELETE FROM project_grants WHERE project_id = $1 AND user_id = $2`, id, actor.ID); err != nil {
			return err
		}
		stays, err := queryValue[bool](ctx, tx, `SELECT project_role($1, $2, $3) IS NOT NULL`, actor.OrganizationID,
			actor.ID, id)
		if err == nil && stays {
			err = project.ErrByGroup
		}
		if err == nil {
			err = checkManagers(ctx, tx, id)
		}
		if err != nil {
			return err
		}
		if _, err := nextVersion(ctx, tx, id); err != nil {
			return err
		}
		return auditProject(ctx, tx, actor, org.ActionProjectGrants, p, []org.Change{
			{Field: actor.Email, Before: string(p.Role)},
		})
	})
}

func (db *DB) FindSubjects(ctx context.Context, organizationID uuid.UUID, search string, without *uuid.UUID, offset,
	limit int,
) ([]project.Subject, error) {
	rows, err := queryRows[grantRow](ctx, db.pool, `
		SELECT s.kind, s.id, s.name, s.email, s.member_count
		FROM (SELECT 'group' AS kind, g.id, g.name, '' AS email, g.member_count
		      FROM member_groups g
		      WHERE g.organization_id = $1
		      UNION ALL
		      SELECT 'user', u.id, u.name, u.email, 0
		      FROM users u
		      WHERE u.organization_id = $1 AND u.state = 'active') s
		WHERE ($2 = '' OR position($2 IN lower(normalize(s.name, NFKC))) > 0 OR position($2 IN s.email) > 0)
		  AND NOT EXISTS (SELECT FROM project_grants g WHERE g.project_id = $5 AND s.id IN (g.user_id, g.group_id))
		ORDER BY s.kind, s.name, s.id
		OFFSET $3 LIMIT $4`, organizationID, normalizeSearch(search), offset, limit, without)
	return convert(rows, grantRow.subject), err
}
