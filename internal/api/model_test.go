package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// TestModels: an administrator allows two models, a member chooses one, and the answer contains the model that wrote
// it.
func TestModels(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{offers: llmtest.Offers{
		{ID: "standard", Provider: "社内", Name: "標準モデル", Thinking: llm.ThinkingNone, ContextTokens: 32_000},
		{ID: "careful", Provider: "社外", Name: "熟考モデル", Thinking: llm.ThinkingSwitch, ContextTokens: 64_000, Sees: true, NoTools: true},
	}})
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.bob.ID)
	choice := func(token string) api.ModelChoice {
		return get[api.ModelChoice](f, http.StatusOK, call{method: "GET", path: "/v1/model", token: token})
	}
	if got := choice(f.alice.Subject); got.DefaultID != "standard" || len(got.Models) != 1 {
		t.Errorf("at first: %+v", got)
	}
	thread := f.thread(f.alice.Subject).ID
	ask := func(fields map[string]any) call {
		body := map[string]any{"request_id": newID(), "thread_id": thread, "content": "こんにちは"}
		for name, value := range fields {
			body[name] = value
		}
		return call{method: "POST", path: "/v1/message/sync", token: f.alice.Subject, body: body}
	}
	resp := f.do(ask(map[string]any{"model_id": "careful"}))
	if p := resp.problem(t); resp.status != http.StatusBadRequest || p.Code != "model_not_allowed" ||
		len(p.Errors) != 1 || p.Errors[0].Field != "model_id" {
		t.Errorf("before it is allowed: %d %s", resp.status, resp.body)
	}
	put := call{method: "PUT", path: "/v1/organization/model", token: f.bob.Subject, body: map[string]any{
		"default_id": "standard", "models": []any{
			map[string]any{"id": "standard", "allowed": true, "name": "", "note": "速い"},
			map[string]any{"id": "careful", "allowed": true, "name": "じっくり", "note": ""},
		},
	}}
	stored := get[api.OrganizationModels](f, http.StatusOK, put)
	if m := stored.Models[1]; m.GivenName != "熟考モデル" || m.Name != "じっくり" || !m.Allowed || m.Provider != "社外" ||
		m.ContextTokens != 64_000 {
		t.Errorf("stored %+v", stored)
	}
	got := choice(f.alice.Subject)
	if len(got.Models) != 2 || got.Models[0].Note != "速い" || got.Models[1] != (api.ModelOption{
		ID: "careful", Name: "じっくり", Sees: true, NoTools: true, Thinking: api.ThinkingSwitch,
	}) {
		t.Errorf("then: %+v", got)
	}
	if got := choice(f.stranger.Subject); len(got.Models) != 1 {
		t.Errorf("in the other organization: %+v", got)
	}
	answer := get[api.Exchange](f, http.StatusOK, ask(map[string]any{"model_id": "careful", "thinking": false})).Answer
	if answer.ModelID != "careful" || answer.ModelName != "じっくり" || answer.Model != llmtest.ModelName {
		t.Errorf("answered %+v", answer)
	}
	streamed := ask(map[string]any{"model_id": "careful"})
	streamed.path = "/v1/message/stream"
	if body := string(f.do(streamed).body); !strings.Contains(body, `"model_id":"careful","model_name":"じっくり"`) {
		t.Errorf("streamed %s", body)
	}
}

