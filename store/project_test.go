package store_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/project"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// projects adds 2,000 projects with a grant for Ann, a group of 50 members and a file count each, and 5 threads of Ann.
func (f *fixture) projects(t *testing.T) {
	t.Helper()
	f.exec(t, `
		INSERT INTO projects (id, organization_id, name, request_id, request_hash)
		SELECT gen_random_uuid(), $1, 'プロジェクト' || n, gen_random_uuid(), '' FROM generate_series(1, 2000) n`, f.a)
	f.exec(t, `
		WITH made AS (
		    INSERT INTO member_groups (id, organization_id, name, request_id, request_hash)
		    VALUES (gen_random_uuid(), $1, '営業部', gen_random_uuid(), '')
		    RETURNING id
		), added AS (
		    INSERT INTO users (id, organization_id, subject, email, name, role, auth_type)
		    SELECT gen_random_uuid(), $1, 'many' || n, 'many' || n || '@example.com', '多数', 'general-user', 'cognito'
		    FROM generate_series(1, 50) n
		    RETURNING id
		)
		INSERT INTO group_members (organization_id, group_id, user_id) SELECT $1, made.id, added.id FROM made, added`, f.a)
	f.exec(t, `
		INSERT INTO project_grants (organization_id, project_id, user_id, role)
		SELECT $1, id, $2, 'manager' FROM projects`, f.a, f.ann.UserID)
	f.exec(t, `
		INSERT INTO project_grants (organization_id, project_id, group_id, role)
		SELECT $1, p.id, g.id, 'viewer' FROM projects p, member_groups g`, f.a)
	f.exec(t, `
		INSERT INTO threads (id, organization_id, user_id, skill_id, project_id)
		SELECT gen_random_uuid(), $1, $2, $3, id FROM projects, generate_series(1, 5)`, f.a, f.ann.UserID, f.skills[0].ID)
	f.exec(t, `ANALYZE`)
}

// TestListOfProjectsCountsOnlyThePage: in the list of 2,000 projects, threads are counted for the projects of the page
// only, by an index.
func TestListOfProjectsCountsOnlyThePage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.projects(t)
	list, total, err := f.ListProjects(t.Context(), f.ann, "", project.Active, project.ByName, 100, 50)
	must.Succeed(t, err)
	if total != 2000 || len(list) != 50 || list[0].Members != 51 || list[0].Threads != 5 || list[0].Role != project.Manager {
		t.Fatalf("%d of %d projects, the first is %+v", len(list), total, list[0])
	}
	tx := must.Get(f.sql.Begin(t.Context()))(t)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), `PREPARE listing (uuid, text, text, uuid, int, int) AS `+store.ListProjectsSQL)
	must.Succeed(t, err)
	var plan string
	must.Succeed(t, tx.QueryRow(t.Context(),
		`EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE listing('`+f.a.String()+`', '', 'active', '`+
			f.ann.UserID.String()+`', 100, 50)`).Scan(&plan))
	var plans []struct{ Plan planNode }
	must.Succeed(t, json.Unmarshal([]byte(plan), &plans))
	counted := false
	plans[0].Plan.each(func(n planNode) {
		if n.Relation == "threads" {
			counted = true
			if n.Loops > 50 || n.Type == "Seq Scan" {
				t.Errorf("%s on threads is executed %.0f times", n.Type, n.Loops)
			}
		}
	})
	if !counted {
		t.Errorf("the plan does not read threads: %s", plan)
	}
}

// planNode is a node of a plan of PostgreSQL.
type planNode struct {
	Type     string     `json:"Node Type"`
	Relation string     `json:"Relation Name"`
	Loops    float64    `json:"Actual Loops"`
	Rows     float64    `json:"Actual Rows"`            // Of each loop.
	Removed  float64    `json:"Rows Removed by Filter"` // Of each loop.
	Plans    []planNode `json:"Plans"`
}

func (n planNode) each(do func(planNode)) {
	do(n)
	for _, below := range n.Plans {
		below.each(do)
	}
}

