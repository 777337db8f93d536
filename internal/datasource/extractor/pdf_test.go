package extractor_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf/pdftest"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extractor"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/sandbox"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// withPDF returns an Extractor for PDF files, with a font and with limits that a busy machine does not reach.
func withPDF(t testing.TB) *extractor.Extractor { return newPDF(t, findFont(t)) }

func newPDF(t testing.TB, font string) *extractor.Extractor {
	t.Helper()
	return extractor.New(sandbox.New(sandbox.Config{}), extractor.Config{Font: font, Cache: pdftest.Cache(t)})
}

func findFont(t testing.TB) string {
	t.Helper()
	font := pdf.FindFont()
	if font == "" {
		t.Skip("this machine has no Japanese font")
	}
	return font
}

// book draws a file of full pages.
func book(pages int) []byte {
	drawn := make([]*pdftest.Page, pages)
	for i := range drawn {
		drawn[i] = new(pdftest.Page)
		drawn[i].Text(50, 790, 18, fmt.Sprintf("第%d章　総則", i+1))
		for line := range 36 {
			drawn[i].Text(50, 750-19*float64(line), 12, "この規程は、従業員の就業に関する事項を定めるものであり、誰もが守らなければならない。")
		}
	}
	return pdftest.Draw(drawn)
}

// TestCompilingPDFiumHasNoLimitOfAFile verifies that compilation may exceed the time and memory limits of files.
func TestCompilingPDFiumHasNoLimitOfAFile(t *testing.T) {
	t.Parallel()
	limits := sandbox.Config{Whole: time.Nanosecond, Total: time.Nanosecond, Memory: 1}
	e := extractor.New(sandbox.New(limits), extractor.Config{Cache: pdftest.Cache(t), Page: time.Nanosecond})
	if err := e.Prepare(t.Context(), "規程.PDF"); err != nil {
		t.Error(err)
	}
}

// TestServersOfOneVersionCompilePDFiumOnce verifies that the next server does not even start a child to check the
// cache.
func TestServersOfOneVersionCompilePDFiumOnce(t *testing.T) {
	t.Parallel()
	runner, cache := sandbox.New(sandbox.Config{}), t.TempDir()
	if err := os.CopyFS(cache, os.DirFS(pdftest.Cache(t))); err != nil { // Avoid a long compilation.
		t.Fatal(err)
	}
	must.Succeed(t, extractor.New(runner, extractor.Config{Cache: cache}).Prepare(t.Context(), "a.pdf"))
	code, err := filepath.Glob(filepath.Join(cache, "wazero-*", "*"))
	if err != nil || len(code) == 0 {
		t.Fatalf("compiled are %v, error %v", code, err)
	}
	for _, file := range code {
		must.Succeed(t, os.Remove(file))
	}
	must.Succeed(t, extractor.New(runner, extractor.Config{Cache: cache}).Prepare(t.Context(), "a.pdf"))
	if again, err := filepath.Glob(filepath.Join(cache, "wazero-*", "*")); err != nil || len(again) > 0 {
		t.Errorf("compiled again are %v, error %v", again, err)
	}
}

func TestPDFIsReadPageByPage(t *testing.T) {
	t.Parallel()
	var pages []extract.Page
	err := withPDF(t).Extract(t.Context(), "規程.PDF", bytes.NewReader(book(3)),
		func(p extract.Page, total int) error {
			if total != 3 {
				t.Errorf("page %d of %d", p.Number, total)
			}
			pages = append(pages, p)
			return nil
		})
	if err != nil || len(pages) != 3 {
		t.Fatalf("%d pages and error %v", len(pages), err)
	}
	if m := pages[1].Marks; len(m) != 2 || m[0].Locator != "第1章 総則" || m[1].Locator != "第2章 総則" || !m[1].Heading {
		t.Errorf("the second page has the marks %+v", m)
	}
}

func TestPicturePagesAreReported(t *testing.T) {
	t.Parallel()
	pages := []*pdftest.Page{{}, {}, {}}
	pages[0].Text(50, 700, 12, "読み取れるページ")
	pages[1].Picture()
	var pictured []bool
	err := withPDF(t).Extract(t.Context(), "a.pdf", bytes.NewReader(pdftest.Draw(pages)),
		func(p extract.Page, _ int) error {
			pictured = append(pictured, p.Pictured)
			return nil
		})
	if err != nil || !slices.Equal(pictured, []bool{false, true, false}) {
		t.Errorf("pictures are %v, error %v", pictured, err)
	}
}

