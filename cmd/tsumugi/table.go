package main

import (
	"io"
	"strings"
	"unicode"

	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

// table holds rows of text for a terminal. The first row is the header.
type table [][]string

func (t *table) add(cells ...string) { *t = append(*t, cells) }

// write writes the table with aligned columns. Japanese characters are two columns wide.
func (t table) write(out io.Writer) error {
	var widths []int
	for _, row := range t {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], runes.Columns(shown(cell)))
		}
	}
	var b strings.Builder
	for _, row := range t {
		var line strings.Builder
		for i, cell := range row {
			cell = shown(cell)
			line.WriteString(cell + strings.Repeat(" ", widths[i]-runes.Columns(cell)+2))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// shown returns a cell as one line without control characters.
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
