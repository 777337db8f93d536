package store

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// Columns of a category c and of its place p in organization $1, and the order of categories.
const (
	categoryColumns = `c.id, c.name, coalesce(p.place, c.position) AS position,
		c.organization_id IS NOT NULL AND c.key IS NULL AS made`
	categoryPlace = `
		LEFT JOIN category_places p ON p.category_id = c.id AND p.organization_id = $1`
	categoryOrder = `coalesce(p.place, c.position), c.name, c.id`
)

func (db *DB) ListCategories(ctx context.Context, organizationID, userID uuid.UUID) ([]skill.Category, error) {
	return queryRows[skill.Category](ctx, db.pool, `
		SELECT `+categoryColumns+`
		FROM categories c`+categoryPlace+`
		WHERE EXISTS (SELECT FROM skills s
		              WHERE s.category_id = c.id AND `+mayUse+` AND `+isListed+`)
		ORDER BY `+categoryOrder, organizationID, userID)
}

func (db *DB) ListAllCategories(ctx context.Context, organizationID uuid.UUID) ([]skill.KeyedCategory, error) {
	return listCategories(ctx, db.pool, organizationID)
}

func listCategories(ctx context.Context, q querier, organizationID uuid.UUID) ([]skill.KeyedCategory, error) {
	return queryRows[skill.KeyedCategory](ctx, q, `
		SELECT `+categoryColumns+`, coalesce(c.key, '') AS key
		FROM categories c`+categoryPlace+`
		WHERE c.organization_id IS NULL OR c.organization_id = $1
		ORDER BY `+categoryOrder, organizationID)
}

func (db *DB) CreateCategory(ctx context.Context, m skill.Editor, name string) (made skill.Category, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		list, err := lockCategories(ctx, tx, m)
		if err != nil {
			return err
		}
		if err := checkCategoryName(list, uuid.Nil, name); err != nil {
			return err
		}
		own := slices.DeleteFunc(list, func(c skill.KeyedCategory) bool { return !c.Made })
		if len(own) >= skill.MaxCategories {
			return fault.Errorf(fault.Conflict, "分類は%d件まで追加できます。使わない分類を削除してください。", skill.MaxCategories)
		}
		made = skill.Category{ID: uuidv7.New(), Name: name, Position: skill.NewCategoryPosition, Made: true}
		if err := exec(ctx, tx, `
			INSERT INTO categories (id, organization_id, name, position) VALUES ($1, $2, $3, $4)`,
			made.ID, m.OrganizationID, name, made.Position); err != nil {
			return err
		}
		return auditCategory(ctx, tx, m, org.ActionCategoryCreate, made)
	})
	return made, err
}

func (db *DB) RenameCategory(
	ctx context.Context, m skill.Editor, id uuid.UUID, name string,
) (made skill.Category, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		list, err := lockCategories(ctx, tx, m)
		if err != nil {
			return err
		}
		if made, err = madeCategory(list, id); err != nil || made.Name == name {
			return err
		}
		if err := checkCategoryName(list, id, name); err != nil {
			return err
		}
		before := made.Name
		made.Name = name
		if err := exec(ctx, tx, `UPDATE categories SET name = $2 WHERE id = $1`, id, name); err != nil {
			return err
		}
		return auditCategory(ctx, tx, m, org.ActionCategoryEdit, made,
			org.Change{Field: "name", Before: before, After: name})
	})
	return made, err
}

func (db *DB) RemoveCategory(ctx context.Context, m skill.Editor, id uuid.UUID, replacement *uuid.UUID) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		list, err := lockCategories(ctx, tx, m)
		if err != nil {
			return err
		}
		made, err := madeCategory(list, id)
		if err != nil {
			return err
		}
		var changes []org.Change
		if replacement != nil {
			at := slices.IndexFunc(list, func(c skill.KeyedCategory) bool { return c.ID == *replacement })
			if at < 0 {
				return fault.InvalidField("replacement_id", "スキルの移動先の分類が見つかりません。選び直してください。")
			}
			changes = []org.Change{{Field: "replacement", After: list[at].Name}}
		}
		// Drafts are saved without the organization's lock.
		if err := exec(ctx, tx, `SELECT FROM categories WHERE id = $1 FOR UPDATE`, id); err != nil {
			return err
		}
		if err := emptyCategory(ctx, tx, m.OrganizationID, id, replacement); err != nil {
			return err
		}
		if err := exec(ctx, tx, `DELETE FROM categories WHERE id = $1`, id); err != nil {
			return err
		}
		return auditCategory(ctx, tx, m, org.ActionCategoryRemove, made, changes...)
	})
}

