package pdf

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/api"
)

// Rect is a rectangle on a displayed page, in fractions of its width and height. The origin is the upper left corner.
type Rect struct {
	X, Y, Width, Height float64
}

// Page is the text of a page.
type Page struct {
	Text     string
	Headings []Heading
	Pictured bool // The page contains almost only pictures or drawings.

	width, height float64
	glyphs        []glyph // The characters of Text, in order.
	offsets       []int   // Offset of each glyph in Text, in bytes.
	end           tableEnd
}

// Heading is a heading line.
type Heading struct {
	Offset int // In bytes of the page's text.
	Length int
	Size   float64 // Font size relative to the body text.
}

// glyph is a character and its position.
type glyph struct {
	r      rune
	box    box
	base   float64 // Baseline, downwards. Only for text to the right.
	size   float64 // Font size in points.
	turn   turn
	space  bool // White space precedes it.
	typed  bool // A space character of the file precedes it.
	heavy  bool // Bold, or a sans-serif font.
	object uint64
}

// box is a rectangle on a displayed page, in points from the upper left corner.
type box struct{ x0, y0, x1, y1 float64 }

// turn is the line direction of upright text.
type turn int

const (
	rightwards turn = iota
	downwards       // Vertical writing, and text rotated clockwise by 90°.
	leftwards
	upwards
	askew
)

// maxGlyphs is the largest number of characters of a page.
const maxGlyphs = 500_000

// pictured is the minimum fraction of a page that an image must cover to count as the whole page.
const pictured = 0.5

// Page reads a page; i counts from 0. The error is ErrCorrupt, ErrNoFont, ErrNoMapping, or an error of a broken engine.
func (d *Document) Page(i int) (*Page, error) { return d.page(i, 0) }

// tableBefore returns the table at the end of the page before page i.
func (d *Document) tableBefore(i, depth int) tableEnd {
	if i == 0 || depth == maxContinued {
		return tableEnd{}
	}
	if d.lastPage != i-1 {
		if _, err := d.page(i-1, depth+1); err != nil {
			return tableEnd{}
		}
	}
	return d.lastTable
}

// page is Page. depth is the number of pages after it that are being read because they continue its table.
func (d *Document) page(i, depth int) (*Page, error) {
	handle, err := d.load(i)
	if err != nil {
		return nil, err
	}
	const display, flattened = 0, 1
	// The text of a form field or a note is not part of the page until it is flattened.
	result, err := d.e.call("FPDFPage_Flatten", handle, display)
	if err == nil && result == flattened {
		d.closePage(handle)
		handle, err = d.load(i)
	}
	if err != nil {
		return nil, err
	}
	defer d.closePage(handle)
	show, err := d.shown(handle)
	if err != nil {
		return nil, err
	}
	glyphs, broken, err := d.glyphs(handle, show)
	if err != nil {
		return nil, err
	}
	objects, err := d.drawing(handle, show.width*show.height)
	if err != nil {
		return nil, err
	}
	if err := d.check(objects, glyphs, broken); err != nil {
		return nil, err
	}
	lines := show.boxes(objects.rules)
	for i, s := range objects.shapes {
		objects.shapes[i].box, objects.shapes[i].rules = show.box(s.x0, s.y0, s.x1, s.y1), show.boxes(s.rules)
	}
	d.weigh(objects, glyphs)
	objects.findSpaces(glyphs)
	if len(glyphs) > 0 { // Otherwise it is a picture.
		glyphs, lines = checkBoxes(objects.shapes, glyphs, lines)
	}
	page := layOut(glyphs, lines, func() tableEnd { return d.tableBefore(i, depth) })
	page.width, page.height = show.width, show.height
	few := len(page.glyphs) == 0 || objects.pictured >= pictured && len(page.glyphs) < 2*minBroken
	page.Pictured = few && objects.images+objects.paths > 0
	d.lastPage, d.lastTable = i, page.end
	return page, nil
}

// load loads a page. The caller must close it.
func (d *Document) load(i int) (uint64, error) {
	page, err := d.e.call("FPDF_LoadPage", d.handle, uint64(i)) //nolint:gosec // Not negative.
	if err == nil && page == 0 {
		err = ErrCorrupt
	}
	return page, err
}

