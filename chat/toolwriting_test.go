package chat_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func writing(id, arguments string) llm.ToolInput {
	return llm.ToolInput{ID: id, Name: "echo", Arguments: []byte(arguments)}
}

var inputPart = regexp.MustCompile(`"type":"tool-input-([a-z]+)","toolCallId":"([^"]*)"(?:.*"inputTextDelta":"(.*)"})?`)

// inputParts returns the parts about the arguments of calls, each as its type, its call and its piece.
func inputParts(raw string) (parts []string) {
	for _, part := range inputPart.FindAllStringSubmatch(raw, -1) {
		parts = append(parts, strings.TrimSpace(strings.Join(part[1:], " ")))
	}
	return parts
}

// TestCallsAreShownWhileTheModelWritesThem: clients receive the arguments in pieces, under the id of the later call. A
// client that connects in the middle receives them from their start. Nothing of a withdrawn call is stored.
func TestCallsAreShownWhileTheModelWritesThem(t *testing.T) {
	t.Parallel()
	f, s, model, exchange := askWithTools(t, newToolbox(), chat.Config{})
	call := model.Next(t)
	live := f.watch(s, exchange.Answer.ID)
	call.Emit("調べます。")
	call.Write(writing("a", `{"n":`))
	middle := f.watch(s, exchange.Answer.ID)
	call.Write(writing("a", `{"n":1`), writing("gone", ""))
	call.Write(writing("a", `{"n":1}`))
	call.CallTools(calling("a", "echo", `{"n":1}`))
	call = model.Next(t)
	// Some models number the calls of each request from 0: the new call has another id, while it is written and after.
	call.Write(writing("a", `{"n"`))
	call.CallTools(calling("a", "echo", `{"n":2}`))
	call = model.Next(t)
	again := strings.Split(results(call.Request)[0], ":")[0]
	call.Emit("分かりました。")
	call.Finish()

	answer := f.waitAt(s, exchange).Answer
	if answer.Content != "調べます。\n\n分かりました。" || len(answer.ToolCalls) != 2 || again == "a" {
		t.Errorf("stored %q with %+v", answer.Content, answer.ToolCalls)
	}
	second := []string{"start " + again, "delta " + again + ` {\"n\"`, "available " + again}
	want := slices.Concat([]string{
		"start a", `delta a {\"n\":`, `delta a 1`, "start gone", "error gone", "delta a }", "available a",
	}, second)
	raw := f.drain(live)
	if got := inputParts(raw); !slices.Equal(got, want) {
		t.Errorf("parts %q in %s", got, raw)
	}
	if got := inputParts(f.drain(middle)); !slices.Equal(got, want) {
		t.Errorf("from the middle: %q", got)
	}
	if !strings.Contains(raw, `"toolName":"echo","title":"やまびこ","providerExecuted":true,"dynamic":true,`+
		`"providerMetadata":{"tsumugi":{"offset":15}}`) {
		t.Errorf("start in %s", raw)
	}
	if got := inputParts(f.follow(s, exchange.Answer.ID, "")); !slices.Equal(got, []string{"available a", want[9]}) {
		t.Errorf("afterwards: %q", got)
	}
}

// TestUnfinishedCallsOfAStoppedAnswerAreWithdrawn: an answer that is stopped while the model writes a call has no call.
func TestUnfinishedCallsOfAStoppedAnswerAreWithdrawn(t *testing.T) {
	t.Parallel()
	f, s, model, exchange := askWithTools(t, newToolbox(), chat.Config{})
	call := model.Next(t)
	live := f.watch(s, exchange.Answer.ID)
	call.Write(writing("a", `{"n":`))
	must.Succeed(t, s.StopMessage(t.Context(), f.owner, exchange.Answer.ID))
	answer := f.waitAt(s, exchange).Answer
	if answer.FinishReason != chat.FinishStopped || len(answer.ToolCalls) != 0 {
		t.Errorf("stored %q with %+v", answer.FinishReason, answer.ToolCalls)
	}
	if got := inputParts(f.drain(live)); !slices.Equal(got, []string{"start a", `delta a {\"n\":`, "error a"}) {
		t.Errorf("parts %q", got)
	}
}
