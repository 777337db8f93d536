package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// project creates a project that a person manages.
func (f *fixture) project(token string) api.Project {
	f.t.Helper()
	return get[api.Project](f, http.StatusCreated, call{
		method: "POST", path: "/v1/project", token: token, body: map[string]any{"request_id": newID(), "name": "新商品"},
	})
}

// grant returns a grant of the body of PUT /v1/project/{project_id}/grant.
func grant(kind string, id uuid.UUID, role string) map[string]any {
	return map[string]any{"subject": map[string]any{"kind": kind, "id": id}, "role": role}
}

// TestProjects covers a project from its creation to its deletion: settings, conflicts of versions, grants of people,
// groups and everybody, and its entries in the audit log.
func TestProjects(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	as := func(token, method, path string, body any) call {
		return call{method: method, path: path, token: token, body: body}
	}
	alice, bob := f.alice.Subject, f.bob.Subject
	add := map[string]any{
		"request_id": newID(), "name": " 新商品 ", "description": "春の発売", "instructions": "敬語で答えてください。",
		"skill_id": f.chatSkill().ID,
	}
	p := get[api.Project](f, http.StatusCreated, as(alice, "POST", "/v1/project", add))
	if p.Name != "新商品" || p.Role != "manager" || p.Version != 1 || p.SkillID != f.chatSkill().ID || p.Counts.Members != 1 {
		t.Errorf("created: %+v", p)
	}
	if again := get[api.Project](f, http.StatusCreated, as(alice, "POST", "/v1/project", add)); again.ID != p.ID {
		t.Errorf("repeated: %+v", again)
	}
	add["name"] = "別"
	if got := f.do(as(alice, "POST", "/v1/project", add)).problem(t); got.Code != "request_id_conflict" {
		t.Errorf("repeated with another name: %+v", got)
	}
	add["request_id"] = newID()
	for field, value := range map[string]any{
		"name": "改\n行", "description": strings.Repeat("あ", 1_001), "instructions": strings.Repeat("あ", 32_001),
		"skill_id": newID(),
	} {
		body := map[string]any{"request_id": newID(), "name": "名前", field: value}
		if got := f.do(as(alice, "POST", "/v1/project", body)).problem(t); got.Status != 400 || got.Errors[0].Field != field {
			t.Errorf("%s: %+v", field, got)
		}
	}
	// A name has 1 to 100 characters after its composition, and a visible one.
	for name, status := range map[string]int{
		" ": 400, strings.Repeat("あ", 101): 400, "見\u0000積": 400, "見\u202e積": 400, "\u200b": 400,
		"\u2060 \ufeff": 400, strings.Repeat("か\u3099", 100): 201,
	} {
		got := f.do(as(f.stranger.Subject, "POST", "/v1/project", map[string]any{"request_id": newID(), "name": name}))
		if got.status != status || status == 201 && !strings.Contains(string(got.body), strings.Repeat("が", 100)) {
			t.Errorf("created with the name %q: %d %s", name, got.status, got.body)
		}
	}
	path := "/v1/project/" + p.ID.String()
	edit := map[string]any{"version": 1, "name": "新商品", "instructions": "短く答えてください。"}
	if got := get[api.Project](f, http.StatusOK, as(alice, "PUT", path, edit)); got.Version != 2 || got.SkillID != uuid.Nil {
		t.Errorf("edited: %+v", got)
	}
	if got := f.do(as(alice, "PUT", path, edit)).problem(t); got.Status != 409 || got.Code != "version_conflict" ||
		got.Current.Version != 2 || got.Current.Instructions != "短く答えてください。" {
		t.Errorf("edited with an old version: %+v", got)
	}

	// Grants.
	grants := func(version int, list ...map[string]any) map[string]any {
		return map[string]any{"version": version, "grants": list}
	}
	manager := grant("user", f.alice.ID, "manager")
	for name, test := range map[string]struct {
		body   map[string]any
		status int
		code   string
		field  string
	}{
		"unknown":            {grants(2, manager, grant("user", uuid.New(), "viewer")), 404, "not_found", "grants[1].subject.id"},
		"foreign member":     {grants(2, manager, grant("user", f.stranger.ID, "viewer")), 404, "not_found", "grants[1].subject.id"},
		"foreign company":    {grants(2, manager, grant("organization", f.stranger.OrganizationID, "viewer")), 404, "not_found", "grants[1].subject.id"},
		"another kind":       {grants(2, manager, grant("group", f.bob.ID, "viewer")), 404, "not_found", "grants[1].subject.id"},
		"company as member":  {grants(2, manager, grant("user", f.alice.OrganizationID, "viewer")), 404, "not_found", "grants[1].subject.id"},
		"twice":              {grants(2, manager, manager), 400, "invalid", "grants[1].subject.id"},
		"no manager":         {grants(2, grant("user", f.alice.ID, "editor")), 409, "last_manager", ""},
		"an earlier version": {grants(1, manager), 409, "version_conflict", ""},
	} {
		got := f.do(as(alice, "PUT", path+"/grant", test.body)).problem(t)
		if got.Status != test.status || got.Code != test.code || test.field != "" && got.Errors[0].Field != test.field {
			t.Errorf("%s: %+v", name, got)
		}
	}
	set := func(version int, list ...map[string]any) api.ProjectGrants {
		return get[api.ProjectGrants](f, http.StatusOK, as(alice, "PUT", path+"/grant", grants(version, list...)))
	}
	role := func(token string) string {
		resp := f.do(as(token, "GET", path, nil))
		if resp.status != http.StatusOK {
			return resp.problem(t).Code
		}
		return string(get[api.Project](f, http.StatusOK, as(token, "GET", path, nil)).Role)
	}
	if got := set(2, manager, grant("user", f.bob.ID, "viewer")); got.Version != 3 || len(got.Grants) != 2 || role(bob) != "viewer" {
		t.Errorf("granted: %+v, bob is %s", got, role(bob))
	}
	if got := set(3, manager, grant("user", f.bob.ID, "viewer")); got.Version != 3 {
		t.Errorf("granted again: %+v", got)
	}
	if got := set(3, manager, grant("organization", f.alice.OrganizationID, "editor")); got.Version != 4 || role(bob) != "editor" {
		t.Errorf("granted to everybody: %+v, bob is %s", got, role(bob))
	}
	if got := f.do(as(bob, "POST", path+"/leave", nil)).problem(t); got.Code != "member_by_group" {
		t.Errorf("left a project for everybody: %+v", got)
	}
	if got := f.do(as(alice, "POST", path+"/leave", nil)).problem(t); got.Code != "member_by_group" {
		t.Errorf("the last manager left a project for everybody: %+v", got)
	}
	set(4, manager)
	if role(bob) != "not_found" || role(f.stranger.Subject) != "not_found" {
		t.Errorf("without grants: %s, %s", role(bob), role(f.stranger.Subject))
	}
	if got := f.do(as(alice, "POST", path+"/leave", nil)).problem(t); got.Code != "last_manager" {
		t.Errorf("the last manager left: %+v", got)
	}
	found := get[api.ProjectSubjectList](f, http.StatusOK, as(alice, "GET", path+"/subject?search=bob@", nil))
	if len(found.Items) != 1 || found.Items[0].ID != f.bob.ID || found.Items[0].Kind != "user" {
		t.Errorf("found %+v", found)
	}
	f.member(f.alice.OrganizationID, "carol@tsumugi.example")
	subjects := func(query string) []api.ProjectSubject {
		return get[api.ProjectSubjectList](f, http.StatusOK, as(alice, "GET", path+"/subject?"+query, nil)).Items
	}
	isAlice := func(s api.ProjectSubject) bool { return s.ID == f.alice.ID }
	all, free := subjects(""), subjects("without_grant=true")
	if len(free) != len(all)-1 || slices.ContainsFunc(free, isAlice) || !slices.ContainsFunc(all, isAlice) {
		t.Errorf("subjects %+v, those without a grant %+v", all, free)
	}
	if second := subjects("without_grant=true&offset=1&limit=1"); len(second) != 1 || second[0] != free[1] {
		t.Errorf("the second one is %+v, want %+v", second, free[1])
	}

	// Its end.
	if got := f.do(as(alice, "PUT", path+"/archive", map[string]any{"archived": true})); got.status != http.StatusNoContent {
		t.Errorf("archived: %d", got.status)
	}
	list := func(state string) int {
		return get[api.ProjectList](f, http.StatusOK, as(alice, "GET", "/v1/project?state="+state, nil)).Total
	}
	if a, b := list("active"), list("archived"); a != 0 || b != 1 {
		t.Errorf("%d active and %d archived projects", a, b)
	}
	if got := f.do(as(alice, "DELETE", path, nil)); got.status != http.StatusNoContent || role(alice) != "not_found" {
		t.Errorf("deleted: %d, %s", got.status, role(alice))
	}
	if a := list("deleted"); a != 1 {
		t.Errorf("%d deleted projects", a)
	}
	if got := get[api.Project](f, http.StatusOK, as(alice, "POST", path+"/restore", nil)); !got.Archived {
		t.Errorf("restored: %+v", got)
	}
	f.do(as(alice, "DELETE", path, nil))
	f.exec(`UPDATE projects SET deleted_at = now() - interval '30 days'`)
	must.Succeed(t, f.projects.Purge(t.Context()))
	if got := f.do(as(alice, "POST", path+"/restore", nil)); got.status != http.StatusNotFound {
		t.Errorf("restored after its removal: %d", got.status)
	}
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.bob.ID)
	var actions []string
	for _, e := range get[api.AuditEventList](f, http.StatusOK, as(bob, "GET", "/v1/audit?limit=100", nil)).Items {
		if strings.HasPrefix(e.Action, "project.") {
			actions = append(actions, strings.TrimPrefix(e.Action, "project."))
		}
	}
	slices.Reverse(actions)
	want := []string{
		"create", "edit", "grants", "grants", "grants", "archive", "delete", "restore", "delete", "purge",
	}
	if !slices.Equal(actions, want) {
		t.Errorf("the audit log has %q", actions)
	}

	// The order of the list.
	create := func(name string) api.Project {
		body := map[string]any{"request_id": newID(), "name": name}
		return get[api.Project](f, http.StatusCreated, as(alice, "POST", "/v1/project", body))
	}
	b := create("b")
	create("a")
	edit = map[string]any{"version": 1, "name": "b", "description": "変更した"}
	get[api.Project](f, http.StatusOK, as(alice, "PUT", "/v1/project/"+b.ID.String(), edit))
	for query, want := range map[string]string{"": "a", "?order=name": "a", "?order=updated": "b"} {
		list := get[api.ProjectList](f, http.StatusOK, as(alice, "GET", "/v1/project"+query, nil))
		if got := list.Items[0].Name; got != want {
			t.Errorf("the first project of the list%s is %s", query, got)
		}
	}
}

