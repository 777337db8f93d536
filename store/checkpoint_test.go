package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestCheckpoints: pieces of texts are stored for current runs only, are returned by a takeover, are replaced by the
// beginning of the next run, and are deleted at the end.
func TestCheckpoints(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dead, alive := newID(), newID()
	f.renew(t, dead)
	f.renew(t, alive)
	begun := must.Get(f.BeginGeneration(t.Context(), question(f.ann, f.thread(t, f.ann).ID, dead)))(t)
	other := must.Get(f.BeginGeneration(t.Context(), question(f.bob, f.thread(t, f.bob).ID, alive)))(t)
	id, source := begun.Answer.ID, newID()
	add := func(server uuid.UUID, run, start int, text string, sources ...uuid.UUID) bool {
		t.Helper()
		stored := must.Get(f.AddCheckpoints(t.Context(), server, []chat.Checkpoint{
			{RunID: chat.RunID{MessageID: newID(), Run: 1}, Text: "消えた質問"},
			{RunID: chat.RunID{MessageID: id, Run: run}, Start: start, Text: text, Sources: sources},
			{RunID: chat.RunID{MessageID: other.Answer.ID, Run: 9}, Text: "別の回"},
		}))(t)
		return slices.Equal(stored, []uuid.UUID{id})
	}
	// The acknowledgement of the first piece may be lost. It is sent again with the text since then.
	if !add(dead, 1, 0, "ま", source) || !add(dead, 1, 0, "まゆ", source) || !add(dead, 1, len("まゆ"), "から") ||
		add(alive, 1, len("まゆから"), "糸") {
		t.Error("the owner alone stores the text")
	}
	f.silence(t, dead, lease+time.Second)
	take := func(server uuid.UUID, run int) chat.KnownText {
		t.Helper()
		taken := must.Get(f.TakeOver(t.Context(), server, nil, lease, 10, run))(t)
		i := slices.IndexFunc(taken, func(g chat.StoredGeneration) bool { return g.Answer.ID == id })
		if i < 0 || taken[i].Answer.Run != run || taken[i].Answer.Continued != nil {
			t.Fatalf("taken over: %+v", taken)
		}
		return taken[i].Known
	}
	if known := take(alive, 5); known.Text != "まゆから" || known.Run != 1 || known.Continued != nil ||
		!slices.Equal(known.Sources, []uuid.UUID{source}) {
		t.Errorf("known: %+v", known)
	}
	if add(dead, 1, len("まゆから"), "遅い") {
		t.Error("the dead server stores text")
	}
	begin := chat.RunBeginning{
		RunID: chat.RunID{MessageID: id, Run: 5}, Text: "まゆから糸", Continued: []stream.Cursor{{Run: 1, Offset: len("まゆから糸")}},
	}
	if err := f.BeginRun(t.Context(), dead, begin); !errors.Is(err, chat.ErrStaleRun) {
		t.Errorf("the dead server begins a run: %v", err)
	}
	for range 2 { // The first acknowledgement may be lost.
		must.Succeed(t, f.BeginRun(t.Context(), alive, begin))
	}
	if !add(alive, 5, len("まゆから糸"), "を") {
		t.Error("the new owner does not store the text")
	}
	f.silence(t, alive, lease+time.Second)
	third := newID()
	f.renew(t, third)
	if known := take(third, 6); known.Text != "まゆから糸を" || known.Run != 5 || !slices.Equal(known.Continued, begin.Continued) {
		t.Errorf("known: %+v", known)
	}
	begin.Run, begin.Continued = 6, append(begin.Continued, stream.Cursor{Run: 5, Offset: len("まゆから糸を")})
	must.Succeed(t, f.BeginRun(t.Context(), third, begin))
	end := outcome(f.ann, begun, third, "まゆから糸を引く")
	end.Run, end.Checkpointed = 6, true
	must.Succeed(t, f.end(t, end))
	got, err := f.FindMessage(t.Context(), f.ann, id)
	if err != nil || !slices.Equal(got.Continued, begin.Continued) {
		t.Errorf("stored: %+v, %v", got.Continued, err)
	}
	if n := value[int](t, f, `SELECT count(*) FROM checkpoints`); n != 0 {
		t.Errorf("%d checkpoints are left", n)
	}
	if add(third, 6, 0, "遅い") {
		t.Error("text is stored after the end")
	}
}
