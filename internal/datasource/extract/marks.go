package extract

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of marks. If there are too many headings, the deepest levels are omitted.
const (
	maxTitleRunes   = 60  // Characters of one heading in a locator.
	maxLocator      = 900 // Bytes of one locator.
	maxMarks        = 20_000
	maxLocatorBytes = 1 << 20 // Of all locators.
)

// articleLevels are the heading levels of the divisions of Japanese rules, all below the Markdown headings.
var articleLevels = map[string]int{"編": 7, "部": 8, "章": 9, "節": 10, "款": 11, "条": 12}

// article matches a heading line of a rule: 第1章　総則, 第12条の2（休暇）. It does not match a reference inside a sentence, as in
// 第3条の規定により.
var article = regexp.MustCompile(
	`^(第[0-9０-９〇一二三四五六七八九十百千]{1,6}([編部章節款条])(?:の[0-9０-９一二三四五六七八九十]{1,3})*)(?:$|[\s　]|([（(][^（）()]{1,50}[）)]))`)

// headingMarks returns marks for the headings of a text: Markdown headings and the headings of Japanese rules. The
// locator of a mark is the path of headings.
func headingMarks(text string) []Mark {
	for deepest := articleLevels["条"]; deepest > 0; deepest-- {
		marks, bytes := marksTo(text, deepest)
		if len(marks) <= maxMarks && bytes <= maxLocatorBytes {
			return marks
		}
	}
	return nil
}

// marksTo returns the marks for headings up to a level, and the total bytes of their locators.
func marksTo(text string, deepest int) (marks []Mark, bytes int) {
	var p headingPath
	fence, before, offset := "", "", 0
	add := func(at, level int, title string, alone bool) {
		if level > deepest {
			return
		}
		p.enter(level, title)
		marks = append(marks, Mark{Offset: at, Locator: p.String(), Heading: alone})
		bytes += len(marks[len(marks)-1].Locator)
	}
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		level, title, alone := headingOf(trimmed)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
		case offset == 0 && trimmed == "---":
			fence = trimmed // YAML front matter.
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			fence = trimmed[:3]
		case underlines(trimmed, before) && plainTitle(before) != "":
			add(offset-len(before)-1, strings.IndexByte("=-", trimmed[0])+1, before, true)
			trimmed = ""
		case level > 0:
			add(offset+strings.Index(line, trimmed), level, title, alone)
			trimmed = ""
		}
		if len(marks) > maxMarks || bytes > maxLocatorBytes {
			return marks, bytes
		}
		offset += len(line)
		before = ""
		if trimmed == strings.TrimSuffix(line, "\n") {
			before = trimmed
		}
	}
	return marks, bytes
}

// headingOf returns the level and title of a heading line, or level 0. alone reports whether the line contains only the
// heading.
func headingOf(line string) (level int, title string, alone bool) {
	for level < len(line) && line[level] == '#' {
		level++
	}
	if level > 0 {
		if level > 6 || level == len(line) || line[level] != ' ' && line[level] != '\t' {
			return 0, "", false
		}
		title = strings.TrimSpace(strings.TrimRight(strings.TrimSpace(line[level:]), "#"))
		if plainTitle(title) == "" {
			return 0, "", false
		}
		return level, title, true
	}
	if !strings.HasPrefix(line, "第") {
		return 0, "", false
	}
	found := article.FindStringSubmatch(line)
	if found == nil {
		return 0, "", false
	}
	alone = utf8.RuneCountInString(line) <= maxTitleRunes && !strings.HasSuffix(line, "。")
	switch {
	case alone:
		title = line
	case found[2] != "条":
		return 0, "", false
	default:
		title = found[1] + found[3]
	}
	return articleLevels[found[2]], title, alone
}

// underlines reports whether a line is the underline of a heading in the line before it.
func underlines(line, before string) bool {
	if len(line) < 3 || before == "" || strings.ContainsAny(before[:1], "|->*+") {
		return false
	}
	return strings.Trim(line, "=") == "" || strings.Trim(line, "-") == ""
}

// headingPath is the path of headings for a position in a text.
type headingPath struct {
	levels []int
	titles []string
}

// enter adds a heading and removes all headings of the same or a deeper level.
func (p *headingPath) enter(level int, title string) {
	n := len(p.levels)
	for n > 0 && p.levels[n-1] >= level {
		n--
	}
	p.levels, p.titles = append(p.levels[:n], level), append(p.titles[:n], plainTitle(title))
}

// has reports whether the path contains a title.
func (p *headingPath) has(title string) bool { return slices.Contains(p.titles, plainTitle(title)) }

// String returns the path for display. It omits the first headings of a path that is too long.
func (p *headingPath) String() string {
	titles := p.titles
	for {
		if path := strings.Join(titles, " > "); len(path) <= maxLocator {
			return path
		}
		titles = titles[1:]
	}
}

var (
	markdownLink = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	emphasis     = strings.NewReplacer("**", "", "__", "", "`", "", "\t", " ", "　", " ")
)

// plainTitle returns a title without Markdown markup, truncated to maxTitleRunes.
func plainTitle(title string) string {
	title = strings.TrimSpace(emphasis.Replace(markdownLink.ReplaceAllString(title, "$1")))
	if runes := []rune(title); len(runes) > maxTitleRunes {
		title = string(runes[:maxTitleRunes-1]) + "…"
	}
	return title
}
