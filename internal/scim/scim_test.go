package scim_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/scim"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// someUser is a user with values of every type.
const someUser = `{
	"userName": "hanako@example.com", "externalId": "E1", "displayName": "山田 花子", "active": true, "title": "a\\b \"c\"",
	"name": {"familyName": "山田", "givenName": "花子"},
	"emails": [
		{"value": "hanako@example.com", "type": "work", "primary": true},
		{"value": "hana@home.example", "type": "home", "primary": false}
	],
	"addresses": [{"type": "work", "country": "JP"}],
	"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": {"department": "営業部", "manager": {"value": "m1"}}
}`

func decodeUser(t testing.TB, source string) map[string]any {
	t.Helper()
	var user map[string]any
	must.Succeed(t, json.Unmarshal([]byte(source), &user))
	return user
}

func TestFilters(t *testing.T) {
	t.Parallel()
	user := decodeUser(t, someUser)
	for _, c := range []struct {
		filter  string
		matches bool
		index   string
	}{
		{`userName eq "HANAKO@example.com"`, true, "userName"},
		{`USERNAME Eq "hanako@example.com"`, true, "userName"},
		{`externalId eq "E1"`, true, "externalId"},
		{`externalId eq "e1"`, false, "externalId"},
		{`userName ne "x" and emails[type eq "home"].value eq "HANA@home.example"`, true, "emails"},
		{`emails[type eq "work"].value eq "hana@home.example"`, false, "emails"},
		{`emails[type eq "home"].value pr and active eq true`, true, ""},
		{`(emails[type eq "x"].value eq "y" or emails[type eq "work"].value ew "example.com")`, true, ""},
		{`emails[type eq "work" and primary eq false]`, false, ""},
		{`emails co "home.example"`, true, ""},
		{`not (emails co "home.example")`, false, ""},
		{`title eq "a\\b \"c\""`, true, ""},
		{`title eq "] . [ ("`, false, ""},
		{`title pr and nickName pr`, false, ""},
		{`nickName eq null`, true, ""},
		{`title ne null`, true, ""},
		{`active eq "False"`, false, ""},
		{`active gt false`, false, ""},
		{`name.familyName sw "山"`, true, ""},
		{`name pr and addresses pr`, true, ""},
		{`displayName gt "a" and displayName le "山田 花子"`, true, ""},
		{`urn:ietf:params:scim:schemas:core:2.0:User:userName eq "hanako@example.com"`, true, "userName"},
		{`urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager eq "m1"`, true, ""},
		{`userName eq "x" or userName eq "hanako@example.com"`, true, "userName"},
		{`id eq "01990000-0000-7000-8000-000000000000" or externalId eq "E1" and title pr`, true, "id externalId"},
		{`emails[value eq "x" or value eq "hana@home.example"] and active eq true`, true, "emails"},
		{`userName eq "x" or title pr`, true, ""},
		{`not (userName eq "x")`, true, ""},
	} {
		matches, candidates, err := scim.MatchUser(c.filter, user)
		if index := indexes(candidates); err != nil || matches != c.matches || index != c.index {
			t.Errorf("%s: %v by the index %q, %v", c.filter, matches, index, err)
		}
	}
}

// indexes returns the attributes by whose indexes candidates are found.
func indexes(m *scim.Match) string {
	if m == nil {
		return ""
	}
	var names []string
	for _, index := range []struct {
		name   string
		values int
	}{
		{"id", len(m.IDs)}, {"userName", len(m.UserNames)}, {"externalId", len(m.ExternalIDs)}, {"emails", len(m.Emails)},
	} {
		if index.values > 0 {
			names = append(names, index.name)
		}
	}
	return strings.Join(names, " ")
}

