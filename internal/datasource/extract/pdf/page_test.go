package pdf_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf/pdftest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// start starts an engine with or without a font.
func start(t testing.TB, withFont bool) *pdf.Engine {
	t.Helper()
	cfg := pdf.Config{Cache: pdftest.Cache(t)}
	must.Succeed(t, pdf.Compile(cfg.Cache))
	if withFont {
		path := pdf.FindFont()
		if path == "" {
			t.Skip("this machine has no Japanese font")
		}
		font := must.Get(os.Open(path))(t)
		t.Cleanup(func() { _ = font.Close() })
		info := must.Get(font.Stat())(t)
		cfg.Font = &pdf.FontFile{ReaderAt: font, Size: info.Size()}
	}
	e := must.Get(pdf.Start(cfg))(t)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func read(t testing.TB, e *pdf.Engine, file []byte) ([]*pdf.Page, error) {
	t.Helper()
	d, err := e.Open(file)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var pages []*pdf.Page
	for i := range d.Pages() {
		p, err := d.Page(i)
		if err != nil {
			return nil, err
		}
		pages = append(pages, p)
	}
	return pages, nil
}

// page returns a list with one drawn page.
func page(draw func(*pdftest.Page)) []*pdftest.Page {
	p := new(pdftest.Page)
	draw(p)
	return []*pdftest.Page{p}
}

var (
	left  = []string{"左の段の最初の行には始めの文が", "あり、次の行まで続いてから終わ", "る。続く文も左の段だけを読めば", "意味が通るように書いてある。"}
	right = []string{"右の段は左の段を読み終えてから", "読むものであり、同じ高さの行が", "あっても混ぜてはならない。これ", "で右の段も終わる。"}
)

func TestRotatedPagesAreReadAsDisplayed(t *testing.T) {
	t.Parallel()
	e := start(t, true)
	pages, err := read(t, e, pdftest.Draw(page(func(p *pdftest.Page) {
		// The page is displayed rotated clockwise, and its text is upright.
		p.Raw("q 0 1 -1 0 595 0 cm")
		for i, line := range left {
			p.Text(50, 500-18*float64(i), 12, line)
		}
		p.Raw("Q")
	}), pdftest.Rotated(90)))
	must.Succeed(t, err)
	if want := strings.Join(left, ""); pages[0].Text != want {
		t.Errorf("%q, want %q", pages[0].Text, want)
	}
}

func TestHeadingsAreDetected(t *testing.T) {
	t.Parallel()
	pages := must.Get(read(t, start(t, true), pdftest.Draw(page(func(p *pdftest.Page) {
		p.Text(50, 780, 20, "勤怠の規程")
		for i, line := range left {
			p.Text(50, 700-18*float64(i), 12, line)
		}
	}))))(t)
	if h := pages[0].Headings; len(h) != 1 || pages[0].Text[h[0].Offset:h[0].Offset+h[0].Length] != "勤怠の規程" {
		t.Errorf("headings %+v", h)
	}
}

func TestPartlyReadableFilesAreRefused(t *testing.T) {
	t.Parallel()
	with, without := start(t, true), start(t, false)
	japanese := page(func(p *pdftest.Page) { p.Text(50, 700, 12, "埋め込まれていない") })
	vertical := page(func(p *pdftest.Page) { p.Vertical(50, 700, 12, "埋め込まれていない") })
	whole := pdftest.Draw(japanese)
	for name, test := range map[string]struct {
		e    *pdf.Engine
		file []byte
		want error
	}{
		"no PDF":              {with, []byte("文章"), pdf.ErrCorrupt},
		"cut off":             {with, whole[:len(whole)-30], pdf.ErrCorrupt},
		"cut off in a stream": {with, whole[:len(whole)/2], pdf.ErrCorrupt},
		"nothing but an end":  {with, []byte("%PDF-1.7\n%%EOF"), pdf.ErrCorrupt},
		"cut off in an update": {
			with, append(bytes.Clone(whole), "12 0 obj\n<< /Type /Page >>\nendobj\n13 0"...), pdf.ErrCorrupt,
		},
		"cut off where pages are sent as they are read": {
			with, bytes.Replace(whole, []byte("1 0 obj\n<<"), []byte("1 0 obj\n<< /Linearized 1 /L 99999"), 1),
			pdf.ErrCorrupt,
		},
		"a password":       {with, pdftest.Draw(japanese, pdftest.Encrypted()), pdf.ErrEncrypted},
		"no font":          {without, whole, pdf.ErrNoFont},
		"no vertical font": {without, pdftest.Draw(vertical), pdf.ErrNoFont},
	} {
		if _, err := read(t, test.e, test.file); !errors.Is(err, test.want) {
			t.Errorf("%s: error %v, want %v", name, err, test.want)
		}
	}
	for name, file := range map[string][]byte{
		"an appended page of a web server": append(bytes.Clone(whole), "<html>"+strings.Repeat("<p>a</p>", 1000)...),
		"zeros behind it":                  append(bytes.Clone(whole), make([]byte, 10_000)...),
		"no end mark":                      bytes.TrimSuffix(whole, []byte("%%EOF\n")),
	} {
		if pages, err := read(t, with, file); err != nil || pages[0].Text != "埋め込まれていない" {
			t.Errorf("%s: error %v", name, err)
		}
	}
	pages, err := read(t, without, pdftest.Draw(page(func(p *pdftest.Page) {
		p.Latin(50, 700, 12,
			"Latin text needs no font.")
	})))
	if err != nil || pages[0].Text != "Latin text needs no font." {
		t.Errorf("Latin text without a font: %v", err)
	}
}

func TestPagesWithOnlyPicturesAreMarked(t *testing.T) {
	t.Parallel()
	pages := must.Get(read(t, start(t, true), pdftest.Draw([]*pdftest.Page{
		page(func(p *pdftest.Page) { p.Picture() })[0],
		page(func(p *pdftest.Page) { p.Picture(); p.Latin(500, 20, 8, "1") })[0],
		page(func(p *pdftest.Page) { p.Text(50, 700, 12, "文字だけのページ") })[0],
		page(func(*pdftest.Page) {})[0],
	})))(t)
	for i, want := range []bool{true, true, false, false} {
		if pages[i].Pictured != want {
			t.Errorf("page %d is a picture: %v", i+1, !want)
		}
	}
}

func FuzzPages(f *testing.F) {
	f.Add(pdftest.Draw(page(func(p *pdftest.Page) {
		p.Text(50, 700, 12, "横書き")
		p.Vertical(400, 600, 12, "縦書き")
		p.Picture()
	})))
	f.Add(
		pdftest.Draw(
			page(func(p *pdftest.Page) { p.Raw("BT /H 0 Tf 1 0 0 0 5 5 Tm <3042> Tj ET BT /L 1e9 Tf (a) Tj ET") }),
		),
	)
	f.Add(
		[]byte("%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 1 0 R/Kids[1 0 R]/Count 9>>endobj trailer<</Root 1 0 R>>%%EOF"),
	)
	f.Add(pdftest.Draw(page(facilities)))
	e := start(f, true)
	f.Fuzz(func(t *testing.T, file []byte) {
		d, err := e.Open(file)
		if err != nil {
			return
		}
		defer d.Close()
		for i := range min(d.Pages(), 5) {
			p, err := d.Page(i)
			if err != nil {
				continue
			}
			if !utf8.ValidString(p.Text) || strings.ContainsFunc(p.Text,
				func(r rune) bool { return r < 0x20 && r != '\n' }) {
				t.Fatalf("%q is not valid text", p.Text)
			}
			for _, r := range rectsOf(p, 0, len(p.Text)) {
				if !(r.X >= 0 && r.Y >= 0 && r.Width >= 0 && r.Height >= 0 && r.X+r.Width <= 1.0001 &&
					r.Y+r.Height <= 1.0001) {
					t.Fatalf("%+v is not on the page", r)
				}
			}
		}
	})
}
