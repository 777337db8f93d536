package redline

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
)

// Bounds of a file. Declared sizes are not trusted: bytes are counted as they are unpacked. Parts that are not read are
// copied packed.
const (
	maxEntries  = 10_000
	maxPart     = 64 << 20 // Bytes of one part.
	maxRatio    = 250      // What a part may grow by, once it has grown to ratioFrom.
	ratioFrom   = 8 << 20
	maxElements = 2_000_000 // Of one part.
	maxDepth    = 500
)

// opc is a package (Open Packaging Conventions, ECMA-376 part 2) and what is to be written to it.
type opc struct {
	files    []*zip.File
	parts    map[string]*zip.File // By name in lower case, without the slash in front.
	main     string               // The name of the document's part.
	replaced map[string][]byte    // Parts with other content, by the same names.
	added    []string             // Parts that were not there.
}

func openPackage(file []byte) (*opc, error) {
	if bytes.Count(file, []byte("PK\x01\x02")) > maxEntries {
		return nil, ErrTooLarge
	}
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	p := &opc{files: archive.File, parts: make(map[string]*zip.File), replaced: make(map[string][]byte)}
	for _, f := range archive.File {
		name := partName(f.Name)
		if p.parts[name] != nil { // Readers would differ in which one they take.
			return nil, fmt.Errorf("%w: %q twice", ErrCorrupt, name)
		}
		p.parts[name] = f
	}
	rels, err := p.relationships("")
	if err != nil {
		return nil, err
	}
	main := p.parts[partName(rels.ofKind("officeDocument"))]
	if main == nil {
		return nil, fmt.Errorf("%w: no document", ErrCorrupt)
	}
	p.main = main.Name
	return p, nil
}

func partName(name string) string { return strings.ToLower(strings.TrimLeft(name, "/")) }

// read returns the content of a part.
func (p *opc) read(name string) ([]byte, error) {
	f := p.parts[partName(name)]
	if f == nil {
		return nil, fmt.Errorf("%w: no part %q", ErrCorrupt, name)
	}
	if f.UncompressedSize64 > maxPart {
		return nil, ErrTooLarge
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	defer func() { _ = r.Close() }()
	limit := int64(min(maxPart, max(ratioFrom, maxRatio*min(maxPart, f.CompressedSize64)))) //nolint:gosec // Bounded.
	content, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if int64(len(content)) > limit {
		return nil, ErrTooLarge
	}
	return content, nil
}

// replace sets the content of a part, once. It is added if it is not there.
func (p *opc) replace(name string, content []byte) {
	if p.parts[partName(name)] == nil {
		p.added = append(p.added, name)
	}
	p.replaced[partName(name)] = content
}

// bytes returns the package. Entries without other content are copied as they are packed.
func (p *opc) bytes() ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range p.files {
		content, ok := p.replaced[partName(f.Name)]
		if !ok {
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
		if err := add(w, &zip.FileHeader{Name: name, Method: zip.Deflate}, p.replaced[partName(name)]); err != nil {
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

// relationships are the references of a part to others.
type relationships struct {
	part  string // Which holds them.
	dir   string // Of the part whose they are.
	items []relationship
}

type relationship struct {
	ID     string `xml:"Id,attr"`
	Type   string `xml:"Type,attr"`
	Target string `xml:"Target,attr"`
	Mode   string `xml:"TargetMode,attr"`
}

// relationships returns those of a part, "" for the package itself.
func (p *opc) relationships(name string) (relationships, error) {
	dir, base := path.Split(name)
	rels := relationships{part: dir + "_rels/" + base + ".rels", dir: dir}
	if p.parts[partName(rels.part)] == nil {
		return rels, nil
	}
	content, err := p.read(rels.part)
	if err != nil {
		return rels, err
	}
	s, err := newScanner(content)
	if err != nil {
		return rels, err
	}
	err = s.root(func(element) error {
		return s.each(func(e element) error {
			if e.Name.Local == "Relationship" {
				rels.items = append(rels.items, relationship{
					ID: e.attr("Id"), Type: e.attr("Type"), Target: e.attr("Target"), Mode: e.attr("TargetMode"),
				})
			}
			return s.skip()
		})
	})
	return rels, err
}

// ofKind returns the name of the part to which the first relationship of a kind leads, "" if there is none.
func (r relationships) ofKind(kind string) string {
	if names := r.allOfKind(kind); len(names) > 0 {
		return names[0]
	}
	return ""
}

// allOfKind returns the names of the parts to which relationships of a kind lead. The kind is the last word of a type.
func (r relationships) allOfKind(kind string) (names []string) {
	for _, item := range r.items {
		switch {
		case path.Base(item.Type) != kind || item.Mode == "External":
		case strings.HasPrefix(item.Target, "/"):
			names = append(names, path.Clean(item.Target)[1:])
		default:
			names = append(names, strings.TrimPrefix(path.Clean("/"+r.dir+item.Target), "/"))
		}
	}
	return names
}

// freeID returns an id that no relationship has.
func (r relationships) freeID() string {
	for n := len(r.items) + 1; ; n++ {
		id := "rId" + strconv.Itoa(n)
		taken := false
		for _, item := range r.items {
			taken = taken || item.ID == id
		}
		if !taken {
			return id
		}
	}
}

// appendChild returns a part with XML added as the last children of its root. child makes them of the prefix by which
// the root is named, "w:" for example, or "".
func appendChild(part []byte, child func(prefix string) string) ([]byte, error) {
	s, err := newScanner(part)
	if err != nil {
		return nil, err
	}
	var root element
	err = s.root(func(e element) error {
		root = e
		return s.skip()
	})
	if err != nil {
		return nil, err
	}
	prefix := root.prefix(s.source)
	closing := "</" + prefix + root.Name.Local + ">"
	var out bytes.Buffer
	if s.at == root.to { // <root/>
		out.Write(bytes.TrimRight(bytes.TrimSuffix(s.source[:root.to], []byte("/>")), " \t\r\n"))
		out.WriteString(">" + child(prefix) + closing)
	} else {
		out.Write(s.source[:s.ending])
		out.WriteString(child(prefix))
		out.Write(s.source[s.ending:s.at])
	}
	out.Write(s.source[s.at:])
	return out.Bytes(), nil
}

func escape(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // Builders take everything.
	return out.String()
}