func FuzzFilter(f *testing.F) {
	for _, seed := range []string{
		`userName eq "x"`, `emails[type eq "work"].value eq "a\"b"`, `not (a pr) and ((b eq 1) or c.d lt "x")`, `][.`, `a[b].`,
		`a[b eq "c"].d`, `userName eq "x" or externalId eq "E1" and emails.value eq "HANA@home.example"`, `selection-0 pr`, `"`, `emails[(`, `urn:x:y eq "z"`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, filter string) {
		matches, m, err := scim.MatchUser(filter, decodeUser(t, someUser))
		if code := fault.CodeOf(err); err != nil && code != scim.InvalidFilter {
			t.Errorf("%q: %v", filter, err)
		}
		if matches && m != nil && !slices.Contains(m.UserNames, "hanako@example.com") &&
			!slices.Contains(m.ExternalIDs, "E1") && !slices.Contains(m.Emails, "hanako@example.com") &&
			!slices.Contains(m.Emails, "hana@home.example") {
			t.Errorf("%q: matches, but is not among the candidates %+v", filter, m)
		}
	})
}

// TestPatchesSetSubattributesInAnyOrder: a value that a PATCH describes by its subattributes has all of them, whichever is
// first. A value that has only other subattributes at the end is not stored.
func TestPatchesSetSubattributesInAnyOrder(t *testing.T) {
	t.Parallel()
	const value, primary = `emails[type eq "work"].value`, `emails[type eq "work"].primary`
	const both = `{"emails": [{"type": "work", "value": "a@example.com", "primary": true}]}`
	add := func(path string, value any) scim.Operation {
		return scim.Operation{Op: "add", Path: path, Value: value}
	}
	for name, c := range map[string]struct {
		operations []scim.Operation
		want       string
	}{
		"value first":   {[]scim.Operation{add(value, "a@example.com"), add(primary, true)}, both},
		"primary first": {[]scim.Operation{add(primary, true), add(value, "a@example.com")}, both},
		"together":      {[]scim.Operation{add("", map[string]any{value: "a@example.com", primary: true})}, both},
		"in the path":   {[]scim.Operation{add(`emails[type eq "work" and primary eq true].value`, "a@example.com")}, both},
		"no value":      {[]scim.Operation{add(primary, true)}, `{}`},
		"removed":       {[]scim.Operation{add(value, "a@example.com"), {Op: "remove", Path: value}}, `{}`},
	} {
		for range 20 { // The order of a map differs.
			user := make(map[string]any)
			if err := scim.PatchUser(user, c.operations...); err != nil || !reflect.DeepEqual(user, decodeUser(t, c.want)) {
				t.Errorf("%s: %v, %v", name, user, err)
				break
			}
		}
	}
}

// FuzzPatch applies an operation. A refusal has a code of SCIM, and the result is a user that a client could have sent.
func FuzzPatch(f *testing.F) {
	for _, seed := range [][3]string{
		{"Add", `emails[type eq "work"].value`, `"x@example.com"`},
		{"Replace", "active", `"False"`},
		{"remove", "emails", `[{"value":"x"}]`},
		{"replace", "", `{"name.givenName":"x","urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager":["m"]}`},
		{"add", "emails", `{"primary":"true","value":"y"}`},
		{"replace", `addresses[country eq "JP"]`, `{"region":"東京"}`},
		{"add", "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User", `{"manager":{"value":"x","$ref":"y"}}`},
		{"remove", `emails[primary eq true].primary`, `null`},
		{"replace", "emails.type", `"other"`},
		{"add", "name", `"x"`},
		{"add", `emails[type eq "other" and primary eq true].value`, `"x@example.com"`},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, op, path, value string) {
		var decoded any
		if json.Unmarshal([]byte(value), &decoded) != nil {
			return
		}
		user := decodeUser(t, someUser)
		if err := scim.PatchUser(user, scim.Operation{Op: op, Path: path, Value: decoded}); err != nil {
			code := fault.CodeOf(err)
			if !slices.Contains([]fault.Code{
				scim.InvalidSyntax, scim.InvalidPath, scim.InvalidValue, scim.NoTarget, scim.Mutability,
			}, code) {
				t.Errorf("%s %q %s: %v", op, path, value, err)
			}
			return
		}
		encoded := must.Get(json.Marshal(user))(t)
		again, err := scim.CanonicalUser(decodeUser(t, string(encoded)))
		if err != nil {
			t.Fatalf("%s %q %s: %s: %v", op, path, value, encoded, err)
		}
		if stored, _ := json.Marshal(again); !reflect.DeepEqual(decodeUser(t, string(stored)), decodeUser(t, string(encoded))) {
			t.Errorf("%s %q %s: %s, canonical %s", op, path, value, encoded, stored)
		}
	})
}
