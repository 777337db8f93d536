package store_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// imported returns skills in one category as if they were parsed from a file. Each call returns new values.
func imported(names ...string) (in skill.Import) {
	in.Categories = []skill.ImportedCategory{{Key: "sales", Category: skill.Category{
		ID: newID(), Name: "営業",
		Position: 1000,
	}}}
	for i, name := range names {
		key, name, _ := strings.Cut(name, "=")
		s := builtin(uuid.Nil, i, name)
		in.Skills = append(in.Skills, skill.ImportedSkill{Key: key, CategoryKey: "sales", Skill: s})
	}
	return in
}

// changes formats the results for skills.
func changes(list []skill.ImportResult) (all []string) {
	for _, i := range list {
		all = append(all, fmt.Sprintf("%s %s %s", i.Key, i.Name, i.Change))
	}
	return all
}

func TestSkillsAreImported(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, by := t.Context(), org.Operator("ops")
	run := func(organization *uuid.UUID, in skill.Import, dry bool) []string {
		t.Helper()
		got := must.Get(f.ImportSkills(ctx, organization, in, by, dry))(t)
		return changes(got)
	}
	listed := func(organization uuid.UUID) []string {
		t.Helper()
		got := must.Get(f.ListSkills(ctx, organization, f.ann.UserID, 0, 100))(t)
		return names(got)
	}
	if got := run(&f.a, imported("visit=訪問報告", "pitch=商談"), true); !equal(got, "visit 訪問報告 added", "pitch 商談 added") {
		t.Errorf("dry: %v", got)
	}
	if got := listed(f.a); !equal(got, "汎用チャット", "校正") {
		t.Errorf("after a dry run: %v", got)
	}
	run(&f.a, imported("visit=訪問報告", "pitch=商談"), false)
	if got := listed(f.a); !equal(got, "汎用チャット", "校正", "訪問報告", "商談") {
		t.Errorf("imported: %v", got)
	}
	if got := listed(f.b); !equal(got, "汎用チャット", "校正") {
		t.Errorf("of the other organization: %v", got)
	}
	before := must.Get(f.ListSkills(ctx, f.a, f.ann.UserID, 2, 1))(t)
	if got := run(&f.a, imported("visit=訪問報告", "pitch=商談"), false); !equal(got, "visit 訪問報告 unchanged",
		"pitch 商談 unchanged") {
		t.Errorf("again: %v", got)
	}
	if got := run(&f.a, imported("visit=訪問の報告", "pitch=商談"), false); !equal(got, "visit 訪問の報告 changed",
		"pitch 商談 unchanged") {
		t.Errorf("renamed: %v", got)
	}
	after, err := f.FindSkill(ctx, f.a, f.ann.UserID, before[0].ID)
	if err != nil || after.Name != "訪問の報告" {
		t.Errorf("the skill is another one: %+v %v", after, err)
	}

	// In another organization the same keys denote other skills. Seeding the built-in skills changes neither.
	run(&f.b, imported("visit=訪問"), false)
	run(nil, imported("visit=全社の訪問"), false)
	must.Succeed(t, f.SaveBuiltinSkills(ctx, f.cats, f.skills))
	if got := listed(f.a); !equal(got, "汎用チャット", "校正", "訪問の報告", "商談", "全社の訪問") {
		t.Errorf("with those for all: %v", got)
	}
	if got := listed(f.b); !slices.Contains(got, "訪問") || !slices.Contains(got, "全社の訪問") ||
		slices.Contains(got, "訪問の報告") {
		t.Errorf("of the other organization: %v", got)
	}

	if got := run(&f.a, skill.Import{Retire: []string{"visit"}}, false); !equal(got, "visit 訪問の報告 retired") {
		t.Errorf("retired: %v", got)
	}
	if got := run(&f.a, skill.Import{Retire: []string{"visit"}}, false); !equal(got, "visit 訪問の報告 unchanged") {
		t.Errorf("retired again: %v", got)
	}
	if got := listed(f.a); slices.Contains(got, "訪問の報告") {
		t.Errorf("after retiring: %v", got)
	}
	if got := run(&f.a, imported("visit=訪問の報告"), false); !equal(got, "visit 訪問の報告 changed") {
		t.Errorf("brought back: %v", got)
	}

	events, total, err := f.ListEvents(ctx, org.AuditQuery{
		OrganizationID: &f.a, Action: org.ActionSkillImport,
		Limit: 10,
	})
	if err != nil || total != 4 || events[3].By.Name != "ops" || events[3].By.Kind != org.ByOperator ||
		len(events[3].Details) != 2 || len(events[2].Details) != 1 ||
		events[2].Details[0] != (org.Change{Field: "skill_changed", After: "訪問の報告"}) {
		t.Errorf("the log has %d entries %+v, %v", total, events, err)
	}
}

func TestInvalidImports(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, by, nobody := t.Context(), org.Operator("ops"), newID()
	_, err := f.ImportSkills(ctx, &nobody, imported("visit=訪問報告"), by, false)
	wantCode(t, err, fault.NotFound)
	_, err = f.ImportSkills(ctx, &f.a, imported("visit=訪問報告", "mine=校正"), by, false)
	wantCode(t, err, fault.Conflict)
	if !strings.Contains(fault.DetailOf(err), "校正") {
		t.Errorf("got %v", err)
	}
	// A user who sees both skills would see the same name twice.
	must.Get(f.ImportSkills(ctx, &f.b, imported("visit=訪問"), by, false))(t)
	_, err = f.ImportSkills(ctx, nil, imported("visit=訪問"), by, false)
	wantCode(t, err, fault.Conflict)
	_, err = f.ImportSkills(ctx, &f.a, skill.Import{Retire: []string{"never"}}, by, false)
	wantCode(t, err, fault.NotFound)
	got, err := f.ListSkills(ctx, f.a, f.ann.UserID, 0, 100)
	if err != nil || len(got) != 2 {
		t.Errorf("something is left of it: %v %v", names(got), err)
	}
}

// TestImportsAreSerialized: several operators import the same file concurrently.
func TestImportsAreSerialized(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for round := range 10 {
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if _, err := f.ImportSkills(t.Context(), nil, imported(fmt.Sprintf("visit-%d=訪問報告%d", round, round)),
					org.Operator("ops"), false); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	got, err := f.ListSkills(t.Context(), f.a, f.ann.UserID, 0, 100)
	if err != nil || len(got) != 12 {
		t.Errorf("got %v %v", names(got), err)
	}
}
