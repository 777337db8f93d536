package ooxml

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// prefixes maps the namespaces of Office files, transitional and strict, to their usual prefixes.
var prefixes = map[string]string{
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
}

// Prefix returns the usual prefix of a namespace, "" if it is not one of Office files.
func Prefix(namespace string) string { return prefixes[namespace] }

// Element is a start tag.
type Element struct {
	Namespace string
	Prefix    string // The usual prefix of the namespace, see Prefix.
	Local     string
	Attrs     []xml.Attr
	From, To  int // Offsets of the tag in the content.
}

// Tag returns the name with the usual prefix, such as "w:p", or ":p" for an unknown namespace.
func (e Element) Tag() string { return e.Prefix + ":" + e.Local }

// Name returns the name as written in the content, with the prefix that the content uses.
func (e Element) Name(content []byte) string {
	tag := content[e.From+1 : e.To]
	return string(tag[:bytes.IndexAny(tag, " \t\r\n/>")])
}

// Attr returns the value of an attribute, "" if it is missing. The prefix r: selects the namespace of relationships.
func (e Element) Attr(name string) string {
	local, relation := strings.CutPrefix(name, "r:")
	for _, a := range e.Attrs {
		if a.Name.Local == local && a.Name.Space != "xmlns" && (Prefix(a.Name.Space) == "r") == relation {
			return a.Value
		}
	}
	return ""
}

// On reports whether an on/off attribute is on. In WordprocessingML, a missing attribute means on.
func (e Element) On(name string) bool {
	switch e.Attr(name) {
	case "0", "false", "off":
		return false
	}
	return true
}

// Walker reads a part element by element, without storing previous elements.
type Walker struct {
	Root    Element
	Observe func(Element) // If set, called for each element below the root, including skipped ones.

	pkg      *Package
	xml      *xml.Decoder
	depth    int
	from, to int // Offsets of the last end tag.
}

// Walk calls read after the root element of a part was entered, and then reads the rest of the part. It therefore
// returns an error for a damaged or truncated part.
func (p *Package) Walk(name string, read func(*Walker) error) error {
	part, err := p.open(name)
	if err != nil {
		return err
	}
	defer func() { _ = part.Close() }()
	source, err := utf8Source(part)
	if err != nil {
		return p.corrupt(err)
	}
	return p.walk(source, read)
}

// WalkOptional is Walk for a part that may be missing.
func (p *Package) WalkOptional(name string, read func(*Walker) error) error {
	if err := p.Walk(name, read); !errors.Is(err, ErrNoPart) {
		return err
	}
	return nil
}

// WalkContent is Walk for a content that Read has returned.
func (p *Package) WalkContent(content []byte, read func(*Walker) error) error {
	return p.walk(bytes.NewReader(content), read)
}

func (p *Package) walk(source io.Reader, read func(*Walker) error) error {
	w := &Walker{pkg: p, xml: xml.NewDecoder(source)}
	w.xml.CharsetReader = func(_ string, source io.Reader) (io.Reader, error) { return source, nil }
	err := w.Each(func(e Element) error {
		switch {
		case w.depth > 1: // Not consumed by read.
			return nil
		case w.Root.Local != "":
			return fmt.Errorf("%w: two roots", ErrCorrupt)
		}
		w.Root = e
		return read(w)
	})
	if errors.Is(err, io.EOF) && w.Root.Local != "" {
		return nil
	}
	return err
}

// next returns the next token: an Element, an xml.EndElement or xml.CharData.
func (w *Walker) next() (any, error) {
	for {
		from := int(w.xml.InputOffset())
		token, err := w.xml.Token()
		if err != nil {
			return nil, w.pkg.corrupt(err)
		}
		to := int(w.xml.InputOffset())
		switch t := token.(type) {
		case xml.StartElement:
			w.depth++
			w.pkg.elements++
			if w.depth > MaxDepth || len(t.Attr) > maxAttributes || w.pkg.elements > maxElements {
				w.pkg.stopped = ErrTooLarge
				return nil, ErrTooLarge
			}
			e := Element{t.Name.Space, Prefix(t.Name.Space), t.Name.Local, t.Attr, from, to}
			if w.Observe != nil {
				w.Observe(e)
			}
			return e, nil
		case xml.EndElement:
			w.depth--
			w.from, w.to = from, to
			return t, nil
		case xml.CharData:
			return t, nil
		case xml.Directive: // It can declare entities. Office programs write none.
			return nil, fmt.Errorf("%w: document type declaration", ErrCorrupt)
		}
	}
}

// End returns the offsets of the last end tag. They are equal if it belongs to a self-closing element.
func (w *Walker) End() (from, to int) { return w.from, w.to }

// Each calls read for each element inside the current one. read may consume the element up to its end tag, by one of
// these methods; otherwise its children follow.
func (w *Walker) Each(read func(Element) error) error {
	for depth := w.depth; w.depth >= depth; {
		token, err := w.next()
		if err != nil {
			return err
		}
		if e, ok := token.(Element); ok {
			if err := read(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// Skip reads the rest of the current element and ignores it.
func (w *Walker) Skip() error { return w.Each(func(Element) error { return nil }) }

// All calls read for each element inside the current one, except for former properties in tracked changes.
func (w *Walker) All(read func(Element)) error {
	return w.Each(func(e Element) error {
		if strings.HasSuffix(e.Local, "Change") {
			return w.Skip()
		}
		read(e)
		return nil
	})
}

// Text returns the character data directly inside the current element and consumes its end tag.
func (w *Walker) Text() (string, error) {
	var out strings.Builder
	for depth := w.depth; ; {
		token, err := w.next()
		if err != nil {
			return "", err
		}
		if data, ok := token.(xml.CharData); ok && w.depth == depth {
			out.Write(data)
		}
		if w.depth < depth {
			return out.String(), nil
		}
	}
}