// roleRules are the statuses of the calls on a project, for others than members, viewers, editors, managers,
// administrators without a role, and members of another organization. A missing route fails the test.
var roleRules = map[string]struct {
	statuses [6]int
	body     func(p api.Project) any
}{
	"GET /v1/project/{project_id}": {statuses: [6]int{404, 200, 200, 200, 404, 404}},
	// The description, which editors may change.
	"PUT /v1/project/{project_id}": {statuses: [6]int{404, 403, 200, 200, 404, 404}, body: func(p api.Project) any {
		return map[string]any{"version": p.Version, "name": p.Name, "description": newID()}
	}},
	"DELETE /v1/project/{project_id}": {statuses: [6]int{404, 403, 403, 204, 204, 404}},
	// It is not deleted.
	"POST /v1/project/{project_id}/restore": {statuses: [6]int{404, 403, 403, 409, 409, 404}},
	"PUT /v1/project/{project_id}/archive": {statuses: [6]int{404, 403, 403, 204, 204, 404}, body: func(api.Project) any {
		return map[string]any{"archived": false}
	}},
	"GET /v1/project/{project_id}/grant": {statuses: [6]int{404, 200, 200, 200, 404, 404}},
	// Without a manager.
	"PUT /v1/project/{project_id}/grant": {statuses: [6]int{404, 403, 403, 409, 404, 404}, body: func(p api.Project) any {
		return map[string]any{"version": p.Version, "grants": []any{}}
	}},
	// The others leave; the last manager cannot.
	"POST /v1/project/{project_id}/leave":  {statuses: [6]int{404, 204, 204, 409, 404, 404}},
	"GET /v1/project/{project_id}/subject": {statuses: [6]int{404, 403, 403, 200, 404, 404}},
	"POST /v1/project/{project_id}/manager": {
		statuses: [6]int{403, 403, 403, 403, 409, 404}, body: func(api.Project) any { return map[string]any{"user_id": newID()} },
	},
	"GET /v1/project/{project_id}/usage":       {statuses: [6]int{404, 403, 403, 200, 404, 404}},
	"GET /v1/project/{project_id}/search":      {statuses: [6]int{404, 200, 200, 200, 404, 404}},
	"GET /v1/project/{project_id}/data-source": {statuses: [6]int{404, 200, 200, 200, 404, 404}},
	// Unknown files.
	"POST /v1/project/{project_id}/data-source": {
		statuses: [6]int{404, 403, 404, 404, 404, 404}, body: func(api.Project) any { return unknownSource("") },
	},
	"DELETE /v1/project/{project_id}/data-source/{data_source_id}": {statuses: [6]int{404, 403, 404, 404, 404, 404}},
	"GET /v1/project/{project_id}/channel":                         {statuses: [6]int{404, 200, 200, 200, 404, 404}},
	"DELETE /v1/project/{project_id}/channel/{channel_id}":         {statuses: [6]int{404, 403, 403, 204, 204, 404}},
}

