package pdf

import (
	"math"
	"regexp"
	"slices"
	"unicode/utf8"
)

// tableEnd is the table at the end of a page, which may continue on the next page.
type tableEnd struct {
	headings string // As written above each part, "" for none.
	xs       []float64
	columns  int
	pages    int // Number of pages since the one with the headings.
	offset   int // End of its text.
}

const (
	maxContinued = 100 // Maximum number of pages with repeated headings.
	maxMargin    = 60  // Characters of a running title or a page number between the parts of a table.
)

// continued returns the headings of the previous page's table, and the number of pages since that one, if t continues
// it: t is the first table of its page, has the same columns, and its first row has values instead of headings.
func (w *writer) continued(t *table) (headings string, pages int) {
	if w.tables > 0 || utf8.RuneCountInString(w.out.String()) > maxMargin || t.single(0) != nil ||
		!t.likeRows(0, 1, t.rows) {
		return "", 0
	}
	last := w.before()
	same := last.columns == t.columns && slices.EqualFunc(last.xs, t.xs, func(a, b float64) bool {
		return math.Abs(a-last.xs[0]-(b-t.xs[0])) < ruleSlack
	})
	if !same || last.pages >= maxContinued {
		return "", 0
	}
	return last.headings, last.pages + 1
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
