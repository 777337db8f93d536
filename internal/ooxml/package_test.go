package ooxml_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/ooxml"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

const officeTypes = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"

// archive returns a ZIP archive. parts are alternating names and contents.
func archive(t testing.TB, parts ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	for i := 0; i < len(parts); i += 2 {
		method := zip.Store // A compressor allocates a megabyte, which slows fuzzing down.
		if len(parts[i+1]) > 32<<10 {
			method = zip.Deflate
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: parts[i], Method: method})
		if err == nil {
			_, err = io.WriteString(w, parts[i+1])
		}
		must.Succeed(t, err)
	}
	must.Succeed(t, z.Close())
	return out.Bytes()
}

func opened(t testing.TB, file []byte) *ooxml.Package {
	t.Helper()
	p := must.Get(ooxml.Open(t.Context(), file))(t)
	return p
}

func walk(p *ooxml.Package) error { return p.Walk("a.xml", (*ooxml.Walker).Skip) }

func read(p *ooxml.Package) error {
	content, err := p.Read("a.xml")
	if err != nil {
		return err
	}
	return p.WalkContent(content, (*ooxml.Walker).Skip)
}

// refused fails the test unless both ways to read a.xml return an error.
func refused(ctx context.Context, t *testing.T, name string, file []byte, want error) {
	t.Helper()
	for _, read := range []func(*ooxml.Package) error{walk, read} {
		p, err := ooxml.Open(ctx, file)
		if err == nil {
			err = read(p)
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", name, err, want)
		}
	}
}

// TestR66_Bombs measures allocations and therefore is not parallel.
func TestR66_Bombs(t *testing.T) {
	entries := make([]string, 0, 200_000)
	for i := range 100_000 {
		entries = append(entries, fmt.Sprintf("word/%d.xml", i), "")
	}
	bomb := archive(t, "a.xml", "<a>"+strings.Repeat(strings.Repeat(" ", 1<<20)+"<b/>", 24)+"</a>")
	// declaring returns the bomb with a wrong size in its directory: the packed size at 20, the unpacked at 24.
	declaring := func(at int, size uint32) []byte {
		file := bytes.Clone(bomb)
		binary.LittleEndian.PutUint32(file[bytes.LastIndex(file, []byte("PK\x01\x02"))+at:], size)
		return file
	}
	for name, test := range map[string]struct {
		file []byte
		want error
	}{
		"100,000 entries":                {archive(t, entries...), ooxml.ErrTooLarge},
		"bomb":                           {bomb, ooxml.ErrTooLarge},
		"bomb that declares less":        {declaring(24, 1000), ooxml.ErrCorrupt},
		"bomb that declares more":        {declaring(24, 1<<30), ooxml.ErrTooLarge},
		"bomb that declares it is dense": {declaring(20, 1<<30), ooxml.ErrTooLarge},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		refused(t.Context(), t, name, test.file, test.want)
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 1500 || took > 10*time.Second {
			t.Errorf("%s: %d MiB allocated in %v", name, n, took)
		}
	}
}

// TestR66_RepeatedParts verifies that reading a small part many times is limited, since many parts can refer to one.
func TestR66_RepeatedParts(t *testing.T) {
	t.Parallel()
	elements := opened(t, archive(t, "a.xml", "<a>"+strings.Repeat("<b/>", 999_999)+"</a>"))
	for n := range 9 {
		if err := walk(elements); errors.Is(err, ooxml.ErrTooLarge) != (n == 8) {
			t.Errorf("elements: error %v after %d times", err, n)
		}
	}
	content := opened(t, archive(t, "a.xml", strings.Repeat(" ", 15<<20)))
	for n := range 26 {
		if _, err := content.Read("a.xml"); errors.Is(err, ooxml.ErrTooLarge) != (n == 25) {
			t.Errorf("bytes: error %v after %d times", err, n)
		}
	}
}

