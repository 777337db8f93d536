package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// scimStep is a call of a suite with its checks. In the path and the body, {name} is the id that the call with this name
// in save has returned.
type scimStep struct {
	name         string
	method, path string
	filter       string
	body         string
	status       int
	want         fields // By paths such as emails/0/value. A nil value means that the attribute is missing.
	save         string
}

// present is a value that is not empty.
const present = "(present)"

// play makes the calls of a suite in their order, and returns the saved ids.
func (p *provisioning) play(contentType string, steps []scimStep) map[string]string {
	p.t.Helper()
	saved := map[string]string{}
	for _, s := range steps {
		var pairs []string
		for name, id := range saved {
			pairs = append(pairs, "{"+name+"}", id)
		}
		known := strings.NewReplacer(pairs...)
		path := known.Replace(s.path)
		if s.filter != "" {
			path += "filter=" + url.QueryEscape(s.filter)
		}
		var body any
		if s.body != "" {
			body = known.Replace(s.body)
		}
		got := p.scim(s.status, s.method, path, body, "Content-Type", contentType, "Accept", "application/scim+json")
		for at, want := range s.want {
			if text, ok := want.(string); ok {
				want = known.Replace(text)
			}
			value := lookUp(got, at)
			if want == present && value != nil && value != "" || fmt.Sprint(value) == fmt.Sprint(want) {
				continue
			}
			p.t.Errorf("%s: %s is %v, want %v", s.name, at, value, want)
		}
		if s.save != "" {
			saved[s.save], _ = got["id"].(string)
		}
	}
	return saved
}

// lookUp returns the value at a path such as emails/0/value, or nil.
func lookUp(resource fields, path string) any {
	var steps []any
	for step := range strings.SplitSeq(path, "/") {
		if i, err := strconv.Atoi(step); err == nil {
			steps = append(steps, i)
		} else {
			steps = append(steps, step)
		}
	}
	return at(resource, steps...)
}

// patchOps returns the body of a PATCH with operations in JSON.
func patchOps(operations string) string {
	return `{"schemas": ["` + scimPatch + `"], "Operations": [` + operations + `]}`
}

// validatorUser is a user as the validator makes them up. The text of each attribute is arbitrary.
func validatorUser(name string) string {
	return `{
		"userName": "` + name + `@ondricka.example", "active": true, "displayName": "NDSQQTECVAAC", "title": "CJSGUNOAAMMQ",
		"emails": [{"type": "work", "value": "` + name + `@hammes.example", "primary": true}], "preferredLanguage": "hi",
		"name": {"givenName": "Elfrieda", "familyName": "Urban", "formatted": "Myah", "middleName": "Cindy",
			"honorificPrefix": "Minerva", "honorificSuffix": "Micaela"},
		"addresses": [{"type": "work", "formatted": "ZQEHBLETAAQE", "streetAddress": "25928 Katlyn Row",
			"locality": "YRAKBQCGOHZF", "region": "XCCVLAIDMQYR", "postalCode": "cx47 4mz", "primary": true,
			"country": "Sierra Leone"}],
		"phoneNumbers": [{"type": "work", "value": "10-040-1308", "primary": true},
			{"type": "mobile", "value": "10-040-1308"}, {"type": "fax", "value": "10-040-1308"}],
		"` + scimEnterprise + `": {"employeeNumber": "OXYY", "department": "ZYWT", "costCenter": "ASHT",
			"organization": "DPQR", "division": "WXNF", "manager": {"value": "XYMKVVRYDIOO"}},
		"userType": "GZIL", "nickName": "FOGS", "locale": "RJWN", "timezone": "America/Guayaquil", "profileUrl": "BAPN",
		"externalId": "` + name + `-external", "schemas": ["` + scimUser + `", "` + scimEnterprise + `"]}`
}

