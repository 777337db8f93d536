package stream_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// sample has characters of one to four bytes, combining characters, and everything that could break a line of an event
// stream.
const sample = "こんにちは、**「重要」**です。\r\ndata: x\n\nid: 9-9\n\u2028𠮷野家👨‍👩‍👧 \x00\x07\"\\ \ufeff終わり\t🍣"

func TestR02_TextArrivesByteForByte(t *testing.T) {
	t.Parallel()
	text := newText(1)
	w := text.Watch("")
	for _, r := range sample {
		text.AppendText(string(r))
	}
	text.Finish(done)
	var c client
	c.read(t, drain(w))
	if c.text != sample || !c.done {
		t.Errorf("got %q, done %v", c.text, c.done)
	}
}

func FuzzR02_TextArrivesByteForByte(f *testing.F) {
	f.Add(sample, uint64(1))
	f.Add("\xff\xfe半分\xe3\x81", uint64(2))
	f.Fuzz(func(t *testing.T, input string, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		text := newText(1)
		live := text.Watch("")
		var want strings.Builder
		for rest := input; rest != ""; {
			n := 1 + rng.IntN(len(rest))
			text.AppendText(rest[:n])
			want.WriteString(strings.ToValidUTF8(rest[:n], "\uFFFD"))
			rest = rest[n:]
		}
		text.Finish(done)
		for name, w := range map[string]*stream.Watch{"live": live, "late": text.Watch("")} {
			var c client
			c.read(t, drain(w))
			if c.text != want.String() || len(c.terminal) != 1 || !c.done {
				t.Errorf("%s: got %q, want %q", name, c.text, want.String())
			}
		}
		if text.Text() != want.String() {
			t.Errorf("stored %q, want %q", text.Text(), want.String())
		}
	})
}

func TestR03_ControlCharactersStayInsideTheData(t *testing.T) {
	t.Parallel()
	text := stream.NewText(stream.Head{MessageID: "a\nid: 7-7\n\ndata: x", Run: 1})
	text.PutStep(stream.Step{Kind: "retrieval\r\n\r\n", Status: "running", Detail: "\x00\n\n"})
	text.PutSource(stream.Source{SourceID: "s", Title: "a\r\nb.pdf", Filename: "\u2028\n", Index: 1, Page: 2})
	text.PutTitle("見\n出し", time.Time{})
	text.Finish(stream.End{Outcome: stream.Failed, ErrorText: "a\n\nb", Code: "x", Retryable: true})
	events, _ := parseEvents(t, drain(text.Watch("")))
	types := make([]string, 0, len(events))
	for _, e := range events {
		if e.id != "" && e.id != "1-0" {
			t.Errorf("an id from the outside: %q", e.id)
		}
		types = append(types, e.data[:min(len(e.data), 24)])
	}
	if len(events) != 6 {
		t.Errorf("got %d events, want 6: %q", len(events), types)
	}
}

func TestR04_CursorsRiseAndOneEndComesLast(t *testing.T) {
	t.Parallel()
	for _, end := range []stream.End{
		done,
		{Outcome: stream.Aborted, Reason: "stopped"},
		{Outcome: stream.Failed, ErrorText: "モデルに接続できませんでした。", Code: "model_unavailable", Retryable: true},
	} {
		t.Run(string(end.Outcome), func(t *testing.T) {
			t.Parallel()
			text := newText(3)
			w := text.Watch("")
			for range 500 {
				text.AppendText("絹糸")
			}
			text.Finish(end)
			// The end is final.
			text.AppendText("もっと")
			text.PutTitle("見出し", time.Time{})
			text.Finish(done)
			raw := drain(w)
			events, _ := parseEvents(t, raw)
			last := -1
			for _, e := range events {
				if !strings.Contains(e.data, `"text-delta"`) {
					continue
				}
				cursor, ok := stream.ParseCursor(e.id)
				if !ok || cursor.Run != 3 || cursor.Offset <= last {
					t.Fatalf("cursor %q after offset %d", e.id, last)
				}
				last = cursor.Offset
			}
			var c client
			c.read(t, raw)
			if !slices.Equal(c.terminal, []string{string(end.Outcome)}) || !c.done ||
				c.text != strings.Repeat("絹糸", 500) {
				t.Errorf("ends %v, done %v", c.terminal, c.done)
			}
		})
	}
}

