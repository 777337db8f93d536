package redline

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

const (
	xmlHead      = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	contentTypes = "[Content_Types].xml"
	typeComments = "application/vnd.openxmlformats-officedocument.wordprocessingml.comments+xml"
	spaceRels    = "http://schemas.openxmlformats.org/package/2006/relationships"
	spaceTypes   = "http://schemas.openxmlformats.org/package/2006/content-types"

	relations       = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
	relationsStrict = "http://purl.oclc.org/ooxml/officeDocument/relationships/"
)

// comments are the existing comments of a document.
type comments struct {
	rels    relationships
	name    string // The name of the comments part, "" if there is none.
	content []byte
	ids     map[string]bool
}

func (p *opc) comments() (comments, error) {
	var c comments
	var err error
	if c.rels, err = p.relationships(p.main); err != nil {
		return c, err
	}
	part := p.parts[partName(c.rels.ofKind("comments"))]
	if part == nil {
		return c, nil
	}
	c.name = part.Name
	if c.content, err = p.read(c.name); err != nil {
		return c, err
	}
	s, err := newScanner(c.content)
	if err != nil {
		return c, err
	}
	err = s.root(func(element) error { return s.skip() })
	c.ids = s.ids
	return c, err
}

// add appends the remarks of an editor to the comments part. It creates the part if necessary.
func (c comments) add(p *opc, e *editor) error {
	if len(e.remarks) == 0 {
		return nil
	}
	if c.name == "" {
		if err := c.create(p, e.doc.namespace); err != nil {
			return err
		}
		c.name, c.content = c.free(p), []byte(xmlHead+`<w:comments xmlns:w="`+e.doc.namespace+`"></w:comments>`)
	}
	content, err := appendChild(c.content, func(prefix string) string {
		declaration := ""
		if prefix != "w:" {
			declaration = ` xmlns:w="` + e.doc.namespace + `"`
		}
		var out strings.Builder
		for _, r := range e.remarks {
			out.WriteString(r.xml(declaration, e.by))
		}
		return out.String()
	})
	if err != nil {
		return err
	}
	p.replace(c.name, content)
	return nil
}

// create registers a new comments part in the package.
func (c comments) create(p *opc, namespace string) error {
	kind := relations
	if namespace == spaceStrict {
		kind = relationsStrict
	}
	err := p.extend(c.rels.part, `<Relationships xmlns="`+spaceRels+`"></Relationships>`, "Relationship", spaceRels,
		` Id="`+c.rels.freeID()+`" Type="`+kind+`comments" Target="`+path.Base(c.free(p))+`"`)
	if err != nil {
		return err
	}
	return p.extend(contentTypes, "", "Override", spaceTypes,
		` PartName="/`+escape(c.free(p))+`" ContentType="`+typeComments+`"`)
}

// free returns an unused part name in the directory of the document.
func (c comments) free(p *opc) string {
	name := c.rels.dir + "comments.xml"
	for n := 1; p.parts[partName(name)] != nil; n++ {
		name = c.rels.dir + "comments" + strconv.Itoa(n) + ".xml"
	}
	return name
}

// extend appends an element to the root of a part of the package. If the part does not exist, extend starts from empty.
func (p *opc) extend(name, empty, child, namespace, attributes string) error {
	content := []byte(xmlHead + empty)
	if empty == "" || p.parts[partName(name)] != nil {
		var err error
		if content, err = p.read(name); err != nil {
			return err
		}
	}
	content, err := appendChild(content, func(prefix string) string {
		if prefix != "" {
			attributes = ` xmlns="` + namespace + `"` + attributes
		}
		return "<" + child + attributes + "/>"
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p.replace(name, content)
	return nil
}

// xml returns a remark as a comment element with one paragraph for each line.
func (r remark) xml(declaration string, by *Author) string {
	var out strings.Builder
	out.WriteString(`<w:comment` + declaration + ` w:id="` + r.id + `" w:author="` + escape(by.Name) + `" w:date="` +
		by.revision().date + `" w:initials="` + escape(by.Name) + `">`)
	for i, line := range strings.Split(r.text, "\n") {
		out.WriteString(`<w:p>`)
		if i == 0 {
			out.WriteString(`<w:r><w:annotationRef/></w:r>`)
		}
		out.WriteString(`<w:r><w:t xml:space="preserve">` + escape(line) + `</w:t></w:r></w:p>`)
	}
	out.WriteString(`</w:comment>`)
	return out.String()
}
