package redline_test

import (
	"encoding/xml"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/ooxml"
	"github.com/tsumugi-ai/tsumugi/internal/redline"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestR97_HostileFilesAreRefused(t *testing.T) {
	t.Parallel()
	nested := strings.Repeat("<w:sdt><w:sdtContent>", 600)
	for name, test := range map[string]struct {
		parts map[string]string
		want  error
	}{
		"a bomb": {
			map[string]string{"word/document.xml": head + strings.Repeat(" ", 65<<20)}, ooxml.ErrTooLarge,
		},
		"nested too deeply": {map[string]string{"word/document.xml": head + nested}, ooxml.ErrTooLarge},
		"cut off":           {map[string]string{"word/document.xml": head}, ooxml.ErrCorrupt},
		"another root":      {map[string]string{"word/document.xml": `<html/>`}, ooxml.ErrCorrupt},
		"no document":       {map[string]string{"_rels/.rels": `<Relationships/>`}, ooxml.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := packParts(t, test.parts)
			if _, err := redline.Text(file); !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}

func TestR97_ChangesOfADifferentTextAreRefused(t *testing.T) {
	t.Parallel()
	file := pack(t, `<w:p><w:r><w:t>東京</w:t></w:r></w:p>`)
	for name, changes := range map[string][]redline.Change{
		"another text":   {{Start: 0, Before: "大阪"}},
		"behind":         {{Start: 7, Before: ""}},
		"before":         {{Start: -1, Before: ""}},
		"too long":       {{Start: 3, Before: "京都"}},
		"in a character": {{Start: 1, Before: ""}},
		"overlapping":    {{Start: 0, Before: "東京"}, {Start: 3, Before: "京"}},
		"not in order":   {{Start: 3, Before: "京"}, {Start: 0, Before: "東"}},
	} {
		if _, err := mark(file, changes...); !errors.Is(err, redline.ErrMismatch) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestR97_TextIsEscaped verifies that names and texts cannot end an XML element or attribute.
func TestR97_TextIsEscaped(t *testing.T) {
	t.Parallel()
	hostile := "</w:t></w:r>\"'<w:del>]]>&amp;\x00\x1b\uFFFF"
	file := must.Get(redline.New("a" + hostile + "b"))(t)
	clean := strings.NewReplacer("\x00", " ", "\x1b", " ", "\uFFFF", "\uFFFD").Replace(hostile)
	if got := text(t, file); got != "a"+clean+"b" {
		t.Fatalf("got %q", got)
	}
	by := author
	by.Name = hostile
	changes := []redline.Change{{Start: 0, Before: "a" + hostile, After: hostile, Comment: hostile}}
	marked := must.Get(redline.Write(file, redline.Edit{Changes: changes, By: &by}))(t)
	if got := text(t, marked); got != clean+"b" {
		t.Errorf("got %q", got)
	}
	wellFormed(t, marked)
}

// wellFormed fails the test unless all parts of a file are well-formed XML.
func wellFormed(t testing.TB, file []byte) {
	t.Helper()
	for _, name := range names(t, file) {
		if !strings.HasSuffix(name, ".xml") && !strings.HasSuffix(name, ".rels") {
			continue
		}
		d := xml.NewDecoder(strings.NewReader(content(t, file, name)))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}

// FuzzR97_Redline verifies that any part is read without a hang, and that the written changes are read back correctly.
func FuzzR97_Redline(f *testing.F) {
	f.Add("word/document.xml", []byte(content(f, files(f)["libreoffice.docx"], "word/document.xml")), uint64(1))
	for _, test := range texts {
		f.Add("word/document.xml", []byte(head+test.body+`</w:body></w:document>`), uint64(2))
	}
	whole := withStories(f)
	for _, name := range names(f, whole) {
		f.Add(name, []byte(content(f, whole, name)), uint64(3))
	}
	f.Fuzz(func(t *testing.T, name string, part []byte, seed uint64) {
		if content(t, whole, name) == "" {
			return
		}
		file := withParts(t, whole, map[string]string{name: string(part)})
		original, err := redline.Text(file)
		if err != nil {
			return
		}
		changes := someChanges(rand.New(rand.NewPCG(seed, 1)), original, 5)
		marked, err := mark(file, changes...)
		if name == "[Content_Types].xml" || strings.HasSuffix(name, ".rels") {
			return // They can make comments impossible, or part of the text.
		}
		must.Succeed(t, err)
		clean := must.Get(redline.Write(file, redline.Edit{Changes: changes}))(t)
		if got := text(t, marked); got != text(t, clean) {
			t.Errorf("marked %q, applied %q", got, text(t, clean))
		}
		if name == "word/document.xml" {
			wellFormed(t, marked)
			wellFormed(t, clean)
		}
	})
}
