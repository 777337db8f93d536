package api_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// respond returns a response, which may be streamed.
func respond(
	t *testing.T, client openai.Client, params responses.ResponseNewParams, streams bool,
) *responses.Response {
	t.Helper()
	if !streams {
		got := must.Get(client.Responses.New(t.Context(), params))(t)
		return got
	}
	stream := client.Responses.NewStreaming(t.Context(), params)
	var all responses.ResponseAccumulator
	for i := int64(0); stream.Next(); i++ {
		event := stream.Current()
		if event.SequenceNumber != i {
			t.Errorf("event %d has the number %d", i, event.SequenceNumber)
		}
		var same responses.ResponsesServerEventUnion // The accumulator is made for web sockets.
		err := json.Unmarshal([]byte(event.RawJSON()), &same)
		if err == nil {
			err = all.AddEvent(same)
		}
		if err != nil {
			t.Errorf("%s: %v", event.RawJSON(), err)
		}
	}
	got, err := all.ReconstructedResponse()
	if err != nil || stream.Err() != nil {
		t.Fatal(err, stream.Err())
	}
	if text := all.Snapshot().OutputText(); text != got.OutputText() {
		t.Errorf("the deltas are %q, the text is %q", text, got.OutputText())
	}
	return got
}

// TestOpenAIClientResponds: the same as TestOpenAIClientCallsTools with responses, which are not stored.
func TestOpenAIClientResponds(t *testing.T) {
	t.Parallel()
	f := newScriptedFixture(t)
	client := f.openAIClient()
	for _, streams := range []bool{false, true} {
		params := responses.ResponseNewParams{
			Model: "汎用チャット", Instructions: param.NewOpt("短く答えてください。"), Temperature: param.NewOpt(0.5),
			Metadata: shared.Metadata{"a": "b"},
			Tools:    []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{Name: "weather", Parameters: weather}}},
			Include:  []responses.ResponseIncludable{"reasoning.encrypted_content"},
		}
		input := responses.ResponseInputParam{
			responses.ResponseInputItemParamOfMessage("絹とは", "user"),
			param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(
				`{"type":"message","id":"msg_1","status":"completed","role":"assistant",` +
					`"content":[{"type":"output_text","text":"繭の糸です。","annotations":[],"logprobs":[]}]}`)),
			param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(`{"type":"reasoning","id":"rs_1","summary":[]}`)),
			responses.ResponseInputItemParamOfMessage(toolQuestion, "user"),
		}
		var counts []int
		text := ""
		for text == "" {
			params.Input.OfInputItemList = input
			got := respond(t, client, params, streams)
			if got.Status != "completed" || got.Usage.TotalTokens == 0 || got.Metadata["a"] != "b" || got.Temperature != 0.5 ||
				got.Instructions.OfString != "短く答えてください。" || got.Tools[0].Name != "weather" || got.Object != "response" {
				t.Errorf("response %s", got.RawJSON())
			}
			var results responses.ResponseInputParam
			for _, item := range got.Output {
				input = append(input, param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(item.RawJSON())))
				if item.Type == "function_call" {
					results = append(results, param.Override[responses.ResponseInputItemUnionParam](map[string]string{
						"type": "function_call_output", "call_id": item.CallID, "output": callTool(item.Arguments.OfString),
					}))
				}
			}
			input = append(input, results...)
			if counts = append(counts, len(results)); len(counts) > 3 {
				t.Fatalf("input %+v", input)
			}
			text = got.OutputText()
		}
		if text != toolAnswer || !slices.Equal(counts, []int{2, 1, 0}) {
			t.Errorf("answer %q after %v calls", text, counts)
		}
	}
	stored := -1
	for stored != 0 { // They are deleted when the handlers return.
		f.scan(&stored, `SELECT count(*) FROM threads`)
	}
}

// respondTo asks a skill with a response, with fields added to a plain request.
func (f *fixture) respondTo(fields map[string]any) response {
	f.t.Helper()
	return f.do(call{
		method: "POST", path: "/v1/responses", token: f.alice.Subject,
		body: changed(map[string]any{"model": "汎用チャット", "input": "糸とは"}, fields),
	})
}