// emptyCategory moves the skills of a category and their versions to the replacement, so that each of them can be saved
// again. Without a replacement it refuses a category that has skills.
func emptyCategory(ctx context.Context, tx pgx.Tx, organizationID, id uuid.UUID, replacement *uuid.UUID) error {
	if replacement == nil {
		used, err := queryValue[bool](ctx, tx, `
			SELECT EXISTS (SELECT FROM skills WHERE organization_id = $1 AND category_id = $2)
			    OR EXISTS (SELECT FROM skills s JOIN skill_versions v ON v.skill_id = s.id
			               WHERE s.organization_id = $1 AND v.content ->> 'category_id' = $2::text)`, organizationID, id)
		if err == nil && used {
			return fault.InvalidField("replacement_id", "この分類にはスキルがあります。スキルの移動先を選択してください。")
		}
		return err
	}
	if err := exec(ctx, tx, `
		UPDATE skill_versions v SET content = jsonb_set(v.content, '{category_id}', to_jsonb($3::uuid))
		FROM skills s
		WHERE s.organization_id = $1 AND v.skill_id = s.id AND v.content ->> 'category_id' = $2::text`, organizationID,
		id, *replacement); err != nil {
		return err
	}
	return exec(ctx, tx, `UPDATE skills SET category_id = $3 WHERE organization_id = $1 AND category_id = $2`,
		organizationID, id, *replacement)
}

func (db *DB) OrderCategories(ctx context.Context, m skill.Editor, ids []uuid.UUID) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		list, err := lockCategories(ctx, tx, m)
		if err != nil {
			return err
		}
		before := make([]uuid.UUID, len(list))
		for i, c := range list {
			before[i] = c.ID
		}
		if slices.Equal(before, ids) {
			return nil
		}
		names := make([]string, len(ids))
		for i, id := range ids {
			at := slices.Index(before, id)
			if at < 0 || slices.Contains(ids[:i], id) {
				return skill.ErrCategoryOrder
			}
			names[i] = list[at].Name
		}
		if len(ids) != len(list) {
			return skill.ErrCategoryOrder
		}
		if err := exec(ctx, tx, `
			INSERT INTO category_places AS p (organization_id, category_id, place)
			SELECT $1, w.id, w.place FROM unnest($2::uuid[]) WITH ORDINALITY AS w (id, place)
			ON CONFLICT (organization_id, category_id) DO UPDATE SET place = excluded.place`, m.OrganizationID,
			ids); err != nil {
			return err
		}
		return auditCategory(ctx, tx, m, org.ActionCategoryOrder, skill.Category{},
			org.Change{Field: "order", After: strings.Join(names, "、")})
	})
}

// lockCategories returns the categories of an organization in order. It locks the organization, so that no other call
// changes them.
func lockCategories(ctx context.Context, tx pgx.Tx, m skill.Editor) ([]skill.KeyedCategory, error) {
	if err := lockForEditor(ctx, tx, m); err != nil {
		return nil, err
	}
	return listCategories(ctx, tx, m.OrganizationID)
}

// madeCategory returns the category with an id, if the organization made it in the app.
func madeCategory(list []skill.KeyedCategory, id uuid.UUID) (skill.Category, error) {
	at := slices.IndexFunc(list, func(c skill.KeyedCategory) bool { return c.ID == id && c.Made })
	if at < 0 {
		return skill.Category{}, skill.ErrNoCategory
	}
	return list[at].Category, nil
}

// checkCategoryName refuses a name that another category in the list has.
func checkCategoryName(list []skill.KeyedCategory, id uuid.UUID, name string) error {
	if !slices.ContainsFunc(list, func(c skill.KeyedCategory) bool { return c.Name == name && c.ID != id }) {
		return nil
	}
	wrong := fault.InvalidField("name", "「%s」という分類はすでにあります。別の名前を入力してください。", name)
	wrong.Code = fault.Conflict
	return wrong
}

func auditCategory(
	ctx context.Context, tx pgx.Tx, m skill.Editor, action org.Action, c skill.Category, details ...org.Change,
) error {
	event := org.Event{
		OrganizationID: &m.OrganizationID, By: m.By, Action: action, TargetKind: org.TargetCategory,
		TargetLabel: c.Name, Details: details,
	}
	if c.ID != uuid.Nil {
		event.TargetID = c.ID.String()
	}
	return audit(ctx, tx, event)
}
