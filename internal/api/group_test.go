package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// TestGroups covers a group from its creation by an administrator to its deletion: its members, the skills that are
// offered to it, its limit, and its entries in the audit log.
func TestGroups(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.bob.ID)
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.stranger.ID)
	bob := func(method, path string, body any) call {
		return call{method: method, path: path, token: f.bob.Subject, body: body}
	}
	add := map[string]any{"request_id": newID(), "name": " 営業部 ", "description": "東京と大阪", "token_limit": 700}
	group := get[api.Group](f, http.StatusCreated, bob("POST", "/v1/group", add))
	if group.Name != "営業部" || group.Source != "manual" || *group.TokenLimit != 700 || group.MemberCount != 0 {
		t.Errorf("added: %+v", group)
	}
	if again := get[api.Group](f, http.StatusCreated, bob("POST", "/v1/group", add)); again.ID != group.ID {
		t.Errorf("repeated: %+v", again)
	}
	add["name"] = "別"
	if p := f.do(bob("POST", "/v1/group", add)).problem(t); p.Code != "request_id_conflict" {
		t.Errorf("repeated with another name: %+v", p)
	}
	add["request_id"] = newID()
	for name, code := range map[string]string{
		"営業部": "conflict", "": "invalid", strings.Repeat("あ", 101): "invalid", "改\n行": "invalid", "\u200b": "invalid",
		"\u3164": "invalid", "改\u2028行": "invalid",
	} {
		add["name"] = name
		if p := f.do(bob("POST", "/v1/group", add)).problem(t); p.Code != code || p.Errors[0].Field != "name" {
			t.Errorf("%q: %+v", name, p)
		}
	}
	path := "/v1/group/" + group.ID.String()
	if got := get[api.Group](f, http.StatusOK, bob("PUT", path, map[string]any{"token_limit": nil})); got.Name != "営業部" || got.TokenLimit != nil {
		t.Errorf("without the limit: %+v", got)
	}
	get[api.Group](f, http.StatusOK, bob("PUT", path, map[string]any{"token_limit": 900}))
	if got := get[api.Group](f, http.StatusOK, bob("PUT", path, map[string]any{"name": "営業本部"})); got.Name != "営業本部" || got.Description != "東京と大阪" || *got.TokenLimit != 900 {
		t.Errorf("edited: %+v", got)
	}

	// Members, by id and by address.
	members := func(body map[string]any) api.GroupMembersPutResult {
		return get[api.GroupMembersPutResult](f, http.StatusOK, bob("PUT", path+"/member", body))
	}
	both := map[string]any{
		"add":        []any{f.bob.ID},
		"add_emails": []any{strings.ToUpper(f.alice.Email), "nobody@example.com", f.stranger.Email},
	}
	for range 2 { // The second call changes nothing.
		if got := members(both); got.Group.MemberCount != 2 || len(got.UnknownEmails) != 2 {
			t.Errorf("members: %+v", got)
		}
	}
	if got := members(map[string]any{"remove": []any{f.bob.ID}}); got.Group.MemberCount != 1 {
		t.Errorf("after the removal: %+v", got)
	}
	if p := f.do(bob("PUT", path+"/member", map[string]any{"add": []any{f.stranger.ID}})).problem(t); p.Errors[0].Field != "add" {
		t.Errorf("a member of another organization: %+v", p)
	}
	list := get[api.UserList](f, http.StatusOK, bob("GET", "/v1/user?group_id="+group.ID.String(), nil))
	if list.Total != 1 || list.Items[0].ID != f.alice.ID {
		t.Errorf("the members are %+v", list)
	}
	if l := list.Items[0].Tokens; l.Rule != "default" || l.Limit == nil || *l.Limit != 900 {
		t.Errorf("the limit of a member of the group is %+v", l)
	}

	// A skill for the group.
	saved := savedSkill("members", 0)
	saved["group_ids"] = []any{group.ID}
	made := get[api.MadeSkill](f, http.StatusCreated, bob("POST", "/v1/skill", saved))
	if len(made.Groups) != 1 || made.Groups[0].Name != "営業本部" || len(made.Members) != 0 {
		t.Errorf("the skill is for %+v and %+v", made.Groups, made.Members)
	}
	see := func(token string) int {
		return f.do(call{method: "GET", path: "/v1/skill/" + made.ID.String(), token: token}).status
	}
	if a, b := see(f.alice.Subject), see(f.bob.Subject); a != http.StatusOK || b != http.StatusNotFound {
		t.Errorf("the skill of the group: %d for a member of it, %d for another one", a, b)
	}
	saved = savedSkill("members", 0)
	saved["group_ids"] = []any{newID()}
	if p := f.do(bob("POST", "/v1/skill", saved)).problem(t); p.Errors[0].Field != "group_ids" {
		t.Errorf("a skill of an unknown group: %+v", p)
	}

	found := get[api.GroupList](f, http.StatusOK, bob("GET", "/v1/group?q=営業", nil))
	if found.Total != 1 || found.Items[0].MemberCount != 1 {
		t.Errorf("found %+v", found)
	}
	if other := get[api.GroupList](f, http.StatusOK, call{method: "GET", path: "/v1/group", token: f.stranger.Subject}); other.Total != 0 {
		t.Errorf("another organization sees %+v", other)
	}
	f.do(bob("DELETE", path, nil))
	if a := see(f.alice.Subject); a != http.StatusNotFound {
		t.Errorf("the skill of the deleted group: %d", a)
	}
	var actions []string
	for _, e := range get[api.AuditEventList](f, http.StatusOK, bob("GET", "/v1/audit?limit=100", nil)).Items {
		if strings.HasPrefix(e.Action, "group.") {
			actions = append(actions, e.Action)
		}
	}
	slices.Reverse(actions)
	if want := []string{"group.create", "group.edit", "group.edit", "group.edit", "group.members", "group.members", "group.delete"}; !slices.Equal(actions, want) {
		t.Errorf("the audit log has %q", actions)
	}
}

