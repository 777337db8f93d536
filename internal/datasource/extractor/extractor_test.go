package extractor_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extractor"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/sandbox"
)

// newExtractor returns an Extractor with the given limits for files that are read at once.
func newExtractor(limits sandbox.Config) *extractor.Extractor {
	return extractor.New(sandbox.New(limits), extractor.Config{})
}

// read returns the text that a child extracts from a file.
func read(ctx context.Context, e *extractor.Extractor, name string, content io.Reader) (text string, _ error) {
	err := e.Extract(ctx, name, content, func(p extract.Page, _ int) error {
		text += p.Text
		return nil
	})
	return text, err
}

func TestFilesAreReadInAChild(t *testing.T) {
	t.Parallel()
	text, err := read(t.Context(), newExtractor(sandbox.Config{}), "表.csv", strings.NewReader("名前,年齢\n山田,3\n"))
	if want := "名前 / 年齢\n\n名前: 山田 / 年齢: 3"; err != nil || text != want {
		t.Errorf("%q and error %v, want %q", text, err, want)
	}
}

// TestR79_CrashedChildIsReportedAsUnreadable lets children end in each way that a file can cause.
func TestR79_CrashedChildIsReportedAsUnreadable(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]string{
		"spin": "読み取りに時間がかかりすぎる", "eat": "ファイルが大きく複雑", "flood": "ファイルが壊れているか",
		"panic": "ファイルが壊れているか", "hang up": "ファイルが壊れているか",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			limits := sandbox.Config{Memory: 300 << 20}
			if how == "spin" { // The others must end for their own reason, however slow the machine is.
				limits.Whole = 3 * time.Second
			}
			_, err := read(t.Context(), newExtractor(limits), "a.txt", strings.NewReader("misbehave "+how))
			wrong, ok := errors.AsType[*fault.UnreadableError](err)
			if !ok || !strings.HasPrefix(wrong.Reason, want) ||
				!strings.HasSuffix(wrong.Reason, "アップロードしてください。") {
				t.Errorf("error %v, want %s… with advice", err, want)
			}
		})
	}
}

func TestErrorsOfTheCallerPassThrough(t *testing.T) {
	t.Parallel()
	own := errors.New("own")
	err := newExtractor(sandbox.Config{}).Extract(t.Context(), "a.txt", strings.NewReader("文章"),
		func(extract.Page, int) error { return own })
	if !errors.Is(err, own) {
		t.Errorf("error %v, want the caller's", err)
	}
}
