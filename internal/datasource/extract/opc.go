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

// Bounds of an Office file, which is a ZIP archive of XML parts. The declared size of a part is not trusted: bytes are
// counted as they are unpacked.
const (
	maxEntries  = 20_000    // Of the archive, embedded ones that are stored without compression included.
	maxPart     = 128 << 20 // Bytes of one part.
	maxUnpacked = 384 << 20 // Bytes of all the parts that are read.
	maxRatio    = 250       // What a part may grow by, once it has grown to ratioFrom.
	ratioFrom   = 16 << 20
	maxElements = 8_000_000 // Of all the parts that are read: they take most of the time.
)

// Errors that end the reading of a package. All others mean that it is corrupt.
var (
	errBomb   = errors.New("grows beyond the limits")
	errNoPart = errors.New("no such part")
	errCipher = errors.New("encrypted entry")
)

// opc is an Office file (Open Packaging Conventions, ECMA-376 part 2). Only parts that a relationship names are opened,
// and nothing is written anywhere, so that the names of entries cannot reach outside.
type opc struct {
	ctx   context.Context
	parts map[string]*zip.File // By name in lower case, without the slash in front: names differ by more than case.
	left  int64                // Bytes that may still be unpacked.
	count int                  // Elements read.
}

// openOPC opens an archive once its entries are counted, which costs no memory.
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

// open returns the unpacked content of a part.
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
	return &unpacked{ReadCloser: r, pkg: p, packed: int64(f.CompressedSize64)}, nil
}

// unpacked is a part as it is unpacked, within the bounds.
type unpacked struct {
	io.ReadCloser
	pkg    *opc
	packed int64
	n      int64
}

// Read implements io.Reader.
func (u *unpacked) Read(b []byte) (int, error) {
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

// relationship is a reference from one part to another: its kind, which is the last word of its type, and its target.
type relationship struct{ kind, target string }

// relationships returns those of a part, "" for the package itself, by their ids. External ones are left out.
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

// resolve returns the name of the part that a relationship of a part in dir names.
func resolve(dir, target string) string {
	target, _, _ = strings.Cut(strings.ReplaceAll(target, `\`, "/"), "#")
	if !strings.HasPrefix(target, "/") {
		target = "/" + dir + target
	}
	return strings.TrimPrefix(path.Clean(target), "/")
}

// ofKind returns the target of the first relationship of a kind, "" if there is none.
func ofKind(rels map[string]relationship, kind string) string {
	first, target := "", ""
	for id, rel := range rels {
		if rel.kind == kind && (target == "" || id < first) {
			first, target = id, rel.target
		}
	}
	return target
}
