package extract

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
)

// maxElementDepth is the largest nesting of elements. Real files stay below a hundred.
const maxElementDepth = 1000

// maxAttributes is the largest number of attributes of an element.
const maxAttributes = 1000

var (
	errDoctype = errors.New("document type declaration") // It can declare entities. Office programs write none.
	errDepth   = errors.New("nested too deeply")
)

// spaces maps the namespaces of Office files, transitional and strict, to their usual prefixes.
var spaces = map[string]string{
	"http://schemas.openxmlformats.org/wordprocessingml/2006/main":           "w",
	"http://purl.oclc.org/ooxml/wordprocessingml/main":                       "w",
	"http://schemas.openxmlformats.org/presentationml/2006/main":             "p",
	"http://purl.oclc.org/ooxml/presentationml/main":                         "p",
	"http://schemas.openxmlformats.org/spreadsheetml/2006/main":              "x",
	"http://purl.oclc.org/ooxml/spreadsheetml/main":                          "x",
	"http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing":    "xdr",
	"http://purl.oclc.org/ooxml/drawingml/spreadsheetDrawing":                "xdr",
	"http://schemas.openxmlformats.org/drawingml/2006/main":                  "a",
	"http://purl.oclc.org/ooxml/drawingml/main":                              "a",
	"http://schemas.openxmlformats.org/drawingml/2006/chart":                 "c",
	"http://purl.oclc.org/ooxml/drawingml/chart":                             "c",
	"http://schemas.microsoft.com/office/drawing/2014/chartex":               "cx",
	"http://schemas.openxmlformats.org/drawingml/2006/diagram":               "dgm",
	"http://purl.oclc.org/ooxml/drawingml/diagram":                           "dgm",
	"http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing": "wp",
	"http://purl.oclc.org/ooxml/drawingml/wordprocessingDrawing":             "wp",
	"http://schemas.openxmlformats.org/officeDocument/2006/math":             "m",
	"http://purl.oclc.org/ooxml/officeDocument/math":                         "m",
	"http://schemas.openxmlformats.org/officeDocument/2006/relationships":    "r",
	"http://purl.oclc.org/ooxml/officeDocument/relationships":                "r",
	"http://schemas.openxmlformats.org/markup-compatibility/2006":            "mc",
	"urn:schemas-microsoft-com:vml":                                          "v",
	"http://schemas.openxmlformats.org/package/2006/relationships":           "",
	"http://schemas.openxmlformats.org/package/2006/content-types":           "",
}

// element is a start tag whose namespace is replaced with the usual prefix.
type element struct{ xml.StartElement }

// is reports whether the element has a local name, in any namespace.
func (e element) is(local string) bool { return e.Name.Local == local }

// attr returns the value of an attribute, "" if it is missing. The prefix r: selects the namespace of relationships.
func (e element) attr(name string) string {
	local, relation := strings.CutPrefix(name, "r:")
	for _, a := range e.Attr {
		if a.Name.Local == local && (spaces[a.Name.Space] == "r") == relation {
			return a.Value
		}
	}
	return ""
}

// on reports whether an on/off attribute is on. In WordprocessingML, a missing attribute means on.
func (e element) on(name string) bool {
	switch e.attr(name) {
	case "0", "false", "off":
		return false
	}
	return true
}

// parser reads a part element by element, without storing previous elements.
type parser struct {
	pkg   *opc
	root  element
	xml   *xml.Decoder
	depth int
}

// parse calls read after the root element of a part was entered, and then reads the rest of the part. It therefore
// returns an error for a damaged or truncated part.
func (p *opc) parse(name string, read func(*parser) error) error {
	part, err := p.open(name)
	if err != nil {
		return err
	}
	defer func() { _ = part.Close() }()
	x := &parser{pkg: p}
	if x.xml, err = newDecoder(part); err != nil {
		return err
	}
	for entered := false; ; {
		token, err := x.next()
		switch {
		case errors.Is(err, io.EOF) && entered:
			return nil
		case err != nil:
			return err
		}
		if root, ok := token.(element); ok && !entered {
			entered, x.root = true, root
			if err := read(x); err != nil {
				return err
			}
		}
	}
}

