package pdf

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of tables.
const (
	maxTables    = 200    // Per page. The largest ones are used.
	maxGridCells = 20_000 // Of one table.
	maxCellText  = 600    // Characters. A longer cell is a text column.
	minCellText  = 15     // Average number of characters from which a grid is a layout.
	maxRepeated  = 60     // Characters. Longer merged cells are not repeated in each of their rows.
	minTableSide = 8.0    // Points.
)

// table is an area that rules enclose or divide, with its text.
type table struct {
	box
	cells         []*cell // By row, then by column.
	rows, columns int
	xs, ys        []float64 // Cell borders.
	used          []bool    // For each column between xs, whether it is in cells.
	plain         bool      // Frame or layout: cells are read in sequence.
}

// cell is an area enclosed by rules.
type cell struct {
	row, column   int    // Of the upper left corner.
	below, beside int    // Number of further rows and columns that it spans.
	text          string // Unmodified.
	items         [askew + 1][]segment
}

// glyphs returns the number of characters in a cell.
func (c *cell) glyphs() (n int) {
	for _, items := range c.items {
		for _, s := range items {
			n += len(s.glyphs)
		}
	}
	return n
}

// characters returns the characters of a cell without spaces.
func (c *cell) characters() string {
	var out strings.Builder
	for _, items := range c.items {
		for _, s := range items {
			for _, g := range s.glyphs {
				out.WriteRune(g.r)
			}
		}
	}
	return out.String()
}

// grid contains the rules of a table.
type grid struct {
	rules
	box
}

// grids groups the rules that meet into tables, smallest first. It also returns the remaining rules.
func (r rules) grids() (found []grid, loose rules) {
	parent := make([]int, len(r.along)+len(r.across))
	for i := range parent {
		parent[i] = i
	}
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	meets := make([]bool, len(parent))
	for i, h := range r.along {
		for k, v := range r.across {
			if v.x0 >= h.x0-ruleSlack && v.x0 <= h.x1+ruleSlack && h.y0 >= v.y0-ruleSlack && h.y0 <= v.y1+ruleSlack {
				meets[i], meets[len(r.along)+k] = true, true
				parent[root(i)] = root(len(r.along) + k)
			}
		}
	}
	at := make(map[int]int)
	group := func(i int, b box) *grid {
		n, ok := at[root(i)]
		if !ok {
			n = len(found)
			at[root(i)] = n
			found = append(found, grid{box: b})
		}
		found[n].box = found[n].with(b)
		return &found[n]
	}
	for i, b := range r.along {
		if !meets[i] {
			loose.along = append(loose.along, b)
			continue
		}
		g := group(i, b)
		g.along = append(g.along, b)
	}
	for k, b := range r.across {
		if !meets[len(r.along)+k] {
			loose.across = append(loose.across, b)
			continue
		}
		g := group(len(r.along)+k, b)
		g.across = append(g.across, b)
	}
	found = slices.DeleteFunc(found, func(g grid) bool {
		return g.x1-g.x0 < minTableSide || g.y1-g.y0 < minTableSide
	})
	slices.SortStableFunc(found, func(a, b grid) int { return cmp.Compare(a.area(), b.area()) })
	return found[max(0, len(found)-maxTables):], loose
}

func (b box) area() float64 { return (b.x1 - b.x0) * (b.y1 - b.y0) }

// holds reports whether the center of a box is inside another box.
func (b box) holds(c box) bool {
	x, y := (c.x0+c.x1)/2, (c.y0+c.y1)/2
	return x >= b.x0-1 && x <= b.x1+1 && y >= b.y0-1 && y <= b.y1+1
}

// fold replaces the segments inside each table by a single segment in the main direction.
func fold(parts *[askew + 1][]segment, main turn, grids []grid, before func() tableEnd) {
	for _, g := range grids {
		t := newTable(g)
		if t == nil {
			continue
		}
		whole := segment{box: g.box, inside: t}
		var rest [askew + 1][]segment
		for kind, items := range parts {
			for _, s := range items {
				at := s.placed(turn(kind), main)
				if !g.holds(at) {
					rest[kind] = append(rest[kind], s)
					continue
				}
				t.put(s, turn(kind), at)
				whole.size = math.Max(whole.size, s.size)
			}
		}
		if t.seal(before) {
			rest[main] = append(rest[main], whole)
			*parts = rest
		}
	}
}

// placed converts the box of a segment to the frame of another direction.
func (s segment) placed(own, main turn) box {
	if own == main || len(s.glyphs) == 0 {
		return s.box
	}
	b := s.glyphs[0].box
	for _, g := range s.glyphs[1:] {
		b = b.with(g.box)
	}
	return main.frame(b)
}

