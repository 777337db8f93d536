package redline

import (
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/ooxml"
)

const (
	typeWord        = "application/vnd.openxmlformats-officedocument.wordprocessingml."
	relations       = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
	relationsStrict = "http://purl.oclc.org/ooxml/officeDocument/relationships/"
)

// comments are the existing comments of a document.
type comments struct {
	document string // The name of the document part.
	name     string // The name of the comments part, or "".
	ids      map[string]bool
}

func readComments(pkg *ooxml.Package, document string) (comments, error) {
	c := comments{document: document, ids: make(map[string]bool)}
	rels, err := pkg.Relationships(document)
	name := rels.Target("comments")
	if err != nil || !pkg.Has(name) {
		return c, err
	}
	c.name = name
	content, err := pkg.Read(name)
	if err != nil {
		return c, err
	}
	s, err := walk(pkg, content, func(s *scanner) error { return s.Skip() })
	c.ids = s.ids
	return c, err
}

// add appends the remarks of an editor to the comments part. It creates the part if necessary.
func (c comments) add(pkg *ooxml.Package, e *editor) error {
	if len(e.remarks) == 0 {
		return nil
	}
	space := ` xmlns:w="` + e.doc.namespace + `"`
	if c.name != "" {
		return pkg.Extend(c.name, func(prefix string) string {
			if prefix == "w:" {
				return e.commentElements("")
			}
			return e.commentElements(space)
		})
	}
	kind := relations
	if e.doc.namespace == spaceStrict {
		kind = relationsStrict
	}
	return pkg.Add(c.document, ooxml.Part{
		Name: "comments.xml", Type: kind + "comments", ContentType: typeWord + "comments+xml",
		Content: []byte(ooxml.Declaration + "<w:comments" + space + ">" + e.commentElements("") + "</w:comments>"),
	})
}

// commentElements returns the remarks as comment elements with a declaration of the prefix w.
func (e *editor) commentElements(declaration string) string {
	var out strings.Builder
	for _, r := range e.remarks {
		out.WriteString(r.xml(declaration, e.by))
	}
	return out.String()
}

// xml returns a remark as a comment element with one paragraph for each line.
func (r remark) xml(declaration string, by *Author) string {
	name := ooxml.Escape(by.Name)
	var out strings.Builder
	out.WriteString(`<w:comment` + declaration + ` w:id="` + r.id + `" w:author="` + name + `" w:date="` +
		by.revision().date + `" w:initials="` + name + `">`)
	for i, line := range strings.Split(r.text, "\n") {
		out.WriteString(`<w:p>`)
		if i == 0 {
			out.WriteString(`<w:r><w:annotationRef/></w:r>`)
		}
		out.WriteString(`<w:r><w:t xml:space="preserve">` + ooxml.Escape(line) + `</w:t></w:r></w:p>`)
	}
	out.WriteString(`</w:comment>`)
	return out.String()
}
