package chat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// toolbox has a tool "echo", which returns its arguments, and "wait", which waits for permission.
type toolbox struct {
	called chan string
	leave  chan struct{}
}

func newToolbox() *toolbox {
	return &toolbox{called: make(chan string, 100), leave: make(chan struct{})}
}

func (b *toolbox) Of(context.Context, identity.Owner, []string) ([]tool.Tool, error) {
	return []tool.Tool{
		{Name: "echo", Title: "やまびこ", Rule: tool.RuleAllow, Call: func(_ context.Context, arguments json.RawMessage) (tool.Result, error) {
			b.called <- "echo"
			if strings.Contains(string(arguments), "混乱") {
				panic("arguments")
			}
			if strings.Contains(string(arguments), "失敗") {
				return tool.Result{}, fault.Errorf(fault.Invalid, "失敗しました。")
			}
			return tool.Result{Text: "結果" + string(arguments)}, nil
		}},
		{Name: "wait", Title: "待機", Rule: tool.RuleAllow, Call: func(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
			b.called <- "wait"
			select {
			case <-b.leave:
				return tool.Result{Text: "待ちました"}, nil
			case <-ctx.Done():
				return tool.Result{}, ctx.Err()
			}
		}},
	}, nil
}

// giveTools gives tools to the skill of the thread, and to those of the browser extension.
func (f *fixture) giveTools() {
	f.t.Helper()
	f.named()
	categories, skills, err := skill.Builtin()
	must.Succeed(f.t, err)
	for i, s := range skills {
		if s.ID == chatSkill.ID || s.IsExtension() {
			skills[i].Tools = tool.Names()
		}
	}
	must.Succeed(f.t, f.db.SaveBuiltinSkills(f.t.Context(), categories, skills))
}

func calling(id, name, arguments string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: arguments}
}

// results returns the last messages of a request, those with the results of tools.
func results(req llm.Request) (contents []string) {
	for _, m := range slices.Backward(req.Messages) {
		if m.Role != llm.RoleTool {
			break
		}
		contents = append([]string{m.ToolCallID + ":" + m.Content}, contents...)
	}
	return contents
}

// askWithTools asks a question to a skill with the tools of a toolbox.
func askWithTools(t *testing.T, box *toolbox, config chat.Config) (*fixture, *server, *llmtest.Live, chat.Exchange) {
	t.Helper()
	f := newFixture(t, nil)
	f.giveTools()
	model := llmtest.NewLive()
	s := f.startWith(chat.Deps{Model: model, Tools: box}, config)
	return f, s, model, f.sendTo(s, f.question("調べて"))
}