// TestSCIMValidatorOfEntraID makes the calls of Microsoft's SCIM Validator (https://scimvalidator.microsoft.com), with
// the requests that its published results show. The validator itself, which needs an account, was not run. It learns
// the attributes from /Schemas, so that it does not send the roles of its default attributes, which are refused. Its
// cases, which it repeats for groups:
//
//   - Create a user; the response and a later GET have all attributes.
//   - Create a user with a userName that is taken: 409.
//   - Filter by userName: an existing one, the same in other letters, and an unknown one (200 with an empty list).
//   - Replace attributes by paths with value filters, and without a path by an object.
//   - Replace userName without a path.
//   - Disable: GET and the filter return the user with active false.
//   - Add, replace and remove the manager, whose id belongs to no user.
//   - Delete: 204, then GET is 404.
//   - Get and filter groups without members (excludedAttributes).
//   - Create a group twice: 409. Replace externalId and displayName. Add and remove a member.
//   - The forms of Microsoft's documentation, with an empty list of roles, a schema of Microsoft's, and null as $ref.
//   - Preview cases: several operations on different attributes, and on one; delete what does not exist, or twice: 404.
//
// The workflow that Microsoft requires for its gallery adds: an update to null, pages of five users, a user and a group
// that return after their deletion, and the attributes of the mapping in /Schemas (TestSCIMSchemasHaveMappingOfEntraID).
func TestSCIMValidatorOfEntraID(t *testing.T) {
	t.Parallel()
	p := newProvisioning(t)
	p.play("application/scim+json; charset=utf-8", slices.Concat(validatorUsers, validatorChanges, validatorGroups, entraForms))
	p.checkPages(5)
}

var validatorUsers = []scimStep{
	{name: "create a user", method: "POST", path: "/Users", body: validatorUser("julien"), status: 201, save: "user", want: fields{
		"userName": "julien@ondricka.example", "active": true, "meta/resourceType": "User", "meta/location": present,
	}},
	{name: "get the user", method: "GET", path: "/Users/{user}", status: 200, want: fields{
		"id": "{user}", "externalId": "julien-external", "displayName": "NDSQQTECVAAC", "title": "CJSGUNOAAMMQ",
		"emails/0/value": "julien@hammes.example", "emails/0/primary": true, "preferredLanguage": "hi",
		"name/givenName": "Elfrieda", "name/familyName": "Urban", "name/formatted": "Myah", "name/middleName": "Cindy",
		"name/honorificPrefix": "Minerva", "name/honorificSuffix": "Micaela", "addresses/0/formatted": "ZQEHBLETAAQE",
		"addresses/0/region": "XCCVLAIDMQYR", "addresses/0/postalCode": "cx47 4mz", "phoneNumbers/2/type": "fax",
		scimEnterprise + "/manager/value": "XYMKVVRYDIOO", scimEnterprise + "/division": "WXNF", "userType": "GZIL",
		"nickName": "FOGS", "locale": "RJWN", "timezone": "America/Guayaquil", "profileUrl": "BAPN",
	}},
	{
		name: "create a duplicate user", method: "POST", path: "/Users", body: validatorUser("julien"), status: 409,
		want: fields{"scimType": "uniqueness", "status": "409", "schemas/0": "urn:ietf:params:scim:api:messages:2.0:Error"},
	},
	{
		name: "filter for an existing user", method: "GET", path: "/Users?", filter: `userName eq "julien@ondricka.example"`,
		status: 200, want: fields{"totalResults": 1, "Resources/0/id": "{user}"},
	},
	{
		name: "in other letters", method: "GET", path: "/Users?", filter: `userName eq "JULIEN@ONDRICKA.EXAMPLE"`,
		status: 200, want: fields{"totalResults": 1, "Resources/0/id": "{user}"},
	},
	{
		name: "filter for an unknown user", method: "GET", path: "/Users?", filter: `userName eq "nobody@ondricka.example"`,
		status: 200, want: fields{"totalResults": 0, "Resources": []any{}, "schemas/0": present},
	},
	{name: "delete an unknown user", method: "DELETE", path: "/Users/d950a5ce-61da-4979-8423-4600c745a897", status: 404},
	{name: "create another user", method: "POST", path: "/Users", body: validatorUser("second"), status: 201, save: "second"},
	{name: "delete it", method: "DELETE", path: "/Users/{second}", status: 204},
	{name: "delete it twice", method: "DELETE", path: "/Users/{second}", status: 404},
	{name: "get it", method: "GET", path: "/Users/{second}", status: 404, want: fields{"status": "404"}},
	{
		name: "filter for it", method: "GET", path: "/Users?", filter: `userName eq "second@ondricka.example"`,
		status: 200, want: fields{"totalResults": 0},
	},
	{name: "it returns", method: "POST", path: "/Users", body: validatorUser("second"), status: 201, want: fields{"id": "{second}"}},
}

