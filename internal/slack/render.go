package slack

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// gap is a zero-width space. It separates characters that Slack would otherwise interpret together.
const gap = "\u200b"

var (
	fenceLine = regexp.MustCompile("^\\s*(`{3,}|~{3,})[^`]*$")
	ruleLine  = regexp.MustCompile(`^\s{0,3}(?:-\s*){3,}$|^\s{0,3}(?:\*\s*){3,}$|^\s{0,3}(?:_\s*){3,}$`)
	taskItem  = regexp.MustCompile(`^(\s*(?:[-*+]|\d{1,9}[.)])\s+)\[([ xX])\](\s)`)

	// undecided matches the beginning of a line that may become a rule, a task or a fence.
	undecided = regexp.MustCompile("^(?:[-*_ \t]*|(?:[-*+]|\\d{1,9}[.)]?)\\s*(?:\\[.?\\]?)?|" +
		"`{1,2}|~{1,2}|`{3}.*|~{3}.*|\\$\\$?\\s*|\\\\\\[?\\s*)$")

	autolink = regexp.MustCompile(`^<((?:https?://|mailto:)[^\s<>|]{1,900})>`)
	opened   = regexp.MustCompile(`^<(?:[A-Za-z][^\s<>|]{0,910})?$`)
	called   = regexp.MustCompile(`(?i)^@(?:here|channel|everyone|group)\b`)
	person   = regexp.MustCompile(`^@[UW][A-Z0-9]{7,20}\b`)
	calling  = regexp.MustCompile(`^@\w{0,40}$`)

	webAddress = regexp.MustCompile(`(?i)^\s*<?(?:https?://|mailto:)`)
	anyScheme  = regexp.MustCompile(`(?i)^\s*<?\s*[a-z][a-z0-9+.-]*:|&|%3a`)

	// codeToken matches text in code that Slack might interpret as a mention. It is not escaped with entities, because
	// Slack may show entities in code unchanged.
	codeToken = regexp.MustCompile(`<(?:!(?:here|channel|everyone|group|subteam|date)|@[A-Z]|#[A-Z])`)
)

// codeHold is longer than any match of codeToken.
const codeHold = 12

