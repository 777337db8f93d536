package extract

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"path"
	"strings"
)

// Limits of an Office file, which is a ZIP archive of XML parts. The code counts unpacked bytes, because declared sizes
// cannot be trusted.
const (
	maxEntries  = 20_000    // Entries of the archive, including those of archives embedded without compression.
	maxPart     = 128 << 20 // Unpacked bytes of one part.
	maxUnpacked = 384 << 20 // Unpacked bytes of all parts that are read.
	maxRatio    = 250       // Largest compression ratio of a part that is larger than ratioFrom.
	ratioFrom   = 16 << 20
	maxElements = 8_000_000 // Elements of all parts that are read. They dominate the running time.
)

// Errors that abort the reading of a package. All other errors mean that the package is corrupt.
var (
	errBomb   = errors.New("grows beyond the limits")
	errNoPart = errors.New("no such part")
	errCipher = errors.New("encrypted entry")
)

// opc is an Office file (Open Packaging Conventions, ECMA-376 part 2). It opens only parts with a relationship and
// never writes to disk, so that names of entries cannot be used for path traversal.
type opc struct {
	ctx   context.Context
	parts map[string]*zip.File // By name in lower case, without leading slash. References often differ in case.
	left  int64                // Remaining bytes to unpack.
	count int                  // Elements read.
}

// openOPC opens an archive. It first counts the entries, which requires no memory.
func openOPC(ctx context.Context, content []byte) (*opc, error) {
	if bytes.Count(content, []byte("PK\x01\x02")) > maxEntries {
		return nil, errBomb
	}
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return nil, err
	}
	p := &opc{ctx: ctx, parts: make(map[string]*zip.File, len(archive.File)), left: maxUnpacked}
	for _, f := range archive.File {
		name := partName(f.Name)
		if _, twice := p.parts[name]; !twice {
			p.parts[name] = f
		}
	}
	return p, nil
}

func partName(name string) string {
	return strings.ToLower(strings.TrimLeft(strings.ReplaceAll(name, `\`, "/"), "/"))
}

// open returns a reader of the unpacked content of a part.
func (p *opc) open(name string) (io.ReadCloser, error) {
	f := p.parts[partName(name)]
	switch {
	case f == nil:
		return nil, errNoPart
	case f.Flags&1 != 0:
		return nil, errCipher
	case f.UncompressedSize64 > maxPart:
		return nil, errBomb
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	return &partReader{ReadCloser: r, pkg: p, packed: int64(f.CompressedSize64)}, nil
}

// partReader is a reader of a part that enforces the limits.
type partReader struct {
	io.ReadCloser
	pkg    *opc
	packed int64
	n      int64
}

// Read implements io.Reader.
func (u *partReader) Read(b []byte) (int, error) {
	if err := u.pkg.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := u.ReadCloser.Read(b)
	u.n += int64(n)
	u.pkg.left -= int64(n)
	if u.n > maxPart || u.pkg.left < 0 || u.n > ratioFrom && u.n > maxRatio*u.packed {
		return 0, errBomb
	}
	return n, err
}

// relationship is a reference from one part to another. kind is the last path element of its type.
type relationship struct{ kind, target string }

// relationships returns the internal relationships of a part, or of the package if name is "", by id.
func (p *opc) relationships(name string) (map[string]relationship, error) {
	dir, base := path.Split(name)
	rels := make(map[string]relationship)
	err := p.parse(dir+"_rels/"+base+".rels", func(x *parser) error {
		return x.each(func(e element) error {
			if e.is("Relationship") && e.attr("TargetMode") != "External" {
				rels[e.attr("Id")] = relationship{path.Base(e.attr("Type")), resolve(dir, e.attr("Target"))}
			}
			return x.skip()
		})
	})
	if errors.Is(err, errNoPart) {
		return rels, nil
	}
	return rels, err
}

// resolve returns the part name for the target of a relationship in dir.
func resolve(dir, target string) string {
	target, _, _ = strings.Cut(strings.ReplaceAll(target, `\`, "/"), "#")
	if !strings.HasPrefix(target, "/") {
		target = "/" + dir + target
	}
	return strings.TrimPrefix(path.Clean(target), "/")
}

// ofKind returns the target of the relationship of a kind with the lowest id, "" if there is none.
func ofKind(rels map[string]relationship, kind string) string {
	first, target := "", ""
	for id, rel := range rels {
		if rel.kind == kind && (target == "" || id < first) {
			first, target = id, rel.target
		}
	}
	return target
}
