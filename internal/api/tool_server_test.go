package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// TestAnswersCallToolsOfServers: a super-admin adds a server and allows its tool, a member's skill has the tool, and an
// answer calls it. The audit log has the changes.
func TestAnswersCallToolsOfServers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Func(func(_ context.Context, req llm.Request, emit func(string)) (llm.Result, error) {
		last := req.Messages[len(req.Messages)-1]
		switch {
		case llmtest.IsTitle(req.Messages):
			emit("題")
		case last.Role == llm.RoleTool:
			emit(last.Content)
		case len(req.Tools) > 0:
			return llm.Result{FinishReason: llm.FinishTools, ToolCalls: []llm.ToolCall{
				{ID: "c1", Name: req.Tools[0].Name, Arguments: `{"name": "山田"}`},
			}}, nil
		default:
			emit("ツールなし")
		}
		return llm.Result{FinishReason: llm.FinishStop}, nil
	}))
	crm := sdk.NewServer(&sdk.Implementation{Name: "crm", Version: "1"}, nil)
	crm.AddTool(&sdk.Tool{
		Name: "find_customer", Title: "顧客の検索", Description: "顧客を探します。",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
	}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "見つかった: " + string(r.Params.Arguments)}}}, nil
	})
	remote := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return crm },
		&sdk.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(remote.Close)
	f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", f.bob.ID)
	super := f.bob.Subject
	server := get[api.ToolServer](f, http.StatusCreated, call{
		method: "POST", path: "/v1/tool-server", token: super, body: map[string]any{
			"key": "crm", "name": "顧客管理", "url": remote.URL, "auth": "none",
		},
	})
	path := "/v1/tool-server/" + server.ID.String()
	server = get[api.ToolServer](f, http.StatusOK, call{method: "POST", path: path + "/discover", token: super})
	if len(server.Tools) != 1 || server.Tools[0].Rule != "ask" || server.Tools[0].State != "usable" ||
		!strings.Contains(server.Tools[0].Schema, `"required":["name"]`) {
		t.Fatalf("got %+v", server)
	}
	name := server.Tools[0].Name
	made := f.madeSkill(f.alice.Subject, "self", map[string]any{
		"tools": []string{name}, "form_fields": []any{}, "prompt": "顧客を探す。",
	})
	question := func(path string) call {
		t.Helper()
		question := f.ask(get[api.Thread](f, http.StatusCreated, call{
			method: "POST", path: "/v1/thread", token: f.alice.Subject, body: map[string]any{"skill_id": made.ID},
		}), "山田さんは？")
		question.path = path
		return question
	}
	ask := func() string {
		t.Helper()
		return get[api.Exchange](f, http.StatusOK, question("/v1/message/sync")).Answer.Content
	}
	asked := get[api.Exchange](f, http.StatusAccepted, question("/v1/message/async")).Answer
	waiting := f.waitingCall()
	if !strings.HasSuffix(waiting.Title, "顧客の検索") || waiting.MessageID != asked.ID {
		t.Errorf("waits %+v", waiting)
	}
	get[api.ToolApproval](f, http.StatusOK, call{
		method: "POST", path: "/v1/tool-call/" + waiting.ID.String() + "/decision", token: f.alice.Subject,
		body: map[string]any{"request_id": newID(), "approved": false, "arguments_sha256": waiting.ArgumentsSha256},
	})
	refused := f.do(call{method: "GET", path: "/v1/message/" + asked.ID.String() + "/stream", token: f.alice.Subject})
	if !strings.Contains(string(refused.body), "利用者が拒否しました") {
		t.Errorf("after the refusal: %s", refused.body)
	}
	get[api.ToolServer](f, http.StatusOK, call{
		method: "PUT", path: path + "/tool/" + name, token: super, body: map[string]any{"rule": "allow", "read_only": true},
	})
	if answer := ask(); !strings.Contains(answer, `見つかった: {"name":"山田"}`) {
		t.Errorf("answer %q", answer)
	}
	available := get[api.AvailableToolList](f, http.StatusOK, call{method: "GET", path: "/v1/tool", token: f.alice.Subject})
	if len(available.Items) != 1 || available.Items[0].Tools[0].Title != "顧客の検索" {
		t.Errorf("available %+v", available)
	}
	if resp := f.do(call{method: "DELETE", path: path, token: super}); resp.status != http.StatusNoContent {
		t.Errorf("%d %s", resp.status, resp.body)
	}
	if answer := ask(); answer != "ツールなし" {
		t.Errorf("after the server was removed: %q", answer)
	}
	log := get[api.AuditEventList](f, http.StatusOK, call{method: "GET", path: "/v1/audit?kind=administration", token: super})
	var actions []string
	for _, event := range log.Items {
		if strings.HasPrefix(event.Action, "tool") {
			actions = append(actions, event.Action)
		}
	}
	if got := strings.Join(actions, " "); got != "tool_server.delete tool.edit tool_call.deny tool_server.create" {
		t.Errorf("audit log: %s", got)
	}
}
