package slack

import (
	"regexp"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

const (
	// tableColumns is the maximum width of a table. The lines of wider tables wrap on common screens.
	tableColumns = 90
	// tableGrowth is the maximum growth of a table by alignment, in percent, because the length of a message is
	// limited.
	tableGrowth = 25
)

var (
	delimiterRow = regexp.MustCompile(`^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$`)
	cellLink     = regexp.MustCompile(`!?\[([^\]]*)\]\(([^)\s]*)[^)]*\)`)
	cellBreak    = regexp.MustCompile(`(?i)<br\s*/?>`)
	cellMarks    = strings.NewReplacer("**", "", "~~", "", "`", "", "\\", "")
)

// table renders the table at the beginning of lines, or a line of text if there is no table. Its result is that of
// block.
func (r *renderer) table(lines []string) int {
	n := 0
	for n < len(lines) && strings.HasPrefix(strings.TrimLeft(lines[n], " \t"), "|") {
		n++
	}
	if !r.complete && (n == len(lines) || strings.TrimLeft(lines[n], " \t") == "") {
		return 0
	}
	rows := make([]string, n)
	for i, line := range lines[:n] {
		rows[i] = strings.TrimRight(line, "\r\n")
	}
	end := lines[n-1][len(rows[n-1]):]
	if n < 2 || !delimiterRow.MatchString(rows[1]) {
		for i, row := range rows {
			r.text(row, false)
			r.out.WriteString(lines[i][len(row):])
		}
		return n
	}
	r.out.WriteString("```\n" + unmentioned(drawn(rows)) + "```" + end)
	return n
}

// drawn returns the rows of a table. It aligns the columns if the result is within the limits.
func drawn(lines []string) string {
	source, right := 0, make(map[int]bool)
	var rows [][]string
	for i, line := range lines {
		source += len(line)
		if i == 1 {
			for column, cell := range cells(line) {
				right[column] = strings.HasSuffix(cell, ":") && !strings.HasPrefix(cell, ":")
			}
			continue
		}
		row := cells(line)
		for column, cell := range row {
			row[column] = cellText(cell)
		}
		rows = append(rows, row)
	}
	widths, total := columnWidths(rows)
	aligned := layout(rows, widths, right)
	if total > tableColumns || len(aligned) > source+source*tableGrowth/100+200 {
		return layout(rows, make([]int, len(widths)), nil)
	}
	return aligned
}

// columnWidths returns the width of each column, and the total.
func columnWidths(rows [][]string) (widths []int, total int) {
	for _, row := range rows {
		for column, cell := range row {
			if column == len(widths) {
				widths = append(widths, 0)
			}
			widths[column] = max(widths[column], runes.Columns(cell))
		}
	}
	for _, w := range widths {
		total += w + 3
	}
	return widths, total
}

// layout returns the rows with each cell padded to the width of its column. Width 0 means no padding.
func layout(rows [][]string, widths []int, right map[int]bool) string {
	var b strings.Builder
	for i, row := range rows {
		var line strings.Builder
		for column, cell := range row {
			if column > 0 {
				line.WriteString(" | ")
			}
			padding := strings.Repeat(" ", max(0, widths[column]-runes.Columns(cell)))
			if right[column] {
				line.WriteString(padding + cell)
			} else {
				line.WriteString(cell + padding)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		if i > 0 {
			continue
		}
		for column := range row {
			if column > 0 {
				b.WriteString("-+-")
			}
			b.WriteString(strings.Repeat("-", max(3, widths[column])))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// cells splits a row at its bars, except escaped ones.
func cells(line string) []string {
	line = strings.TrimPrefix(strings.TrimSpace(line), "|")
	if strings.HasSuffix(line, "|") && !strings.HasSuffix(line, `\|`) {
		line = line[:len(line)-1]
	}
	var out []string
	start := 0
	for i := range len(line) {
		if line[i] == '|' && (i == 0 || line[i-1] != '\\') {
			out = append(out, strings.TrimSpace(line[start:i]))
			start = i + 1
		}
	}
	return append(out, strings.TrimSpace(line[start:]))
}

// cellText returns the text of a cell without markup, because the table is shown as code.
func cellText(cell string) string {
	cell = cellBreak.ReplaceAllString(cell, " ")
	cell = cellLink.ReplaceAllStringFunc(cell, func(link string) string {
		m := cellLink.FindStringSubmatch(link)
		if m[1] == "" || m[1] == m[2] {
			return m[2]
		}
		return m[1] + " (" + m[2] + ")"
	})
	return cellMarks.Replace(cell)
}