// TestR05_ResumeFromEveryOffset resumes at each byte: live, after the end, and from a replay of the stored text.
func TestR05_ResumeFromEveryOffset(t *testing.T) {
	t.Parallel()
	answer := strings.Repeat(sample, 5)
	half := strings.Index(answer, "🍣") + len("🍣")
	for k := range len(answer) + 1 {
		live := newText(2)
		for _, r := range answer[:half] {
			live.AppendText(string(r))
		}
		cursor := stream.Cursor{Run: 2, Offset: k}.String()
		watches := map[string]*stream.Watch{"live": live.Watch(cursor)}
		for _, r := range answer[half:] {
			live.AppendText(string(r))
		}
		live.Finish(done)
		watches["ended"] = live.Watch(cursor)
		stored := newText(2)
		stored.AppendText(answer)
		stored.Finish(done)
		watches["stored"] = stored.Watch(cursor)
		for name, w := range watches {
			whole := name != "live" || k <= half
			resumable := k > 0 && (k == len(answer) || utf8.RuneStart(answer[k])) && whole
			c := client{text: answer[:k]}
			raw := drain(w)
			reset := strings.Contains(string(raw), `"data-reset"`)
			c.read(t, raw)
			if c.text != answer || reset == resumable {
				t.Fatalf("%s, offset %d: reset %v, text equal %v", name, k, reset, c.text == answer)
			}
			if resumable && strings.Count(string(raw), `"text-delta"`) > 0 && k == len(answer) {
				t.Fatalf("%s: text was sent again at the end", name)
			}
		}
	}
}

func TestR06_WatchWhilePublishing(t *testing.T) {
	t.Parallel()
	const rounds = 10_000
	tokens := []string{"糸", "を", "紡", "ぐ。", "a", "\n", "🧵", "絹の光"}
	want := strings.Join(tokens, "")
	for i := range rounds {
		text := newText(1)
		cursor := ""
		seen := ""
		if i%2 == 1 {
			text.AppendText(tokens[0])
			cursor, seen = "1-3", tokens[0]
		}
		var publisher sync.WaitGroup
		publisher.Go(func() {
			for _, token := range tokens[len(seen)/3:] {
				text.AppendText(token)
			}
			text.Finish(done)
		})
		c := client{text: seen}
		w := text.Watch(cursor)
		var raw []byte
		for {
			raw = append(raw, drain(w)...)
			more, over := w.Wait()
			if over {
				break
			}
			<-more
		}
		publisher.Wait()
		c.read(t, raw)
		if c.text != want || !c.done {
			t.Fatalf("round %d: got %q, done %v", i, c.text, c.done)
		}
	}
}

func TestR07_ManyDropsOneAnswer(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		text := newText(1)
		c := client{}
		for range 4 {
			w := text.Watch(c.cursor)
			for range 1 + rng.IntN(20) {
				text.AppendText([]string{"紡", "ぐ\n", "🧵", "x", "**糸**"}[rng.IntN(5)])
			}
			raw := drain(w)
			// The connection breaks at any byte: everything after the last complete event is lost.
			cut := strings.LastIndex(string(raw[:rng.IntN(len(raw)+1)]), "\n\n")
			if cut >= 0 {
				c.read(t, raw[:cut+2])
			}
		}
		text.Finish(done)
		c.read(t, drain(text.Watch(c.cursor)))
		if c.text != text.Text() || !c.done {
			t.Fatalf("got %q, want %q", c.text, text.Text())
		}
	}
}

func TestR08_InvalidCursorsAreReset(t *testing.T) {
	t.Parallel()
	text := newText(2)
	text.AppendText("こんにちは")
	for _, cursor := range []string{
		"1-3", "3-3", "2-1", "2-2", "2-16", "2-999999999999999999999", "-2-3", "2--3", "2-+3", "2-03", "02-3", "2",
		"2-", "-", "0-0",
		"abc", "2-3-4", "２-３", "2-3 ", " 2-3", strings.Repeat("9", 100_000), "2-3\x00", "null",
	} {
		c := client{text: "古い文字"}
		raw := drain(text.Watch(cursor))
		c.read(t, raw)
		if c.text != "こんにちは" || !slices.Contains(c.types, "data-reset") {
			t.Errorf("cursor %.20q: text %q, events %v", cursor, c.text, c.types)
		}
		if strings.Contains(string(raw), cursor+`"`) && len(cursor) > 3 {
			t.Errorf("cursor %.20q is repeated to the client", cursor)
		}
	}
}

