package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/project"
)

// isReadable is the condition that the owner $1, $2 may open the data source d: it is their own, or a file of one of their
// projects.
const isReadable = `d.organization_id = $1 AND (` + isOwn + ` OR EXISTS (
	SELECT FROM project_sources k
	WHERE k.data_source_id = d.id AND k.project_id IN (SELECT a.project_id FROM projects_of($1, $2) a)))`

// isEditable is the condition that the user $2 of the organization $1 may stop and repeat the reading of the data source
// d: it is their own, or a file of a project that they edit.
const isEditable = `d.organization_id = $1 AND (d.user_id = $2 OR EXISTS (
	SELECT FROM project_sources k
	JOIN projects_of($1, $2) a ON a.project_id = k.project_id
	WHERE k.data_source_id = d.id AND a.role >= 'editor'))`

// projectSourceRow is a file of a project.
type projectSourceRow struct {
	datasource.Source
	AddedBy     *uuid.UUID
	AddedByName string
	AddedAt     time.Time
}

func (r projectSourceRow) source() project.Source {
	s := project.Source{Source: r.Source, AddedAt: r.AddedAt}
	if r.AddedBy != nil {
		s.AddedBy = &project.Member{ID: *r.AddedBy, Name: r.AddedByName}
	}
	return s
}

// selectProjectSources begins the queries for the files of the project $1.
const selectProjectSources = `
	SELECT d.id, d.filename, d.media_type, d.size, d.sha256, d.status, d.failure, d.notice, d.page_count, d.chunk_count,
	       d.stage, d.done, d.total, d.revision, d.created_at, k.added_by, coalesce(u.name, '') AS added_by_name, k.added_at
	FROM project_sources k
	JOIN data_sources d ON d.id = k.data_source_id
	LEFT JOIN users u ON u.id = k.added_by
	WHERE k.project_id = $1`

func (db *DB) ProjectSources(ctx context.Context, owner identity.Owner, id uuid.UUID, search string, offset, limit int) (
	[]project.Source, int, error,
) {
	if _, err := db.ProjectRole(ctx, owner, id); err != nil {
		return nil, 0, err
	}
	const named = ` AND ($2 = '' OR position($2 IN lower(normalize(d.filename, NFKC))) > 0)`
	rows, total, err := queryPage[projectSourceRow](ctx, db, `
		SELECT count(*) FROM project_sources k JOIN data_sources d ON d.id = k.data_source_id WHERE k.project_id = $1`+named,
		selectProjectSources+named+`
		ORDER BY k.added_at DESC, k.data_source_id DESC
		OFFSET $3 LIMIT $4`, []any{id, normalizeSearch(search)}, offset, limit)
	return convert(rows, projectSourceRow.source), total, err
}

func (db *DB) FindProjectSources(ctx context.Context, actor identity.Owner, id uuid.UUID, limit int) (
	[]datasource.Source, error,
) {
	if _, err := db.ProjectRole(ctx, actor, id); err != nil {
		return nil, err
	}
	rows, err := queryRows[projectSourceRow](ctx, db.pool, selectProjectSources+`
		ORDER BY k.added_at, k.data_source_id
		LIMIT $2`, id, limit)
	return convert(rows, func(r projectSourceRow) datasource.Source { return r.Source }), err
}

func (db *DB) ShareSources(ctx context.Context, actor identity.Actor, id uuid.UUID, sourceIDs []uuid.UUID,
	check func(project.Project) error,
) ([]project.Source, error) {
	return txResult(ctx, db, func(tx pgx.Tx) ([]project.Source, error) {
		p, err := lockForSources(ctx, tx, actor.Owner(), id, check)
		if err != nil {
			return nil, err
		}
		own, err := queryRows[struct {
			ID       uuid.UUID
			Filename string
			Size     int64
			Existing *uuid.UUID
		}](ctx, tx, `
			SELECT d.id, d.filename, d.size, (SELECT e.id
			                      FROM data_sources e
			                      JOIN project_sources k ON k.data_source_id = e.id
			                      WHERE e.sha256 = d.sha256 AND k.project_id = $4
			                      LIMIT 1) AS existing
			FROM data_sources d
			WHERE d.organization_id = $1 AND d.user_id = $2 AND d.id = ANY ($3)
			ORDER BY d.id
			FOR KEY SHARE OF d`, actor.OrganizationID, actor.ID, sourceIDs, id)
		if err != nil {
			return nil, err
		}
		shared, added, size := make(map[uuid.UUID]uuid.UUID, len(own)), []uuid.UUID{}, int64(0)
		var changes []org.Change
		for _, s := range own {
			if shared[s.ID] = s.ID; s.Existing != nil {
				shared[s.ID] = *s.Existing
				continue
			}
			added, size = append(added, s.ID), size+s.Size
			changes = append(changes, org.Change{Field: "file", After: s.Filename})
		}
		for i, wanted := range sourceIDs {
			if shared[wanted] == uuid.Nil {
				missing := fault.InvalidField(fmt.Sprintf("data_source_ids[%d]", i), "%s", fault.DetailOf(noSource(nil)))
				missing.Code = fault.NotFound
				return nil, missing
			}
		}
		if err := checkProjectRoom(p, len(added), size); err != nil {
			return nil, err
		}
		if err := exec(ctx, tx, `
			INSERT INTO project_sources (organization_id, project_id, data_source_id, added_by)
			SELECT $1, $2, w.id, $3 FROM unnest($4::uuid[]) AS w (id)`, actor.OrganizationID, id, actor.ID, added); err != nil {
			return nil, err
		}
		if len(added) > 0 {
			if err := auditProject(ctx, tx, actor, org.ActionProjectFileAdd, p, changes); err != nil {
				return nil, err
			}
		}
		ids := make([]uuid.UUID, 0, len(sourceIDs))
		for _, wanted := range sourceIDs {
			if !slices.Contains(ids, shared[wanted]) {
				ids = append(ids, shared[wanted])
			}
		}
		rows, err := queryRows[projectSourceRow](ctx, tx, selectProjectSources+`
			AND k.data_source_id = ANY ($2) ORDER BY array_position($2, k.data_source_id)`, id, ids)
		return convert(rows, func(r projectSourceRow) project.Source {
			s := r.source()
			s.Known = !slices.Contains(added, s.ID)
			return s
		}), err
	})
}

