package skill_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

func (s *savingStore) CreateCategory(_ context.Context, _ skill.Editor, name string) (skill.Category, error) {
	return skill.Category{Name: name, Made: true}, nil
}

func (s *savingStore) RemoveCategory(context.Context, skill.Editor, uuid.UUID, *uuid.UUID) error {
	return nil
}

func TestNamesOfCategories(t *testing.T) {
	t.Parallel()
	l := skill.NewLibrary(&savingStore{})
	for name, want := range map[string]string{
		" 営業 ": "営業", strings.Repeat("分", 12): strings.Repeat("分", 12),
		"": "", " 　": "", strings.Repeat("分", 13): "", "営\n業": "", "営\u0000業": "",
	} {
		made, err := l.CreateCategory(t.Context(), someone(identity.RoleOrganizationAdmin), name)
		if made.Name != want || (err == nil) != (want != "") || err != nil && fault.CodeOf(err) != fault.Invalid {
			t.Errorf("%q: %q, %v", name, made.Name, err)
		}
	}
}

func TestCategoriesAreForAdministrators(t *testing.T) {
	t.Parallel()
	l := skill.NewLibrary(&savingStore{})
	member, id := someone(identity.RoleGeneralUser), uuid.New()
	_, created := l.CreateCategory(t.Context(), member, "営業")
	_, renamed := l.RenameCategory(t.Context(), member, id, "営業")
	for _, err := range []error{
		created, renamed, l.RemoveCategory(t.Context(), member, id, nil), l.OrderCategories(t.Context(), member, nil),
	} {
		if !errors.Is(err, org.ErrForbidden) {
			t.Errorf("got %v", err)
		}
	}
	if err := l.RemoveCategory(t.Context(), someone(identity.RoleOrganizationAdmin), id, &id); fault.CodeOf(err) !=
		fault.Invalid {
		t.Errorf("replaced by itself: %v", err)
	}
}
