package skill

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// MaxCategories limits the categories that an organization creates in the app.
const MaxCategories = 30

// NewCategoryPosition is the position of a category created in the app: after the built-in and the imported ones.
const NewCategoryPosition = maxPosition

// Errors with codes for clients.
var (
	ErrNoCategory    = fault.Errorf(fault.NotFound, "分類が見つかりません。")
	ErrCategoryOrder = fault.Errorf(fault.Conflict, "ほかの人が分類を変更しました。画面を読み込み直してから、並べ替えてください。")
)

// CreateCategory creates a category of the actor's organization. For administrators.
func (l *Library) CreateCategory(ctx context.Context, actor identity.Actor, name string) (Category, error) {
	m, name, err := categoryEditor(actor, name)
	if err != nil {
		return Category{}, err
	}
	return l.store.CreateCategory(ctx, m, name)
}

// RenameCategory renames a category of the actor's organization. For administrators.
func (l *Library) RenameCategory(
	ctx context.Context, actor identity.Actor, id uuid.UUID, name string,
) (Category, error) {
	m, name, err := categoryEditor(actor, name)
	if err != nil {
		return Category{}, err
	}
	return l.store.RenameCategory(ctx, m, id, name)
}

// categoryEditor returns an administrator as an Editor, and the stored form of a category's name.
func categoryEditor(actor identity.Actor, name string) (Editor, string, error) {
	m := editorOf(actor)
	if !m.Admin {
		return m, "", org.ErrForbidden
	}
	name = strings.TrimSpace(name)
	var w contentCheck
	w.name("name", "分類の名前", name, maxCategoryName)
	return m, name, w.err()
}

// RemoveCategory removes a category of the actor's organization. For administrators.
func (l *Library) RemoveCategory(
	ctx context.Context, actor identity.Actor, id uuid.UUID, replacement *uuid.UUID,
) error {
	m := editorOf(actor)
	switch {
	case !m.Admin:
		return org.ErrForbidden
	case replacement != nil && *replacement == id:
		return fault.InvalidField("replacement_id", "削除する分類とは別の分類を選択してください。")
	}
	return l.store.RemoveCategory(ctx, m, id, replacement)
}

// OrderCategories sets the order of the categories of the actor's organization. For administrators.
func (l *Library) OrderCategories(ctx context.Context, actor identity.Actor, ids []uuid.UUID) error {
	m := editorOf(actor)
	if !m.Admin {
		return org.ErrForbidden
	}
	return l.store.OrderCategories(ctx, m, ids)
}

// Categories returns the categories in which skills may be created, in order.
func (l *Library) Categories(ctx context.Context, organizationID uuid.UUID) ([]Category, error) {
	keyed, err := l.store.ListAllCategories(ctx, organizationID)
	list := make([]Category, len(keyed))
	for i, c := range keyed {
		list[i] = c.Category
	}
	return list, err
}
