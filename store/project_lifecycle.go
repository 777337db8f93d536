package store

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/project"
)

const (
	purgeThreads = 50 // Threads of a deleted project that are removed in one transaction.
	purgeSources = 5  // Files, which have thousands of rows each.
	maxManagers  = 10 // Managers of a project in the list for administrators.
)

func (db *DB) ChangeLifecycle(ctx context.Context, actor identity.Actor, id uuid.UUID, to project.State,
	check func(project.Project, *org.Member) error,
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		member, err := lockForActor(ctx, tx, actor)
		if err != nil {
			return err
		}
		p, err := lockAnyProject(ctx, tx, actor, id)
		if err != nil {
			return err
		}
		if err := check(p, member); err != nil {
			return err
		}
		archived, deleted, action := p.ArchivedAt, p.DeletedAt, org.ActionProjectArchive
		switch {
		case to == project.Deleted:
			deleted, action = new(time.Now()), org.ActionProjectDelete
		case to == project.Archived && archived == nil:
			archived = new(time.Now())
		case to == project.Active && deleted != nil:
			deleted, action = nil, org.ActionProjectRestore
			if err := checkProjects(ctx, tx, actor.OrganizationID); err != nil {
				return err
			}
		case to == project.Active && archived != nil:
			archived = nil
		default:
			return nil
		}
		if err := exec(ctx, tx, `
			UPDATE projects
			SET archived_at = $2, deleted_at = $3, version = version + 1, updated_at = now(),
			    retention_since = CASE WHEN deleted_at IS NOT NULL THEN clock_timestamp() ELSE retention_since END
			WHERE id = $1`, id, archived, deleted); err != nil {
			return err
		}
		if err := auditProject(ctx, tx, actor, action, p, changed([]org.Change{
			{Field: "archived", Before: orBlank(p.ArchivedAt), After: orBlank(archived)},
			{Field: "deleted", Before: orBlank(p.DeletedAt), After: orBlank(deleted)},
		})); err != nil {
			return err
		}
		switch {
		case action == org.ActionProjectRestore:
			return nameManagers(ctx, tx, actor.OrganizationID)
		case to != project.Active:
			return notifyManagers(ctx, tx, actor, p, to == project.Deleted)
		}
		return nil
	})
}

// notifyManagers notifies the managers of a project, except the actor, that it was archived or deleted.
func notifyManagers(ctx context.Context, tx pgx.Tx, actor identity.Actor, p project.Project, deleted bool) error {
	managers, err := queryValues[uuid.UUID](ctx, tx, `
		SELECT DISTINCT m.user_id
		FROM project_grants g, granted_members(g.organization_id, g.user_id, g.group_id) m
		JOIN users u ON u.id = m.user_id
		WHERE g.project_id = $1 AND g.role = 'manager' AND u.state = 'active' AND u.id <> $2
		LIMIT $3`, p.ID, actor.ID, project.MaxGrants)
	for i := 0; i < len(managers) && err == nil; i++ {
		err = insertNotification(ctx, tx, project.EndNotice(actor.OrganizationID, managers[i], p.Name, actor.Name, deleted))
	}
	return err
}

// lockAnyProject locks a project of the actor's organization, also a deleted one. The actor need not have a role.
func lockAnyProject(ctx context.Context, tx pgx.Tx, actor identity.Actor, id uuid.UUID) (project.Project, error) {
	return findRow[project.Project](ctx, tx, project.ErrNoProject, `
		SELECT p.id, p.name, p.archived_at, p.deleted_at,
		       coalesce((SELECT a.role::text FROM granted_projects($1, $2) a WHERE a.project_id = p.id), '') AS role
		FROM projects p
		WHERE p.organization_id = $1 AND p.id = $3
		FOR NO KEY UPDATE`, actor.OrganizationID, actor.ID, id)
}

// firstManager selects the active manager of the project p with the oldest grant, first by grants for members.
const firstManager = `
	SELECT m.user_id
	FROM project_grants g, granted_members(g.organization_id, g.user_id, g.group_id) m
	JOIN users u ON u.id = m.user_id
	WHERE g.project_id = p.id AND g.role = 'manager' AND u.state = 'active'
	ORDER BY g.user_id IS NULL, g.granted_at, u.created_at, u.id
	LIMIT 1`

