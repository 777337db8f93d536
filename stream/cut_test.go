package stream_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// rule is when a client takes an event id.
type rule string

const (
	atBlankLine rule = "at the blank line" // The WHATWG's rule: EventSource, loadgen.
	withData    rule = "with data"         // Libraries that hand on events: eventsource-parser, go-sse.
	atLine      rule = "at its line"       // fetch-event-source: before the event is whole.

	// atLineChecked is atLine as docs/streaming.md asks for: where an id is not the length of the text, the client
	// begins anew.
	atLineChecked rule = "at its line, checked"
)

// reader is a client with a rule. It can be compared.
type reader struct {
	rule         rule
	text, cursor string
	reasoning    string
	done         bool
	torn         bool // It holds the id of an event that it never saw the end of: the cut that atLine cannot bear.
}

// read takes what came over one connection, which may end anywhere. It reports whether the client leaves by itself.
func (c *reader) read(t *testing.T, raw string) (left bool) {
	t.Helper()
	id, data := "", ""
	for {
		line, rest, whole := strings.Cut(raw, "\n")
		if !whole {
			return false
		}
		raw = rest
		if value, ok := strings.CutPrefix(line, "id: "); ok {
			id = value
			if c.rule == atLine || c.rule == atLineChecked {
				c.cursor, c.torn = id, true
			}
		} else if value, ok := strings.CutPrefix(line, "data: "); ok {
			data = value
		}
		if line != "" {
			continue
		}
		c.torn = false
		if id != "" && (c.rule == atBlankLine || c.rule == withData && data != "") {
			c.cursor = id
		}
		if data != "" && !c.event(t, id, data) {
			c.text, c.cursor = "", ""
			return true
		}
		id, data = "", ""
	}
}

// event reports whether the client can go on.
func (c *reader) event(t *testing.T, id, data string) bool {
	t.Helper()
	if c.done = data == "[DONE]"; c.done {
		return true
	}
	var ch chunk
	if err := json.Unmarshal([]byte(data), &ch); err != nil {
		t.Fatal(err)
	}
	switch ch.Type {
	case "start":
		if c.cursor == "" { // It has asked for everything.
			c.reasoning = ""
		}
	case "data-reset":
		c.text, c.reasoning = "", ""
	case "reasoning-delta":
		c.reasoning += ch.Delta
	case "text-delta":
		c.text += ch.Delta
	}
	if c.rule != atLineChecked || id == "" {
		return true
	}
	cursor, _ := stream.ParseCursor(id)
	return cursor.Offset == len(c.text)
}

// runs are what one answer said each time it was begun. They have the same beginning, and one is a prefix of another.
var runs = []string{"紡ぐとは、🧵", "紡ぐ", "紡ぐとは、\n糸を引くこと。"}

// thoughts are what the model thought before each of the runs.
var thoughts = []string{"何を、聞かれたか。", "", "糸の、ことだ。"}

// connection returns all that a client with a cursor is sent of one run: a part of the text is there, the other
// follows. The last run comes to its end, an earlier one is abandoned.
func connection(run int, last bool, cursor string) string {
	text := newText(run)
	pieces := strings.SplitAfter(runs[run-1], "、")
	text.PutStep("retrieval", "running", "")
	think := func() {
		for piece := range strings.SplitAfterSeq(thoughts[run-1], "、") {
			text.AppendReasoning(piece)
		}
		text.AppendText(pieces[0])
	}
	// A client that has some of the text comes back when the model has thought, another one while it thinks.
	if at, _ := stream.ParseCursor(cursor); at.Run == run && at.Offset > 0 {
		think()
		think = func() {}
	}
	w := text.Watch(cursor)
	think()
	for _, piece := range pieces[1:] {
		text.AppendText(piece)
	}
	if last {
		text.Finish(done)
	} else {
		text.Abandon()
	}
	return "retry: 1000\n\n" + string(drain(w))
}

// TestR05_CutAtEveryByteWithEveryRule holds that the text is exact however often and wherever the connections of a
// client are cut, and whatever its rule is, over several runs. All states that a client can be in are gone through.
func TestR05_CutAtEveryByteWithEveryRule(t *testing.T) {
	t.Parallel()
	for n := range len(runs) {
		for _, rule := range []rule{atBlankLine, withData, atLine, atLineChecked} {
			t.Run(fmt.Sprintf("%d runs, %s", n+1, rule), func(t *testing.T) {
				t.Parallel()
				states := map[reader]bool{{rule: rule}: true}
				for run := 1; run <= n+1; run++ {
					for range 3 { // Connections, of which the last begins where the second was cut.
						states = cutEverywhere(t, states, run, run == n+1)
					}
				}
				for c := range states {
					before := c
					for tries := 0; !c.done && tries < 3; tries++ {
						c.read(t, connection(n+1, true, c.cursor))
					}
					if c.text != runs[n] || c.reasoning != thoughts[n] || !c.done {
						t.Errorf("%+v ends with %q after %q, done %v", before, c.text, c.reasoning, c.done)
					}
				}
				if len(states) < 5 {
					t.Errorf("%d states", len(states))
				}
			})
		}
	}
}

