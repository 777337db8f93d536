package api_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	apiopenai "github.com/tsumugi-ai/tsumugi/internal/api/openai"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// newScriptedFixture returns a server whose model follows the directive in the question, and records its requests.
func newScriptedFixture(t *testing.T) *fixture {
	t.Helper()
	provider := httptest.NewServer(llmtest.NewHandler(0))
	t.Cleanup(provider.Close)
	model := must.Get(llm.NewClient(llm.Config{BaseURL: provider.URL, Model: "test", MaxRetries: -1}))(t)
	t.Cleanup(model.Close)
	return newFixture(t, model)
}

// toolQuestion makes the model call the tool weather twice and then once, and answer with the results.
const toolQuestion = `@script {"tool_calls": [` +
	`[{"name": "weather", "arguments": "{\"city\":\"京都\"}"}, {"name": "weather", "arguments": "{\"city\":\"奈良\"}"}],` +
	`[{"name": "weather", "arguments": "{}"}]], "results": true}`

// toolAnswer is the answer to toolQuestion with the results of callTool.
const toolAnswer = `{"city":"京都"}は晴れ` + "\n\n" + `{"city":"奈良"}は晴れ` + "\n\n" + `{}は晴れ`

func callTool(arguments string) string { return arguments + "は晴れ" }

// weather are the parameters of the tool.
var weather = map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}}

// TestOpenAIClientCallsTools: a program makes the calls of an answer, and asks again with their results until it
// receives a text. The thread of the first request shows the calls.
func TestOpenAIClientCallsTools(t *testing.T) {
	t.Parallel()
	f := newScriptedFixture(t)
	client := f.openAIClient()
	for _, streams := range []bool{false, true} {
		params := openai.ChatCompletionNewParams{
			Model: "汎用チャット", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(toolQuestion)},
			Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
				Name: "weather", Parameters: weather, Strict: param.NewOpt(true),
			})},
			ParallelToolCalls: param.NewOpt(true), StreamOptions: openai.ChatCompletionStreamOptionsParam{},
		}
		var counts []int
		text := ""
		for text == "" {
			got := complete(t, client, params, streams)
			choice := got.Choices[0]
			params.Messages = append(params.Messages, choice.Message.ToParam())
			for _, call := range choice.Message.ToolCalls {
				if call.Type != "function" || call.Function.Name != "weather" {
					t.Errorf("call %+v", call)
				}
				params.Messages = append(params.Messages, openai.ToolMessage(callTool(call.Function.Arguments), call.ID))
			}
			if counts = append(counts, len(choice.Message.ToolCalls)); len(counts) > 3 {
				t.Fatalf("messages %+v", params.Messages)
			}
			text = choice.Message.Content
			if want := map[bool]string{true: "stop", false: "tool_calls"}[text != ""]; choice.FinishReason != want {
				t.Errorf("finish reason %q", choice.FinishReason)
			}
			if text == "" && !streams && !strings.Contains(got.RawJSON(), `"content":null`) {
				t.Errorf("no content: %s", got.RawJSON())
			}
		}
		if text != toolAnswer || !slices.Equal(counts, []int{2, 1, 0}) {
			t.Errorf("answer %q after %v calls", text, counts)
		}
	}
	threads := f.threads(f.alice.Subject)
	if len(threads) != 6 {
		t.Fatalf("%d threads", len(threads))
	}
	said := get[api.MessageList](f, http.StatusOK, call{
		method: "GET", path: "/v1/message?thread_id=" + threads[5].ID.String(), token: f.alice.Subject,
	}).Items
	calls := said[0].ToolCalls
	if len(said) != 2 || len(calls) != 2 || calls[0].Status != api.ToolCallStatusReturned || calls[0].Title != "weather" ||
		calls[1].Arguments != `{"city":"奈良"}` || said[0].FinishReason != api.Stop {
		t.Errorf("stored %+v", said)
	}
	var answers int
	if f.scan(&answers, `SELECT count(*) FROM messages WHERE tool_calls IS NOT NULL`); answers != 4 {
		t.Errorf("%d answers have calls", answers)
	}
	resp := f.do(call{
		method: "GET", path: "/v1/message/" + said[0].ID.String() + "/stream", token: f.alice.Subject,
	})
	if !strings.Contains(string(resp.body), `"providerExecuted":false`) || strings.Contains(string(resp.body), "tool-output") {
		t.Errorf("stream %s", resp.body)
	}
	suggestions := get[api.SuggestionList](f, http.StatusOK, call{
		method: "POST", path: "/v1/message/" + said[0].ID.String() + "/suggestion", token: f.alice.Subject,
	})
	if len(suggestions.Items) != 0 {
		t.Errorf("suggestions after calls: %v", suggestions)
	}
}

