package api_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/tsumugi-ai/tsumugi/chat"
	apiopenai "github.com/tsumugi-ai/tsumugi/internal/api/openai"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// newProviderFixture returns a server with a scripted provider.
func newProviderFixture(t *testing.T, provider *llmtest.Provider) *fixture {
	t.Helper()
	model := must.Get(llm.NewClient(llm.Config{BaseURL: provider.URL(), Model: "test", MaxRetries: -1}))(t)
	t.Cleanup(model.Close)
	return newFixture(t, model)
}

// complete asks a skill, with fields added to a plain request.
func (f *fixture) complete(fields map[string]any) response {
	f.t.Helper()
	return f.do(call{
		method: "POST", path: "/v1/chat/completions", token: f.alice.Subject,
		body: changed(completionOf("汎用チャット"), fields),
	})
}

// said returns a message. content is a text or a list of parts.
func said(role string, content any) map[string]any {
	return map[string]any{"role": role, "content": content}
}

// picturePart returns a part of a message that is a picture.
func picturePart(url string) map[string]any {
	return map[string]any{"type": "image_url", "image_url": map[string]any{"url": url, "detail": "high"}}
}

func dataURL(content []byte) string {
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(content)
}

// nested returns a schema with the given nesting depth.
func nested(depth int) json.RawMessage {
	return json.RawMessage(strings.Repeat(`{"a":`, depth-1) + "{}" + strings.Repeat("}", depth-1))
}

func inSchema(fields map[string]any) map[string]any {
	schema := map[string]any{"name": "answer", "schema": map[string]any{"type": "object"}}
	return map[string]any{"response_format": map[string]any{
		"type": "json_schema", "json_schema": changed(schema, fields),
	}}
}

// object returns a JSON object.
func object(t *testing.T, source string) (o map[string]any) {
	t.Helper()
	must.Succeed(t, json.Unmarshal([]byte(source), &o))
	return o
}

func TestCompletionParametersReachTheModel(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t).Add(llmtest.Answer("{}")...)
	f := newProviderFixture(t, provider)
	for name, test := range map[string]struct {
		fields map[string]any
		want   string // The fields of the request to the provider.
	}{
		"none": {map[string]any{"temperature": nil}, `{}`},
		"null": {map[string]any{
			"temperature": json.RawMessage("null"), "tools": json.RawMessage("null"), "stop": json.RawMessage("null"),
			"response_format": json.RawMessage("null"), "store": json.RawMessage("null"), "n": json.RawMessage("null"),
		}, `{}`},
		"zeros": {map[string]any{"temperature": 0, "top_p": 0, "seed": 0}, `{"temperature":0,"top_p":0,"seed":0}`},
		"most": {map[string]any{
			"temperature": 2, "top_p": 1, "seed": -9007199254740991, "max_tokens": 10_000_000, "user": "u", "n": 1,
		}, `{"temperature":2,"top_p":1,"seed":-9007199254740991,"max_tokens":10000000}`},
		"max_completion_tokens": {
			map[string]any{"temperature": 0.7, "max_completion_tokens": 1}, `{"temperature":0.7,"max_tokens":1}`,
		},
		"a stop": {map[string]any{"temperature": nil, "stop": "\n"}, `{"stop":["\n"]}`},
		"stops":  {map[string]any{"temperature": nil, "stop": []string{"a", "b", "。", "d"}}, `{"stop":["a","b","。","d"]}`},
		"text":   {map[string]any{"temperature": nil, "response_format": map[string]any{"type": "text"}}, `{}`},
		"JSON": {
			map[string]any{"temperature": nil, "response_format": map[string]any{"type": "json_object"}},
			`{"response_format":{"type":"json_object"}}`,
		},
		"a schema": {
			inSchema(map[string]any{"strict": true, "description": "説明", "schema": nested(64)}),
			`{"temperature":0.5,"response_format":{"type":"json_schema","json_schema":` +
				`{"name":"answer","description":"説明","strict":true,"schema":` + string(nested(64)) + `}}}`,
		},
		"nothing that the model is told": {map[string]any{
			"temperature": nil, "user": strings.Repeat("あ", 512), "metadata": map[string]any{"a": "b"}, "store": false,
		}, `{}`},
	} {
		resp := f.complete(test.fields)
		requests := slices.DeleteFunc(provider.Requests(), func(r *llmtest.ReceivedRequest) bool { return r.Title })
		if resp.status != http.StatusOK {
			t.Errorf("%s: %d %s", name, resp.status, resp.body)
			continue
		}
		if got := requests[len(requests)-1].Params(t); !reflect.DeepEqual(got, object(t, test.want)) {
			t.Errorf("%s: the provider receives %v", name, got)
		}
	}
}

