package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// RequestPublication implements skill.Store. A request for another version has another id, so that no administrator
// approves a version that they have not read.
func (db *DB) RequestPublication(ctx context.Context, m skill.Editor, id uuid.UUID, note string) (
	skill.CustomSkill, error,
) {
	return txResult(ctx, db, func(tx pgx.Tx) (custom skill.CustomSkill, err error) {
		if err := lockForEditor(ctx, tx, m); err != nil {
			return custom, err
		}
		custom, err = findMade(ctx, tx, m, id)
		switch {
		case err != nil:
			return custom, err
		case custom.OwnerID == nil:
			return custom, fault.Errorf(fault.Conflict, "このスキルは、すでに組織のスキルです。")
		case custom.Archived:
			return custom, fault.Errorf(fault.Conflict, "アーカイブしたスキルの公開は申請できません。元に戻してから申請してください。")
		}
		if err := exec(ctx, tx, `
			INSERT INTO skill_requests AS r (id, organization_id, skill_id, version, user_id, note)
			VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (skill_id) WHERE state = 'pending'
			DO UPDATE SET version = excluded.version, note = excluded.note,
			    id = CASE WHEN r.version = excluded.version THEN r.id ELSE excluded.id END
			WHERE (r.version, r.note) IS DISTINCT FROM (excluded.version, excluded.note)`,
			uuidv7.New(), m.OrganizationID, id, custom.Version, m.UserID, note); err != nil {
			return custom, err
		}
		return findMade(ctx, tx, m, id)
	})
}

func (db *DB) WithdrawRequest(ctx context.Context, m skill.Editor, id uuid.UUID) (skill.CustomSkill, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (skill.CustomSkill, error) {
		custom, err := findMade(ctx, tx, m, id)
		if err != nil {
			return custom, err
		}
		if err := exec(ctx, tx, `DELETE FROM skill_requests WHERE skill_id = $1 AND state = 'pending'`, id); err != nil {
			return custom, err
		}
		return findMade(ctx, tx, m, id)
	})
}

// requestRecord is a request with its author.
type requestRecord struct {
	skill.Request
	UserID uuid.UUID
}

func (r requestRecord) request() skill.Request {
	r.Documents = []skill.DocumentInfo{}
	return r.Request
}

// selectRequest begins the queries for requests of the organization $1. The name is that of the requested version.
const selectRequest = `
	SELECT r.id, r.skill_id, v.content ->> 'name' AS skill_name, s.icon_path, r.version, r.user_id, u.name AS user_name,
	       u.email AS user_email, r.note, r.state, r.reason, r.created_at, r.decided_at
	FROM skill_requests r
	JOIN skills s ON s.id = r.skill_id
	JOIN skill_versions v ON v.skill_id = r.skill_id AND v.version = r.version
	JOIN users u ON u.id = r.user_id
	WHERE r.organization_id = $1`

func (db *DB) ListRequests(ctx context.Context, m skill.Editor, offset, limit int) ([]skill.Request, int, error) {
	rows, total, err := queryPage[requestRecord](ctx, db,
		`SELECT count(*) FROM skill_requests WHERE organization_id = $1 AND state = 'pending'`,
		selectRequest+` AND r.state = 'pending' ORDER BY r.created_at, r.id OFFSET $2 LIMIT $3`,
		[]any{m.OrganizationID}, offset, limit)
	return convert(rows, requestRecord.request), total, err
}

func (db *DB) FindRequest(ctx context.Context, m skill.Editor, id uuid.UUID) (skill.Request, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (skill.Request, error) {
		r, err := findRequest(ctx, tx, m, id)
		if err != nil {
			return skill.Request{}, err
		}
		r.Documents, err = documentInfos(ctx, tx, `
			WHERE d.organization_id = $1 AND d.user_id = $2 AND d.id = ANY ($3)
			ORDER BY d.filename, d.id`, m.OrganizationID, r.UserID, r.Content.DocumentIDs)
		return r.Request, err
	})
}

// findRequest reads a request with the content of its version, without deleted documents.
func findRequest(ctx context.Context, tx pgx.Tx, m skill.Editor, id uuid.UUID) (requestRecord, error) {
	r, err := findRow[requestRecord](ctx, tx, skill.ErrNoRequest, selectRequest+` AND r.id = $2`, m.OrganizationID, id)
	if err != nil {
		return r, err
	}
	r.Content, err = queryValue[*skill.Content](ctx, tx, `
		SELECT `+contentOf+`
		FROM skill_versions v
		WHERE v.organization_id = $1 AND v.skill_id = $2 AND v.version = $3`, m.OrganizationID, r.SkillID, r.Version)
	return r, err
}

