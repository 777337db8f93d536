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
	case strings.HasPrefix(text, "第"):
		starts = isArticle(text[len("第"):])
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

// isArticle reports whether text continues an article number such as 第3条 after 第.
func isArticle(text string) bool {
	digits := 0
	for _, r := range text {
		switch {
		case r >= '0' && r <= '9', r >= '０' && r <= '９', strings.ContainsRune("一二三四五六七八九十百", r):
			if digits++; digits > 4 {
				return false
			}
		default:
			return digits > 0 && strings.ContainsRune("編部章節款条", r)
		}
	}
	return false
}

// withMarks returns pages with marks for the headings in their texts, or the pages unchanged if any page has marks. The
// locator of each mark is the path of headings, ordered by depth.
func withMarks(pages []Page) []Page {
	for _, page := range pages {
		if len(page.Marks) > 0 {
			return pages
		}
	}
	marked := make([]Page, len(pages))
	var path outline
	for i, page := range pages {
		marked[i] = page
		offset := 0
		for line := range strings.Lines(page.Text) {
			own := strings.TrimLeft(line, " \t\u3000")
			if starts, alone := headingLine(own); starts {
				path.enter(own, alone)
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

// outline is the path of headings for a position in a text.
type outline []entry

type entry struct {
	depth int
	title string
}

// maxOutline limits the length of a path.
const maxOutline = 6

// enter moves to the section of a heading line. If the line contains more than the heading, enter uses only the heading
// as title.
func (o *outline) enter(line string, alone bool) {
	title := strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#"))
	if !alone {
		title = articleTitle(title)
	}
	depth := headingDepth(line)
	for len(*o) > 0 && (*o)[len(*o)-1].depth >= depth {
		*o = (*o)[:len(*o)-1]
	}
	*o = (*o)[:min(len(*o), maxOutline-1)]
	*o = append(*o, entry{depth, title})
}

// String returns a path such as "第1章 総則 > 第3条".
func (o outline) String() string {
	titles := make([]string, 0, len(o))
	for _, e := range o {
		if e.title != "" {
			titles = append(titles, e.title)
		}
	}
	return strings.Join(titles, " > ")
}

// articleTitle returns the heading of a line such as 第3条（休暇） 休暇は…, without the text after it.
func articleTitle(line string) string {
	end := strings.IndexAny(line, " \t\u3000")
	if i := strings.IndexAny(line, "）】"); i >= 0 {
		end = i + len("）")
	}
	if end < 0 || len([]rune(line[:end])) > maxHeadingLine {
		runes := []rune(line)
		return string(runes[:min(len(runes), maxHeadingLine/2)]) + "…"
	}
	return line[:end]
}

// depthsOf are the divisions of Japanese documents and laws, from the largest to the smallest.
var depthsOf = []string{"編", "部", "章", "節", "款", "条"}

// headingDepth returns the depth of a heading line. Markdown headings precede divisions of documents, and these precede
// marked lines.
func headingDepth(line string) int {
	if level := len(line) - len(strings.TrimLeft(line, "#")); level > 0 {
		return level
	}
	if rest, ok := strings.CutPrefix(line, "第"); ok {
		at := strings.IndexFunc(rest, func(r rune) bool { return strings.ContainsRune("編部章節款条", r) })
		for i, part := range depthsOf {
			if at >= 0 && strings.HasPrefix(rest[at:], part) {
				return 10 + i
			}
		}
	}
	return 20
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
