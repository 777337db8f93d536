package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

var _ skill.Store = (*DB)(nil)

// errNoSkill means that a skill does not exist, or is not visible to the user.
var errNoSkill = fault.Errorf(fault.NotFound, "スキルが見つかりません。")

// isListed is the condition that the skill s is offered for new threads. Skills of the browser extension are not
// offered, because their threads begin with a page.
const isListed = `s.retired_at IS NULL AND s.origin <> 'draft' AND NOT starts_with(s.kind, 'chrome_extension_')
	AND ` + isShown

// isShown is the condition that the organization $1 has not hidden the skill s.
const isShown = `NOT EXISTS (SELECT FROM hidden_skills x WHERE x.organization_id = $1 AND x.skill_id = s.id)`

// mayUse is the condition that the user $2 of the organization $1 may use the skill s.
const mayUse = `(s.organization_id IS NULL OR s.organization_id = $1 AND CASE s.audience
	    WHEN 'self' THEN s.owner_id = $2
	    WHEN 'organization' THEN true
	    ELSE is_in_audience(s.id, $2)
	END)`

// documentsOf is an array of the documents of the skill s. A document that only skills use has no owner; see isOwn.
const documentsOf = `CASE WHEN s.organization_id IS NULL THEN '[]' ELSE documents_of_skill(s.id) END`

func (db *DB) ListSkills(ctx context.Context, organizationID, userID uuid.UUID, offset, limit int) ([]skill.Skill,
	error,
) {
	return queryRows[skill.Skill](ctx, db.pool, `
		SELECT `+skillColumns+`
		FROM skills s
		JOIN categories c ON c.id = s.category_id`+categoryPlace+`
		LEFT JOIN favorite_skills f ON f.skill_id = s.id AND f.user_id = $2 AND f.organization_id = $1
		WHERE `+mayUse+` AND `+isListed+`
		ORDER BY `+categoryOrder+`, s.position, s.id
		OFFSET $3 LIMIT $4`,
		organizationID, userID, offset, limit)
}

// skillColumns are the columns of a skill in lists, from the tables skills s and favorite_skills f.
const skillColumns = `s.id, s.organization_id, coalesce(s.key, '') AS key, s.category_id, s.position, s.name,
	s.description, s.icon_path, s.kind, coalesce(s.task_type, '') AS task_type, s.form_type, s.form_fields,
	s.suggestions, s.keywords, s.accepts_data_sources, s.owner_id, s.origin <> 'file' AS made,
	s.created_at,
	f.skill_id IS NOT NULL AS is_favorite`

func (db *DB) FindSkill(ctx context.Context, organizationID, userID, skillID uuid.UUID) (skill.Skill, error) {
	found, err := findRow[skill.Skill](ctx, db.pool, errNoSkill, `
		SELECT `+skillColumns+`, s.prompt, s.answer_length, s.model, s.examples, s.tools, `+documentsOf+` AS documents,
		       `+missingOf+` AS missing_documents, NOT `+mayUse+` AS withdrawn, s.retired_at IS NOT NULL AS archived
		FROM skills s
		LEFT JOIN favorite_skills f ON f.skill_id = s.id AND f.user_id = $2 AND f.organization_id = $1
		WHERE s.id = $3 AND (`+mayUse+` OR s.organization_id = $1 AND EXISTS (
		    SELECT FROM threads t WHERE t.organization_id = $1 AND t.user_id = $2 AND t.skill_id = s.id))`,
		organizationID, userID, skillID)
	found.Examples, found.Documents, found.Tools = orNil(found.Examples), orNil(found.Documents), orNil(found.Tools)
	return found, err
}

func (db *DB) ListFavoriteSkills(ctx context.Context, organizationID, userID uuid.UUID, offset,
	limit int,
) ([]skill.Favorite, error) {
	return queryRows[skill.Favorite](ctx, db.pool, `
		SELECT f.skill_id, s.name, s.icon_path
		FROM favorite_skills f
		JOIN skills s ON s.id = f.skill_id
		WHERE f.organization_id = $1 AND f.user_id = $2
		  AND `+mayUse+` AND s.retired_at IS NULL AND `+isShown+`
		ORDER BY f.created_at DESC, f.skill_id
		OFFSET $3 LIMIT $4`,
		organizationID, userID, offset, limit)
}

