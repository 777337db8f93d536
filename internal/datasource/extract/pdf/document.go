package pdf

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// Errors for a file that cannot be read.
var (
	ErrEncrypted = errors.New("pdf: needs a password")
	ErrCorrupt   = errors.New("pdf: damaged or cut off")
	ErrNoFont    = errors.New("pdf: needs a font that is neither embedded nor installed")
	ErrNoMapping = errors.New("pdf: draws characters without a mapping to Unicode")
)

// Results of FPDF_GetLastError.
const (
	errPassword = 4
	errSecurity = 5
)

// Document is an open file. It is not safe for concurrent use.
type Document struct {
	e       *Engine
	content uint64 // Address in PDFium's memory.
	handle  uint64
	pages   int

	lastPage  int // The page that was read last, -1 for none.
	lastTable tableEnd
}

// Open opens a file. The caller must close it. The error is ErrEncrypted, ErrCorrupt, or an error of a broken engine.
func (e *Engine) Open(file []byte) (*Document, error) {
	if isCutOff(file) {
		return nil, ErrCorrupt
	}
	content, err := e.put(file)
	if err != nil {
		return nil, err
	}
	d := &Document{e: e, content: content, lastPage: -1}
	if d.handle, err = e.call("FPDF_LoadMemDocument64", content, uint64(len(file)), 0); err != nil {
		return nil, err
	}
	if d.handle == 0 {
		code, err := e.call("FPDF_GetLastError")
		d.Close()
		switch {
		case err != nil:
			return nil, err
		case code == errPassword, code == errSecurity:
			return nil, ErrEncrypted
		}
		return nil, ErrCorrupt
	}
	n, err := e.call("FPDF_GetPageCount", d.handle)
	if err != nil {
		return nil, err
	}
	if d.pages = int(int32(n)); d.pages < 1 { //nolint:gosec // PDFium returns a signed int.
		d.Close()
		return nil, ErrCorrupt
	}
	return d, nil
}

var (
	linearized = regexp.MustCompile(`/Linearized\b[^>]*/L\s+([0-9]{1,18})\b`)
	tableStart = regexp.MustCompile(`startxref\s+[0-9]+\s`)
	object     = regexp.MustCompile(`\b[0-9]+\s+[0-9]+\s+obj\b`)
)

// isCutOff reports whether a file was truncated. PDFium repairs truncated files, and would return the first pages or an
// earlier version. Data after the end is ignored: mail gateways and web servers append to files.
func isCutOff(file []byte) bool {
	const header = 1 << 10
	if found := linearized.FindSubmatch(file[:min(len(file), header)]); found != nil {
		if length, err := strconv.Atoi(string(found[1])); err == nil && length > len(file) {
			return true
		}
	}
	end := bytes.LastIndex(file, []byte("%%EOF"))
	if at := bytes.LastIndex(file, []byte("startxref")); at > end { // Some programs omit the end marker.
		if found := tableStart.FindIndex(file[at:]); found != nil {
			end = at + found[1]
		}
	}
	return end < 0 || object.Match(file[end:])
}

// Pages returns the number of pages.
func (d *Document) Pages() int { return d.pages }

// Close closes the file.
func (d *Document) Close() {
	if d.handle != 0 {
		_, _ = d.e.call("FPDF_CloseDocument", d.handle)
	}
	d.e.free(d.content)
}

// Kinds of page objects.
const (
	textObject  = 1
	pathObject  = 2
	imageObject = 3
	formObject  = 5
)

const (
	maxDepth   = 8       // Nesting of forms, and of parts of a page.
	maxObjects = 200_000 // Objects of a page to read.
)

// drawn is the content of a page.
type drawn struct {
	texts    map[uint64]uint64 // Text objects and their fonts.
	before   map[uint64]uint64 // The text object that is drawn before each text object.
	last     uint64            // The last text object.
	images   int
	paths    int
	pictured float64 // The largest fraction of the page that a single image covers.
	rules    []box   // Horizontal and vertical lines, in page coordinates.
	shapes   []shape // Small parts of paths, in page coordinates.
	segments int     // Remaining number of path segments to read.
}

// drawing reads the content of a page.
func (d *Document) drawing(page uint64, area float64) (drawn, error) {
	found := drawn{texts: make(map[uint64]uint64), before: make(map[uint64]uint64), segments: maxSegments}
	n, err := d.e.call("FPDFPage_CountObjects", page)
	if err != nil {
		return found, err
	}
	w := walk{d: d, left: maxObjects, area: area, found: &found}
	return found, w.objects(page, "FPDFPage_GetObject", n, 0, identity)
}

// walk visits the objects of a page.
type walk struct {
	d     *Document
	left  int     // Remaining number of objects to visit.
	area  float64 // Area of the page.
	found *drawn
}

