package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

func TestRetention(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	f.exec(`UPDATE users SET role = 'organization-admin' WHERE id = $1`, f.bob.ID)
	thread := f.thread(f.alice.Subject)
	f.exec(`UPDATE threads SET touched_at = now() - interval '40 days' WHERE id = $1`, thread.ID)
	for _, days := range []string{"", "?days=", "?days=x", "?days=29", "?days=3651", "?days=1e3"} {
		resp := f.do(call{method: "GET", path: "/v1/retention/preview" + days, token: f.bob.Subject})
		if p := resp.problem(t); resp.status != http.StatusBadRequest || len(p.Errors) != 1 || p.Errors[0].Field != "days" {
			t.Errorf("preview%s: %d %s", days, resp.status, resp.body)
		}
	}
	preview := get[api.RetentionPreview](f, http.StatusOK, call{
		method: "GET", path: "/v1/retention/preview?days=30", token: f.bob.Subject,
	})
	if preview != (api.RetentionPreview{Told: 1, Due: 1, Members: 1}) {
		t.Errorf("preview: %+v", preview)
	}
	for _, days := range []any{29, 3651, "30", -1} {
		if resp := f.do(call{
			method: "PUT", path: "/v1/retention", token: f.bob.Subject, body: map[string]any{"days": days},
		}); resp.status != http.StatusBadRequest {
			t.Errorf("%v days: %d %s", days, resp.status, resp.body)
		}
	}
	set := get[api.Retention](f, http.StatusOK, call{
		method: "PUT", path: "/v1/retention", token: f.bob.Subject, body: map[string]any{"days": 30},
	})
	if set.Days == nil || *set.Days != 30 || set.Leaving.Threads != 0 {
		t.Errorf("the setting is %+v", set)
	}
	f.exec(`UPDATE threads SET told_at = now() WHERE id = $1`, thread.ID)
	own := get[api.Retention](f, http.StatusOK, call{method: "GET", path: "/v1/retention", token: f.alice.Subject})
	list := get[api.LeavingThreadList](f, http.StatusOK, call{
		method: "GET", path: "/v1/retention/thread", token: f.alice.Subject,
	})
	if own.Leaving.Threads != 1 || len(list.Items) != 1 || list.Items[0].Thread.ID != thread.ID ||
		!list.Items[0].DeletesAt.Equal(own.Leaving.FirstAt) || time.Until(own.Leaving.FirstAt) < 13*24*time.Hour {
		t.Errorf("the owner is shown %+v, %+v", own, list)
	}
	// An administrator sees only their own threads.
	if others := get[api.LeavingThreadList](f, http.StatusOK, call{
		method: "GET", path: "/v1/retention/thread", token: f.bob.Subject,
	}); len(others.Items) != 0 {
		t.Errorf("an administrator is shown %+v", others)
	}
	get[api.Thread](f, http.StatusOK, call{
		method: "PUT", path: "/v1/thread/" + thread.ID.String() + "/touch", token: f.alice.Subject,
	})
	own = get[api.Retention](f, http.StatusOK, call{method: "GET", path: "/v1/retention", token: f.alice.Subject})
	if own.Leaving.Threads != 0 || !own.Leaving.FirstAt.IsZero() {
		t.Errorf("after it was kept: %+v", own)
	}
	off := get[api.Retention](f, http.StatusOK, call{
		method: "PUT", path: "/v1/retention", token: f.bob.Subject, body: map[string]any{},
	})
	if off.Days != nil {
		t.Errorf("turned off: %+v", off)
	}
	audit := f.csv("/v1/audit/csv?action=retention.edit", f.bob.Subject)
	if len(audit) != 3 || !strings.Contains(audit[1][5], "30 →") || !strings.Contains(audit[2][5], "→ 30") {
		t.Errorf("audit: %q", audit)
	}
}