// edges returns the positions of cell borders.
func edges(places []float64) []float64 {
	slices.Sort(places)
	return slices.CompactFunc(places, func(a, b float64) bool { return math.Abs(b-a) < ruleSlack })
}

// newTable returns the empty table of a grid, or nil if it is too large. It merges cells without a border between them.
func newTable(g grid) *table {
	xs, ys := g.edges()
	columns, rows := len(xs)-1, len(ys)-1
	if columns < 1 || rows < 1 || columns*rows > maxGridCells {
		return nil
	}
	right, below := make([]bool, rows*columns), make([]bool, rows*columns) // Whether a cell has a border on that side.
	for _, v := range g.across {
		x := nearest(xs, v.x0)
		for y := range rows {
			if x > 0 && covers(v.y0, v.y1, ys[y], ys[y+1]) {
				right[y*columns+x-1] = true
			}
		}
	}
	for _, h := range g.along {
		y := nearest(ys, h.y0)
		for x := range columns {
			if y > 0 && covers(h.x0, h.x1, xs[x], xs[x+1]) {
				below[(y-1)*columns+x] = true
			}
		}
	}
	t := &table{box: g.box, xs: xs, ys: ys, rows: rows, columns: columns, cells: make([]*cell, rows*columns)}
	for i := range t.cells {
		if t.cells[i] != nil {
			continue
		}
		c := &cell{row: i / columns, column: i % columns}
		for c.column+c.beside+1 < columns && !right[i+c.beside] && t.cells[i+c.beside+1] == nil {
			c.beside++
		}
		open := func() bool {
			for x := range c.beside + 1 {
				if below[i+c.below*columns+x] {
					return false
				}
			}
			return true
		}
		for c.row+c.below+1 < rows && open() {
			c.below++
		}
		for y := range c.below + 1 {
			for x := range c.beside + 1 {
				t.cells[i+y*columns+x] = c
			}
		}
	}
	return t
}

func (g grid) edges() (xs, ys []float64) {
	xs, ys = []float64{g.x0, g.x1}, []float64{g.y0, g.y1}
	for _, v := range g.across {
		xs = append(xs, v.x0)
	}
	for _, h := range g.along {
		ys = append(ys, h.y0)
	}
	return edges(xs), edges(ys)
}

// nearest returns the index of the edge closest to a position.
func nearest(edges []float64, at float64) int {
	i, _ := slices.BinarySearch(edges, at-ruleSlack)
	return min(i, len(edges)-1)
}

// covers reports whether rules cover most of an edge.
func covers(from, to, begin, end float64) bool {
	return math.Min(to, end)-math.Max(from, begin) > 0.6*(end-begin)
}

// put adds a segment to the cell that contains its center.
func (t *table) put(s segment, kind turn, at box) {
	place := func(edges []float64, middle float64, n int) int {
		i, _ := slices.BinarySearch(edges, middle)
		return min(max(i-1, 0), n-1)
	}
	c := t.cells[place(t.ys, (at.y0+at.y1)/2, t.rows)*t.columns+place(t.xs, (at.x0+at.x1)/2, t.columns)]
	c.items[kind] = append(c.items[kind], s)
}

// seal drops empty rows and columns and decides between table and layout. It keeps empty columns that the table at the
// end of the previous page has. It returns false for rules behind text, such as those of charts.
func (t *table) seal(before func() tableEnd) bool {
	usedRows, usedColumns := make([]bool, t.rows), make([]bool, t.columns)
	filled, length, longest, nested := 0, 0, 0, false
	for i, c := range t.cells {
		if c.row*t.columns+c.column != i {
			continue
		}
		n := c.glyphs()
		for _, s := range c.items {
			nested = nested || slices.ContainsFunc(s, func(s segment) bool { return s.inside != nil })
		}
		if n > 0 {
			filled++
			length += n
			longest = max(longest, n)
			usedRows[c.row], usedColumns[c.column] = true, true
		}
	}
	rows, columns := 0, 0
	for _, used := range usedRows {
		rows += toInt(used)
	}
	for _, used := range usedColumns {
		columns += toInt(used)
	}
	t.plain = nested || rows < 2 || columns < 2 || filled < 4 || filled*4 < rows*columns || longest > maxCellText
	if t.plain {
		return nested || filled > 0 && length >= minCellText*filled
	}
	if columns < t.columns {
		if last := before(); last.matches(t) {
			columns = 0
			for i, used := range last.used {
				usedColumns[i] = usedColumns[i] || used
				columns += toInt(usedColumns[i])
			}
		}
	}
	t.used = usedColumns
	var kept []*cell
	for i, c := range t.cells {
		if usedRows[i/t.columns] && usedColumns[i%t.columns] {
			kept = append(kept, c)
		}
	}
	t.cells, t.rows, t.columns = kept, rows, columns
	return true
}

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// row returns the cells of a row. A cell that spans columns is there several times.
func (t *table) row(row int) []*cell { return t.cells[row*t.columns : (row+1)*t.columns] }