func (db *DB) DecideRequest(ctx context.Context, m skill.Editor, id uuid.UUID, d skill.Decision) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockForEditor(ctx, tx, m); err != nil {
			return err
		}
		record, err := findRequest(ctx, tx, m, id)
		if err != nil {
			return err
		}
		state, action := skill.RequestRejected, org.ActionSkillReject
		if d.Approve {
			state, action = skill.RequestApproved, org.ActionSkillPublish
		}
		switch record.State {
		case state:
			return nil
		case skill.RequestPending:
		default:
			return fault.Errorf(fault.Conflict, "この申請は、ほかの管理者がすでに処理しました。")
		}
		if d.Approve {
			if err := publish(ctx, tx, m, record); err != nil {
				return err
			}
		}
		if err := exec(ctx, tx, `
			UPDATE skill_requests SET state = $2, reason = $3, decided_at = now() WHERE id = $1`, id, state,
			d.Reason); err != nil {
			return err
		}
		return auditMade(ctx, tx, m, action, record.SkillID, nil, record.SkillName,
			org.Change{Field: "requested_by", After: record.UserEmail})
	})
}

// publish copies the requested version to a skill of the organization. If the requested skill was published before, it
// adds a new version to that copy and keeps its audience.
func publish(ctx context.Context, tx pgx.Tx, m skill.Editor, r requestRecord) error {
	s := savedSkill{
		id: uuidv7.New(), isNew: true, version: 1, from: &r.SkillID, lender: r.UserID,
		Input: skill.Input{RequestID: uuidv7.New(), Audience: skill.AudienceOrganization, Content: *r.Content},
	}
	type row struct {
		ID        uuid.UUID
		Version   int
		Audience  skill.Audience
		MemberIDs []uuid.UUID
		GroupIDs  []uuid.UUID
	}
	before, err := queryRow[row](ctx, tx, `
		SELECT s.id, s.version, s.audience,
		       ARRAY(SELECT k.user_id FROM skill_members k WHERE k.skill_id = s.id) AS member_ids,
		       ARRAY(SELECT k.group_id FROM skill_groups k WHERE k.skill_id = s.id) AS group_ids
		FROM skills s
		WHERE s.organization_id = $1 AND s.published_from = $2 AND s.origin = 'app' AND s.retired_at IS NULL
		ORDER BY s.id
		LIMIT 1`, m.OrganizationID, r.SkillID)
	switch {
	case isNoRows(err):
		if err := checkSkillRoom(ctx, tx, m, nil); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		s.id, s.isNew, s.version = before.ID, false, before.Version+1
		s.Audience, s.MemberIDs, s.GroupIDs = before.Audience, before.MemberIDs, before.GroupIDs
	}
	return saveMade(ctx, tx, m, s)
}

func (db *DB) HideSkill(ctx context.Context, m skill.Editor, id uuid.UUID, hidden bool) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockForEditor(ctx, tx, m); err != nil {
			return err
		}
		name, err := findValue[string](ctx, tx, skill.ErrNoSkill, `
			SELECT s.name FROM skills s
			WHERE s.id = $1 AND s.organization_id IS NULL AND NOT starts_with(s.kind, 'chrome_extension_')`, id)
		if err != nil {
			return err
		}
		change, action := `DELETE FROM hidden_skills WHERE organization_id = $1 AND skill_id = $2`, org.ActionSkillShow
		if hidden {
			change, action = `
				INSERT INTO hidden_skills (organization_id, skill_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
				org.ActionSkillHide
		}
		tag, err := tx.Exec(ctx, change, m.OrganizationID, id)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return auditMade(ctx, tx, m, action, id, nil, name)
	})
}

func (db *DB) ListHidden(ctx context.Context, m skill.Editor) ([]skill.Skill, error) {
	return queryRows[skill.Skill](ctx, db.pool, `
		SELECT `+skillColumns+`
		FROM hidden_skills h
		JOIN skills s ON s.id = h.skill_id
		LEFT JOIN favorite_skills f ON f.skill_id = s.id AND f.user_id = $2 AND f.organization_id = $1
		WHERE h.organization_id = $1 AND s.retired_at IS NULL
		ORDER BY s.name, s.id`, m.OrganizationID, m.UserID)
}
