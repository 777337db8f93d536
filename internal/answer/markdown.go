package answer

import (
	"strings"
	"unicode"
)

// Escape escapes a line of untrusted text so that Markdown shows it literally, without emphasis, links, HTML, formulas,
// headings or lists. It replaces line ends with spaces.
func Escape(text string) string {
	var b strings.Builder
	b.Grow(len(text) + 8)
	runes := []rune(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), " "))
	digits := 0
	for digits < len(runes) && runes[digits] >= '0' && runes[digits] <= '9' {
		digits++
	}
	for i, r := range runes {
		switch r {
		case '\\', '`', '*', '[', ']', '<', '$', '~', '|':
			b.WriteByte('\\')
		case '_':
			// Markdown ignores underscores inside a word. File names remain readable without backslashes.
			if i == 0 || i+1 == len(runes) || !inWord(runes[i-1]) || !inWord(runes[i+1]) {
				b.WriteByte('\\')
			}
		case '&':
			if i+1 < len(runes) && (runes[i+1] == '#' || runes[i+1] <= unicode.MaxASCII && inWord(runes[i+1])) {
				b.WriteByte('\\')
			}
		case '#', '-', '+', '>', '=':
			if i == 0 {
				b.WriteByte('\\')
			}
		case '.', ')':
			if i == digits && digits > 0 {
				b.WriteByte('\\')
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}

// EscapeLines escapes a text of several lines and preserves its line breaks.
func EscapeLines(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = Escape(strings.Trim(line, " \t")) // Spaces before a line would make it code.
		if i+1 < len(lines) && lines[i] != "" && strings.TrimSpace(lines[i+1]) != "" {
			lines[i] += "  " // A line break in Markdown.
		}
	}
	return strings.Join(lines, "\n")
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
