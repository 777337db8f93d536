package llm_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

func TestReasoningIsSeparated(t *testing.T) {
	t.Parallel()
	think := func(pieces ...string) []llmtest.Step { return []llmtest.Step{llmtest.Text(pieces...)} }
	for name, test := range map[string]struct {
		steps           []llmtest.Step
		reasoning, text string
		code            fault.Code
	}{
		"tags": {think("<think>考え</think>答え"), "考え", "答え", ""},
		"tags, split": {
			think("<", "thi", "nk>", "考", "え</", "think", ">", "\n", "\n答", "え"), "考え", "答え",
			"",
		},
		"after blanks":            {think("\n", " <think>考え</think>答え"), "考え", "答え", ""},
		"empty":                   {think("<think>\n\n</think>\n\n答え"), "", "答え", ""},
		"not at the beginning":    {think("答え<think>考え</think>"), "", "答え<think>考え</think>", ""},
		"another tag":             {think("<thin", "g>答え"), "", "<thing>答え", ""},
		"half a tag at the end":   {think("<thi"), "", "<thi", ""},
		"half an end tag":         {think("<think>考え</thi"), "考え</thi", "", llm.CodeBadResponse},
		"end tag in the answer":   {think("<think>a</think>b</think>c"), "a", "b</think>c", ""},
		"two in a row":            {think("<think>a</think>\n<think>b</think>c"), "ab", "c", ""},
		"blanks before an answer": {think("\n 答え"), "", "\n 答え", ""},
		"blanks alone":            {think("\n ", "\n"), "", "", llm.CodeBadResponse},
		"alone":                   {think("<think>考え</think>\n"), "考え", "", llm.CodeBadResponse},
		"field": {
			[]llmtest.Step{llmtest.Reasoning("考", "え"), llmtest.Text("\n\n答え")},
			"考え", "答え",
			"",
		},
		"field, late": {[]llmtest.Step{
			llmtest.Reasoning("考え"), llmtest.Text("答"), llmtest.Reasoning("後"),
			llmtest.Text("え"),
		}, "考え", "答え", ""},
		"field, blank": {[]llmtest.Step{llmtest.Reasoning("\n"), llmtest.Text("答え")}, "", "答え", ""},
		"field, split characters": {[]llmtest.Step{
			llmtest.Delta(`{"reasoning":"\ud83c"}`),
			llmtest.Delta(`{"reasoning":"\udf89"}`), llmtest.Text("答え"),
		}, "🎉", "答え", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := llmtest.NewProvider(t).Add(append(test.steps, llmtest.Finish("stop"), llmtest.Done())...)
			got, err := askAll(t, newClient(t, llm.Config{BaseURL: provider.URL()}))
			wantCode(t, err, test.code)
			if got.reasoning != test.reasoning || got.text != test.text {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestR24_NoRetryAfterReasoning: visible output is not retried. Reasoning counts as a token only if it is shown.
func TestR24_NoRetryAfterReasoning(t *testing.T) {
	t.Parallel()
	scripts := func() *llmtest.Provider {
		return llmtest.NewProvider(t).Add(llmtest.Reasoning("考え"), llmtest.Kill()).Add(llmtest.Answer("二度目")...)
	}
	provider := scripts()
	got, err := askAll(t, newRouter(t, nil, llm.Config{BaseURL: provider.URL()}))
	wantCode(t, err, llm.CodeInterrupted)
	if got.reasoning != "考え" || got.text != "" || len(provider.Requests()) != 1 {
		t.Errorf("%+v after %d requests", got, len(provider.Requests()))
	}

	text, _, _, err := ask(t, newClient(t, llm.Config{BaseURL: scripts().URL()}), question())
	if err != nil || text != "二度目" {
		t.Errorf("%q %v", text, err)
	}
}