func TestCompletionsRefuseParameters(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	parts := func(list ...any) map[string]any { return map[string]any{"messages": []any{said("user", list)}} }
	text := map[string]any{"type": "text", "text": "a"}
	tests := map[string]struct {
		fields      map[string]any
		param, code string
	}{
		"no model":              {map[string]any{"model": nil}, "model", "missing_required_parameter"},
		"a model of wrong type": {map[string]any{"model": 1}, "model", "invalid_type"},
		"no messages":           {map[string]any{"messages": []any{}}, "messages", "invalid_value"},
		"an object of messages": {map[string]any{"messages": map[string]any{}}, "messages", "invalid_type"},
		"a message that is a text": {
			map[string]any{"messages": []any{"a"}}, "messages[0]", "invalid_type",
		},
		"an answer at the end": {
			map[string]any{"messages": []any{said("user", "a"), said("assistant", "b")}}, "messages", "invalid_value",
		},
		"an answer first": {
			map[string]any{"messages": []any{said("assistant", "a"), said("user", "b")}}, "messages[0].role", "invalid_value",
		},
		"a tool": {map[string]any{"messages": []any{said("tool", "a")}}, "messages[0].role", "invalid_value"},
		"no role": {
			map[string]any{"messages": []any{map[string]any{"content": "a"}}},
			"messages[0].role", "missing_required_parameter",
		},
		"no content": {
			map[string]any{"messages": []any{map[string]any{"role": "user"}}},
			"messages[0].content", "missing_required_parameter",
		},
		"content of wrong type": {
			map[string]any{"messages": []any{said("user", 1)}}, "messages[0].content", "invalid_type",
		},
		"a name": {
			map[string]any{"messages": []any{changed(said("user", "a"), map[string]any{"name": "田中"})}},
			"messages[0].name", "unknown_parameter",
		},
		"nothing": {
			map[string]any{"messages": []any{said("system", "a"), said("user", " ")}}, "messages[1].content", "invalid_value",
		},
		"a long question": {
			map[string]any{"messages": []any{said("user", strings.Repeat("あ", chat.MaxContent+1))}},
			"messages[0].content", "invalid_value",
		},
		"long instructions": {
			map[string]any{"messages": []any{said("system", strings.Repeat("あ", 32_001)), said("user", "a")}},
			"messages", "invalid_value",
		},
		"many messages": {map[string]any{"messages": slices.Repeat([]any{said("user", "a")}, 1_001)}, "messages", "invalid_value"},
		"a part without text": {
			parts(map[string]any{"type": "text"}), "messages[0].content[0].text", "missing_required_parameter",
		},
		"a part of a part": {
			parts(changed(text, map[string]any{"cache_control": map[string]any{}})), "messages[0].content[0].cache_control",
			"unknown_parameter",
		},
		"audio": {
			parts(text, map[string]any{"type": "input_audio", "input_audio": map[string]any{}}), "messages[0].content[1].type",
			"invalid_value",
		},
		"a picture without an address": {
			parts(text, map[string]any{"type": "image_url"}), "messages[0].content[1].image_url", "missing_required_parameter",
		},
		"a picture elsewhere": {
			parts(text, picturePart("https://example.com/a.png")), "messages[0].content[1].image_url.url", "invalid_value",
		},
		"a picture in the clear": {
			parts(text, picturePart("data:image/png,abc")), "messages[0].content[1].image_url.url", "invalid_value",
		},
		"a text as a picture": {
			parts(text, picturePart("data:text/plain;base64,YWJj")), "messages[0].content[1].image_url.url", "invalid_value",
		},
		"half a picture": {
			parts(text, picturePart(dataURL(encodePNG(t, 30, 30)[:50]))), "messages[0].content[1].image_url.url", "invalid_value",
		},
		"a detail": {
			parts(text, map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:", "detail": "best"}}),
			"messages[0].content[1].image_url.detail", "invalid_value",
		},
		"an answer's picture": {
			map[string]any{"messages": []any{
				said("user", "a"), said("assistant", []any{picturePart(dataURL(encodePNG(t, 3, 3)))}), said("user", "b"),
			}},
			"messages[1].content[0].type", "invalid_value",
		},
		"many pictures": {
			parts(slices.Concat([]any{text}, slices.Repeat([]any{picturePart(dataURL([]byte("a")))}, 11))...), "messages",
			"invalid_value",
		},
		"two answers":        {map[string]any{"n": 2}, "n", "invalid_value"},
		"a stream of text":   {map[string]any{"stream": "true"}, "stream", "invalid_type"},
		"options, no stream": {map[string]any{"stream_options": map[string]any{}}, "stream_options", "invalid_value"},
		"other options": {
			map[string]any{"stream": true, "stream_options": map[string]any{"a": 1}}, "stream_options.a", "unknown_parameter",
		},
		"hot":              {map[string]any{"temperature": 2.01}, "temperature", "invalid_value"},
		"cold":             {map[string]any{"temperature": -0.01}, "temperature", "invalid_value"},
		"warm":             {map[string]any{"temperature": "1"}, "temperature", "invalid_type"},
		"top_p":            {map[string]any{"top_p": 1.01}, "top_p", "invalid_value"},
		"a seed":           {map[string]any{"seed": 1.5}, "seed", "invalid_type"},
		"no tokens":        {map[string]any{"max_tokens": 0}, "max_tokens", "invalid_value"},
		"half a token":     {map[string]any{"max_completion_tokens": 0.5}, "max_completion_tokens", "invalid_type"},
		"tokens twice":     {map[string]any{"max_tokens": 1, "max_completion_tokens": 1}, "max_tokens", "invalid_value"},
		"an empty stop":    {map[string]any{"stop": ""}, "stop", "invalid_value"},
		"a long stop":      {map[string]any{"stop": []string{strings.Repeat("a", 501)}}, "stop", "invalid_value"},
		"many stops":       {map[string]any{"stop": []string{"a", "b", "c", "d", "e"}}, "stop", "invalid_value"},
		"a number as stop": {map[string]any{"stop": []any{1}}, "stop", "invalid_type"},
		"a long user":      {map[string]any{"user": strings.Repeat("a", 513)}, "user", "invalid_value"},
		"long metadata": {
			map[string]any{"metadata": map[string]any{"a": strings.Repeat("a", 513)}}, "metadata.a", "invalid_value",
		},
		"metadata":   {map[string]any{"metadata": map[string]any{"a": 1}}, "metadata.a", "invalid_type"},
		"a long key": {map[string]any{"metadata": map[string]any{strings.Repeat("a", 65): ""}}, "metadata", "invalid_value"},
		"a format": {
			map[string]any{"response_format": map[string]any{"type": "xml"}}, "response_format.type", "invalid_value",
		},
		"a format of wrong type": {map[string]any{"response_format": "json_object"}, "response_format", "invalid_type"},
		"no schema": {
			map[string]any{"response_format": map[string]any{"type": "json_schema"}},
			"response_format.json_schema", "missing_required_parameter",
		},
		"a schema of text": {inSchema(map[string]any{"schema": "a"}), "response_format.json_schema.schema", "invalid_type"},
		"a deep schema": {
			inSchema(map[string]any{"schema": nested(65)}), "response_format.json_schema.schema", "invalid_value",
		},
		"a long schema": {
			inSchema(map[string]any{"schema": map[string]any{"a": strings.Repeat("a", 64<<10)}}),
			"response_format.json_schema.schema", "invalid_value",
		},
		"a schema's name": {inSchema(map[string]any{"name": "名前"}), "response_format.json_schema.name", "invalid_value"},
		"a schema and more": {
			inSchema(map[string]any{"a": 1}), "response_format.json_schema.a", "unknown_parameter",
		},
	}
	for _, name := range []string{
		"functions", "function_call", "logprobs", "top_logprobs", "logit_bias",
		"frequency_penalty", "presence_penalty", "audio", "modalities", "prediction", "reasoning_effort", "service_tier",
		"verbosity", "web_search_options", "safety_identifier", "prompt_cache_key", "Model", "thread_id", "a.b",
	} {
		tests[name] = struct {
			fields      map[string]any
			param, code string
		}{map[string]any{name: 0}, name, "unknown_parameter"}
	}
	for what, test := range tests {
		resp := f.complete(test.fields)
		var got apiopenai.OpenAIError
		if err := json.Unmarshal(resp.body, &got); err != nil || resp.status != http.StatusBadRequest ||
			got.Error.Param == nil || *got.Error.Param != test.param || got.Error.Code != test.code ||
			got.Error.Message == "" || got.Error.Type != "invalid_request_error" {
			t.Errorf("%s: %d %.300s", what, resp.status, resp.body)
		}
	}
	if len(f.threads(f.alice.Subject)) != 0 || len(f.keptFiles()) != 0 {
		t.Error("something remains of what was refused")
	}
	resp := f.complete(map[string]any{"messages": []any{said("user", strings.Repeat("a", 32<<20))}})
	if resp.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body: %d %s", resp.status, resp.body)
	}
}

