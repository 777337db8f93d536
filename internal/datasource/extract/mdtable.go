package extract

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of a Markdown table.
const (
	maxTableCells  = 500_000
	maxTableSpan   = 63
	maxRepeated    = 60  // Characters of a merged cell that is repeated in each of its rows.
	maxHeaderRunes = 240 // Characters of headings that are repeated.
	tableRunes     = 380 // Maximum length of a part of a table, about one passage.
)

// tableCell is a cell of a table in an Office file.
type tableCell struct {
	text   string // One line.
	blocks string // The same text as paragraphs.
	span   int    // Number of columns, at least 1.
	merged bool   // It continues the cell above.
	layout bool   // It contains tables, headings or lists, which do not fit in one line.
}

// markdownTable returns rows as a Markdown table, or as paragraphs if the table is only for layout. A cell that spans
// columns appears in its first column. A cell that spans rows appears in each row, so that each row is understandable
// by itself. Each part of a long table begins with the headings of the columns if all have one.
func markdownTable(rows [][]tableCell) string {
	grid, isLayout := layOut(rows)
	for len(grid) > 0 && isEmpty(grid[0]) {
		rows, grid = rows[1:], grid[1:]
	}
	if len(grid) == 0 {
		return ""
	}
	var top [][]tableCell
	for _, row := range rows[:topRows(len(rows))] {
		var line []tableCell
		for _, c := range row {
			line = append(line, slices.Repeat([]tableCell{c}, max(c.span, 1))...)
		}
		top = append(top, line)
	}
	headings, depth := columnHeadings(top)
	if depth == 1 { // With cells that span columns, it is probably a form.
		headings = grid[0]
	}
	grid, headings = withoutEmpty(grid, headings)
	if isLayout || len(grid[0]) == 1 {
		var blocks []string
		for _, row := range rows {
			for _, c := range row {
				if c.blocks != "" && !c.merged {
					blocks = append(blocks, c.blocks)
				}
			}
		}
		return strings.Join(blocks, "\n\n")
	}
	rule := "|" + strings.Repeat("---|", len(grid[0]))
	lines := []string{tableRow(grid[0]), rule}
	for _, row := range grid[1:] {
		lines = append(lines, tableRow(row))
	}
	header := ""
	if len(headings) == len(grid[0]) && !slices.Contains(headings, "") {
		header = tableRow(headings) + "\n" + rule
	}
	return divideTable(lines, depth+1, header)
}

// divideTable returns the lines of a Markdown table. It divides a long table into parts of about one passage and writes
// the header before each, unless it is long or "". The first lines belong to the header.
func divideTable(lines []string, first int, header string) string {
	width := utf8.RuneCountInString(header)
	if width > maxHeaderRunes {
		header = ""
	}
	var out strings.Builder
	at, rows := 0, 0 // Characters and rows of the part.
	for i, line := range lines {
		n := utf8.RuneCountInString(line) + 1
		if i > first && header != "" && rows > 0 && at+n > tableRunes {
			out.WriteString("\n" + header + "\n")
			at, rows = width+1, 0
		}
		out.WriteString(line + "\n")
		if at += n; i >= first {
			rows++
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// tableRule matches the line below the header of a Markdown table.
var tableRule = regexp.MustCompile(`^\|(?:---\|)+$`)

// divideTables divides the long tables of a Markdown text.
func divideTables(text string) string {
	var out []string
	lines := strings.Split(text, "\n")
	for len(lines) > 0 {
		n := 1
		if len(lines) > 1 && tableRule.MatchString(lines[1]) && strings.HasPrefix(lines[0], "| ") {
			for n < len(lines) && strings.HasPrefix(lines[n], "|") {
				n++
			}
			out = append(out, divideTable(lines[:n], 2, lines[0]+"\n"+lines[1]))
		} else {
			out = append(out, lines[0])
		}
		lines = lines[n:]
	}
	return strings.Join(out, "\n")
}

// topRows returns how many of the rows of a table may contain headings.
func topRows(rows int) int { return max(1, min(rows-1, maxHeaderRows)) }

// columnHeadings returns the heading of each column, and the number of rows that contain the headings. It is greater
// than one if each cell of the first row spans as many rows, or several columns. cells has the first rows; a cell that
// spans columns is in each of them.
func columnHeadings(cells [][]tableCell) (headings []string, depth int) {
	isMerged := func(c tableCell) bool { return c.merged }
	depth = 1
	for depth < len(cells) && slices.ContainsFunc(cells[depth], isMerged) {
		depth++
	}
	for x := range cells[0] {
		for _, line := range cells[1:depth] {
			if cells[0][x].span <= 1 && (x >= len(line) || !line[x].merged) {
				depth = 1
			}
		}
	}
	for y, line := range cells[:depth] {
		headings = append(headings, make([]string, max(0, len(line)-len(headings)))...)
		for x, c := range line {
			if c.text != "" && !slices.ContainsFunc(cells[:y], func(above []tableCell) bool {
				return x < len(above) && above[x].text == c.text
			}) {
				headings[x] = strings.TrimSpace(headings[x] + " " + c.text)
			}
		}
	}
	return headings, depth
}

// layOut returns the texts of a table as a rectangle, and whether the table is only for layout.
func layOut(rows [][]tableCell) (grid [][]string, isLayout bool) {
	width := 0
	for _, row := range rows {
		n := 0
		for _, c := range row {
			n += max(c.span, 1)
			isLayout = isLayout || c.layout
		}
		width = max(width, n)
	}
	spans := width*len(rows) <= 4*maxTableCells
	for y, row := range rows {
		line := make([]string, 0, len(row))
		for _, c := range row {
			text := c.text
			if above := len(line); c.merged && y > 0 && above < len(grid[y-1]) &&
				utf8.RuneCountInString(grid[y-1][above]) <= maxRepeated {
				text = grid[y-1][above]
			}
			line = append(line, text)
			for range c.span - 1 {
				if spans {
					line = append(line, "")
				}
			}
		}
		for spans && len(line) < width {
			line = append(line, "")
		}
		grid = append(grid, line)
	}
	return grid, isLayout
}

// withoutEmpty removes empty rows and columns, which are common in forms, and the headings of these columns.
func withoutEmpty(grid [][]string, headings []string) (kept [][]string, keptHeadings []string) {
	var used []bool
	for _, row := range grid {
		for x, text := range row {
			if x >= len(used) {
				used = append(used, false)
			}
			used[x] = used[x] || text != ""
		}
	}
	inUse := func(row []string) (line []string) {
		for x, text := range row {
			if x < len(used) && used[x] {
				line = append(line, text)
			}
		}
		return line
	}
	for _, row := range grid {
		if !isEmpty(row) {
			kept = append(kept, inUse(row))
		}
	}
	return kept, inUse(headings)
}

func tableRow(cells []string) string {
	return "| " + strings.Join(cells, " | ") + " |"
}

// isEmpty reports whether all cells are empty.
func isEmpty(cells []string) bool {
	return !slices.ContainsFunc(cells, func(text string) bool { return text != "" })
}

// oneLine returns a text in the form of a Markdown cell.
func oneLine(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "｜")
}
