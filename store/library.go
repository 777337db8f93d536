package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// mayEdit is the condition that the user $2 of the organization $1 may edit the skill s. $3 is whether the user is an
// administrator.
const mayEdit = `s.organization_id = $1 AND s.origin = 'app'
	AND CASE WHEN s.owner_id IS NULL THEN $3::boolean ELSE s.owner_id = $2 END`

// madeRow is a skill that was made in the app, without its prompt.
type madeRow struct {
	skill.Skill
	Audience  skill.Audience
	Version   int
	Archived  bool
	UpdatedAt time.Time
	UpdatedBy string

	RequestID      *uuid.UUID
	RequestVersion *int
	RequestNote    *string
	RequestState   *skill.RequestState
	RequestReason  *string
	RequestedAt    *time.Time
	DecidedAt      *time.Time
}

func (r madeRow) made() skill.CustomSkill {
	m := skill.CustomSkill{
		ID: r.ID, OwnerID: r.OwnerID, Audience: r.Audience, Content: skill.ContentOf(r.Skill), Version: r.Version,
		Archived: r.Archived, UpdatedAt: r.UpdatedAt, UpdatedBy: r.UpdatedBy, Members: []skill.Member{},
		Documents: []skill.DocumentInfo{}, MissingDocuments: r.MissingDocuments,
	}
	if r.RequestID != nil {
		m.Request = &skill.Request{
			ID: *r.RequestID, SkillID: r.ID, SkillName: r.Name, IconPath: r.IconPath, Version: *r.RequestVersion,
			Note: *r.RequestNote, State: *r.RequestState, Reason: *r.RequestReason, CreatedAt: *r.RequestedAt,
			DecidedAt: r.DecidedAt,
		}
	}
	return m
}

// selectMade begins the queries for skills that the user $2 of the organization $1 may edit. $3 is whether the user is
// an administrator.
const selectMade = `
	SELECT ` + skillColumns + `, s.audience, s.version, s.retired_at IS NOT NULL AS archived, v.created_at AS updated_at,
	       v.user_name AS updated_by, ` + missingOf + ` AS missing_documents,
	       r.id AS request_id, r.version AS request_version, r.note AS request_note,
	       r.state AS request_state, r.reason AS request_reason, r.created_at AS requested_at, r.decided_at
	FROM skills s
	JOIN skill_versions v ON v.skill_id = s.id AND v.version = s.version
	LEFT JOIN favorite_skills f ON f.skill_id = s.id AND f.user_id = $2 AND f.organization_id = $1
	LEFT JOIN LATERAL (
	    SELECT * FROM skill_requests q WHERE q.skill_id = s.id ORDER BY q.created_at DESC LIMIT 1
	) r ON true
	WHERE ` + mayEdit

func (db *DB) FindCustomSkill(ctx context.Context, m skill.Editor, id uuid.UUID) (skill.CustomSkill, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (skill.CustomSkill, error) { return findMade(ctx, tx, m, id) })
}

func findMade(ctx context.Context, tx pgx.Tx, m skill.Editor, id uuid.UUID) (skill.CustomSkill, error) {
	row, err := findRow[madeRow](ctx, tx, skill.ErrNoSkill, selectMade+` AND s.id = $4`,
		m.OrganizationID, m.UserID, m.Admin, id)
	if err != nil {
		return skill.CustomSkill{}, err
	}
	custom := row.made()
	err = tx.QueryRow(ctx, `SELECT prompt, answer_length, model, examples, tools FROM skills WHERE id = $1`, id).Scan(
		&custom.Content.Prompt, &custom.Content.AnswerLength, &custom.Content.Model, &custom.Content.Examples,
		&custom.Content.Tools)
	if err != nil {
		return custom, err
	}
	if custom.Documents, err = documentInfos(ctx, tx, `
		JOIN skill_documents k ON k.data_source_id = d.id
		WHERE k.skill_id = $1
		ORDER BY k.place`, id); err != nil {
		return custom, err
	}
	for _, d := range custom.Documents {
		custom.Content.DocumentIDs = append(custom.Content.DocumentIDs, d.ID)
	}
	custom.Members, err = queryRows[skill.Member](ctx, tx, `
		SELECT u.id, u.name, u.email
		FROM skill_members k
		JOIN users u ON u.id = k.user_id
		WHERE k.skill_id = $1
		ORDER BY u.name, u.id`, id)
	if err != nil {
		return custom, err
	}
	custom.Members = orEmpty(custom.Members)
	custom.Groups, err = queryRows[skill.Group](ctx, tx, `
		SELECT g.id, g.name
		FROM skill_groups k
		JOIN member_groups g ON g.id = k.group_id
		WHERE k.skill_id = $1
		ORDER BY g.name, g.id`, id)
	custom.Groups = orEmpty(custom.Groups)
	return custom, err
}