// TestCompletionsRefusedByTheModel: the error names the refused parameter.
func TestCompletionsRefusedByTheModel(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t).Add(llmtest.Status(400, `{"error":{"message":"max_completion_tokens is too large"}}`))
	f := newProviderFixture(t, provider)
	fields := map[string]any{"max_completion_tokens": 5}
	resp := f.complete(fields)
	var got apiopenai.OpenAIError
	if err := json.Unmarshal(resp.body, &got); err != nil || resp.status != http.StatusBadRequest ||
		got.Error.Param == nil || *got.Error.Param != "max_completion_tokens" ||
		got.Error.Code != "unsupported_parameter" || got.Error.Type != "invalid_request_error" {
		t.Errorf("%d %s", resp.status, resp.body)
	}
	fields["stream"] = true
	resp = f.complete(fields)
	if resp.status != http.StatusOK || !strings.Contains(string(resp.body), `"type":"invalid_request_error"`) ||
		!strings.Contains(string(resp.body), `"param":"max_completion_tokens"`) ||
		strings.Contains(string(resp.body), "[DONE]") {
		t.Errorf("%d %s", resp.status, resp.body)
	}
}

// TestCompletionsEndAtStopSequences: an answer ends at a stop sequence, even before the first character.
func TestCompletionsEndAtStopSequences(t *testing.T) {
	t.Parallel()
	for finish, fields := range map[string]map[string]any{
		"length": {"max_tokens": 5}, "stop": {"stop": "。"},
	} {
		for _, text := range []string{"繭から", ""} {
			steps := []llmtest.Step{llmtest.Open(), llmtest.Finish(finish), llmtest.Done()}
			if text != "" {
				steps[0] = llmtest.Text(text)
			}
			f := newProviderFixture(t, llmtest.NewProvider(t).Add(steps...))
			resp := f.complete(fields)
			var got apiopenai.OpenAICompletion
			if err := json.Unmarshal(resp.body, &got); err != nil || resp.status != http.StatusOK ||
				got.Choices[0].FinishReason != finish || *got.Choices[0].Message.Content != text {
				t.Errorf("%s with %q: %d %s", finish, text, resp.status, resp.body)
			}
		}
	}
}

