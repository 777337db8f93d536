package stream_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// writeRounds writes an answer with rounds of calls, and returns its text.
func writeRounds(text *stream.Text, rounds int) (whole string) {
	write := func(piece string) {
		text.AppendText(piece)
		whole += piece
	}
	for round := range rounds {
		text.PutRound(round)
		if round%3 != 1 { // A round without text.
			write(fmt.Sprintf("%d回目、🧵", round))
			write("続き。")
		}
		for i := range round%2 + 1 {
			id := fmt.Sprintf("call%d-%d", round, i)
			text.PutToolCall(stream.ToolCall{ID: id, Name: "calculate", Input: json.RawMessage(`{}`), Offset: len(whole)})
			text.PutToolResult(stream.ToolResult{ID: id, Output: "結果"})
		}
	}
	text.PutRound(rounds)
	text.PutRound(rounds) // A repetition has no effect.
	write("終わり")
	text.Finish(done)
	return whole
}

// steps reads events like the AI SDK: a text part ends with its step, and calls belong to the current step.
type steps struct {
	t             *testing.T
	open, step    bool
	text          string
	started, over map[int]int
	results       map[string]int
	cursor        string
}

func newSteps(t *testing.T) *steps {
	return &steps{t: t, started: make(map[int]int), over: make(map[int]int), results: make(map[string]int)}
}

// connect begins a connection: no part is open.
func (s *steps) connect() { s.open, s.step = false, false }

func (s *steps) read(raw string) {
	s.t.Helper()
	events, _ := parseEvents(s.t, []byte(raw))
	for _, e := range events {
		var ch struct {
			Type, ToolCallID, Delta string
			Step                    int
		}
		_ = json.Unmarshal([]byte(e.data), &ch)
		if e.id != "" {
			s.cursor = e.id
		}
		switch ch.Type {
		case "start-step":
			if s.step || s.open {
				s.t.Errorf("step %d begins within a step or a text part", ch.Step)
			}
			s.step = true
			s.started[ch.Step]++
		case "finish-step":
			if !s.step || s.open {
				s.t.Errorf("step %d ends without its beginning, or with a text part", ch.Step)
			}
			s.step = false
			s.over[ch.Step]++
		case "text-start":
			if s.open {
				s.t.Error("a text part begins within another one")
			}
			s.open = true
		case "text-delta":
			if !s.open {
				s.t.Error("text outside of a text part")
			}
			s.text += ch.Delta
		case "text-end":
			s.open = false
		case "tool-output-available":
			s.results[ch.ToolCallID]++
		case "finish":
			if s.open || s.step {
				s.t.Error("the answer ends within a text part or a step")
			}
		}
	}
}

// TestRoundsAreStepsAfterEveryCut: cut at every line, the events before and after the cut are valid for the AI SDK. The
// client that resumes has the whole text, and each step and result.
func TestRoundsAreStepsAfterEveryCut(t *testing.T) {
	t.Parallel()
	for _, rounds := range []int{1, 2, 7} {
		text := newText(1)
		live := text.Watch("")
		whole := writeRounds(text, rounds)
		raw := string(drain(live))
		for cut := range len(raw) + 1 {
			if cut > 0 && raw[cut-1] != '\n' {
				continue
			}
			s := newSteps(t)
			end := strings.LastIndex(raw[:cut], "\n\n") // A client drops an incomplete event.
			s.read(raw[:max(end, 0)] + "\n\n")
			s.connect()
			s.read(string(drain(text.Watch(s.cursor))))
			if s.text != whole || len(s.started) != rounds+1 || len(s.over) != rounds+1 || len(s.results) != rounds+rounds/2 {
				t.Fatalf("%d rounds, cut at %d: %q, %+v", rounds, cut, s.text, s)
			}
		}
	}
}

// TestRoundsAreStepsForLateClients: the events are valid for the AI SDK for clients that connect after any change, with or
// without a part of the text.
func TestRoundsAreStepsForLateClients(t *testing.T) {
	t.Parallel()
	const rounds = 5
	text := newText(1)
	var clients []*stream.Watch
	stop := text.OnChange(func() {
		clients = append(clients, text.Watch(""))
		if n := text.Len(); n > 0 {
			clients = append(clients, text.Watch(stream.Cursor{Run: 1, Offset: n}.String()))
		}
	})
	defer stop()
	whole := writeRounds(text, rounds)
	for i, w := range clients {
		s := newSteps(t)
		s.read(string(drain(w)))
		if !strings.HasSuffix(whole, s.text) || !w.Resumed() && s.text != whole || len(s.started) != rounds+1 ||
			len(s.over) != rounds+1 {
			t.Errorf("client %d: %q, %+v", i, s.text, s)
		}
	}
}

// TestMirrorsHaveTheRounds: a text that another server writes has the same rounds for clients from the beginning, whether
// they are connected while the updates arrive or connect later.
func TestMirrorsHaveTheRounds(t *testing.T) {
	t.Parallel()
	text := newText(1)
	mirror := newText(1)
	live := mirror.Watch("")
	var position stream.Position
	stop := text.OnChange(func() {
		u, next := text.Since(position)
		position = next
		if err := mirror.Apply(u); err != nil {
			t.Error(err)
		}
	})
	defer stop()
	whole := writeRounds(text, 5)
	for _, w := range []*stream.Watch{live, mirror.Watch("")} {
		s := newSteps(t)
		s.read(string(drain(w)))
		if s.text != whole || len(s.started) != 6 || len(s.over) != 6 || len(s.results) != 7 {
			t.Errorf("%q, %+v", s.text, s)
		}
	}
}

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
	s := newSteps(t)
	s.read(raw)
	if s.text != "答え" || len(s.started) != 1 || len(s.over) != 1 || strings.Count(raw, "reasoning-start") != 1 {
		t.Errorf("%s", raw)
	}
}
