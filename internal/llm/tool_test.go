package llm_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/internal/inproc"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// tools are two tools.
func tools() []llm.Tool {
	return []llm.Tool{
		{
			Name: "calendar", Description: "暦", Parameters: json.RawMessage(
				`{"type":"object","properties":{"date":{"type":"string"}},"required":["date"]}`),
		},
		{Name: "calculate"},
	}
}

const (
	calendarArguments  = `{"date":"2026-11-28"}`
	calculateArguments = `{"expression":"1+1"}`
)

// toolFiles returns the files with calls of tools, relative to testdata/servers.
func toolFiles(t testing.TB) (paths []string) {
	t.Helper()
	files := must.Get(filepath.Glob("testdata/tools/*"))(t)
	for _, file := range files {
		paths = append(paths, "../tools/"+filepath.Base(file))
	}
	return paths
}

// TestToolCallsOfServers reads calls of tools in the documented form of each server; see testdata/servers/README.md.
func TestToolCallsOfServers(t *testing.T) {
	t.Parallel()
	calendar := func(id string) llm.ToolCall {
		return llm.ToolCall{ID: id, Name: "calendar", Arguments: calendarArguments}
	}
	calculate := func(id string) llm.ToolCall {
		return llm.ToolCall{ID: id, Name: "calculate", Arguments: calculateArguments}
	}
	signed := calendar("function-call-1")
	signed.Extra = json.RawMessage(`{"google":{"thought_signature":"c2lnbmF0dXJl"}}`)
	split := calculate("call_b")
	split.Arguments = `{"expression":"1+1","note":"😀"}`
	const created = "created" // An id that the client has created.
	want := map[string]struct {
		text  string
		calls []llm.ToolCall
		code  fault.Code
	}{
		"openai.sse":   {"", []llm.ToolCall{calendar("call_a"), split}, ""},
		"vllm.sse":     {"", []llm.ToolCall{calendar("chatcmpl-tool-1")}, ""},
		"repeated.sse": {"", []llm.ToolCall{calendar("c1")}, ""},
		"ollama.sse":   {"", []llm.ToolCall{calendar("call_x1"), calculate("call_x2")}, ""},
		"llamacpp.sse": {"", []llm.ToolCall{calendar(created), calculate(created)}, ""},
		"mistral.sse":  {"", []llm.ToolCall{calendar("D681PevKs"), calculate("F02kfm3Lq")}, ""},
		"deepseek.sse": {"調べます。", []llm.ToolCall{calendar("call_00_a")}, ""},
		"gemini.sse":   {"", []llm.ToolCall{signed, calculate(created)}, ""},
		"empty-arguments.sse": {"", []llm.ToolCall{
			{ID: created, Name: "calendar", Arguments: "{}"}, {ID: created, Name: "calculate", Arguments: "{}"},
		}, ""},
		"whole.json":            {"", []llm.ToolCall{calendar("w1")}, ""},
		"text-hermes.sse":       {"調べます。\n", []llm.ToolCall{calendar(created), calculate(created)}, ""},
		"text-hermes-think.sse": {"", []llm.ToolCall{calendar(created)}, ""},
		"text-mistral.sse":      {"", []llm.ToolCall{calendar(created)}, ""},
		"text-llama.sse":        {"", []llm.ToolCall{calendar(created)}, ""},
		"text-json.sse":         {`{"name": "佐藤"}`, nil, ""},
		"text-unknown.sse":      {`例: <tool_call>{"name":"rm","arguments":{}}</tool_call> です。<tool`, nil, ""},
		"text-mistral-unknown.sse": {
			`[TOOL_CALLS][{"name":"calendar","arguments":{}},{"name":"rm","arguments":{}}]`, nil, "",
		},
		"length.sse":   {"途中", nil, ""},
		"too-many.sse": {"", nil, llm.CodeBadResponse},
	}
	if files := toolFiles(t); len(files) != len(want) {
		t.Fatalf("%d files", len(files))
	}
	for name, want := range want {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind, body := recorded(t, "../tools/"+name)
			for _, reader := range []io.Reader{bytes.NewReader(body), iotest.OneByteReader(bytes.NewReader(body))} {
				client := newClient(t, llm.Config{MaxRetries: -1, Transport: respondOnce(kind, reader)})
				req := question()
				req.Tools = tools()
				text, _, result, err := ask(t, client, req)
				wantCode(t, err, want.code)
				ids := make(map[string]bool)
				for i, call := range result.ToolCalls {
					if len(call.ID) == 9 && want.calls[i].ID == created {
						result.ToolCalls[i].ID = created
					}
					ids[call.ID] = true
					var compact bytes.Buffer
					if err := json.Compact(&compact, []byte(call.Arguments)); err != nil {
						t.Errorf("arguments %q: %v", call.Arguments, err)
					}
					result.ToolCalls[i].Arguments = compact.String()
				}
				if text != want.text || !reflect.DeepEqual(result.ToolCalls, want.calls) || len(ids) != len(want.calls) {
					t.Errorf("got %q, %+v\nwant %q, %+v", text, result.ToolCalls, want.text, want.calls)
				}
				finish := map[string]llm.FinishReason{
					"length.sse": llm.FinishLength, "text-json.sse": llm.FinishStop, "text-unknown.sse": llm.FinishStop,
					"text-mistral-unknown.sse": llm.FinishStop, "too-many.sse": "",
				}
				if wanted, other := finish[name]; (other || result.FinishReason != llm.FinishTools) && result.FinishReason != wanted {
					t.Errorf("finish reason %q", result.FinishReason)
				}
			}
		})
	}
}