// grounded is a Grounder with one passage for every question. It reports missing documents.
type grounded struct{}

const missing = "スキルのファイルが1件、見つかりません。"

func (grounded) Ground(_ context.Context, req *chat.AnswerRequest, tell func(chat.Step)) (chat.Grounds, error) {
	tell(chat.Step{Kind: chat.StepSkillDocuments, Status: chat.StatusFailed, Detail: missing})
	return chat.Grounds{Prompt: req.Prompt, Sources: []chat.Source{{
		Citation: chat.Citation{Index: 1, Filename: "規則.txt", Page: 1}, Text: "休暇は20日です。",
	}}}, nil
}

func (grounded) Estimate(context.Context, *chat.AnswerRequest, int) (int, error) { return 0, nil }

// TestCompletionsInJSON: an answer in JSON is exactly the text of the model, without notices and citations.
func TestCompletionsInJSON(t *testing.T) {
	t.Parallel()
	const text = `{"days": [1], "others": [7, 9], "text": "【1】"}`
	f := newFixtureWith(t, llmtest.Say(strings.SplitAfter(text, "[")...), settings{grounder: grounded{}})
	client := f.openAIClient()
	for _, inJSON := range []bool{true, false} {
		params := openai.ChatCompletionNewParams{
			Model: "汎用チャット", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("休暇は")},
		}
		if inJSON {
			params.ResponseFormat.OfJSONObject = &openai.ResponseFormatJSONObjectParam{}
		}
		whole := must.Get(client.Chat.Completions.New(t.Context(), params))(t)
		stream := client.Chat.Completions.NewStreaming(t.Context(), params)
		var streamed openai.ChatCompletionAccumulator
		for stream.Next() {
			streamed.AddChunk(stream.Current())
		}
		got := whole.Choices[0].Message.Content
		if err := stream.Err(); err != nil || streamed.Choices[0].Message.Content != got {
			t.Errorf("streamed %q, whole %q, %v", streamed.Choices[0].Message.Content, got, err)
		}
		if inJSON && got != text || !inJSON && (got == text || !strings.HasSuffix(got, "\n\n⚠️ "+missing)) {
			t.Errorf("in JSON %v: %q", inJSON, got)
		}
	}
	var citations string
	f.scan(&citations, `SELECT a.citations::text FROM messages a JOIN messages q ON q.id = a.parent_id
		WHERE q.params IS NOT NULL LIMIT 1`)
	if strings.Contains(citations, "support") {
		t.Errorf("JSON cites %s", citations)
	}
}