var validatorChanges = []scimStep{
	{name: "replace attributes", method: "PATCH", path: "/Users/{user}", status: 200, body: patchOps(`
		{"op": "replace", "path": "emails[type eq \"work\"].value", "value": "lilian@millszboncak.example"},
		{"op": "replace", "path": "emails[type eq \"work\"].primary", "value": true},
		{"op": "replace", "path": "phoneNumbers[type eq \"mobile\"].value", "value": "07-272-0828"},
		{"op": "replace", "path": "addresses[type eq \"work\"].streetAddress", "value": "2809 Johns Walk"},
		{"op": "replace", "path": "name.honorificPrefix", "value": "Dr"},
		{"op": "replace", "path": "` + scimEnterprise + `:costCenter", "value": "C2"},
		{"op": "replace", "path": "externalId", "value": "julien-2"}`), want: fields{
		"emails/0/value": "lilian@millszboncak.example", "phoneNumbers/1/value": "07-272-0828", "phoneNumbers/0/value": "10-040-1308",
		"addresses/0/streetAddress": "2809 Johns Walk", "addresses/0/locality": "YRAKBQCGOHZF", "name/honorificPrefix": "Dr",
		scimEnterprise + "/costCenter": "C2", "externalId": "julien-2",
	}},
	{name: "replace attributes without a path", method: "PATCH", path: "/Users/{user}", status: 200, body: patchOps(`
		{"op": "replace", "value": {"displayName": "BUNQ", "emails[type eq \"work\"].value": "aric@millszboncak.example",
			"name.givenName": "Aric", "addresses[type eq \"work\"].country": "Peru",
			"` + scimEnterprise + `:department": "D3"}}`), want: fields{
		"displayName": "BUNQ", "emails/0/value": "aric@millszboncak.example", "name/givenName": "Aric", "addresses/0/country": "Peru",
		scimEnterprise + "/department": "D3", scimEnterprise + "/costCenter": "C2",
	}},
	{
		name: "add attributes", method: "PATCH", path: "/Users/{second}", status: 200, body: patchOps(`
		{"op": "remove", "path": "phoneNumbers[type eq \"fax\"]"}, {"op": "remove", "path": "title"},
		{"op": "add", "path": "phoneNumbers[type eq \"fax\"].value", "value": "1"}, {"op": "add", "value": {"title": "T"}}`),
		want: fields{"title": "T", "phoneNumbers/2/value": "1", "phoneNumbers/2/type": "fax"},
	},
	{
		name: "update userName", method: "PATCH", path: "/Users/{user}", status: 200,
		body: patchOps(`{"op": "replace", "value": {"userName": "emilio@hermann.example"}}`),
		want: fields{"userName": "emilio@hermann.example"},
	},
	{
		name: "disable", method: "PATCH", path: "/Users/{user}", status: 200,
		body: patchOps(`{"op": "replace", "path": "active", "value": false}`), want: fields{"active": false},
	},
	{name: "get the disabled user", method: "GET", path: "/Users/{user}", status: 200, want: fields{"active": false}},
	{
		name: "filter for the disabled user", method: "GET", path: "/Users?", filter: `userName eq "emilio@hermann.example"`,
		status: 200, want: fields{"totalResults": 1, "Resources/0/active": false},
	},
	{
		name: "add the manager", method: "PATCH", path: "/Users/{user}", status: 200,
		body: patchOps(`{"op": "add", "path": "` + scimEnterprise + `:manager", "value": {"value": "AXTKDLNRKMKT"}}`),
		want: fields{scimEnterprise + "/manager/value": "AXTKDLNRKMKT"},
	},
	{
		name: "replace the manager", method: "PATCH", path: "/Users/{user}", status: 200,
		body: patchOps(`{"op": "replace", "path": "` + scimEnterprise + `:manager", "value": {"value": "{second}"}}`),
		want: fields{scimEnterprise + "/manager/value": "{second}"},
	},
	{
		name: "remove the manager", method: "PATCH", path: "/Users/{user}", status: 200,
		body: patchOps(`{"op": "remove", "path": "` + scimEnterprise + `:manager"}`),
		want: fields{scimEnterprise + "/manager": nil, scimEnterprise + "/division": "WXNF"},
	},
	{
		name: "several operations on different attributes", method: "PATCH", path: "/Users/{user}", status: 200, body: patchOps(`
		{"op": "remove", "path": "nickName"}, {"op": "add", "path": "title", "value": "T1"},
		{"op": "replace", "path": "displayName", "value": "D1"}`),
		want: fields{"nickName": nil, "title": "T1", "displayName": "D1"},
	},
	{
		name: "several operations on one attribute", method: "PATCH", path: "/Users/{user}", status: 200, body: patchOps(`
		{"op": "remove", "path": "displayName"}, {"op": "add", "path": "displayName", "value": "D2"},
		{"op": "replace", "path": "displayName", "value": "D3"}`),
		want: fields{"displayName": "D3"},
	},
	{
		name: "update to null", method: "PATCH", path: "/Users/{user}", status: 200, body: patchOps(`
		{"op": "replace", "path": "title", "value": null}, {"op": "replace", "value": {"userType": null}}`),
		want: fields{"title": nil, "userType": nil},
	},
}

