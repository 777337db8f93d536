package store_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/chat/ground"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestNotesAreBounded: notes are limited in age and number and are visible only to their user. Their tokens are
// counted.
func TestNotesAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := newID()
	answer := f.begin(t, f.ann, server)
	bobs := f.begin(t, f.bob, server).Answer.ID
	note := ground.Note{AnswerID: answer.Answer.ID, Key: [32]byte{1}, Text: "要点", InputTokens: 3, OutputTokens: 4}
	put := func(owner identity.Owner, note ground.Note, want bool) {
		t.Helper()
		counted, err := f.PutNote(t.Context(), owner, note)
		if must.Succeed(t, err); counted != want {
			t.Errorf("counted: %v", counted)
		}
	}
	found := func(owner identity.Owner) bool {
		t.Helper()
		text, found, err := f.FindNote(t.Context(), owner, note.Key)
		must.Succeed(t, err)
		return found && text == note.Text
	}
	for range 2 {
		put(f.ann, note, true)
	}
	put(f.bob, ground.Note{AnswerID: bobs, Key: note.Key, InputTokens: 5}, true)           // The call failed.
	put(f.bob, ground.Note{AnswerID: note.AnswerID, Key: note.Key, InputTokens: 5}, false) // The answer belongs to Ann.
	if !found(f.ann) || found(f.bob) || found(f.mallory) {
		t.Error("it is not found, or by somebody else")
	}
	if tokens := value[int](t, f, `SELECT sum(input_tokens + output_tokens) FROM usage_daily`); tokens != 19 {
		t.Errorf("%d tokens are counted", tokens)
	}
	// The usage of an answer includes all its calls and is stored once, even if its end is reported several times.
	for range 2 {
		ended := must.Get(f.EndGeneration(t.Context(), outcome(f.ann, answer, server, "要約")))(t)
		if m := ended.Message; m.InputTokens != 6+12 || m.OutputTokens != 8+34 {
			t.Errorf("the answer took %d and %d tokens", m.InputTokens, m.OutputTokens)
		}
	}
	f.exec(t, `
		INSERT INTO summary_notes (organization_id, user_id, key, note)
		SELECT $1, $2, sha256(n::text::bytea), 'x' FROM generate_series(1, 1000) n`, f.ann.OrganizationID, f.ann.UserID)
	last := ground.Note{Key: [32]byte{2}, Text: "要点"}
	put(f.ann, last, false)
	if n := value[int](t, f, `SELECT count(*) FROM summary_notes`); n != 1000 || found(f.ann) {
		t.Errorf("%d notes are kept", n)
	}
	put(f.ann, note, true)
	f.exec(t, `UPDATE summary_notes SET noted_at = now() - interval '169 hours' WHERE note = '要点'`)
	if found(f.ann) {
		t.Error("it is found after a week")
	}
	put(f.bob, last, false)
	if n := value[int](t, f, `SELECT count(*) FROM summary_notes WHERE note = '要点'`); n != 1 {
		t.Errorf("%d old notes are kept", n-1)
	}
}
