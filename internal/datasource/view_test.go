package datasource_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/extracttest"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// locator counts calls of Locate, and simulates pages whose text a newer program extracts differently.
type locator struct {
	extracttest.InProcess
	asked  atomic.Int32
	change atomic.Pointer[func(page string) string]
	hidden atomic.Bool // All text is outside of the page.
}

func (l *locator) Locate(ctx context.Context, name string, file io.Reader, page, from, to int) (extract.Place, error) {
	l.asked.Add(1)
	content, err := io.ReadAll(file)
	if err != nil {
		return extract.Place{}, err
	}
	text := string(content)
	if change := l.change.Load(); change != nil {
		text = (*change)(text)
	}
	place, err := l.InProcess.Locate(ctx, name, strings.NewReader(text), page, from, to)
	if l.hidden.Load() {
		place.Characters = 0
	}
	return place, err
}

func TestPassagesAreLocated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	found := new(locator)
	service := func() *datasource.Service {
		return f.serviceReading(f.db, found, datasource.Config{})
	}
	f.Service = service()
	f.start(f.Service)
	ids := f.read(f.ann,
		[2]string{"規程.pdf", "表紙\f年次有給休暇は二十日とする。申請は三日前までに行う。"}, [2]string{"規程.md", "年次有給休暇は十日とする。"})
	passage := func(i int) datasource.Passage {
		return f.retrieve(f.Service, f.ann, ids[i:i+1], "年次有給休暇")[0].Passage
	}
	for name, test := range map[string]struct {
		passage datasource.Passage
		change  func(page string) string
		hidden  bool
		want    []extract.Rect
		asked   int32
	}{
		"as it was read": {passage(0), nil, false, []extract.Rect{extracttest.Rect(2)}, 1},
		"the page reads otherwise": {passage(0), func(page string) string {
			return strings.Replace(page, "年次", "第二条\n年 次", 1)
		}, false, []extract.Rect{extracttest.Rect(2)}, 2},
		"half of the passage": {passage(0), func(page string) string {
			return strings.Replace(page, "申請は三日前までに行う", "以下余白", 1)
		}, false, []extract.Rect{extracttest.Rect(2)}, 2},
		"less than half":           {passage(0), func(string) string { return "表紙\f年次有給休暇は十日とする。申請" }, false, nil, 1},
		"empty page":               {passage(0), func(string) string { return "表紙\f" }, false, nil, 1},
		"text outside of the page": {passage(0), nil, true, nil, 1},
		"a format without pages":   {passage(1), nil, false, nil, 0},
	} {
		s := service()
		found.asked.Store(0)
		found.change.Store(nil)
		if test.change != nil {
			found.change.Store(&test.change)
		}
		found.hidden.Store(test.hidden)
		for range 2 { // The second call uses the cache.
			got, err := s.Locate(t.Context(), f.ann, test.passage)
			if err != nil || !slices.Equal(got, test.want) || found.asked.Load() != test.asked {
				t.Errorf("%s: %+v after %d questions, error %v", name, got, found.asked.Load(), err)
			}
		}
	}
}

// renderer counts the rendered pages.
type renderer struct {
	extracttest.InProcess
	made atomic.Int32
}

func (r *renderer) RenderPage(ctx context.Context, name string, file io.Reader, page, width int) ([]byte, error) {
	r.made.Add(1)
	return r.InProcess.RenderPage(ctx, name, file, page, width)
}

// TestPicturesOfPagesAreMadeOnce renders each page once for each width. Each request checks the right to see the file.
func TestPicturesOfPagesAreMadeOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := new(renderer)
	s := f.serviceReading(f.db, r, datasource.Config{})
	source, _ := f.upload(f.ann, "規程.pdf", "一\f二")
	for _, page := range []int{1, 1, 2, 1, 2} {
		picture, err := s.RenderPage(t.Context(), f.ann, source.ID, page, 400)
		f.must(err)
		if want := fmt.Sprintf("page %d, 400 pixels wide", page); string(picture) != want {
			t.Errorf("got %q, want %q", picture, want)
		}
	}
	_, err := s.RenderPage(t.Context(), f.ann, source.ID, 1, 800)
	f.must(err)
	if _, err := s.RenderPage(t.Context(), f.bob, source.ID, 1, 400); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("somebody else: %v", err)
	}
	if made := r.made.Load(); made != 3 {
		t.Errorf("%d pictures were made, want 3", made)
	}
	f.must(s.Delete(t.Context(), f.ann, source.ID))
	if _, err := s.RenderPage(t.Context(), f.ann, source.ID, 1, 400); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("after it was deleted: %v", err)
	}
}

func TestPicturePagesAreListed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(f.Service)
	for content, want := range map[string]string{
		"文":                              "",
		"文\f文\f":                         "3ページ中1ページ（3ページ）は画像のため、読み取れませんでした。",
		"\f文\f\f\f文\f":                   "6ページ中4ページ（1、3〜4、6ページ）は画像のため、読み取れませんでした。",
		strings.Repeat("文\f", 7) + "終":   "",
		strings.Repeat("文\f\f", 7) + "文": "15ページ中7ページ（2、4、6、8、10ページなど）は画像のため、読み取れませんでした。",
	} {
		source, _ := f.upload(f.ann, "資料.pdf", content)
		ended := f.ended(source)
		if last := ended[len(ended)-1]; last.Status != datasource.Success || last.Notice != want {
			t.Errorf("%q: %s %q, want %q", content, last.Status, last.Notice, want)
		}
	}
}

func FuzzLongestCommon(f *testing.F) {
	f.Add("年次 有給\n休暇は二十日", "次有給休暇は十日")
	f.Add("a\xff\u3000b", "\xffb")
	f.Fuzz(func(t *testing.T, text, passage string) {
		if len(text) > 1000 || len(passage) > 1000 {
			return
		}
		squeezed := func(s string) string {
			return strings.Map(func(r rune) rune {
				if unicode.IsSpace(r) {
					return -1
				}
				return r
			}, s)
		}
		text, passage = strings.ToValidUTF8(text, "?"), strings.ToValidUTF8(passage, "?")
		from, to := datasource.LongestCommon(text, passage)
		if from < 0 || from > to || to > len(text) {
			t.Fatalf("from %d to %d of %d", from, to, len(text))
		}
		found := squeezed(text[from:to])
		if !utf8.ValidString(text[from:to]) || !strings.Contains(squeezed(passage), found) {
			t.Fatalf("%q is not in %q", found, passage)
		}
		for at := range squeezed(passage) { // No longer part is common.
			rest := []rune(squeezed(passage)[at:])
			if n := utf8.RuneCountInString(found) + 1; n <= len(rest) &&
				strings.Contains(squeezed(text), string(rest[:n])) {
				t.Fatalf("%q is longer than %q", string(rest[:n]), found)
			}
		}
	})
}