func TestAnswerWithTools(t *testing.T) {
	t.Parallel()
	f, s, model, exchange := askWithTools(t, newToolbox(), chat.Config{})
	call := model.Next(t)
	if len(call.Request.Tools) != 2 || call.Request.Tools[0].Name != "echo" {
		t.Fatalf("tools %+v", call.Request.Tools)
	}
	live := f.watch(s, exchange.Answer.ID)
	call.Emit("調べます。")
	call.CallTools(calling("a", "echo", `{"n": 1}`), calling("b", "echo", `{"n":"失敗"}`), calling("c", "none\x00\xff", `{}`),
		calling("d", "echo", `{"n":`))
	call = model.Next(t)
	want := []string{
		`a:結果{"n": 1}`, "b:エラー: 失敗しました。", "c:エラー: このツールはありません。", "d:エラー: 引数がJSONではありません。",
	}
	if got := results(call.Request); !slices.Equal(got, want) {
		t.Errorf("results %q", got)
	}
	asked := call.Request.Messages[len(call.Request.Messages)-5]
	if asked.Content != "調べます。" || len(asked.ToolCalls) != 4 {
		t.Errorf("calls %+v", asked)
	}
	// The second round has the id of the first one's call, as from models that count from 0.
	call.CallTools(calling("a", "echo", `{"n":2}`))
	call = model.Next(t)
	if got := results(call.Request); len(got) != 1 || strings.HasPrefix(got[0], "a:") ||
		!strings.HasSuffix(got[0], `結果{"n":2}`) {
		t.Errorf("results %q", got)
	}
	call.Emit("分かりました。")
	call.Finish()

	answer := f.waitAt(s, exchange).Answer
	if answer.Content != "調べます。\n\n分かりました。" || answer.InputTokens != 36 || answer.OutputTokens != 102 {
		t.Errorf("stored %q, %d and %d tokens", answer.Content, answer.InputTokens, answer.OutputTokens)
	}
	var states []string
	for _, c := range answer.ToolCalls {
		states = append(states, fmt.Sprintf("%s %s %d %d", c.Title, c.State, c.Round, c.Offset))
	}
	if got := strings.Join(states, ", "); got !=
		"やまびこ success 0 15, やまびこ failed 0 15, none\x1A\uFFFD failed 0 15, やまびこ failed 0 15, やまびこ success 1 15" {
		t.Errorf("stored calls: %s", got)
	}
	raw := f.drain(live)
	for _, stream := range []string{raw, f.follow(s, exchange.Answer.ID, "")} {
		if got := deltas(t, stream); got != answer.Content {
			t.Errorf("text %q", got)
		}
		for part, n := range map[string]int{
			"tool-input-available": 5, "tool-output-available": 2, "tool-output-error": 3, `"input":{"n":1}`: 1,
			`"input":"{\"n\":"`: 1,
		} {
			if got := strings.Count(stream, part); got != n {
				t.Errorf("%d × %s in %s", got, part, stream)
			}
		}
	}

	// The next question of the thread begins without calls.
	f.sendTo(s, f.question("次は"))
	if messages := model.Next(t).Request.Messages; len(messages) != 4 || len(messages[2].ToolCalls) != 0 {
		t.Errorf("messages %+v", messages)
	}
}

// TestToolThatPanics: a tool that panics, for example because of a hostile server's result, ends its call and not the
// server.
func TestToolThatPanics(t *testing.T) {
	t.Parallel()
	_, _, model, _ := askWithTools(t, newToolbox(), mute())
	model.Next(t).CallTools(calling("a", "echo", `{"n":"混乱"}`), calling("b", "echo", `{}`))
	want := []string{"a:エラー: ツールの実行中に問題が発生しました。", "b:結果{}"}
	if got := results(model.Next(t).Request); !slices.Equal(got, want) {
		t.Errorf("results %q", got)
	}
}

// TestNumbersThatProgramsRound: arguments with a number that JavaScript would round are a text in the stream, so that
// no reader shows another number than the one that the tool gets.
func TestNumbersThatProgramsRound(t *testing.T) {
	t.Parallel()
	f, s, model, exchange := askWithTools(t, newToolbox(), chat.Config{})
	rounded := []string{
		"9007199254740993", "[{\"a\":-12345678901234567890}]", "0.1234567890123456789", "1e999", "-1e-999", "1.00000000000000001",
	}
	exact := []string{
		"9007199254740992", "0.1", "-0", "1.50e2", "1E+22", "123456789012345000000000", "5e-324", `"9007199254740993"`,
		"1234567890.12345", "{}", "0.30000000000000004",
	}
	var calls []llm.ToolCall
	for i, value := range slices.Concat(rounded, exact) {
		calls = append(calls, calling(fmt.Sprint("n", i), "echo", `{"n":`+value+`}`))
	}
	model.Next(t).CallTools(calls...)
	model.Next(t).Finish()
	stream := f.follow(s, f.waitAt(s, exchange).Answer.ID, "")
	for i, call := range calls {
		input := call.Arguments
		if i < len(rounded) {
			encoded, _ := json.Marshal(input)
			input = string(encoded)
		}
		if !strings.Contains(stream, `"toolCallId":"`+call.ID+`","toolName":"echo","title":"やまびこ","input":`+input+",") {
			t.Errorf("%s is not in %s", input, stream)
		}
	}
}

