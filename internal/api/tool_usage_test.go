package api_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// TestToolUsage: usage by tool and skill of a month, as a list and as CSV. Titles in the CSV are not formulas.
func TestToolUsage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.bob.ID)
	used, gone := f.chatSkill(), uuid.New()
	for i, row := range []struct {
		day, tool, title string
		skill            any
		failed           bool
	}{
		{"2026-03-31", "calculate", "計算", used.ID, false},
		{"2026-04-01", "calculate", "計算", used.ID, false},
		{"2026-04-30", "calculate", "計算", used.ID, true},
		{"2026-04-02", "remote", "=1+1", gone, false},
	} {
		f.exec(`INSERT INTO tool_usage (message_id, ordinal, organization_id, date, skill_id, tool, title, failed, duration_ms)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1500)`,
			newID(), i, f.alice.OrganizationID, row.day, row.skill, row.tool, row.title, row.failed)
	}
	got := get[api.ToolUsageList](f, http.StatusOK, call{
		method: "GET", path: "/v1/contract/usage/tool?month=2026-04", token: f.bob.Subject,
	})
	want := []api.ToolUsage{
		{
			Tool: "calculate", Title: "計算", SkillID: used.ID, SkillName: used.Name, Calls: 2, Failures: 1, DurationMs: 3000,
		},
		{Tool: "remote", Title: "=1+1", SkillID: gone, Calls: 1, DurationMs: 1500},
	}
	if got.Total != 2 || !slices.Equal(got.Items, want) {
		t.Errorf("got %+v", got)
	}
	rows := f.csv("/v1/contract/usage/csv?by=tool&from=2026-04-01&to=2026-04-02", f.bob.Subject)
	if want := [][]string{
		{"日付", "ツール", "ツール名", "スキル", "スキルID", "回数", "失敗", "合計時間（ミリ秒）"},
		{"2026-04-01", "calculate", "計算", used.Name, used.ID.String(), "1", "0", "1500"},
		{"2026-04-02", "remote", "'=1+1", "", gone.String(), "1", "0", "1500"},
	}; !slices.EqualFunc(rows, want, slices.Equal) {
		t.Errorf("CSV %q", rows)
	}
	if resp := f.do(call{method: "GET", path: "/v1/audit?kind=other", token: f.bob.Subject}); resp.status != http.StatusBadRequest {
		t.Errorf("another kind: %d", resp.status)
	}
}
