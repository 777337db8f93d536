package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestSCIMTokens creates, uses and revokes tokens.
func TestSCIMTokens(t *testing.T) {
	t.Parallel()
	p := newProvisioning(t)
	first := p.token
	second := p.addToken(p.admin.Subject)
	add := call{method: "POST", path: "/v1/scim-config/token", token: p.admin.Subject, body: fields{"name": "三つ目"}}
	if resp := p.do(add); resp.status != http.StatusConflict {
		t.Errorf("a third token: %d %s", resp.status, resp.body)
	}
	add.body = fields{"name": " "}
	if problem := p.do(add).problem(t); problem.Status != 400 || problem.Errors[0].Field != "name" {
		t.Errorf("without a name: %+v", problem)
	}
	for _, token := range []string{first, second} {
		p.token = token
		p.exec("UPDATE organizations SET address_ranges = '{203.0.113.0/24}'") // Not those of identity providers.
		p.scim(http.StatusOK, "GET", "/ServiceProviderConfig", nil)
		p.exec("UPDATE organizations SET address_ranges = '{}'")
	}
	resp := p.do(call{method: "GET", path: "/v1/scim-config", token: p.admin.Subject})
	if strings.Contains(string(resp.body), first) {
		t.Errorf("a token is shown: %s", resp.body)
	}
	var config api.SCIMConfig
	must.Succeed(t, json.Unmarshal(resp.body, &config))
	if config.BaseURL != issuer+"/scim/v2" || len(config.Tokens) != 2 || config.Tokens[0].LastUsedAt.IsZero() {
		t.Fatalf("got %+v", config)
	}
	revoke := call{method: "DELETE", path: "/v1/scim-config/token/" + config.Tokens[0].ID.String(), token: p.admin.Subject}
	if resp := p.do(revoke); resp.status != http.StatusNoContent {
		t.Errorf("revoked: %d %s", resp.status, resp.body)
	}
	p.token = first
	p.scim(http.StatusUnauthorized, "GET", "/Users", nil)
	p.token = second

	// The calls are bounded.
	for range 105 {
		p.scim(http.StatusOK, "GET", "/ResourceTypes", nil)
	}
	calls := get[api.SCIMCallList](p.fixture, http.StatusOK, call{method: "GET", path: "/v1/scim-config/call", token: p.admin.Subject})
	var stored int
	p.scan(&stored, "SELECT count(*) FROM scim_calls")
	if len(calls.Items) != 100 || calls.Items[0].Path != "/ResourceTypes" || calls.Items[0].Code != "" || stored > 101 {
		t.Errorf("%d of %d calls, the last %+v", len(calls.Items), stored, calls.Items[0])
	}

	// The description of the service.
	schemas := p.scim(http.StatusOK, "GET", "/Schemas", nil)
	if schemas["totalResults"] != 3.0 {
		t.Errorf("the schemas: %v", schemas)
	}
	for _, path := range []string{"/Schemas/" + scimUser, "/ResourceTypes/Group"} {
		p.scim(http.StatusOK, "GET", path, nil)
	}
	p.scim(http.StatusNotFound, "GET", "/Schemas/urn:x", nil)
}
