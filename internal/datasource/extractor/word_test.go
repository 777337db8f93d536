package extractor_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/redline"
	"github.com/tsumugi-ai/tsumugi/internal/sandbox"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestR97_WordFilesAreEditedInAChild(t *testing.T) {
	t.Parallel()
	e := newExtractor(sandbox.Config{})
	const text = "拝啓\n平素より格別のご高配を賜わり、御礼申し上げます。"
	file := must.Get(redline.New(text))(t)
	if got, err := e.Paragraphs(t.Context(), bytes.NewReader(file)); err != nil || got != text {
		t.Fatalf("%q and error %v, want %q", got, err, text)
	}
	edit := redline.Edit{Changes: []redline.Change{{Start: strings.Index(text, "賜わり"), Before: "賜わり", After: "賜り"}}}
	edited := must.Get(e.Redline(t.Context(), bytes.NewReader(file), edit))(t)
	want := strings.Replace(text, "賜わり", "賜り", 1)
	if got, err := e.Paragraphs(t.Context(), bytes.NewReader(edited)); err != nil || got != want {
		t.Errorf("%q and error %v, want %q", got, err, want)
	}
}

func TestR97_WordFilesThatCannotBeEditedHaveAReason(t *testing.T) {
	t.Parallel()
	e := newExtractor(sandbox.Config{})
	file := must.Get(redline.New("東京"))(t)
	edit := redline.Edit{Changes: []redline.Change{{Before: "大阪"}}}
	for name, test := range map[string]struct {
		file []byte
		want fault.FileCode
	}{
		"another text": {file, fault.FileMismatch},
		"cut off":      {file[:len(file)/2], fault.FileCorrupt},
		"empty":        {nil, fault.FileCorrupt},
	} {
		_, err := e.Redline(t.Context(), bytes.NewReader(test.file), edit)
		if wrong, ok := errors.AsType[*fault.UnreadableError](err); !ok || wrong.Code != test.want {
			t.Errorf("%s: error %v, want %s", name, err, test.want)
		}
	}
	if _, err := e.Paragraphs(t.Context(), strings.NewReader("misbehave panic")); err == nil {
		t.Error("a child that crashed has read a file")
	}
}
