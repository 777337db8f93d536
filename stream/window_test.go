package stream_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// stalled returns a text of several megabytes, written in deltas of one character, and a watch that has read only its
// first bytes.
func stalled(t *testing.T) (*stream.Text, *stream.Watch, *client) {
	t.Helper()
	text := newText(1)
	text.PutStep(stream.Step{Kind: "retrieval", Status: "running"})
	w := text.Watch("")
	for range 2000 { // More than the first segments, so that the position is in the log.
		text.AppendText("紡")
	}
	c := &client{}
	c.read(t, w.Take())
	for i := range 300_000 {
		text.AppendText("糸")
		if i == 150_000 {
			text.PutStep(stream.Step{Kind: "retrieval", Status: "success"})
			text.PutTitle("見出し", time.Time{})
		}
	}
	return text, w, c
}

// TestStalledWatchIsCaughtUpFromTheText: a watch that is further behind than the window of the log continues without
// gap or duplicate.
func TestStalledWatchIsCaughtUpFromTheText(t *testing.T) {
	t.Parallel()
	text, w, c := stalled(t)
	before := c.text
	raw := drain(w)
	if n := strings.Count(string(raw), `"text-delta"`); n > 20_000 {
		t.Errorf("%d deltas: the watch was not caught up", n)
	}
	if strings.Count(string(raw), `"type":"start"`) > 1 || strings.Count(string(raw), `"text-start"`) > 1 {
		t.Error("the stream was started twice")
	}
	for range 100 {
		text.AppendText("端")
	}
	text.Finish(done)
	raw = append(raw, drain(w)...)
	last := len(before)
	events, _ := parseEvents(t, raw)
	for _, e := range events {
		if strings.Contains(e.data, `"text-delta"`) {
			cursor, ok := stream.ParseCursor(e.id)
			if !ok || cursor.Offset <= last {
				t.Fatalf("cursor %q after %d", e.id, last)
			}
			last = cursor.Offset
		}
	}
	c.read(t, raw)
	if c.text != text.Text() || !c.done || !slices.Equal(c.terminal, []string{"finish"}) {
		t.Errorf("the text is not what was written: %d bytes of %d", len(c.text), len(text.Text()))
	}
	if strings.Count(string(raw), `"data-title"`) != 1 || !strings.Contains(string(raw), `"success"`) {
		t.Error("parts are missing")
	}
	if strings.Count(string(raw), `"text-end"`) != 1 {
		t.Error("the text's end was not told once")
	}
}

// TestStalledWatchPinsNoLog: a stalled reader costs at most 2 MB, the goal in docs/benchmarks.md.
func TestStalledWatchPinsNoLog(t *testing.T) { //nolint:paralleltest // Measures the heap, so not in parallel.
	heap := func() int {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := heap()
	text, w, _ := stalled(t)
	length := 2 * len(text.Text()) // Doubled for the capacity of the growing slice.
	if grown := heap() - before - length; grown > 2<<20 {
		t.Errorf("a stalled watch holds %d KiB beside the text", grown>>10)
	}
	runtime.KeepAlive(w)
	runtime.KeepAlive(text)
}
