package stream_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestCallsArriveOnceAfterEveryCut: answers have 0 to 20 calls in rounds, and are written in one to three runs, each of
// which continues or restarts the previous one. One client is cut at every byte of every run. The resulting clients
// connect again later, to the writer or to a mirror, and are cut again in later runs. A connection has every part at or
// after the client's cursor. At the end every client has the exact text, and each part once.
func TestCallsArriveOnceAfterEveryCut(t *testing.T) {
	t.Parallel()
	for calls := range 21 {
		for _, runs := range []int{1, 2, 3} {
			t.Run(fmt.Sprintf("%d calls, %d runs", calls, runs), func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(uint64(calls), uint64(runs)))
				a := callAnswer{t: t, rng: rng, hub: stream.NewHub(stream.HubConfig{}), live: newCaller(t)}
				for run := 1; run <= runs; run++ {
					a.write(run, calls, run == runs)
				}
				a.check(calls)
			})
		}
	}
}

// callAnswer is a generated answer and its clients.
type callAnswer struct {
	t       *testing.T
	rng     *rand.Rand
	hub     *stream.Hub
	live    *caller   // Is cut at every byte.
	clients []*caller // The clients that were cut.

	text, mirror *stream.Text      // Of the current run.
	changes      []change          // Of the current run, with those of the runs that it continues.
	written      int               // Number of them.
	known        string            // The text.
	offsets      map[string]int    // Of the text before each part, by the key of a caller.
	unfinished   map[string]string // The arguments so far by id.
}

// change is a change of an answer: a piece of text, a part, or the calls that the model is writing.
type change struct {
	text   string
	key    string // Of the part that put puts, as in a caller.
	put    func(*stream.Text)
	inputs []stream.ToolInput // If text and put are not set.
}

// write writes a run. Unless it is the last one, it is abandoned after a random change.
func (a *callAnswer) write(run, calls int, last bool) {
	a.begin(run, calls)
	until := len(a.changes)
	if !last {
		until = a.written + a.rng.IntN(until-a.written+1)
	}
	for _, c := range a.clients {
		c.connectAt, c.cutAt = a.randomChange(), a.randomChange()
	}
	if n := len(a.clients); n > 0 {
		a.live = a.clients[a.rng.IntN(n)].clone()
	}
	a.live.connectAt, a.live.cutAt = a.written, len(a.changes)+1
	for a.readAll(); a.written < until; a.readAll() {
		switch c := a.changes[a.written]; {
		case c.text != "":
			a.text.AppendText(c.text)
			a.known += c.text
		case c.put != nil:
			if _, again := a.offsets[c.key]; !again {
				a.offsets[c.key] = len(a.known)
			}
			delete(a.unfinished, strings.TrimPrefix(c.key, "tool-input-available "))
			c.put(a.text)
		default:
			clear(a.unfinished)
			for _, in := range c.inputs {
				a.unfinished[in.ID] = string(in.Arguments)
			}
			a.text.PutToolInputs(c.inputs)
		}
		a.written++
	}
	if last {
		a.text.Finish(done)
		a.readAll()
	}
	for _, c := range append(a.clients, a.live) {
		c.watch = nil
	}
	a.clients = append(a.clients, a.live.clone())
}

// begin begins a run, which restarts the answer, or continues the previous run after its written changes. The end of
// the text after the latest part may be lost.
func (a *callAnswer) begin(run, calls int) {
	text := newText(run)
	a.unfinished = make(map[string]string)
	if run == 1 || a.rng.IntN(3) == 0 {
		a.changes, a.written = a.generate(fmt.Sprintf("run%d-", run), calls), 0
		a.known, a.offsets = "", make(map[string]int)
	} else {
		kept := a.written
		if kept > 0 && a.rng.IntN(2) == 0 && a.changes[kept-1].text != "" {
			kept--
			a.known = strings.TrimSuffix(a.known, a.changes[kept].text)
			a.changes = slices.Concat(a.changes[:kept], []change{{text: "別の\n続き。"}}, a.changes[kept+1:])
		}
		for _, c := range a.changes[:kept] {
			if c.put != nil {
				c.put(text)
			}
		}
		text.Continue(a.known, a.text.Head().Continue(len(a.known)))
		a.written = kept
	}
	a.hub.Register(text)
	a.text, a.mirror = text, stream.NewText(text.Head())
	position := stream.Position{}
	apply := func() {
		var u stream.Update
		u, position = text.Since(position)
		must.Succeed(a.t, a.mirror.Apply(u))
	}
	apply()
	text.OnChange(apply)
}

