package store_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/chat/ground"
)

// TestNotesAreBounded in age and in number, and are their person's alone; their tokens are counted.
func TestNotesAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	note := ground.Note{Key: [32]byte{1}, Text: "要点", InputTokens: 3, OutputTokens: 4}
	found := func(owner chat.Owner) bool {
		t.Helper()
		text, found, err := f.FindNote(t.Context(), owner, note.Key)
		must(t, err)
		return found && text == note.Text
	}
	for range 2 {
		must(t, f.PutNote(t.Context(), f.ann, note))
	}
	must(t, f.PutNote(t.Context(), f.bob, ground.Note{Key: note.Key, InputTokens: 5})) // It failed.
	if !found(f.ann) || found(f.bob) || found(f.mallory) {
		t.Error("it is not found, or by somebody else")
	}
	if tokens := value[int](t, f, `SELECT sum(input_tokens + output_tokens) FROM usage_daily`); tokens != 19 {
		t.Errorf("%d tokens are counted", tokens)
	}
	f.exec(t, `
		INSERT INTO summary_notes (organization_id, user_id, key, note)
		SELECT $1, $2, sha256(n::text::bytea), 'x' FROM generate_series(1, 1000) n`, f.ann.OrganizationID, f.ann.UserID)
	last := ground.Note{Key: [32]byte{2}, Text: "要点"}
	must(t, f.PutNote(t.Context(), f.ann, last))
	if n := value[int](t, f, `SELECT count(*) FROM summary_notes`); n != 1000 || found(f.ann) {
		t.Errorf("%d notes are kept", n)
	}
	must(t, f.PutNote(t.Context(), f.ann, note))
	f.exec(t, `UPDATE summary_notes SET noted_at = now() - interval '169 hours' WHERE note = '要点'`)
	if found(f.ann) {
		t.Error("it is found after a week")
	}
	must(t, f.PutNote(t.Context(), f.bob, last))
	if n := value[int](t, f, `SELECT count(*) FROM summary_notes WHERE note = '要点'`); n != 1 {
		t.Errorf("%d old notes are kept", n-1)
	}
}
