package child_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/child"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf/pdftest"
)

// lend returns what children need for PDF files: a font, and a cache that later runs find again.
func lend(t testing.TB) child.Config {
	t.Helper()
	font := pdf.FindFont()
	if font == "" {
		t.Skip("this machine has no Japanese font")
	}
	return child.Config{Font: font, Cache: filepath.Join(os.TempDir(), "tsumugi-test-pdfium"), Page: 30 * time.Second}
}

// book draws a file of many pages, each of them full.
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

func TestPDFIsReadPageByPage(t *testing.T) {
	t.Parallel()
	var pages []extract.Page
	err := child.New(lend(t)).Extract(t.Context(), "規程.PDF", bytes.NewReader(book(3)), func(p extract.Page, total int) error {
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

func TestPDFThatSaysNothingIsRefused(t *testing.T) {
	t.Parallel()
	picture := new(pdftest.Page)
	picture.Picture()
	japanese := new(pdftest.Page)
	japanese.Text(50, 700, 12, "埋め込まれていない")
	withFont := lend(t)
	without := withFont
	without.Font = ""
	for name, test := range map[string]struct {
		cfg  child.Config
		file []byte
		want extract.Code
	}{
		"pictures":   {withFont, pdftest.Draw([]*pdftest.Page{picture}), extract.NoText},
		"empty":      {withFont, pdftest.Draw([]*pdftest.Page{{}}), extract.NoText},
		"a password": {withFont, pdftest.Draw([]*pdftest.Page{japanese}, pdftest.Encrypted()), extract.Encrypted},
		"cut off":    {withFont, book(1)[:500], extract.Corrupt},
		"no font":    {without, pdftest.Draw([]*pdftest.Page{japanese}), extract.NoFont},
	} {
		_, err := read(t.Context(), test.cfg, "a.pdf", bytes.NewReader(test.file))
		if wrong, ok := errors.AsType[*extract.Unreadable](err); !ok || wrong.Code != test.want {
			t.Errorf("%s: error %v, want %s", name, err, test.want)
		}
	}
}

// BenchmarkBook reads a file of 1,000 pages; server-B is what the parent's memory grows by at most.
func BenchmarkBook(b *testing.B) {
	e, file := child.New(lend(b)), book(1000)
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
