package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// sending has a tool whose rule is ask.
type sending struct{}

func (sending) Of(context.Context, identity.Owner, []string) ([]tool.Tool, error) {
	return []tool.Tool{{
		Name: "calculate", Title: "送信", Rule: tool.RuleAsk, Effects: true,
		Check: func(arguments json.RawMessage) error {
			if strings.Contains(string(arguments), `"to":1`) {
				return fault.Errorf(fault.Invalid, "「to」: 文字列で指定してください。")
			}
			return nil
		},
		Call: func(_ context.Context, arguments json.RawMessage) (tool.Result, error) {
			return tool.Result{Text: "送信済み" + string(arguments)}, nil
		},
	}}, nil
}

// sendsFirst is a model that calls the tool and then repeats its result.
func sendsFirst(_ context.Context, req llm.Request, emit func(string)) (llm.Result, error) {
	last := req.Messages[len(req.Messages)-1]
	switch {
	case llmtest.IsTitle(req.Messages):
		emit("題")
	case last.Role == llm.RoleTool:
		emit(last.Content)
	default:
		return llm.Result{FinishReason: llm.FinishTools, ToolCalls: []llm.ToolCall{
			{ID: "c1", Name: "calculate", Arguments: `{"to":"甲"}`},
		}}, nil
	}
	return llm.Result{FinishReason: llm.FinishStop}, nil
}

// waitingCall returns the call that waits for alice's decision.
func (f *fixture) waitingCall() api.ToolApproval {
	f.t.Helper()
	for {
		list := get[api.ToolApprovalList](f, http.StatusOK, call{
			method: "GET", path: "/v1/tool-call?state=waiting", token: f.alice.Subject,
		})
		if len(list.Items) > 0 {
			return list.Items[0]
		}
	}
}

// TestToolCallDecision: the person sees the waiting call, decides once, and the audit log has the decision without the
// arguments. A colleague neither sees nor decides it.
func TestToolCallDecision(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Func(sendsFirst), settings{tools: sending{}})
	made := f.madeSkill(f.alice.Subject, "self", map[string]any{
		"tools": []string{"calculate"}, "form_fields": []any{}, "prompt": "送る。",
	})
	thread := get[api.Thread](f, http.StatusCreated, call{
		method: "POST", path: "/v1/thread", token: f.alice.Subject, body: map[string]any{"skill_id": made.ID},
	})
	question := f.ask(thread, "送って")
	question.path = "/v1/message/async"
	answer := get[api.Exchange](f, http.StatusAccepted, question).Answer

	waiting := f.waitingCall()
	if waiting.Title != "送信" || waiting.Arguments != `{"to":"甲"}` || waiting.MessageID != answer.ID ||
		waiting.SkillID != made.ID || waiting.State != "waiting" || len(waiting.ArgumentsSha256) != 64 {
		t.Errorf("waits %+v", waiting)
	}
	decision := call{
		method: "POST", path: "/v1/tool-call/" + waiting.ID.String() + "/decision", token: f.alice.Subject,
		body: map[string]any{
			"request_id": newID(), "approved": true, "arguments": map[string]any{"to": "乙"},
			"arguments_sha256": waiting.ArgumentsSha256,
		},
	}
	byBob := decision
	byBob.token = f.bob.Subject
	if resp := f.do(byBob); resp.status != http.StatusNotFound {
		t.Errorf("a colleague: %d %s", resp.status, resp.body)
	}
	wrong := decision
	wrong.body = map[string]any{
		"request_id": newID(), "approved": true, "arguments": map[string]any{"to": 1},
		"arguments_sha256": waiting.ArgumentsSha256,
	}
	resp, still := f.do(wrong), f.waitingCall()
	still.ThreadTitle = waiting.ThreadTitle // The model may have written a title meanwhile.
	if resp.status != http.StatusBadRequest || !strings.Contains(string(resp.body), `"field":"arguments"`) ||
		!strings.Contains(string(resp.body), "「to」: 文字列で指定してください。") || !reflect.DeepEqual(still, waiting) {
		t.Errorf("arguments that do not match: %d %s", resp.status, resp.body)
	}
	first := get[api.ToolApproval](f, http.StatusOK, decision)
	if first.State != "approved" || !first.Edited || first.ArgumentsSha256 == waiting.ArgumentsSha256 {
		t.Errorf("decided %+v", first)
	}
	other := decision
	other.body = map[string]any{
		"request_id": newID(), "approved": false, "reason": "やめる", "arguments_sha256": waiting.ArgumentsSha256,
	}
	if resp := f.do(other); resp.status != http.StatusConflict {
		t.Errorf("another decision: %d %s", resp.status, resp.body)
	}
	stream := f.do(call{
		method: "GET", path: "/v1/message/" + answer.ID.String() + "/stream", token: f.alice.Subject,
	})
	if !strings.Contains(string(stream.body), `"approvalId":"`+waiting.ID.String()+`"`) ||
		!strings.Contains(string(stream.body), `送信済み{\"to\":\"乙\"}`) {
		t.Errorf("stream %s", stream.body)
	}
	if again := get[api.ToolApproval](f, http.StatusOK, decision); again.State != "approved" || again.DecidedAt.IsZero() {
		t.Errorf("again %+v", again)
	}
	events := f.auditEvents(t, "tool_call.approve")
	if len(events) != 1 || !strings.Contains(events[0], first.ArgumentsSha256) || strings.Contains(events[0], "乙") {
		t.Errorf("logged %s", events)
	}
}

// auditEvents returns the entries of an action.
func (f *fixture) auditEvents(t *testing.T, action string) (entries []string) {
	t.Helper()
	rows, err := f.sql.Query(t.Context(), `SELECT target_label || details::text FROM audit_events WHERE action = $1`, action)
	must.Succeed(t, err)
	defer rows.Close()
	for rows.Next() {
		var entry string
		must.Succeed(t, rows.Scan(&entry))
		entries = append(entries, entry)
	}
	return entries
}