// documentInfos reads the data sources d that match a condition.
func documentInfos(ctx context.Context, tx pgx.Tx, where string, args ...any) ([]skill.DocumentInfo, error) {
	list, err := queryRows[skill.DocumentInfo](ctx, tx, `
		SELECT d.id, d.filename, d.status, coalesce(o.name, '') AS owner_name
		FROM data_sources d
		LEFT JOIN users o ON o.id = d.user_id`+where, args...)
	return orEmpty(list), err
}

func (db *DB) ListCustomSkills(
	ctx context.Context, m skill.Editor, shelf skill.Shelf, archived bool, offset, limit int,
) ([]skill.CustomSkill, int, error) {
	const which = ` AND (s.owner_id IS NOT NULL) = $4 AND (s.retired_at IS NOT NULL) = $5`
	args := []any{m.OrganizationID, m.UserID, m.Admin, shelf == skill.ShelfOwn, archived}
	rows, total, err := queryPage[madeRow](ctx, db, `SELECT count(*) FROM skills s WHERE `+mayEdit+which,
		selectMade+which+` ORDER BY v.created_at DESC, s.id OFFSET $6 LIMIT $7`, args, offset, limit)
	return convert(rows, madeRow.made), total, err
}

// lockForEditor locks the organization of an Editor. It refuses one who is not an active administrator any more.
func lockForEditor(ctx context.Context, tx pgx.Tx, m skill.Editor) error {
	if m.Admin {
		return lockForRole(ctx, tx, m.OrganizationID, m.UserID, identity.Role.IsAdmin)
	}
	return lockOrganization(ctx, tx, m.OrganizationID)
}

func (db *DB) SetArchived(
	ctx context.Context, m skill.Editor, id uuid.UUID, archived bool,
) (custom skill.CustomSkill, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockForEditor(ctx, tx, m); err != nil {
			return err
		}
		if custom, err = findMade(ctx, tx, m, id); err != nil || custom.Archived == archived {
			return err
		}
		action := org.ActionSkillArchive
		if !archived {
			action = org.ActionSkillRestore
			if err := checkMadeName(ctx, tx, m, id, custom.OwnerID, custom.Content.Name); err != nil {
				return err
			}
		}
		if err := exec(ctx, tx, `
			UPDATE skills SET retired_at = CASE WHEN $2 THEN now() END, updated_at = now() WHERE id = $1`, id,
			archived); err != nil {
			return err
		}
		if custom, err = findMade(ctx, tx, m, id); err != nil {
			return err
		}
		return auditMade(ctx, tx, m, action, id, custom.OwnerID, custom.Content.Name)
	})
	return custom, err
}

// auditMade logs a change of an organization's skill. It ignores skills that belong to a user.
func auditMade(
	ctx context.Context, tx pgx.Tx, m skill.Editor, action org.Action, id uuid.UUID, owner *uuid.UUID, name string,
	details ...org.Change,
) error {
	if owner != nil {
		return nil
	}
	return audit(ctx, tx, org.Event{
		OrganizationID: &m.OrganizationID, By: m.By, Action: action, TargetKind: org.TargetSkill,
		TargetID: id.String(), TargetLabel: name, Details: details,
	})
}

