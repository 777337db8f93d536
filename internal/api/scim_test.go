package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// TestSCIMWithEntraID makes the calls of Entra ID's documentation and of its validator.
func TestSCIMWithEntraID(t *testing.T) {
	t.Parallel()
	p := newProvisioning(t)

	// The trial of the connection, and the search before a user is created.
	for _, filter := range []string{
		`userName eq "` + newID() + `"`, `externalId eq "x"`, `emails[type eq "work"].value eq "hanako@tsumugi.example"`,
	} {
		if found := p.filtered("/Users", filter); len(found) != 0 {
			t.Errorf("%s: %v", filter, found)
		}
	}
	created, header := p.scimWithHeader(http.StatusCreated, "POST", "/Users", entraUser("hanako", "0a21f0f2"))
	id := created["id"].(string)
	if header.Get("Location") != issuer+"/scim/v2/Users/"+id || header.Get("Etag") != at(created, "meta", "version") ||
		at(created, "meta", "resourceType") != "User" || at(created, "name", "familyName") != "山田" ||
		at(created, scimEnterprise, "department") != "営業部" || at(created, "emails", 0, "value") != "Hanako@tsumugi.example" {
		t.Errorf("created: %v %v", created, header)
	}
	if again := p.scim(http.StatusConflict, "POST", "/Users", entraUser("HANAKO", "other")); again["scimType"] != "uniqueness" ||
		again["status"] != "409" || at(again, "schemas", 0) != "urn:ietf:params:scim:api:messages:2.0:Error" {
		t.Errorf("created twice: %v", again)
	}
	for _, filter := range []string{
		`userName eq "Hanako@Tsumugi.example"`, `externalId eq "0a21f0f2"`, `id eq "` + id + `"`,
		`emails[type eq "work"].value eq "hanako@tsumugi.example"`, `emails.value eq "HANAKO@tsumugi.example"`,
		`emails[type eq "work" and value sw "hana"]`, `name.familyName co "山" and active eq "True" and title pr`,
		scimEnterprise + `:department eq "営業部"`, `displayName eq "山田 HANAKO" and not (userType pr)`,
		`meta.created gt "2020-01-01T00:00:00Z" and externalId sw "0a21"`,
	} {
		if found := p.filtered("/Users", filter); len(found) != 1 || found[0]["id"] != id {
			t.Errorf("%s: %v", filter, found)
		}
	}
	if found := p.filtered("/Users", `externalId eq "0A21F0F2"`); len(found) != 0 {
		t.Errorf("externalId ignores case: %v", found)
	}
	members := get[api.UserList](p.fixture, http.StatusOK, call{method: "GET", path: "/v1/user?q=hanako", token: p.admin.Subject})
	if len(members.Items) != 1 || members.Items[0].Role != "general-user" || members.Items[0].Name != "山田 hanako" ||
		members.Items[0].AuthType != api.FederatedIdp || members.Items[0].Email != "hanako@tsumugi.example" {
		t.Errorf("the members: %+v", members)
	}

	// The spellings of changes.
	path := "/Users/" + id
	boss := p.scim(http.StatusCreated, "POST", "/Users", entraUser("boss", "b"))["id"].(string)
	for _, change := range []struct {
		operations []fields
		path       []any
		want       any
	}{
		{[]fields{{"op": "Replace", "path": "displayName", "value": "田中 花子"}}, []any{"displayName"}, "田中 花子"},
		{[]fields{{"op": "Add", "path": "nickName", "value": "はな"}}, []any{"nickName"}, "はな"},
		{[]fields{{"op": "Replace", "path": "name.familyName", "value": "田中"}}, []any{"name", "familyName"}, "田中"},
		{
			[]fields{{"op": "Replace", "path": `emails[type eq "work"].value`, "value": "tanaka@tsumugi.example"}},
			[]any{"emails", 0, "value"},
			"tanaka@tsumugi.example",
		},
		{[]fields{{"op": "Add", "path": `phoneNumbers[type eq "fax"].value`, "value": "03-1"}}, []any{"phoneNumbers", 1, "value"}, "03-1"},
		{[]fields{{"op": "Replace", "path": `addresses[type eq "work"].country`, "value": "FR"}}, []any{"addresses", 0, "country"}, "FR"},
		{[]fields{{"op": "Add", "path": scimEnterprise + ":department", "value": "法務部"}}, []any{scimEnterprise, "department"}, "法務部"},
		{[]fields{{"op": "Add", "path": scimEnterprise + ":manager", "value": boss}}, []any{scimEnterprise, "manager", "value"}, boss},
		{
			[]fields{{"op": "Replace", "path": scimEnterprise + ":manager", "value": []fields{{"$ref": nil, "value": boss}}}},
			[]any{scimEnterprise, "manager", "$ref"},
			issuer + "/scim/v2/Users/" + boss,
		},
		{[]fields{{"op": "Add", "value": fields{scimEnterprise: fields{"costCenter": "C1"}, "title": "部長"}}}, []any{scimEnterprise, "costCenter"}, "C1"},
		{[]fields{{"op": "replace", "value": fields{scimEnterprise + ":division": "西日本", "name.givenName": "華子"}}}, []any{"name", "givenName"}, "華子"},
		{[]fields{{"op": "Replace", "path": "title", "value": []fields{{"$ref": nil, "value": "課長"}}}}, []any{"title"}, "課長"},
		{[]fields{{"op": "Replace", "path": "userName", "value": "tanaka@tsumugi.example"}}, []any{"userName"}, "tanaka@tsumugi.example"},
		{[]fields{{"op": "Remove", "path": "nickName"}, {"op": "Remove", "path": `phoneNumbers[type eq "fax"]`}}, []any{"nickName"}, nil},
		{[]fields{{"op": "Replace", "path": "active", "value": "False"}}, []any{"active"}, false},
		{[]fields{{"op": "Replace", "path": "active", "value": ""}}, []any{"active"}, false},
		{[]fields{{"op": "Replace", "value": fields{"active": nil}}}, []any{"active"}, false},
		{[]fields{{"op": "Remove", "path": "active"}}, []any{"active"}, false},
		{[]fields{{"op": "Replace", "value": fields{"active": "True"}}}, []any{"active"}, true},
		{
			[]fields{{"op": "Add", "path": "emails", "value": []fields{{"type": "home", "value": "hana@home.example", "primary": "true"}}}},
			[]any{"emails", 0, "primary"},
			false,
		},
	} {
		p.scim(http.StatusOK, "PATCH", path, patch(change.operations...))
		if got := at(p.scim(http.StatusOK, "GET", path, nil), change.path...); got != change.want {
			t.Errorf("%v: %v, want %v", change.operations, got, change.want)
		}
	}
	last := p.scim(http.StatusOK, "GET", path, nil)
	if len(last["phoneNumbers"].([]any)) != 1 || at(last, scimEnterprise, "employeeNumber") != "701984" {
		t.Errorf("the user: %v", last)
	}

	// Versions.
	tag := at(last, "meta", "version").(string)
	p.scim(http.StatusNotModified, "GET", path, nil, "If-None-Match", tag)
	p.scim(http.StatusPreconditionFailed, "PATCH", path, patch(fields{"op": "Replace", "path": "title", "value": "x"}), "If-Match", `W/"old"`)
	p.scim(http.StatusOK, "PATCH", path, patch(fields{"op": "Replace", "path": "title", "value": "x"}), "If-Match", tag)
	p.scim(http.StatusPreconditionFailed, "DELETE", path, nil, "If-Match", tag)

	// Pages, and parts of resources.
	page := p.scim(http.StatusOK, "GET", "/Users?startIndex=2&count=2&attributes=userName", nil)
	if page["startIndex"] != 2.0 || page["itemsPerPage"] != 2.0 || page["totalResults"].(float64) < 5 ||
		at(page, "Resources", 0, "userName") == nil || at(page, "Resources", 0, "emails") != nil {
		t.Errorf("a page: %v", page)
	}
	if all := p.scim(http.StatusOK, "GET", "/Users?count=0", nil); all["itemsPerPage"] != 0.0 || all["totalResults"].(float64) < 5 {
		t.Errorf("an empty page: %v", all)
	}

	enterprise := strings.ToLower(scimEnterprise)
	for query, want := range map[string]fields{
		"attributes=emails.value,name.familyName," + enterprise + ":manager.value": {
			"emails": []any{fields{"value": "tanaka@tsumugi.example"}, fields{"value": "hana@home.example"}},
			"name":   fields{"familyName": "田中"}, scimEnterprise: fields{"manager": fields{"value": boss}},
		},
		"attributes=urn:ietf:params:scim:schemas:core:2.0:User:title,emails.none": {"title": "x"},
		"excludedAttributes=emails.type,EMAILS.primary,name,userName,externalId,displayName,meta,phoneNumbers,addresses,active,preferredLanguage," + enterprise: {
			"emails": []any{fields{"value": "tanaka@tsumugi.example"}, fields{"value": "hana@home.example"}}, "title": "x",
		},
	} {
		got := p.scim(http.StatusOK, "GET", path+"?"+query, nil)
		want["id"], want["schemas"] = id, last["schemas"]
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}

	// Deletion hides the user, keeps the data, and makes room for the same person. It is logged for an inactive user
	// too.
	p.scim(http.StatusOK, "PATCH", path, patch(fields{"op": "Replace", "path": "active", "value": false}))
	p.scim(http.StatusNoContent, "DELETE", path, nil)
	deletion := get[api.AuditEventList](p.fixture, http.StatusOK, call{method: "GET", path: "/v1/audit", token: p.admin.Subject}).Items[0]
	if deletion.Action != "member.edit" || deletion.ActorKind != "provisioning" || deletion.TargetID != id ||
		len(deletion.Details) != 2 || deletion.Details[0].Field != "external_id" || deletion.Details[1].Field != "provisioning" {
		t.Errorf("the deletion: %+v", deletion)
	}
	p.scim(http.StatusNotFound, "GET", path, nil)
	p.scim(http.StatusNotFound, "DELETE", path, nil)
	state := ""
	p.scan(&state, "SELECT state FROM users WHERE email = 'hana@home.example'")
	if state != "inactive" {
		t.Errorf("the deleted user is %s", state)
	}
	user := entraUser("hanako", "0a21f0f2")
	user["emails"] = []fields{{"type": "work", "value": "hana@home.example"}}
	if back := p.scim(http.StatusCreated, "POST", "/Users", user); back["id"] != id || back["active"] != true {
		t.Errorf("created again: %v", back)
	}
}

