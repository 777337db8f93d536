// Package redline reads the text of Word documents (DOCX, ECMA-376) as it is proofread, and writes changes of it back:
// as tracked changes with comments, or applied. Everything else of a file stays byte for byte as it was.
//
// Files are untrusted: what is unpacked of them is bounded, and nothing outside of them is read. The package keeps
// nothing. It imports the standard library and golang.org/x/text only.
package redline

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Errors of a file or its changes, to be compared with errors.Is.
var (
	ErrCorrupt  = errors.New("redline: not a readable DOCX file")
	ErrTooLarge = errors.New("redline: beyond the limits")
	// ErrMismatch says that a change is not of this text: the file is another one, or changes overlap.
	ErrMismatch = errors.New("redline: the changes do not fit the text")
)

// Change is a replacement in the text that Text returns. A change whose After equals its Before changes nothing, and
// is only a comment; so becomes one that cannot be tracked, because it crosses paragraphs, or stands in a formula or in
// a control that is filled from elsewhere.
type Change struct {
	Start   int    // In bytes.
	Before  string // What stands there; "" for an insertion.
	After   string
	Comment string // Why; "" for no comment.
}

// Author is the name that stands at changes and comments, and when they were made. Word shows the time as it stands
// here, whatever its zone.
type Author struct {
	Name string
	Time time.Time
}

// Text returns the text of a document: its paragraphs, those of tables and text boxes included, each a line. Line
// breaks are lines, too. Headers, footers, footnotes and endnotes follow the body. Deleted and hidden text, ruby above
// characters, and tables of contents are left out; the results of other fields are text that is not changed.
func Text(file []byte) (string, error) {
	_, all, err := open(file)
	if err != nil {
		return "", err
	}
	return all.text(), nil
}

// Edit is changes in the order of the text, and who proposes them. Without an author they are applied: the file has no
// trace of them, and no comments.
type Edit struct {
	Changes []Change
	By      *Author
}

// Write returns a file with an edit.
func Write(file []byte, edit Edit) ([]byte, error) {
	pkg, all, err := open(file)
	if err != nil {
		return nil, err
	}
	changes := slices.Clone(edit.Changes)
	for i, c := range changes {
		changes[i] = Change{c.Start, clean(c.Before), clean(c.After), clean(c.Comment)}
	}
	if err := fit(all.text(), changes); err != nil {
		return nil, err
	}
	notes, err := pkg.comments()
	if err != nil {
		return nil, err
	}
	numbers := &numbers{taken: notes.ids}
	if numbers.taken == nil {
		numbers.taken = make(map[string]bool)
	}
	for _, s := range all {
		maps.Copy(numbers.taken, s.doc.ids)
	}
	shares, aside := all.share(changes)
	for i, s := range slices.Backward(all) {
		e := newEditor(s.doc, edit.By, numbers)
		e.silent = i > 0
		if i == 0 { // Word has no comments in notes, headers and footers: they stand at the end of the body.
			for _, note := range aside {
				shares[0] = append(shares[0], Change{Start: len(s.doc.text), Comment: note})
			}
		}
		if len(shares[i]) == 0 && i > 0 {
			continue
		}
		content, err := e.write(shares[i])
		if err != nil {
			return nil, err
		}
		aside = append(e.aside, aside...)
		pkg.replace(s.part, content)
		if i == 0 {
			err = notes.add(pkg, e)
		}
		if err != nil {
			return nil, err
		}
	}
	return pkg.bytes()
}

// fit returns an error if changes are not of a text, in order and apart.
func fit(text string, changes []Change) error {
	last := 0
	for i, c := range changes {
		switch {
		case c.Start < last, c.Start > len(text), !strings.HasPrefix(text[c.Start:], c.Before),
			c.Start < len(text) && !utf8.RuneStart(text[c.Start]), !utf8.ValidString(c.Before):
			return fmt.Errorf("%w: change %d", ErrMismatch, i)
		}
		last = c.Start + len(c.Before)
	}
	return nil
}

// clean replaces characters that XML cannot hold.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < 0x20 && r != '\t' && r != '\n':
			return ' '
		case r == 0xFFFE, r == 0xFFFF:
			return utf8.RuneError
		}
		return r
	}, text)
}