func (d *Document) closePage(page uint64) { _, _ = d.e.call("FPDF_ClosePage", page) }

// shown transforms page coordinates to coordinates of the displayed page.
type shown struct {
	width, height    float64 // In points.
	a, b, c, d, e, f float64
}

func (s shown) point(x, y float64) (float64, float64) {
	return s.a*x + s.c*y + s.e, s.b*x + s.d*y + s.f
}

func (s shown) box(x0, y0, x1, y1 float64) box {
	ax, ay := s.point(x0, y0)
	bx, by := s.point(x1, y1)
	return box{math.Min(ax, bx), math.Min(ay, by), math.Max(ax, bx), math.Max(ay, by)}
}

func (s shown) boxes(boxes []box) []box {
	found := make([]box, len(boxes))
	for i, b := range boxes {
		found[i] = s.box(b.x0, b.y0, b.x1, b.y1)
	}
	return found
}

// shown returns the transformation that PDFium uses, with rotation and crop box.
func (d *Document) shown(page uint64) (s shown, _ error) {
	width, err := d.e.call("FPDF_GetPageWidthF", page)
	if err != nil {
		return s, err
	}
	height, err := d.e.call("FPDF_GetPageHeightF", page)
	if err != nil {
		return s, err
	}
	s.width, s.height = float64(api.DecodeF32(width)), float64(api.DecodeF32(height))
	if !(s.width > 0 && s.height > 0 && s.width < 1e5 && s.height < 1e5) {
		return s, ErrCorrupt
	}
	const fine, far = 100, 1000
	device := func(x, y float64) (float64, float64, error) {
		_, err := d.e.call("FPDF_PageToDevice", page, 0, 0, uint64(s.width*fine), uint64(s.height*fine), 0,
			api.EncodeF64(x), api.EncodeF64(y), d.e.at(0), d.e.at(4))
		return float64(d.e.int32(0)) / fine, float64(d.e.int32(4)) / fine, err
	}
	ox, oy, err := device(0, 0)
	if err != nil {
		return s, err
	}
	ax, ay, err := device(far, 0)
	if err != nil {
		return s, err
	}
	bx, by, err := device(0, far)
	s.a, s.b, s.c, s.d, s.e, s.f = (ax-ox)/far, (ay-oy)/far, (bx-ox)/far, (by-oy)/far, ox, oy
	return s, err
}

// glyphs returns the characters of a page in drawing order, and the number of characters without a known code point.
func (d *Document) glyphs(page uint64, show shown) (glyphs []glyph, broken int, _ error) {
	text, err := d.e.call("FPDFText_LoadPage", page)
	if err != nil || text == 0 {
		return nil, 0, err
	}
	defer func() { _, _ = d.e.call("FPDFText_ClosePage", text) }()
	count, err := d.e.call("FPDFText_CountChars", text)
	if err != nil {
		return nil, 0, err
	}
	n := min(int(int32(count)), maxGlyphs) //nolint:gosec // PDFium returns a signed int.
	space, typed, high := false, false, rune(0)
	for i := range uint64(max(0, n)) { //nolint:gosec // Not negative.
		u, err := d.e.call("FPDFText_GetUnicode", text, i)
		if err != nil {
			return nil, 0, err
		}
		r := rune(uint32(u)) //nolint:gosec // A code point.
		if high != 0 {
			r, high = utf16.DecodeRune(high, r), 0
		} else if utf16.IsSurrogate(r) {
			high = r
			continue
		}
		if unicode.IsSpace(r) {
			generated, err := d.e.call("FPDFText_IsGenerated", text, i)
			if err != nil {
				return nil, 0, err
			}
			space, typed = true, typed || generated == 0
			continue
		}
		g, ok, err := d.glyph(text, i, r, show)
		if err != nil {
			return nil, 0, err
		}
		if !ok {
			broken++
			continue
		}
		g.space, g.typed, space, typed = space, typed, false, false
		glyphs = append(glyphs, g)
	}
	return glyphs, broken, nil
}