// single returns the only cell with text of a row, if it spans the whole row.
func (t *table) single(row int) *cell {
	line := t.row(row)
	for _, c := range line {
		if c != line[0] {
			return nil
		}
	}
	return line[0]
}

// Limits of the headings of a table and of its length in the text, in characters.
const (
	maxHeadingRows = 3
	maxHeadings    = 240 // Longer headings are not repeated.
	tableText      = 380 // A longer table is divided, so that each part is about one passage.
)

// table writes a Markdown table, or the cells of a frame or layout in sequence. Each part of a long table begins with
// the headings.
func (w *writer) table(t *table) {
	seen := make(map[*cell]bool)
	if t.plain {
		for _, c := range t.cells {
			if seen[c] {
				continue
			}
			seen[c] = true
			for kind, items := range c.items {
				w.write(items, turn(kind))
			}
		}
		return
	}
	rule := "\n|" + strings.Repeat("---|", t.columns)
	headings, part := "", 0 // Repeated headings, "" for none, and the offset of the current part.
	first, body := 0, 0     // Rows of the headings, and of the values below them. The next row has headings if body is 0.
	top := w.atTop()
	before, pages := w.continued(t)
	if before != "" {
		w.carry(t, 0, before)
		headings, part, body = before, w.paragraphStart(), -1
		w.newLine()
		w.out.WriteString(headings)
	}
	for row := range t.rows {
		if c := t.single(row); c != nil {
			if !seen[c] {
				seen[c] = true
				w.newLine()
				w.cell(c)
			}
			body = 0
			continue
		}
		cells := t.row(row)
		divides := row > body && headings != "" &&
			utf8.RuneCountInString(w.out.String()[part:])+textLength(cells, seen) > tableText
		if divides && body > 0 && t.likeRows(first, body, row) {
			divides, headings = false, ""
		}
		switch {
		case body == 0:
			part = w.paragraphStart()
			w.newLine()
		case divides:
			w.out.WriteString("\n\n")
			part = w.out.Len()
			w.out.WriteString(headings + "\n")
		default:
			w.out.WriteByte('\n')
		}
		w.row(cells, seen)
		if body == 0 {
			w.out.WriteString(rule)
			first, body, headings = row, row+t.headingRows(row), ""
		}
		if row == body-1 {
			if headings = t.headings(first, body) + rule; utf8.RuneCountInString(headings) > maxHeadings {
				headings = ""
			}
			if top && before == "" && body < t.rows {
				w.carry(t, body, headings)
			}
		}
	}
	w.ended = true
	w.tables++
	if before == "" && body > 0 && t.likeRows(first, body, t.rows) {
		headings = ""
	}
	w.lastTable = tableEnd{
		headings: headings, xs: t.xs, used: t.used, row: t.row(t.rows - 1), pages: pages, offset: w.out.Len(),
	}
}

// paragraphStart returns the offset of the paragraph that is being written, or that of the end of a long one.
func (w *writer) paragraphStart() int {
	text := w.out.String()
	if last := text[strings.LastIndex(text, "\n\n")+1:]; !w.ended && utf8.RuneCountInString(last) <= maxHeadings {
		return len(text) - len(last)
	}
	return len(text)
}

// textLength returns the approximate number of characters that row writes.
func textLength(cells []*cell, seen map[*cell]bool) int {
	n := 1
	for i, c := range cells {
		switch {
		case i > 0 && cells[i-1] == c:
		case !seen[c]:
			n += c.glyphs()
		default:
			n += min(utf8.RuneCountInString(c.text), maxRepeated)
		}
		n += 3
	}
	return n
}

// row writes a row. It repeats cells that span several rows, so that each row is complete.
func (w *writer) row(cells []*cell, seen map[*cell]bool) {
	w.out.WriteByte('|')
	for i, c := range cells {
		w.out.WriteByte(' ')
		if i == 0 || cells[i-1] != c {
			if !seen[c] && c.glyphs() > 0 {
				seen[c] = true
				begin := w.out.Len()
				w.cell(c)
				c.text = w.out.String()[begin:]
			} else if utf8.RuneCountInString(c.text) <= maxRepeated {
				w.out.WriteString(c.text)
			}
			w.out.WriteByte(' ')
		}
		w.out.WriteByte('|')
	}
}

// cell writes the lines of a cell as a single line.
func (w *writer) cell(c *cell) {
	first := true
	for _, items := range c.items {
		order(items, rules{}, func(line []segment, _ bool) {
			if !first {
				w.join(line[0].glyphs[0], opens(line[0]))
			}
			first = false
			w.segments(line)
		})
	}
}