func TestAbandonedTextEndsWithoutATerminalEvent(t *testing.T) {
	t.Parallel()
	hub := stream.NewHub(stream.HubConfig{})
	first := hub.Open(stream.Head{MessageID: "m", Run: 1})
	first.AppendText("途中")
	w := first.Watch("")
	second := hub.Open(stream.Head{MessageID: "m", Run: 2})
	second.AppendText("はじめから")
	second.Finish(done)
	var c client
	c.read(t, drain(w))
	if _, over := w.Wait(); !over || c.done || len(c.terminal) > 0 {
		t.Fatalf("over %v, done %v, ends %v", over, c.done, c.terminal)
	}
	c.read(t, drain(hub.Find("m").Watch(c.cursor)))
	if c.text != "はじめから" || !c.done || !slices.Contains(c.types, "data-reset") {
		t.Errorf("got %q, events %v", c.text, c.types)
	}
	hub.Close(second)
	if hub.Stats().Texts != 0 {
		t.Errorf("%d texts are left", hub.Stats().Texts)
	}
}

func TestInterestIsNotifiedOfANewText(t *testing.T) {
	t.Parallel()
	hub := stream.NewHub(stream.HubConfig{})
	interest := hub.Join("m")
	defer interest.Leave()
	opened := interest.Opened()
	leaver := hub.Join("n")
	other := leaver.Opened()
	leaver.Leave()
	text := hub.Open(stream.Head{MessageID: "m", Run: 1})
	<-opened
	select {
	case <-other:
		t.Error("the text of another message was announced")
	default:
	}
	late := hub.Join("m")
	defer late.Leave()
	<-late.Opened()
	if late.Text() != text {
		t.Error("the text that is known was not found")
	}
	hub.Close(text)
	select {
	case <-late.Opened():
		t.Error("a text that was closed is still announced")
	default:
	}
}

func TestLateWatchGetsTheLatestParts(t *testing.T) {
	t.Parallel()
	text := newText(1)
	text.PutStep(stream.Step{Kind: "summarize", Status: "running", Detail: "1/12"})
	text.PutStep(stream.Step{Kind: "summarize", Status: "running", Detail: "12/12"})
	text.PutStep(stream.Step{Kind: "summarize", Status: "success"})
	text.AppendText("要約")
	raw := string(drain(text.Watch("1-0")))
	if strings.Count(raw, `"data-step"`) != 1 || !strings.Contains(raw, `"success"`) {
		t.Errorf("got %s", raw)
	}
	if strings.Index(raw, `"data-step"`) > strings.Index(raw, `"text-start"`) {
		t.Error("a step comes after the text")
	}
}

func TestParseCursorParsesString(t *testing.T) {
	t.Parallel()
	for _, c := range []stream.Cursor{{1, 0}, {2, 15}, {7, 1 << 20}} {
		if got, ok := stream.ParseCursor(c.String()); !ok || got != c {
			t.Errorf("%v: got %v, %v", c, got, ok)
		}
	}
}

func FuzzParseCursor(f *testing.F) {
	f.Add("1-0")
	f.Add("2-+3")
	f.Fuzz(func(t *testing.T, id string) {
		if c, ok := stream.ParseCursor(id); ok && (c.String() != id || c.Run < 1 || c.Offset < 0) {
			t.Errorf("%q was read as %v", id, c)
		}
	})
}

func ExampleText() {
	text := stream.NewText(stream.Head{MessageID: "0190f3c2", Run: 1})
	text.AppendText("こんにちは")
	text.Finish(stream.End{Outcome: stream.Finished, FinishReason: "stop"})
	fmt.Print(string(text.Watch("1-9").Take())) // A client that has received three characters.
	// Output:
	// data: {"type":"start","messageId":"0190f3c2","messageMetadata":{"run":1}}
	//
	// data: {"type":"text-start","id":"0"}
	//
	// data: {"type":"text-delta","id":"0","delta":"ちは"}
	// id: 1-15
	//
	// data: {"type":"text-end","id":"0"}
	//
	// data: {"type":"finish","finishReason":"stop"}
	// id: 1-15
	//
	// data: [DONE]
}
