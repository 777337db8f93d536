package store_test

import (
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// ownSkill adds a skill of one organization. The store has no method for that.
func (f *fixture) ownSkill(t *testing.T, organizationID uuid.UUID, position int, name string) uuid.UUID {
	t.Helper()
	id := newID()
	f.exec(t, `
		INSERT INTO skills (id, organization_id, category_id, position, name, icon_path, form_type, prompt)
		VALUES ($1, $2, $3, $4, $5, '/icons/x.svg', 'chat', '')`, id, organizationID, f.cats[0].ID, position, name)
	return id
}

func names(skills []skill.Skill) (list []string) {
	for _, s := range skills {
		list = append(list, s.Name)
	}
	return list
}

func TestSkillsAreListedInOrderAndByOrganization(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.ownSkill(t, f.a, 2, "自社")
	foreign := f.ownSkill(t, f.b, 0, "他社")
	list := func(offset, limit int) []string {
		got := must.Get(f.ListSkills(t.Context(), f.a, f.ann.UserID, offset, limit))(t)
		return names(got)
	}
	if got := list(0, 10); !equal(got, "汎用チャット", "自社", "校正") {
		t.Errorf("all: %v", got)
	}
	if got := list(1, 1); !equal(got, "自社") {
		t.Errorf("second page: %v", got)
	}
	if got := list(3, 10); len(got) != 0 {
		t.Errorf("past the end: %v", got)
	}
	_, err := f.FindSkill(t.Context(), f.a, f.ann.UserID, foreign)
	wantCode(t, err, fault.NotFound)
	_, err = f.FindSkill(t.Context(), f.a, f.ann.UserID, newID())
	wantCode(t, err, fault.NotFound)
	wantCode(t, f.AddFavoriteSkill(t.Context(), f.a, f.ann.UserID, foreign), fault.NotFound)
}

func TestSkillsRoundTrip(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := skill.Skill{
		ID: newID(), CategoryID: f.cats[0].ID, Position: 7, Name: "帳票", Description: "一行目\n二行目", IconPath: "/i.svg",
		Kind: "mail", TaskType: skill.TaskDocumentQA, FormType: skill.FormForm, AcceptsDataSources: true,
		FormFields: []skill.FormField{{
			Name: "tone", Label: "調子", Type: skill.FieldSelect, Required: true, Options: []string{"丁寧", "普通"},
			MaxLength: 10,
		}},
		Suggestions: []string{}, Keywords: []string{"帳面"}, Prompt: "「{{tone}}」で書く。",
	}
	must.Succeed(t, f.SaveBuiltinSkills(t.Context(), f.cats, append(slices.Clone(f.skills), s)))
	for _, want := range []skill.Skill{s, f.skills[0]} {
		got, err := f.FindSkill(t.Context(), f.b, f.mallory.UserID, want.ID)
		if got.CreatedAt.IsZero() {
			t.Error("the skill has no time of creation")
		}
		want.CreatedAt = got.CreatedAt // The database sets it.
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("FindSkill = %+v, %v, want %+v", got, err, want)
		}
	}
}

func TestCategoriesHaveSkills(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	empty := skill.Category{ID: newID(), Name: "空", Position: 0}
	must.Succeed(t, f.SaveBuiltinSkills(t.Context(), append(slices.Clone(f.cats), empty), f.skills))
	got, err := f.ListCategories(t.Context(), f.a, f.ann.UserID)
	if err != nil || !slices.Equal(got, f.cats) {
		t.Errorf("ListCategories = %+v, %v", got, err)
	}
	must.Succeed(t, f.SaveBuiltinSkills(t.Context(), f.cats, f.skills[:1]))
	got, err = f.ListCategories(t.Context(), f.a, f.ann.UserID)
	if err != nil || !slices.Equal(got, f.cats[:1]) {
		t.Errorf("after retiring: %+v, %v", got, err)
	}
}

