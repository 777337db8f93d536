package offline

import (
	"strings"
	"unicode"
)

// escape escapes text from outside, so that Markdown shows it literally, without emphasis, links, HTML or formulas,
// and without a heading or list at its beginning.
func escape(text string) string {
	var b strings.Builder
	b.Grow(len(text) + 8)
	runes := []rune(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), " "))
	digits := 0
	for digits < len(runes) && runes[digits] >= '0' && runes[digits] <= '9' {
		digits++
	}
	for i, r := range runes {
		switch r {
		case '【', '［': // A number between these would be a citation.
			if i+1 < len(runes) && unicode.IsDigit(runes[i+1]) {
				r = '〔'
			}
		case '】', '］':
			if i > 0 && unicode.IsDigit(runes[i-1]) {
				r = '〕'
			}
		case '\\', '`', '*', '[', ']', '<', '$', '~', '|':
			b.WriteByte('\\')
		case '_':
			// Inside a word it is no emphasis, and file names stay readable.
			if !between(runes, i, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
				b.WriteByte('\\')
			}
		case '&':
			if i+1 < len(runes) && (isASCIIAlnum(runes[i+1]) || runes[i+1] == '#') {
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