// TestGroupLimits fills an organization with groups, and a group with members. A change of the group's role in a project
// reaches its members at once.
func TestGroupLimits(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.bob.ID)
	f.exec(`
		INSERT INTO member_groups (id, organization_id, name, request_id, request_hash)
		SELECT gen_random_uuid(), $1, 'グループ' || n, gen_random_uuid(), '' FROM generate_series(1, 500) AS n`,
		f.bob.OrganizationID)
	f.exec(`
		WITH added AS (
		    INSERT INTO users (id, organization_id, subject, email, name, role, state, auth_type)
		    SELECT gen_random_uuid(), $1, 'many' || n, 'many' || n || '@many.example', '多数', 'general-user', 'inactive',
		           'cognito'
		    FROM generate_series(1, 20000) AS n
		    RETURNING id
		)
		INSERT INTO group_members (organization_id, group_id, user_id)
		SELECT $1, g.id, a.id FROM added a, member_groups g WHERE g.name = 'グループ1'`, f.bob.OrganizationID)
	refused := f.do(call{
		method: "POST", path: "/v1/group", token: f.bob.Subject, body: map[string]any{"request_id": newID(), "name": "営業部"},
	}).problem(t)
	if refused.Status != http.StatusConflict || !strings.Contains(refused.Detail, "500件") {
		t.Errorf("the group after the last one: %+v", refused)
	}
	groups := get[api.GroupList](f, http.StatusOK, call{method: "GET", path: "/v1/group?q=グループ1&limit=1", token: f.bob.Subject})
	if groups.Items[0].MemberCount != 20_000 {
		t.Errorf("got %+v", groups)
	}
	full := f.do(call{
		method: "PUT", path: "/v1/group/" + groups.Items[0].ID.String() + "/member", token: f.bob.Subject,
		body: map[string]any{"add": []any{f.alice.ID}},
	}).problem(t)
	if full.Status != http.StatusConflict || !strings.Contains(full.Detail, "20,000人") {
		t.Errorf("the member after the last one: %+v", full)
	}

	f.exec(`WITH gone AS (DELETE FROM group_members WHERE user_id = (SELECT user_id FROM group_members LIMIT 1)
		RETURNING organization_id, group_id) INSERT INTO group_members SELECT organization_id, group_id, $1 FROM gone`, f.alice.ID)
	p := f.project(f.bob.Subject)
	set := func(version int, more ...any) {
		get[api.ProjectGrants](f, http.StatusOK, call{
			method: "PUT", path: "/v1/project/" + p.ID.String() + "/grant", token: f.bob.Subject,
			body: map[string]any{"version": version, "grants": append(more, grant("user", f.bob.ID, "manager"))},
		})
	}
	tab := f.join(f.alice.Subject)
	set(1, grant("group", groups.Items[0].ID, "viewer"))
	tab.closed() // Before the next one opens, which the event of the first change would close, too.
	tab = f.join(f.alice.Subject)
	began := time.Now()
	set(2)
	tab.closed()
	took := time.Since(began)
	t.Logf("a member lost access %v after the call began", took)
	if took > 30*time.Second { // 1 s on an idle machine.
		t.Errorf("a member lost access %v after the call began", took)
	}
}
