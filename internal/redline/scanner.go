package redline

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/text/encoding/unicode"
)

// Namespaces of WordprocessingML and of markup compatibility.
const (
	spaceW      = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
	spaceStrict = "http://purl.oclc.org/ooxml/wordprocessingml/main"
	spaceMC     = "http://schemas.openxmlformats.org/markup-compatibility/2006"
)

// span is a range of bytes.
type span struct{ from, to int }

// element is a start tag and its position.
type element struct {
	xml.StartElement
	span
}

// word returns the local name of an element of WordprocessingML, "" for others.
func (e element) word() string {
	if e.Name.Space == spaceW || e.Name.Space == spaceStrict {
		return e.Name.Local
	}
	return ""
}

// attr returns the value of an attribute, "" if it is missing.
func (e element) attr(local string) string {
	for _, a := range e.Attr {
		if a.Name.Local == local && a.Name.Space != "xmlns" {
			return a.Value
		}
	}
	return ""
}

// on reports whether an on/off property is on. A missing value means on.
func (e element) on() bool {
	switch e.attr("val") {
	case "0", "false", "off":
		return false
	}
	return true
}

// prefix returns the prefix of the tag including its colon, "" if there is none.
func (e element) prefix(source []byte) string {
	name, _, _ := bytes.Cut(source[e.from+1:e.to], []byte(e.Name.Local))
	return string(name)
}

// scanner reads the elements of a part and their positions.
type scanner struct {
	source []byte // In UTF-8.
	xml    *xml.Decoder
	at     int // End of the last end tag.
	ending int // Start of the last end tag.
	depth  int
	count  int

	ids    map[string]bool // The values of all w:id attributes.
	uses   map[string]bool // All namespaces bound to the prefix w.
	binder bool            // The root element binds the prefix w.
}

func newScanner(part []byte) (*scanner, error) {
	source, err := utf8Part(part)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return &scanner{
		source: source, xml: xml.NewDecoder(bytes.NewReader(source)), ids: make(map[string]bool),
		uses: make(map[string]bool),
	}, nil
}

// utf8Part returns a part in UTF-8 without byte order mark. It converts UTF-16 and then removes the XML declaration.
func utf8Part(part []byte) ([]byte, error) {
	if !bytes.HasPrefix(part, []byte{0xFE, 0xFF}) && !bytes.HasPrefix(part, []byte{0xFF, 0xFE}) {
		return bytes.TrimPrefix(part, []byte{0xEF, 0xBB, 0xBF}), nil
	}
	wide, err := unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder().Bytes(part)
	if err == nil && bytes.HasPrefix(wide, []byte("<?xml")) {
		_, wide, _ = bytes.Cut(wide, []byte("?>"))
	}
	return wide, err
}

// next returns the next token: an element, an xml.EndElement or xml.CharData. Its errors wrap ErrCorrupt or
// ErrTooLarge.
func (s *scanner) next() (any, error) {
	for {
		from := int(s.xml.InputOffset())
		token, err := s.xml.Token()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		to := int(s.xml.InputOffset())
		switch t := token.(type) {
		case xml.StartElement:
			s.depth++
			if s.count++; s.count > maxElements || s.depth > maxDepth {
				return nil, ErrTooLarge
			}
			s.note(t)
			return element{t, span{from, to}}, nil
		case xml.EndElement:
			s.depth--
			s.ending, s.at = from, to
			return t, nil
		case xml.CharData:
			return t, nil
		case xml.Directive: // Directives can declare entities. Office programs write none.
			return nil, fmt.Errorf("%w: document type declaration", ErrCorrupt)
		}
	}
}

func (s *scanner) note(e xml.StartElement) {
	for _, a := range e.Attr {
		switch {
		case a.Name.Local == "id" && (a.Name.Space == spaceW || a.Name.Space == spaceStrict):
			s.ids[a.Value] = true
		case a.Name.Space == "xmlns" && a.Name.Local == "w":
			s.uses[a.Value] = true
			s.binder = s.binder || s.depth == 1
		}
	}
}

// root calls read with the root element and then reads the rest of the part. read must consume the element up to its
// end tag.
func (s *scanner) root(read func(element) error) error {
	for entered := false; ; {
		token, err := s.next()
		switch {
		case errors.Is(err, io.EOF) && entered:
			return nil
		case err != nil:
			return err
		}
		if e, ok := token.(element); ok {
			if entered {
				return fmt.Errorf("%w: two roots", ErrCorrupt)
			}
			entered = true
			if err := read(e); err != nil {
				return err
			}
		}
	}
}

// each calls read for each child of the current element. read must consume the child up to its end tag.
func (s *scanner) each(read func(element) error) error {
	for {
		token, err := s.next()
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
func (s *scanner) skip() error { return s.each(func(element) error { return s.skip() }) }

// all calls read for each descendant of the current element.
func (s *scanner) all(read func(element)) error {
	return s.each(func(e element) error {
		read(e)
		return s.all(read)
	})
}

// text returns the character data directly inside the current element and consumes its end tag.
func (s *scanner) text() (string, error) {
	var out strings.Builder
	for depth := s.depth; ; {
		token, err := s.next()
		if err != nil {
			return "", err
		}
		if data, ok := token.(xml.CharData); ok && s.depth == depth {
			out.Write(data)
		}
		if s.depth < depth {
			return out.String(), nil
		}
	}
}
