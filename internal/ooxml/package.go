// Package ooxml reads and edits the container of Office files (Open Packaging Conventions, ECMA-376 part 2): a ZIP
// archive, its XML parts and the relationships between them. Files are untrusted, so entries, unpacked bytes,
// compression, elements and nesting have bounds, and names of entries are never used as paths. There is one set of
// bounds, made for large workbooks, the largest files in practice: a part of 128 MiB and eight million elements both
// correspond to a sheet of four million cells. Documents and presentations remain far below them, and the child process
// that reads a file limits its time and memory. The package imports the standard library and golang.org/x/text only.
package ooxml

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Bounds of a file. Unpacked bytes are counted, because declared sizes cannot be trusted.
const (
	maxEntries  = 20_000    // Entries of the archive, including those of archives embedded without compression.
	maxPart     = 128 << 20 // Unpacked bytes of one part.
	maxUnpacked = 384 << 20 // Unpacked bytes of all parts that are read.
	maxRatio    = 250       // Compression ratio of a part that is larger than ratioFrom.
	ratioFrom   = 16 << 20
	maxElements = 8_000_000 // Elements of all parts that are read. They dominate the running time.

	maxAttributes = 1000 // Attributes of one element.

	// MaxDepth is the largest nesting of elements. In practice it stays below a hundred.
	MaxDepth = 1000
)

// Errors for files. Compare them with errors.Is. Errors of the context are returned unchanged.
var (
	ErrCorrupt   = errors.New("ooxml: not a readable Office file")
	ErrEncrypted = errors.New("ooxml: encrypted")
	ErrTooLarge  = errors.New("ooxml: beyond the limits")
	ErrNoPart    = fmt.Errorf("%w: no such part", ErrCorrupt)
)

// Package is an Office file with its pending changes. Names of parts are case-insensitive and have no leading slash.
type Package struct {
	ctx      context.Context
	size     uint64 // Of the file, in bytes.
	files    []*zip.File
	parts    map[string]*zip.File // By key.
	changed  map[string][]byte    // New contents, by key.
	added    []string             // Names of new parts, in order.
	left     int64                // Remaining bytes to unpack.
	elements int                  // Elements read.
	stopped  error                // Set when a bound is exceeded or the context is canceled; ends all reading.
}

// Open opens a file. Parts can be read until ctx is canceled.
func Open(ctx context.Context, file []byte) (*Package, error) {
	if bytes.Count(file, []byte("PK\x01\x02")) > maxEntries { // Before the archive allocates memory for them.
		return nil, ErrTooLarge
	}
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	p := &Package{
		ctx: ctx, size: uint64(len(file)), files: archive.File, parts: make(map[string]*zip.File, len(archive.File)),
		changed: make(map[string][]byte), left: maxUnpacked,
	}
	for _, f := range archive.File {
		k := key(f.Name)
		if k == "" || strings.HasSuffix(k, "/") { // A directory.
			continue
		}
		if p.parts[k] != nil { // Forbidden by the standard, since other programs might read the other entry.
			return nil, fmt.Errorf("%w: %q twice", ErrCorrupt, f.Name)
		}
		p.parts[k] = f
	}
	return p, nil
}

// key returns the form of a name that is equal for equivalent names.
func key(name string) string {
	return strings.ToLower(strings.TrimLeft(strings.ReplaceAll(name, `\`, "/"), "/"))
}

// Has reports whether a part exists.
func (p *Package) Has(name string) bool {
	_, changed := p.changed[key(name)]
	return changed || p.parts[key(name)] != nil
}

// Read returns the content of a part in UTF-8.
func (p *Package) Read(name string) ([]byte, error) {
	part, err := p.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = part.Close() }()
	source, err := utf8Source(part)
	if err != nil {
		return nil, p.corrupt(err)
	}
	content, err := io.ReadAll(io.LimitReader(source, maxPart+1))
	if err != nil {
		return nil, p.corrupt(err)
	}
	if len(content) > maxPart {
		return nil, ErrTooLarge
	}
	return content, nil
}

// open returns a reader of the unpacked content of a part.
func (p *Package) open(name string) (io.ReadCloser, error) {
	if content, ok := p.changed[key(name)]; ok {
		return io.NopCloser(bytes.NewReader(content)), nil
	}
	f := p.parts[key(name)]
	switch {
	case f == nil:
		return nil, fmt.Errorf("%w: %q", ErrNoPart, name)
	case f.Flags&1 != 0:
		return nil, ErrEncrypted
	case f.UncompressedSize64 > maxPart:
		return nil, ErrTooLarge
	}
	r, err := f.Open()
	if err != nil {
		return nil, p.corrupt(err)
	}
	return &partReader{ReadCloser: r, pkg: p, packed: int64(min(f.CompressedSize64, p.size))}, nil
}

// corrupt returns the reason to stop reading, if there is one, and otherwise err as ErrCorrupt.
func (p *Package) corrupt(err error) error {
	if p.stopped != nil {
		return p.stopped
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

// partReader is a reader of a part that enforces the bounds.
type partReader struct {
	io.ReadCloser
	pkg    *Package
	packed int64
	n      int64
}

func (r *partReader) Read(b []byte) (int, error) {
	p := r.pkg
	if p.stopped == nil {
		p.stopped = p.ctx.Err()
	}
	if p.stopped != nil {
		return 0, p.stopped
	}
	n, err := r.ReadCloser.Read(b)
	r.n += int64(n)
	p.left -= int64(n)
	if r.n > maxPart || p.left < 0 || r.n > ratioFrom && r.n > maxRatio*r.packed {
		p.stopped = ErrTooLarge
		return 0, p.stopped
	}
	return n, err
}