// randomChange returns a number of written changes of the current run.
func (a *callAnswer) randomChange() int { return a.written + a.rng.IntN(len(a.changes)-a.written+1) }

const longInput = `{"n":"行\n` + "\\u0000🧵" + `"}`

// generate returns the changes of an answer with calls in rounds. Some calls are written in pieces, need a decision, or
// are withdrawn; some end in another order.
func (a *callAnswer) generate(name string, calls int) (changes []change) {
	length := 0
	say := func(text string) {
		length += len(text)
		changes = append(changes, change{text: text})
	}
	put := func(key string, f func(*stream.Text)) { changes = append(changes, change{key: key, put: f}) }
	round := 0
	putRound := func() {
		n := round
		put(fmt.Sprintf("start-step %d", n), func(text *stream.Text) { text.PutRound(n) })
	}
	for first := 0; first < calls; round++ {
		putRound()
		if a.rng.IntN(3) > 0 {
			say(fmt.Sprintf("%s%d回目、🧵", name, round))
			say("続き。\n")
		}
		var inputs []stream.ToolInput
		ids := make([]string, 1+a.rng.IntN(min(4, calls-first)))
		for i := range ids {
			ids[i] = fmt.Sprintf("%s%d", name, first+i)
			for _, size := range []int{0, len(`{"n":"行`), len(longInput)} {
				inputs = append(inputs[:i:i], stream.ToolInput{
					ID: ids[i], Name: "calculate", Title: "計算", Arguments: []byte(longInput[:size]),
				})
				changes = append(changes, change{inputs: inputs})
			}
		}
		first += len(ids)
		withdrawn := stream.ToolInput{ID: "withdrawn", Name: "calculate", Arguments: []byte("{")}
		changes = append(changes, change{inputs: append(inputs[:len(ids):len(ids)], withdrawn)}, change{inputs: inputs})
		for _, id := range ids {
			call := stream.ToolCall{
				ID: id, Name: "calculate", Title: "計算", Input: json.RawMessage(longInput), Offset: length,
			}
			put("tool-input-available "+id, func(text *stream.Text) { text.PutToolCall(call) })
		}
		changes = append(changes, change{})
		a.rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		for _, id := range ids {
			result, kind := stream.ToolResult{ID: id, Output: "結果\n" + id}, "available "
			switch a.rng.IntN(4) {
			case 0:
				result, kind = stream.ToolResult{ID: id, Error: "失敗"}, "error "
			case 1:
				result, kind = stream.ToolResult{ID: id, Denied: true}, "denied "
			case 2:
				for _, state := range []string{"waiting", "approved"} {
					put("data-tool-approval "+id, func(text *stream.Text) {
						text.PutToolApproval(stream.ToolApproval{ID: "decision " + id, CallID: id, State: state})
					})
				}
			}
			put("tool-output-"+kind+id, func(text *stream.Text) { text.PutToolResult(result) })
		}
	}
	if calls > 0 {
		putRound()
	}
	say(name + "終わり、")
	say("です🧵。")
	return changes
}