func (db *DB) AddFavoriteSkill(ctx context.Context, organizationID, userID, skillID uuid.UUID) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			INSERT INTO favorite_skills (organization_id, user_id, skill_id)
			SELECT $1, $2, s.id
			FROM skills s
			WHERE s.id = $3 AND `+mayUse+`
			ON CONFLICT (user_id, skill_id) DO NOTHING`,
			organizationID, userID, skillID)
		if err != nil || tag.RowsAffected() > 0 {
			return err
		}
		visible, err := queryValue[bool](ctx, tx, `
			SELECT EXISTS (SELECT FROM skills s WHERE s.id = $3 AND `+mayUse+`)`,
			organizationID, userID, skillID)
		if err == nil && !visible {
			return errNoSkill
		}
		return err
	})
}

func (db *DB) RemoveFavoriteSkill(ctx context.Context, organizationID, userID, skillID uuid.UUID) error {
	return exec(ctx, db.pool, `
		DELETE FROM favorite_skills
		WHERE organization_id = $1 AND user_id = $2 AND skill_id = $3`,
		organizationID, userID, skillID)
}

// skillsLock serializes servers that start at the same time, and imports by operators.
const skillsLock = `SELECT pg_advisory_xact_lock(hashtext('tsumugi builtin skills'))`

// saveCategory inserts a category, or updates it if a value has changed.
const saveCategory = `
	INSERT INTO categories AS c (id, name, position, organization_id, key)
	VALUES ($1, $2, $3, $4, nullif($5::text, ''))
	ON CONFLICT (id) DO UPDATE SET name = excluded.name, position = excluded.position
	WHERE (c.name, c.position) IS DISTINCT FROM (excluded.name, excluded.position)`

// saveSkill inserts a skill, or updates it if a value has changed. It returns whether the skill is new, and no row if
// nothing has changed.
const saveSkill = `
	INSERT INTO skills AS s (id, category_id, position, name, description, icon_path, kind, task_type, form_type,
	                         form_fields, suggestions, keywords, accepts_data_sources, prompt, answer_length, model,
	                         examples, organization_id, key, tools)
	VALUES ($1, $2, $3, $4, $5, $6, $7, nullif($8::text, ''), $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
	        nullif($19::text, ''), $20)
	ON CONFLICT (id) DO UPDATE
	SET category_id = excluded.category_id, position = excluded.position, name = excluded.name,
	    description = excluded.description, icon_path = excluded.icon_path, kind = excluded.kind,
	    task_type = excluded.task_type, form_type = excluded.form_type, form_fields = excluded.form_fields,
	    suggestions = excluded.suggestions, keywords = excluded.keywords,
	    accepts_data_sources = excluded.accepts_data_sources,
	    prompt = excluded.prompt, answer_length = excluded.answer_length, model = excluded.model,
	    examples = excluded.examples, tools = excluded.tools, retired_at = NULL, updated_at = now()
	WHERE (s.organization_id, s.key) IS NOT DISTINCT FROM (excluded.organization_id, excluded.key)
	  AND (s.category_id, s.position, s.name, s.description, s.icon_path, s.kind, s.task_type, s.form_type,
	       s.form_fields, s.suggestions, s.keywords, s.accepts_data_sources, s.prompt,
	       s.answer_length, s.model, s.examples, s.tools, s.retired_at)
	      IS DISTINCT FROM
	      (excluded.category_id, excluded.position, excluded.name, excluded.description, excluded.icon_path,
	       excluded.kind, excluded.task_type, excluded.form_type, excluded.form_fields,
	       excluded.suggestions, excluded.keywords,
	       excluded.accepts_data_sources, excluded.prompt, excluded.answer_length, excluded.model, excluded.examples,
	       excluded.tools, NULL)
	RETURNING xmax = 0 AS added`

// skillValues returns the parameters of saveSkill.
func skillValues(s skill.Skill, key string) []any {
	return []any{
		s.ID, s.CategoryID, s.Position, s.Name, s.Description, s.IconPath, s.Kind, s.TaskType, s.FormType,
		orEmpty(s.FormFields), orEmpty(s.Suggestions), orEmpty(s.Keywords), s.AcceptsDataSources, s.Prompt,
		s.AnswerLength, s.Model, orEmpty(s.Examples), s.OrganizationID, key, orEmpty(s.Tools),
	}
}

// SaveBuiltinSkills implements skill.Store. A lock serializes servers that start at the same time.
func (db *DB) SaveBuiltinSkills(ctx context.Context, categories []skill.Category, skills []skill.Skill) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := exec(ctx, tx, skillsLock); err != nil {
			return err
		}
		return send(ctx, tx, func(batch *pgx.Batch) {
			for _, c := range categories {
				batch.Queue(saveCategory, c.ID, c.Name, c.Position, nil, "")
			}
			ids := make([]uuid.UUID, len(skills))
			for i, s := range skills {
				ids[i] = s.ID
				batch.Queue(saveSkill, skillValues(s, "")...)
			}
			batch.Queue(`
			UPDATE skills
			SET retired_at = now(), updated_at = now()
			WHERE organization_id IS NULL AND key IS NULL AND retired_at IS NULL AND id <> ALL ($1)`, ids)
		})
	})
}
