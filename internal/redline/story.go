package redline

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
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
func open(file []byte) (*opc, stories, error) {
	pkg, err := openPackage(file)
	if err != nil {
		return nil, nil, err
	}
	body, err := pkg.story(pkg.main)
	if err != nil {
		return nil, nil, err
	}
	rels, err := pkg.relationships(pkg.main)
	if err != nil {
		return nil, nil, err
	}
	all := stories{body}
	at := len(body.doc.text)
	seen := map[string]bool{partName(pkg.main): true}
	for _, kind := range []string{"header", "footer", "footnotes", "endnotes"} {
		for _, name := range rels.allOfKind(kind) {
			if seen[partName(name)] || pkg.parts[partName(name)] == nil || len(all) > maxStories {
				continue
			}
			seen[partName(name)] = true
			s, err := pkg.story(pkg.parts[partName(name)].Name)
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

func (p *opc) story(name string) (story, error) {
	source, err := p.read(name)
	if err != nil {
		return story{}, err
	}
	d, err := scan(source, nil)
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
func (e *editor) write(changes []Change) ([]byte, error) {
	for _, c := range changes {
		e.place(c)
	}
	if len(changes) == 0 || !bytes.Contains(e.doc.source, []byte("Fallback")) {
		return e.bytes(), nil
	}
	twins, err := fallbacks(e.doc.source)
	if err != nil || len(twins) == 0 {
		return e.bytes(), err
	}
	other, err := scan(e.doc.source, twins)
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
func fallbacks(part []byte) (map[int]bool, error) {
	s, err := newScanner(part)
	if err != nil {
		return nil, err
	}
	found := make(map[int]bool)
	var visit func(e element) error
	visit = func(e element) error {
		if e.Name.Space != spaceMC || e.Name.Local != "AlternateContent" {
			return s.each(visit)
		}
		var choice, fallback strings.Builder
		chosen := false
		err := s.each(func(branch element) error {
			switch {
			case branch.Name.Local == "Fallback":
				return s.each(func(e element) error { return s.collect(e, &fallback) })
			case chosen:
				return s.skip()
			}
			chosen = true
			return s.each(func(e element) error { return s.collect(e, &choice) })
		})
		if choice.Len() > 0 && choice.String() == fallback.String() {
			found[e.from] = true
		}
		return err
	}
	return found, s.root(visit)
}

// collect appends the text of an element.
func (s *scanner) collect(e element, out *strings.Builder) error {
	if e.word() != "t" {
		return s.each(func(e element) error { return s.collect(e, out) })
	}
	text, err := s.text()
	out.WriteString(text)
	return err
}