// TestNULBeforeACall: a round does not repeat the end of the round before it, although NUL is replaced by a longer
// character.
func TestNULBeforeACall(t *testing.T) {
	t.Parallel()
	f, s, model, exchange := askWithTools(t, newToolbox(), chat.Config{})
	call := model.Next(t)
	call.Emit("一\x00\x00二")
	call.CallTools(calling("a", "echo", "{}"))
	call = model.Next(t)
	call.Emit("三")
	call.CallTools(calling("b", "echo", "{}"))
	call = model.Next(t)
	if m := call.Request.Messages[len(call.Request.Messages)-2]; m.Role != llm.RoleAssistant || m.Content != "三" {
		t.Errorf("the second round is %+v", m)
	}
	call.Finish()
	const first = "一\uFFFD\uFFFD二"
	answer := f.waitAt(s, exchange).Answer
	if answer.Content != first+"\n\n三" || len(answer.ToolCalls) != 2 || answer.ToolCalls[0].Offset != len(first) {
		t.Errorf("stored %+v", answer)
	}
}

// TestModelMustAnswerAfterTheLastCall: at most 20 calls are made for an answer. Then the model may call no more tools.
func TestModelMustAnswerAfterTheLastCall(t *testing.T) {
	t.Parallel()
	box := newToolbox()
	f, s, model, exchange := askWithTools(t, box, chat.Config{})
	for round := range 3 {
		call := model.Next(t)
		if mode := call.Request.ToolChoice.Mode; mode != "" {
			t.Errorf("round %d: %q", round, mode)
		}
		var calls []llm.ToolCall
		for i := range 7 {
			calls = append(calls, calling(fmt.Sprint(round, "-", i), "echo", "{}"))
		}
		call.CallTools(calls...)
	}
	call := model.Next(t)
	if got := results(call.Request); len(got) != 7 || !strings.Contains(got[6], "上限") || strings.Contains(got[5], "上限") {
		t.Errorf("results %q", got)
	}
	if call.Request.ToolChoice.Mode != llm.ToolNone {
		t.Errorf("choice %+v", call.Request.ToolChoice)
	}
	call.Emit("ここまで")
	call.CallTools(calling("x", "echo", "{}")) // Ignored.
	if answer := f.waitAt(s, exchange).Answer; answer.Content != "ここまで" ||
		len(answer.ToolCalls) != 21 || len(box.called) != 20 {
		t.Errorf("%q after %d calls, %d made", answer.Content, len(answer.ToolCalls), len(box.called))
	}
}

func TestModelMustAnswerAfterTheTimeForTools(t *testing.T) {
	t.Parallel()
	_, _, model, _ := askWithTools(t, newToolbox(), chat.Config{ToolTime: 1})
	if choice := model.Next(t).Request.ToolChoice; choice.Mode != llm.ToolNone {
		t.Errorf("choice %+v", choice)
	}
}

func TestModelMustAnswerAfterAMillionTokens(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.giveTools()
	var choices []llm.ToolMode
	s := f.startWith(chat.Deps{Tools: newToolbox(), Model: llmtest.Func(
		func(_ context.Context, req llm.Request, emit func(text string)) (llm.Result, error) {
			if len(req.Tools) == 0 { // For the title.
				return llm.Result{FinishReason: llm.FinishStop}, nil
			}
			choices = append(choices, req.ToolChoice.Mode)
			result := llm.Result{FinishReason: llm.FinishTools, Usage: llm.Usage{InputTokens: 399_000, OutputTokens: 1_000}}
			if req.ToolChoice.Mode == llm.ToolNone {
				emit("ここまで")
				result.FinishReason = llm.FinishStop
			} else {
				result.ToolCalls = []llm.ToolCall{calling(fmt.Sprint(len(choices)), "echo", "{}")}
			}
			return result, nil
		})}, chat.Config{})
	answer := f.waitAt(s, f.sendTo(s, f.question("調べて"))).Answer
	if answer.Content != "ここまで" || !slices.Equal(choices, []llm.ToolMode{"", "", "", llm.ToolNone}) {
		t.Errorf("%q after %q", answer.Content, choices)
	}
}

