package redline

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/ooxml"
)

// maxStories bounds the headers, footers and notes of a file.
const maxStories = 200

// story is a part with text: the body, a header, a footer, the footnotes or the endnotes.
type story struct {
	part  string
	doc   *document
	start int // Offset of its text in the text of the file.
}

// stories contains the parts of a file, the body first.
type stories []story

// open reads the parts of a file that contain text.
func open(file []byte) (*ooxml.Package, stories, error) {
	pkg, err := ooxml.Open(context.Background(), file) // The caller limits the time.
	if err != nil {
		return nil, nil, err
	}
	rels, err := pkg.Relationships("")
	if err != nil {
		return nil, nil, err
	}
	main := rels.Target("officeDocument")
	if rels, err = pkg.Relationships(main); err != nil {
		return nil, nil, err
	}
	styles, err := readStyles(pkg, rels.Target("styles"))
	if err != nil {
		return nil, nil, err
	}
	body, err := readStory(pkg, main, styles)
	if err != nil {
		return nil, nil, err
	}
	all := stories{body}
	at := len(body.doc.text)
	seen := map[string]bool{strings.ToLower(main): true}
	for _, kind := range []string{"header", "footer", "footnotes", "endnotes"} {
		for _, name := range rels.Targets(kind) {
			if seen[strings.ToLower(name)] || !pkg.Has(name) || len(all) > maxStories {
				continue
			}
			seen[strings.ToLower(name)] = true
			s, err := readStory(pkg, name, styles)
			if err != nil {
				return nil, nil, err
			}
			if strings.TrimSpace(s.doc.text) == "" {
				continue
			}
			s.start = at + len("\n")
			at = s.start + len(s.doc.text)
			all = append(all, s)
		}
	}
	return pkg, all, nil
}

func readStory(pkg *ooxml.Package, name string, styles styleSheet) (story, error) {
	source, err := pkg.Read(name)
	if err != nil {
		return story{}, err
	}
	d, err := scan(pkg, source, styles, nil)
	return story{part: name, doc: d}, err
}

func (all stories) text() string {
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = s.doc.text
	}
	return strings.Join(texts, "\n")
}

// share returns the changes of each part with offsets in its text. A change across parts becomes a note.
func (all stories) share(changes []Change) (shares [][]Change, aside []string) {
	shares = make([][]Change, len(all))
	i := 0
	for _, c := range changes {
		for i+1 < len(all) && c.Start >= all[i+1].start {
			i++
		}
		c.Start -= all[i].start
		if c.Start+len(c.Before) > len(all[i].doc.text) {
			aside = append(aside, c.note())
			continue
		}
		shares[i] = append(shares[i], c)
	}
	return shares, aside
}

// note formats a change as text.
func (c Change) note() string {
	if c.After == c.Before {
		return strings.TrimSuffix("「"+c.Before+"」\n"+c.Comment, "\n")
	}
	return strings.TrimSuffix("「"+c.Before+"」→「"+c.After+"」\n"+c.Comment, "\n")
}

// write applies changes to the part. It also changes each mc:Fallback whose text equals its mc:Choice.
func (e *editor) write(pkg *ooxml.Package, changes []Change) ([]byte, error) {
	for _, c := range changes {
		e.place(c)
	}
	if len(changes) == 0 || !bytes.Contains(e.doc.source, []byte("Fallback")) {
		return e.bytes(), nil
	}
	twins, err := fallbacks(pkg, e.doc.source)
	if err != nil || len(twins) == 0 {
		return e.bytes(), err
	}
	other, err := scan(pkg, e.doc.source, e.doc.styles, twins)
	if err != nil {
		return nil, fmt.Errorf("fallbacks: %w", err)
	}
	if other.text != e.doc.text {
		return e.bytes(), nil
	}
	second := newEditor(other, e.by, e.numbers)
	second.silent = true
	for _, c := range changes {
		second.place(c)
	}
	for _, one := range second.edits {
		if slices.ContainsFunc(other.fallbacks, func(s span) bool { return one.from >= s.from && one.to <= s.to }) {
			e.edits = append(e.edits, one)
		}
	}
	for run, cuts := range second.cuts {
		e.cuts[run] = cuts
	}
	return e.bytes(), nil
}

// fallbacks returns the alternate content whose fallback has the same text as its first choice.
func fallbacks(pkg *ooxml.Package, part []byte) (map[int]bool, error) {
	found := make(map[int]bool)
	return found, pkg.WalkContent(part, func(w *ooxml.Walker) error {
		return w.Each(func(e ooxml.Element) error {
			if e.Tag() != "mc:AlternateContent" {
				return nil
			}
			var choice, fallback strings.Builder
			chosen := false
			err := w.Each(func(branch ooxml.Element) error {
				switch {
				case branch.Local == "Fallback":
					return collect(w, &fallback)
				case chosen:
					return w.Skip()
				}
				chosen = true
				return collect(w, &choice)
			})
			if choice.Len() > 0 && choice.String() == fallback.String() {
				found[e.From] = true
			}
			return err
		})
	})
}

// collect appends the text inside the current element.
func collect(w *ooxml.Walker, out *strings.Builder) error {
	return w.Each(func(e ooxml.Element) error {
		if e.Tag() != "w:t" {
			return nil
		}
		text, err := w.Text()
		out.WriteString(text)
		return err
	})
}
