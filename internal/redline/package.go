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

// Limits of a file. The code counts unpacked bytes, because declared sizes cannot be trusted. Unused parts are copied
// without unpacking.
const (
	maxEntries  = 10_000
	maxPart     = 64 << 20 // Unpacked bytes of one part.
	maxRatio    = 250      // Largest compression ratio of a part that is larger than ratioFrom.
	ratioFrom   = 8 << 20
	maxElements = 2_000_000 // Elements of one part.
	maxDepth    = 500
)

// opc is a package (Open Packaging Conventions, ECMA-376 part 2) and its pending changes.
type opc struct {
	files    []*zip.File
	parts    map[string]*zip.File // By name in lower case, without leading slash.
	main     string               // Name of the main document part.
	replaced map[string][]byte    // New contents, by the same names.
	added    []string             // Names of new parts.
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
		if p.parts[name] != nil { // Other programs might use the other entry.
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

// replace sets the new content of a part. It adds the part if it does not exist. Call it only once for each part.
func (p *opc) replace(name string, content []byte) {
	if p.parts[partName(name)] == nil {
		p.added = append(p.added, name)
	}
	p.replaced[partName(name)] = content
}

// bytes returns the changed package. It copies unchanged entries in compressed form.
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

// relationships are the references of a part to other parts.
type relationships struct {
	part  string // Name of the part that contains them.
	dir   string // Directory of the source part.
	items []relationship
}

type relationship struct {
	ID     string `xml:"Id,attr"`
	Type   string `xml:"Type,attr"`
	Target string `xml:"Target,attr"`
	Mode   string `xml:"TargetMode,attr"`
}

// relationships returns the relationships of a part, or of the package itself if name is "".
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

// ofKind returns the target of the first relationship of a kind, "" if there is none.
func (r relationships) ofKind(kind string) string {
	if names := r.allOfKind(kind); len(names) > 0 {
		return names[0]
	}
	return ""
}

// allOfKind returns the internal targets of all relationships of a kind. A kind is the last path element of a
// relationship type.
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

// freeID returns an unused relationship id.
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

// appendChild appends XML to the root element of a part. child returns the XML for the prefix of the root element, such
// as "w:" or "".
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
	_ = xml.EscapeText(&out, []byte(text)) // A Builder returns no errors.
	return out.String()
}
