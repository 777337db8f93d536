package llm_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestAdaptsToTheServer: the client repeats a request without a refused optional field, and remembers the refusal.
func TestAdaptsToTheServer(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t).
		Add(llmtest.Status(400, `{"error":{"message":"Unrecognized request argument supplied: stream_options"}}`)).
		Add(
			llmtest.Status(
				400,
				`{"error":{"message":"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}}`,
			),
		).
		Add(llmtest.Answer("分かりました。")...)
	client := newClient(t, llm.Config{BaseURL: provider.URL(), MaxRetries: -1})
	req := question()
	req.MaxTokens = 100
	for range 2 {
		if text, _, _, err := ask(t, client, req); err != nil || text != "分かりました。" {
			t.Fatalf("%q %v", text, err)
		}
	}
	got := provider.Requests()
	if len(got) != 4 {
		t.Fatalf("%d requests", len(got))
	}
	last := got[3]
	if last.IncludeUsage || !bytes.Contains(last.Body, []byte(`"max_completion_tokens":100`)) {
		t.Errorf("the last request was %s", last.Body)
	}
}

// TestAdaptsTheSchema: the client replaces a refused schema by JSON without a schema, and a refused JSON mode by text.
func TestAdaptsTheSchema(t *testing.T) {
	t.Parallel()
	refusal := func(message string) llmtest.Step {
		return llmtest.Status(400, `{"error":{"message":"`+message+`"}}`)
	}
	for name, test := range map[string]struct {
		refusals []llmtest.Step
		want     string // Contained in the last request; "" if it has no response_format.
	}{
		"taken": {
			nil, `"response_format":{"type":"json_schema","json_schema":{"name":"proof","schema":{"type":"object"},` +
				`"strict":true}}`,
		},
		"no schema": {
			[]llmtest.Step{refusal("response_format of type json_schema is not supported")},
			`"response_format":{"type":"json_object"}`,
		},
		"no JSON": {[]llmtest.Step{refusal("Invalid value: 'json_schema'"), refusal("json_object is not supported")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := llmtest.NewProvider(t)
			for _, r := range test.refusals {
				provider.Add(r)
			}
			provider.Add(llmtest.Answer("{}")...)
			client := newClient(t, llm.Config{BaseURL: provider.URL(), MaxRetries: -1})
			req := question()
			req.Schema = &llm.Schema{Name: "proof", JSON: []byte(`{"type":"object"}`), Strict: true}
			for range 2 {
				if text, _, _, err := ask(t, client, req); err != nil || text != "{}" {
					t.Fatalf("%q %v", text, err)
				}
			}
			got := provider.Requests()
			last := string(got[len(got)-1].Body)
			if len(got) != len(test.refusals)+2 || !strings.Contains(last, test.want) ||
				strings.Contains(last, "response_format") != (test.want != "") {
				t.Errorf("%d requests, the last one %s", len(got), last)
			}
		})
	}
}

// TestReasoningModels: they receive every parameter, because the provider decides whether to accept it.
func TestReasoningModels(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t).Add(llmtest.Answer("はい。")...)
	req := question()
	req.MaxTokens, req.Temperature = 100, new(float32(0.3))
	if _, _, _, err := ask(t, newClient(t, llm.Config{BaseURL: provider.URL(), Model: "gpt-5-mini"}), req); err != nil {
		t.Fatal(err)
	}
	got := provider.Requests()[0]
	if got.Temperature == nil || *got.Temperature != 0.3 ||
		!bytes.Contains(got.Body, []byte(`"max_completion_tokens":100`)) {
		t.Errorf("the request was %s", got.Body)
	}
}

// all sets every parameter.
func all() llm.Params {
	return llm.Params{
		MaxTokens: 100, Temperature: new(float32(0)), TopP: new(float32(0.5)), Stop: []string{"。", "\n"}, Seed: new(7),
		Schema: &llm.Schema{Name: "a", Description: "b", JSON: []byte(`{"type":"object","a":1}`), Strict: true},
	}
}

