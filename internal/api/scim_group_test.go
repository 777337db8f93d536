package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
)

// TestSCIMGroups moves rights in a project by the groups of the identity provider.
func TestSCIMGroups(t *testing.T) {
	t.Parallel()
	p := newProvisioning(t)
	bob, alice := "sso:"+p.bob.Subject, "sso:"+p.alice.Subject
	group := p.scim(http.StatusCreated, "POST", "/Groups", fields{
		"schemas": []string{scimGroup}, "displayName": "開発部", "externalId": "g1", "members": []fields{{"value": p.alice.ID}},
	})
	groupID := uuid.MustParse(group["id"].(string))
	path := "/Groups/" + groupID.String()
	project := p.project(alice)
	projectPath := "/v1/project/" + project.ID.String()
	grants := fields{"version": project.Version, "grants": []fields{grant("group", groupID, "manager")}}
	if resp := p.do(call{method: "PUT", path: projectPath + "/grant", token: alice, body: grants}); resp.status != http.StatusOK {
		t.Fatalf("got %d %s", resp.status, resp.body)
	}
	if status := p.status(projectPath, bob); status != http.StatusNotFound {
		t.Errorf("before: %d", status)
	}
	member := func(op string, id uuid.UUID) fields {
		return patch(fields{"op": op, "path": "members", "value": []fields{{"value": id}}})
	}
	p.scim(http.StatusNoContent, "PATCH", path, member("Add", p.bob.ID))
	if status := p.status(projectPath, bob); status != http.StatusOK {
		t.Errorf("a member of the group: %d", status)
	}
	p.scim(http.StatusNoContent, "PATCH", path, member("Remove", p.bob.ID))
	if status := p.status(projectPath, bob); status != http.StatusNotFound {
		t.Errorf("a former member of the group: %d", status)
	}
	// Without its last manager, the project gets an administrator.
	p.scim(http.StatusNoContent, "PATCH", path, member("Remove", p.alice.ID))
	if got := get[api.Project](p.fixture, http.StatusOK, call{method: "GET", path: projectPath, token: "sso:" + p.admin.Subject}); got.Role != "manager" {
		t.Errorf("the administrator is %s", got.Role)
	}

	// Deleting a user ends the membership.
	p.scim(http.StatusNoContent, "PATCH", path, member("Add", p.bob.ID))
	p.scim(http.StatusNoContent, "DELETE", "/Users/"+p.bob.ID.String(), nil)
	if got := p.scim(http.StatusOK, "GET", path+"?excludedAttributes=members", nil); got["members"] != nil {
		t.Errorf("members are not excluded: %v", got)
	}
	got, header := p.scimWithHeader(http.StatusOK, "GET", path, nil)
	if len(got["members"].([]any)) != 0 {
		t.Errorf("after the deletion: %v", got)
	}
	p.scim(http.StatusNoContent, "PATCH", path, member("Add", p.alice.ID), "If-Match", header.Get("Etag"))
	p.scim(http.StatusPreconditionFailed, "PATCH", path, member("Remove", p.alice.ID), "If-Match", header.Get("Etag"))

	// An external id may have 255 characters of any length in bytes.
	p.scim(http.StatusNoContent, "PATCH", path, patch(fields{"op": "Replace", "path": "externalId", "value": strings.Repeat("部", 255)}))
	p.scim(http.StatusBadRequest, "PATCH", path, patch(fields{"op": "Replace", "path": "externalId", "value": strings.Repeat("x", 256)}))

	// Administrators see the group and set its limit, but change neither its name nor its members.
	groups := get[api.GroupList](p.fixture, http.StatusOK, call{method: "GET", path: "/v1/group", token: p.admin.Subject})
	if len(groups.Items) != 1 || groups.Items[0].Source != "scim" {
		t.Errorf("the groups: %+v", groups)
	}
	for _, c := range []struct {
		status int
		path   string
		body   fields
	}{
		{409, "/v1/group/" + groupID.String() + "/member", fields{"add": []uuid.UUID{p.admin.ID}}},
		{409, "/v1/group/" + groupID.String(), fields{"name": "別名"}},
		{200, "/v1/group/" + groupID.String(), fields{"name": "開発部", "token_limit": 1_000_000}},
	} {
		if resp := p.do(call{method: "PUT", path: c.path, token: p.admin.Subject, body: c.body}); resp.status != c.status {
			t.Errorf("%v: %d %s", c.body, resp.status, resp.body)
		}
	}
	var by []string
	for _, e := range get[api.AuditEventList](p.fixture, http.StatusOK, call{method: "GET", path: "/v1/audit?limit=100", token: p.admin.Subject}).Items {
		if e.ActorKind == "provisioning" {
			by = append(by, e.Action+" "+e.ActorName)
		}
	}
	for _, action := range []string{"group.create", "group.members", "member.edit"} {
		if !slices.Contains(by, action+" Entra ID") {
			t.Errorf("the audit log lacks %s: %q", action, by)
		}
	}
}