// TestSCIMWithOkta makes the calls of Okta's documentation.
func TestSCIMWithOkta(t *testing.T) {
	t.Parallel()
	p := newProvisioning(t)
	list := p.scim(http.StatusOK, "GET", "/Users?startIndex=1&count=2", nil)
	if at(list, "schemas", 0) != "urn:ietf:params:scim:api:messages:2.0:ListResponse" {
		t.Errorf("a list: %v", list)
	}
	if found := p.filtered("/Users", `userName eq "alice@tsumugi.example"`); len(found) != 1 || found[0]["id"] != p.alice.ID.String() {
		t.Errorf("a member whom nobody has provisioned: %v", found)
	}
	missing := p.scim(http.StatusNotFound, "GET", "/Users/010101001010101011001010101011", nil)
	if missing["status"] != "404" || missing["detail"] == "" || at(missing, "schemas", 0) != "urn:ietf:params:scim:api:messages:2.0:Error" {
		t.Errorf("an unknown user: %v", missing)
	}
	user := fields{
		"schemas": []string{scimUser}, "userName": "okta@tsumugi.example", "name": fields{"givenName": "太郎", "familyName": "織田"},
		"emails": []fields{{"primary": true, "value": "okta@tsumugi.example", "type": "work"}}, "displayName": "織田 太郎",
		"locale": "ja-JP", "externalId": "00ujl29u0le5T6Aj10h7", "groups": []any{}, "password": "1mz050nq", "active": true,
	}
	created := p.scim(http.StatusCreated, "POST", "/Users", user)
	path := "/Users/" + created["id"].(string)
	if created["password"] != nil || created["locale"] != "ja-JP" {
		t.Errorf("created: %v", created)
	}
	if found := p.filtered("/Users", `userName eq "okta@tsumugi.example"`); len(found) != 1 {
		t.Errorf("found %v", found)
	}
	user["displayName"], user["id"] = "織田 次郎", created["id"]
	if got := p.scim(http.StatusOK, "PUT", path, user); got["displayName"] != "織田 次郎" {
		t.Errorf("replaced: %v", got)
	}
	p.scim(http.StatusOK, "PATCH", path, patch(fields{"op": "replace", "value": fields{"active": false}}))
	if got := p.scim(http.StatusOK, "GET", path, nil); got["active"] != false {
		t.Errorf("deactivated: %v", got)
	}

	// Groups.
	group := p.scim(http.StatusCreated, "POST", "/Groups", fields{
		"schemas": []string{scimGroup}, "displayName": "営業部", "members": []any{},
	})
	groupPath := "/Groups/" + group["id"].(string)
	p.scim(http.StatusNoContent, "PATCH", groupPath, patch(
		fields{"op": "replace", "value": fields{"id": group["id"], "displayName": "営業本部"}}))
	p.scim(http.StatusNoContent, "PATCH", groupPath, patch(fields{
		"op": "add", "path": "members", "value": []fields{{"value": created["id"], "display": "okta"}, {"value": p.alice.ID}},
	}))
	p.scim(http.StatusNoContent, "PATCH", groupPath, patch(
		fields{"op": "remove", "path": `members[value eq "` + p.alice.ID.String() + `"]`}))
	got := p.scim(http.StatusOK, "GET", groupPath, nil)
	if got["displayName"] != "営業本部" || len(got["members"].([]any)) != 1 || at(got, "members", 0, "display") != "織田 次郎" {
		t.Errorf("the group: %v", got)
	}
	got["members"] = []fields{{"value": p.bob.ID}}
	if got := p.scim(http.StatusOK, "PUT", groupPath, got); at(got, "members", 0, "value") != p.bob.ID.String() {
		t.Errorf("replaced: %v", got)
	}
	for filter, n := range map[string]int{
		`displayName eq "営業本部"`: 1, `members.value eq "` + p.bob.ID.String() + `"`: 1, `displayName eq "総務部"`: 0,
	} {
		if found := p.filtered("/Groups", filter); len(found) != n {
			t.Errorf("%s: %v", filter, found)
		}
	}
	p.scim(http.StatusNoContent, "DELETE", groupPath, nil)
	p.scim(http.StatusNotFound, "GET", groupPath, nil)
}

