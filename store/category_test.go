package store_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// categories returns the names of all categories of an organization, in order, and their ids.
func (f *fixture) categories(t *testing.T, organization uuid.UUID) (names []string, ids []uuid.UUID) {
	t.Helper()
	list := must.Get(f.ListAllCategories(t.Context(), organization))(t)
	for _, c := range list {
		names, ids = append(names, c.Name), append(ids, c.ID)
	}
	return names, ids
}

func wantNames(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestCategoriesAreOrderedByEachOrganization: an organization orders all its categories, including those shared by all
// organizations, and the skills in them. The order does not affect other organizations.
func TestCategoriesAreOrderedByEachOrganization(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	m := f.admin(t, f.ann)
	sales := must.Get(f.CreateCategory(t.Context(), m, "営業"))(t)
	got, ids := f.categories(t, f.a)
	wantNames(t, got, "基本", "文章", "営業")
	slices.Reverse(ids)
	for range 2 { // Repeating the call changes nothing.
		must.Succeed(t, f.OrderCategories(t.Context(), m, ids))
	}
	got, _ = f.categories(t, f.a)
	wantNames(t, got, "営業", "文章", "基本")
	must.Get(f.CreateCategory(t.Context(), m, "法務"))(t)
	got, _ = f.categories(t, f.a)
	wantNames(t, got, "営業", "文章", "基本", "法務")
	got, _ = f.categories(t, f.b)
	wantNames(t, got, "基本", "文章")
	for _, wrong := range [][]uuid.UUID{nil, ids, append(slices.Clone(ids), ids[0]), append(slices.Clone(ids), newID())} {
		if err := f.OrderCategories(t.Context(), m, wrong); fault.CodeOf(err) != fault.Conflict {
			t.Errorf("%v: %v", wrong, err)
		}
	}
	s := f.saving("見積もり", skill.AudienceOrganization)
	s.Content.CategoryID = sales.ID
	f.save(t, m, s)
	skills := must.Get(f.ListSkills(t.Context(), f.a, f.ann.UserID, 0, 100))(t)
	if skills[0].Name != "見積もり" {
		t.Errorf("the first skill is %s", skills[0].Name)
	}
	shown := must.Get(f.ListCategories(t.Context(), f.a, f.bob.UserID))(t)
	if shown[0].Name != "営業" || !shown[0].Made || shown[1].Made {
		t.Errorf("got %+v", shown)
	}
}

// TestCategoriesBelongToTheirOrganization: an organization cannot change categories of other organizations, of all
// organizations or of imports.
func TestCategoriesBelongToTheirOrganization(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	m := f.admin(t, f.ann)
	made := must.Get(f.CreateCategory(t.Context(), m, "営業"))(t)
	imported := newID()
	f.exec(t, `INSERT INTO categories (id, name, position, organization_id, key) VALUES ($1, '取込', 9, $2, 'in')`,
		imported, f.a)
	for name, call := range map[string]struct {
		by skill.Editor
		id uuid.UUID
	}{
		"another organization's": {f.admin(t, f.mallory), made.ID}, "of all": {m, f.cats[0].ID},
		"imported": {m, imported}, "none": {m, newID()},
	} {
		_, renamed := f.RenameCategory(t.Context(), call.by, call.id, "別名")
		for _, err := range []error{renamed, f.RemoveCategory(t.Context(), call.by, call.id, nil)} {
			if fault.CodeOf(err) != fault.NotFound {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, taken := range []string{"営業", "基本", "取込"} {
		if _, err := f.CreateCategory(t.Context(), m, taken); fault.CodeOf(err) != fault.Conflict {
			t.Errorf("%s: %v", taken, err)
		}
	}
	if _, err := f.RenameCategory(t.Context(), m, made.ID, "基本"); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("a name of another one: %v", err)
	}
	renamed := must.Get(f.RenameCategory(t.Context(), m, made.ID, "販売"))(t)
	if renamed.Name != "販売" || renamed.ID != made.ID {
		t.Errorf("got %+v", renamed)
	}
	if _, err := f.CreateCategory(t.Context(), f.admin(t, f.mallory), "販売"); err != nil {
		t.Errorf("another organization may have the name: %v", err)
	}
	for i := range skill.MaxCategories - 1 {
		must.Get(f.CreateCategory(t.Context(), m, string(rune('あ'+i))))(t)
	}
	if _, err := f.CreateCategory(t.Context(), m, "多い"); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("too many: %v", err)
	}
}

// TestRemovedCategoriesLeaveNoSkillBehind: skills, drafts and earlier versions move to the replacement.
func TestRemovedCategoriesLeaveNoSkillBehind(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	m := f.admin(t, f.ann)
	gone, err := f.CreateCategory(t.Context(), m, "営業")
	must.Succeed(t, err)
	s := f.saving("見積もり", skill.AudienceSelf)
	s.Content.CategoryID = gone.ID
	own := f.save(t, editor(f.bob), s)
	later := s
	later.RequestID, later.BaseVersion, later.Content.CategoryID = newID(), 1, f.cats[1].ID
	must.Get(f.SaveSkill(t.Context(), editor(f.bob), own.ID, later))(t)
	err = f.RemoveCategory(t.Context(), m, gone.ID, nil)
	if fault.CodeOf(err) != fault.Invalid {
		t.Errorf("an earlier version is in it: %v", err)
	}
	draft := must.Get(f.SaveDraft(t.Context(), editor(f.bob), newID(), s.Content, 20))(t)
	foreign := must.Get(f.CreateCategory(t.Context(), f.admin(t, f.mallory), "他社"))(t)
	if err := f.RemoveCategory(t.Context(), m, gone.ID, &foreign.ID); fault.CodeOf(err) != fault.Invalid {
		t.Errorf("another organization's replacement: %v", err)
	}
	must.Succeed(t, f.RemoveCategory(t.Context(), m, gone.ID, &f.cats[0].ID))
	got, _ := f.categories(t, f.a)
	wantNames(t, got, "基本", "文章")
	first := must.Get(f.FindVersion(t.Context(), editor(f.bob), own.ID, 1))(t)
	moved := must.Get(f.FindSkill(t.Context(), f.a, f.bob.UserID, draft))(t)
	if first.Content.CategoryID != f.cats[0].ID || moved.CategoryID != f.cats[0].ID {
		t.Errorf("the first version is in %v, the draft in %v", first.Content.CategoryID, moved.CategoryID)
	}
	events, _, err := f.ListEvents(t.Context(), org.AuditQuery{OrganizationID: &f.a, Limit: 10})
	must.Succeed(t, err)
	want := org.Change{Field: "replacement", After: "基本"}
	if events[0].Action != org.ActionCategoryRemove || events[0].TargetLabel != "営業" ||
		!slices.Equal(events[0].Details, []org.Change{want}) {
		t.Errorf("the log says %+v", events[0])
	}
	empty := must.Get(f.CreateCategory(t.Context(), m, "空"))(t)
	must.Succeed(t, f.RemoveCategory(t.Context(), m, empty.ID, nil))
}
