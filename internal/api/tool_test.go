package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// TestSkillsWithTools: a skill is saved with tools, the model calls them, and the message and its stream have the calls.
// Other skills have none.
func TestSkillsWithTools(t *testing.T) {
	t.Parallel()
	tools := make(chan int, 10)
	f := newFixture(t, llmtest.Func(func(_ context.Context, req llm.Request, emit func(string)) (llm.Result, error) {
		if llmtest.IsTitle(req.Messages) {
			emit("題")
			return llm.Result{FinishReason: llm.FinishStop}, nil
		}
		last := req.Messages[len(req.Messages)-1]
		tools <- len(req.Tools)
		switch {
		case last.Role == llm.RoleTool:
			emit(last.Content)
		case len(req.Tools) > 0:
			return llm.Result{FinishReason: llm.FinishTools, ToolCalls: []llm.ToolCall{
				{ID: "c1", Name: "calculate", Arguments: `{"expression": "3億円 / 2"}`},
			}}, nil
		default:
			emit("はい")
		}
		return llm.Result{FinishReason: llm.FinishStop}, nil
	}))
	made := f.madeSkill(f.alice.Subject, "self", map[string]any{
		"tools": []string{"calculate"}, "form_fields": []any{}, "prompt": "計算する。",
	})
	if len(made.Content.Tools) != 1 {
		t.Errorf("saved tools %v", made.Content.Tools)
	}
	ask := func(skillID any) api.Message {
		t.Helper()
		thread := get[api.Thread](f, http.StatusCreated, call{
			method: "POST", path: "/v1/thread", token: f.alice.Subject, body: map[string]any{"skill_id": skillID},
		})
		question := f.ask(thread, "計算して")
		question.path = "/v1/message/sync"
		return get[api.Exchange](f, http.StatusOK, question).Answer
	}
	answer := ask(made.ID)
	if n := <-tools; n != 1 {
		t.Errorf("%d tools", n)
	}
	<-tools
	if answer.Content != "3億円 / 2 = 150,000,000" || len(answer.ToolCalls) != 1 {
		t.Fatalf("answer %+v", answer)
	}
	got := answer.ToolCalls[0]
	got.DurationMs = 0
	if want := (api.ToolCall{
		ID: "c1", Name: "calculate", Title: "計算", Arguments: `{"expression": "3億円 / 2"}`, Status: "success",
		Result: "3億円 / 2 = 150,000,000",
	}); got != want {
		t.Errorf("call %+v", got)
	}
	if other := ask(f.chatSkill().ID); len(other.ToolCalls) != 0 || <-tools != 0 {
		t.Errorf("answer of a skill without tools: %+v", other)
	}
	file := f.do(call{method: "GET", path: "/v1/skill/" + made.ID.String() + "/export", token: f.alice.Subject})
	if !strings.Contains(string(file.body), "tools: [calculate]") {
		t.Errorf("exported: %s", file.body)
	}
	for _, wrong := range []map[string]any{
		{"tools": []string{"rm"}},
		{"tools": []string{"calendar", "calendar"}},
		{"tools": []string{"calendar"}, "kind": "proofreading_v2"},
	} {
		body := savedSkill("self", 0)
		for name, value := range wrong {
			body["content"].(map[string]any)[name] = value
		}
		resp := f.do(call{method: "POST", path: "/v1/skill", token: f.alice.Subject, body: body})
		if resp.status != http.StatusUnprocessableEntity && resp.status != http.StatusBadRequest ||
			!strings.Contains(string(resp.body), "tools") {
			t.Errorf("%v: %d %s", wrong, resp.status, resp.body)
		}
	}
}
