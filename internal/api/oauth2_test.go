package api_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
)

// TestBrowsersAreRedirectedAfterErrors: after any failure, a browser that navigates through a sign-in is redirected to
// a page of the app. Other clients receive a problem.
func TestBrowsersAreRedirectedAfterErrors(t *testing.T) {
	t.Parallel()
	f := newSSO(t)
	f.configure()
	acs := "/v1/saml/" + f.alice.OrganizationID.String() + "/acs"
	authorize := "/v1/oauth2/authorize?organization_id=" + f.alice.OrganizationID.String()
	const form = "application/x-www-form-urlencoded"
	for name, c := range map[string]struct {
		call
		before, code string // A change to the database, and the code on the app's page.
		status       int    // For other clients. Errors of single sign-on itself are always shown as a page.
	}{
		"no organization": {call{method: "GET", path: "/v1/oauth2/authorize"}, "", "invalid", 400},
		"a malformed one": {
			call{method: "GET", path: "/v1/oauth2/authorize?organization_id=x"},
			"", "invalid",
			400,
		},
		"a malformed one's form": {call{
			method: "POST", path: "/v1/saml/x/acs", body: "a=b",
			header: map[string]string{"Content-Type": form},
		}, "", "invalid", 400},
		"no form": {
			call{method: "POST", path: acs, body: map[string]any{"SAMLResponse": "x"}},
			"",
			"unsupported_media_type", 415,
		},
		"a large form": {call{
			method: "POST", path: acs, body: strings.Repeat("a", 600<<10),
			header: map[string]string{"Content-Type": form},
		}, "", "too_large", 413},
		"a broken form": {call{
			method: "POST", path: acs, body: "%",
			header: map[string]string{"Content-Type": form},
		}, "", "invalid", 400},
		"opened by hand": {call{method: "GET", path: acs}, "", "not_found", 404},
		"broken here": {
			call{method: "GET", path: authorize},
			"ALTER TABLE saml_states RENAME TO saml_states_away", "internal", 303,
		},
		"broken there": {
			call{
				method: "POST", path: acs, body: "RelayState=a&SAMLResponse=b",
				header: map[string]string{"Content-Type": form},
			},
			"ALTER TABLE saml_states RENAME TO saml_states_away",
			"internal", 303,
		},
	} {
		if c.before != "" {
			f.exec(c.before)
		}
		if resp := f.do(c.call); resp.status != c.status || c.status != http.StatusSeeOther &&
			resp.problem(t).Code != c.code {
			t.Errorf("%s, to others: %d %s", name, resp.status, resp.body)
		}
		c.header = maps.Clone(c.header)
		if c.header == nil {
			c.header = make(map[string]string)
		}
		c.header["Accept"] = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
		path, query := landed(t, f.do(c.call))
		if path != "/oauth2/callback" || query.Get("error") != c.code || query.Get("error_description") == "" {
			t.Errorf("%s: %s %v", name, path, query)
		}
		if c.before != "" {
			f.exec("ALTER TABLE saml_states_away RENAME TO saml_states")
		}
	}
}
