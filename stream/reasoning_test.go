package stream_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestReasoningIsTimed checks the duration of the reasoning that a client receives, for any time of connecting.
func TestReasoningIsTimed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		text := newText(1)
		first := text.Watch("")
		text.AppendReasoning("うーん。")
		<-time.After(5 * time.Second)
		second := text.Watch("")
		update, _ := text.Since(stream.Position{})
		<-time.After(7 * time.Second)
		mirror := newText(1)
		must.Succeed(t, mirror.Apply(exchange(t, update)))
		third := mirror.Watch("")
		text.AppendText("答え")
		if _, took := text.Reasoning(); took != 12*time.Second {
			t.Errorf("took %v", took)
		}
		for name, w := range map[string]struct {
			raw  []byte
			want string
		}{
			"from the start":    {drain(first), "elapsed 0, duration 12000"},
			"later":             {drain(second), "elapsed 5000, duration 12000"},
			"on another server": {drain(third), "elapsed 12000"},
			"after it":          {drain(text.Watch("")), "elapsed 12000, duration 12000"},
			"with some text":    {drain(text.Watch("1-3")), ""},
		} {
			if got := times(t, w.raw); got != w.want {
				t.Errorf("%s: %q, want %q\n%s", name, got, w.want, w.raw)
			}
		}
	})
}

func times(t *testing.T, raw []byte) string {
	t.Helper()
	var all []string
	events, _ := parseEvents(t, raw)
	for _, e := range events {
		var ch struct {
			Metadata struct {
				Tsumugi struct {
					Elapsed  *json.Number `json:"elapsed_ms"`
					Duration *json.Number `json:"duration_ms"`
				} `json:"tsumugi"`
			} `json:"providerMetadata"`
		}
		_ = json.Unmarshal([]byte(e.data), &ch)
		if n := ch.Metadata.Tsumugi.Elapsed; n != nil {
			all = append(all, "elapsed "+n.String())
		}
		if n := ch.Metadata.Tsumugi.Duration; n != nil {
			all = append(all, "duration "+n.String())
		}
	}
	return strings.Join(all, ", ")
}

// TestReasoningWithoutAnAnswer: the answer ends before there is text. The reasoning and its end are sent.
func TestReasoningWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	text := newText(1)
	live := text.Watch("")
	text.AppendReasoning("考えた")
	text.AppendReasoning("\xff")
	text.Finish(stream.End{Outcome: stream.Failed, ErrorText: "x", Code: "model_bad_response"})
	text.AppendReasoning("もう遅い")
	for name, w := range map[string]*stream.Watch{"live": live, "late": text.Watch(""), "again": text.Watch("1-0")} {
		raw := drain(w)
		var c client
		c.read(t, raw)
		if c.reasoning != "考えた\uFFFD" || !c.done || strings.Count(string(raw), "reasoning-start") != 1 ||
			strings.Count(string(raw), "reasoning-end") != 1 {
			t.Errorf("%s: %s", name, raw)
		}
	}
}

// TestStalledWatchIsCaughtUpWithReasoning: a watch that is further behind than the window of the log receives the
// missing reasoning.
func TestStalledWatchIsCaughtUpWithReasoning(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"", "答え"} {
		text := newText(1)
		w := text.Watch("")
		for range 2000 {
			text.AppendReasoning("考")
		}
		var c client
		c.read(t, w.Take())
		for range 20_000 {
			text.AppendReasoning("え")
		}
		text.AppendText(answer)
		raw := drain(w)
		text.Finish(done)
		raw = append(raw, drain(w)...)
		c.read(t, raw)
		want, _ := text.Reasoning()
		if c.reasoning != want || c.text != answer || !c.done || strings.Count(string(raw), "reasoning-start") > 1 {
			t.Errorf("%q: %d bytes of %d", answer, len(c.reasoning), len(want))
		}
		if n := strings.Count(string(raw), "reasoning-delta"); n > 15_000 {
			t.Errorf("%d deltas: the watch was not caught up", n)
		}
	}
}
