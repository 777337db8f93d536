// Package redline reads the text of Word documents (DOCX, ECMA-376) as it is proofread, and writes changes of it back:
// as tracked changes with comments, or applied. Everything else of a file stays byte for byte as it was.
//
// Files are untrusted: what is unpacked of them is bounded, and nothing outside of them is read. The package keeps
// nothing. It imports the standard library and golang.org/x/text only.
package redline

import (
	"errors"
	"fmt"
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
// breaks are lines, too. Deleted and hidden text, ruby above characters, notes, headers and footers are left out; of
// fields, the result is text.
func Text(file []byte) (string, error) {
	_, d, err := open(file)
	if err != nil {
		return "", err
	}
	return d.text, nil
}

// Edit is changes in the order of the text, and who proposes them. Without an author they are applied: the file has no
// trace of them, and no comments.
type Edit struct {
	Changes []Change
	By      *Author
}

// Write returns a file with an edit.
func Write(file []byte, edit Edit) ([]byte, error) {
	pkg, d, err := open(file)
	if err != nil {
		return nil, err
	}
	changes := slices.Clone(edit.Changes)
	for i, c := range changes {
		changes[i] = Change{c.Start, clean(c.Before), clean(c.After), clean(c.Comment)}
	}
	if err := fit(d.text, changes); err != nil {
		return nil, err
	}
	notes, err := pkg.comments()
	if err != nil {
		return nil, err
	}
	e := newEditor(d, edit.By, notes.ids)
	for _, c := range changes {
		e.place(c)
	}
	pkg.replace(pkg.main, e.bytes())
	if err := notes.add(pkg, e); err != nil {
		return nil, err
	}
	return pkg.bytes()
}

func open(file []byte) (*opc, *document, error) {
	pkg, err := openPackage(file)
	if err != nil {
		return nil, nil, err
	}
	source, err := pkg.read(pkg.main)
	if err != nil {
		return nil, nil, err
	}
	d, err := scan(source)
	if err != nil {
		return nil, nil, err
	}
	return pkg, d, nil
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
