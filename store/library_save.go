package store

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// savedSkill is a skill that is being saved.
type savedSkill struct {
	id      uuid.UUID
	isNew   bool
	owner   *uuid.UUID // Nil for a skill of the organization.
	version int        // The version being saved.
	from    *uuid.UUID // The user's own skill that is published.
	lender  uuid.UUID  // The owner of the documents that may be added.
	isDraft bool       // Documents of all skills that the Editor may edit are allowed.
	skill.Input
}

func (db *DB) SaveSkill(ctx context.Context, m skill.Editor, id uuid.UUID, s skill.Input) (skill.CustomSkill, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (skill.CustomSkill, error) {
		if err := lockForEditor(ctx, tx, m); err != nil {
			return skill.CustomSkill{}, err
		}
		known, err := findSaved(ctx, tx, m, id, s)
		if err == nil && known == uuid.Nil {
			var saved savedSkill
			if saved, err = placeSkill(ctx, tx, m, id, s); err == nil {
				known, err = saved.id, saveMade(ctx, tx, m, saved)
			}
		}
		if err != nil {
			return skill.CustomSkill{}, err
		}
		return findMade(ctx, tx, m, known)
	})
}

// findSaved returns the skill that a repeated request saved, or uuid.Nil if it is new.
func findSaved(
	ctx context.Context, tx pgx.Tx, m skill.Editor, id uuid.UUID, s skill.Input,
) (known uuid.UUID, err error) {
	var same bool
	err = tx.QueryRow(ctx, `
		SELECT skill_id, content = $3 FROM skill_versions WHERE user_id = $1 AND request_id = $2`, m.UserID,
		s.RequestID, s.Content).Scan(&known, &same)
	switch {
	case isNoRows(err):
		return uuid.Nil, nil
	case err == nil && (!same || id != uuid.Nil && known != id):
		return uuid.Nil, skill.ErrRequestConflict
	}
	return known, err
}

// placeSkill decides whether to save a new skill or a new version of a skill that the Editor may edit.
func placeSkill(
	ctx context.Context, tx pgx.Tx, m skill.Editor, id uuid.UUID, s skill.Input,
) (saved savedSkill, err error) {
	saved = savedSkill{id: id, version: s.BaseVersion + 1, lender: m.UserID, Input: s}
	if s.Audience == skill.AudienceSelf {
		saved.owner = &m.UserID
	}
	if id == uuid.Nil {
		saved.id, saved.isNew = uuidv7.New(), true
		return saved, checkSkillRoom(ctx, tx, m, saved.owner)
	}
	custom, err := findMade(ctx, tx, m, id)
	switch {
	case err != nil:
		return saved, err
	case custom.Archived:
		return saved, fault.Errorf(fault.Conflict, "アーカイブしたスキルは編集できません。元に戻してから編集してください。")
	case custom.Version != s.BaseVersion:
		return saved, skill.ErrChanged
	case (custom.OwnerID == nil) != (saved.owner == nil):
		return saved, fault.InvalidField("audience", "自分のスキルを組織で使うには、公開を申請するか、複製してください。")
	}
	return saved, nil
}

// checkSkillRoom refuses a new skill if the user or the organization has the maximum number.
func checkSkillRoom(ctx context.Context, tx pgx.Tx, m skill.Editor, owner *uuid.UUID) error {
	limit := skill.MaxPerPerson
	if owner == nil {
		limit = skill.MaxPerOrganization
	}
	n, err := queryValue[int](ctx, tx, `
		SELECT count(*) FROM skills
		WHERE organization_id = $1 AND origin = 'app' AND owner_id IS NOT DISTINCT FROM $2`, m.OrganizationID, owner)
	if err == nil && n >= limit {
		return fault.Errorf(fault.Conflict, "スキルは%d件まで作成できます。使わないスキルを書き換えてご利用ください。", limit)
	}
	return err
}

