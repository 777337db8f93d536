package extractor_test

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// rawPDF returns a file of objects, numbered from 1; the first must be the catalog. Each object is a dictionary and a
// stream, which may be empty.
func rawPDF(objects ...[2]string) []byte {
	var out bytes.Buffer
	out.WriteString("%PDF-1.7\n")
	for i, o := range objects {
		fmt.Fprintf(&out, "%d 0 obj\n<< %s >>\n", i+1, o[0])
		if o[1] != "" {
			fmt.Fprintf(&out, "stream\n%s\nendstream\n", o[1])
		}
		out.WriteString("endobj\n")
	}
	fmt.Fprintf(&out, "trailer << /Size %d /Root 1 0 R >>\nstartxref\n0\n%%%%EOF\n", len(objects)+1)
	return out.Bytes()
}

// onePage returns a file with one page, and additional objects from 5.
func onePage(dictionary, content string, more ...[2]string) []byte {
	return rawPDF(append([][2]string{
		{"/Type /Catalog /Pages 2 0 R", ""},
		{"/Type /Pages /Count 1 /Kids [3 0 R]", ""},
		{"/Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /XObject << /X 5 0 R >> " +
			"/Font << /L << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>", ""},
		{fmt.Sprintf("/Length %d %s", len(content), dictionary), content},
	}, more...)...)
}

// deflated returns compressed data that unpacks to copies of piece with a total of size bytes.
func deflated(t *testing.T, piece string, size int) string {
	t.Helper()
	var out bytes.Buffer
	w := must.Get(zlib.NewWriterLevel(&out, zlib.BestSpeed))(t)
	block := []byte(strings.Repeat(piece, 1<<16/len(piece)))
	for n := 0; n < size; n += len(block) {
		if _, err := w.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	must.Succeed(t, w.Close())
	return out.String()
}

// TestR66_HostilePDFsEnd verifies that hostile files are read or refused within the limits of a child.
func TestR66_HostilePDFsEnd(t *testing.T) {
	t.Parallel()
	e := withPDF(t)
	flate := func(piece string, size int) []byte {
		return onePage("/Filter /FlateDecode", deflated(t, piece, size))
	}
	operators := flate("0 0 m 9 9 l S ", 600<<20)
	nested := strings.Repeat("[", 500_000) + strings.Repeat("]", 500_000)
	for name, test := range map[string]struct {
		file []byte
		read bool // Reading it may succeed.
	}{
		"pages that contain themselves": {file: rawPDF(
			[2]string{
				"/Type /Catalog /Pages 2 0 R", "",
			}, [2]string{"/Type /Pages /Count 9 /Kids [2 0 R 2 0 R 2 0 R]", ""})},
		"a catalog that is its pages": {
			file: rawPDF([2]string{"/Type /Catalog /Pages 1 0 R /Kids [1 0 R] /Count 9", ""}),
		},
		"two billion pages": {file: rawPDF([2]string{"/Type /Catalog /Pages 2 0 R", ""},
			[2]string{"/Type /Pages /Count 2000000000 /Kids [3 0 R]", ""},
			[2]string{"/Type /Page /Parent 2 0 R /MediaBox [0 0 595 842]", ""})},
		"a form that draws itself": {file: onePage("", "/X Do",
			[2]string{
				"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 5 0 R >> >> /Length 11",
				"/X Do /X Do",
			})},
		"endless operators": {file: operators},
		"endless text":      {file: flate("BT /L 9 Tf (aaaaaaaaaa) Tj ET ", 200<<20)},
		"endless zeros":     {file: flate("\x00", 1<<30)},
		"packed a hundred times": {file: onePage("/Filter ["+strings.Repeat(" /FlateDecode", 100)+"]",
			deflated(t, "\x00", 100<<20))},
		"nested arrays": {file: rawPDF([2]string{"/Type /Catalog /Pages " + nested, ""})},
		"a huge picture": {file: onePage("", "/X Do", [2]string{
			"/Type /XObject /Subtype /Image /Width 60000 /Height 60000 /BitsPerComponent 8 /ColorSpace /DeviceRGB " +
				"/Filter /FlateDecode /Length 20",
			"x",
		})},
		"a huge page": {file: bytes.Replace(onePage("", "BT /L 9 Tf (a) Tj ET"), []byte("[0 0 595 842]"),
			[]byte("[0 0 1e30 1e30]"), 1), read: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := read(t.Context(), e, "a.pdf", bytes.NewReader(test.file))
			t.Logf("%d bytes: %d characters and %v", len(test.file), len(text), err)
			if _, refused := errors.AsType[*fault.UnreadableError](err); !refused && (err != nil || !test.read) {
				t.Errorf("error %v, want a reason", err)
			}
		})
	}
	t.Run("a page to look at", func(t *testing.T) {
		t.Parallel()
		if _, err := e.RenderPage(t.Context(), "a.pdf", bytes.NewReader(operators), 1, 1000); err == nil {
			t.Error("it was drawn")
		}
	})
}