// complete returns a completion, which may be streamed.
func complete(
	t *testing.T, client openai.Client, params openai.ChatCompletionNewParams, streams bool, options ...option.RequestOption,
) *openai.ChatCompletion {
	t.Helper()
	if !streams {
		got := must.Get(client.Chat.Completions.New(t.Context(), params, options...))(t)
		return got
	}
	stream := client.Chat.Completions.NewStreaming(t.Context(), params, options...)
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		if !all.AddChunk(stream.Current()) {
			t.Errorf("a chunk that does not fit: %+v", stream.Current())
		}
	}
	if err := stream.Err(); err != nil || len(all.Choices) != 1 {
		t.Fatalf("%+v, %v", all.ChatCompletion, err)
	}
	return &all.ChatCompletion
}

// TestOpenAICallsRepeat: a repeated request returns the same calls.
func TestOpenAICallsRepeat(t *testing.T) {
	t.Parallel()
	f := newScriptedFixture(t)
	client, key := f.openAIClient(), option.WithHeader("Idempotency-Key", "stainless-node-retry-2")
	params := openai.ChatCompletionNewParams{
		Model: "汎用チャット", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(
			`@script {"tool_calls": [[{"name": "weather", "arguments": "` + strings.Repeat("あ", 20_000) + `"}]]}`)},
		Tools: []openai.ChatCompletionToolUnionParam{
			openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "weather"}),
		},
	}
	first := complete(t, client, params, false, key)
	for _, streams := range []bool{false, true} {
		again := complete(t, client, params, streams, key)
		got, want := again.Choices[0].Message.ToolCalls, first.Choices[0].Message.ToolCalls
		if again.ID != first.ID || len(got) != 1 || got[0].ID != want[0].ID ||
			got[0].Function.Arguments != strings.Repeat("あ", 20_000) {
			t.Errorf("%+v, first %+v", got, want)
		}
	}
	params.ToolChoice = openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: param.NewOpt("required")}
	if _, err := client.Chat.Completions.New(t.Context(), params, key); err == nil {
		t.Error("another request has the same key")
	}
}

// toolRequest returns the fields of a request with a tool.
func toolRequest(fields map[string]any) map[string]any {
	return changed(map[string]any{
		"tools": []any{map[string]any{"type": "function", "function": map[string]any{"name": "weather"}}},
	}, fields)
}

// calling returns a message of the assistant with calls.
func calling(content any, ids ...string) map[string]any {
	calls := []any{}
	for _, id := range ids {
		calls = append(calls, map[string]any{
			"id": id, "type": "function", "function": map[string]any{"name": "weather", "arguments": `{"id":"` + id + `"}`},
		})
	}
	return map[string]any{"role": "assistant", "content": content, "tool_calls": calls}
}

// resulting returns a message with the result of a call.
func resulting(id string) map[string]any {
	return map[string]any{"role": "tool", "tool_call_id": id, "content": "結果" + id}
}

