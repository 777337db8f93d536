package stream_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// exchange encodes and decodes an update.
func exchange(t testing.TB, u stream.Update) stream.Update {
	t.Helper()
	entry := u.Append(nil)
	if len(entry) > stream.MaxEntry {
		t.Fatalf("an entry of %d bytes", len(entry))
	}
	got := must.Get(stream.ParseUpdate(entry))(t)
	return got
}

// TestUpdatesReproduceTheText writes a text in random steps, and applies its updates to another text at random times,
// some of them twice.
func TestUpdatesReproduceTheText(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		origin := newText(1)
		positions := []stream.Position{{}}
		first, _ := origin.Since(stream.Position{})
		mirror := stream.NewText(*exchange(t, first).Head)
		tell := func() {
			p := positions[len(positions)-1]
			if rng.IntN(3) == 0 {
				p = positions[rng.IntN(len(positions))]
			}
			u, next := origin.Since(p)
			positions = append(positions, next)
			must.Succeed(t, mirror.Apply(exchange(t, u)))
		}
		for range rng.IntN(5) {
			origin.AppendReasoning(strings.Repeat("考え🧵\n", rng.IntN(20)))
			if rng.IntN(2) == 0 {
				tell()
			}
		}
		for range 30 {
			switch rng.IntN(5) {
			case 0:
				origin.PutStep(stream.Step{
					Kind:   []string{"retrieval", "summarize"}[rng.IntN(2)],
					Status: []string{"running", "success"}[rng.IntN(2)],
				})
			case 1:
				tell()
			default:
				origin.AppendText(strings.Repeat("糸を🧵紡ぐ\n", rng.IntN(20)))
			}
		}
		tell()
		origin.PutTitle("見出し", time.Time{})
		origin.Finish(done)
		tell()
		u, _ := origin.Since(positions[len(positions)-1])
		must.Succeed(t, mirror.Apply(exchange(t, u)))
		var own, other client
		own.read(t, drain(origin.Watch("")))
		other.read(t, drain(mirror.Watch("")))
		thought, took := origin.Reasoning()
		mirrored, tookToo := mirror.Reasoning()
		if thought != mirrored || tookToo != took.Truncate(time.Millisecond) || other.reasoning != thought {
			t.Fatalf("reasoning %q, %v; want %q, %v", mirrored, tookToo, thought, took)
		}
		if own.text != other.text || !other.done || mirror.Text() != origin.Text() {
			t.Fatalf("got %q, want %q", other.text, own.text)
		}
	}
}

func TestUpdatesAreBounded(t *testing.T) {
	t.Parallel()
	origin := newText(1)
	mirror := newText(1)
	for i := range 500 {
		origin.PutSource(stream.Source{SourceID: strings.Repeat("s",
			1000) + string(rune('a'+i%26)) + string(rune('a'+i/26)), Title: strings.Repeat("題", 300)})
	}
	origin.PutTitle(strings.Repeat("長", 100_000), time.Time{}) // Dropped: the title is too long.
	origin.PutReasoning(strings.Repeat("考x🧵", 50_000), time.Minute)
	origin.AppendText(strings.Repeat("糸x🧵", 100_000))
	origin.Finish(done)
	entries := 0
	for at, complete := (stream.Position{}), false; !complete; entries++ {
		u, next := origin.Since(at)
		at, complete = next, next == at
		must.Succeed(t, mirror.Apply(exchange(t, u)))
	}
	if entries < 5 || !bytes.Equal(drain(mirror.Watch("")), drain(origin.Watch(""))) {
		t.Errorf("%d entries", entries)
	}
}