func (db *DB) ListVersions(
	ctx context.Context, m skill.Editor, id uuid.UUID, offset, limit int,
) ([]skill.Version, int, error) {
	var list []skill.Version
	var latest *int
	err := db.batch(ctx, func(batch *pgx.Batch) {
		batch.Queue(`SELECT max(s.version) FROM skills s WHERE `+mayEdit+` AND s.id = $4`, m.OrganizationID, m.UserID,
			m.Admin, id).QueryRow(func(row pgx.Row) error { return row.Scan(&latest) })
		batch.Queue(`
			SELECT v.version, v.user_name, v.created_at
			FROM skills s
			JOIN skill_versions v ON v.skill_id = s.id
			WHERE `+mayEdit+` AND s.id = $4
			ORDER BY v.version DESC
			OFFSET $5 LIMIT $6`, m.OrganizationID, m.UserID, m.Admin, id, offset, limit).Query(collect(&list))
	})
	switch {
	case err != nil:
		return nil, 0, err
	case latest == nil:
		return nil, 0, skill.ErrNoSkill
	}
	return list, *latest, nil
}

// FindVersion implements skill.Store. Deleted documents are omitted.
func (db *DB) FindVersion(ctx context.Context, m skill.Editor, id uuid.UUID, version int) (skill.Version, error) {
	return findRow[skill.Version](ctx, db.pool, fault.Errorf(fault.NotFound, "版が見つかりません。"), `
		SELECT v.version, v.user_name, v.created_at, `+contentOf+` AS content
		FROM skills s
		JOIN skill_versions v ON v.skill_id = s.id
		WHERE `+mayEdit+` AND s.id = $4 AND v.version = $5`, m.OrganizationID, m.UserID, m.Admin, id, version)
}

// contentOf is the content of the version v, without deleted documents and without documents that only other skills
// use.
const contentOf = `jsonb_set(v.content, '{document_ids}', (
	    SELECT coalesce(jsonb_agg(to_jsonb(w.id) ORDER BY w.place), '[]')
	    FROM jsonb_array_elements_text(v.content -> 'document_ids') WITH ORDINALITY AS w (id, place)
	    JOIN data_sources d ON d.organization_id = $1 AND d.id = w.id::uuid
	    WHERE d.user_id IS NOT NULL OR EXISTS (
	        SELECT FROM shared_documents k
	        JOIN skills p ON p.id = k.skill_id
	        WHERE k.data_source_id = d.id AND v.skill_id IN (p.id, p.published_from))))`

// missingOf is the number of documents that the skill s had when it was last saved and no longer has.
const missingOf = `CASE WHEN s.organization_id IS NULL THEN 0 ELSE missing_documents(s.id, s.version) END`

// FindTemplate implements skill.Store. It returns only documents that belong to the Editor.
func (db *DB) FindTemplate(ctx context.Context, m skill.Editor, id uuid.UUID) (skill.Content, error) {
	row, err := findRow[struct {
		skill.Skill
		DocumentIDs []uuid.UUID
	}](ctx, db.pool, skill.ErrNoSkill, `
		SELECT `+skillColumns+`, s.prompt, s.answer_length, s.model, s.examples, s.tools,
		       ARRAY(SELECT d.id
		             FROM skill_documents k
		             JOIN data_sources d ON d.id = k.data_source_id AND d.user_id = $2
		             WHERE k.skill_id = s.id
		             ORDER BY k.place) AS document_ids
		FROM skills s
		LEFT JOIN favorite_skills f ON f.skill_id = s.id AND f.user_id = $2 AND f.organization_id = $1
		WHERE s.id = $4 AND NOT starts_with(s.kind, 'chrome_extension_')
		  AND (`+mayEdit+` OR s.origin = 'file' AND s.retired_at IS NULL AND (
		      s.organization_id IS NULL AND (s.key IS NULL OR $3) OR s.organization_id = $1 AND $3))`,
		m.OrganizationID, m.UserID, m.Admin, id)
	if err != nil {
		return skill.Content{}, err
	}
	content := skill.ContentOf(row.Skill)
	content.DocumentIDs = row.DocumentIDs
	return content, nil
}
