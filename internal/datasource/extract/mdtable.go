package extract

import (
	"strings"
	"unicode/utf8"
)

// Bounds of a table in Markdown.
const (
	maxTableCells  = 500_000
	maxTableSpan   = 63
	maxRepeated    = 60  // Characters of a merged cell that is repeated in each row it reaches.
	maxHeaderRunes = 120 // Of a first row that is repeated.
	tableRunes     = 380 // From here on, a table goes on as a new one under the same header: about one passage.
)

// tableCell is a cell of a table in an Office file.
type tableCell struct {
	text   string // One line.
	blocks string // The same as paragraphs.
	span   int    // The columns that it takes, at least 1.
	merged bool   // It belongs to the cell above.
	layout bool   // It holds what does not fit in one line: tables, headings, lists.
}

// markdownTable returns rows as a table of Markdown, or as paragraphs if it is there for the layout only. In a row, a
// merged cell stands in its first column; of merged rows, each has it, so that it can be understood alone.
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

// layOut returns the texts of a table as a rectangle, and whether the table is there for the layout only.
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

// withoutEmpty takes out rows and columns that hold nothing, as forms have many.
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

// full reports whether each cell says something.
func full(cells []string) bool {
	for _, cell := range cells {
		if cell == "" {
			return false
		}
	}
	return true
}

// oneLine returns a text as a cell of Markdown has it.
func oneLine(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "｜")
}