// glyph returns the character i. ok is false if it cannot be read.
func (d *Document) glyph(text, i uint64, r rune, show shown) (g glyph, ok bool, _ error) {
	e := d.e
	g.r = r
	if r == 2 || r == 0xFFFE || r == 0xAD { // PDFium's codes for a hyphen at the end of a line.
		g.r = '-'
	}
	wrong, err := e.call("FPDFText_HasUnicodeMapError", text, i)
	if err != nil {
		return g, false, err
	}
	//nolint:gosec // PDFium returns a signed int.
	if int32(wrong) == 1 || g.r == unicode.ReplacementChar || !unicode.IsGraphic(g.r) {
		return g, false, nil
	}
	if _, err = e.call("FPDFText_GetLooseCharBox", text, i, e.at(0)); err != nil {
		return g, false, err
	}
	g.box = show.box(e.float32(0), e.float32(12), e.float32(8), e.float32(4)) // Left, top, right, bottom.
	if _, err = e.call("FPDFText_GetMatrix", text, i, e.at(0)); err != nil {
		return g, false, err
	}
	a, b, c, dd := e.float32(0), e.float32(4), e.float32(8), e.float32(12)
	g.turn = direction(show.a*a+show.c*b, show.b*a+show.d*b)
	_, g.base = show.point(e.float32(16), e.float32(20))
	size, err := e.call("FPDFText_GetFontSize", text, i)
	if err != nil {
		return g, false, err
	}
	g.size = math.Abs(api.DecodeF64(size)) * math.Hypot(c, dd)
	if math.IsNaN(g.size) || g.size <= 0 || g.size > 1e4 {
		g.size = max(1, g.box.y1-g.box.y0)
	}
	g.object, err = e.call("FPDFText_GetTextObject", text, i)
	return g, !math.IsNaN(g.box.x0 + g.box.x1 + g.box.y0 + g.box.y1), err
}

// direction returns the line direction for an advance vector (x, y) with y pointing down.
func direction(x, y float64) turn {
	const slack = 0.27 // 15°.
	switch length := math.Hypot(x, y); {
	case length == 0 || x > 0 && math.Abs(y) <= slack*length:
		return rightwards
	case y > 0 && math.Abs(x) <= slack*length:
		return downwards
	case x < 0 && math.Abs(y) <= slack*length:
		return leftwards
	case y < 0 && math.Abs(x) <= slack*length:
		return upwards
	}
	return askew
}

// Rects returns the rectangles of a range of the text, one for each piece of a line, and the number of characters in
// them. It ignores text outside of the page.
func (p *Page) Rects(from, to int) (rects []Rect, characters int) {
	var last box
	for i, g := range p.glyphs {
		if p.offsets[i] < from || p.offsets[i] >= to || !p.shows(g.box) {
			continue
		}
		end := len(p.Text)
		if i+1 < len(p.offsets) {
			end = p.offsets[i+1]
		}
		// A glyph can be several characters, such as a ligature.
		characters += utf8.RuneCountInString(strings.TrimSpace(p.Text[p.offsets[i]:min(end, to)]))
		if n := len(rects); n > 0 && sameLine(last, g.box, g.turn) {
			last = last.with(g.box)
			rects[n-1] = p.rect(last)
			continue
		}
		last = g.box
		rects = append(rects, p.rect(last))
	}
	return rects, characters
}

// shows reports whether a character is on the page.
func (p *Page) shows(b box) bool {
	return b.x1 > 0 && b.y1 > 0 && b.x0 < p.width && b.y0 < p.height && b.x1 > b.x0 && b.y1 > b.y0
}

// sameLine reports whether a character continues a line.
func sameLine(line, b box, t turn) bool {
	l, c := t.frame(line), t.frame(b)
	overlap := math.Min(l.y1, c.y1) - math.Max(l.y0, c.y0)
	return overlap > 0.5*(c.y1-c.y0) && c.x0 > l.x0-1 && c.x0-l.x1 < 2*(c.y1-c.y0)
}

func (b box) with(c box) box {
	return box{math.Min(b.x0, c.x0), math.Min(b.y0, c.y0), math.Max(b.x1, c.x1), math.Max(b.y1, c.y1)}
}

func (p *Page) rect(b box) Rect {
	x, y := clamp(b.x0/p.width), clamp(b.y0/p.height)
	return Rect{X: x, Y: y, Width: clamp(b.x1/p.width) - x, Height: clamp(b.y1/p.height) - y}
}

func clamp(v float64) float64 { return math.Max(0, math.Min(1, v)) }