func TestR97_HostileFilesAreRefused(t *testing.T) {
	t.Parallel()
	whole := archive(t, "a.xml", "<a>本文</a>")
	damaged := bytes.Replace(whole, []byte("本文"), []byte("木文"), 1)
	locked := bytes.Clone(whole)
	locked[bytes.Index(locked, []byte("PK\x01\x02"))+8] |= 1
	part := func(content string) []byte { return archive(t, "a.xml", content) }
	attributes := ""
	for i := range 1001 {
		attributes += fmt.Sprintf(` a%d=""`, i)
	}
	for name, test := range map[string]struct {
		file []byte
		want error
	}{
		"not an archive":     {[]byte("PK\x03\x04 and no more"), ooxml.ErrCorrupt},
		"empty":              {nil, ooxml.ErrCorrupt},
		"a truncated file":   {whole[:len(whole)-30], ooxml.ErrCorrupt},
		"a damaged part":     {damaged, ooxml.ErrCorrupt},
		"a truncated part":   {part("<a><b>"), ooxml.ErrCorrupt},
		"no part":            {archive(t, "b.xml", "<a/>"), ooxml.ErrNoPart},
		"a directory":        {archive(t, "a.xml/", ""), ooxml.ErrNoPart},
		"an encrypted part":  {locked, ooxml.ErrEncrypted},
		"entities":           {part(`<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]><a>&c;</a>`), ooxml.ErrCorrupt},
		"unknown entities":   {part("<a>&b;</a>"), ooxml.ErrCorrupt},
		"two roots":          {part("<a/><a/>"), ooxml.ErrCorrupt},
		"no root":            {part(" "), ooxml.ErrCorrupt},
		"an unknown charset": {part(`<?xml version="1.0" encoding="UTF-7"?><a/>`), ooxml.ErrCorrupt},
		"nested too deeply":  {part(strings.Repeat("<a>", 1001) + strings.Repeat("</a>", 1001)), ooxml.ErrTooLarge},
		"attributes":         {part("<a" + attributes + "/>"), ooxml.ErrTooLarge},
		"a name twice":       {archive(t, "a.xml", "<a/>", "b/c", "", `\B\C`, ""), ooxml.ErrCorrupt},
	} {
		refused(t.Context(), t, name, test.file, test.want)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	refused(canceled, t, "a canceled context", whole, context.Canceled)
}

func TestRelationships(t *testing.T) {
	t.Parallel()
	relationship := func(id, kind, target, more string) string {
		return `<Relationship Id="` + id + `" Type="` + officeTypes + kind + `" Target="` + target + `" ` + more + "/>"
	}
	p := opened(t, archive(t, `word\_rels/Document.xml.rels`, `<Relationships xmlns:Target="x">`+
		relationship("a", "styles", "styles.xml", "")+relationship("b", "header", "../header.xml#top", "")+
		relationship("c", "header", `/word\./header2.xml`, "")+relationship("d", "image", "../../../../etc/passwd", "")+
		relationship("e", "hyperlink", "https://example.jp", `TargetMode="External"`)+"</Relationships>",
		"../../etc/passwd", "root"))
	rels := must.Get(p.Relationships("word/document.xml"))(t)
	if got, want := rels.Targets("header"), []string{"header.xml", "word/header2.xml"}; !slices.Equal(got, want) {
		t.Errorf("headers %q, want %q", got, want)
	}
	for id, want := range map[string]ooxml.Relationship{
		"a": {Kind: "styles", Target: "word/styles.xml"}, "d": {Kind: "image", Target: "etc/passwd"}, "e": {}, "f": {},
	} {
		if got := rels.ByID(id); got != want {
			t.Errorf("%s: %+v, want %+v", id, got, want)
		}
	}
	if rels.Target("hyperlink") != "" || p.Has(rels.Target("image")) {
		t.Error("a target is outside of the file")
	}
	if rels, err := p.Relationships("word/styles.xml"); err != nil || rels.Target("styles") != "" {
		t.Errorf("a part without relationships: %+v, error %v", rels, err)
	}
}

func TestPartsAreAddedAndReplaced(t *testing.T) {
	t.Parallel()
	comments := ooxml.Part{
		Name: "comments.xml", Type: officeTypes + "comments", ContentType: "text/comments", Content: []byte("<c/>"),
	}
	p := opened(t, archive(t, "word/media/", "", "word/document.xml", "<d/>", "word/Comments.xml", "<old />",
		"word/_rels/document.xml.rels", `<r:Relationships xmlns:r="x"><r:Relationship Id="rId2"/></r:Relationships>`,
		"[Content_Types].xml", `<Types />`))
	for range 2 {
		must.Succeed(t, p.Add("word/document.xml", comments))
	}
	must.Succeed(t, p.Extend("word/comments.xml", func(prefix string) string { return "<" + prefix + "new/>" }))
	file := must.Get(p.Bytes())(t)
	p = opened(t, file)
	const relation = `<Relationship xmlns="http://schemas.openxmlformats.org/package/2006/relationships" Id="`
	for name, want := range map[string]string{
		"word/document.xml": "<d/>", "word/comments.xml": "<old><new/></old>", "word/comments1.xml": "<c/>",
		"word/comments2.xml": "<c/>",
		"word/_rels/document.xml.rels": `<r:Relationships xmlns:r="x"><r:Relationship Id="rId2"/>` +
			relation + `rId3" Type="` + officeTypes + `comments" Target="comments1.xml"/>` +
			relation + `rId4" Type="` + officeTypes + `comments" Target="comments2.xml"/></r:Relationships>`,
		"[Content_Types].xml": `<Types><Override PartName="/word/comments1.xml" ContentType="text/comments"/>` +
			`<Override PartName="/word/comments2.xml" ContentType="text/comments"/></Types>`,
	} {
		if got, err := p.Read(name); err != nil || string(got) != want {
			t.Errorf("%s: %s and error %v, want %s", name, got, err, want)
		}
	}
	if err := p.Extend("none.xml", func(string) string { return "" }); !errors.Is(err, ooxml.ErrNoPart) {
		t.Errorf("error %v", err)
	}
}

// known fails the test unless an error is one of the package.
func known(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, ooxml.ErrCorrupt) && !errors.Is(err, ooxml.ErrTooLarge) &&
		!errors.Is(err, ooxml.ErrEncrypted) {
		t.Fatalf("error %v", err)
	}
}

