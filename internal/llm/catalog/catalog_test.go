package catalog_test

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/catalog"
	"github.com/tsumugi-ai/tsumugi/internal/secret"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// config returns a Config with an environment variable and a key, and a value encrypted with that key.
func config(t testing.TB) (cfg catalog.Config, sealed string) {
	t.Helper()
	must.Succeed(t, cfg.Sealed.UnmarshalText([]byte(secret.NewKey())))
	sealed = must.Get(cfg.Sealed.Seal([]byte("sk-sealed"), catalog.SealOwner))(t)
	cfg.Env = func(name string) (string, bool) {
		return map[string]string{"OUTSIDE_KEY": "sk-env", "EMPTY": ""}[name], name == "OUTSIDE_KEY" || name == "EMPTY"
	}
	return cfg, sealed
}

const whole = `
default: standard
title: small
providers:
  - name: 社内
    base_url: http://gpu.example:8000/v1
    api_key: SEALED
    max_concurrent: 32
    tokens_per_minute: 200000
    models:
      - id: standard
        model: google/gemma-3-27b-it
        name: 標準
        note: 文書の要約や質問に
        context_tokens: 64000
        sees: true
        fallback: outside
      - {id: small, name: 軽量, tools: false, price: {input: 0, output: 15}}
  - name: 社外
    base_url: https://api.openai.com/v1
    api_key: ${OUTSIDE_KEY}
    models:
      - id: outside
        model: gpt-5
        name: 熟考
        thinking: switch
        thinking_on: {reasoning_effort: high}
        thinking_off: {reasoning_effort: none, nested: {a: [1, true]}}
        price: {input: 0.25, output: 2, currency: USD}
`

