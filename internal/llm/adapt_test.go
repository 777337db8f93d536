package llm_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// A request whose optional field is refused is repeated without it, and the refusal is remembered.
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
		Add(llmtest.Status(422, `{"detail":[{"loc":["body","temperature"],"msg":"only 1 is allowed"}]}`)).
		Add(llmtest.Answer("分かりました。")...)
	client := newClient(t, llm.Config{BaseURL: provider.URL(), MaxRetries: -1})
	req := question()
	temperature := float32(0.3)
	req.MaxTokens, req.Temperature = 100, &temperature
	for range 2 {
		if text, _, _, err := ask(t, client, req); err != nil || text != "分かりました。" {
			t.Fatalf("%q %v", text, err)
		}
	}
	got := provider.Requests()
	if len(got) != 5 {
		t.Fatalf("%d requests", len(got))
	}
	last := got[4]
	if last.IncludeUsage || last.Temperature != nil || !bytes.Contains(last.Body,
		[]byte(`"max_completion_tokens":100`)) {
		t.Errorf("the last request was %s", last.Body)
	}
}

// A schema that is refused becomes JSON without a schema, and where that is refused text.
func TestAdaptsTheSchema(t *testing.T) {
	t.Parallel()
	refusal := func(message string) llmtest.Step {
		return llmtest.Status(400, `{"error":{"message":"`+message+`"}}`)
	}
	for name, test := range map[string]struct {
		refusals []llmtest.Step
		want     string // Stands in the last request; "" if that has no response_format.
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
			req.Schema = &llm.Schema{Name: "proof", JSON: []byte(`{"type":"object"}`)}
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

func TestReasoningModels(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t).Add(llmtest.Answer("はい。")...)
	req := question()
	temperature := float32(0.3)
	req.MaxTokens, req.Temperature = 100, &temperature
	if _, _, _, err := ask(t, newClient(t, llm.Config{BaseURL: provider.URL(), Model: "gpt-5-mini"}), req); err != nil {
		t.Fatal(err)
	}
	got := provider.Requests()[0]
	if got.Temperature != nil || !bytes.Contains(got.Body, []byte(`"max_completion_tokens":100`)) {
		t.Errorf("the request was %s", got.Body)
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
