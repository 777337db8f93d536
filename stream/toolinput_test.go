package stream_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// caller reads the calls of an answer like a client: it applies each part by its toolCallId.
type caller struct {
	t          *testing.T
	text       string
	cursor     string
	unfinished map[string]string // The arguments so far by id.
	complete   map[string]string // The parts of complete calls by id.
}

func newCaller(t *testing.T) *caller {
	return &caller{t: t, unfinished: make(map[string]string), complete: make(map[string]string)}
}

// clone returns a copy of the client, to be continued in another way.
func (c *caller) clone() *caller {
	other := *c
	other.unfinished, other.complete = maps.Clone(c.unfinished), maps.Clone(c.complete)
	return &other
}

func (c *caller) read(raw string) {
	c.t.Helper()
	events, _ := parseEvents(c.t, []byte(raw))
	for _, e := range events {
		var ch struct {
			Type, ToolCallID, ToolName, Delta, InputTextDelta, ErrorText string
			Dynamic                                                      bool
		}
		if e.data != "[DONE]" && json.Unmarshal([]byte(e.data), &ch) != nil {
			c.t.Fatalf("no JSON: %q", e.data)
		}
		if e.id != "" {
			c.cursor = e.id
		}
		before, known := c.unfinished[ch.ToolCallID]
		switch ch.Type {
		case "start": // The connection sends the unfinished calls again.
			c.unfinished = make(map[string]string)
		case "text-delta":
			c.text += ch.Delta
		case "tool-input-start":
			if _, complete := c.complete[ch.ToolCallID]; complete || ch.ToolName == "" || !ch.Dynamic {
				c.t.Errorf("complete %v: %s", complete, e.data)
			}
			c.unfinished[ch.ToolCallID] = ""
		case "tool-input-delta":
			if !known || ch.InputTextDelta == "" {
				c.t.Errorf("known %v: %s", known, e.data)
			}
			c.unfinished[ch.ToolCallID] = before + ch.InputTextDelta
		case "tool-input-error":
			if !known || ch.ErrorText == "" {
				c.t.Errorf("known %v: %s", known, e.data)
			}
			delete(c.unfinished, ch.ToolCallID)
		case "tool-input-available":
			delete(c.unfinished, ch.ToolCallID)
			if data, found := c.complete[ch.ToolCallID]; found && data != e.data {
				c.t.Errorf("%s became %s", data, e.data)
			}
			c.complete[ch.ToolCallID] = e.data
		case "finish", "abort", "error":
			if len(c.unfinished) > 0 {
				c.t.Errorf("unfinished at the end: %v", c.unfinished)
			}
		}
	}
}

const longInput = `{"n":"行\n` + "\\u0000🧵" + `"}`

// writeInputs returns the changes of a round with calls: each is written in pieces, together with the others, and one
// more is withdrawn. unfinished is updated to the calls that a client should know after the change.
func writeInputs(name string, round, calls int, unfinished map[string]string) (changes []func(*stream.Text)) {
	id := func(i int) string { return fmt.Sprintf("%s%d-%d", name, round, i) }
	said := fmt.Sprintf("%d回目、🧵", round)
	write := func(call, size int, extra bool) func(*stream.Text) {
		return func(text *stream.Text) {
			clear(unfinished)
			var inputs []stream.ToolInput
			add := func(id, arguments string) {
				inputs = append(inputs, stream.ToolInput{ID: id, Name: "calculate", Title: "計算", Arguments: []byte(arguments)})
				unfinished[id] = arguments
			}
			for i := range call {
				add(id(i), longInput)
			}
			add(id(call), longInput[:size])
			if extra {
				add("withdrawn", "{")
			}
			text.PutToolInputs(inputs)
		}
	}
	changes = append(changes, func(text *stream.Text) { text.PutRound(round) },
		func(text *stream.Text) {
			if text.Text() != said { // A continued text begins with it.
				text.AppendText(said)
			}
		})
	for i := range calls {
		for _, size := range []int{0, len(`{"n":"行`), len(longInput)} {
			changes = append(changes, write(i, size, i == 0 && size > 0))
		}
	}
	for i := range calls {
		changes = append(changes, func(text *stream.Text) {
			text.PutToolCall(stream.ToolCall{ID: id(i), Name: "calculate", Title: "計算", Input: json.RawMessage(`{}`)})
			delete(unfinished, id(i))
		})
	}
	return append(changes, func(text *stream.Text) {
		text.PutToolInputs(nil)
		clear(unfinished)
		for i := range calls {
			text.PutToolResult(stream.ToolResult{ID: id(i), Output: "結果"})
		}
	})
}

