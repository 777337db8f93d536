package api_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
)

const (
	scimUser       = "urn:ietf:params:scim:schemas:core:2.0:User"
	scimGroup      = "urn:ietf:params:scim:schemas:core:2.0:Group"
	scimEnterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
	scimPatch      = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
)

// provisioning is a server with single sign-on whose identity provider has a token.
type provisioning struct {
	*sso
	token string
}

func newProvisioning(t *testing.T) *provisioning {
	t.Helper()
	p := &provisioning{sso: newSSO(t)}
	p.configure()
	p.exec("UPDATE contracts SET seats = 100")
	p.token = p.addToken(p.admin.Subject)
	return p
}

// addToken creates a token with the call of the screen.
func (f *fixture) addToken(super string) string {
	f.t.Helper()
	return get[api.SCIMTokenCreated](f, http.StatusCreated, call{
		method: "POST", path: "/v1/scim-config/token", token: super, body: map[string]any{"name": "Entra ID"},
	}).Token
}

type fields = map[string]any

// scim makes a call of the identity provider, and fails the test if the response has another status. It returns the body.
func (p *provisioning) scim(status int, method, path string, body any, header ...string) fields {
	p.t.Helper()
	got, _ := p.scimWithHeader(status, method, path, body, header...)
	return got
}

func (p *provisioning) scimWithHeader(status int, method, path string, body any, header ...string) (fields, http.Header) {
	p.t.Helper()
	c := call{
		method: method, path: "/scim/v2" + path, token: p.token, body: body,
		header: map[string]string{"Content-Type": "application/scim+json"},
	}
	for i := 0; i+1 < len(header); i += 2 {
		c.header[header[i]] = header[i+1]
	}
	resp := p.do(c)
	if resp.status != status {
		p.t.Fatalf("%s %s %v: %d %s", method, path, body, resp.status, resp.body)
	}
	var got fields
	if len(resp.body) > 0 {
		if err := json.Unmarshal(resp.body, &got); err != nil {
			p.t.Fatal(err)
		}
		if kind := resp.header.Get("Content-Type"); kind != "application/scim+json; charset=utf-8" {
			p.t.Errorf("%s %s: Content-Type %s", method, path, kind)
		}
	}
	return got, resp.header
}

// filtered returns the resources of a list that match a filter.
func (p *provisioning) filtered(path, filter string) []fields {
	p.t.Helper()
	list := p.scim(http.StatusOK, "GET", path+"?filter="+url.QueryEscape(filter), nil)
	found := []fields{}
	for _, resource := range list["Resources"].([]any) {
		found = append(found, resource.(fields))
	}
	if int(list["totalResults"].(float64)) != len(found) {
		p.t.Errorf("%s: %v of %v results", filter, len(found), list["totalResults"])
	}
	return found
}

func patch(operations ...fields) fields {
	return fields{"schemas": []string{scimPatch}, "Operations": operations}
}

// at returns the value at a path of names and indexes, or nil.
func at(value any, path ...any) any {
	for _, step := range path {
		switch v := value.(type) {
		case fields:
			value = v[step.(string)]
		case []any:
			if i := step.(int); i < len(v) {
				value = v[i]
			} else {
				return nil
			}
		default:
			return nil
		}
	}
	return value
}

// entraUser is a user in the form that Entra ID sends by its default mapping.
func entraUser(name, externalID string) fields {
	return fields{
		"schemas": []string{scimUser, scimEnterprise}, "externalId": externalID, "userName": name + "@tsumugi.example",
		"active": true, "displayName": "山田 " + name, "title": "主任", "preferredLanguage": "ja",
		"emails":       []fields{{"primary": true, "type": "work", "value": strings.ToUpper(name[:1]) + name[1:] + "@tsumugi.example"}},
		"name":         fields{"formatted": name + " 山田", "familyName": "山田", "givenName": name},
		"addresses":    []fields{{"type": "work", "streetAddress": "丸の内1-1", "locality": "千代田区", "country": "JP"}},
		"phoneNumbers": []fields{{"type": "mobile", "value": "+81 90-0000-0000"}},
		"meta":         fields{"resourceType": "User"},
		scimEnterprise: fields{"employeeNumber": "701984", "department": "営業部"},
	}
}