func TestStopEndsARunningTool(t *testing.T) {
	t.Parallel()
	box := newToolbox()
	f, s, model, exchange := askWithTools(t, box, chat.Config{})
	call := model.Next(t)
	call.Emit("待ちます。")
	call.CallTools(calling("w", "wait", "{}"))
	<-box.called
	must.Succeed(t, s.StopMessage(t.Context(), f.owner, exchange.Answer.ID))
	answer := f.waitAt(s, exchange).Answer
	if answer.FinishReason != chat.FinishStopped || answer.Content != "待ちます。" || len(answer.ToolCalls) != 1 ||
		answer.ToolCalls[0].State != chat.ToolFailed || answer.ToolCalls[0].Error != "停止しました。" {
		t.Errorf("stored %+v", answer)
	}
}

// TestStoppingServerLeavesCallsToTheNext: a call that a stopping server has ended is made again by the server that takes
// over.
func TestStoppingServerLeavesCallsToTheNext(t *testing.T) {
	t.Parallel()
	box := newToolbox()
	f, stopping, model, exchange := askWithTools(t, box, mute())
	model.Next(t).CallTools(calling("w", "wait", "{}"))
	<-box.called
	stopping.kill()
	box, model = newToolbox(), llmtest.NewLive()
	close(box.leave)
	next := f.startWith(chat.Deps{Model: model, Tools: box}, chat.Config{Alone: true})
	call := model.Next(t)
	if got := results(call.Request); !slices.Equal(got, []string{"w:待ちました"}) {
		t.Errorf("results %q", got)
	}
	call.Emit("はい")
	call.Finish()
	if answer := f.waitAt(next, exchange).Answer; answer.Content != "はい" || len(answer.ToolCalls) != 1 ||
		answer.ToolCalls[0].State != chat.ToolDone {
		t.Errorf("stored %+v", answer)
	}
}

// TestStopBeforeARepeatedCall: a call without a result is shown as stopped, if its answer ends before the next server
// makes it again.
func TestStopBeforeARepeatedCall(t *testing.T) {
	t.Parallel()
	box := newToolbox()
	f, stopping, model, exchange := askWithTools(t, box, mute())
	call := model.Next(t)
	call.Emit("待ちます。")
	call.CallTools(calling("w", "wait", "{}"))
	<-box.called
	stopping.kill()
	must.Succeed(t, f.server.StopMessage(t.Context(), f.owner, exchange.Answer.ID))
	next := f.startWith(chat.Deps{
		Model: llmtest.NewLive(), Tools: newToolbox(), // Neither is called.
		Grounder: grounder(func(ctx context.Context, _ *chat.AnswerRequest, _ func(chat.Step)) (chat.Grounds, error) {
			<-ctx.Done()
			return chat.Grounds{}, ctx.Err()
		}),
	}, chat.Config{Alone: true})
	answer := f.waitAt(next, exchange).Answer
	if answer.FinishReason != chat.FinishStopped || answer.Content != "待ちます。" || len(answer.ToolCalls) != 1 ||
		answer.ToolCalls[0].State != chat.ToolFailed || answer.ToolCalls[0].Error != "停止しました。" {
		t.Errorf("stored %+v", answer)
	}
	if raw := f.follow(next, exchange.Answer.ID, ""); strings.Count(raw, "tool-output-error") != 1 {
		t.Errorf("got %s", raw)
	}
}