// FuzzR97_Package verifies that any file is read without a hang, and that a part that is added to it is found again.
func FuzzR97_Package(f *testing.F) {
	file, err := os.ReadFile("../redline/testdata/libreoffice.docx")
	must.Succeed(f, err)
	f.Add(file)
	if file, err = ooxml.New().Bytes(); err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Add(archive(f, "[Content_Types].xml", "<Types/>", "_rels/.rels", `<r:Relationships xmlns:r="x"/>`,
		"A/", "", "a", ""))
	f.Fuzz(func(t *testing.T, file []byte) {
		p, err := ooxml.Open(t.Context(), file)
		known(t, err)
		if err != nil {
			return
		}
		err = p.Add("", ooxml.Part{Name: "a.xml", Type: "added", Content: []byte("<added/>")})
		known(t, err)
		if err != nil {
			return
		}
		if file, err = p.Bytes(); err != nil {
			known(t, err)
			return
		}
		p = opened(t, file)
		rels := must.Get(p.Relationships(""))(t)
		names := rels.Targets("added")
		if content, err := p.Read(names[len(names)-1]); err != nil || string(content) != "<added/>" {
			t.Errorf("%q in %q and error %v", content, names, err)
		}
		for _, name := range rels.Targets("officeDocument") {
			known(t, p.Walk(name, (*ooxml.Walker).Skip))
		}
	})
}