// bindChannel binds a channel of Slack to a project, and returns the id of the binding.
func (f *fixture) bindChannel(projectID uuid.UUID) string {
	f.t.Helper()
	f.exec(`INSERT INTO channel_installations (id, organization_id, surface, team_id, source)
	        VALUES (gen_random_uuid(), $1, 'slack', 'T1', 'stored') ON CONFLICT DO NOTHING`, f.alice.OrganizationID)
	id := newID()
	f.exec(`INSERT INTO project_channels (id, organization_id, project_id, installation_id, channel, name, bound_by)
	        SELECT $1::uuid, p.organization_id, p.id, i.id, $1::uuid::text, '経理', $3
	        FROM projects p
	        JOIN channel_installations i ON i.organization_id = p.organization_id
	        WHERE p.id = $2`, id, projectID, f.alice.ID)
	return id
}

// TestProjectRoles makes every call on a project in every role. Without a role, the response is that for an unknown
// project.
func TestProjectRoles(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	owner := f.member(f.alice.OrganizationID, "owner@tsumugi.example")
	editor := f.member(f.alice.OrganizationID, "editor@tsumugi.example")
	none := f.member(f.alice.OrganizationID, "none@tsumugi.example")
	viewer, admin := f.alice, f.bob
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = ANY ($1)", []uuid.UUID{admin.ID, f.stranger.ID})
	for _, route := range routesOf(t, f.handler) {
		if _, known := roleRules[route]; !known && strings.Contains(route, "{project_id}") {
			t.Errorf("%s is not in the table", route)
		}
	}
	for route, r := range roleRules {
		for i, token := range []string{
			none.Subject, viewer.Subject, editor.Subject, owner.Subject, admin.Subject, f.stranger.Subject,
		} {
			p := f.project(owner.Subject)
			path := "/v1/project/" + p.ID.String()
			p.Version = get[api.ProjectGrants](f, http.StatusOK, call{
				method: "PUT", path: path + "/grant", token: owner.Subject,
				body: map[string]any{"version": p.Version, "grants": []any{
					grant("user", owner.ID, "manager"), grant("user", viewer.ID, "viewer"), grant("user", editor.ID, "editor"),
				}},
			}).Version
			method, route2, _ := strings.Cut(route, " ")
			channel := f.bindChannel(p.ID)
			try := func(id string) response {
				c := call{method: method, token: token, path: strings.NewReplacer(
					"{project_id}", id, "{data_source_id}", newID(), "{channel_id}", channel).Replace(route2)}
				if r.body != nil {
					c.body = r.body(p)
				}
				return f.do(c)
			}
			got := try(p.ID.String())
			if got.status != r.statuses[i] {
				t.Errorf("%s as number %d: %d %s", route, i, got.status, got.body)
			}
			if r.statuses[i] == http.StatusNotFound && (i == 0 || i > 3) {
				if a, b := shown(t, got), shown(t, try(newID())); a != b {
					t.Errorf("%s as number %d: the answers differ\n%s\nunknown: %s", route, i, a, b)
				}
			}
		}
	}
	p := f.project(owner.Subject)
	path := "/v1/project/" + p.ID.String()
	for name, body := range map[string]map[string]any{
		"name": {"name": "別"}, "archive": {"archived": true}, "retention": {"retention_days": 40}, "storage": {"storage_limit": 9},
	} {
		version := get[api.Project](f, http.StatusOK, call{method: "GET", path: path, token: owner.Subject}).Version
		get[api.ProjectGrants](f, http.StatusOK, call{
			method: "PUT", path: path + "/grant", token: owner.Subject, body: map[string]any{"version": version, "grants": []any{
				grant("user", owner.ID, "manager"), grant("user", editor.ID, "editor"),
			}},
		})
		now := get[api.Project](f, http.StatusOK, call{method: "GET", path: path, token: editor.Subject})
		edit := map[string]any{"version": now.Version, "name": now.Name}
		for field, value := range body {
			edit[field] = value
		}
		if got := f.do(call{method: "PUT", path: path, token: editor.Subject, body: edit}); got.status != http.StatusForbidden {
			t.Errorf("an editor changed the %s: %d %s", name, got.status, got.body)
		}
	}
}