// TestSCIMRefusals makes invalid calls. Each is refused in the form of SCIM, and changes nothing.
func TestSCIMRefusals(t *testing.T) {
	t.Parallel()
	p := newProvisioning(t)
	p.scim(http.StatusCreated, "POST", "/Users", entraUser("hanako", "taken"))
	user := "/Users/" + p.scim(http.StatusCreated, "POST", "/Users", entraUser("taro", "t"))["id"].(string)
	group := p.scim(http.StatusCreated, "POST", "/Groups", fields{"displayName": "営業部"})["id"].(string)
	get[api.Group](p.fixture, http.StatusCreated, call{
		method: "POST", path: "/v1/group", token: p.admin.Subject, body: fields{"request_id": newID(), "name": "手作り"},
	})
	many := make([]fields, 10_001)
	for i := range many {
		many[i] = fields{"op": "replace", "path": "title", "value": "x"}
	}
	replace := func(path string, value any) fields {
		return patch(fields{"op": "replace", "path": path, "value": value})
	}
	var long strings.Builder // An index cannot compress it.
	for i := range 1_500 {
		long.WriteRune(rune(0x4E00 + (i*7919+i*i*31)%20_000))
	}
	nested := func(n int) string { return strings.Repeat("(", n) + `userName eq "x"` + strings.Repeat(")", n) }
	with := func(name string, value any) fields {
		u := entraUser("neu", "n")
		u[name] = value
		return u
	}
	before := p.contents()
	for _, c := range []struct {
		status       int
		code         string
		method, path string
		body         any
	}{
		{400, "invalidFilter", "GET", "/Users?filter=" + url.QueryEscape(nested(11)), nil},
		{400, "invalidFilter", "GET", "/Users?filter=" + url.QueryEscape(`salary gt 10`), nil},
		{400, "invalidFilter", "GET", "/Users?filter=" + url.QueryEscape(`userName eq`), nil},
		{400, "invalidFilter", "GET", "/Users?filter=" + url.QueryEscape(`password eq "x"`), nil},
		{400, "invalidFilter", "GET", "/Groups?filter=" + url.QueryEscape(`userName eq "x"`), nil},
		{400, "invalidFilter", "GET", "/Users?filter=" + strings.Repeat("x", 5_000), nil},
		{400, "invalidValue", "GET", "/Users?count=many", nil},
		{400, "tooMany", "PATCH", user, patch(many...)},
		{400, "invalidSyntax", "PATCH", user, `{"schemas":`},
		{400, "invalidSyntax", "PATCH", user, fields{"Operations": many[:1]}},
		{400, "invalidSyntax", "PATCH", user, patch()},
		{400, "invalidSyntax", "PATCH", user, patch(fields{"op": "move", "path": "title", "value": "x"})},
		{400, "noTarget", "PATCH", user, patch(fields{"op": "remove"})},
		{400, "noTarget", "PATCH", user, replace(`emails[value co "nobody"].display`, "x")},
		{400, "invalidPath", "PATCH", user, replace("salary", "x")},
		{400, "invalidPath", "PATCH", user, replace(`emails[`, "x")},
		{400, "invalidPath", "PATCH", user, replace("roles", []fields{{"value": "organization-super-admin"}})},
		{400, "mutability", "PATCH", user, replace("id", newID())},
		{400, "mutability", "PATCH", "/Users/" + p.alice.ID.String(), replace(`emails[type eq "work"].value`, "new@tsumugi.example")},
		{400, "invalidValue", "PATCH", user, replace("active", "perhaps")},
		{400, "invalidValue", "PATCH", user, patch(fields{"op": "remove", "path": "userName"})},
		{400, "invalidValue", "PATCH", user, replace("displayName", strings.Repeat("あ", 101))},
		{400, "invalidValue", "PATCH", user, replace("title", "a\x00b")},
		{400, "invalidValue", "PATCH", user, replace("userName", long.String())},
		{400, "invalidValue", "PATCH", user, replace("externalId", long.String())},
		{400, "invalidValue", "PATCH", user, replace(`emails[type eq "home"].value`, long.String())},
		{409, "uniqueness", "PATCH", user, replace("externalId", "taken")},
		{409, "uniqueness", "PATCH", user, replace("userName", "HANAKO@tsumugi.example")},
		{409, "uniqueness", "PATCH", user, replace(`emails[type eq "work"].value`, "alice@tsumugi.example")},
		{409, "uniqueness", "PATCH", user, replace(`emails[type eq "work"].value`, p.stranger.Email)},
		{400, "invalidSyntax", "POST", "/Users", with("salary", 1_000)},
		{400, "invalidSyntax", "POST", "/Users", with("roles", []string{"organization-super-admin"})},
		{400, "invalidSyntax", "POST", "/Users", with("schemas", []string{"urn:example:Other"})},
		{400, "invalidValue", "POST", "/Users", with("userName", "")},
		{400, "invalidValue", "POST", "/Users", with("emails", []fields{{"value": "no address"}})},
		{400, "invalidValue", "POST", "/Users", with("emails", []fields{{"value": "neu@[192.0.2.1]"}})},
		{409, "uniqueness", "POST", "/Users", with("externalId", "taken")},
		{400, "invalidValue", "PATCH", "/Groups/" + group, replace("members", []fields{{"value": group, "type": "Group"}})},
		{400, "invalidValue", "PATCH", "/Groups/" + group, replace("members", []fields{{"value": group}})},
		{400, "invalidValue", "PATCH", "/Groups/" + group, replace("members", []fields{{"value": p.stranger.ID}})},
		{400, "invalidValue", "POST", "/Groups", fields{"displayName": ""}},
		{400, "invalidSyntax", "POST", "/Groups", fields{"displayName": "x", "owner": "y"}},
		{409, "uniqueness", "POST", "/Groups", fields{"displayName": "営業部"}},
		{409, "uniqueness", "POST", "/Groups", fields{"displayName": "手作り"}},
	} {
		refused := p.scim(c.status, c.method, c.path, c.body)
		if refused["scimType"] != c.code || refused["status"] != fmt.Sprint(c.status) || refused["detail"] == "" ||
			at(refused, "schemas", 0) != "urn:ietf:params:scim:api:messages:2.0:Error" {
			t.Errorf("%s %.80s %.200s: %v, want %s", c.method, c.path, fmt.Sprint(c.body), refused, c.code)
		}
	}
	for _, c := range []struct {
		status       int
		method, path string
	}{
		{404, "GET", "/Nowhere"},
		{405, "DELETE", "/Users"},
		{405, "POST", "/Schemas"},
		{501, "POST", "/Bulk"},
		{501, "GET", "/Me"},
		{404, "GET", "/Users/" + p.stranger.ID.String()},
		{404, "DELETE", "/Users/" + p.stranger.ID.String()},
	} {
		if refused := p.scim(c.status, c.method, c.path, nil); refused["status"] != fmt.Sprint(c.status) {
			t.Errorf("%s %s: %v", c.method, c.path, refused)
		}
	}
	// Ten levels are allowed.
	p.filtered("/Users", nested(10))
	for table, digest := range p.contents() {
		// The calls, and the time of the last one.
		if table != "scim_calls" && table != "scim_tokens" && before[table] != digest {
			t.Errorf("%s has changed", table)
		}
	}

	// The administrators see the calls and the reasons.
	calls := get[api.SCIMCallList](p.fixture, http.StatusOK, call{
		method: "GET", path: "/v1/scim-config/call?refused=true", token: p.admin.Subject,
	})
	if len(calls.Items) < 40 || calls.Items[0].Method != "DELETE" || calls.Items[0].Status != 404 || calls.Items[0].Detail == "" {
		t.Errorf("the refused calls: %d, %+v", len(calls.Items), calls.Items[0])
	}

	// Without a valid token.
	p.token = "tsumugi_scim_" + newID()
	if refused := p.scim(http.StatusUnauthorized, "GET", "/Users", nil); refused["status"] != "401" {
		t.Errorf("an unknown token: %v", refused)
	}
}

