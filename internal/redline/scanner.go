package redline

import "github.com/tsumugi-ai/tsumugi/internal/ooxml"

// The namespaces of WordprocessingML.
const (
	spaceW      = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
	spaceStrict = "http://purl.oclc.org/ooxml/wordprocessingml/main"
)

// span is a range of bytes.
type span struct{ from, to int }

// tag returns the range of a start tag.
func tag(e ooxml.Element) span { return span{e.From, e.To} }

// scanner walks a part and collects the ids and prefixes that it uses.
type scanner struct {
	*ooxml.Walker
	source []byte          // In UTF-8.
	ids    map[string]bool // The values of all w:id attributes.
	uses   map[string]bool // All namespaces bound to the prefix w.
	binder bool            // The root element binds the prefix w.
}

// walk calls read with a scanner of a part, after the root element was entered.
func walk(pkg *ooxml.Package, source []byte, read func(*scanner) error) (*scanner, error) {
	s := &scanner{source: source, ids: make(map[string]bool), uses: make(map[string]bool)}
	err := pkg.WalkContent(source, func(w *ooxml.Walker) error {
		s.Walker, w.Observe = w, s.note
		s.note(w.Root)
		s.binder = len(s.uses) > 0
		return read(s)
	})
	return s, err
}

func (s *scanner) note(e ooxml.Element) {
	for _, a := range e.Attrs {
		switch {
		case a.Name.Local == "id" && ooxml.Prefix(a.Name.Space) == "w":
			s.ids[a.Value] = true
		case a.Name.Space == "xmlns" && a.Name.Local == "w":
			s.uses[a.Value] = true
		}
	}
}

// closing returns the range of the last end tag. It is empty if the start tag is self-closing.
func (s *scanner) closing() span {
	from, to := s.End()
	return span{from, to}
}

// whole returns the range from an element's start tag to the last end tag.
func (s *scanner) whole(e ooxml.Element) span { return span{e.From, s.closing().to} }
