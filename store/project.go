package store

import (
	"context"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/project"
)

var _ project.Store = (*DB)(nil)

// countMembers is the number of people with a role in the project p. Members of several groups with a role are counted
// once, unless the groups are so large that counting takes long.
const countMembers = `(
	SELECT CASE WHEN bool_or(g.user_id IS NULL AND g.group_id IS NULL)
	            THEN (SELECT count(*) FROM users u WHERE u.organization_id = p.organization_id)
	            ELSE count(*) FILTER (WHERE g.user_id IS NOT NULL AND NOT EXISTS (
	                     SELECT FROM project_grants o
	                     JOIN group_members m ON m.group_id = o.group_id
	                     WHERE o.project_id = p.id AND m.user_id = g.user_id))
	                + CASE WHEN count(g.group_id) > 1 AND sum(r.member_count) <= 1000
	                       THEN (SELECT count(DISTINCT m.user_id)
	                             FROM project_grants o
	                             JOIN group_members m ON m.group_id = o.group_id
	                             WHERE o.project_id = p.id)
	                       ELSE coalesce(sum(r.member_count), 0)
	                  END
	       END::integer
	FROM project_grants g
	LEFT JOIN member_groups r ON r.id = g.group_id
	WHERE g.project_id = p.id)`

// projectColumns returns the columns of a project.Project, without instructions, from the tables projects p and
// granted_projects a. user is the parameter with the user.
func projectColumns(user string) string {
	return `p.id, p.name, p.description,
	(SELECT s.id FROM skills s WHERE s.id = p.skill_id AND s.retired_at IS NULL) AS skill_id, a.role::text, p.version,
	p.archived_at, p.deleted_at, p.retention_days, p.storage_limit, p.source_count AS sources,
	p.source_bytes AS storage_used, p.created_at, p.updated_at, ` + countMembers + ` AS members,
	(SELECT count(*) FROM threads t
	 WHERE t.project_id = p.id AND (t.visibility = 'project' OR t.user_id = ` + user + `)
	   AND t.expires_at IS NULL) AS threads`
}

// projectMatches is the condition that the name of the project p contains $2, and that p is in the state $3.
const projectMatches = `($2 = '' OR position($2 IN lower(normalize(p.name, NFKC))) > 0)
	AND CASE $3 WHEN 'deleted' THEN p.deleted_at IS NOT NULL
	            WHEN 'archived' THEN p.deleted_at IS NULL AND p.archived_at IS NOT NULL
	            ELSE p.deleted_at IS NULL AND p.archived_at IS NULL END`

// ProjectRole implements project.Store.
func (db *DB) ProjectRole(ctx context.Context, owner identity.Owner, id uuid.UUID) (project.Role, error) {
	role, err := queryValue[*string](ctx, db.pool, `SELECT project_role($1, $2, $3)::text`, owner.OrganizationID,
		owner.UserID, id)
	if err == nil && role == nil {
		err = project.ErrNoProject
	}
	if err != nil {
		return "", err
	}
	return project.Role(*role), nil
}

// ProjectIDs returns the ids of a person's projects.
func (db *DB) ProjectIDs(ctx context.Context, person identity.Owner) ([]uuid.UUID, error) {
	return queryValues[uuid.UUID](ctx, db.pool, `SELECT a.project_id FROM projects_of($1, $2) a`,
		person.OrganizationID, person.UserID)
}

// fromListed selects the projects of the user $4 of the organization $1 for a list.
const fromListed = `
	FROM granted_projects($1, $4) a
	JOIN projects p ON p.id = a.project_id
	WHERE ` + projectMatches + ` AND (p.deleted_at IS NULL OR a.role = 'manager')`

// listProjects returns the query for a page of the projects of fromListed. The page is selected first, so that only its
// members and threads are counted.
func listProjects(order project.Order) string {
	by := ` ORDER BY p.name, p.id`
	if order == project.ByUpdate {
		by = ` ORDER BY p.updated_at DESC, p.id`
	}
	return `
	SELECT ` + projectColumns("$4") + `
	FROM (SELECT p.id AS project_id, a.role` + fromListed + by + ` OFFSET $5 LIMIT $6) a
	JOIN projects p ON p.id = a.project_id` + by
}