// TestChangedGrantsNotifyTheirMembers: every server receives the members whose role may have changed, and a server that
// was not listening finds them afterwards.
func TestChangedGrantsNotifyTheirMembers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	carl := f.user(t, f.a, "carl")
	told, listening := make(chan uuid.UUID, 100), make(chan struct{})
	go f.WatchUsers(t.Context(), identity.Watcher{
		Listening: func() { close(listening) }, Changed: func(id uuid.UUID) { told <- id }, Lost: func(error) {},
	})
	<-listening
	group, id := newID(), newID()
	f.exec(t, `INSERT INTO projects (id, organization_id, name, request_id, request_hash) VALUES ($1, $2, '新商品', $1, '')`,
		id, f.a)
	f.exec(t, `INSERT INTO member_groups (id, organization_id, name, request_id, request_hash) VALUES ($1, $2, 'G', $1, '')`,
		group, f.a)
	everybody := []uuid.UUID{f.ann.UserID, f.bob.UserID, carl.UserID}
	for _, step := range []struct {
		name, sql string
		args      []any
		told      []uuid.UUID
	}{
		{"a member joins a group without grants", `INSERT INTO group_members VALUES ($1, $2, $3)`, []any{f.a, group, carl.UserID}, nil},
		{
			"a grant for a person", `INSERT INTO project_grants (organization_id, project_id, user_id, role) VALUES ($1, $2, $3, 'viewer')`,
			[]any{f.a, id, f.bob.UserID},
			[]uuid.UUID{f.bob.UserID},
		},
		{"another role", `UPDATE project_grants SET role = 'editor' WHERE project_id = $1`, []any{id}, []uuid.UUID{f.bob.UserID}},
		{
			"a grant for a group", `INSERT INTO project_grants (organization_id, project_id, group_id, role) VALUES ($1, $2, $3, 'viewer')`,
			[]any{f.a, id, group},
			[]uuid.UUID{carl.UserID},
		},
		{"a member joins", `INSERT INTO group_members VALUES ($1, $2, $3)`, []any{f.a, group, f.ann.UserID}, []uuid.UUID{f.ann.UserID}},
		{"a member leaves", `DELETE FROM group_members WHERE user_id = $1`, []any{f.ann.UserID}, []uuid.UUID{f.ann.UserID}},
		{"deleted", `UPDATE projects SET deleted_at = now() WHERE id = $1`, []any{id}, []uuid.UUID{f.bob.UserID, carl.UserID}},
		{"restored", `UPDATE projects SET deleted_at = NULL WHERE id = $1`, []any{id}, []uuid.UUID{f.bob.UserID, carl.UserID}},
		{"the group loses its grant", `DELETE FROM project_grants WHERE group_id = $1`, []any{group}, []uuid.UUID{carl.UserID}},
		{
			"a grant for everybody", `INSERT INTO project_grants (organization_id, project_id, role) VALUES ($1, $2, 'viewer')`,
			[]any{f.a, id},
			everybody,
		},
	} {
		f.exec(t, `UPDATE organizations SET access_changed_at = NULL`)
		f.exec(t, step.sql, step.args...)
		last := uuid.New()
		f.exec(t, `SELECT pg_notify('tsumugi_user', $1)`, last.String())
		got := make(map[uuid.UUID]bool)
		for next := <-told; next != last; next = <-told {
			got[next] = true
		}
		for _, user := range append(everybody, f.mallory.UserID) {
			wanted := false
			for _, u := range step.told {
				wanted = wanted || u == user
			}
			if got[user] != wanted {
				t.Errorf("%s: %s notified: %t, want %t", step.name, user, got[user], wanted)
			}
		}
		missed := must.Get(f.ChangedUsers(t.Context(), []uuid.UUID{f.ann.UserID, f.mallory.UserID}, time.Minute))(t)
		if len(missed) > 1 || (len(missed) == 1) != (len(step.told) > 0) {
			t.Errorf("%s: %s may have changed", step.name, missed)
		}
	}
}

// TestRetentionInProjects: the setting of the project applies to shared threads, and the shorter one of the settings of
// the project and the organization to private ones.
func TestRetentionInProjects(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, test := range []struct {
		organization, project int // Days; 0 for no setting.
		shared                bool
		want                  int // Days after which the thread is deleted; 0 for never.
	}{
		{0, 0, true, 0},
		{0, 60, true, 60},
		{60, 0, true, 60},
		{40, 90, true, 90},
		{90, 40, true, 40},
		{0, 60, false, 60},
		{60, 0, false, 60},
		{40, 90, false, 40},
		{90, 40, false, 40},
	} {
		f.retain(t, f.a, test.organization)
		f.age(t, f.a)
		id, visibility := newID(), "private"
		if test.shared {
			visibility = "project"
		}
		f.exec(t, `
			INSERT INTO projects (id, organization_id, name, request_id, request_hash, retention_days, retention_since)
			VALUES ($1, $2, '新商品', $1, '', nullif($3, 0), now() - interval '1 year')`, id, f.a, test.project)
		notify := func(thread uuid.UUID) {
			f.exec(t, `UPDATE threads SET told_at = now() - interval '15 days' WHERE id = $1`, thread)
		}
		thread := func(age int) uuid.UUID {
			made := f.oldThread(t, f.ann, float64(age), 15)
			f.exec(t, `UPDATE threads SET project_id = $2, visibility = $3 WHERE id = $1`, made, id, visibility)
			notify(made) // Moving it has removed the mark.
			return made
		}
		days := test.want
		if days == 0 {
			days = 365
		}
		before, after := thread(days-1), thread(days+1)
		var want []uuid.UUID
		if test.want > 0 {
			want = []uuid.UUID{after}
		}
		if got := f.deleteAll(t); !slices.Equal(got, want) {
			t.Errorf("%+v: deleted %v of %v and %v", test, got, before, after)
		}
		// A thread that is moved is not deleted before another notice.
		f.exec(t, `UPDATE threads SET touched_at = now() - interval '10 years' WHERE id = $1`, before)
		notify(before)
		f.exec(t, `UPDATE threads SET project_id = NULL, visibility = 'private' WHERE id = $1`, before)
		if got := f.deleteAll(t); len(got) > 0 {
			t.Errorf("%+v: deleted %v after a move", test, got)
		}
		f.exec(t, `DELETE FROM threads`)
		f.exec(t, `DELETE FROM projects`)
	}
}
