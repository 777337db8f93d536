package stream_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// TestNoRoundBeginsDuringReasoning: the reasoning is one part, which a step must not divide.
func TestNoRoundBeginsDuringReasoning(t *testing.T) {
	t.Parallel()
	text := newText(1)
	w := text.Watch("")
	text.PutRound(0)
	text.AppendReasoning("考える。")
	text.PutToolCall(stream.ToolCall{ID: "a", Name: "calculate", Input: json.RawMessage(`{}`)})
	text.PutToolResult(stream.ToolResult{ID: "a"})
	text.PutRound(1)
	text.AppendReasoning("続けて考える。")
	text.AppendText("答え")
	text.Finish(done)
	raw := string(drain(w))
	c := newCaller(t)
	c.read(raw)
	if c.text != "答え" || strings.Count(raw, "start-step") != 1 || strings.Count(raw, "finish-step") != 1 || strings.Count(raw, "reasoning-start") != 1 {
		t.Errorf("%s", raw)
	}
}
