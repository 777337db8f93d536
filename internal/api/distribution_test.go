package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

func TestExtensionFiles(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	for path, want := range map[string]struct{ media, body string }{
		"/extension/updates.xml": {"text/xml; charset=utf-8", "<gupdate/>"},
		"/extension/tsumugi.crx": {"application/x-chrome-extension", "Cr24"},
		"/extension/tsumugi.zip": {"application/zip", "PK"},
	} {
		resp := f.do(call{method: http.MethodGet, path: path})
		if resp.status != http.StatusOK || resp.header.Get("Content-Type") != want.media ||
			string(resp.body) != want.body {
			t.Errorf("%s: %d %q %q", path, resp.status, resp.header.Get("Content-Type"), resp.body)
		}
	}
	if resp := f.do(call{method: http.MethodGet, path: "/extension/other.crx"}); resp.status != http.StatusNotFound {
		t.Errorf("a file that is not there: %d %s", resp.status, resp.body)
	}
	found := get[api.Extension](f, http.StatusOK, call{method: "GET", path: "/v1/extension", token: f.bob.Subject})
	if found.ID != strings.Repeat("abcd", 8) || found.Version != "1.0.0.1" ||
		found.UpdateURL != found.ServerURL+"/extension/updates.xml" {
		t.Errorf("%+v", found)
	}
}
