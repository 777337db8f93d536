package extract

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// headingLine examines the first line of text. starts reports whether the line starts a section: a Markdown heading, or
// a section heading of Japanese documents (第1章, 第3条, ■, ◆, 【概要】). alone reports whether the line contains only the
// heading.
func headingLine(text string) (starts, alone bool) {
	level := 0
	for level < len(text) && level <= 6 && text[level] == '#' {
		level++
	}
	switch {
	case level > 0:
		starts = level <= 6 && level < len(text) && (text[level] == ' ' || text[level] == '\t')
	case strings.HasPrefix(text, "■"), strings.HasPrefix(text, "◆"), strings.HasPrefix(text, "【"):
		starts = true
	default:
		starts = division.MatchString(text)
	}
	if !starts {
		return false, false
	}
	n := 0
	last := rune(0)
	for _, r := range text {
		if r == '\n' {
			break
		}
		if n++; n > maxHeadingLine {
			return true, false
		}
		last = r
	}
	return true, last != '。'
}

// division matches the beginning of a line such as 第3条 or 第1章, with its kind.
var division = regexp.MustCompile(`^第[0-9０-９一二三四五六七八九十百]{1,4}([編部章節款条])`)

// withMarks returns pages with marks for the headings in their texts, or the pages unchanged if any page has marks. The
// locator of each mark is the path of headings, ordered by depth.
func withMarks(pages []Page) []Page {
	if slices.ContainsFunc(pages, func(p Page) bool { return len(p.Marks) > 0 }) {
		return pages
	}
	marked := slices.Clone(pages)
	var path headingPath
	for i, page := range pages {
		offset := 0
		for line := range strings.Lines(page.Text) {
			own := strings.TrimLeft(line, " \t\u3000")
			if starts, alone := headingLine(own); starts {
				path.enter(sectionOf(strings.TrimSpace(own), alone))
				marked[i].Marks = append(marked[i].Marks, Mark{
					Offset:  offset + len(line) - len(own),
					Locator: path.String(), Heading: alone,
				})
			}
			offset += len(line)
		}
	}
	return marked
}

// sectionOf returns the level and the title of a line that starts a section, see headingLine. If the line contains more
// than the heading, the title ends at its first bracket or space.
func sectionOf(line string, alone bool) (level int, title string) {
	if level, title, _ = headingOf(line); level > 0 {
		return level, title
	}
	if !alone {
		if i := strings.IndexAny(line, "）】"); i >= 0 {
			line = line[:i+len("）")]
		} else if i := strings.IndexAny(line, " \t\u3000"); i >= 0 {
			line = line[:i]
		}
	}
	if found := division.FindStringSubmatch(line); found != nil {
		return articleLevels[found[1]], line
	}
	return len(articleLevels) + articleLevels["編"], line // Below all divisions.
}

// locate returns the locator of a passage that starts at start: the last mark at or before it, otherwise before,
// otherwise the first mark in the passage. It merges cell ranges of one sheet.
func locate(before string, marks []Mark, start int) string {
	locator := before
	for _, m := range marks {
		if m.Offset <= start || locator == "" {
			locator = m.Locator
			continue
		}
		locator = joinRanges(locator, m.Locator)
	}
	return locator
}

var cellRange = regexp.MustCompile(`^(.+)!([A-Z]{1,3})([1-9][0-9]{0,6})(?::([A-Z]{1,3})([1-9][0-9]{0,6}))?$`)

// joinRanges merges two cell ranges of one sheet, or a sheet name and a range of that sheet. In all other cases it
// returns a.
func joinRanges(a, b string) string {
	if cells := cellRange.FindStringSubmatch(b); cells != nil && cells[1] == a {
		return b
	}
	first, last := cellRange.FindStringSubmatch(a), cellRange.FindStringSubmatch(b)
	if first == nil || last == nil || first[1] != last[1] {
		return a
	}
	columns, rows := []string{first[2], last[2]}, []string{first[3], last[3]}
	for _, cells := range [][]string{first, last} {
		if cells[4] != "" {
			columns, rows = append(columns, cells[4]), append(rows, cells[5])
		}
	}
	return first[1] + "!" + slices.MinFunc(columns, byLength) + slices.MinFunc(rows, byLength) +
		":" + slices.MaxFunc(columns, byLength) + slices.MaxFunc(rows, byLength)
}

// byLength compares column names, or row numbers without leading zeros.
func byLength(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// Headings returns the descriptive part of a locator: headings and sheet names, without cell ranges and slide numbers.
func Headings(locator string) string {
	if cells := cellRange.FindStringSubmatch(locator); cells != nil {
		return cells[1]
	}
	if strings.HasPrefix(locator, "スライド ") {
		return ""
	}
	return locator
}