// TestProjectsWithoutManager covers what happens when the last manager of a project leaves the organization.
func TestProjectsWithoutManager(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", f.bob.ID)
	admin := f.bob.Subject
	editor := f.member(f.alice.OrganizationID, "editor@tsumugi.example")
	p, lonely := f.project(f.alice.Subject), f.project(f.alice.Subject)
	get[api.ProjectGrants](f, http.StatusOK, call{
		method: "PUT", path: "/v1/project/" + p.ID.String() + "/grant", token: f.alice.Subject,
		body: map[string]any{"version": 1, "grants": []any{
			grant("user", f.alice.ID, "manager"), grant("user", editor.ID, "editor"),
		}},
	})
	name := func(id uuid.UUID) int {
		return f.do(call{
			method: "POST", path: "/v1/project/" + id.String() + "/manager", token: admin, body: map[string]any{"user_id": editor.ID},
		}).status
	}
	binned := f.project(f.alice.Subject)
	thread := get[api.Thread](f, http.StatusCreated, call{
		method: "POST", path: "/v1/thread", token: f.alice.Subject, body: map[string]any{
			"skill_id": f.chatSkill().ID, "project_id": binned.ID, "visibility": "project",
		},
	})
	f.noContent(call{method: "DELETE", path: "/v1/project/" + binned.ID.String(), token: f.alice.Subject})
	if got := name(lonely.ID); got != http.StatusConflict {
		t.Errorf("named a second manager: %d", got)
	}
	if got := f.do(call{method: "DELETE", path: "/v1/user/" + f.alice.ID.String(), token: admin}); got.status != 204 {
		t.Fatalf("removed: %d %s", got.status, got.body)
	}
	role := func(token string, id uuid.UUID) string {
		return string(get[api.Project](f, http.StatusOK, call{method: "GET", path: "/v1/project/" + id.String(), token: token}).Role)
	}
	if a, b := role(editor.Subject, p.ID), role(admin, lonely.ID); a != "manager" || b != "manager" {
		t.Errorf("the editor is %s, the administrator %s", a, b)
	}
	for _, token := range []string{editor.Subject, admin} {
		notices := get[api.NotificationList](f, http.StatusOK, call{method: "GET", path: "/v1/notification", token: token})
		if len(notices.Items) != 1 || !strings.Contains(notices.Items[0].Title, "新商品") {
			t.Errorf("the new manager is told %+v", notices)
		}
	}
	// Without an administrator the project gets no manager. An administrator names one later.
	f.exec("UPDATE users SET state = 'inactive' WHERE id = $1", editor.ID)
	all := get[api.ManagedProjectList](f, http.StatusOK, call{method: "GET", path: "/v1/project/all", token: admin})
	if all.Total != 2 || len(all.Items[0].Managers)+len(all.Items[1].Managers) != 1 {
		t.Errorf("administrators see %+v", all)
	}
	f.exec("UPDATE users SET state = 'active' WHERE id = $1", editor.ID)
	// An administrator archives and deletes the editor's project.
	before := len(get[api.NotificationList](f, http.StatusOK, call{method: "GET", path: "/v1/notification", token: editor.Subject}).Items)
	f.noContent(call{
		method: "PUT", path: "/v1/project/" + p.ID.String() + "/archive", token: admin, body: map[string]any{"archived": true},
	})
	f.noContent(call{method: "DELETE", path: "/v1/project/" + p.ID.String(), token: admin})
	told := get[api.NotificationList](f, http.StatusOK, call{method: "GET", path: "/v1/notification", token: editor.Subject}).Items
	if len(told) != before+2 || told[0].Title != "プロジェクト「新商品」が削除されました" ||
		told[1].Title != "プロジェクト「新商品」がアーカイブされました" {
		t.Errorf("the manager is told %+v", told)
	}
	if n := len(get[api.NotificationList](f, http.StatusOK, call{method: "GET", path: "/v1/notification", token: admin}).Items); n != 1 {
		t.Errorf("the administrator is told of %d", n)
	}
	f.exec("DELETE FROM project_grants WHERE project_id = $1", lonely.ID)
	if got := name(lonely.ID); got != http.StatusNoContent || role(editor.Subject, lonely.ID) != "manager" {
		t.Errorf("named: %d", got)
	}
	// A deleted project is restored with the shared threads of its former manager.
	restore := call{method: "POST", path: "/v1/project/" + binned.ID.String() + "/restore", token: admin}
	f.exec("UPDATE projects SET deleted_at = now() - interval '30 days' WHERE id = $1", binned.ID)
	if got := f.do(restore); got.status != http.StatusNotFound {
		t.Errorf("restored after 30 days: %d %s", got.status, got.body)
	}
	f.exec("UPDATE projects SET deleted_at = now() - interval '29 days' WHERE id = $1", binned.ID)
	get[api.Project](f, http.StatusOK, restore)
	if status := f.status("/v1/thread/"+thread.ID.String(), admin); status != http.StatusOK {
		t.Errorf("the thread of the restored project: %d", status)
	}
}

