package extract

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits for the rows of a sheet.
const (
	maxMerged     = 20_000    // Merged areas that are read.
	maxFilled     = 1_000_000 // Rows inside merged areas.
	maxHeaderRows = 4
	maxLabel      = 60 // Characters of a heading.
	sampleRows    = 50
)

// fill copies the value of a merged cell into each of its rows, so that each row is understandable by itself. It fills
// only the first column of the area, and ignores long texts.
func fill(rows []xlsxRow, merged []area) []xlsxRow {
	at := make(map[int]int, len(rows))
	for i, row := range rows {
		at[row.number] = i
	}
	filled := 0
	for _, a := range merged {
		first, ok := at[a.top+1]
		if !ok || a.top == a.bottom {
			continue
		}
		value := cellAt(rows[first], a.left)
		if value.text == "" || utf8.RuneCountInString(value.text) > maxLabel {
			continue
		}
		for i := first + 1; i < len(rows) && rows[i].number <= a.bottom+1 && filled < maxFilled; i++ {
			filled++
			where, taken := slices.BinarySearchFunc(rows[i].cells, a.left,
				func(c xlsxCell, column int) int { return c.column - column })
			if !taken {
				rows[i].cells = slices.Insert(rows[i].cells, where, value)
			}
		}
	}
	return rows
}

// cellAt returns the cell of a row in a column, an empty cell if there is none.
func cellAt(row xlsxRow, column int) xlsxCell {
	if i, ok := slices.BinarySearchFunc(row.cells, column, func(c xlsxCell,
		column int,
	) int {
		return c.column - column
	}); ok {
		return row.cells[i]
	}
	return xlsxCell{column: column}
}

// place is the area of cells for an offset in the text.
type place struct {
	offset int
	area
}

// sheetWriter writes the rows of a sheet by region; empty rows separate regions. In a region that looks like a table,
// it writes the heading before each value. In other regions, such as forms and notes, it writes only the cells.
type sheetWriter struct {
	name   string
	rows   []xlsxRow
	merged map[int][]area // By the number of their first row.
	table  sheet
	places []place

	left    int    // The column of the first heading.
	numeric []bool // By heading: the column contains numbers.
	pairs   rowWriter
}

func (w *sheetWriter) write() {
	for len(w.rows) > 0 {
		n := 1
		for n < len(w.rows) && w.rows[n].number == w.rows[n-1].number+1 {
			n++
		}
		w.region(w.rows[:n])
		w.rows = w.rows[n:]
	}
}

// region writes consecutive rows.
func (w *sheetWriter) region(rows []xlsxRow) {
	titled := false
	for len(rows) > 0 && !several(texts(rows[0])) {
		if w.fits(rows) && !titled { // A row of the table above with a single value.
			break
		}
		w.line(rows[0])
		rows, titled = rows[1:], true
	}
	if len(rows) == 0 {
		return
	}
	switch depth := w.header(rows); {
	case depth > 0 && (titled || w.table.headings == nil || w.differs(rows, depth)):
		w.begin(rows[:depth], rows[depth:])
		rows = rows[depth:]
	case !titled && w.fits(rows):
	default:
		w.table.headings = nil
	}
	for _, row := range rows {
		if w.table.headings == nil {
			w.line(row)
			continue
		}
		w.record(row)
	}
}

// header returns the number of heading rows at the start of a region, 0 if the region is not a table.
func (w *sheetWriter) header(rows []xlsxRow) int {
	depth := w.headerRows(rows)
	if depth >= len(rows) || !isHeader(rows[0]) {
		return 0
	}
	body := rows[depth:min(len(rows), depth+sampleRows)]
	columns := make(map[int]bool)
	if left := leftOf(rows[:depth]); namesRows(body, left-1) {
		columns[left-1] = true
	}
	for _, row := range rows[:depth] {
		for _, c := range row.cells {
			columns[c.column] = true
		}
	}
	inside, all, contrast := 0, 0, false
	for _, row := range body {
		for _, c := range row.cells {
			all++
			if columns[c.column] {
				inside++
			}
			contrast = contrast || c.number && columns[c.column]
		}
	}
	switch {
	case inside*10 < all*8, inside*2 < len(body)*len(columns):
		return 0
	case len(columns) == 2 && !contrast: // Probably a list of names and values.
		return 0
	}
	return depth
}

// headerRows returns the height of the headings that start in the first row. It returns 1 for forms, whose first column
// contains labels.
func (w *sheetWriter) headerRows(rows []xlsxRow) int {
	row, depth, single := rows[0], 1, true
	for _, a := range w.merged[row.number] {
		if cellAt(row, a.left).text == "" {
			continue
		}
		single = single && a.left != row.cells[0].column
		if depth = max(depth, a.bottom-a.top+1); a.right > a.left {
			depth = max(depth, 2)
		}
	}
	if single && len(rows) > 1 && cellAt(rows[1], row.cells[0].column).text != "" {
		return 1
	}
	return min(depth, maxHeaderRows)
}

// leftOf returns the first column of headings.
func leftOf(header []xlsxRow) int {
	left := maxSheetColumns
	for _, row := range header {
		left = min(left, row.cells[0].column)
	}
	return left
}

// namesRows reports whether a column without a heading contains the names of most rows.
func namesRows(body []xlsxRow, column int) bool {
	names := 0
	for _, row := range body {
		if c := cellAt(row, column); c.text != "" && !c.number {
			names++
		}
	}
	return names*2 > len(body)
}

