package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
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
	if err := f.projects.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
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
}
