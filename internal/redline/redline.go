// Package redline extracts the text of Word documents (DOCX, ECMA-376) and writes changes back, as tracked changes with
// comments or applied directly. The rest of the file remains identical, byte for byte.
//
// It inserts and cuts bytes of the parts instead of parsing a document into a model and writing it again. Libraries
// that do this lose the content that their model does not support: themes, custom XML, macros, text boxes, changes of
// other people. LibreOffice rewrites the whole file as well, and takes 500 MB and a process for each file. So Word's
// rules for runs are implemented here. A signature of the file becomes invalid.
//
// Files are untrusted: ooxml limits what is read, and external resources are never read. The package is stateless. It
// imports the standard library and ooxml only.
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

// ErrMismatch means that a change does not match the text: the file is different, or changes overlap. Errors for files
// are those of ooxml. Compare them with errors.Is.
var ErrMismatch = errors.New("redline: the changes do not fit the text")

// Change is a replacement in the text that Text returns. If After equals Before, the change is only a comment. A change
// that cannot be tracked also becomes a comment: one that crosses paragraphs, or one in a formula or a data-bound
// content control.
type Change struct {
	Start   int    // Byte offset in the text.
	Before  string // The text at Start; "" for an insertion.
	After   string
	Comment string // The reason; "" for no comment.
}

// Author is the author and the time of changes and comments. Word displays the time without converting its zone.
type Author struct {
	Name string
	Time time.Time
}

// Text returns the text of a document. Each paragraph is a line, including paragraphs of tables and text boxes; line
// breaks also separate lines. Headers, footers, footnotes and endnotes follow the body. Text omits deleted and hidden
// text, ruby, and tables of contents. The results of other fields are included but cannot be changed.
func Text(file []byte) (string, error) {
	_, all, err := open(file)
	if err != nil {
		return "", err
	}
	return all.text(), nil
}

// Edit is a list of changes, in the order of the text, and their author. Without an author, Write applies them without
// tracking or comments.
type Edit struct {
	Changes []Change
	By      *Author
}

// Write returns the file with an edit applied.
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
	notes, err := readComments(pkg, all[0].part)
	if err != nil {
		return nil, err
	}
	numbers := &numbers{taken: notes.ids}
	for _, s := range all {
		maps.Copy(numbers.taken, s.doc.ids)
	}
	shares, aside := all.share(changes)
	for i, s := range slices.Backward(all) {
		e := newEditor(s.doc, edit.By, numbers)
		e.silent = i > 0
		if i == 0 { // Word allows comments in the body only; the others go to its end.
			for _, note := range aside {
				shares[0] = append(shares[0], Change{Start: len(s.doc.text), Comment: note})
			}
		}
		if len(shares[i]) == 0 && i > 0 {
			continue
		}
		content, err := e.write(pkg, shares[i])
		if err != nil {
			return nil, err
		}
		aside = append(e.aside, aside...)
		pkg.Replace(s.part, content)
		if i == 0 {
			err = notes.add(pkg, e)
		}
		if err != nil {
			return nil, err
		}
	}
	return pkg.Bytes()
}

// fit returns ErrMismatch unless the changes match the text and are ordered without overlaps.
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

// clean replaces characters that XML does not allow.
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