func TestParse(t *testing.T) {
	t.Parallel()
	cfg, sealed := config(t)
	got := must.Get(catalog.Parse([]byte(strings.Replace(whole, "SEALED", sealed, 1)), cfg))(t)
	want := llm.Catalog{Default: "standard", Title: "small", Providers: []llm.Provider{
		{
			Config:        llm.Config{BaseURL: "http://gpu.example:8000/v1", APIKey: "sk-sealed"},
			MaxConcurrent: 32, TokensPerMinute: 200_000,
			Routes: []llm.Route{
				{
					Offer: llm.Offer{
						ID: "standard", Provider: "社内", Name: "標準", Note: "文書の要約や質問に", Sees: true,
						Thinking: llm.ThinkingNone, ContextTokens: 64_000,
					},
					Model: "google/gemma-3-27b-it", Fallback: "outside",
				},
				{Offer: llm.Offer{
					ID: "small", Provider: "社内", Name: "軽量", NoTools: true, Thinking: llm.ThinkingNone, ContextTokens: 32_000,
					Price: &llm.Price{Output: 15, Currency: "JPY"},
				}},
			},
		},
		{
			Config: llm.Config{BaseURL: "https://api.openai.com/v1", APIKey: "sk-env"},
			Routes: []llm.Route{{
				Offer: llm.Offer{
					ID: "outside", Provider: "社外", Name: "熟考", Thinking: llm.ThinkingSwitch, ContextTokens: 32_000,
					Price: &llm.Price{Input: 0.25, Output: 2, Currency: "USD"},
				},
				Model: "gpt-5", ThinkingOn: map[string]any{"reasoning_effort": "high"},
				ThinkingOff: map[string]any{
					"reasoning_effort": "none", "nested": map[string]any{"a": []any{1, true}},
				},
			}},
		},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

// TestR95_MistakesAreNamed: errors contain line numbers and no keys.
func TestR95_MistakesAreNamed(t *testing.T) {
	t.Parallel()
	cfg, sealed := config(t)
	good := strings.Replace(whole, "SEALED", "sk-plain", 1)
	_, providers, _ := strings.Cut(good, "providers:\n")
	for want, change := range map[string][2]string{
		"line 4: there must be 1 to 20 providers": {
			"providers:\n" + providers, "providers: []\n",
		},
		"line 2: default must be the id":                             {"default: standard", "default: gone"},
		"line 3: title must be the id":                               {"title: small", "title: gone"},
		"line 5: name must have":                                     {"name: 社内", "name: ''"},
		"line 6: llm: BaseURL":                                       {"http://gpu.example:8000/v1", "gopher://gpu.example"},
		"line 7: api_key refers to the environment variable EMPTY":   {"sk-plain", "${EMPTY}"},
		"line 7: api_key refers to the environment variable MISSING": {"sk-plain", "${MISSING}"},
		"line 7: api_key must be a key, or a reference":              {"sk-plain", "sk-${OUTSIDE_KEY}"},
		"line 7: api_key cannot be opened":                           {"sk-plain", sealed[:len(sealed)-4]},
		"line 8: max_concurrent and tokens_per_minute must not":      {"max_concurrent: 32", "max_concurrent: -1"},
		"line 8: cannot unmarshal !!str a value into int":            {"max_concurrent: 32", "max_concurrent: sk-plain"},
		`line 11: model "standard!": the id must be its own`:         {"id: standard", "id: standard!"},
		`line 18: model "standard": the id must be its own`:          {"id: small", "id: standard"},
		"line 13: model \"standard\": name must have":                {"name: 標準", "name: " + strings.Repeat("長", 61)},
		"line 15: model \"standard\": context_tokens must be":        {"64000", "10"},
		"line 17: model \"standard\": fallback must be":              {"fallback: outside", "fallback: standard"},
		"line 16: unknown key seas":                                  {"sees:", "seas:"},
		`line 26: model "outside": thinking must be`:                 {"thinking: switch", "thinking: maybe"},
		`line 26: model "outside": thinking_on and thinking_off`:     {"thinking: switch", "thinking: always"},
		`line 27: model "outside": thinking_on must not set model`:   {"{reasoning_effort: high}", "{model: gpt-6}"},
		`line 28: model "outside": thinking_off has a value that no`: {"{a: [1, true]}", "{a: .inf}"},
		`line 29: model "outside": price needs input and output`:     {"input: 0.25", "input: .nan"},
		`line 29: model "outside": price needs input`:                {"currency: USD", "currency: ドル"},
		"line 13: a control character":                               {"name: 標準", `name: "a\u0007b"`},
		"more than one document":                                     {"default:", "--- {}\n---\ndefault:"},
	} {
		data := strings.Replace(good, change[0], change[1], 1)
		if data == good {
			t.Fatalf("%s changes nothing", change)
		}
		_, err := catalog.Parse([]byte(data), cfg)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sk-") {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := catalog.Parse(nil, cfg); err == nil || err.Error() != "the file is empty" {
		t.Errorf("an empty file: %v", err)
	}
	if _, err := catalog.Parse(bytes.Repeat([]byte(" "), catalog.MaxSize+1), cfg); err == nil {
		t.Error("a large file is read")
	}
	// The error for a value encrypted with another key contains that key's name.
	other, _ := config(t)
	if _, err := catalog.Parse([]byte(strings.Replace(whole, "SEALED", sealed, 1)), other); err == nil ||
		!strings.Contains(err.Error(), "lacks the key "+cfg.Sealed.String()) {
		t.Errorf("another key: %v", err)
	}
}

// TestDocumentedFile: the example in docs/models.md is valid.
func TestDocumentedFile(t *testing.T) {
	t.Parallel()
	page := must.Get(os.ReadFile("../../../docs/models.md"))(t)
	_, rest, found := strings.Cut(string(page), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	if !found {
		t.Fatal("there is no example")
	}
	cfg, sealed := config(t)
	cfg.Env = func(string) (string, bool) { return "sk-env", true }
	example = strings.Replace(example, "sealed.v1.…", sealed, 1)
	got, err := catalog.Parse([]byte(example), cfg)
	if err != nil || len(got.Providers) < 2 {
		t.Errorf("%+v %v", got, err)
	}
}

// FuzzR95_File: Parse returns usable models or an error for any file.
func FuzzR95_File(f *testing.F) {
	for _, seed := range []string{
		whole, strings.Replace(whole, "SEALED", "sk-plain", 1), "", "{}", "providers: [{}]", "a: &a [*a]",
		"default: a\nproviders: [{name: a, base_url: 'http://a', models: [{id: a, name: a}]}]",
		"default: a\nproviders: [&p {name: a, base_url: 'http://a', models: [&m {id: a, name: a}, *m]}, *p]",
		"providers: [{models: [{thinking: switch, thinking_on: {1: {2: 3}}}]}]", "\x00", "--- a\n--- b", "{a: {{}: b}}",
		"x: &x {<<: *x}",
	} {
		f.Add([]byte(seed))
	}
	cfg, _ := config(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := catalog.Parse(data, cfg)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Error("an error without a text")
			}
			return
		}
		router, err := llm.NewRouter(got, nil)
		if err != nil {
			t.Fatalf("it was accepted, and then: %v", err)
		}
		router.Close()
	})
}
