package offline_test

import (
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/offline"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestToolsAreShown: the engine calls a tool that suits the question, and answers with its result.
func TestToolsAreShown(t *testing.T) {
	t.Parallel()
	client := newClient(t, offline.Config{})
	ask := func(req llm.Request) (string, llm.Result) {
		t.Helper()
		var text strings.Builder
		result := must.Get(client.Stream(t.Context(), req, func(piece string) { text.WriteString(piece) }))(t)
		return text.String(), result
	}
	for question, want := range map[string]llm.ToolCall{
		"(3億5000万円 + 1,200千円) × 8% はいくらですか": {Name: "calculate", Arguments: `{"expression":"(3億5000万円 + 1,200千円) × 8%"}`},
		"令和8年5月3日は祝日ですか":                    {Name: "calendar", Arguments: `{"date":"令和8年5月3日"}`},
		"今日は何曜日ですか":                         {Name: "calendar", Arguments: `{}`},
		"新商品の名前を考えて":                        {},
	} {
		req := llm.Request{Messages: []llm.Message{system(), user(question)}}
		if _, result := ask(req); len(result.ToolCalls) != 0 {
			t.Errorf("%s: a call without tools", question)
		}
		req.Tools = []llm.Tool{{Name: "calendar"}, {Name: "calculate"}}
		_, result := ask(req)
		if want.Name == "" {
			if len(result.ToolCalls) != 0 {
				t.Errorf("%s: %+v", question, result.ToolCalls)
			}
			continue
		}
		if len(result.ToolCalls) != 1 {
			t.Fatalf("%s: %+v", question, result)
		}
		call := result.ToolCalls[0]
		if want.ID = call.ID; call.Name != want.Name || call.Arguments != want.Arguments {
			t.Errorf("%s: %+v", question, call)
		}
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, ToolCalls: result.ToolCalls},
			llm.Message{Role: llm.RoleTool, ToolCallID: call.ID, Content: "一行目\n二行目"})
		if text, result := ask(req); result.FinishReason != llm.FinishStop || !strings.HasSuffix(text, "> 一行目\n> 二行目") {
			t.Errorf("%q, %+v", text, result)
		}
	}
}