var validatorGroups = []scimStep{
	{name: "create a group", method: "POST", path: "/Groups", status: 201, save: "group", body: `{"displayName": "UHYYWKURUTZS",
		"externalId": "c420a4bf", "schemas": ["` + scimGroup + `"]}`, want: fields{"displayName": "UHYYWKURUTZS", "meta/location": present}},
	{
		name: "create a duplicate group", method: "POST", path: "/Groups", status: 409, body: `{"displayName": "UHYYWKURUTZS",
		"externalId": "c420a4bf", "schemas": ["` + scimGroup + `"]}`, want: fields{"scimType": "uniqueness"},
	},
	{
		name: "add a member", method: "PATCH", path: "/Groups/{group}", status: 204,
		body: patchOps(`{"op": "add", "path": "members", "value": [{"value": "{second}"}]}`),
	},
	{name: "get the member", method: "GET", path: "/Groups/{group}", status: 200, want: fields{"members/0/value": "{second}"}},
	{
		name: "get the group without members", method: "GET", path: "/Groups/{group}?excludedAttributes=members", status: 200,
		want: fields{"members": nil, "displayName": "UHYYWKURUTZS"},
	},
	{
		name: "filter without members", method: "GET", path: "/Groups?excludedAttributes=members&",
		filter: `displayName eq "UHYYWKURUTZS"`, status: 200, want: fields{"totalResults": 1, "Resources/0/members": nil},
	},
	{
		name: "in other letters", method: "GET", path: "/Groups?", filter: `displayName eq "uhyywkurutzs"`, status: 200,
		want: fields{"totalResults": 1, "Resources/0/id": "{group}", "Resources/0/members/0/value": "{second}"},
	},
	{
		name: "filter for an unknown group", method: "GET", path: "/Groups?", filter: `displayName eq "nothing"`, status: 200,
		want: fields{"totalResults": 0, "Resources": []any{}},
	},
	{
		name: "replace attributes without a path", method: "PATCH", path: "/Groups/{group}", status: 204,
		body: patchOps(`{"op": "replace", "value": {"externalId": "c3b97a69"}}`),
	},
	{
		name: "update displayName", method: "PATCH", path: "/Groups/{group}", status: 204,
		body: patchOps(`{"op": "replace", "path": "displayName", "value": "HNNC"}`),
	},
	{
		name: "get the changes", method: "GET", path: "/Groups/{group}", status: 200,
		want: fields{"externalId": "c3b97a69", "displayName": "HNNC", "members/0/value": "{second}"},
	},
	{
		name: "remove the member", method: "PATCH", path: "/Groups/{group}", status: 204,
		body: patchOps(`{"op": "remove", "path": "members", "value": [{"value": "{second}"}]}`),
	},
	{
		name: "several operations on one attribute", method: "PATCH", path: "/Groups/{group}", status: 204, body: patchOps(`
		{"op": "add", "path": "members", "value": [{"value": "{second}"}]},
		{"op": "remove", "path": "members[value eq \"{second}\"]"},
		{"op": "add", "path": "members", "value": [{"value": "{user}"}]}`),
	},
	{
		name: "get the members", method: "GET", path: "/Groups/{group}", status: 200,
		want: fields{"members/0/value": "{user}", "members/1/value": nil},
	},
	{name: "delete the group", method: "DELETE", path: "/Groups/{group}", status: 204},
	{name: "get the deleted group", method: "GET", path: "/Groups/{group}", status: 404},
	{name: "delete it twice", method: "DELETE", path: "/Groups/{group}", status: 404},
	{name: "delete an unknown group", method: "DELETE", path: "/Groups/a0891725-bf13-48fb-ac3e-c536309a0bfb", status: 404},
	{
		name: "the group returns", method: "POST", path: "/Groups", status: 201,
		body: `{"displayName": "HNNC", "externalId": "c3b97a69", "schemas": ["` + scimGroup + `"]}`,
	},
}