// TestRequestsWithTools checks what a server receives: the tools, and the calls and results of earlier requests with
// their extra fields.
func TestRequestsWithTools(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t).Add(llmtest.Answer("祝日ではありません。")...)
	client := newClient(t, llm.Config{BaseURL: provider.URL()})
	req, parallel := question(), false
	req.Tools, req.ParallelToolCalls = tools(), &parallel
	req.ToolChoice = llm.ToolChoice{Mode: llm.ToolNamed, Name: "calendar"}
	calls := []llm.ToolCall{{
		ID: "c1", Name: "calendar", Arguments: calendarArguments, Extra: json.RawMessage(`{"google":{"thought_signature":"eA=="}}`),
	}}
	req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Content: "調べます。", ToolCalls: calls},
		llm.Message{Role: llm.RoleTool, Content: "土曜日", ToolCallID: "c1"})
	if _, _, _, err := ask(t, client, req); err != nil {
		t.Fatal(err)
	}
	got := provider.Requests()[0]
	if !reflect.DeepEqual(got.Messages, req.Messages) {
		t.Errorf("messages %+v\nwant %+v", got.Messages, req.Messages)
	}
	if len(got.Tools) != 2 || string(got.Tools[1].Parameters) != `{"properties":{},"type":"object"}` {
		t.Errorf("tools %s", got.Body)
	}
	for _, field := range []string{
		`"parallel_tool_calls":false`, `"tool_choice":{"function":{"name":"calendar"},"type":"function"}`,
	} {
		if !bytes.Contains(got.Body, []byte(field)) {
			t.Errorf("%s is missing in %s", field, got.Body)
		}
	}
}

// TestModelsWithoutToolsAnswerWithout: a model that refuses tools is asked without them, once and for later requests,
// unless the request is exact.
func TestModelsWithoutToolsAnswerWithout(t *testing.T) {
	t.Parallel()
	for _, refusal := range []string{
		`{"error":{"message":"registry.ollama.ai/library/gemma3:4b does not support tools","type":"invalid_request_error"}}`,
		`{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}`,
		`{"error":{"code":500,"message":"tools param requires --jinja flag","type":"invalid_request_error"}}`,
	} {
		provider := llmtest.NewProvider(t).Add(llmtest.Status(http.StatusBadRequest, refusal)).
			Add(llmtest.Answer("はい。")...)
		client := newClient(t, llm.Config{BaseURL: provider.URL()})
		req := question()
		req.Tools = tools()
		for range 2 {
			if text, _, result, err := ask(t, client, req); err != nil || text != "はい。" || !result.ToolsRefused {
				t.Fatalf("%q, %+v, %v", text, result, err)
			}
		}
		requests := provider.Requests()
		if len(requests) != 3 || len(requests[0].Tools) != 2 || len(requests[1].Tools)+len(requests[2].Tools) != 0 {
			t.Errorf("%d requests", len(requests))
		}

		provider = llmtest.NewProvider(t).Add(llmtest.Status(http.StatusBadRequest, refusal))
		req.Exact = true
		_, _, _, err := ask(t, newClient(t, llm.Config{BaseURL: provider.URL()}), req)
		if code := string(fault.CodeOf(err)); !strings.HasPrefix(code, string(llm.CodeUnsupported)+"tool") {
			t.Errorf("code %q", code)
		}
	}
}

// TestReasoningIsSentBackToServersThatDemandIt: DeepSeek refuses calls without the reasoning before them.
func TestReasoningIsSentBackToServersThatDemandIt(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t).Add(llmtest.Status(http.StatusBadRequest,
		`{"error":{"message":"The reasoning_content in the thinking mode must be passed back to the API.","type":"invalid_request_error"}}`,
	)).Add(llmtest.Answer("土曜日です。")...)
	req := question()
	req.Tools = tools()
	req.Messages = append(req.Messages, llm.Message{
		Role: llm.RoleAssistant, Reasoning: "日付が要る。", ToolCalls: []llm.ToolCall{{ID: "c", Name: "calendar", Arguments: "{}"}},
	}, llm.Message{Role: llm.RoleTool, Content: "土曜日", ToolCallID: "c"})
	if _, _, _, err := ask(t, newClient(t, llm.Config{BaseURL: provider.URL()}), req); err != nil {
		t.Fatal(err)
	}
	field := []byte(`"reasoning_content":"日付が要る。"`)
	if requests := provider.Requests(); bytes.Contains(requests[0].Body, field) || !bytes.Contains(requests[1].Body, field) {
		t.Errorf("%s\n%s", requests[0].Body, requests[1].Body)
	}
}

// TestScriptedToolCalls checks the handler that other tests use as a model.
func TestScriptedToolCalls(t *testing.T) {
	t.Parallel()
	client := newClient(t, llm.Config{Transport: &inproc.Transport{Handler: llmtest.NewHandler(0)}})
	req := llm.Request{Messages: []llm.Message{{
		Role:    llm.RoleUser,
		Content: `@script {"tool_calls": [[{"name": "calendar", "arguments": "{\"date\":\"祝日\"}"}]], "results": true}`,
	}}}
	req.Tools = tools()
	_, _, result, err := ask(t, client, req)
	if err != nil || len(result.ToolCalls) != 1 || result.ToolCalls[0].Arguments != `{"date":"祝日"}` {
		t.Fatalf("%+v, %v", result, err)
	}
	req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, ToolCalls: result.ToolCalls},
		llm.Message{Role: llm.RoleTool, Content: "土曜日です。", ToolCallID: result.ToolCalls[0].ID})
	if text, _, _, err := ask(t, client, req); err != nil || text != "土曜日です。" {
		t.Errorf("%q, %v", text, err)
	}
}