// Render returns an answer's Markdown for a markdown block or a stream of Slack. It breaks all of Slack's tokens, so
// that the text mentions no person. It removes pictures, and links that do not lead to the web. It renders tables as
// aligned code, because streams show no tables.
//
// Rendering is monotone: Render(a, false) is a prefix of Render(a+b, false) and of Render(a+b, true). Until complete is
// true, the result omits incomplete markup at the end, such as a table or the beginning of a code span.
func Render(markdown string, complete bool) string {
	r := renderer{complete: complete}
	lines := strings.SplitAfter(strings.ToValidUTF8(markdown, ""), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for len(lines) > 0 {
		n := r.block(lines)
		if n == 0 {
			break
		}
		lines = lines[n:]
	}
	return r.out.String()
}

type renderer struct {
	out      strings.Builder
	complete bool
	fence    string // End mark of the open code: a run of ` or ~, "$$" or "\]"; "" outside of code.
}

// block renders the first line, or the table that begins with it. It returns the number of rendered lines, or 0 if the
// rest is incomplete.
func (r *renderer) block(lines []string) int {
	line := strings.TrimRight(lines[0], "\r\n")
	end := lines[0][len(line):]
	whole := strings.HasSuffix(end, "\n") || r.complete
	switch {
	case r.fence != "":
		return r.code(line, end, whole)
	case strings.HasPrefix(strings.TrimLeft(line, " \t"), "|"):
		return r.table(lines)
	case !whole:
		if !undecided.MatchString(strings.TrimLeft(line, " \t")) {
			r.text(line, true)
		}
		return 0
	case fenceLine.MatchString(line):
		r.fence = fenceLine.FindStringSubmatch(line)[1]
		r.out.WriteString(strings.ReplaceAll(line, "<", "") + end)
	case strings.TrimSpace(line) == "$$":
		r.fence = "$$"
		r.out.WriteString("```" + end)
	case strings.TrimSpace(line) == `\[`:
		r.fence = `\]`
		r.out.WriteString("```" + end)
	case ruleLine.MatchString(line):
		r.out.WriteString(strings.Repeat("─", 20) + end)
	default:
		r.text(line, false)
		r.out.WriteString(end)
	}
	return 1
}

// code renders a line of code. Its result is that of block.
func (r *renderer) code(line, end string, whole bool) int {
	bare := strings.TrimSpace(line)
	if !whole {
		if strings.HasPrefix(r.fence, bare) || strings.Trim(bare, r.fence[:1]) == "" {
			return 0
		}
		if i := strings.LastIndexByte(line, '<'); i >= 0 && len(line)-i <= codeHold {
			line = line[:i]
		}
		r.out.WriteString(r.codeText(line))
		return 0
	}
	math := r.isMath()
	switch {
	case math && bare == r.fence:
		r.fence = ""
		r.out.WriteString("```" + end)
	case !math && strings.HasPrefix(bare, r.fence) && strings.Trim(bare, r.fence[:1]) == "":
		r.fence = ""
		r.out.WriteString(line + end)
	default:
		r.out.WriteString(r.codeText(line) + end)
	}
	return 1
}

// isMath reports whether the open code is a formula.
func (r *renderer) isMath() bool { return r.fence == "$$" || r.fence == `\]` }

// codeText returns the text of a line of code. It separates the backquotes of a formula, which could end the code in
// which the formula is shown.
func (r *renderer) codeText(line string) string {
	if r.isMath() {
		line = strings.ReplaceAll(line, "`", "`"+gap)
	}
	return unmentioned(line)
}

// unmentioned returns code in which Slack finds no mentions. It looks like the original.
func unmentioned(code string) string {
	return codeToken.ReplaceAllStringFunc(code, func(found string) string { return "<" + gap + found[1:] })
}

// text renders a line outside of code. It omits the ambiguous end of a partial line.
func (r *renderer) text(line string, partial bool) {
	if m := taskItem.FindStringSubmatch(line); m != nil {
		box := "☑"
		if m[2] == " " {
			box = "☐"
		}
		r.out.WriteString(m[1] + box + m[3])
		line = line[len(m[0]):]
	}
	s := scanner{out: &r.out, line: line, partial: partial}
	for s.at < len(line) && s.step() {
		continue
	}
}

// scanner renders the inline markup of a line.
type scanner struct {
	out     *strings.Builder
	line    string
	partial bool // The line is incomplete.
	at      int
	before  rune // The last rendered character.
	bold    bool
	closed  bool // Bold has just ended.
	picture bool // The position is in the description of a picture.
}

// step renders the next element. It returns false if the rest is incomplete.
func (s *scanner) step() bool {
	rest := s.line[s.at:]
	r, size := utf8.DecodeRuneInString(rest)
	if s.closed && r != '*' {
		s.closed = false
		if east(r) {
			// Between ideographs, Slack shows ** literally.
			s.out.WriteString(gap)
		}
	}
	switch r {
	case '\\':
		return s.escaped(rest)
	case '`':
		return s.span(rest)
	case '<':
		return s.angle(rest)
	case '@':
		if s.partial && calling.MatchString(rest) {
			return false
		}
		s.emit("@", 1)
		if !word(s.before) && (called.MatchString(rest) || person.MatchString(rest)) {
			s.out.WriteString(gap)
		}
		s.before = '@'
		return true
	case '*':
		return s.stars(rest)
	case '!':
		if s.partial && len(rest) == 1 {
			return false
		}
		if strings.HasPrefix(rest, "![") {
			s.picture = true
			s.emit("[", 2)
			s.before = '['
			return true
		}
	case ']':
		return s.linked(rest)
	}
	s.emit(rest[:size], size)
	s.before = r
	return true
}

// emit writes text for the next n bytes.
func (s *scanner) emit(text string, n int) {
	s.out.WriteString(text)
	s.at += n
}

func (s *scanner) escaped(rest string) bool {
	if len(rest) == 1 {
		if s.partial {
			return false
		}
		s.emit(rest, 1)
		return true
	}
	switch next := rest[1]; {
	case next == '<':
		s.emit("&lt;", 2)
	case next == '@' || next >= utf8.RuneSelf:
		s.emit(`\`, 1)
	default:
		s.emit(rest[:2], 2)
	}
	s.before = '\\'
	return true
}

// span renders a code span, or backquotes that do not begin one.
func (s *scanner) span(rest string) bool {
	n := run(rest, '`')
	if s.partial && n == len(rest) {
		return false
	}
	for i := n; i < len(rest); {
		if rest[i] != '`' {
			i++
			continue
		}
		closing := run(rest[i:], '`')
		if s.partial && i+closing == len(rest) {
			return false
		}
		if closing == n {
			s.emit(rest[:n]+unmentioned(rest[n:i])+rest[i:i+n], i+n)
			s.before = '`'
			return true
		}
		i += closing
	}
	if s.partial {
		return false
	}
	s.emit(rest[:n], n)
	s.before = '`'
	return true
}

// angle renders a "<" as an entity, or an address in angle brackets.
func (s *scanner) angle(rest string) bool {
	if m := autolink.FindStringSubmatch(rest); m != nil {
		s.emit(strings.TrimPrefix(m[1], "mailto:"), len(m[0]))
		s.before = '>'
		return true
	}
	if s.partial && opened.MatchString(rest) {
		return false
	}
	s.emit("&lt;", 1)
	s.before = '<'
	return true
}

// linked renders the end of a link's text with its address. It omits pictures, and addresses that are neither web nor
// mail addresses.
func (s *scanner) linked(rest string) bool {
	if s.partial && len(rest) == 1 {
		return false
	}
	s.before = ']'
	switch {
	case strings.HasPrefix(rest, "]:"):
		s.emit("]"+gap+":", 2) // Prevents a link reference definition.
		return true
	case !strings.HasPrefix(rest, "]("):
		s.emit("]", 1)
		return true
	}
	end := closing(rest[1:])
	if end < 0 && s.partial {
		return false
	}
	picture := s.picture
	s.picture = false
	switch {
	case end < 0:
		s.emit("]"+gap+"(", 2)
	case picture:
		s.emit("]", 1+end)
	case webAddress.MatchString(rest[2:end]):
		s.emit(strings.ReplaceAll(rest[:1+end], "<", ""), 1+end)
	case anyScheme.MatchString(rest[2:end]):
		s.emit("]", 1+end)
	default:
		s.emit("]"+gap+"(", 2)
	}
	return true
}

// closing returns the length of the parenthesized text at the beginning of a text, or -1 if it is not closed.
func closing(text string) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

func (s *scanner) stars(rest string) bool {
	n := run(rest, '*')
	if s.partial && n == len(rest) {
		return false
	}
	if n == 2 {
		if !s.bold && east(s.before) {
			s.out.WriteString(gap)
		}
		s.closed, s.bold = s.bold, !s.bold
	}
	s.emit(rest[:n], n)
	s.before = '*'
	return true
}

// run returns the number of repetitions of c at the beginning of a text.
func run(text string, c byte) int {
	n := 0
	for n < len(text) && text[n] == c {
		n++
	}
	return n
}

// word reports whether an @ after this character is a part of a mail address.
func word(r rune) bool {
	return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// east reports whether a character belongs to Japanese text, which has no spaces between words.
func east(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r == 'ー' ||
		r >= '\u3000' && r <= '\u303f' || r >= '\uff00' && r <= '\uffef'
}
