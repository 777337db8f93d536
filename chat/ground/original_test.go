package ground_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/chat/ground"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/redline"
)

// TestFileIsProofread: the answer uses the file's text at the beginning of the answer. The failure names a deleted
// file.
func TestFileIsProofread(t *testing.T) {
	t.Parallel()
	f := newFixture(t, ground.Config{},
		llmtest.Say(`{"changes":[{"before":"行ます","after":"行きます","kind":"typo","reason":"送り仮名"}]}`))
	word, err := redline.New("お客様各位\n明日の会議に行ます。")
	f.must(err)
	for name, content := range map[string]string{"案内.docx": string(word), "案内.txt": "お客様各位\n明日の会議に行ます。"} {
		id := f.upload(name, content)
		answer := f.proofread(id)
		r := answer.Proofread
		if r == nil || r.Text != "お客様各位\n明日の会議に行ます。" || len(r.Changes) != 1 || r.Changes[0].Start != 12 {
			t.Fatalf("%s: %+v, %+v", name, answer, r)
		}
		if r.File == nil || r.File.DataSourceID != id || r.File.Filename != name || r.File.DOCX != (name == "案内.docx") {
			t.Errorf("%s: from %+v", name, r.File)
		}
		question := f.lastRequest().Messages[1].Content
		f.ask(answer.ThreadID, "なぜですか")
		said := f.lastRequest().Messages
		if len(said) != 4 || said[3].Content != "なぜですか" || said[2].Content != answer.Content {
			t.Errorf("%s: a further question is asked as %+v", name, said)
		}
		if !strings.Contains(question, "<text>\nお客様各位\n明日") {
			t.Errorf("%s: the model is asked %s", name, question)
		}
	}
	for name, test := range map[string]struct {
		id   uuid.UUID
		code fault.Code
		said string
	}{
		"broken": {f.upload("壊れた案内.docx", string(word[:50])), fault.Conflict, ""},
		"empty":  {f.upload("空白.txt", " \n"), fault.Conflict, "文字が入っていません"},
		"long":   {f.upload("長文.txt", strings.Repeat("長い文章。", 12_001)), fault.TooLarge, "60005文字"},
	} {
		if got := f.proofread(test.id); got.Failure == nil || got.Failure.Code != string(test.code) ||
			!strings.Contains(got.Failure.Detail, test.said) {
			t.Errorf("%s: %+v", name, got.Failure)
		}
	}
}

// proofread returns the answer to a form with a file.
func (f *fixture) proofread(id uuid.UUID) chat.Message {
	f.t.Helper()
	exchange, err := f.chat.Send(f.t.Context(), f.owner, chat.Question{
		RequestID: newID(), ThreadID: f.thread("文章校正"), Form: map[string]string{
			"file": id.String(), "level": "誤字脱字と文法だけ", "style": "元の文体のまま",
		},
	})
	f.must(err)
	exchange, err = f.chat.WaitFor(f.t.Context(), f.owner, exchange)
	f.must(err)
	return exchange.Answer
}

// TestAttachedFileIsProofreadWithoutAForm: without a form, as in Slack, the attached file is proofread and the
// question's text is not.
func TestAttachedFileIsProofreadWithoutAForm(t *testing.T) {
	t.Parallel()
	f := newFixture(t, ground.Config{}, llmtest.Say(`{"changes":[]}`))
	first, second := f.upload("案内.txt", "お客様各位"), f.upload("別の案内.txt", "皆様")
	if r := f.ask(f.thread("文章校正"), "校正してください", first).Proofread; r == nil || r.Text != "お客様各位" || r.File == nil {
		t.Errorf("proofread %+v", r)
	}
	if r := f.ask(f.thread("文章校正"), "お世話になります。").Proofread; r == nil || r.Text != "お世話になります。" || r.File != nil {
		t.Errorf("proofread %+v", r)
	}
	if got := f.ask(f.thread("文章校正"), "校正してください", first, second).Failure; got == nil ||
		!strings.Contains(got.Detail, "一つだけ") {
		t.Errorf("two files: %+v", got)
	}
}

// TestDeletedFileIsNotProofread deletes the file and regenerates the answer.
func TestDeletedFileIsNotProofread(t *testing.T) {
	t.Parallel()
	f := newFixture(t, ground.Config{}, llmtest.Say(`{"changes":[]}`))
	id := f.upload("案内.txt", "お客様各位")
	answer := f.proofread(id)
	f.must(f.sources.Delete(t.Context(), f.owner, id))
	exchange, err := f.chat.Send(t.Context(), f.owner, chat.Question{
		RequestID: newID(), ThreadID: answer.ThreadID, Regenerate: &answer.ID,
	})
	f.must(err)
	exchange, err = f.chat.WaitFor(t.Context(), f.owner, exchange)
	f.must(err)
	if got := exchange.Answer; got.Failure == nil || got.Failure.Code != string(fault.NotFound) ||
		!strings.Contains(got.Failure.Detail, "もう一度アップロード") {
		t.Errorf("%+v", got)
	}
	if answer.Proofread.File.Filename != "案内.txt" || answer.Content != "修正が必要な箇所はありませんでした。\n" {
		t.Errorf("%+v", answer)
	}
}