// TestResponsesReachTheModel: the parameters of responses are those of completions under other names.
func TestResponsesReachTheModel(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t).Add(llmtest.Answer("{}")...)
	f := newProviderFixture(t, provider)
	schema := map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string"}}}
	for name, test := range map[string]struct {
		fields map[string]any
		want   string // The fields of the request to the provider.
	}{
		"none": {map[string]any{
			"stream": false, "truncation": "disabled", "user": "u", "metadata": map[string]any{"a": "b"}, "include": []any{},
			"background": json.RawMessage("null"), "tools": []any{}, "tool_choice": "auto", "parallel_tool_calls": true,
			"text": map[string]any{"format": map[string]any{"type": "text"}}, "reasoning": map[string]any{},
			"previous_response_id": json.RawMessage("null"), "store": false,
		}, `{}`},
		"numbers": {
			map[string]any{"temperature": 0, "top_p": 0.5, "max_output_tokens": 7},
			`{"temperature":0,"top_p":0.5,"max_tokens":7}`,
		},
		"a schema": {
			map[string]any{"text": map[string]any{"format": map[string]any{
				"type": "json_schema", "name": "answer", "schema": schema, "strict": true,
			}}},
			`{"response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":` +
				`{"type":"object","properties":{"a":{"type":"string"}}}}}}`,
		},
		"a tool": {
			map[string]any{
				"tools": []any{map[string]any{
					"type": "function", "name": "weather", "description": "天気", "parameters": schema, "strict": true,
				}},
				"tool_choice": map[string]any{"type": "function", "name": "weather"},
			},
			`{"tools":[{"type":"function","function":{"name":"weather","description":"天気","strict":true,"parameters":` +
				`{"type":"object","properties":{"a":{"type":"string"}}}}}],` +
				`"tool_choice":{"type":"function","function":{"name":"weather"}}}`,
		},
	} {
		resp := f.respondTo(test.fields)
		if resp.status != http.StatusOK {
			t.Errorf("%s: %d %s", name, resp.status, resp.body)
			continue
		}
		requests := slices.DeleteFunc(provider.Requests(), func(r *llmtest.ReceivedRequest) bool { return r.Title })
		if got := requests[len(requests)-1].Params(t); !reflect.DeepEqual(got, object(t, test.want)) {
			t.Errorf("%s: the provider receives %v", name, got)
		}
	}
	if threads := f.threads(f.alice.Subject); len(threads) > 0 {
		t.Errorf("%d threads are stored", len(threads))
	}
}

