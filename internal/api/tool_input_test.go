package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
)

// booking has a tool that asks for input once, and then returns the response.
type booking struct{}

func (booking) Of(context.Context, identity.Owner, []string) ([]tool.Tool, error) {
	return []tool.Tool{{
		Name: "calculate", Title: "予約", Rule: tool.RuleAllow, Effects: true,
		Call: func(context.Context, json.RawMessage) (tool.Result, error) {
			return tool.Result{Input: &tool.InputRequest{
				Server: "予約サーバー", State: "秘密の状態", Forms: []tool.InputForm{{ID: "guest", Message: "何名ですか", Fields: []tool.InputField{
					{Name: "people", Label: "人数", Type: tool.FieldInteger, Required: true, Minimum: new(0.0), Default: 2.0},
					{
						Name: "days", Label: "曜日", Type: tool.FieldChoices, Default: []any{"mon"}, MinItems: 1, MaxItems: 1,
						Options: []tool.InputOption{{Value: "mon", Label: "月"}, {Value: "tue", Label: "火"}},
					},
					{Name: "zip", Label: "郵便番号", Type: tool.FieldString, Pattern: "^[0-9]{7}$"},
				}}},
			}}, nil
		},
		Resume: func(
			_ context.Context, _ json.RawMessage, r tool.InputRequest, response tool.InputResponse,
		) (tool.Result, error) {
			encoded, err := json.Marshal(response)
			return tool.Result{Text: r.State + string(encoded)}, err
		},
	}}, nil
}

// TestToolCallInput: the person receives the forms of a tool without its state. Invalid input is a problem that names the
// field, and a colleague cannot respond. The audit log has no values.
func TestToolCallInput(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Func(sendsFirst), settings{tools: booking{}})
	made := f.madeSkill(f.alice.Subject, "self", map[string]any{
		"tools": []string{"calculate"}, "form_fields": []any{}, "prompt": "予約する。",
	})
	thread := get[api.Thread](f, http.StatusCreated, call{
		method: "POST", path: "/v1/thread", token: f.alice.Subject, body: map[string]any{"skill_id": made.ID},
	})
	question := f.ask(thread, "予約して")
	question.path = "/v1/message/async"
	answer := get[api.Exchange](f, http.StatusAccepted, question).Answer
	waiting := f.waitingCall()
	list := f.do(call{method: "GET", path: "/v1/tool-call?state=waiting", token: f.alice.Subject})
	if !strings.Contains(string(list.body), `"fields":[{"default":2,"label":"人数","minimum":0,"name":"people","required":true,`+
		`"type":"integer"},{"default":["mon"],"label":"曜日","max_items":1,"min_items":1,"name":"days","options":[`+
		`{"label":"月","value":"mon"},{"label":"火","value":"tue"}],"required":false,"type":"choices"},`+
		`{"label":"郵便番号","name":"zip","required":false,"type":"string"}]`) || strings.Contains(string(list.body), "秘密の状態") {
		t.Errorf("waits %s", list.body)
	}
	if waiting.Cause != "input" || waiting.Input.Server != "予約サーバー" || waiting.Input.Round != 1 {
		t.Errorf("waits %+v", waiting)
	}
	decide := func(token string, approved bool, input any) call {
		return call{
			method: "POST", path: "/v1/tool-call/" + waiting.ID.String() + "/decision", token: token,
			body: map[string]any{
				"request_id": newID(), "approved": approved, "arguments_sha256": waiting.ArgumentsSha256, "input": input,
			},
		}
	}
	guest := func(values map[string]any) map[string]any {
		return map[string]any{"action": "accept", "values": map[string]any{"guest": values}}
	}
	values := func(people any) map[string]any { return guest(map[string]any{"people": people}) }
	for field, c := range map[string]call{
		"input.values.guest.people": decide(f.alice.Subject, true, values("二")),
		"input.values.guest.days": decide(f.alice.Subject, true, guest(map[string]any{
			"people": 1, "days": []string{"mon", "tue"},
		})),
		"input.values.guest.zip": decide(f.alice.Subject, true, guest(map[string]any{"people": 1, "zip": "二"})),
		"input.action":           decide(f.alice.Subject, true, map[string]any{"action": "maybe"}),
		"input":                  decide(f.alice.Subject, true, nil),
	} {
		if resp := f.do(c); resp.status != http.StatusBadRequest || !strings.Contains(string(resp.body), `"`+field+`"`) {
			t.Errorf("%s: %d %s", field, resp.status, resp.body)
		}
	}
	if resp := f.do(decide(f.bob.Subject, true, values(3))); resp.status != http.StatusNotFound {
		t.Errorf("a colleague: %d %s", resp.status, resp.body)
	}
	accepted := decide(f.alice.Subject, true, guest(map[string]any{"people": 31, "days": []string{"tue"}}))
	if decided := get[api.ToolApproval](f, http.StatusOK, accepted); decided.State != "approved" || decided.Input.Forms != nil {
		t.Errorf("decided %+v", decided)
	}
	stream := f.do(call{
		method: "GET", path: "/v1/message/" + answer.ID.String() + "/stream", token: f.alice.Subject,
	})
	if !strings.Contains(string(stream.body), `\"values\":{\"guest\":{\"days\":[\"tue\"],\"people\":31}}`) {
		t.Errorf("stream %s", stream.body)
	}
	if again := get[api.ToolApproval](f, http.StatusOK, accepted); again.State != "approved" {
		t.Errorf("again %+v", again)
	}
	if events := f.auditEvents(t, "tool_call.approve"); len(events) != 1 || !strings.Contains(events[0], "input") ||
		strings.Contains(events[0], "31") {
		t.Errorf("logged %s", events)
	}
}
