package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// TestGuidance: people set information about themselves, and administrators set instructions for everybody and whether
// dictation may use services.
func TestGuidance(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.bob.ID)
	put := func(path, token string, body map[string]any) response {
		return f.do(call{method: "PUT", path: "/v1/guidance/" + path, token: token, body: body})
	}
	about := func(name, department, tone, signature string) map[string]any {
		return map[string]any{"name": name, "department": department, "tone": tone, "signature": signature}
	}
	for field, body := range map[string]map[string]any{
		"name":       about(strings.Repeat("名", 101), "", "", ""),
		"department": about("", "二行の\n部署", "", ""),
		"tone":       about("", "", strings.Repeat("字", 501), ""),
		"signature":  about("", "", "", "a\x00b"),
	} {
		resp := put("about", f.alice.Subject, body)
		if p := resp.problem(t); resp.status != http.StatusBadRequest || len(p.Errors) != 1 || p.Errors[0].Field != field {
			t.Errorf("%s: %d %s", field, resp.status, resp.body)
		}
	}
	long := map[string]any{"instructions": strings.Repeat("字", 4001)}
	if resp := put("instructions", f.bob.Subject, long); resp.status != http.StatusBadRequest {
		t.Errorf("long instructions: %d %s", resp.status, resp.body)
	}
	if resp := put("about", f.alice.Subject, about(" アリス ", "", "", "\n署名\n二行目\n")); resp.status != http.StatusOK {
		t.Fatalf("%d %s", resp.status, resp.body)
	}
	if resp := put("instructions", f.bob.Subject, map[string]any{"instructions": " 敬語で書く。\n"}); resp.status != http.StatusOK {
		t.Fatalf("%d %s", resp.status, resp.body)
	}
	for range 2 { // The second request changes nothing.
		if resp := put("dictation", f.bob.Subject, map[string]any{"service": true}); resp.status != http.StatusOK {
			t.Fatalf("%d %s", resp.status, resp.body)
		}
	}
	events := get[api.AuditEventList](f, http.StatusOK, call{
		method: "GET", path: "/v1/audit?action=dictation.edit", token: f.bob.Subject,
	})
	if len(events.Items) != 1 || len(events.Items[0].Details) != 1 || events.Items[0].Details[0].After != "on" {
		t.Errorf("logged %+v", events.Items)
	}
	read := func(token string) api.Guidance {
		return get[api.Guidance](f, http.StatusOK, call{method: "GET", path: "/v1/guidance", token: token})
	}
	want := api.Guidance{
		Instructions: "敬語で書く。", About: api.About{Name: "アリス", Signature: "署名\n二行目"},
		Dictation: api.Dictation{Service: true},
	}
	if got := read(f.alice.Subject); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := read(f.bob.Subject); got != (api.Guidance{Instructions: "敬語で書く。", Dictation: want.Dictation}) {
		t.Errorf("a colleague's: %+v", got)
	}
}