// TestToolsReachTheModel: the model receives the tools, and the calls of the conversation if the request has tools.
func TestToolsReachTheModel(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t).Add(llmtest.Answer("はい")...)
	f := newProviderFixture(t, provider)
	signed := calling("調べます。", "a", "b")
	signed["tool_calls"].([]any)[0].(map[string]any)["extra_content"] = map[string]any{"google": map[string]any{"x": "y"}}
	conversation := []any{
		said("user", "京都の天気は"), signed, resulting("b"), resulting("a"), calling(nil, "c"), resulting("c"),
		said("assistant", "晴れです。"), said("user", "奈良は"), calling("はい。", "c"), said("developer", "短く"), resulting("c"),
	}
	called := func(content string, calls ...llm.ToolCall) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, Content: content, ToolCalls: calls}
	}
	result := func(id string) llm.Message {
		return llm.Message{Role: llm.RoleTool, Content: "結果" + id, ToolCallID: id}
	}
	callOf := func(id string) llm.ToolCall {
		return llm.ToolCall{ID: id, Name: "weather", Arguments: `{"id":"` + id + `"}`}
	}
	first := callOf("a")
	first.Extra = json.RawMessage(`{"google":{"x":"y"}}`)
	answer := llm.Message{Role: llm.RoleAssistant, Content: "晴れです。"}
	last := []llm.Message{{Role: llm.RoleUser, Content: "奈良は"}, called("はい。", callOf("c")), result("c")}
	earlier := []llm.Message{
		{Role: llm.RoleUser, Content: "京都の天気は"},
		called("調べます。", first, callOf("b")),
		result("a"),
		result("b"),
		called("", callOf("c")),
		result("c"),
		answer,
	}
	withoutCalls := []llm.Message{
		{Role: llm.RoleUser, Content: "京都の天気は"}, {Role: llm.RoleAssistant, Content: "調べます。\n\n晴れです。"},
	}
	schema := map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string"}}}
	tool := map[string]any{"name": "weather", "description": "天気", "parameters": schema, "strict": true}
	for name, test := range map[string]struct {
		fields   map[string]any
		want     string // The fields of the request to the provider.
		messages []llm.Message
	}{
		"tools": {
			map[string]any{
				"tools": []any{map[string]any{"type": "function", "function": tool}}, "parallel_tool_calls": false,
				"tool_choice": map[string]any{"type": "function", "function": map[string]any{"name": "weather"}},
			},
			`{"tools":[{"type":"function","function":{"name":"weather","description":"天気","strict":true,"parameters":` +
				`{"type":"object","properties":{"a":{"type":"string"}}}}}],"parallel_tool_calls":false,` +
				`"tool_choice":{"type":"function","function":{"name":"weather"}}}`, slices.Concat(earlier, last),
		},
		"required": {
			toolRequest(map[string]any{"tool_choice": "required"}),
			`{"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{}}}}],` +
				`"tool_choice":"required"}`, slices.Concat(earlier, last),
		},
		"no tools": {
			map[string]any{"tools": []any{}, "tool_choice": "none", "parallel_tool_calls": true},
			`{}`,
			slices.Concat(withoutCalls, last),
		},
	} {
		resp := f.complete(changed(test.fields, map[string]any{
			"messages": conversation, "temperature": json.RawMessage("null"),
		}))
		if resp.status != http.StatusOK {
			t.Errorf("%s: %d %s", name, resp.status, resp.body)
			continue
		}
		requests := slices.DeleteFunc(provider.Requests(), func(r *llmtest.ReceivedRequest) bool { return r.Title })
		got := requests[len(requests)-1]
		if !reflect.DeepEqual(got.Params(t), object(t, test.want)) {
			t.Errorf("%s: the provider receives %v", name, got.Params(t))
		}
		if !reflect.DeepEqual(got.Messages[1:], test.messages) {
			t.Errorf("%s: the provider receives %+v\nwant %+v", name, got.Messages[1:], test.messages)
		}
		if !strings.Contains(got.Messages[0].Content, "短く") {
			t.Errorf("%s: instructions %q", name, got.Messages[0].Content)
		}
	}
}

// refusedParam checks that a response refuses a parameter.
func refusedParam(t *testing.T, what string, resp response, name, code string) {
	t.Helper()
	var got apiopenai.OpenAIError
	if err := json.Unmarshal(resp.body, &got); err != nil || resp.status != http.StatusBadRequest ||
		got.Error.Param == nil || *got.Error.Param != name || got.Error.Code != cmp.Or(code, "invalid_value") ||
		got.Error.Message == "" || got.Error.Type != "invalid_request_error" {
		t.Errorf("%s: %d %.300s", what, resp.status, resp.body)
	}
}

func TestToolsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	function := func(fields map[string]any) map[string]any {
		return map[string]any{"tools": []any{map[string]any{
			"type": "function", "function": changed(map[string]any{"name": "a"}, fields),
		}}}
	}
	conversation := func(messages ...any) map[string]any {
		return toolRequest(map[string]any{"messages": append([]any{said("user", "a")}, messages...)})
	}
	alike := function(nil)["tools"].([]any)[0]
	var long []any
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		long = append(long, map[string]any{"type": "function", "function": map[string]any{
			"name": name, "parameters": map[string]any{"a": strings.Repeat("a", 60<<10)},
		}})
	}
	for name, test := range map[string]struct {
		fields      map[string]any
		param, code string
	}{
		"tools of wrong type":  {map[string]any{"tools": 0}, "tools", "invalid_type"},
		"many tools":           {map[string]any{"tools": slices.Repeat([]any{alike}, 129)}, "tools", ""},
		"two of one name":      {map[string]any{"tools": []any{alike, alike}}, "tools[1].function.name", ""},
		"another kind of tool": {map[string]any{"tools": []any{map[string]any{"type": "web_search"}}}, "tools[0].type", ""},
		"no function": {
			map[string]any{"tools": []any{map[string]any{"type": "function"}}}, "tools[0].function", "missing_required_parameter",
		},
		"a name":      {function(map[string]any{"name": "天気"}), "tools[0].function.name", ""},
		"a long name": {function(map[string]any{"name": strings.Repeat("a", 65)}), "tools[0].function.name", ""},
		"no name":     {function(map[string]any{"name": nil}), "tools[0].function.name", "missing_required_parameter"},
		"a schema of text": {
			function(map[string]any{"parameters": "a"}), "tools[0].function.parameters", "invalid_type",
		},
		"a deep schema": {function(map[string]any{"parameters": nested(65)}), "tools[0].function.parameters", ""},
		"a long schema": {
			function(map[string]any{"parameters": map[string]any{"a": strings.Repeat("a", 64<<10)}}),
			"tools[0].function.parameters", "",
		},
		"a long description": {
			function(map[string]any{"description": strings.Repeat("あ", 4_097)}), "tools[0].function.description", "",
		},
		"long schemas":        {map[string]any{"tools": long}, "tools", ""},
		"a function and more": {function(map[string]any{"a": 1}), "tools[0].function.a", "unknown_parameter"},
		"a choice":            {toolRequest(map[string]any{"tool_choice": "any"}), "tool_choice", ""},
		"a choice of number":  {toolRequest(map[string]any{"tool_choice": 1}), "tool_choice", "invalid_type"},
		"an unknown choice": {
			toolRequest(map[string]any{
				"tool_choice": map[string]any{"type": "function", "function": map[string]any{"name": "none"}},
			}), "tool_choice", "",
		},
		"a choice without tools": {map[string]any{"tool_choice": "required"}, "tool_choice", ""},
		"parallel calls":         {toolRequest(map[string]any{"parallel_tool_calls": "yes"}), "parallel_tool_calls", "invalid_type"},

		"a result without a call": {conversation(resulting("a")), "messages[1].role", ""},
		"an unknown call":         {conversation(calling(nil, "a"), resulting("b")), "messages[2].tool_call_id", ""},
		"two results of a call": {
			conversation(calling(nil, "a", "b"), resulting("a"), resulting("a")), "messages[3].tool_call_id", "",
		},
		"a call without a result": {
			conversation(calling(nil, "a", "b"), resulting("a"), said("user", "c")), "messages[1].tool_calls", "",
		},
		"a call at the end": {conversation(calling(nil, "a")), "messages[1].tool_calls", ""},
		"an answer before the result": {
			conversation(calling(nil, "a"), said("assistant", "b"), resulting("a")), "messages[1].tool_calls", "",
		},
		"two calls of one id": {conversation(calling(nil, "a", "a"), resulting("a")), "messages[1].tool_calls[1].id", ""},
		"a call of the user": {
			conversation(changed(calling("a", "a"), map[string]any{"role": "user"})), "messages[1].tool_calls", "unknown_parameter",
		},
		"a text after the results": {
			conversation(calling(nil, "a"), resulting("a"), said("assistant", "b")), "messages", "",
		},
		"a long result": {
			conversation(calling(nil, "a"), changed(resulting("a"), map[string]any{"content": strings.Repeat("a", 1<<20)})),
			"messages", "",
		},
		"no calls and no text": {
			conversation(changed(calling(nil), map[string]any{"content": nil})), "messages[1].content",
			"missing_required_parameter",
		},
	} {
		refusedParam(t, name, f.complete(test.fields), test.param, test.code)
	}
	if len(f.threads(f.alice.Subject)) != 0 {
		t.Error("something remains of what was refused")
	}
}