// saveMade stores a skill with a new version of it.
func saveMade(ctx context.Context, tx pgx.Tx, m skill.Editor, s savedSkill) error {
	if err := checkReferences(ctx, tx, m, s); err != nil {
		return err
	}
	if err := checkMadeName(ctx, tx, m, s.id, s.owner, s.Content.Name); err != nil {
		return err
	}
	if err := sendSkill(ctx, tx, m, s, func(batch *pgx.Batch) {
		batch.Queue(`
			UPDATE skills SET origin = 'app', owner_id = $2, audience = $3, version = $4,
			    published_from = coalesce($5, published_from), updated_at = now()
			WHERE id = $1`, s.id, s.owner, s.Audience, s.version, s.from)
		batch.Queue(`
			INSERT INTO skill_versions (organization_id, skill_id, version, user_id, user_name, request_id, content)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`, m.OrganizationID, s.id, s.version, m.UserID, storable(m.By.Name),
			s.RequestID, s.Content)
		batch.Queue(`DELETE FROM skill_members WHERE skill_id = $1`, s.id)
		batch.Queue(`
			INSERT INTO skill_members (organization_id, skill_id, user_id)
			SELECT DISTINCT $1::uuid, $2::uuid, w.id FROM unnest($3::uuid[]) AS w (id)`, m.OrganizationID, s.id,
			orEmpty(s.MemberIDs))
		batch.Queue(`DELETE FROM skill_groups WHERE skill_id = $1`, s.id)
		batch.Queue(`
			INSERT INTO skill_groups (organization_id, skill_id, group_id)
			SELECT DISTINCT $1::uuid, $2::uuid, w.id FROM unnest($3::uuid[]) AS w (id)`, m.OrganizationID, s.id,
			orEmpty(s.GroupIDs))
	}); err != nil {
		return err
	}
	action := org.ActionSkillEdit
	if s.isNew {
		action = org.ActionSkillCreate
	}
	return auditMade(ctx, tx, m, action, s.id, s.owner, s.Content.Name)
}

// errNoDocument refuses a document that was deleted.
func errNoDocument() error {
	return fault.InvalidField("document_ids", "選択したファイルの中に、すでに削除されたものが含まれています。選び直してください。")
}

// sendSkill stores a skill with its documents, and queue's statements. It returns errNoDocument if a document was
// deleted concurrently.
func sendSkill(ctx context.Context, tx pgx.Tx, m skill.Editor, s savedSkill, queue func(*pgx.Batch)) error {
	stored := s.Content.Skill(s.id)
	stored.OrganizationID = &m.OrganizationID
	err := send(ctx, tx, func(batch *pgx.Batch) {
		batch.Queue(saveSkill, skillValues(stored, "")...)
		queue(batch)
		batch.Queue(`DELETE FROM skill_documents WHERE skill_id = $1`, s.id)
		batch.Queue(`
			INSERT INTO skill_documents (organization_id, skill_id, data_source_id, place)
			SELECT $1, $2, w.id, w.place FROM unnest($3::uuid[]) WITH ORDINALITY AS w (id, place)`,
			m.OrganizationID, s.id, orEmpty(s.Content.DocumentIDs))
	})
	if violates(err, "skill_documents_organization_id_data_source_id_fkey") {
		return errNoDocument()
	}
	return err
}

