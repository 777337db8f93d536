package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// RequestPublication implements skill.LibraryStore.
func (db *DB) RequestPublication(
	ctx context.Context, m skill.Editor, id uuid.UUID, note string,
) (custom skill.CustomSkill, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockOrganization(ctx, tx, m.OrganizationID); err != nil {
			return err
		}
		custom, err = findMade(ctx, tx, m, id)
		switch {
		case err != nil:
			return err
		case custom.OwnerID == nil:
			return fault.Errorf(fault.Conflict, "このスキルは、すでに組織のスキルです。")
		case custom.Archived:
			return fault.Errorf(fault.Conflict, "アーカイブしたスキルの公開は申請できません。元に戻してから申請してください。")
		}
		if _, err := tx.Exec(ctx, `
			INSERT INTO skill_requests AS r (id, organization_id, skill_id, version, user_id, note)
			VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (skill_id) WHERE state = 'pending'
			DO UPDATE SET version = excluded.version, note = excluded.note
			WHERE (r.version, r.note) IS DISTINCT FROM (excluded.version, excluded.note)`,
			uuidv7.New(), m.OrganizationID, id, custom.Version, m.UserID, note); err != nil {
			return err
		}
		custom, err = findMade(ctx, tx, m, id)
		return err
	})
	return custom, err
}

// WithdrawRequest implements skill.LibraryStore.
func (db *DB) WithdrawRequest(ctx context.Context, m skill.Editor, id uuid.UUID) (custom skill.CustomSkill, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		if custom, err = findMade(ctx, tx, m, id); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM skill_requests WHERE skill_id = $1 AND state = 'pending'`,
			id); err != nil {
			return err
		}
		custom, err = findMade(ctx, tx, m, id)
		return err
	})
	return custom, err
}

type requestRecord struct {
	ID        uuid.UUID
	SkillID   uuid.UUID
	SkillName string
	IconPath  string
	Version   int
	UserID    uuid.UUID
	UserName  string
	UserEmail string
	Note      string
	State     skill.RequestState
	Reason    string
	CreatedAt time.Time
	DecidedAt *time.Time
}

func (r requestRecord) request() skill.Request {
	return skill.Request{
		ID: r.ID, SkillID: r.SkillID, SkillName: r.SkillName, IconPath: r.IconPath, Version: r.Version,
		UserName: r.UserName, UserEmail: r.UserEmail, Note: r.Note, State: r.State, Reason: r.Reason,
		CreatedAt: r.CreatedAt, DecidedAt: r.DecidedAt, Documents: []skill.DocumentInfo{},
	}
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

// ListRequests implements skill.LibraryStore.
func (db *DB) ListRequests(ctx context.Context, m skill.Editor, offset, limit int) ([]skill.Request, int, error) {
	var rows []requestRecord
	var total int
	err := db.batch(ctx, func(batch *pgx.Batch) {
		batch.Queue(`SELECT count(*) FROM skill_requests WHERE organization_id = $1 AND state = 'pending'`,
			m.OrganizationID).QueryRow(func(row pgx.Row) error { return row.Scan(&total) })
		batch.Queue(selectRequest+` AND r.state = 'pending' ORDER BY r.created_at, r.id OFFSET $2 LIMIT $3`,
			m.OrganizationID, offset, limit).Query(collect(&rows))
	})
	list := make([]skill.Request, len(rows))
	for i, r := range rows {
		list[i] = r.request()
	}
	return list, total, err
}

// FindRequest implements skill.LibraryStore.
func (db *DB) FindRequest(ctx context.Context, m skill.Editor, id uuid.UUID) (request skill.Request, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		record, content, err := findRequest(ctx, tx, m, id)
		if err != nil {
			return err
		}
		request = record.request()
		request.Content = &content
		request.Documents, err = documentInfos(ctx, tx, `
			WHERE d.organization_id = $1 AND d.user_id = $2 AND d.id = ANY ($3)
			ORDER BY d.filename, d.id`, m.OrganizationID, record.UserID, content.DocumentIDs)
		return err
	})
	return request, err
}

// findRequest reads a request with the content of its version, without deleted documents.
func findRequest(
	ctx context.Context, tx pgx.Tx, m skill.Editor, id uuid.UUID,
) (record requestRecord, content skill.Content, err error) {
	record, err = queryRow[requestRecord](ctx, tx, selectRequest+` AND r.id = $2`, m.OrganizationID, id)
	if isNoRows(err) {
		return record, content, skill.ErrNoRequest
	}
	if err != nil {
		return record, content, err
	}
	err = tx.QueryRow(ctx, `
		SELECT `+contentOf+`
		FROM skill_versions v
		WHERE v.organization_id = $1 AND v.skill_id = $2 AND v.version = $3`, m.OrganizationID, record.SkillID,
		record.Version).Scan(&content)
	return record, content, err
}

// DecideRequest implements skill.LibraryStore.
func (db *DB) DecideRequest(ctx context.Context, m skill.Editor, id uuid.UUID, d skill.Decision) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockOrganization(ctx, tx, m.OrganizationID); err != nil {
			return err
		}
		record, content, err := findRequest(ctx, tx, m, id)
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
			if err := publish(ctx, tx, m, record, content); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, `
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
func publish(ctx context.Context, tx pgx.Tx, m skill.Editor, r requestRecord, c skill.Content) error {
	s := savedSkill{
		id: uuidv7.New(), isNew: true, version: 1, from: &r.SkillID, lender: r.UserID,
		Input: skill.Input{RequestID: uuidv7.New(), Audience: skill.AudienceOrganization, Content: c},
	}
	type row struct {
		ID        uuid.UUID
		Version   int
		Audience  skill.Audience
		MemberIDs []uuid.UUID
	}
	before, err := queryRow[row](ctx, tx, `
		SELECT s.id, s.version, s.audience,
		       ARRAY(SELECT k.user_id FROM skill_members k WHERE k.skill_id = s.id) AS member_ids
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
		s.Audience, s.MemberIDs = before.Audience, before.MemberIDs
	}
	return saveMade(ctx, tx, m, s)
}

// HideSkill implements skill.LibraryStore.
func (db *DB) HideSkill(ctx context.Context, m skill.Editor, id uuid.UUID, hidden bool) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		var name string
		err := tx.QueryRow(ctx, `
			SELECT s.name FROM skills s
			WHERE s.id = $1 AND s.organization_id IS NULL AND NOT starts_with(s.kind, 'chrome_extension_')`,
			id).Scan(&name)
		if isNoRows(err) {
			return skill.ErrNoSkill
		}
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

// ListHidden implements skill.LibraryStore.
func (db *DB) ListHidden(ctx context.Context, m skill.Editor) ([]skill.Skill, error) {
	rows, err := queryRows[skillRow](ctx, db.pool, `
		SELECT `+skillColumns+`
		FROM hidden_skills h
		JOIN skills s ON s.id = h.skill_id
		LEFT JOIN favorite_skills f ON f.skill_id = s.id AND f.user_id = $2 AND f.organization_id = $1
		WHERE h.organization_id = $1 AND s.retired_at IS NULL
		ORDER BY s.name, s.id`, m.OrganizationID, m.UserID)
	list := make([]skill.Skill, len(rows))
	for i, r := range rows {
		list[i] = r.skill()
	}
	return list, translate(err)
}