func TestResponsesRefuseParameters(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	input := func(items ...any) map[string]any { return map[string]any{"input": append([]any{}, items...)} }
	item := func(kind string, fields map[string]any) map[string]any {
		return changed(map[string]any{"type": kind}, fields)
	}
	question := said("user", "a")
	called := item("function_call", map[string]any{"call_id": "c", "name": "a", "arguments": "{}"})
	result := item("function_call_output", map[string]any{"call_id": "c", "output": "b"})
	tests := map[string]struct {
		fields      map[string]any
		param, code string
	}{
		"no input":         {map[string]any{"input": nil}, "input", "missing_required_parameter"},
		"an empty input":   {input(), "input", ""},
		"a blank question": {map[string]any{"input": " "}, "input", ""},
		"a long question":  {input(said("user", strings.Repeat("あ", 32_001))), "input[0].content", ""},
		"long instructions": {
			map[string]any{"instructions": strings.Repeat("あ", 32_001)}, "instructions", "",
		},
		"an answer first":         {input(said("assistant", "a"), question), "input[0].role", ""},
		"an answer at the end":    {input(question, said("assistant", "a")), "input", ""},
		"a role":                  {input(said("tool", "a")), "input[0].role", ""},
		"a reference":             {input(question, item("item_reference", map[string]any{"id": "msg_1"})), "input[1].type", ""},
		"a search":                {input(question, item("web_search_call", map[string]any{"id": "ws_1"})), "input[1].type", ""},
		"a call first":            {input(called, result), "input[0].type", ""},
		"a call without a result": {input(question, called, question), "input[1]", ""},
		"a result without a call": {input(question, result), "input[1].call_id", ""},
		"another result": {
			input(question, called, changed(result, map[string]any{"call_id": "d"})), "input[2].call_id", "",
		},
		"a call's name": {input(question, changed(called, map[string]any{"name": "天気"}), result), "input[1].name", ""},
		"a file": {
			input(said("user", []any{map[string]any{"type": "input_file", "file_id": "f"}})), "input[0].content[0].type", "",
		},
		"a picture elsewhere": {
			input(said("user", []any{map[string]any{"type": "input_image", "image_url": "https://example.com/a.png"}})),
			"input[0].content[0].image_url", "",
		},
		"a picture in an answer": {
			input(question, said("assistant", []any{map[string]any{"type": "input_image", "image_url": "data:"}})),
			"input[1].content[0].type", "",
		},
		"a tool":    {map[string]any{"tools": []any{map[string]any{"type": "web_search"}}}, "tools[0].type", ""},
		"a choice":  {map[string]any{"tool_choice": map[string]any{"type": "function", "name": "a"}}, "tool_choice", ""},
		"an effort": {map[string]any{"reasoning": map[string]any{"effort": "high"}}, "reasoning.effort", ""},
		"a summary": {map[string]any{"reasoning": map[string]any{"summary": "auto"}}, "reasoning.summary", "unknown_parameter"},
		"thinking":  {map[string]any{"reasoning": map[string]any{"effort": "none"}}, "reasoning", ""},
		"verbosity": {map[string]any{"text": map[string]any{"verbosity": "low"}}, "text.verbosity", "unknown_parameter"},
		"a format":  {map[string]any{"text": map[string]any{"format": map[string]any{"type": "xml"}}}, "text.format.type", ""},
		"a format without a name": {
			map[string]any{"text": map[string]any{"format": map[string]any{"type": "json_schema", "schema": map[string]any{}}}},
			"text.format.name", "missing_required_parameter",
		},
		"storage":    {map[string]any{"store": true}, "store", ""},
		"truncation": {map[string]any{"truncation": "auto"}, "truncation", ""},
		"logprobs":   {map[string]any{"include": []string{"message.output_text.logprobs"}}, "include[0]", ""},
		"obfuscation": {
			map[string]any{"stream": true, "stream_options": map[string]any{"include_obfuscation": true}},
			"stream_options.include_obfuscation", "",
		},
	}
	for _, name := range []string{
		"previous_response_id", "conversation", "background", "prompt", "messages", "max_tokens", "max_tool_calls", "stop",
		"seed", "n", "service_tier", "top_logprobs", "prompt_cache_key", "safety_identifier", "response_format", "Input",
	} {
		tests[name] = struct {
			fields      map[string]any
			param, code string
		}{map[string]any{name: "a"}, name, "unknown_parameter"}
	}
	for name, test := range tests {
		refusedParam(t, name, f.respondTo(test.fields), test.param, test.code)
	}
	if len(f.threads(f.alice.Subject)) != 0 {
		t.Error("something remains of what was refused")
	}
}