// checkReferences refuses a category, members, groups or documents that do not exist. A document must belong to the lender or
// be in use by the skill.
func checkReferences(ctx context.Context, tx pgx.Tx, m skill.Editor, s savedSkill) error {
	var category bool
	var members, groups, documents []uuid.UUID
	err := tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM categories WHERE id = $4 AND (organization_id IS NULL OR organization_id = $1)),
		       ARRAY(SELECT id FROM users WHERE organization_id = $1 AND id = ANY ($5)),
		       ARRAY(SELECT id FROM member_groups WHERE organization_id = $1 AND id = ANY ($10) FOR KEY SHARE),
		       ARRAY(SELECT d.id FROM data_sources d
		             WHERE d.organization_id = $1 AND d.id = ANY ($6) AND (d.user_id = $7 OR EXISTS (
		                 SELECT FROM skill_documents k
		                 JOIN skills s ON s.id = k.skill_id
		                 WHERE k.data_source_id = d.id AND (s.id = $8 OR $9 AND `+mayEdit+`))))`,
		m.OrganizationID, m.UserID, m.Admin, s.Content.CategoryID, orEmpty(s.MemberIDs),
		orEmpty(s.Content.DocumentIDs), s.lender, s.id, s.isDraft, orEmpty(s.GroupIDs)).Scan(&category, &members, &groups,
		&documents)
	switch {
	case err != nil:
		return err
	case !category:
		return fault.InvalidField("category_id", "分類を選択してください。")
	case !containsAll(members, s.MemberIDs):
		return fault.InvalidField("member_ids", "選択したメンバーの中に、組織にいない人が含まれています。選び直してください。")
	case !containsAll(groups, s.GroupIDs):
		return fault.InvalidField("group_ids", "選択したグループの中に、すでに削除されたものが含まれています。選び直してください。")
	case !containsAll(documents, s.Content.DocumentIDs):
		return errNoDocument()
	}
	return nil
}

func containsAll(of, ids []uuid.UUID) bool {
	return !slices.ContainsFunc(ids, func(id uuid.UUID) bool { return !slices.Contains(of, id) })
}

// checkMadeName refuses a name that is taken. A name of a user's own skill must differ from the names of all skills
// that the user may use, a name of an organization's skill from those of the organization and the built-in ones. A user's
// own skill may have the name of the skill that was published from it.
func checkMadeName(
	ctx context.Context, tx pgx.Tx, m skill.Editor, id uuid.UUID, owner *uuid.UUID, name string,
) error {
	taken, err := queryValue[bool](ctx, tx, `
		SELECT EXISTS (SELECT FROM skills s
		               WHERE s.name = $4 AND s.id <> $3 AND s.published_from IS DISTINCT FROM $3 AND `+isListed+`
		                 AND CASE WHEN $5::boolean THEN `+mayUse+`
		                     ELSE (s.organization_id IS NULL OR s.organization_id = $1) AND s.owner_id IS NULL END)`,
		m.OrganizationID, m.UserID, id, name, owner != nil)
	if err == nil && taken {
		wrong := fault.InvalidField("name", "「%s」という名前のスキルはすでにあります。別の名前を入力してください。", name)
		wrong.Code = fault.Conflict
		return wrong
	}
	return err
}

func (db *DB) SaveDraft(
	ctx context.Context, m skill.Editor, slot uuid.UUID, c skill.Content, slots int,
) (uuid.UUID, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (id uuid.UUID, err error) {
		// This lock serializes counting and replacing a user's drafts.
		if err := exec(ctx, tx, `SELECT FROM users WHERE organization_id = $1 AND id = $2 FOR NO KEY UPDATE`,
			m.OrganizationID, m.UserID); err != nil {
			return id, err
		}
		if id, err = findSlot(ctx, tx, m, slot, slots); err != nil {
			return id, err
		}
		saved := savedSkill{id: id, lender: m.UserID, isDraft: true, Input: skill.Input{Content: c}}
		if err := checkReferences(ctx, tx, m, saved); err != nil {
			return id, err
		}
		return id, sendSkill(ctx, tx, m, saved, func(batch *pgx.Batch) {
			batch.Queue(`
				UPDATE skills SET origin = 'draft', owner_id = $2, audience = 'self', draft_slot = $3, updated_at = now()
				WHERE id = $1`, id, m.UserID, slot)
		})
	})
}

// findSlot returns the id of the draft in a slot. For a new slot it returns a new id, or that of the oldest draft if
// the user has the maximum number of drafts.
func findSlot(ctx context.Context, tx pgx.Tx, m skill.Editor, slot uuid.UUID, slots int) (uuid.UUID, error) {
	type row struct {
		ID        uuid.UUID
		DraftSlot uuid.UUID
	}
	drafts, err := queryRows[row](ctx, tx, `
		SELECT id, draft_slot FROM skills
		WHERE organization_id = $1 AND owner_id = $2 AND draft_slot IS NOT NULL
		ORDER BY updated_at, id`, m.OrganizationID, m.UserID)
	if err != nil {
		return uuid.Nil, err
	}
	if i := slices.IndexFunc(drafts, func(r row) bool { return r.DraftSlot == slot }); i >= 0 {
		return drafts[i].ID, nil
	}
	if len(drafts) >= slots {
		return drafts[0].ID, nil
	}
	return uuidv7.New(), nil
}
