package extract

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode"
)

// Limits of the text of a table.
const (
	// maxFields is the largest number of cells in a record. Text with longer records is not a table.
	maxFields = 10_000
	// maxCellLines is the largest number of line breaks in a cell. A cell with more has probably an unclosed quotation
	// mark and contains the rest of the file.
	maxCellLines = 50
	// maxHeading is the largest line of headings, in bytes, that is repeated above each block of rows.
	maxHeading = 1200
	// blockBytes is the size at which a block of rows is closed. Together with its headings, a block is about one
	// passage.
	blockBytes = 1600
	// sniffedLines is the number of lines that are examined to detect the separator.
	sniffedLines = 50
)

// sniffComma detects the separator of a .csv file: the comma, semicolon or tab that most of the first lines contain the
// same number of times. If these are equally many, it prefers tabs, then semicolons, which are rare in cells. It ignores
// separators in quotation marks.
func sniffComma(text string) rune {
	comma, most := ',', 0
	lines := strings.SplitN(text, "\n", sniffedLines+1)
	for _, c := range ",;\t" {
		alike := make(map[int]int) // Number of lines for each number of separators.
		for _, line := range lines[:min(len(lines), sniffedLines)] {
			n := 0
			for i, part := range strings.Split(line, `"`) {
				if i%2 == 0 {
					n += strings.Count(part, string(c))
				}
			}
			if n == 0 {
				continue
			}
			if alike[n]++; alike[n] >= most {
				comma, most = c, alike[n]
			}
		}
	}
	return comma
}

// tableText writes each record as a paragraph of one line that is understandable by itself: "見出し: 値 / 見出し: 値", without
// empty cells. The headings are the first record with two different cells, unless that record starts with a number, as
// data does. Records before the headings are titles. If this form becomes too long, for example with many numbers under
// long headings, tableText writes the headings above blocks of rows instead. It returns text that is not a table
// unchanged.
func tableText(ctx context.Context, text string, comma rune) (string, error) {
	for _, form := range []rowWriter{writePairs, writeBlocks} {
		out, err := writeTable(ctx, text, comma, form)
		if err == nil && !blank(out) {
			return out, nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if errors.Is(err, errNoTable) {
			break
		}
	}
	return text, nil
}

var (
	errNoTable = errors.New("no table")
	errTooLong = errors.New("text grows too long")
)

// sheet is the state of writing a table.
type sheet struct {
	out      strings.Builder
	headings []string // One for each column; nil until they are found, empty if the table has none.
	block    int      // Start of the current block of rows in out.
}

// rowWriter writes one record under the headings.
type rowWriter func(t *sheet, cells []string)

func writeTable(ctx context.Context, text string, comma rune, write rowWriter) (string, error) {
	for line := range strings.Lines(text) { // Check before the CSV reader allocates a slice for the fields.
		if strings.Count(line, string(comma)) > maxFields {
			return "", errNoTable
		}
	}
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = comma
	r.LazyQuotes = true
	r.FieldsPerRecord = -1
	r.ReuseRecord = true
	t := new(sheet)
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return "", ctx.Err()
		}
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return t.out.String(), nil
		}
		if err != nil || len(cells) > maxFields {
			return "", errNoTable
		}
		for i, cell := range cells {
			if strings.Count(cell, "\n") > maxCellLines {
				return "", errNoTable
			}
			cells[i] = strings.TrimSpace(strings.ReplaceAll(cell, "\n", " "))
		}
		switch {
		case t.headings != nil:
			write(t, cells)
		case several(cells):
			t.head(cells)
			if isNumber(cells[0]) {
				t.headings = []string{}
			}
		default:
			t.line(present(cells), " / ")
		}
		if t.out.Len() > maxText(len(text)) {
			return "", errTooLong
		}
	}
}

// head writes the headings for the following rows.
func (t *sheet) head(cells []string) {
	t.headings = slices.Clone(cells)
	t.line(present(cells), " / ")
	t.block = t.out.Len()
}

// line writes a paragraph of one line.
func (t *sheet) line(cells []string, separator string) {
	if len(cells) == 0 {
		return
	}
	if t.out.Len() > 0 {
		t.out.WriteString("\n\n")
	}
	for i, cell := range cells {
		if i > 0 {
			t.out.WriteString(separator)
		}
		t.out.WriteString(cell)
	}
}

// writePairs writes a record with the heading before each value.
func writePairs(t *sheet, cells []string) {
	started := false
	for i, cell := range cells {
		if cell == "" {
			continue
		}
		if started {
			t.out.WriteString(" / ")
		} else {
			t.out.WriteString("\n\n")
		}
		started = true
		if i < len(t.headings) && t.headings[i] != "" {
			t.out.WriteString(t.headings[i])
			t.out.WriteString(": ")
		}
		t.out.WriteString(cell)
	}
}

// writeBlocks writes a record as a line of a block. It repeats the headings at the start of each block except the
// first, which directly follows them. Empty cells are kept, so that columns remain aligned.
func writeBlocks(t *sheet, cells []string) {
	if len(present(cells)) == 0 {
		return
	}
	if t.out.Len()-t.block > blockBytes {
		headings := strings.Join(t.headings, " | ")
		if headings != "" && len(headings) <= maxHeading {
			t.line([]string{headings}, "")
		}
		t.block = t.out.Len()
	}
	t.out.WriteByte('\n')
	t.out.WriteString(strings.Join(cells, " | "))
}

// present returns the cells that are not empty.
func present(cells []string) []string {
	out := make([]string, 0, len(cells))
	for _, cell := range cells {
		if cell != "" {
			out = append(out, cell)
		}
	}
	return out
}

// isNumber reports whether a cell contains a number in a form common in tables.
func isNumber(cell string) bool {
	digits := strings.IndexFunc(cell, unicode.IsDigit) >= 0
	return digits && strings.IndexFunc(cell, func(r rune) bool {
		return !unicode.IsDigit(r) && !strings.ContainsRune("+-.,%:/¥￥△▲", r)
	}) < 0
}

// several reports whether at least two different cells are not empty.
func several(cells []string) bool {
	first := ""
	for _, cell := range cells {
		switch {
		case cell == "" || cell == first:
		case first == "":
			first = cell
		default:
			return true
		}
	}
	return false
}