// TestModelsOfGroups: only members of a group may choose a model, even after the group was deleted.
func TestModelsOfGroups(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{offers: llmtest.Offers{
		{ID: "standard", Name: "標準モデル", Thinking: llm.ThinkingNone},
		{ID: "careful", Name: "熟考モデル", Thinking: llm.ThinkingNone},
	}})
	carol := f.member(f.alice.OrganizationID, "carol@tsumugi.example")
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.bob.ID)
	group := get[api.Group](f, http.StatusCreated, call{
		method: "POST", path: "/v1/group", token: f.bob.Subject, body: map[string]any{"request_id": newID(), "name": "法務"},
	})
	get[api.GroupMembersPutResult](f, http.StatusOK, call{
		method: "PUT", path: "/v1/group/" + group.ID.String() + "/member", token: f.bob.Subject,
		body: map[string]any{"add": []any{f.alice.ID}},
	})
	put := func(defaultID string, groups ...any) call {
		return call{method: "PUT", path: "/v1/organization/model", token: f.bob.Subject, body: map[string]any{
			"default_id": defaultID, "models": []any{
				map[string]any{"id": "standard", "allowed": true, "name": "", "note": ""},
				map[string]any{"id": "careful", "allowed": true, "name": "", "note": "", "group_ids": groups},
			},
		}}
	}
	for field, c := range map[string]call{
		"default_id":             put("careful", group.ID),
		"models[1].group_ids[1]": put("standard", group.ID, newID()),
	} {
		if got := f.do(c).problem(t); got.Status != http.StatusBadRequest || got.Errors[0].Field != field {
			t.Errorf("%s: %+v", field, got)
		}
	}
	stored := get[api.OrganizationModels](f, http.StatusOK, put("standard", group.ID))
	if got := stored.Models[1].Groups; len(got) != 1 || got[0].Name != "法務" || len(stored.Models[0].Groups) != 0 {
		t.Errorf("stored %+v", stored)
	}
	change := get[api.AuditEventList](f, http.StatusOK, call{
		method: "GET", path: "/v1/audit?action=models.edit", token: f.bob.Subject,
	}).Items[0].Details
	if !slices.ContainsFunc(change, func(c api.AuditDetail) bool {
		return c.Field == "model_groups" && c.After == "熟考モデル：法務"
	}) {
		t.Errorf("logged %+v", change)
	}
	choices := func(who identity.NewUser) int {
		return len(get[api.ModelChoice](f, http.StatusOK, call{method: "GET", path: "/v1/model", token: who.Subject}).Models)
	}
	ask := func(who identity.NewUser) int {
		return f.do(call{method: "POST", path: "/v1/message/sync", token: who.Subject, body: map[string]any{
			"request_id": newID(), "thread_id": f.thread(who.Subject).ID, "content": "こんにちは", "model_id": "careful",
		}}).status
	}
	if choices(f.alice) != 2 || ask(f.alice) != http.StatusOK {
		t.Error("a member of the group cannot choose the model")
	}
	if choices(carol) != 1 || ask(carol) != http.StatusBadRequest {
		t.Error("a member outside of the group can choose the model")
	}
	f.do(call{method: "DELETE", path: "/v1/group/" + group.ID.String(), token: f.bob.Subject})
	if choices(f.alice) != 1 || ask(f.alice) != http.StatusBadRequest {
		t.Error("the deleted group can choose the model")
	}
	stored = get[api.OrganizationModels](f, http.StatusOK, put("standard", group.ID))
	if got := stored.Models[1].Groups; len(got) != 1 || got[0].Name != "" {
		t.Errorf("stored %+v", stored)
	}
}

// TestModelUsage: usage by month, as a list and as CSV, with the names of the models.
func TestModelUsage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.bob.ID)
	for day, model := range map[string]string{
		"2026-03-31": "test", "2026-04-01": "test", "2026-04-30": "withdrawn", "2026-04-02": "",
	} {
		f.exec(`INSERT INTO usage_models (organization_id, date, user_id, model_id, messages, input_tokens, output_tokens)
			VALUES ($1, $2, $3, $4, 1, $5, 5)`, f.alice.OrganizationID, day, f.alice.ID, model, 10+len(model))
	}
	got := get[api.ModelUsageList](f, http.StatusOK, call{
		method: "GET", path: "/v1/contract/usage/model?month=2026-04", token: f.bob.Subject,
	})
	want := []api.ModelUsage{
		{ModelID: "withdrawn", Name: "withdrawn", Messages: 1, InputTokens: 19, OutputTokens: 5},
		{ModelID: "test", Name: "検査用モデル", Messages: 1, InputTokens: 14, OutputTokens: 5},
		{Messages: 1, InputTokens: 10, OutputTokens: 5},
	}
	if got.Total != 3 || !slices.Equal(got.Items, want) {
		t.Errorf("got %+v", got)
	}
	rows := f.csv("/v1/contract/usage/csv?by=model&from=2026-03-31&to=2026-04-02", f.bob.Subject)
	if want := [][]string{
		{"日付", "モデル", "モデルID", "回答数", "入力トークン", "出力トークン"},
		{"2026-03-31", "検査用モデル", "test", "1", "14", "5"},
		{"2026-04-01", "検査用モデル", "test", "1", "14", "5"},
		{"2026-04-02", "", "", "1", "10", "5"},
	}; !slices.EqualFunc(rows, want, slices.Equal) {
		t.Errorf("CSV %q", rows)
	}
	for path, field := range map[string]string{
		"/v1/contract/usage/model?month=2026-13":    "month",
		"/v1/contract/usage/model?month=2026-04-01": "month",
		"/v1/contract/usage/csv?by=day":             "by",
	} {
		resp := f.do(call{method: "GET", path: path, token: f.bob.Subject})
		if p := resp.problem(t); resp.status != http.StatusBadRequest || len(p.Errors) != 1 || p.Errors[0].Field != field {
			t.Errorf("%s: %d %s", path, resp.status, resp.body)
		}
	}
}
