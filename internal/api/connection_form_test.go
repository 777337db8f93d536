package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestFormsAreReadStrictly sends forms that are invalid for an OAuth client.
func TestFormsAreReadStrictly(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	const form = "application/x-www-form-urlencoded"
	for what, test := range map[string]struct {
		header map[string]string
		body   string
		code   string
	}{
		"JSON": {map[string]string{"Content-Type": "application/json"}, `{}`, "invalid_request"},
		"a secret": {
			map[string]string{"Content-Type": form, "Authorization": "Basic eDp5"}, "client_id=x", "invalid_client",
		},
		"twice": {
			map[string]string{"Content-Type": form}, "client_id=tsumugi-cli&client_id=x", "invalid_request",
		},
		"no form": {map[string]string{"Content-Type": form}, "%zz", "invalid_request"},
		"too large": {
			map[string]string{"Content-Type": form}, "x=" + strings.Repeat("x", 17<<10), "invalid_request",
		},
		"nothing": {map[string]string{"Content-Type": form}, "", "invalid_client"},
		"NUL in a code": {
			map[string]string{"Content-Type": form},
			"grant_type=authorization_code&client_id=tsumugi-cli&code=%00",
			"invalid_grant",
		},
	} {
		f.refuses(what, test.code, f.do(call{
			method: "POST", path: "/v1/oauth2/token", body: test.body, header: test.header,
		}))
	}
}

// FuzzBearer: a request with an invalid Authorization header receives 401.
func FuzzBearer(f *testing.F) {
	for _, seed := range []string{
		"Bearer tsa_x", "Bearer tsk_" + strings.Repeat("A", 43), "bearer  forged", "Basic x", "", "Bearer  ",
		"Bearer \u00a0",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))(t)
		r.Header.Set("Authorization", header)
		token, err := api.Bearer(r)
		if (err == nil) != (token != "") || token != strings.TrimSpace(token) {
			t.Errorf("%q: %q, %v", header, token, err)
		}
	})
}

// FuzzForm: a form is parsed with each parameter once, or refused with an error of RFC 6749.
func FuzzForm(f *testing.F) {
	for _, seed := range []string{"grant_type=refresh_token&client_id=x", "a=1&a=2", "%zz", "a;b", "\x00", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body)))(t)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		form, code := api.DecodeForm(r)
		for name, values := range form {
			if len(values) != 1 {
				t.Errorf("%q has %d values", name, len(values))
			}
		}
		if (code == "") != (form != nil) {
			t.Errorf("%q: %v, %q", body, form, code)
		}
	})
}