func TestFavorites(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first, second := f.skills[1], f.skills[0]
	for range 2 {
		must.Succeed(t, f.AddFavoriteSkill(t.Context(), f.a, f.ann.UserID, first.ID))
	}
	f.exec(t, `UPDATE favorite_skills SET created_at = now() - interval '1 hour'`)
	must.Succeed(t, f.AddFavoriteSkill(t.Context(), f.a, f.ann.UserID, second.ID))
	must.Succeed(t, f.AddFavoriteSkill(t.Context(), f.a, f.ann.UserID, first.ID)) // The favourite keeps its first time.

	got := must.Get(f.ListFavoriteSkills(t.Context(), f.a, f.ann.UserID, 0, 10))(t)
	if len(got) != 2 || got[0].SkillID != second.ID || got[1].SkillID != first.ID || got[1].Name != first.Name {
		t.Errorf("favourites: %+v", got)
	}
	if got, err := f.ListFavoriteSkills(t.Context(), f.a, f.ann.UserID, 1, 1); err != nil || len(got) != 1 ||
		got[0].SkillID != first.ID {
		t.Errorf("second page: %+v, %v", got, err)
	}
	if s, err := f.FindSkill(t.Context(), f.a, f.ann.UserID, first.ID); err != nil || !s.IsFavorite {
		t.Errorf("FindSkill: %+v, %v", s, err)
	}
	if s, err := f.FindSkill(t.Context(), f.a, f.bob.UserID, first.ID); err != nil || s.IsFavorite {
		t.Errorf("a colleague's: %+v, %v", s, err)
	}

	must.Succeed(t, f.SaveBuiltinSkills(t.Context(), f.cats, f.skills[:1])) // The first favourite is retired.
	if got, err := f.ListFavoriteSkills(t.Context(), f.a, f.ann.UserID, 0, 10); err != nil || len(got) != 1 {
		t.Errorf("with one retired: %+v, %v", got, err)
	}
	for range 2 {
		must.Succeed(t, f.RemoveFavoriteSkill(t.Context(), f.a, f.ann.UserID, second.ID))
	}
	must.Succeed(t, f.RemoveFavoriteSkill(t.Context(), f.a, f.ann.UserID, newID()))
	if got, err := f.ListFavoriteSkills(t.Context(), f.a, f.ann.UserID, 0, 10); err != nil || len(got) != 0 {
		t.Errorf("after removal: %+v, %v", got, err)
	}
}

func TestBuiltinSkillsAreSavedRetiredAndRestored(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	own := f.ownSkill(t, f.a, 9, "自社")
	const stamp = `SELECT string_agg(id::text || updated_at::text || coalesce(retired_at::text, ''), ','
			ORDER BY id) FROM skills`
	before := value[string](t, f, stamp)

	var wg sync.WaitGroup
	for range 8 { // Servers that start at the same time.
		wg.Go(func() {
			if err := f.SaveBuiltinSkills(t.Context(), f.cats, f.skills); err != nil {
				t.Errorf("SaveBuiltinSkills: %v", err)
			}
		})
	}
	wg.Wait()
	if after := value[string](t, f, stamp); after != before {
		t.Errorf("repeating changed something:\n%s\n%s", before, after)
	}

	changed := slices.Clone(f.skills[:1])
	changed[0].Prompt = "新しい指示"
	must.Succeed(t, f.SaveBuiltinSkills(t.Context(), f.cats, changed))
	got := must.Get(f.ListSkills(t.Context(), f.a, f.ann.UserID, 0, 10))(t)
	if !equal(names(got), "汎用チャット", "自社") {
		t.Errorf("after the change: %+v", got)
	}
	if s, err := f.FindSkill(t.Context(), f.a, f.ann.UserID, changed[0].ID); err != nil || s.Prompt != "新しい指示" {
		t.Errorf("after the change: %+v, %v", s, err)
	}
	if s, err := f.FindSkill(t.Context(), f.a, f.ann.UserID, f.skills[1].ID); err != nil || s.Name != "校正" {
		t.Errorf("a retired skill: %+v, %v", s, err)
	}
	must.Succeed(t, f.SaveBuiltinSkills(t.Context(), f.cats, f.skills))
	if got, err := f.ListSkills(t.Context(), f.a, f.ann.UserID, 0, 10); err != nil || len(got) != 3 {
		t.Errorf("brought back: %v, %v", names(got), err)
	}

	// A built-in skill cannot take the id of an organization's own skill.
	thief := builtin(f.cats[0].ID, 1, "乗っ取り")
	thief.ID = own
	must.Succeed(t, f.SaveBuiltinSkills(t.Context(), f.cats, append(slices.Clone(f.skills), thief)))
	if s, err := f.FindSkill(t.Context(), f.a, f.ann.UserID, own); err != nil || s.Name != "自社" {
		t.Errorf("the organization's own skill: %+v, %v", s, err)
	}
}