// lockForSources locks a project and calls check.
func lockForSources(ctx context.Context, tx pgx.Tx, owner identity.Owner, id uuid.UUID,
	check func(project.Project) error,
) (project.Project, error) {
	if err := execRow(ctx, tx, project.ErrNoProject, `
		SELECT FROM projects WHERE organization_id = $1 AND id = $2 AND deleted_at IS NULL FOR NO KEY UPDATE`,
		owner.OrganizationID, id); err != nil {
		return project.Project{}, err
	}
	p, err := findProject(ctx, tx, owner, id)
	if err == nil {
		err = check(p)
	}
	return p, err
}

// checkProjectRoom refuses files that exceed a limit of a project.
func checkProjectRoom(p project.Project, files int, size int64) error {
	switch {
	case p.Sources+files > project.MaxSources:
		return project.ErrFull
	case files > 0 && p.StorageLimit != nil && p.StorageUsed+size > *p.StorageLimit:
		return fault.Errorf(fault.StorageLimit,
			"プロジェクトに保存できるファイルの合計（%s）を超えます。使わないファイルを削除してから、もう一度お試しください。",
			inBytes(*p.StorageLimit))
	}
	return nil
}

// RemoveSource implements project.Store. A trigger deletes the file if it is no longer used.
func (db *DB) RemoveSource(ctx context.Context, actor identity.Actor, id, sourceID uuid.UUID,
	check func(project.Project) error,
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		p, err := lockForSources(ctx, tx, actor.Owner(), id, check)
		if err != nil {
			return err
		}
		name, err := findValue[string](ctx, tx, noSource(nil), `
			DELETE FROM project_sources k USING data_sources d
			WHERE k.project_id = $1 AND k.data_source_id = $2 AND d.id = k.data_source_id
			RETURNING d.filename`, id, sourceID)
		if err != nil {
			return err
		}
		return auditProject(ctx, tx, actor, org.ActionProjectFileDrop, p, []org.Change{{Field: "file", Before: name}})
	})
}

// CreateProjectSource implements datasource.Store. The file belongs to the project; its reading is in the turn of the
// member who uploads it.
func (db *DB) CreateProjectSource(ctx context.Context, actor identity.Actor, projectID uuid.UUID,
	source datasource.Source,
) (stored datasource.Source, created bool, _ error) {
	owner := actor.Owner()
	err := db.tx(ctx, func(tx pgx.Tx) error {
		if err := claimFile(ctx, tx, owner, actor.Session, source.ID); err != nil {
			return err
		}
		p, err := lockForSources(ctx, tx, owner, projectID, project.Project.CheckAdd)
		if err != nil {
			return err
		}
		stored, err = queryRow[datasource.Source](ctx, tx, `
			SELECT `+sourceColumns+`
			FROM data_sources d
			WHERE d.organization_id = $1 AND d.sha256 = $2
			  AND EXISTS (SELECT FROM project_sources k WHERE k.project_id = $3 AND k.data_source_id = d.id)
			LIMIT 1
			FOR NO KEY UPDATE`, owner.OrganizationID, source.SHA256, projectID)
		if created = isNoRows(err); !created {
			return reuseSource(ctx, tx, owner, source, &stored, err)
		}
		if err := checkProjectRoom(p, 1, source.Size); err != nil {
			return err
		}
		if err := checkRoom(ctx, tx, owner, source.Size, 0); err != nil {
			return err
		}
		if stored, err = queryRow[datasource.Source](ctx, tx, `
			INSERT INTO data_sources (id, organization_id, uploaded_by, filename, media_type, size, sha256)
			VALUES ($1, $2, $3, $4, $5, $6, $7)
			RETURNING `+sourceColumns, source.ID, owner.OrganizationID, owner.UserID, source.Filename, source.MediaType,
			source.Size, source.SHA256); err != nil {
			return err
		}
		if err := exec(ctx, tx, `
			INSERT INTO project_sources (organization_id, project_id, data_source_id, added_by) VALUES ($1, $2, $3, $4)`,
			owner.OrganizationID, projectID, source.ID, owner.UserID); err != nil {
			return err
		}
		return auditProject(ctx, tx, actor, org.ActionProjectFileAdd, p, []org.Change{{Field: "file", After: source.Filename}})
	})
	return stored, created, err
}