// objects visits the n objects of a page or form.
func (w *walk) objects(parent uint64, get string, n uint64, depth int, outer matrix) error {
	for i := range uint64(uint32(n)) { //nolint:gosec // PDFium returns a 32-bit count.
		if w.left--; w.left < 0 {
			return nil
		}
		object, err := w.d.e.call(get, parent, i)
		if err != nil {
			return err
		}
		kind, err := w.d.e.call("FPDFPageObj_GetType", object)
		if err != nil {
			return err
		}
		switch kind {
		case textObject:
			w.found.before[object], w.found.last = w.found.last, object
			w.found.texts[object], err = w.d.e.call("FPDFTextObj_GetFont", object)
		case pathObject:
			w.found.paths++
			err = w.d.path(object, outer, w.found)
		case imageObject:
			err = w.image(object)
		case formObject:
			if depth < maxDepth {
				err = w.form(object, depth+1, outer)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) image(object uint64) error {
	e := w.d.e
	w.found.images++
	ok, err := e.call("FPDFPageObj_GetBounds", object, e.at(0), e.at(4), e.at(8), e.at(12))
	if err == nil && ok != 0 && w.area > 0 {
		w.found.pictured = max(w.found.pictured, (e.float32(8)-e.float32(0))*(e.float32(12)-e.float32(4))/w.area)
	}
	return err
}

func (w *walk) form(object uint64, depth int, outer matrix) error {
	own, err := w.d.matrixOf(object)
	if err != nil {
		return err
	}
	children, err := w.d.e.call("FPDFFormObj_CountObjects", object)
	if err != nil {
		return err
	}
	return w.objects(object, "FPDFFormObj_GetObject", children, depth, own.within(outer))
}

// check returns an error if some of the text on a page cannot be read.
func (d *Document) check(objects drawn, glyphs []glyph, broken int) error {
	if broken >= minBroken && broken*4 > len(glyphs) {
		return ErrNoMapping
	}
	type use struct {
		silent   int  // Text objects without any readable character.
		japanese bool // The readable text is Japanese.
	}
	fonts := make(map[uint64]*use)
	of := func(object uint64) *use {
		font := objects.texts[object]
		if fonts[font] == nil {
			fonts[font] = new(use)
		}
		return fonts[font]
	}
	spoke := make(map[uint64]bool)
	for _, g := range glyphs {
		spoke[g.object] = true
		if _, known := objects.texts[g.object]; known && isWide(g.r) {
			of(g.object).japanese = true
		}
	}
	silent := 0
	for object := range objects.texts {
		if !spoke[object] {
			of(object).silent++
		}
	}
	for font, use := range fonts {
		embedded, err := d.e.call("FPDFFont_GetIsEmbedded", font)
		if err != nil {
			return err
		}
		//nolint:gosec // PDFium returns a signed int.
		if int32(embedded) == 1 || !use.japanese && (use.silent == 0 || d.isLatin(font)) {
			continue
		}
		if !d.e.withFont {
			return ErrNoFont
		}
		silent += use.silent
	}
	if silent >= minBroken && silent*4 > len(glyphs) {
		return ErrNoMapping
	}
	return nil
}

// minBroken is the minimum number of unreadable characters that makes a page unreadable. Bullets are often unreadable.
const minBroken = 10

// isLatin reports whether a font has only Latin characters, according to its name.
func (d *Document) isLatin(font uint64) bool {
	name := d.fontName(font)
	for _, latin := range []string{
		"helvetica", "arial", "times", "courier", "symbol", "dingbats", "verdana", "georgia", "calibri", "cambria",
		"tahoma", "segoe",
		"trebuchet", "garamond", "palatino", "century", "bookman", "consolas", "wingdings", "frutiger", "myriad",
		"minionpro",
	} {
		if strings.Contains(name, latin) {
			return true
		}
	}
	return false
}

func (d *Document) fontName(font uint64) string {
	return strings.ToLower(d.e.string8(func(buffer, size uint64) (uint64, error) {
		return d.e.call("FPDFFont_GetBaseFontName", font, buffer, size)
	}))
}

// heavyFont matches the names of fonts for headings.
var heavyFont = regexp.MustCompile(`bold|black|heavy|gothic|ゴシック|ultra|-(db|eb|h|b)\b|-w[6-9]`)

// weigh sets glyph.heavy for the characters of bold fonts.
func (d *Document) weigh(objects drawn, glyphs []glyph) {
	fonts := make(map[uint64]bool)
	for i, g := range glyphs {
		font, known := objects.texts[g.object]
		if !known {
			continue
		}
		heavy, ok := fonts[font]
		if !ok {
			heavy = heavyFont.MatchString(d.fontName(font))
			fonts[font] = heavy
		}
		glyphs[i].heavy = heavy
	}
}

// findSpaces sets glyph.typed for characters after a text object that contains only a space. PDFium ignores such objects.
func (f drawn) findSpaces(glyphs []glyph) {
	visible := map[uint64]bool{0: true}
	for _, g := range glyphs {
		visible[g.object] = true
	}
	for i, g := range glyphs {
		if g.space && !visible[f.before[g.object]] {
			glyphs[i].typed = true
		}
	}
}

// isWide reports whether a character belongs to a full-width script.
func isWide(r rune) bool {
	return r >= 0x2E80 && r <= 0xD7FF || r >= 0xF900 && r <= 0xFAFF || r >= 0xFE30 && r <= 0xFE4F || r >= 0xFF00 &&
		r <= 0xFFEF ||
		r >= 0x20000 && r <= 0x3FFFF
}

func isKana(r rune) bool {
	return unicode.In(r, unicode.Hiragana, unicode.Katakana) || r == 'ー' || r == '・'
}