func TestParametersReachTheProvider(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t).Add(llmtest.Answer("{}")...)
	client := newClient(t, llm.Config{BaseURL: provider.URL()})
	for name, test := range map[string]struct {
		params llm.Params
		want   string
	}{
		"all": {all(), `{"max_tokens":100,"temperature":0,"top_p":0.5,"stop":["。","\n"],"seed":7,"response_format":` +
			`{"type":"json_schema","json_schema":{"name":"a","description":"b","schema":{"type":"object","a":1},` +
			`"strict":true}}}`},
		"any object": {llm.Params{Schema: &llm.Schema{}}, `{"response_format":{"type":"json_object"}}`},
		"zeros":      {llm.Params{TopP: new(float32(0)), Seed: new(0)}, `{"top_p":0,"seed":0}`},
	} {
		req := question()
		req.Params, req.Exact = test.params, true
		if _, _, _, err := ask(t, client, req); err != nil {
			t.Fatal(err)
		}
		requests := provider.Requests()
		var want map[string]any
		must.Succeed(t, json.Unmarshal([]byte(test.want), &want))
		if got := requests[len(requests)-1].Params(t); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestExactRequestsLoseNothing: an exact request fails if a parameter is refused.
func TestExactRequestsLoseNothing(t *testing.T) {
	t.Parallel()
	for message, name := range map[string]string{
		"Unsupported value: 'temperature' does not support 0 with this model.": "temperature",
		"`top_p` is not supported":                              "top_p",
		"Unsupported parameter: 'stop'":                         "stop",
		"seed: Extra inputs are not permitted":                  "seed",
		"response_format of type json_schema is unavailable":    "response_format",
		"json_object is not supported":                          "response_format",
		"max_tokens is too large: 100":                          "max_tokens",
		"This model's maximum context length is 10: max_tokens": "",
		"something else":                                        "",
	} {
		provider := llmtest.NewProvider(t).Add(llmtest.Status(400, `{"error":{"message":"`+message+`"}}`))
		req := question()
		req.Params, req.Exact = all(), true
		_, _, _, err := ask(t, newClient(t, llm.Config{BaseURL: provider.URL(), MaxRetries: -1}), req)
		found, is := strings.CutPrefix(string(fault.CodeOf(err)), string(llm.CodeUnsupported))
		if is != (name != "") || is && (found != name || !strings.Contains(fault.DetailOf(err), name)) {
			t.Errorf("%s: %v", message, err)
		}
	}
}

// TestLimitsMayEmptyAnAnswer: an answer may be empty because of limits set by the caller.
func TestLimitsMayEmptyAnAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		params llm.Params
		finish llm.FinishReason
	}{
		"stop":   {llm.Params{Stop: []string{"は"}}, llm.FinishStop},
		"length": {llm.Params{MaxTokens: 1}, llm.FinishLength},
	} {
		provider := llmtest.NewProvider(t).
			Add(llmtest.Reasoning("考え"), llmtest.Finish(string(test.finish)), llmtest.Done())
		for _, exact := range []bool{true, false} {
			req := question()
			req.Params, req.Exact = test.params, exact
			text, _, result, err := ask(t, newClient(t, llm.Config{BaseURL: provider.URL(), MaxRetries: -1}), req)
			if text != "" || (err == nil) != exact || exact && result.FinishReason != test.finish {
				t.Errorf("%s, exact %v: %q %+v %v", name, exact, text, result, err)
			}
		}
	}
}

func TestBaseURL(t *testing.T) {
	t.Parallel()
	const v1 = "/v1/chat/completions"
	for _, test := range []struct{ base, want, key string }{
		{"http://localhost:11434", "http://localhost:11434" + v1, "Authorization"},
		{"http://localhost:11434/v1/", "http://localhost:11434" + v1, "Authorization"},
		{"https://gateway.example/llm/v1/chat/completions", "https://gateway.example/llm" + v1, "Authorization"},
		{
			"https://x.openai.azure.com",
			"https://x.openai.azure.com/openai/deployments/gpt-4.1/chat/completions?api-version=2024-10-21", "Api-Key",
		},
		{
			"https://x.openai.azure.com/openai?api-version=2025-01-01-preview",
			"https://x.openai.azure.com/openai/deployments/gpt-4.1/chat/completions?api-version=2025-01-01-preview",
			"Api-Key",
		},
		{
			"https://x.openai.azure.com/openai/deployments/my-gpt/chat/completions?api-version=2024-06-01",
			"https://x.openai.azure.com/openai/deployments/my-gpt/chat/completions?api-version=2024-06-01", "Api-Key",
		},
		{"https://x.openai.azure.com/openai/v1/", "https://x.openai.azure.com/openai" + v1, "Authorization"},
	} {
		t.Run(test.base, func(t *testing.T) {
			t.Parallel()
			var got *http.Request
			client := newClient(t, llm.Config{
				BaseURL: test.base, APIKey: "key", Model: "gpt-4.1",
				Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
					got = req
					return respond("text/event-stream",
						[]byte(`data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`))(req)
				}),
			})
			if _, _, _, err := ask(t, client, question()); err != nil {
				t.Fatal(err)
			}
			if got.URL.String() != test.want || !strings.HasSuffix(got.Header.Get(test.key), "key") {
				t.Errorf("asked %s with %v", got.URL, got.Header)
			}
		})
	}
	for _, base := range []string{
		"localhost:11434", "ftp://x/v1", "https://", "https://u:p@x/v1", "https://x/v1?a=b",
		"https://x/v1?api-version=1", "https://x/v1#f", "http://[::1",
	} {
		if _, err := llm.NewClient(llm.Config{Model: "m", BaseURL: base}); err == nil ||
			!strings.Contains(err.Error(), "BaseURL") {
			t.Errorf("BaseURL %q: %v", base, err)
		}
	}
	for _, cfg := range []llm.Config{{}, {Model: "m", APIKey: "a\nb"}, {Model: "m", TokenTimeout: -1}} {
		if _, err := llm.NewClient(cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}
