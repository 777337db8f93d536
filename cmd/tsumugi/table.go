package main

import (
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// table is rows of text under a header, for a terminal.
type table [][]string

// add appends a row.
func (t *table) add(cells ...string) { *t = append(*t, cells) }

// write writes the table with its columns aligned as a terminal shows them: Japanese characters are two columns wide.
func (t table) write(out io.Writer) error {
	var widths []int
	for _, row := range t {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], columns(shown(cell)))
		}
	}
	var b strings.Builder
	for _, row := range t {
		var line strings.Builder
		for i, cell := range row {
			cell = shown(cell)
			line.WriteString(cell + strings.Repeat(" ", widths[i]-columns(cell)+2))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// shown makes a cell one line that does nothing to a terminal.
func shown(cell string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		if unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, cell)
}

// columns returns how many columns a terminal takes for a text.
func columns(s string) (n int) {
	for _, r := range s {
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}
