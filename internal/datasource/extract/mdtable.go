package extract

import (
	"strings"
	"unicode/utf8"
)

// Limits of a Markdown table.
const (
	maxTableCells  = 500_000
	maxTableSpan   = 63
	maxRepeated    = 60  // Characters of a merged cell that is repeated in each of its rows.
	maxHeaderRunes = 120 // Characters of a first row that is repeated.
	tableRunes     = 380 // Size at which a table is split. Each part repeats the header and is about one passage.
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
// by itself.
func markdownTable(rows [][]tableCell) string {
	grid, isLayout := layOut(rows)
	grid = withoutEmpty(grid)
	if len(grid) == 0 {
		return ""
	}
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
	header := tableRow(grid[0]) + "\n|" + strings.Repeat("---|", len(grid[0]))
	width := utf8.RuneCountInString(header)
	repeats := width <= maxHeaderRunes && full(grid[0])
	var out strings.Builder
	out.WriteString(header)
	at := width
	for _, row := range grid[1:] {
		line := tableRow(row)
		n := utf8.RuneCountInString(line) + 1
		if repeats && at > width && at+n > tableRunes {
			out.WriteString("\n\n" + header)
			at = width
		}
		out.WriteString("\n" + line)
		at += n
	}
	return out.String()
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

// withoutEmpty removes empty rows and columns, which are common in forms.
func withoutEmpty(grid [][]string) [][]string {
	var used []bool
	for _, row := range grid {
		for x, text := range row {
			if x >= len(used) {
				used = append(used, false)
			}
			used[x] = used[x] || text != ""
		}
	}
	var kept [][]string
	for _, row := range grid {
		var line []string
		empty := true
		for x, text := range row {
			if used[x] {
				line = append(line, text)
				empty = empty && text == ""
			}
		}
		if !empty {
			kept = append(kept, line)
		}
	}
	return kept
}

func tableRow(cells []string) string {
	return "| " + strings.Join(cells, " | ") + " |"
}

// full reports whether no cell is empty.
func full(cells []string) bool {
	for _, cell := range cells {
		if cell == "" {
			return false
		}
	}
	return true
}

// oneLine returns a text in the form of a Markdown cell.
func oneLine(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "｜")
}