// TestProjectLimits fills an organization with projects, and a project with grants.
func TestProjectLimits(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	p := f.project(f.alice.Subject)
	grants := make([]any, 201)
	for i := range grants {
		grants[i] = grant("user", uuid.New(), "viewer")
	}
	refused := f.do(call{
		method: "PUT", path: "/v1/project/" + p.ID.String() + "/grant", token: f.alice.Subject,
		body: map[string]any{"version": 1, "grants": grants},
	}).problem(t)
	if refused.Status != http.StatusBadRequest || !strings.Contains(refused.Detail, "200件") {
		t.Errorf("201 grants: %+v", refused)
	}
	f.exec(`
		INSERT INTO projects (id, organization_id, name, request_id, request_hash)
		SELECT gen_random_uuid(), $1, '多数', gen_random_uuid(), '' FROM generate_series(1, 1999)`, f.alice.OrganizationID)
	add := call{
		method: "POST", path: "/v1/project", token: f.alice.Subject, body: map[string]any{"request_id": newID(), "name": "次"},
	}
	if got := f.do(add).problem(t); got.Status != http.StatusConflict || !strings.Contains(got.Detail, "2,000件") {
		t.Errorf("the project after the last one: %+v", got)
	}
	f.do(call{method: "DELETE", path: "/v1/project/" + p.ID.String(), token: f.alice.Subject})
	get[api.Project](f, http.StatusCreated, add)
	restore := call{method: "POST", path: "/v1/project/" + p.ID.String() + "/restore", token: f.alice.Subject}
	if got := f.do(restore).problem(t); got.Status != http.StatusConflict || !strings.Contains(got.Detail, "2,000件") {
		t.Errorf("restored above the limit: %+v", got)
	}
}