func TestApplyRefusesHoles(t *testing.T) {
	t.Parallel()
	text := newText(2)
	must.Succeed(t, text.Apply(stream.Update{Run: 2, Text: []byte("糸を")}))
	for name, u := range map[string]stream.Update{
		"past the end":          {Run: 2, Offset: 7, Text: []byte("a")},
		"another text":          {Run: 2, Offset: 0, Text: []byte("絹を紡ぐ")},
		"inside of a character": {Run: 2, Offset: 5, Text: []byte("\x92\x92")},
		"another run":           {Run: 3, Offset: 6, Text: []byte("a")},
	} {
		if err := text.Apply(u); !errors.Is(err, stream.ErrGap) || text.Text() != "糸を" {
			t.Errorf("%s: %v, %q", name, err, text.Text())
		}
	}
	for _, u := range []stream.Update{
		{Run: 2, Text: []byte("糸を")}, {Run: 2, Offset: 3, Text: []byte("を紡")}, {Run: 2, Offset: 9, Text: []byte("ぐ")},
	} {
		if err := text.Apply(u); err != nil {
			t.Error(err)
		}
	}
	if text.Text() != "糸を紡ぐ" {
		t.Errorf("%q", text.Text())
	}
}

// TestUpdatesWithOddMetadata: only an object may be copied into an event unchanged.
func TestUpdatesWithOddMetadata(t *testing.T) {
	t.Parallel()
	for metadata, want := range map[string]string{
		`{"a":1}`: `{"type":"start","messageId":"m","messageMetadata":{"run":1,"a":1}}`,
		`{}`:      `{"type":"start","messageId":"m","messageMetadata":{"run":1}}`,
		`null`:    `{"type":"start","messageId":"m","messageMetadata":{"run":1}}`,
		`[1]`:     "",
		`1`:       "",
		`"{\""`:   "",
	} {
		entry := stream.Update{Run: 1, Head: &stream.Head{
			MessageID: "m",
			Metadata:  json.RawMessage(metadata),
		}}.Append(nil)
		u, err := stream.ParseUpdate(entry)
		if want == "" {
			if err == nil {
				t.Errorf("%s was taken", metadata)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", metadata, err)
			continue
		}
		if events, _ := parseEvents(t, drain(stream.NewText(*u.Head).Watch(""))); len(events) != 1 ||
			events[0].data != want {
			t.Errorf("%s: %+v", metadata, events)
		}
	}
}

// FuzzR27_ParseUpdate: arbitrary bytes cause no panic, and every parsed update can be applied and encoded again.
func FuzzR27_ParseUpdate(f *testing.F) {
	text := newText(1)
	text.PutStep(stream.Step{Kind: "retrieval", Status: "running", Detail: "1/2"})
	text.AppendReasoning("考え🧵")
	thinking, _ := text.Since(stream.Position{})
	f.Add(thinking.Append(nil))
	text.AppendText("糸を紡ぐ🧵")
	for _, finish := range []bool{false, true} {
		if finish {
			text.Finish(done)
		}
		u, next := text.Since(stream.Position{})
		f.Add(u.Append(nil))
		u, _ = text.Since(next)
		f.Add(u.Append(nil))
	}
	f.Add([]byte{2, 7, 1})
	f.Add([]byte{2, 0, 1, 0, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, entry []byte) {
		u, err := stream.ParseUpdate(entry)
		if err != nil {
			return
		}
		written := u.Append(nil)
		again, err := stream.ParseUpdate(written)
		if len(written) <= stream.MaxEntry && (err != nil || !bytes.Equal(again.Append(nil), written)) {
			t.Fatalf("%+v became %+v, %v", u, again, err)
		}
		head := stream.Head{MessageID: "m", Run: u.Run}
		if u.Head != nil {
			head = *u.Head
		}
		mirror := stream.NewText(head)
		if mirror.Apply(u) != nil {
			return
		}
		if err := mirror.Apply(u); err != nil {
			t.Fatalf("the same again: %v", err)
		}
		raw := drain(mirror.Watch(""))
		events, _ := parseEvents(t, raw)
		for _, e := range events {
			if e.data != "[DONE]" && !json.Valid([]byte(e.data)) {
				t.Fatalf("an event that is no JSON: %q", e.data)
			}
		}
		if bytes.ContainsAny(raw, "\r\x00") {
			t.Fatalf("control characters in %q", raw)
		}
	})
}
