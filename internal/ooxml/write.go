package ooxml

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// Declaration is the XML declaration of new parts.
const Declaration = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"

const (
	contentTypes = "[Content_Types].xml"
	spaceTypes   = "http://schemas.openxmlformats.org/package/2006/content-types"
	spaceRels    = "http://schemas.openxmlformats.org/package/2006/relationships"
)

// Part is a part to add.
type Part struct {
	Name        string // Relative to the part that refers to it, such as "comments.xml".
	Type        string // Of the relationship to it.
	ContentType string
	Content     []byte
}

// New returns a file without parts.
func New() *Package {
	p := &Package{ctx: context.Background(), changed: make(map[string][]byte), left: maxUnpacked}
	p.Replace(contentTypes, []byte(Declaration+`<Types xmlns="`+spaceTypes+`">`+
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>`+
		`<Default Extension="xml" ContentType="application/xml"/></Types>`))
	return p
}

// Replace sets the content of a part. It creates the part if it does not exist.
func (p *Package) Replace(name string, content []byte) {
	if !p.Has(name) {
		p.added = append(p.added, name)
	}
	p.changed[key(name)] = content
}

// Add adds a part, a relationship from another part to it, and its content type. from is "" for a relationship of the
// file. If the name is taken, Add appends a number to it.
func (p *Package) Add(from string, part Part) error {
	rels, err := p.Relationships(from)
	if err != nil {
		return err
	}
	dir, _ := path.Split(from)
	ext := path.Ext(part.Name)
	target := part.Name
	for n := 1; p.Has(dir + target); n++ {
		target = strings.TrimSuffix(part.Name, ext) + strconv.Itoa(n) + ext
	}
	if !p.Has(relationshipsOf(from)) {
		p.Replace(relationshipsOf(from), []byte(Declaration+`<Relationships xmlns="`+spaceRels+`"></Relationships>`))
	}
	err = p.extend(relationshipsOf(from), "Relationship", spaceRels,
		` Id="`+rels.freeID()+`" Type="`+part.Type+`" Target="`+target+`"`)
	if err != nil {
		return err
	}
	p.Replace(dir+target, part.Content)
	return p.extend(contentTypes, "Override", spaceTypes,
		` PartName="/`+Escape(dir+target)+`" ContentType="`+part.ContentType+`"`)
}

// extend appends an element to the root of a part with the same namespace.
func (p *Package) extend(name, local, namespace, attributes string) error {
	return p.Extend(name, func(prefix string) string {
		if prefix != "" {
			attributes = ` xmlns="` + namespace + `"` + attributes
		}
		return "<" + local + attributes + "/>"
	})
}

// Extend appends XML to the root element of a part. child returns the XML for the prefix of the root element, such as
// "w:" or "".
func (p *Package) Extend(name string, child func(prefix string) string) error {
	content, err := p.Read(name)
	if err != nil {
		return err
	}
	var root Element
	var from, to int
	err = p.WalkContent(content, func(w *Walker) error {
		root = w.Root
		err := w.Skip()
		from, to = w.End()
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	written := root.Name(content)
	before, after := string(content[:from]), string(content[from:])
	if from == to { // <root/>
		before = strings.TrimRight(strings.TrimSuffix(before, "/>"), " \t\r\n") + ">"
		after = "</" + written + ">" + after
	}
	p.Replace(name, []byte(before+child(strings.TrimSuffix(written, root.Local))+after))
	return nil
}

// Bytes returns the changed file. It copies unchanged entries in compressed form.
func (p *Package) Bytes() ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range p.files {
		content, changed := p.changed[key(f.Name)]
		if !changed {
			if err := w.Copy(f); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
			}
			continue
		}
		if err := add(w, &zip.FileHeader{Name: f.Name, Method: zip.Deflate, Modified: f.Modified}, content); err != nil {
			return nil, err
		}
	}
	for _, name := range p.added {
		if err := add(w, &zip.FileHeader{Name: name, Method: zip.Deflate}, p.changed[key(name)]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func add(w *zip.Writer, header *zip.FileHeader, content []byte) error {
	part, err := w.CreateHeader(header)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	_, err = part.Write(content)
	return err
}

// Escape returns text as XML character data or the value of an attribute.
func Escape(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // A Builder returns no errors.
	return out.String()
}
