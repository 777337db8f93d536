package api_test

import (
	"context"
	"encoding/csv"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// csv parses a CSV file as downloaded by administrators.
func (f *fixture) csv(path, token string) [][]string {
	f.t.Helper()
	resp := f.do(call{method: "GET", path: path, token: token})
	if resp.status != http.StatusOK {
		f.t.Fatalf("%s: %d %s", path, resp.status, resp.body)
	}
	text, marked := strings.CutPrefix(string(resp.body), "\ufeff")
	if !marked || resp.header.Get("Content-Type") != "text/csv; charset=utf-8" ||
		!strings.HasPrefix(resp.header.Get("Content-Disposition"), "attachment; filename=tsumugi-") {
		f.t.Errorf("%s: %q %v", path, resp.body, resp.header)
	}
	rows := must.Get(csv.NewReader(strings.NewReader(text)).ReadAll())(f.t)
	return rows
}

func TestCSV(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.bob.ID)
	f.exec("UPDATE users SET name = '=cmd|calc', email = 'alice@tsumugi.example' WHERE id = $1", f.alice.ID)
	for day, tokens := range map[string]int{"2026-04-01": 10, "2026-04-02": 20, "2026-04-03": 30} {
		f.exec(`INSERT INTO usage_daily (organization_id, date, user_id, messages, input_tokens, output_tokens)
			VALUES ($1, $2, $3, 1, $4, 5)`, f.alice.OrganizationID, day, f.alice.ID, tokens)
	}
	usage := f.csv("/v1/contract/usage/csv?from=2026-04-02&to=2026-04-03", f.bob.Subject)
	if want := [][]string{
		{"日付", "名前", "メールアドレス", "回答数", "入力トークン", "出力トークン"},
		{"2026-04-02", "'=cmd|calc", "alice@tsumugi.example", "1", "20", "5"},
		{"2026-04-03", "'=cmd|calc", "alice@tsumugi.example", "1", "30", "5"},
	}; !slices.EqualFunc(usage, want, slices.Equal) {
		t.Errorf("usage: %q", usage)
	}
	members := f.csv("/v1/user/csv", f.bob.Subject)
	row := slices.IndexFunc(members, func(row []string) bool { return row[0] == "alice@tsumugi.example" })
	if row < 1 || !slices.Equal(members[row][1:5], []string{"'=cmd|calc", "一般ユーザー", "利用中", "パスワード"}) {
		t.Errorf("members: %q", members)
	}
	for column, want := range map[string]string{
		"invited_at = now() + interval '1 day'": "招待中", "state = 'inactive'": "停止中", // As on the screen.
	} {
		f.exec("UPDATE users SET "+column+" WHERE id = $1", f.alice.ID)
		if members = f.csv("/v1/user/csv", f.bob.Subject); members[row][3] != want {
			t.Errorf("%s: %q", column, members[row])
		}
		f.exec("UPDATE users SET invited_at = NULL, state = 'active' WHERE id = $1", f.alice.ID)
	}

	f.exec(`INSERT INTO audit_events (id, organization_id, at, actor_kind, action, target_kind, target_id, target_label)
		SELECT gen_random_uuid(), $1, $2::timestamptz + n * interval '1 s', 'system', 'member.edit', 'user', 'x', '@sum'
		FROM generate_series(1, 1234) AS n`, f.alice.OrganizationID, time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC))
	audit := f.csv("/v1/audit/csv?action=member.edit&to=2026-04-02T00:00:00Z", f.bob.Subject)
	if len(audit) != 1235 || audit[1][0] != "2026-04-01 09:20:34" || audit[1234][0] != "2026-04-01 09:00:01" ||
		audit[1][4] != "'@sum" {
		t.Errorf("audit: %d rows, %q", len(audit), audit[1])
	}
	for _, name := range []string{
		"  =1+1", "\u3000＝1", "\u00a0@sum", "\u200b=1", "\ufeff+1", "\u2060\u200d-1", "\v＠x", "\u00ad −1", "﹦1", " \n=1",
	} {
		f.exec("UPDATE users SET name = $2 WHERE id = $1", f.alice.ID, name)
		usage := f.csv("/v1/contract/usage/csv?from=2026-04-02&to=2026-04-02", f.bob.Subject)
		if got := usage[1][1]; got != "'"+name {
			t.Errorf("%q is written as %q", name, got)
		}
	}
	f.exec("UPDATE users SET name = $2 WHERE id = $1", f.alice.ID, " 花子=+-@")
	if usage = f.csv("/v1/contract/usage/csv?from=2026-04-02", f.bob.Subject); usage[1][1] != " 花子=+-@" {
		t.Errorf("a name is written as %q", usage[1][1])
	}
	for path, field := range map[string]string{
		"/v1/contract/usage/csv?from=2026-04-02&to=2026-04-01": "to",
		"/v1/contract/usage/csv?from=2025-01-01&to=2026-04-01": "to",
		"/v1/contract/usage/csv?from=2024-01-01":               "to",
		"/v1/contract/usage/csv?from=yesterday":                "from",
		"/v1/audit/csv?kind=all":                               "kind",
	} {
		resp := f.do(call{method: "GET", path: path, token: f.bob.Subject})
		if p := resp.problem(t); resp.status != http.StatusBadRequest || len(p.Errors) != 1 || p.Errors[0].Field != field {
			t.Errorf("%s: %d %s", path, resp.status, resp.body)
		}
	}
}

// TestCSVOfAGrowingList: entries that are added during an export move no others, which would repeat rows.
func TestCSVOfAGrowingList(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.bob.ID)
	const add = `
		INSERT INTO audit_events (id, organization_id, at, actor_kind, action, target_kind, target_id, target_label)
		SELECT gen_random_uuid(), $1, clock_timestamp(), 'system', 'member.edit', 'user', 'x', gen_random_uuid()
		FROM generate_series(1, $2::int)`
	f.exec(add, f.bob.OrganizationID, 5000)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			_, _ = f.sql.Exec(ctx, add, f.bob.OrganizationID, 1)
		}
	}()
	rows := f.csv("/v1/audit/csv?action=member.edit&to=2100-01-01T00:00:00Z", f.bob.Subject)
	cancel()
	<-ended
	labels := make(map[string]bool)
	for _, row := range rows {
		labels[row[4]] = true
	}
	if len(rows) < 5001 || len(labels) != len(rows) {
		t.Errorf("%d of %d rows are repeated", len(rows)-len(labels), len(rows))
	}
}