func TestPDFWithoutTextIsRefused(t *testing.T) {
	t.Parallel()
	picture := new(pdftest.Page)
	picture.Picture()
	japanese := new(pdftest.Page)
	japanese.Text(50, 700, 12, "埋め込まれていない")
	withFont, without := withPDF(t), newPDF(t, "")
	for name, test := range map[string]struct {
		e    *extractor.Extractor
		file []byte
		want fault.FileCode
	}{
		"pictures":   {withFont, pdftest.Draw([]*pdftest.Page{picture}), fault.FileNoText},
		"empty":      {withFont, pdftest.Draw([]*pdftest.Page{{}}), fault.FileNoText},
		"a password": {withFont, pdftest.Draw([]*pdftest.Page{japanese}, pdftest.Encrypted()), fault.FileEncrypted},
		"cut off":    {withFont, book(1)[:500], fault.FileCorrupt},
		"no font":    {without, pdftest.Draw([]*pdftest.Page{japanese}), fault.FileNoFont},
	} {
		_, err := read(t.Context(), test.e, "a.pdf", bytes.NewReader(test.file))
		if wrong, ok := errors.AsType[*fault.UnreadableError](err); !ok || wrong.Code != test.want {
			t.Errorf("%s: error %v, want %s", name, err, test.want)
		}
	}
}

// BenchmarkBook reads a file of 1,000 pages. server-B is the largest increase of the parent's memory.
func BenchmarkBook(b *testing.B) {
	e, file := withPDF(b), book(1000)
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var pages []extract.Page
		err := e.Extract(b.Context(), "a.pdf", bytes.NewReader(file), func(p extract.Page, _ int) error {
			pages = append(pages, p)
			return nil
		})
		runtime.ReadMemStats(&after)
		if err != nil || len(pages) != 1000 {
			b.Fatalf("%d pages and error %v", len(pages), err)
		}
		b.ReportMetric(float64(after.HeapInuse)-float64(before.HeapInuse), "server-B")
	}
}

func TestPagesAreRenderedAndTextIsLocated(t *testing.T) {
	t.Parallel()
	e, file := withPDF(t), book(2)
	picture := must.Get(e.RenderPage(t.Context(), "a.pdf", bytes.NewReader(file), 2, 400))(t)
	shown, err := png.Decode(bytes.NewReader(picture))
	if err != nil || shown.Bounds().Dx() != 400 || shown.Bounds().Dy() != 566 {
		t.Fatalf("a picture of %v, %v", shown.Bounds(), err)
	}
	var text string
	err = e.Extract(t.Context(), "a.pdf", bytes.NewReader(file), func(p extract.Page, _ int) error {
		text = p.Text
		return nil
	})
	must.Succeed(t, err)
	from := strings.Index(text, "従業員の就業")
	place, err := e.Locate(t.Context(), "a.pdf", bytes.NewReader(file), 2, from, from+len("従業員の就業"))
	if err != nil || len(place.Rects) != 1 || place.Rects[0].Page != 2 || place.Characters != 6 || place.Text != text {
		t.Fatalf("found at %+v, %v", place, err)
	}
	// The rectangle is dark with text, and the margin to its left is not.
	if r := place.Rects[0]; dark(shown, r) < 0.1 || dark(shown, extract.Rect{
		X: 0, Y: r.Y, Width: 0.05,
		Height: r.Height,
	}) > 0 {
		t.Errorf("%.2f of %+v is dark", dark(shown, r), r)
	}
	for name, page := range map[string]int{"before": 0, "behind": 3} {
		if _, err := e.RenderPage(t.Context(), "a.pdf", bytes.NewReader(file), page, 400); !errors.Is(err,
			extract.ErrNoPage) {
			t.Errorf("a page %s: %v", name, err)
		}
	}
	if _, err := e.RenderPage(t.Context(), "a.txt", strings.NewReader("本文"), 1, 400); !errors.Is(err,
		extract.ErrNoPage) {
		t.Errorf("a page of text: %v", err)
	}
	if _, err := e.RenderPage(t.Context(), "a.pdf", bytes.NewReader(file[:300]), 1, 400); err == nil {
		t.Error("rendered a page of a truncated file")
	}
}

// dark returns the dark fraction of a rectangle.
func dark(picture image.Image, r extract.Rect) float64 {
	size := picture.Bounds().Size()
	n, all := 0, 0
	for y := int(r.Y * float64(size.Y)); y < int((r.Y+r.Height)*float64(size.Y)); y++ {
		for x := int(r.X * float64(size.X)); x < int((r.X+r.Width)*float64(size.X)); x++ {
			all++
			if l, _, _, _ := picture.At(x, y).RGBA(); l < 0x8000 {
				n++
			}
		}
	}
	return float64(n) / float64(max(1, all))
}
