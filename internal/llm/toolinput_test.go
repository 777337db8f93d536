package llm_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// written is a call as reported while it was written.
type written struct{ id, name, arguments string }

// askForInputs asks a model and returns the calls that it reported, one list for each report.
func askForInputs(t *testing.T, client *llm.Client) (reports [][]written, result llm.Result, err error) {
	t.Helper()
	req := question()
	req.Tools = tools()
	req.ToolInputs = func(calls []llm.ToolInput) {
		report := []written{}
		for _, call := range calls {
			report = append(report, written{call.ID, call.Name, string(call.Arguments)})
		}
		reports = append(reports, report)
	}
	_, _, result, err = ask(t, client, req)
	return reports, result, err
}

// TestToolInputsOfServers: in the form of each server, however its bytes arrive, the reported arguments only grow, up to
// those of the calls in the result, which have the same ids.
func TestToolInputsOfServers(t *testing.T) {
	t.Parallel()
	for _, name := range toolFiles(t) {
		name = strings.TrimPrefix(name, "../tools/")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind, body := recorded(t, "../tools/"+name)
			for i, reader := range []io.Reader{bytes.NewReader(body), iotest.OneByteReader(bytes.NewReader(body))} {
				client := newClient(t, llm.Config{MaxRetries: -1, Transport: respondOnce(kind, reader)})
				reports, result, _ := askForInputs(t, client)
				known := make(map[string]written)
				for _, report := range reports {
					for _, call := range report {
						if before := known[call.id]; !strings.HasPrefix(call.arguments, before.arguments) ||
							before.name != "" && before.name != call.name {
							t.Errorf("%+v became %+v", before, call)
						}
						known[call.id] = call
					}
				}
				inText := strings.HasPrefix(name, "text-") // Calls in the text are not known before their end.
				for _, call := range result.ToolCalls {
					got := known[call.ID]
					if arguments := strings.TrimSpace(got.arguments); !inText &&
						(got.name != call.Name || arguments != call.Arguments && (arguments != "" || call.Arguments != "{}")) {
						t.Errorf("reported %+v of %+v", got, call)
					}
				}
				switch {
				case inText && len(reports) > 0:
					t.Errorf("reports %v", reports)
				case len(result.ToolCalls) == 0 && len(reports) > 0 && len(reports[len(reports)-1]) > 0:
					t.Errorf("not withdrawn: %v", reports)
				case name == "openai.sse" && i == 1 && len(reports) < 5:
					t.Errorf("%d reports of arguments in pieces", len(reports))
				}
			}
		})
	}
}

// TestToolInputsOfARepeatedRequestAreWithdrawn: a connection that breaks in the middle of the arguments is repeated as
// before, and the first call is withdrawn.
func TestToolInputsOfARepeatedRequestAreWithdrawn(t *testing.T) {
	t.Parallel()
	const begun = `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"first","function":{"name":"calendar","arguments":"{\"da"}}]}}]}` + "\n\n"
	const whole = `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"second","function":{"name":"calendar","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
	provider := llmtest.NewProvider(t).Add(llmtest.Raw(begun)).Add(llmtest.Raw(whole))
	reports, result, err := askForInputs(t, newClient(t, llm.Config{BaseURL: provider.URL()}))
	if err != nil || len(result.ToolCalls) != 1 || result.ToolCalls[0].ID != "second" {
		t.Fatalf("%+v, %v", result, err)
	}
	want := [][]written{{{"first", "calendar", `{"da`}}, {}, {{"second", "calendar", "{}"}}}
	if !slices.EqualFunc(reports, want, slices.Equal) {
		t.Errorf("reports %v", reports)
	}
}
