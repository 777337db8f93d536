package chat_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// TestCallsOfAProgram: the calls of a program, those since its question and earlier ones, are sent to the model also
// after a crash. The calls of the answer end it, and are not made. The app's questions are asked without any calls.
func TestCallsOfAProgram(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.giveTools() // They are not used.
	slow, box := llmtest.NewLive(), newToolbox()
	crashing := f.startWith(chat.Deps{Model: slow, Tools: box}, mute())
	made := func(id string, offset, round int) chat.ToolCall {
		return chat.ToolCall{
			ToolCall: calling(id, "echo", `{}`), Title: "echo", Offset: offset, Round: round, State: chat.ToolDone,
			Result: "結果" + id,
		}
	}
	exchange := f.startThread(crashing, chatSkill, chat.Question{
		Content: "奈良は",
		Earlier: []chat.EarlierMessage{
			{Role: chat.RoleUser, Content: "京都は"},
			{Role: chat.RoleAssistant, Content: "調べます。\n\n晴れです。", ToolCalls: []chat.ToolCall{
				made("a", len("調べます。"), 0), made("b", len("調べます。"), 0), made("c", len("調べます。"), 1),
			}},
		},
		Params: &chat.Params{
			Params: llm.Params{Tools: []llm.Tool{{Name: "echo"}}},
			Rounds: []chat.ToolRound{{Text: "はい。", Calls: []chat.ToolCall{made("d", 0, 0)}}},
		},
	})
	want := []string{
		"user 京都は", "assistant 調べます。 a b", "tool 結果a", "tool 結果b", "assistant  c", "tool 結果c", "assistant 晴れです。",
		"user 奈良は", "assistant はい。 d", "tool 結果d",
	}
	check := func(what string, req llm.Request) {
		t.Helper()
		if got := spoken(req); !slices.Equal(got, want) || len(req.Tools) != 1 || !req.Exact {
			t.Errorf("%s: %+v, %q", what, req.Tools, got)
		}
	}
	check("first", slow.Next(t).Request)

	model := llmtest.NewLive()
	server := f.startWith(chat.Deps{Model: model, Tools: box}, chat.Config{Alone: true})
	call := model.Next(t)
	check("after a crash", call.Request)
	call.Emit("もう一度。")
	call.CallTools(calling("d", "echo", strings.Repeat("あ", 20_000)), calling("e", "wait", "{}"))
	answer := f.waitAt(server, exchange).Answer
	returned := answer.ReturnedCalls()
	if answer.Content != "もう一度。" || answer.FinishReason != chat.FinishStop || len(box.called) != 0 ||
		len(returned) != 2 || returned[0].ID == "d" || returned[0].Arguments != strings.Repeat("あ", 20_000) ||
		returned[1].ID != "e" || returned[1].Offset != len("もう一度。") {
		t.Fatalf("stored %+v", answer)
	}
	stream := f.follow(server, answer.ID, "")
	if strings.Count(stream, `"providerExecuted":false`) != 2 || strings.Contains(stream, "tool-output") {
		t.Errorf("stream %s", stream)
	}

	f.thread.ID = answer.ThreadID
	again := f.sendTo(server, chat.Question{RequestID: newID(), ThreadID: f.thread.ID, Regenerate: &answer.ID})
	call = model.Next(t)
	check("again", call.Request)
	call.CallTools(calling("f", "echo", "{}")) // Without a text.
	if answer = f.waitAt(server, again).Answer; answer.Content != "" || len(answer.ReturnedCalls()) != 1 {
		t.Fatalf("stored %+v", answer)
	}
	f.sendTo(server, f.question("続き"))
	req := model.Next(t).Request
	if got := spoken(req); !slices.Equal(got, []string{
		"user 京都は", "assistant 調べます。\n\n晴れです。", "user 奈良は", "user 続き",
	}) {
		t.Errorf("in the app: %q", got)
	}
	if len(req.Tools) != 2 {
		t.Errorf("in the app, the tools are %+v", req.Tools)
	}
}

// spoken returns the messages of a request after the system prompt, with the ids of their calls.
func spoken(req llm.Request) (list []string) {
	for _, m := range req.Messages[1:] {
		line := string(m.Role) + " " + m.Content
		for _, call := range m.ToolCalls {
			line += " " + call.ID
		}
		list = append(list, line)
	}
	return list
}