// TestResponsesEnd: the state of a response shows how its answer has ended.
func TestResponsesEnd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		steps  []llmtest.Step
		fields map[string]any
		status int
		has    []string // Of the response.
		events []string
	}{
		"incomplete": {
			[]llmtest.Step{llmtest.Text("繭から"), llmtest.Finish("length"), llmtest.Done()},
			map[string]any{"max_output_tokens": 3},
			http.StatusOK,
			[]string{`"status":"incomplete"`, `{"reason":"max_output_tokens"}`, `"text":"繭から"`},
			[]string{
				"created", "in_progress", "output_item.added", "content_part.added", "output_text.delta", "output_text.done",
				"content_part.done", "output_item.done", "incomplete",
			},
		},
		"empty": {
			[]llmtest.Step{llmtest.Open(), llmtest.Finish("length"), llmtest.Done()},
			map[string]any{"max_output_tokens": 3},
			http.StatusOK,
			[]string{`"status":"incomplete"`, `"output":[]`},
			[]string{"created", "in_progress", "incomplete"},
		},
		"failed": {
			[]llmtest.Step{llmtest.Text("繭"), llmtest.Error("gone", "server_error", "")},
			nil, http.StatusServiceUnavailable,
			[]string{`"type":"server_error"`},
			[]string{
				"created", "in_progress", "output_item.added", "content_part.added", "output_text.delta", "failed",
			},
		},
		"refused": {
			[]llmtest.Step{llmtest.Status(http.StatusBadRequest, `{"error":{"message":"max_tokens is too large"}}`)},
			map[string]any{"max_output_tokens": 3},
			http.StatusBadRequest,
			[]string{`"param":"max_output_tokens"`, `"code":"unsupported_parameter"`},
			[]string{"created", "in_progress", "failed"},
		},
	} {
		f := newProviderFixture(t, llmtest.NewProvider(t).Add(test.steps...))
		resp := f.respondTo(test.fields)
		for _, part := range test.has {
			if resp.status != test.status || !strings.Contains(string(resp.body), part) {
				t.Errorf("%s: %d without %s: %s", name, resp.status, part, resp.body)
			}
		}
		resp = f.respondTo(changed(map[string]any{"stream": true}, test.fields))
		var events []string
		for line := range strings.Lines(string(resp.body)) {
			if event, found := strings.CutPrefix(strings.TrimSpace(line), "event: response."); found {
				events = append(events, event)
			}
		}
		if resp.status != http.StatusOK || !slices.Equal(events, test.events) {
			t.Errorf("%s: %d %s", name, resp.status, resp.body)
		}
		if test.status != http.StatusOK && !strings.Contains(string(resp.body), `"status":"failed","store":false`) {
			t.Errorf("%s: %s", name, resp.body)
		}
	}
}

// TestResponsesSwitchThinking: the effort of the reasoning switches the model's thinking.
func TestResponsesSwitchThinking(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixtureWith(t, model, settings{offers: llmtest.Offers{{ID: "m", Name: "モデル", Thinking: llm.ThinkingSwitch}}})
	for effort, thinks := range map[string]bool{"none": false, "medium": true} {
		done := make(chan response, 1)
		go func() { done <- f.respondTo(map[string]any{"reasoning": map[string]any{"effort": effort}}) }()
		asked := model.Next(t)
		if asked.Request.Thinking == nil || *asked.Request.Thinking != thinks {
			t.Errorf("%s: thinking %v", effort, asked.Request.Thinking)
		}
		asked.Emit("はい")
		asked.Finish()
		if resp := <-done; resp.status != http.StatusOK || !strings.Contains(string(resp.body), `{"effort":"`+effort+`"}`) {
			t.Errorf("%s: %d %s", effort, resp.status, resp.body)
		}
	}
}

// TestResponsesInJSON: the format of the text is a schema, which the response repeats.
func TestResponsesInJSON(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say(`{"days": `, `[1]}`), settings{grounder: grounded{}})
	client := f.openAIClient()
	for _, streams := range []bool{false, true} {
		got := respond(t, client, responses.ResponseNewParams{
			Model: "汎用チャット", Input: responses.ResponseNewParamsInputUnion{OfString: param.NewOpt("休暇は")},
			Text: responses.ResponseTextConfigParam{Format: responses.ResponseFormatTextConfigUnionParam{
				OfJSONSchema: &responses.ResponseFormatTextJSONSchemaConfigParam{Name: "leave", Schema: weather},
			}},
		}, streams)
		if got.OutputText() != `{"days": [1]}` || got.Text.Format.Name != "leave" {
			t.Errorf("%s", got.RawJSON())
		}
	}
	resp := f.respondTo(nil)
	if !strings.Contains(string(resp.body), missing) {
		t.Errorf("without the notice: %s", resp.body)
	}
}