// TestUnfinishedCallsAfterEveryCut: wherever a client's connection is cut, and whatever the answer's state when it
// connects again, it knows the same unfinished calls as a client that was never cut, and at the end each call once.
func TestUnfinishedCallsAfterEveryCut(t *testing.T) {
	t.Parallel()
	for _, calls := range []int{0, 1, 2, 20} {
		t.Run(fmt.Sprint(calls), func(t *testing.T) {
			t.Parallel()
			unfinished := make(map[string]string)
			answer := func() []func(*stream.Text) {
				clear(unfinished)
				return append(append(writeInputs("a", 0, calls, unfinished), writeInputs("a", 1, min(calls, 1), unfinished)...),
					func(text *stream.Text) { text.PutRound(2) }, func(text *stream.Text) { text.AppendText("終わり") },
					func(text *stream.Text) { text.Finish(done) })
			}
			first := newText(1)
			live := first.Watch("")
			for _, change := range answer() {
				change(first)
			}
			raw, want := string(drain(live)), newCaller(t)
			want.read(raw)
			if len(want.complete) != calls+min(calls, 1) || calls > 0 && !strings.Contains(raw, "tool-input-error") {
				t.Fatalf("%d calls in %s", len(want.complete), raw)
			}
			for again := range answer() { // The changes before the client connects again.
				text, cut := newText(1), newCaller(t)
				lost := text.Watch("")
				changes := answer()
				for _, change := range changes[:again] {
					change(text)
				}
				// One client was cut at the start of the stream, one in the middle, and one has read everything.
				read := string(drain(lost))
				var clients []*caller
				var watches []*stream.Watch
				for _, to := range []int{0, len(read) / 3, len(read) * 2 / 3, len(read)} {
					client := cut.clone()
					client.read(read[:max(0, strings.LastIndex(read[:to], "\n\n"))] + "\n\n")
					clients, watches = append(clients, client), append(watches, text.Watch(client.cursor))
				}
				for i := again; ; i++ {
					for n, client := range clients {
						client.read(string(drain(watches[n])))
						if !maps.Equal(client.unfinished, unfinished) {
							t.Fatalf("connected after %d, at %d: %v, want %v", again, i, client.unfinished, unfinished)
						}
					}
					if i == len(changes) {
						break
					}
					changes[i](text)
				}
				for _, client := range clients {
					if client.text != want.text || !maps.Equal(client.complete, want.complete) {
						t.Fatalf("connected after %d: %q, %v", again, client.text, client.complete)
					}
				}
			}
		})
	}
}

// TestUnfinishedCallsEndWithTheirRun: two runs are abandoned after any change. The last one has the calls of a run that
// had completed them, and else others. A client that follows has these, each once, and no unfinished call.
func TestUnfinishedCallsEndWithTheirRun(t *testing.T) {
	t.Parallel()
	const calls = 2
	unfinished := make(map[string]string)
	steps := len(writeInputs("", 0, calls, unfinished))
	for at := range (steps + 1) * (steps + 1) {
		client := newCaller(t)
		whole, stored := "", ""
		var continued []stream.Cursor
		for run, until := range []int{at % (steps + 1), at / (steps + 1), steps} {
			text := newText(run + 1)
			name := fmt.Sprintf("run%d-", run+1)
			changes := writeInputs(name, 0, calls, unfinished)
			complete := len(changes) - calls - 1 // The first change that completes a call.
			if stored != "" {
				changes = append(changes[:1:1], writeInputs(stored, 0, calls, unfinished)[complete:]...)
				for _, change := range changes {
					change(text)
				}
				until = 0
			} else if until > complete {
				stored = name
			}
			text.Continue(whole, continued)
			watch := text.Watch(client.cursor)
			for _, change := range changes[:until] {
				change(text)
			}
			if run == 2 {
				text.Finish(done)
			} else {
				text.Abandon()
			}
			client.read(string(drain(watch)))
			whole, continued = text.Text(), text.Head().Continue(text.Len())
		}
		if len(client.complete) != calls || len(client.unfinished) > 0 || client.complete[stored+"0-0"] == "" ||
			client.text != whole {
			t.Fatalf("at %d: %q, %v, %v", at, client.text, client.complete, client.unfinished)
		}
	}
}

// TestUnfinishedCallsOfASlowClient: a client that has not read for more than the log's window receives the arguments so
// far again, from their start.
func TestUnfinishedCallsOfASlowClient(t *testing.T) {
	t.Parallel()
	text, client := newText(1), newCaller(t)
	put := func(arguments string) {
		text.PutToolInputs([]stream.ToolInput{{ID: "a", Name: "write", Arguments: []byte(arguments)}})
	}
	watch := text.Watch("")
	put(`{"n":"`)
	client.read(string(watch.Take()))
	for range 2000 {
		text.AppendText(strings.Repeat("紡ぐ", 200))
	}
	put(`{"n":"途中`)
	client.read(string(drain(watch)))
	if client.unfinished["a"] != `{"n":"途中` || client.text != text.Text() {
		t.Errorf("arguments %q", client.unfinished["a"])
	}
	long := strings.Repeat("あ", 10000)
	put(long)
	client.read(string(drain(watch)))
	late := newCaller(t)
	late.read(string(drain(text.Watch(""))))
	for _, c := range []*caller{client, late} {
		if got := c.unfinished["a"]; len(got) < 16000 || len(got) > 16<<10 || !strings.HasSuffix(long, got[15:]) {
			t.Errorf("%d bytes of long arguments", len(got))
		}
	}
}

// TestOtherServersReceiveCompleteCallsOnly: unfinished calls change no position, so that other servers are sent nothing.
func TestOtherServersReceiveCompleteCallsOnly(t *testing.T) {
	t.Parallel()
	text, mirror := newText(1), newText(1)
	text.PutRound(0)
	update, position := text.Since(stream.Position{})
	must.Succeed(t, mirror.Apply(update))
	text.PutToolInputs([]stream.ToolInput{{ID: "a", Name: "calculate", Arguments: []byte(`{"a"`)}})
	update, unchanged := text.Since(position)
	if len(update.Parts) > 0 || unchanged != position {
		t.Errorf("the update has %+v", update)
	}
	watch := mirror.Watch("")
	text.PutToolCall(stream.ToolCall{ID: "a", Name: "calculate", Input: json.RawMessage(`{"a":1}`)})
	update, _ = text.Since(position)
	must.Succeed(t, mirror.Apply(update))
	client := newCaller(t)
	client.read(string(drain(watch)))
	if len(client.complete) != 1 || len(client.unfinished) > 0 {
		t.Errorf("%v, unfinished %v", client.complete, client.unfinished)
	}
}