// newDecoder returns a decoder for XML in UTF-8, UTF-16 or an encoding of Japanese programs.
func newDecoder(part io.Reader) (*xml.Decoder, error) {
	r := bufio.NewReaderSize(part, 64<<10)
	head, err := r.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var wide encoding.Encoding
	switch {
	case bytes.HasPrefix(head, []byte{0xFE, 0xFF}), bytes.HasPrefix(head, []byte{0, '<'}):
		wide = unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE}), bytes.HasPrefix(head, []byte{'<', 0}):
		wide = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case bytes.HasPrefix(head, []byte{0xEF, 0xBB, 0xBF}):
		_, _ = r.Discard(3)
	}
	var source io.Reader = r
	if wide != nil {
		source = wide.NewDecoder().Reader(r)
	}
	d := xml.NewDecoder(source)
	d.CharsetReader = func(label string, input io.Reader) (io.Reader, error) {
		switch cs := fromName(label); {
		case wide != nil || cs == utf8Text || strings.EqualFold(label, "us-ascii"):
			return input, nil
		case cs == shiftJIS:
			return japanese.ShiftJIS.NewDecoder().Reader(input), nil
		case cs == eucJP:
			return japanese.EUCJP.NewDecoder().Reader(input), nil
		}
		return nil, errors.New("unknown encoding " + label)
	}
	return d, nil
}

// next returns the next token: an element, an xml.EndElement or xml.CharData.
func (x *parser) next() (any, error) {
	for {
		token, err := x.xml.Token()
		if err != nil {
			return nil, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if x.depth++; x.depth > maxElementDepth || len(t.Attr) > maxAttributes {
				return nil, errDepth
			}
			if x.pkg.count++; x.pkg.count > maxElements {
				return nil, errBomb
			}
			t.Name.Space = spaces[t.Name.Space]
			return element{t}, nil
		case xml.EndElement:
			x.depth--
			return t, nil
		case xml.CharData:
			return t, nil
		case xml.Directive:
			return nil, errDoctype
		}
	}
}

// each calls read for each child of the current element. read must consume the child up to its end tag.
func (x *parser) each(read func(element) error) error {
	for {
		token, err := x.next()
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case element:
			if err := read(t); err != nil {
				return err
			}
		case xml.EndElement:
			return nil
		}
	}
}

// skip reads the rest of the current element and ignores it.
func (x *parser) skip() error {
	for depth := x.depth; x.depth >= depth; {
		if _, err := x.next(); err != nil {
			return err
		}
	}
	return nil
}

// text returns the character data directly inside the current element and consumes its end tag.
func (x *parser) text() (string, error) {
	var out strings.Builder
	for depth := x.depth; ; {
		token, err := x.next()
		if err != nil {
			return "", err
		}
		if data, ok := token.(xml.CharData); ok && x.depth == depth {
			out.Write(data)
		}
		if x.depth < depth {
			return strings.Map(withoutControl, out.String()), nil
		}
	}
}

// all calls read for each descendant of the current element, except for former properties in tracked changes.
func (x *parser) all(read func(element)) error {
	var visit func(element) error
	visit = func(e element) error {
		if strings.HasSuffix(e.Name.Local, "Change") {
			return x.skip()
		}
		read(e)
		return x.each(visit)
	}
	return x.each(visit)
}

// alternate reads the first choice of mc:AlternateContent, or its fallback if the choice produces no text. made returns
// the amount of text so far.
func (x *parser) alternate(made func() int, read func(element) error) error {
	before, chosen, apology := made(), false, false
	return x.each(func(e element) error {
		if e.is("Choice") && !chosen || e.is("Fallback") && made() == before && !apology {
			chosen = true
			apology = hasApology.MatchString(e.attr("Requires"))
			return x.each(read)
		}
		return x.skip()
	})
}

// hasApology matches the prefixes of features whose fallback only contains a message that a newer version is required:
// charts since 2016, slicers and timelines.
var hasApology = regexp.MustCompile(`\b(?:cx[0-9]*|sle[0-9]*|tsle)\b`)
