package llm_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// continuing returns a router with a model that continues answers in a way, and its provider.
func continuing(t *testing.T, way llm.Continuation, steps ...llmtest.Step) (*llm.Router, *llmtest.Provider) {
	t.Helper()
	provider := llmtest.NewProvider(t).Add(steps...)
	to := route("a", "", "")
	to.Continue = way
	return newRouterOf(t, llm.Provider{
		Config: llm.Config{BaseURL: provider.URL(), MaxRetries: -1}, Routes: []llm.Route{to},
	}), provider
}

// TestModelContinuesAnAnswer: the request has the fields of the server, and repetitions of the prefix are removed.
func TestModelContinuesAnAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		way    llm.Continuation
		prefix string
		pieces []string
		want   string
	}{
		"vLLM":                         {llm.ContinueFinalMessage, "まゆから", []string{"糸を", "引く"}, "糸を引く"},
		"a repeated line break":        {llm.ContinueFinalMessage, "一行目\n\n", []string{"\n", "\n\n二行目"}, "\n二行目"},
		"no line break":                {llm.ContinueAssistant, "一行目\n", []string{"二行目"}, "二行目"},
		"Mistral repeats the prefix":   {llm.ContinuePrefix, "まゆから", []string{"まゆ", "から糸を", "引く"}, "糸を引く"},
		"repeated with a line break":   {llm.ContinuePrefix, "まゆ\n", []string{"まゆ\n糸"}, "糸"},
		"DeepSeek does not":            {llm.ContinuePrefix, "まゆから", []string{"まる", "い糸"}, "まるい糸"},
		"only the beginning":           {llm.ContinuePrefix, "まゆから", []string{"まゆ"}, "まゆ"},
		"the same text without prefix": {llm.ContinueAssistant, "はい", []string{"はい"}, "はい"},
		"the answer was complete":      {llm.ContinueFinalMessage, "おわり。", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := make([]llmtest.Step, 0, len(test.pieces)+2)
			for _, piece := range test.pieces {
				steps = append(steps, llmtest.Text(piece))
			}
			router, provider := continuing(t, test.way, append(steps, llmtest.Finish("stop"), llmtest.Done())...)
			req := question()
			req.Prefix = test.prefix
			if _, offers := router.Offers(); !offers[0].Continues {
				t.Error("the offer does not continue")
			}
			text, _, _, err := ask(t, router, req)
			if err != nil || text != test.want {
				t.Errorf("got %q %v, want %q", text, err, test.want)
			}
			got := provider.Requests()[0]
			last := got.Messages[len(got.Messages)-1]
			if last.Role != llm.RoleAssistant || len(got.Messages) != len(req.Messages)+1 || last.Content == "" ||
				last.Content[len(last.Content)-1] == '\n' {
				t.Errorf("the last message is %+v", last)
			}
			var body struct{ Messages []map[string]any }
			must.Succeed(t, json.Unmarshal(got.Body, &body))
			params := got.Params(t)
			switch prefixed := body.Messages[len(body.Messages)-1]["prefix"] == true; test.way {
			case llm.ContinueFinalMessage:
				if want := map[string]any{"continue_final_message": true, "add_generation_prompt": false}; !maps.Equal(params,
					want) || prefixed {
					t.Errorf("fields %v", params)
				}
			case llm.ContinuePrefix:
				if len(params) != 0 || !prefixed {
					t.Errorf("fields %v, messages %v", params, body.Messages)
				}
			default:
				if len(params) != 0 || prefixed {
					t.Errorf("fields %v, messages %v", params, body.Messages)
				}
			}
		})
	}
}

// TestModelRefusesToContinue: the error of a refusal, or of a model that does not continue, has its own code.
func TestModelRefusesToContinue(t *testing.T) {
	t.Parallel()
	req := question()
	req.Prefix = "途中"
	refusing, _ := continuing(t, llm.ContinueAssistant,
		llmtest.Status(http.StatusBadRequest, `{"error":{"message":"the last message must be the user's"}}`))
	_, _, _, err := ask(t, refusing, req)
	wantCode(t, err, llm.CodeNotContinued)

	restarting, provider := continuing(t, llm.ContinueRestart, llmtest.Answer("はじめから")...)
	_, _, _, err = ask(t, restarting, req)
	wantCode(t, err, llm.CodeNotContinued)
	if len(provider.Requests()) != 0 {
		t.Error("the model was asked")
	}
}

// TestFailureDuringARepeatedPrefix: the beginning of a repeated prefix is not text, if the answer fails before the rest of
// the prefix arrives. Another model may then continue the answer.
func TestFailureDuringARepeatedPrefix(t *testing.T) {
	t.Parallel()
	router, _ := continuing(t, llm.ContinuePrefix, llmtest.Text("まゆ"), llmtest.Kill())
	req := question()
	req.Prefix = "まゆから"
	text, _, _, err := ask(t, router, req)
	wantCode(t, err, llm.CodeInterrupted)
	if text != "" {
		t.Errorf("the text continues with %q", text)
	}
}
