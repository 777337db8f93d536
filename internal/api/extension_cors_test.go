package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// cors returns the CORS headers of a response.
func cors(header http.Header) string {
	var found []string
	for name, values := range header {
		if strings.HasPrefix(name, "Access-Control-") {
			found = append(found, name+": "+strings.Join(values, ","))
		}
	}
	slices.Sort(found)
	return strings.Join(found, "\n")
}

func TestR74_OnlyConfiguredExtensionsReadAnswers(t *testing.T) {
	t.Parallel()
	for name, plain := range map[string]bool{"taken over": false, "net/http": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixtureWith(t, &recorder{}, settings{plain: plain, api: func(c *api.Config) {
				c.ExtensionOrigins = []string{"chrome-extension://ponmlkjihgfedcbaponmlkjihgfedcba", extensionOrigin}
			}})
			raw := func(c call) *http.Response {
				resp := must.Get(http.DefaultTransport.RoundTrip(f.request(c)))(t)
				_ = resp.Body.Close()
				return resp
			}
			from := func(origin string) call {
				c := f.aboutPage(summaryKind, nil)
				c.header = map[string]string{"Origin": origin}
				return c
			}
			preflight := func(path, origin string) *http.Response {
				return raw(call{method: "OPTIONS", path: path, header: map[string]string{
					"Origin": origin, "Access-Control-Request-Method": "POST",
					"Access-Control-Request-Headers": "authorization",
				}})
			}
			want := "Access-Control-Allow-Origin: " + extensionOrigin +
				"\nAccess-Control-Expose-Headers: X-Request-Id, Retry-After"
			if resp := raw(from(extensionOrigin)); resp.StatusCode != http.StatusOK || cors(resp.Header) != want ||
				!slices.Contains(resp.Header.Values("Vary"), "Origin") {
				t.Errorf("the stream for the extension: %d %v", resp.StatusCode, resp.Header)
			}
			unauthenticated := from(extensionOrigin)
			unauthenticated.token = "expired"
			if resp := raw(unauthenticated); resp.StatusCode != http.StatusUnauthorized || cors(resp.Header) != want {
				t.Errorf("the problem for the extension: %d %v", resp.StatusCode, resp.Header)
			}
			for _, path := range []string{
				chatCompletion, "/v1/message/stream", "/v1/message/" + newID() + "/stream",
				"/v1/message/" + newID() + "/stop",
				"/v1/message", "/v1/message_feedback", "/v1/message_feedback/" + newID(), "/v1/me", "/config.json",
				"/v1/project", "/v1/tool-call", "/v1/tool-call/" + newID() + "/decision",
				"/v1/oauth2/token", "/v1/oauth2/revoke", "/v1/oauth2/device", "/.well-known/oauth-authorization-server",
			} {
				resp := preflight(path, extensionOrigin)
				if resp.StatusCode != http.StatusNoContent ||
					resp.Header.Get("Access-Control-Allow-Origin") != extensionOrigin ||
					!strings.Contains(resp.Header.Get("Access-Control-Allow-Headers"), "Authorization") ||
					resp.Header.Get("Access-Control-Allow-Credentials") != "" {
					t.Errorf("preflight of %s: %d %v", path, resp.StatusCode, resp.Header)
				}
			}
			for _, path := range []string{
				"/v1/user", "/v1/thread", "/pool/", "/v1/signout", "/v1/message/async", "/v1/session",
				"/v1/project/" + newID(), "/v1/tool-call/" + newID(),
			} {
				if resp := preflight(path, extensionOrigin); cors(resp.Header) != "" {
					t.Errorf("preflight of %s: %v", path, resp.Header)
				}
			}
			for _, origin := range []string{
				"chrome-extension://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "null", "https://evil.example", f.url, "*",
				extensionOrigin + ".evil.example", strings.ToUpper(extensionOrigin), extensionOrigin + "/",
				"moz-extension://abcdefghijklmnopabcdefghijklmnop",
			} {
				if resp := preflight(chatCompletion, origin); resp.StatusCode < 400 || cors(resp.Header) != "" {
					t.Errorf("preflight from %s: %d %v", origin, resp.StatusCode, resp.Header)
				}
				if resp := raw(from(origin)); cors(resp.Header) != "" {
					t.Errorf("the stream for %s: %v", origin, resp.Header)
				}
			}
			form := from(extensionOrigin)
			form.header["Content-Type"] = "text/plain"
			if resp := raw(form); resp.StatusCode != http.StatusUnsupportedMediaType {
				t.Errorf("a form's content type: %d", resp.StatusCode)
			}
		})
	}
}