// TestOpenAIClientAsksForASchema: the properties of a schema keep their order.
func TestOpenAIClientAsksForASchema(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t).Add(llmtest.Answer(`{"z":1,"a":"b"}`)...)
	f := newProviderFixture(t, provider)
	schema := json.RawMessage(`{"type":"object","properties":{"z":{"type":"number"},"a":{"type":"string"}}}`)
	client := f.openAIClient()
	got, err := client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{
		Model: "汎用チャット", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("糸とは")},
		ResponseFormat: openai.ChatCompletionNewParamsResponseFormatUnion{
			OfJSONSchema: &openai.ResponseFormatJSONSchemaParam{
				JSONSchema: openai.ResponseFormatJSONSchemaJSONSchemaParam{
					Name: "answer", Schema: schema, Strict: param.NewOpt(true),
				},
			},
		},
	})
	if err != nil || got.Choices[0].Message.Content != `{"z":1,"a":"b"}` {
		t.Fatalf("%+v, %v", got, err)
	}
	if !slices.ContainsFunc(provider.Requests(), func(r *llmtest.ReceivedRequest) bool {
		return bytes.Contains(r.Body, schema) // The other one asks for the title.
	}) {
		t.Errorf("the provider receives %+v", provider.Requests())
	}
	var stored string
	f.scan(&stored, `SELECT params->'schema'->'json' FROM messages WHERE params IS NOT NULL`)
	if stored != string(schema) {
		t.Errorf("stored %s", stored)
	}
}