// readAll lets all clients read what is available.
func (a *callAnswer) readAll() {
	for _, c := range a.clients {
		if c.watch == nil && a.written >= c.connectAt && !c.done {
			c.connect([]*stream.Text{a.hub.Find("0190"), a.mirror}[a.rng.IntN(2)])
		}
		if c.watch == nil {
			continue
		}
		raw := drain(c.watch)
		if a.written < c.cutAt {
			c.read(string(raw))
			a.compare(c)
			continue
		}
		c.readCut(string(raw[:a.rng.IntN(len(raw)+1)]))
		c.connectAt, c.cutAt = a.written+a.rng.IntN(3), len(a.changes)+1
	}
	if a.live.watch == nil {
		a.live.connect(a.hub.Find("0190"))
	}
	raw := string(drain(a.live.watch))
	for cut, before := 0, -1; cut <= len(raw); cut++ {
		// Cuts of one event have the same result, because a client drops an incomplete event.
		if end := strings.LastIndex(raw[:cut], "\n\n"); end > before {
			before = end
			c := a.live.clone()
			c.readCut(raw[:cut])
			c.connectAt = a.written + a.rng.IntN(3)
			a.clients = append(a.clients, c)
		}
	}
	a.live.read(raw)
	a.compare(a.live)
}

// compare compares a client that has read everything with the answer.
func (a *callAnswer) compare(c *caller) {
	a.t.Helper()
	if c.text != a.known || c.watch.Text() == a.text && !maps.Equal(c.unfinished, a.unfinished) {
		a.t.Fatalf("after change %d: %q, want %q; unfinished %v, want %v",
			a.written, c.text, a.known, c.unfinished, a.unfinished)
	}
	for key, offset := range a.offsets {
		if _, sent := c.sent[key]; offset >= c.from && !sent {
			a.t.Fatalf("after change %d: no %s at %d on the connection from %d", a.written, key, offset, c.from)
		}
	}
}

// check checks the clients after the end of the answer.
func (a *callAnswer) check(calls int) {
	whole := newCaller(a.t)
	whole.connect(a.text)
	whole.read(string(drain(whole.watch)))
	a.compare(whole)
	if len(whole.calls) != calls {
		a.t.Errorf("calls %v, want %d", whole.calls, calls)
	}
	for _, c := range append(a.clients, a.live) {
		if !c.done {
			c.connect(a.text)
			c.read(string(drain(c.watch)))
			a.compare(c)
		}
		if c.text != a.known || !c.done || !slices.Equal(c.calls, whole.calls) || !maps.Equal(c.parts, whole.parts) {
			a.t.Fatalf("%q with %q, want %q with %q", c.text, c.parts, a.known, whole.parts)
		}
	}
}

// caller is a client that applies each part by its toolCallId. It reads events like the AI SDK: a text part ends with
// its step.
type caller struct {
	t          *testing.T
	text       string
	cursor     string
	unfinished map[string]string // The arguments so far by id.
	calls      []string          // The ids of complete calls.
	parts      map[string]string // The latest data of each part by its type and id.
	done       bool

	watch            *stream.Watch // Nil while not connected. The fields below are of the connection.
	from             int           // The offset of the cursor.
	sent             map[string]bool
	open, step       bool // A text part, and a step.
	connectAt, cutAt int  // Numbers of written changes.
}

func newCaller(t *testing.T) *caller {
	return &caller{
		t: t, unfinished: make(map[string]string), parts: make(map[string]string), sent: make(map[string]bool),
	}
}

// clone returns a copy of the client, to be continued in another way.
func (c *caller) clone() *caller {
	other := *c
	other.unfinished, other.parts, other.sent = maps.Clone(c.unfinished), maps.Clone(c.parts), maps.Clone(c.sent)
	other.calls = slices.Clone(c.calls)
	return &other
}

func (c *caller) connect(text *stream.Text) {
	at, _ := stream.ParseCursor(c.cursor)
	c.watch, c.from, c.sent, c.open, c.step = text.Watch(c.cursor), at.Offset, make(map[string]bool), false, false
}

// discard begins a new message.
func (c *caller) discard() {
	c.text, c.from, c.calls = "", 0, nil
	clear(c.parts)
}

// readCut reads the complete events of a connection that is cut after raw.
func (c *caller) readCut(raw string) {
	c.read(raw[:max(0, strings.LastIndex(raw, "\n\n"))] + "\n\n")
	c.watch = nil
}

