// Package pdftest draws small PDF files for tests.
package pdftest

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
)

// CacheVariable is the environment variable with the server's folder for compiled code.
const CacheVariable = "TSUMUGI_CACHE"

// Cache returns the folder for compiled code: the value of CacheVariable, or a folder that all test runs on this
// machine share. The folder may be empty.
func Cache(t testing.TB) string {
	t.Helper()
	folder := cmp.Or(os.Getenv(CacheVariable), filepath.Join(os.TempDir(), "tsumugi-test-cache"))
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // Nothing in it is secret.
		t.Fatal(err)
	}
	return folder
}

// Page is the content of a page of 595 × 842 points.
type Page struct {
	content strings.Builder
	note    *Page
}

// Note draws a note over the page, like the value of a form field. It replaces an earlier note.
func (p *Page) Note(draw func(*Page)) {
	p.note = new(Page)
	draw(p.note)
}

// Text draws a line of Japanese text in a font that is not embedded. The origin is the lower left corner.
func (p *Page) Text(x, y, size float64, text string) { p.draw("H", x, y, size, text) }

// Spaced draws a line of Japanese text with narrow spaces.
func (p *Page) Spaced(x, y, size float64, text string) {
	fmt.Fprintf(&p.content, "BT /H %g Tf %g %g Td [", size, x, y)
	for i, word := range strings.Split(text, " ") {
		if i > 0 {
			p.content.WriteString("<0020> 750 ") // The space is as wide as a Japanese character.
		}
		p.hex(word)
	}
	p.content.WriteString("] TJ ET\n")
}

// Vertical draws a vertical line of text. The point is its upper end.
func (p *Page) Vertical(x, y, size float64, text string) { p.draw("V", x, y, size, text) }

// Latin draws a line of Latin text.
func (p *Page) Latin(x, y, size float64, text string) {
	fmt.Fprintf(&p.content, "BT /L %g Tf %g %g Td (%s) Tj ET\n", size, x, y, text)
}

// Picture draws a picture that covers the page.
func (p *Page) Picture() { p.content.WriteString("q 595 0 0 842 0 0 cm /P Do Q\n") }

// Raw draws with PDF operators.
func (p *Page) Raw(operators string) { p.content.WriteString(operators + "\n") }

func (p *Page) draw(font string, x, y, size float64, text string) {
	fmt.Fprintf(&p.content, "BT /%s %g Tf %g %g Td ", font, size, x, y)
	p.hex(text)
	p.content.WriteString(" Tj ET\n")
}

func (p *Page) hex(text string) {
	p.content.WriteByte('<')
	for _, u := range utf16.Encode([]rune(text)) {
		fmt.Fprintf(&p.content, "%04X", u)
	}
	p.content.WriteByte('>')
}

// Option modifies a file.
type Option func(*file)

type file struct {
	page, trailer string
}

// Rotated sets the rotation of the pages in degrees, clockwise.
func Rotated(degrees int) Option {
	return func(f *file) { f.page = fmt.Sprintf("/Rotate %d", degrees) }
}

// Encrypted makes the file require a password.
func Encrypted() Option {
	return func(f *file) {
		lock := strings.Repeat("5A", 32)
		f.trailer = "/ID [<00> <00>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <" + lock +
			"> /U <" + lock + "> >>"
	}
}

// Draw returns a PDF file with the pages.
func Draw(pages []*Page, options ...Option) []byte {
	var f file
	for _, option := range options {
		option(&f)
	}
	const shared = 9 // Number of objects before those of the pages.
	var kids strings.Builder
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", shared+1+3*i)
	}
	font := func(encoding string) string {
		return "<< /Type /Font /Subtype /Type0 /BaseFont /Ryumin-Light /Encoding /" + encoding +
			" /DescendantFonts [6 0 R] >>"
	}
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] >>", len(pages), kids.String()),
		font("UniJIS-UTF16-H"),
		font("UniJIS-UTF16-V"),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		"<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Ryumin-Light /DW 1000 /FontDescriptor 7 0 R " +
			"/CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 6 >> >>",
		"<< /Type /FontDescriptor /FontName /Ryumin-Light /Flags 6 /Ascent 880 /Descent -120 /CapHeight 700 " +
			"/ItalicAngle 0 /StemV 80 /FontBBox [0 -120 1000 880] >>",
		"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 /Length 1 " +
			">>\nstream\nA\nendstream",
		"<< /Font << /H 3 0 R /V 4 0 R /L 5 0 R >> /XObject << /P 8 0 R >> >>",
	}
	for i, page := range pages {
		own, note := f.page, ""
		if page.note != nil {
			note = page.note.content.String()
			own += fmt.Sprintf(" /Annots [<< /Type /Annot /Subtype /FreeText /F 4 /Rect [0 0 595 842] "+
				"/AP << /N %d 0 R >> >>]", shared+3+3*i)
		}
		objects = append(objects,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources 9 0 R /Contents %d 0 R %s >>",
				shared+2+3*i, own),
			fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", page.content.Len(), page.content.String()),
			fmt.Sprintf("<< /Type /XObject /Subtype /Form /BBox [0 0 595 842] /Resources 9 0 R /Length %d >>\n"+
				"stream\n%s\nendstream", len(note), note))
	}
	var out bytes.Buffer
	out.WriteString("%PDF-1.7\n")
	offsets := make([]int, len(objects))
	for i, object := range objects {
		offsets[i] = out.Len()
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	start := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&out, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&out, "trailer << /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, f.trailer,
		start)
	return out.Bytes()
}