// isHeader reports whether a row can be the headings of a table: short texts that differ.
func isHeader(row xlsxRow) bool {
	for _, c := range row.cells {
		if c.number || utf8.RuneCountInString(c.text) > maxLabel || isNumber(c.text) {
			return false
		}
	}
	return several(texts(row))
}

// differs reports whether the rows belong to a different table than the one above.
func (w *sheetWriter) differs(rows []xlsxRow, depth int) bool {
	if !w.fits(rows) {
		return true
	}
	for _, c := range rows[0].cells {
		if w.numeric[c.column-w.left] {
			return true
		}
		for _, row := range rows[depth:min(len(rows), depth+sampleRows)] {
			if cellAt(row, c.column).number {
				return true
			}
		}
	}
	return false
}

// fits reports whether all values of the first row are below headings of the current table.
func (w *sheetWriter) fits(rows []xlsxRow) bool {
	if w.table.headings == nil {
		return false
	}
	for _, c := range rows[0].cells {
		if at := c.column - w.left; at < 0 || at >= len(w.table.headings) {
			return false
		}
	}
	return true
}

// begin writes the headings of a table and selects the form of its rows.
func (w *sheetWriter) begin(header, body []xlsxRow) {
	w.left = leftOf(header)
	if namesRows(body[:min(len(body), sampleRows)], w.left-1) {
		w.left--
	}
	right := 0
	for _, row := range header {
		right = max(right, row.cells[len(row.cells)-1].column)
	}
	headings := make([]string, right-w.left+1)
	for i, row := range header {
		for column := w.left; column <= right; column++ {
			text := w.headingAt(row, column, i < len(header)-1)
			if at := column - w.left; text != "" && !strings.HasSuffix(headings[at], text) {
				headings[at] = strings.TrimSpace(headings[at] + " " + text)
			}
		}
	}
	w.numeric = make([]bool, len(headings))
	raw, paired := 0, 0
	for _, row := range body {
		for _, c := range row.cells {
			raw += len(c.text) + 1
			if at := c.column - w.left; at >= 0 && at < len(headings) {
				paired += len(headings[at]) + len(c.text) + 5
			}
		}
	}
	w.pairs = writePairs
	if paired > maxText(raw) {
		w.pairs = writeBlocks
	}
	start := w.next()
	w.table.head(headings)
	w.mark(start, area{header[0].number - 1, w.left, header[len(header)-1].number - 1, right})
}

// headingAt returns the heading of a column in a heading row. With spans, a merged cell is the heading of all of its
// columns.
func (w *sheetWriter) headingAt(row xlsxRow, column int, spans bool) string {
	if c := cellAt(row, column); c.text != "" || !spans {
		return c.text
	}
	for _, a := range w.merged[row.number] {
		if a.left < column && column <= a.right && a.right-a.left < 100 {
			return cellAt(row, a.left).text
		}
	}
	return ""
}

// record writes a row under the headings.
func (w *sheetWriter) record(row xlsxRow) {
	right := max(row.cells[len(row.cells)-1].column, w.left+len(w.table.headings)-1)
	if row.cells[0].column < w.left || right-w.left >= maxFields {
		w.line(row)
		return
	}
	cells := make([]string, right-w.left+1)
	for _, c := range row.cells {
		at := c.column - w.left
		cells[at] = c.text
		if at < len(w.numeric) {
			w.numeric[at] = w.numeric[at] || c.number
		}
	}
	start := w.table.out.Len()
	w.pairs(&w.table, cells)
	for start < w.table.out.Len() && w.table.out.String()[start] == '\n' {
		start++
	}
	w.markRow(start, row)
}

// line writes a row without headings.
func (w *sheetWriter) line(row xlsxRow) {
	start := w.next()
	w.table.line(texts(row), " / ")
	w.markRow(start, row)
}

// next returns the offset of the next paragraph.
func (w *sheetWriter) next() int {
	if n := w.table.out.Len(); n > 0 {
		return n + 2
	}
	return 0
}

func (w *sheetWriter) markRow(offset int, row xlsxRow) {
	w.mark(offset, area{row.number - 1, row.cells[0].column, row.number - 1, row.cells[len(row.cells)-1].column})
}

func (w *sheetWriter) mark(offset int, a area) { w.places = append(w.places, place{offset, a}) }

// plainSheet matches sheet names that need no quotes in references.
var plainSheet = regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_.]*$`)

// marks returns the places as marks. If there are too many, each mark covers several rows.
func (w *sheetWriter) marks() []Mark {
	name := w.name
	if !plainSheet.MatchString(name) {
		name = "'" + strings.ReplaceAll(name, "'", "''") + "'"
	}
	most := min(maxMarks, maxLocatorBytes/(len(name)+20))
	var marks []Mark
	for places := range slices.Chunk(w.places, max(1, (len(w.places)+most-1)/most)) {
		a := places[0].area
		for _, p := range places[1:] {
			a = area{min(a.top, p.top), min(a.left, p.left), max(a.bottom, p.bottom), max(a.right, p.right)}
		}
		marks = append(marks, Mark{Offset: places[0].offset, Locator: name + "!" + a.String()})
	}
	return marks
}

// String returns the area as a cell reference.
func (a area) String() string {
	from := fmt.Sprintf("%s%d", columnName(a.left), a.top+1)
	if a.left == a.right && a.top == a.bottom {
		return from
	}
	return fmt.Sprintf("%s:%s%d", from, columnName(a.right), a.bottom+1)
}

// texts returns the texts of the cells of a row.
func texts(row xlsxRow) []string {
	out := make([]string, len(row.cells))
	for i, c := range row.cells {
		out[i] = c.text
	}
	return out
}