// ListProjects implements project.Store.
func (db *DB) ListProjects(ctx context.Context, owner identity.Owner, search string, state project.State,
	order project.Order, offset, limit int,
) ([]project.Project, int, error) {
	return queryPage[project.Project](ctx, db, `SELECT count(*)`+fromListed, listProjects(order),
		[]any{owner.OrganizationID, normalizeSearch(search), state, owner.UserID}, offset, limit)
}

// FindProject implements project.Store.
func (db *DB) FindProject(ctx context.Context, owner identity.Owner, id uuid.UUID) (project.Project, error) {
	p, err := findProject(ctx, db.pool, owner, id)
	if err == nil && p.DeletedAt != nil {
		err = project.ErrNoProject
	}
	return p, err
}

// findProject returns a project, also a deleted one.
func findProject(ctx context.Context, q querier, owner identity.Owner, id uuid.UUID) (project.Project, error) {
	return findRow[project.Project](ctx, q, project.ErrNoProject, `
		SELECT `+projectColumns("$2")+`, p.instructions
		FROM granted_projects($1, $2) a
		JOIN projects p ON p.id = a.project_id
		WHERE p.id = $3`,
		owner.OrganizationID, owner.UserID, id)
}

// CreateProject implements project.Store.
func (db *DB) CreateProject(ctx context.Context, actor identity.Actor, call project.Call) (project.Project, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (p project.Project, _ error) {
		if err := lockOrganization(ctx, tx, actor.OrganizationID); err != nil {
			return p, err
		}
		known, err := queryRows[struct {
			ID   uuid.UUID
			Same bool
		}](ctx, tx, `
			SELECT id, request_hash = $3 AS same FROM projects WHERE organization_id = $1 AND request_id = $2`,
			actor.OrganizationID, call.RequestID, call.RequestHash[:])
		switch {
		case err != nil:
			return p, err
		case len(known) == 1 && known[0].Same:
			return findProject(ctx, tx, actor.Owner(), known[0].ID)
		case len(known) == 1:
			return p, org.ErrRequestConflict
		}
		if err := checkProjects(ctx, tx, actor.OrganizationID); err != nil {
			return p, err
		}
		d := call.Draft
		if err := checkProjectSkill(ctx, tx, actor.Owner(), d.SkillID); err != nil {
			return p, err
		}
		if err := exec(ctx, tx, `
			INSERT INTO projects (id, organization_id, name, description, instructions, skill_id, request_id, request_hash)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, call.ID, actor.OrganizationID, d.Name, d.Description,
			d.Instructions, d.SkillID, call.RequestID, call.RequestHash[:]); err != nil {
			return p, err
		}
		if err := exec(ctx, tx, `
			INSERT INTO project_grants (organization_id, project_id, user_id, role) VALUES ($1, $2, $3, 'manager')`,
			actor.OrganizationID, call.ID, actor.ID); err != nil {
			return p, err
		}
		if p, err = findProject(ctx, tx, actor.Owner(), call.ID); err != nil {
			return p, err
		}
		return p, auditProject(ctx, tx, actor, org.ActionProjectCreate, p, projectChanges(project.Project{}, p))
	})
}

// checkProjects refuses another project of an organization, which must be locked.
func checkProjects(ctx context.Context, tx pgx.Tx, organizationID uuid.UUID) error {
	n, err := queryValue[int](ctx, tx, `
		SELECT count(*) FROM projects WHERE organization_id = $1 AND deleted_at IS NULL`, organizationID)
	if err == nil && n >= project.MaxProjects {
		err = project.ErrTooMany
	}
	return err
}

// checkProjectSkill refuses a default skill that the user may not use.
func checkProjectSkill(ctx context.Context, tx pgx.Tx, owner identity.Owner, id *uuid.UUID) error {
	if id == nil {
		return nil
	}
	found, err := queryValue[bool](ctx, tx, `
		SELECT EXISTS (SELECT FROM skills s WHERE s.id = $3 AND `+mayUse+` AND `+isListed+`)`,
		owner.OrganizationID, owner.UserID, *id)
	if err == nil && !found {
		return fault.InvalidField("skill_id", "スキルが見つかりません。選び直してください。")
	}
	return err
}

// lockProject locks the actor's organization and a project, also a deleted one, and returns the project.
func lockProject(ctx context.Context, tx pgx.Tx, actor identity.Actor, id uuid.UUID) (project.Project, error) {
	if err := lockOrganization(ctx, tx, actor.OrganizationID); err != nil {
		return project.Project{}, err
	}
	if err := execRow(ctx, tx, project.ErrNoProject, `
		SELECT FROM projects WHERE organization_id = $1 AND id = $2 FOR NO KEY UPDATE`,
		actor.OrganizationID, id); err != nil {
		return project.Project{}, err
	}
	return findProject(ctx, tx, actor.Owner(), id)
}

// ChangeProject implements project.Store.
func (db *DB) ChangeProject(ctx context.Context, actor identity.Actor, id uuid.UUID,
	change func(project.Project) (project.Project, error),
) (project.Project, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (project.Project, error) {
		before, err := lockProject(ctx, tx, actor, id)
		if err == nil && before.DeletedAt != nil {
			err = project.ErrNoProject
		}
		if err != nil {
			return before, err
		}
		p, err := change(before)
		if err != nil {
			return before, err
		}
		if p.SkillID != nil && (before.SkillID == nil || *before.SkillID != *p.SkillID) {
			if err := checkProjectSkill(ctx, tx, actor.Owner(), p.SkillID); err != nil {
				return before, err
			}
		}
		changes := projectChanges(before, p)
		if len(changes) == 0 {
			return before, nil
		}
		if err := exec(ctx, tx, `
			UPDATE projects
			SET name = $2, description = $3, instructions = $4, skill_id = $5, archived_at = $6,
			    retention_since = CASE WHEN retention_days IS DISTINCT FROM $7 THEN clock_timestamp() ELSE retention_since END,
			    retention_days = $7, storage_limit = $8, version = version + 1, updated_at = now()
			WHERE id = $1`, id, p.Name, p.Description, p.Instructions, p.SkillID, p.ArchivedAt, p.RetentionDays,
			p.StorageLimit); err != nil {
			return before, err
		}
		action := org.ActionProjectEdit
		if (before.ArchivedAt == nil) != (p.ArchivedAt == nil) {
			action = org.ActionProjectArchive
		}
		if err := auditProject(ctx, tx, actor, action, p, changes); err != nil {
			return before, err
		}
		if before.ArchivedAt == nil && p.ArchivedAt != nil {
			if err := notifyManagers(ctx, tx, actor, p, false); err != nil {
				return before, err
			}
		}
		return findProject(ctx, tx, actor.Owner(), id)
	})
}

func auditProject(ctx context.Context, tx pgx.Tx, actor identity.Actor, action org.Action, p project.Project,
	details []org.Change,
) error {
	return audit(ctx, tx, projectEvent(actor.OrganizationID, org.AuditActorOf(actor), action, p.ID, p.Name, details))
}

// projectEvent returns an audit entry about a project.
func projectEvent(organizationID uuid.UUID, by org.AuditActor, action org.Action, id uuid.UUID, name string,
	details []org.Change,
) org.Event {
	return org.Event{
		OrganizationID: &organizationID, By: by, Action: action, TargetKind: org.TargetProject, TargetID: id.String(),
		TargetLabel: name, Details: details,
	}
}

// projectChanges returns the differences between two versions of a project. The instructions are contents, which are not
// logged.
func projectChanges(before, after project.Project) []org.Change {
	changes := changed([]org.Change{
		{Field: "name", Before: before.Name, After: after.Name},
		{Field: "description", Before: before.Description, After: after.Description},
		{Field: "skill_id", Before: orBlank(before.SkillID), After: orBlank(after.SkillID)},
		{Field: "archived", Before: orBlank(before.ArchivedAt), After: orBlank(after.ArchivedAt)},
		{Field: "retention_days", Before: orBlank(before.RetentionDays), After: orBlank(after.RetentionDays)},
		{Field: "storage_limit", Before: orBlank(before.StorageLimit), After: orBlank(after.StorageLimit)},
	})
	if before.Instructions != after.Instructions {
		changes = append(changes, org.Change{
			Field: "instructions", Before: characters(before.Instructions), After: characters(after.Instructions),
		})
	}
	return changes
}

// orBlank formats an optional value for the audit log.
func orBlank[T any](v *T) string {
	if v == nil {
		return ""
	}
	if at, ok := any(*v).(time.Time); ok {
		return at.UTC().Format(time.RFC3339)
	}
	return fmt.Sprint(*v)
}

// characters formats the length of a text for the audit log.
func characters(text string) string { return strconv.Itoa(utf8.RuneCountInString(text)) }
