package pdf

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// tableEnd is the table at the end of a page, which may continue on the next page.
type tableEnd struct {
	headings string // As written above each part, "" for none.
	xs       []float64
	used     []bool  // For each column between xs, whether it has text.
	row      []*cell // The last row.
	pages    int     // Number of pages since the one with the headings.
	offset   int     // End of its text.
}

const (
	maxContinued = 100 // Maximum number of pages with repeated headings.
	maxMargin    = 60  // Characters of a running title or a page number between the parts of a table.
)

// matches reports whether the borders of the columns are those of t.
func (e tableEnd) matches(t *table) bool {
	return slices.EqualFunc(e.xs, t.xs, func(a, b float64) bool { return math.Abs(a-e.xs[0]-(b-t.xs[0])) < ruleSlack })
}

// atTop reports whether only a running title precedes the next table on the page.
func (w *writer) atTop() bool {
	return w.tables == 0 && utf8.RuneCountInString(w.out.String()) <= maxMargin
}

// continued returns the headings of the previous page's table, and the number of pages since that one, if t continues
// it: t is the first table of its page, has the same columns, and its first row has values instead of headings.
func (w *writer) continued(t *table) (headings string, pages int) {
	if !w.atTop() || t.single(0) != nil || !t.likeRows(0, 1, t.rows) {
		return "", 0
	}
	last := w.before()
	if !last.matches(t) || !slices.Equal(last.used, t.used) || last.pages >= maxContinued {
		return "", 0
	}
	return last.headings, last.pages + 1
}

// carry copies texts from the last row of the previous page's table to the merged cells of the given row that continue
// them and are therefore empty. Both tables must have the same headings and columns.
func (w *writer) carry(t *table, row int, headings string) {
	if headings == "" || !slices.ContainsFunc(t.row(row), func(c *cell) bool { return c.glyphs() == 0 }) {
		return
	}
	last := w.before()
	if last.headings != headings || !last.matches(t) || !slices.Equal(last.used, t.used) {
		return
	}
	for column, c := range t.row(row) {
		// Only one row of the cell may be left, but single empty cells are usual in the other columns.
		if above := last.row[column]; c.glyphs() == 0 && (c.below > 0 || column == 0 && above.below > 0) {
			c.text = above.text
		}
	}
}

// headingRows returns the number of rows that the headings in a row take. It is greater than one if each cell of the
// first row spans as many rows, or several columns.
func (t *table) headingRows(first int) int {
	rows := func(column int) int {
		n := 1
		for first+n < t.rows && t.row(first + n)[column] == t.row(first)[column] {
			n++
		}
		return n
	}
	depth := 1
	for column := range t.columns {
		depth = max(depth, rows(column))
	}
	if depth > maxHeadingRows || first+depth >= t.rows {
		return 1
	}
	for column, c := range t.row(first) {
		spans := column > 0 && t.row(first)[column-1] == c || column+1 < t.columns && t.row(first)[column+1] == c
		if !spans && rows(column) < depth {
			return 1
		}
	}
	return depth
}

// headings returns the texts of rows of headings as a single row. A cell that spans columns is the heading of each.
func (t *table) headings(first, end int) string {
	var out strings.Builder
	for column := range t.columns {
		var texts []string
		for row := first; row < end; row++ {
			if text := t.row(row)[column].text; text != "" && !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
		out.WriteString("| " + strings.Join(append(texts, ""), " "))
	}
	return out.String() + "|"
}

// number matches what differs between the values of a column.
var number = regexp.MustCompile(`[\d,.]+`)

// likeRows reports whether the first row contains values like those of the rows from body to end, for example 1年 and 5年.
// Such a table continues that of the previous page and has no headings.
func (t *table) likeRows(first, body, end int) bool {
	for column, c := range t.row(first) {
		text := c.characters()
		shape := number.ReplaceAllString(text, "0")
		if shape == text {
			continue
		}
		for row := body; row < end; row++ {
			if number.ReplaceAllString(t.row(row)[column].characters(), "0") == shape {
				return true
			}
		}
	}
	return false
}
