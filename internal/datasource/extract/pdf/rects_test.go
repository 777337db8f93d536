package pdf_test

import (
	"bytes"
	"image"
	"image/png"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf/pdftest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func rectsOf(p *pdf.Page, from, to int) []pdf.Rect {
	rects, _ := p.Rects(from, to)
	return rects
}

// TestRectsEncloseTheText locates a word in the second line, and a word that continues in the next line.
func TestRectsEncloseTheText(t *testing.T) {
	t.Parallel()
	pages := must.Get(read(t, start(t, true), pdftest.Draw(page(func(p *pdftest.Page) {
		for i, line := range left {
			p.Text(50, 700-18*float64(i), 12, line)
		}
		p.Text(-100, 400, 12, "紙の外にある文")
	}))))(t)
	p := pages[0]
	at := func(word string) []pdf.Rect {
		from := strings.Index(p.Text, word)
		rects, characters := p.Rects(from, from+len(word))
		if want := utf8.RuneCountInString(word); from < 0 || characters != want && !strings.HasPrefix(word, "紙") {
			t.Errorf("%d characters of %s are found", characters, word)
		}
		return rects
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 0.008 }
	one := at("次の行")
	if len(one) != 1 || !near(one[0].X, (50+3*12)/595.) || !near(one[0].Width, 36/595.) ||
		!near(one[0].Y+one[0].Height/2, (842-682-4)/842.) {
		t.Errorf("the word is at %+v", one)
	}
	if two := at("始めの文があり"); len(two) != 2 || two[1].Y <= two[0].Y || !near(two[1].X, 50/595.) {
		t.Errorf("the word across lines is at %+v", two)
	}
	if none := rectsOf(p, len(p.Text), len(p.Text)+5); len(none) != 0 {
		t.Errorf("text that does not exist is at %+v", none)
	}
	if beside := at("紙の外にある"); len(beside) != 0 {
		t.Errorf("text outside of the page is at %+v", beside)
	}
}

// rectTests are pages and a word to locate on each.
var rectTests = map[string]struct {
	word, rest func(p *pdftest.Page)
	text       string // The word in the text of the page.
	options    []pdftest.Option
}{
	"horizontal": {
		word: func(p *pdftest.Page) {
			p.Text(50+12*8, 682, 12, "ってから終わ")
			p.Text(50, 664, 12, "る。")
		},
		rest: func(p *pdftest.Page) {
			p.Text(50, 700, 12, left[0])
			p.Text(50, 682, 12, "あり、次の行まで")
			p.Text(50+12*2, 664, 12, "続く文も左の段だけを読めば")
		},
		text: "ってから終わる。",
	},
	"two columns": {
		word: func(p *pdftest.Page) {
			p.Text(50, 646, 12, left[3])
			p.Text(310, 700, 12, right[0])
		},
		rest: func(p *pdftest.Page) {
			for i := range 3 {
				p.Text(50, 700-18*float64(i), 12, left[i])
				p.Text(310, 700-18*float64(i+1), 12, right[i+1])
			}
		},
		text: left[3] + "\n" + right[0],
	},
	"vertical": {
		word: func(p *pdftest.Page) {
			p.Vertical(440, 600-12*9, 12, "下へ、行は")
			p.Vertical(420, 600, 12, "右から左")
		},
		rest: func(p *pdftest.Page) {
			p.Vertical(440, 600, 12, "縦書きの文は上から")
			p.Vertical(420, 600-12*4, 12, "へと進む。次の行に")
			p.Vertical(400, 600, 12, "なったこともある。")
		},
		text: "下へ、行は右から左",
	},
	"ruby": {
		word: func(p *pdftest.Page) { p.Text(50, 700, 20, "紫陽花が咲く。") },
		rest: func(p *pdftest.Page) {
			p.Text(50, 722, 10, "あじさい")
			p.Text(50, 660, 20, "梅雨になる。")
		},
		text: "紫陽花が咲く。",
	},
	"vertical ruby": {
		word: func(p *pdftest.Page) { p.Vertical(400, 600, 20, "田舎に住む。") },
		rest: func(p *pdftest.Page) {
			p.Vertical(416, 600, 10, "いなか")
			p.Vertical(360, 600, 20, "都会へ行く。")
		},
		text: "田舎に住む。",
	},
	"Latin": {
		word: func(p *pdftest.Page) { p.Latin(50, 684, 12, "dation that was made by the gypsy jury.") },
		rest: func(p *pdftest.Page) { p.Latin(50, 700, 12, "The committee accepted the recommen-") },
		text: "dation that was made by the gypsy jury.",
	},
	"a superscript": {
		word: func(p *pdftest.Page) {
			p.Raw("BT /L 12 Tf 50 684 Td (A kg per m) Tj /L 7 Tf 4 Ts (2) Tj ET")
		},
		rest: func(p *pdftest.Page) { p.Latin(50, 712, 12, "The committee accepted it.") },
		text: "A kg per m²",
	},
	"a page turned to the right": {
		word: func(p *pdftest.Page) {
			p.Raw("q 0 1 -1 0 595 0 cm")
			p.Text(50, 482, 12, left[1])
			p.Raw("Q")
		},
		rest: func(p *pdftest.Page) {
			p.Raw("q 0 1 -1 0 595 0 cm")
			p.Text(50, 500, 12, left[0])
			p.Text(50, 464, 12, left[2])
			p.Raw("Q")
		},
		text:    left[1],
		options: []pdftest.Option{pdftest.Rotated(90)},
	},
	"text turned to the right": {
		word: func(p *pdftest.Page) {
			p.Raw("q 0 -1 1 0 0 800 cm")
			p.Text(50, 282, 12, left[1])
			p.Raw("Q")
		},
		rest: func(p *pdftest.Page) {
			p.Raw("q 0 -1 1 0 0 800 cm")
			p.Text(50, 300, 12, left[0])
			p.Text(50, 264, 12, left[2])
			p.Raw("Q")
		},
		text: left[1],
	},
	"upside down": {
		word: func(p *pdftest.Page) {
			p.Raw("q -1 0 0 -1 595 842 cm")
			p.Text(50, 682, 12, left[1])
			p.Raw("Q")
		},
		rest: func(p *pdftest.Page) {
			p.Raw("q -1 0 0 -1 595 842 cm")
			p.Text(50, 700, 12, left[0])
			p.Text(50, 664, 12, left[2])
			p.Raw("Q")
		},
		text: left[1],
	},
}

// TestRectsCoverTheInk compares pictures. The rectangles must contain everything that the word draws, and little else.
func TestRectsCoverTheInk(t *testing.T) {
	t.Parallel()
	e := start(t, true)
	for name, test := range rectTests {
		whole := pdftest.Draw(page(func(p *pdftest.Page) {
			test.rest(p)
			test.word(p)
		}), test.options...)
		pages, err := read(t, e, whole)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p := pages[0]
		from := strings.Index(p.Text, test.text)
		if from < 0 {
			t.Errorf("%s: the page reads %q", name, p.Text)
			continue
		}
		rects := rectsOf(p, from, from+len(test.text))
		own := shown(t, e, pdftest.Draw(page(test.word), test.options...))
		other := shown(t, e, pdftest.Draw(page(test.rest), test.options...))
		if in := inked(own, rects); in < 0.97 {
			t.Errorf("%s: %.2f of the word is in %+v", name, in, rects)
		}
		if in := inked(other, rects); in > 0.04 {
			t.Errorf("%s: %.2f of the rest is in %+v", name, in, rects)
		}
	}
}

// shown renders the first page of a file.
func shown(t *testing.T, e *pdf.Engine, file []byte) image.Image {
	t.Helper()
	d := must.Get(e.Open(file))(t)
	defer d.Close()
	encoded := must.Get(d.Picture(0, 1000))(t)
	picture := must.Get(png.Decode(bytes.NewReader(encoded)))(t)
	return picture
}

// inked returns the fraction of a picture's ink inside rectangles.
func inked(picture image.Image, rects []pdf.Rect) float64 {
	size := picture.Bounds().Size()
	all, in := 0, 0
	for y := range size.Y {
		for x := range size.X {
			if l, _, _, _ := picture.At(x, y).RGBA(); l >= 0x8000 {
				continue
			}
			all++
			for _, r := range rects {
				px, py := (float64(x)+0.5)/float64(size.X), (float64(y)+0.5)/float64(size.Y)
				if px >= r.X && px <= r.X+r.Width && py >= r.Y && py <= r.Y+r.Height {
					in++
					break
				}
			}
		}
	}
	return float64(in) / float64(max(1, all))
}