// entraForms are requests of Microsoft's documentation whose spelling differs from that of the validator.
var entraForms = []scimStep{
	{
		name: "documented user", method: "POST", path: "/Users", status: 201, save: "documented", body: `{
		"schemas": ["` + scimUser + `", "` + scimEnterprise + `"], "externalId": "0a21f0f2-8d2a", "userName": "Test_User_00aa00aa",
		"active": true, "emails": [{"Primary": true, "type": "work", "value": "Test_User_11bb11bb@testuser.example"}],
		"meta": {"resourceType": "User"}, "name": {"formatted": "givenName familyName", "familyName": "familyName",
		"givenName": "givenName"}, "roles": [], "` + scimEnterprise + `": {"Department": "bob", "Manager": {"Value": "SuzzyQ"}}}`,
		want: fields{"userName": "Test_User_00aa00aa", "emails/0/primary": true, "roles": nil, scimEnterprise + "/manager/value": "SuzzyQ"},
	},
	{name: "documented group", method: "POST", path: "/Groups", status: 201, save: "documentedGroup", body: `{
		"schemas": ["` + scimGroup + `", "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"],
		"externalId": "8aa1a0c0", "displayName": "displayName", "meta": {"resourceType": "Group"}}`, want: fields{"schemas/1": nil}},
	{
		name: "add members", method: "PATCH", path: "/Groups/{documentedGroup}", status: 204,
		body: patchOps(`{"op": "Add", "path": "members", "value": [{"$ref": null, "value": "{documented}"}]}`),
	},
	{
		name: "filter by member", method: "GET", path: "/Groups?excludedAttributes=members&",
		filter: `displayName eq "displayName" and members.value pr`, status: 200, want: fields{"totalResults": 1},
	},
	{
		name: "remove members", method: "PATCH", path: "/Groups/{documentedGroup}", status: 204,
		body: patchOps(`{"op": "Remove", "path": "members", "value": [{"$ref": null, "value": "{documented}"}]}`),
	},
	{
		name: "other letters and a slash", method: "GET", path: "/users/?", filter: `DisplayName eq "givenName familyName"`,
		status: 200, want: fields{"totalResults": 1, "Resources/0/id": "{documented}"},
	},
	{name: "get the group", method: "GET", path: "/Groups/{documentedGroup}", status: 200, want: fields{"members": []any{}}},
}