func (c *caller) read(raw string) {
	c.t.Helper()
	events, _ := parseEvents(c.t, []byte(raw))
	for _, e := range events {
		c.event(e)
	}
}

// callChunk has the fields of the chunks that a caller reads.
type callChunk struct {
	Type, ToolCallID, ToolName, Delta, InputTextDelta, ErrorText, ID string
	Dynamic                                                          bool
	Step                                                             int
}

func (c *caller) event(e event) {
	c.t.Helper()
	var ch callChunk
	if e.data == "[DONE]" {
		c.done = true
	} else if json.Unmarshal([]byte(e.data), &ch) != nil {
		c.t.Fatalf("no JSON: %q", e.data)
	}
	switch ch.Type {
	case "start":
		clear(c.unfinished) // The connection sends them again.
		if c.cursor == "" {
			c.discard()
		}
	case "data-reset":
		c.discard()
	case "start-step", "finish-step":
		if begins := ch.Type == "start-step"; c.step == begins || c.open {
			c.t.Errorf("step %v, text %v: %s", c.step, c.open, e.data)
		}
		c.step = !c.step
		c.apply(fmt.Sprintf("%s %d", ch.Type, ch.Step), e.data)
	case "text-start", "text-end":
		if begins := ch.Type == "text-start"; c.open == begins {
			c.t.Errorf("text %v: %s", c.open, e.data)
		}
		c.open = !c.open
	case "text-delta":
		if !c.open {
			c.t.Error("text outside of a text part")
		}
		c.text += ch.Delta
	case "finish", "abort", "error":
		if len(c.unfinished) > 0 || c.open || c.step {
			c.t.Errorf("text %v, step %v, unfinished at the end: %v", c.open, c.step, c.unfinished)
		}
	case "data-tool-approval":
		key := ch.Type + " " + ch.ID
		delete(c.parts, key) // A later state replaces an earlier one.
		c.apply(key, e.data)
	default:
		c.tool(ch, e.data)
	}
	if e.id != "" {
		c.cursor = e.id
		if at, _ := stream.ParseCursor(e.id); at.Offset != len(c.text) {
			c.t.Errorf("cursor %s after %d bytes", e.id, len(c.text))
		}
	}
}

// tool processes an event with a toolCallId.
func (c *caller) tool(ch callChunk, data string) {
	c.t.Helper()
	before, known := c.unfinished[ch.ToolCallID]
	_, complete := c.parts["tool-input-available "+ch.ToolCallID]
	switch ch.Type {
	case "tool-input-start":
		if complete || ch.ToolName == "" || !ch.Dynamic {
			c.t.Errorf("complete %v: %s", complete, data)
		}
		c.unfinished[ch.ToolCallID] = ""
	case "tool-input-delta":
		if !known || ch.InputTextDelta == "" {
			c.t.Errorf("known %v: %s", known, data)
		}
		c.unfinished[ch.ToolCallID] = before + ch.InputTextDelta
	case "tool-input-error":
		if !known || ch.ErrorText == "" {
			c.t.Errorf("known %v: %s", known, data)
		}
		delete(c.unfinished, ch.ToolCallID)
	case "tool-input-available":
		delete(c.unfinished, ch.ToolCallID)
		if !complete {
			c.calls = append(c.calls, ch.ToolCallID)
		}
		c.apply(ch.Type+" "+ch.ToolCallID, data)
	default:
		if ch.ToolCallID == "" {
			return
		}
		if !complete {
			c.t.Errorf("without its call: %s", data)
		}
		c.apply(ch.Type+" "+ch.ToolCallID, data)
	}
}

// apply applies a part by its key.
func (c *caller) apply(key, data string) {
	c.t.Helper()
	if before, found := c.parts[key]; found && before != data {
		c.t.Errorf("%s became %s", before, data)
	}
	c.parts[key], c.sent[key] = data, true
}