// cutEverywhere returns what becomes of clients that are sent a run, and cut off after any byte of it. Of a client that
// takes ids at their line, a cut between an id and the blank line after it loses the event: no server can tell that
// from the cut behind.
func cutEverywhere(t *testing.T, states map[reader]bool, run int, last bool) map[reader]bool {
	t.Helper()
	after := make(map[reader]bool)
	for c := range states {
		if c.done {
			after[c] = true
			continue
		}
		raw := connection(run, last, c.cursor)
		for cut := range len(raw) + 1 {
			if cut > 0 && raw[cut-1] != '\n' {
				continue // A reader takes whole lines: it is the same as at the last line's end.
			}
			next := c
			next.read(t, raw[:cut])
			torn := next.torn && !strings.HasSuffix(next.cursor, "-0")
			if next.torn = false; next.rule == atLine && torn {
				continue
			}
			after[next] = true
		}
	}
	return after
}

// TestR05_CutAtEveryByteOverTheWire is the same with real connections: the first is cut while the first run is written,
// the second while the second is.
func TestR05_CutAtEveryByteOverTheWire(t *testing.T) {
	onBothPaths(t, func(t *testing.T, cfg stream.Config) {
		texts := make([]*stream.Text, 2)
		for i, said := range runs[:2] {
			texts[i] = newText(i + 1)
			texts[i].AppendReasoning(thoughts[i])
			texts[i].AppendText(said)
		}
		texts[1].Finish(done)
		s := stream.NewServer(cfg)
		server := serveWith(t, s, func(w http.ResponseWriter, r *http.Request) {
			text := texts[0]
			if r.URL.Path == "/2" {
				text = texts[1]
			}
			s.Serve(w, r, stream.Delivery{Watch: text.Watch(r.Header.Get("Last-Event-ID")), Done: once(t, nil)})
		})
		get := func(c *reader, path string, limit int64) {
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
			if c.cursor != "" {
				r.Header.Set("Last-Event-ID", c.cursor)
			}
			resp, err := server.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			raw, err := io.ReadAll(io.LimitReader(resp.Body, limit))
			if err != nil {
				t.Error(err)
			}
			c.read(t, string(raw))
		}
		// As much as is sent before the text rests.
		length := len(drain(texts[0].Watch("")))
		for cut := range length {
			for _, rule := range []rule{atBlankLine, withData, atLineChecked} {
				c := reader{rule: rule}
				get(&c, "/1", int64(cut))
				get(&c, "/2", int64(cut*7%length))
				for tries := 0; !c.done && tries < 3; tries++ {
					get(&c, "/2", 1<<20)
				}
				if c.text != runs[1] || c.reasoning != thoughts[1] || !c.done {
					t.Fatalf("cut at %d, %s: %q after %q, done %v", cut, rule, c.text, c.reasoning, c.done)
				}
			}
		}
	})
}

// TestR05_NoIDOfANewRunBeforeItsReset holds on which events ids stand, and that data comes before.
func TestR05_NoIDOfANewRunBeforeItsReset(t *testing.T) {
	t.Parallel()
	for _, cursor := range []string{"", "1-3", "2-3", "2-0", "x"} {
		raw := connection(2, true, cursor)
		events, _ := parseEvents(t, []byte(raw))
		first := ""
		for _, e := range events {
			var ch chunk
			_ = json.Unmarshal([]byte(e.data), &ch)
			if want := ch.Type == "data-reset" || ch.Type == "text-delta" || ch.Type == "finish"; (e.id != "") != want {
				t.Errorf("cursor %q: id %q on %s", cursor, e.id, e.data)
			}
			if first == "" && e.id != "" {
				first = ch.Type
			}
		}
		if reset := cursor != "" && cursor != "2-3"; reset != (first == "data-reset") {
			t.Errorf("cursor %q: the first id stands on %s", cursor, first)
		}
		if strings.Contains(raw, "\n\nid: ") {
			t.Errorf("cursor %q: an id before its data: %q", cursor, raw)
		}
	}
}

// TestR07_EventsAreSmall holds that an event carries at most 4 KiB of text, live, caught up and mirrored, and splits no
// character.
func TestR07_EventsAreSmall(t *testing.T) {
	t.Parallel()
	said := "x" + strings.Repeat("紡🧵", 5000)
	text := newText(1)
	live := text.Watch("")
	text.AppendText(said)
	mirror := newText(1)
	mirrored := mirror.Watch("")
	update, _ := text.Since(stream.Position{})
	if err := mirror.Apply(update); err != nil {
		t.Fatal(err)
	}
	for name, w := range map[string]*stream.Watch{"live": live, "late": text.Watch(""), "mirrored": mirrored} {
		got := ""
		events, _ := parseEvents(t, drain(w))
		for _, e := range events {
			var ch chunk
			_ = json.Unmarshal([]byte(e.data), &ch)
			if len(ch.Delta) > 4<<10 || !utf8.ValidString(ch.Delta) {
				t.Fatalf("%s: a delta of %d bytes", name, len(ch.Delta))
			}
			got += ch.Delta
		}
		if got != said {
			t.Errorf("%s: %d bytes of %d", name, len(got), len(said))
		}
	}
}