// TestSCIMDeactivation ends sessions, streams, sockets and connections of a member, and lets the member return.
func TestSCIMDeactivation(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	p := &provisioning{sso: newSSOWith(t, model)}
	p.configure()
	p.exec("UPDATE contracts SET seats = 100")
	p.token = p.addToken(p.admin.Subject)
	user := entraUser("dora", "d")
	id := p.scim(http.StatusCreated, "POST", "/Users", user)["id"].(string)
	path := "/Users/" + id
	signIn := func() api.TokenRecord {
		t.Helper()
		return tokens(t, (&browser{f: p.sso}).signIn("dora", ""))
	}
	session := signIn()
	if me := get[api.Me](p.fixture, http.StatusOK, call{method: "GET", path: "/v1/me", token: session.IDToken}); me.ID.String() != id {
		t.Fatalf("signed in as %+v", me)
	}
	personal := p.personalToken(session.IDToken, "chat").Token
	socket := p.join(session.IDToken)
	thread := p.thread(session.IDToken)
	ask := p.ask(thread, "糸とは")
	ask.token = session.IDToken
	stream := p.open(ask)

	p.scim(http.StatusOK, "PATCH", path, patch(fields{"op": "Replace", "path": "active", "value": "False"}))
	if end := socket.closed(); end.Code != 4401 {
		t.Errorf("the socket: %+v", end)
	}
	stream.cut(t)
	refused := func(when string) {
		t.Helper()
		for _, token := range []string{session.IDToken, personal} {
			if status := p.status("/v1/me", token); status != http.StatusUnauthorized {
				t.Errorf("%s: the next call: %d", when, status)
			}
		}
		if resp := p.do(call{method: "POST", path: "/v1/refresh_token", body: fields{
			"refresh_token": session.RefreshToken, "client_id": session.ClientID,
		}}); resp.status != http.StatusUnauthorized {
			t.Errorf("%s: refreshed: %d %s", when, resp.status, resp.body)
		}
	}
	refused("deactivated")
	b := &browser{f: p.sso}
	posted := p.respond(b.authorize("").header.Get("Location"), "dora")
	if _, query := landed(t, b.post(posted.path, posted.fields)); query.Get("error") != "account_inactive" {
		t.Errorf("a sign-in: %v", query)
	}

	p.scim(http.StatusOK, "PATCH", path, patch(fields{"op": "Replace", "path": "active", "value": "True"}))
	refused("reactivated")
	if status := p.status("/v1/thread/"+thread.ID.String(), signIn().IDToken); status != http.StatusOK {
		t.Errorf("the thread of the reactivated member: %d", status)
	}

	// A member with a password keeps the address for signing in, and is deactivated together with another one.
	bob := "/Users/" + p.bob.ID.String()
	p.exec("UPDATE users SET auth_type = 'cognito' WHERE id = $1", p.bob.ID)
	other := fields{"op": "Replace", "path": `emails[type eq "work"].value`, "value": "left@tsumugi.example"}
	p.scim(http.StatusBadRequest, "PATCH", bob, patch(other))
	for _, active := range []string{"False", "True"} {
		got := p.scim(http.StatusOK, "PATCH", bob, patch(other, fields{"op": "Replace", "path": "active", "value": active}))
		var state, email string
		p.scan(&state, "SELECT state FROM users WHERE id = '"+p.bob.ID.String()+"'")
		p.scan(&email, "SELECT email FROM users WHERE id = '"+p.bob.ID.String()+"'")
		if (state == "active") != (active == "True") || email != p.bob.Email || at(got, "emails", 0, "value") != "left@tsumugi.example" {
			t.Errorf("active %s with another address: %s, %s, %v", active, state, email, got)
		}
	}

	// SCIM neither deactivates the last super-admin nor reactivates others, and it requires seats.
	admin := "/Users/" + p.admin.ID.String()
	inactive := patch(fields{"op": "replace", "path": "active", "value": false})
	active := patch(fields{"op": "replace", "path": "active", "value": true})
	p.scim(http.StatusConflict, "PATCH", admin, inactive)
	p.scim(http.StatusConflict, "DELETE", admin, nil)
	p.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", p.alice.ID)
	super := "/Users/" + p.alice.ID.String()
	p.scim(http.StatusOK, "PATCH", super, inactive)
	p.scim(http.StatusForbidden, "PATCH", super, active)
	p.scim(http.StatusOK, "PATCH", path, inactive)
	p.exec("UPDATE contracts SET seats = 1")
	if refused := p.scim(http.StatusForbidden, "PATCH", path, active); !strings.Contains(refused["detail"].(string), "シート") {
		t.Errorf("without a seat: %v", refused)
	}
	p.scim(http.StatusForbidden, "POST", "/Users", entraUser("eiko", "e"))
	user = entraUser("fumi", "f")
	user["active"] = false
	p.scim(http.StatusCreated, "POST", "/Users", user)
}