// checkPages reads all users in pages, and expects each once.
func (p *provisioning) checkPages(count int) {
	p.t.Helper()
	for i := range 11 {
		p.scim(http.StatusCreated, "POST", "/Users", validatorUser(fmt.Sprintf("page%d", i)))
	}
	seen := map[any]bool{}
	for total := 1; len(seen) < total; {
		page := p.scim(http.StatusOK, "GET", fmt.Sprintf("/Users?startIndex=%d&count=%d", len(seen)+1, count), nil)
		total = int(page["totalResults"].(float64))
		resources := page["Resources"].([]any)
		if page["startIndex"] != float64(len(seen)+1) || int(page["itemsPerPage"].(float64)) != len(resources) || len(resources) == 0 {
			p.t.Fatalf("after %d of %d users: %v", len(seen), total, page)
		}
		for _, resource := range resources {
			if id := resource.(fields)["id"]; seen[id] {
				p.t.Fatalf("user %v is on two pages", id)
			} else {
				seen[id] = true
			}
		}
	}
}

// TestSCIMSuitesOfOkta makes the calls of the two suites that Okta publishes for SCIM 2.0 servers (SPEC and CRUD tests
// for Runscope). The CRUD suite drives Okta; here are the calls that Okta documents for its steps. The cases:
//
//   - The list of users has numbers for totalResults, startIndex and itemsPerPage, and its first user has an id, both
//     names, userName, active and an address, even if it was not provisioned. A GET of the user has them as well.
//   - A filter for an unknown userName returns an empty list, an unknown id 404 with detail, status and schemas.
//   - Create a user, with the type application/json: the response and a later GET have the values. Again: 409.
//   - A filter with the userName in capital letters is accepted. The list of groups has an array.
//   - Without a valid token: 401 with detail, status and schemas.
//   - CRUD: create; change the first name by PUT; deactivate and reactivate by PATCH, and by PUT, as Okta's own
//     integrations do; remove the assignment, which deactivates. Each is verified on the server.
//   - Groups: create, get, replace by PUT, replace the members and the name by PATCH, delete.
func TestSCIMSuitesOfOkta(t *testing.T) {
	t.Parallel()
	p := newProvisioning(t)
	p.exec("UPDATE users SET name = '山田　花子' WHERE id = $1", p.alice.ID)
	p.exec("UPDATE users SET name = 'Bob van Dyke' WHERE id = $1", p.bob.ID)
	user := func(first string, active bool) string {
		return fmt.Sprintf(`{"schemas": [%q], "userName": "runscope@tsumugi.example",
			"name": {"givenName": %q, "familyName": "Okta"}, "emails": [{"primary": true, "value": "runscope@tsumugi.example",
			"type": "work"}], "displayName": "Run Okta", "active": %t}`, scimUser, first, active)
	}
	person := func(prefix string) fields {
		all := fields{}
		for _, path := range []string{"id", "name/familyName", "name/givenName", "userName", "active", "emails/0/value"} {
			all[prefix+path] = present
		}
		return all
	}
	list := person("Resources/0/")
	list["schemas/0"], list["itemsPerPage"], list["startIndex"] = "urn:ietf:params:scim:api:messages:2.0:ListResponse", 1, 1
	list["totalResults"] = present
	refused := func(status string) fields {
		return fields{"detail": present, "status": status, "schemas/0": "urn:ietf:params:scim:api:messages:2.0:Error"}
	}
	saved := p.play("application/json", []scimStep{
		{name: "list of users", method: "GET", path: "/Users?count=1&startIndex=1", status: 200, want: list},
		{name: "a member who was not provisioned", method: "GET", path: "/Users/" + p.admin.ID.String(), status: 200, want: person("")},
		{
			name: "a Japanese name", method: "GET", path: "/Users/" + p.alice.ID.String(), status: 200,
			want: fields{"name/familyName": "山田", "name/givenName": "花子"},
		},
		{
			name: "a Latin name", method: "GET", path: "/Users/" + p.bob.ID.String(), status: 200,
			want: fields{"name/familyName": "Dyke", "name/givenName": "Bob van"},
		},
		{
			name: "unknown userName", method: "GET", path: "/Users?", filter: `userName eq "nobody@tsumugi.example"`, status: 200,
			want: fields{"totalResults": 0, "schemas/0": list["schemas/0"]},
		},
		{name: "unknown id", method: "GET", path: "/Users/00919288221112222", status: 404, want: refused("404")},
		{name: "create", method: "POST", path: "/Users", status: 201, body: user("Run", true), save: "user", want: fields{
			"active": true, "name/familyName": "Okta", "name/givenName": "Run", "schemas/0": scimUser,
			"userName": "runscope@tsumugi.example",
		}},
		{
			name: "created", method: "GET", path: "/Users/{user}", status: 200,
			want: fields{"name/givenName": "Run", "name/familyName": "Okta"},
		},
		{name: "create again", method: "POST", path: "/Users", status: 409, body: user("Run", true), want: refused("409")},
		{
			name: "capital letters", method: "GET", path: "/Users?", filter: `userName eq "RUNSCOPE@TSUMUGI.EXAMPLE"`, status: 200,
			want: fields{"totalResults": 1},
		},
		{name: "list of groups", method: "GET", path: "/Groups", status: 200, want: fields{"Resources": []any{}, "totalResults": 0}},
		{
			name: "first name", method: "PUT", path: "/Users/{user}", status: 200, body: user("Scope", true),
			want: fields{"name/givenName": "Scope", "active": true},
		},
		{
			name: "deactivate", method: "PATCH", path: "/Users/{user}", status: 200,
			body: patchOps(`{"op": "replace", "value": {"active": false}}`), want: fields{"active": false},
		},
		{
			name: "deactivated", method: "GET", path: "/Users/{user}", status: 200,
			want: fields{"active": false, "name/givenName": "Scope"},
		},
		{
			name: "reactivate", method: "PATCH", path: "/Users/{user}", status: 200,
			body: patchOps(`{"op": "replace", "value": {"active": true}}`), want: fields{"active": true},
		},
		{name: "deactivate by PUT", method: "PUT", path: "/Users/{user}", status: 200, body: user("Scope", false), want: fields{"active": false}},
		{name: "reactivate by PUT", method: "PUT", path: "/Users/{user}", status: 200, body: user("Scope", true), want: fields{"active": true}},
		{
			name: "reactivated", method: "GET", path: "/Users?", filter: `userName eq "runscope@tsumugi.example"`, status: 200,
			want: fields{"totalResults": 1, "Resources/0/active": true},
		},
		{
			name: "create a group", method: "POST", path: "/Groups", status: 201, save: "group",
			body: `{"schemas": ["` + scimGroup + `"], "displayName": "Run Group", "members": []}`,
			want: fields{"displayName": "Run Group", "id": present},
		},
		{
			name: "replace the group", method: "PUT", path: "/Groups/{group}", status: 200, body: `{"schemas": ["` + scimGroup + `"],
			"id": "{group}", "displayName": "Run Team", "members": [{"value": "{user}", "display": "runscope@tsumugi.example"}]}`,
			want: fields{"displayName": "Run Team", "members/0/value": "{user}"},
		},
		{name: "members and name", method: "PATCH", path: "/Groups/{group}", status: 204, body: patchOps(`
			{"op": "replace", "path": "members", "value": [{"value": "` + p.alice.ID.String() + `"}]},
			{"op": "replace", "value": {"id": "{group}", "displayName": "Run Crew"}}`)},
		{
			name: "get the group", method: "GET", path: "/Groups/{group}", status: 200,
			want: fields{"displayName": "Run Crew", "members/0/value": p.alice.ID.String(), "members/1/value": nil},
		},
		{name: "delete the group", method: "DELETE", path: "/Groups/{group}", status: 204},
		{name: "remove the assignment", method: "PATCH", path: "/Users/{user}", status: 200, body: patchOps(`
			{"op": "replace", "path": "active", "value": false}`), want: fields{"active": false}},
	})
	state := ""
	p.scan(&state, "SELECT state FROM users WHERE id = '"+saved["user"]+"'")
	if state != "inactive" {
		t.Errorf("the user is %s", state)
	}
	p.token = "non-token"
	p.play("application/scim+json", []scimStep{
		{name: "without a token", method: "GET", path: "/Users?", filter: `userName eq "x"`, status: 401, want: refused("401")},
	})
}