// nextManager selects the member of the organization $1 who becomes the manager of the project p if it has none: the
// active editor with the oldest grant, or an administrator.
const nextManager = `
	(SELECT m.user_id
	 FROM project_grants g, granted_members(g.organization_id, g.user_id, g.group_id) m
	 JOIN users u ON u.id = m.user_id
	 WHERE g.project_id = p.id AND g.role = 'editor' AND u.state = 'active'
	   AND (g.user_id IS NOT NULL OR g.group_id IS NOT NULL)
	 ORDER BY g.group_id IS NOT NULL, g.granted_at, u.created_at, u.id
	 LIMIT 1)
	UNION ALL
	(SELECT u.id
	 FROM users u
	 WHERE u.organization_id = $1 AND u.state = 'active'
	   AND u.role IN ('organization-admin', 'organization-super-admin')
	 ORDER BY u.last_signed_in_at IS NULL, u.created_at, u.id
	 LIMIT 1)
	LIMIT 1`

// nameManagers makes a member the manager of each project of an organization without an active manager, except deleted
// ones, and notifies them. The organization must be locked.
func nameManagers(ctx context.Context, tx pgx.Tx, organizationID uuid.UUID) error {
	named, err := queryRows[struct {
		ID     uuid.UUID
		Name   string
		UserID uuid.UUID
		Email  string
		Role   string
	}](ctx, tx, `
		SELECT p.id, p.name, u.id AS user_id, u.email, coalesce(project_role($1, u.id, p.id)::text, '') AS role
		FROM projects p
		JOIN LATERAL (`+nextManager+`) heir ON true
		JOIN users u ON u.id = heir.user_id
		WHERE p.organization_id = $1 AND p.deleted_at IS NULL AND NOT `+hasManager+`
		ORDER BY p.id`, organizationID)
	for i := 0; i < len(named) && err == nil; i++ {
		n := named[i]
		if err = grantManager(ctx, tx, organizationID, n.ID, n.UserID); err != nil {
			return err
		}
		if err = insertNotification(ctx, tx, project.ManagerNotice(organizationID, n.UserID, n.Name)); err != nil {
			return err
		}
		err = audit(ctx, tx, projectEvent(organizationID, org.AuditActor{Kind: org.BySystem}, org.ActionProjectGrants, n.ID,
			n.Name, []org.Change{{Field: n.Email, Before: n.Role, After: string(project.Manager)}}))
	}
	return err
}

// grantManager makes a member a manager of a project.
func grantManager(ctx context.Context, tx pgx.Tx, organizationID, id, userID uuid.UUID) error {
	if err := exec(ctx, tx, `
		INSERT INTO project_grants (organization_id, project_id, user_id, role) VALUES ($1, $2, $3, 'manager')
		ON CONFLICT (project_id, user_id, group_id) DO UPDATE SET role = 'manager'`, organizationID, id, userID); err != nil {
		return err
	}
	_, err := nextVersion(ctx, tx, id)
	return err
}

func (db *DB) NameManager(ctx context.Context, actor identity.Actor, id, userID uuid.UUID,
	check func(*org.Member) error,
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		member, err := lockForActor(ctx, tx, actor)
		if err == nil {
			err = check(member)
		}
		if err != nil {
			return err
		}
		p, err := lockAnyProject(ctx, tx, actor, id)
		if err == nil && p.DeletedAt != nil {
			err = project.ErrNoProject
		}
		if err != nil {
			return err
		}
		if err := checkManagers(ctx, tx, id); err == nil {
			return project.ErrHasManager
		} else if fault.CodeOf(err) != project.CodeLastManager {
			return err
		}
		manager, err := findMember(ctx, tx, actor.OrganizationID, userID)
		switch {
		case err != nil && !errors.Is(err, org.ErrNoMember):
			return err
		case err != nil || manager.State != identity.StateActive:
			unknown := fault.InvalidField("user_id", "有効なメンバーを選んでください。")
			unknown.Code = fault.NotFound
			return unknown
		}
		if err := grantManager(ctx, tx, actor.OrganizationID, id, userID); err != nil {
			return err
		}
		return auditProject(ctx, tx, actor, org.ActionProjectGrants, p, []org.Change{
			{Field: manager.Email, After: string(project.Manager)},
		})
	})
}

