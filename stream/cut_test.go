package stream_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// runs are the texts of an answer's runs. They share a prefix, and one is a prefix of another.
var runs = []string{"紡ぐとは、🧵", "紡ぐ", "紡ぐとは、\n糸を引くこと。"}

// thoughts is the reasoning of each run.
var thoughts = []string{"何を、聞かれたか。", "", "糸の、ことだ。"}

// connection returns the bytes that a client with a cursor receives of one run: part of the text is stored, the rest is
// written later. The last run ends, an earlier one is abandoned.
func connection(run int, last bool, cursor string) string {
	text := newText(run)
	pieces := strings.SplitAfter(runs[run-1], "、")
	text.PutStep(stream.Step{Kind: "retrieval", Status: "running"})
	think := func() {
		for piece := range strings.SplitAfterSeq(thoughts[run-1], "、") {
			text.AppendReasoning(piece)
		}
		text.AppendText(pieces[0])
	}
	// A client with a part of the text reconnects after the reasoning; another one reconnects during it.
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

// take passes the bytes received over one connection to a client.
func take(t *testing.T, c *streamtest.Reader, raw string) {
	t.Helper()
	if _, err := c.Read(raw); err != nil {
		t.Fatal(err)
	}
}

// TestR05_CutAtEveryByteWithEveryRule: the text is exact wherever and however often a client's connections are cut, for
// every rule and over several runs. The test covers all states of a client.
func TestR05_CutAtEveryByteWithEveryRule(t *testing.T) {
	t.Parallel()
	for n := range len(runs) {
		for _, rule := range []streamtest.Rule{
			streamtest.AtBlankLine, streamtest.WithData, streamtest.AtLine, streamtest.AtLineChecked,
		} {
			t.Run(fmt.Sprintf("%d runs, %s", n+1, rule), func(t *testing.T) {
				t.Parallel()
				states := map[streamtest.Reader]bool{{Rule: rule}: true}
				for run := 1; run <= n+1; run++ {
					for range 3 { // Connections. The last one begins where the second one was cut.
						states = cutEverywhere(t, states, run, run == n+1)
					}
				}
				for c := range states {
					before := c
					for tries := 0; !c.Done && tries < 3; tries++ {
						take(t, &c, connection(n+1, true, c.Cursor))
					}
					if c.Text != runs[n] || c.Reasoning != thoughts[n] || !c.Done {
						t.Errorf("%+v ends with %q after %q, done %v", before, c.Text, c.Reasoning, c.Done)
					}
				}
				if len(states) < 5 {
					t.Errorf("%d states", len(states))
				}
			})
		}
	}
}

// cutEverywhere returns the possible states of clients after a run that is cut after any byte. If a client adopts ids
// at their line, a cut between an id and the blank line after it loses the event. No server can distinguish such a cut
// from one after the event.
func cutEverywhere(t *testing.T, states map[streamtest.Reader]bool, run int, last bool) map[streamtest.Reader]bool {
	t.Helper()
	after := make(map[streamtest.Reader]bool)
	for c := range states {
		if c.Done {
			after[c] = true
			continue
		}
		raw := connection(run, last, c.Cursor)
		for cut := range len(raw) + 1 {
			if cut > 0 && raw[cut-1] != '\n' {
				continue // Only complete lines matter: the state is the same as at the end of the last line.
			}
			next := c
			take(t, &next, raw[:cut])
			torn := next.Torn && !strings.HasSuffix(next.Cursor, "-0")
			if next.Torn = false; next.Rule == streamtest.AtLine && torn {
				continue
			}
			after[next] = true
		}
	}
	return after
}

// TestR05_NoIDOfANewRunBeforeItsReset checks that the first id of a run is on its reset or its first text, and that
// data precedes ids.
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

// TestR07_EventsAreSmall: an event has at most 4 KiB of text, live, caught up and mirrored. It does not split a
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
	must.Succeed(t, mirror.Apply(update))
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