// PurgeProjects implements project.Store. The rows that cost most are removed in small steps.
func (db *DB) PurgeProjects(ctx context.Context, age time.Duration) (more bool, err error) {
	return txResult(ctx, db, func(tx pgx.Tx) (bool, error) {
		due, err := queryRows[struct {
			ID             uuid.UUID
			OrganizationID uuid.UUID
			Name           string
		}](ctx, tx, `
			SELECT id, organization_id, name FROM projects
			WHERE deleted_at <= now() - $1::interval
			ORDER BY deleted_at
			LIMIT 1
			FOR UPDATE SKIP LOCKED`, age)
		if err != nil || len(due) == 0 {
			return false, err
		}
		p := due[0]
		for _, step := range []struct {
			sql   string
			limit int
		}{
			{`DELETE FROM threads WHERE id IN (SELECT id FROM threads WHERE project_id = $1 LIMIT $2)`, purgeThreads},
			{`DELETE FROM project_sources WHERE project_id = $1 AND data_source_id IN (
			      SELECT data_source_id FROM project_sources WHERE project_id = $1 LIMIT $2)`, purgeSources},
		} {
			if tag, err := tx.Exec(ctx, step.sql, p.ID, step.limit); err != nil || tag.RowsAffected() > 0 {
				return true, err
			}
		}
		// The index is removed by its last turn (indexTurn.end) or, if that has been, here. The lock waits for a turn.
		for _, sql := range []string{
			`SELECT FROM project_indexes WHERE project_id = $1 FOR UPDATE`,
			`DELETE FROM project_indexes i
			 WHERE i.project_id = $1 AND NOT EXISTS (SELECT FROM project_index_changes c WHERE c.project_id = $1)`,
			`DELETE FROM projects WHERE id = $1`,
		} {
			if err := exec(ctx, tx, sql, p.ID); err != nil {
				return false, err
			}
		}
		return true, audit(ctx, tx, projectEvent(p.OrganizationID, org.AuditActor{Kind: org.BySystem},
			org.ActionProjectPurge, p.ID, p.Name, nil))
	})
}

// managedRow is a project as administrators see it.
type managedRow struct {
	project.Managed
	ManagerList []project.Member
}

func (db *DB) ListManaged(ctx context.Context, organizationID uuid.UUID, search string, state project.State, offset,
	limit int,
) ([]project.Managed, int, error) {
	const where = ` FROM projects p WHERE p.organization_id = $1 AND ` + projectMatches
	rows, total, err := queryPage[managedRow](ctx, db, `SELECT count(*)`+where, `
		SELECT p.id, p.name, p.source_count AS sources, p.source_bytes AS storage_used, p.archived_at, p.deleted_at,
		       p.created_at, `+countMembers+` AS members,
		       (SELECT count(*) FROM threads t WHERE t.project_id = p.id AND t.visibility = 'project') AS threads,
		       (SELECT coalesce(jsonb_agg(jsonb_build_object('ID', m.id, 'Name', m.name) ORDER BY m.name, m.id), '[]')
		        FROM (SELECT DISTINCT u.id, u.name
		              FROM project_grants g, granted_members(g.organization_id, g.user_id, g.group_id) m
		              JOIN users u ON u.id = m.user_id
		              WHERE g.project_id = p.id AND g.role = 'manager' AND u.state = 'active'
		              ORDER BY u.name, u.id
		              LIMIT `+strconv.Itoa(maxManagers)+`) m) AS manager_list
		FROM (SELECT p.*`+where+` ORDER BY p.name, p.id OFFSET $4 LIMIT $5) p
		ORDER BY p.name, p.id`,
		[]any{organizationID, normalizeSearch(search), state}, offset, limit)
	return convert(rows, func(r managedRow) project.Managed {
		r.Managers = r.ManagerList
		return r.Managed
	}), total, err
}

// ProjectUsage implements project.Store. An answer is charged to the member who requested it, as in the usage of the
// organization.
func (db *DB) ProjectUsage(ctx context.Context, organizationID, id uuid.UUID) (usage project.Usage, _ error) {
	rows, err := queryRows[struct {
		UserID       *uuid.UUID
		Name         string
		Messages     int
		InputTokens  int64
		OutputTokens int64
	}](ctx, db.pool, `
		SELECT u.id AS user_id, coalesce(u.name, '') AS name, count(*) AS messages,
		       coalesce(sum(m.input_tokens), 0)::bigint AS input_tokens,
		       coalesce(sum(m.output_tokens), 0)::bigint AS output_tokens
		FROM threads t
		JOIN messages m ON m.thread_id = t.id AND m.role = 'assistant'
		LEFT JOIN generations g ON g.message_id = m.id
		LEFT JOIN users u ON u.id = coalesce(g.user_id, t.user_id)
		WHERE t.organization_id = $1 AND t.project_id = $2
		  AND m.completed_at >= (`+thisMonth+`)::timestamp AT TIME ZONE 'Asia/Tokyo'
		GROUP BY u.id
		ORDER BY sum(m.input_tokens) + sum(m.output_tokens) DESC NULLS LAST, u.id`, organizationID, id)
	for _, r := range rows {
		usage.InputTokens += r.InputTokens
		usage.OutputTokens += r.OutputTokens
		var member *project.Member
		if r.UserID != nil {
			member = &project.Member{ID: *r.UserID, Name: r.Name}
		}
		usage.ByMember = append(usage.ByMember, project.MemberUsage{
			Member: member, Messages: r.Messages, InputTokens: r.InputTokens, OutputTokens: r.OutputTokens,
		})
	}
	return usage, err
}
