package offline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// unit is a run of text between intended line breaks, with its lines joined.
type unit struct {
	text      string
	kind      unitKind
	paragraph int
}

// unitSplitter reads a text line by line. A line break may be intended or, as in mails and PDF texts with hard line
// breaks, without meaning.
type unitSplitter struct {
	units     []unit
	current   []string // Lines of the unit being read.
	kind      unitKind
	paragraph int
	width     int // Columns of the widest line of the paragraph.
	last      int // Columns of the last line of current.
	fenced    bool
}

// splitUnits splits a text into units.
func splitUnits(text string) []unit {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n\n", "\f", "\n\n", "\u200b", "",
		"\ufeff", "").
		Replace(strings.ToValidUTF8(text, "\uFFFD"))
	var s unitSplitter
	lines := strings.Split(text, "\n")
	end := len(lines) // The last non-empty line is lines[end-1].
	for end > 0 && isBreak(lines[end-1]) {
		end--
	}
	for i, line := range lines[:end] {
		if i == 0 || isBreak(lines[i-1]) {
			s.width = widestOf(lines[i:end])
		}
		alone := (i == 0 || isBreak(lines[i-1])) && i+1 < end && isBreak(lines[i+1])
		s.line(line, alone, i+1 < end)
	}
	s.flush()
	return s.units
}

// line reads one line. alone means that the adjacent lines are empty, followed that text follows.
func (s *unitSplitter) line(raw string, alone, followed bool) {
	line := strings.TrimSpace(raw)
	if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
		s.flush()
		s.fenced = !s.fenced
		return
	}
	if s.fenced {
		return
	}
	if isBreak(line) {
		s.flush()
		s.paragraph++
		return
	}
	if strings.HasPrefix(line, ">") { // Quoted mails are treated as ordinary text.
		line = strings.TrimSpace(strings.TrimLeft(line, "> "))
		if line == "" {
			s.flush()
			return
		}
	}
	width := columns(line)
	switch {
	case isTable(line):
		s.flush()
		s.add(line, kindTable, width)
		s.flush()
	case isMarkedHeading(line):
		s.flush()
		s.add(trimHeading(line), kindHeading, width)
		s.flush()
	case bulletLength(line) > 0:
		s.flush()
		s.add(strings.TrimSpace(line[bulletLength(line):]), kindBullet, width)
	case len(s.current) > 0 && s.joins(raw, line):
		s.add(line, s.kind, width)
	default:
		s.flush()
		s.add(line, kindProse, width)
		if followed && s.isBareHeading(line, alone) {
			s.kind = kindHeading
			s.flush()
		}
	}
}

// joins reports whether a line continues the previous unit.
func (s *unitSplitter) joins(raw, line string) bool {
	if strings.HasPrefix(raw, "　") || isLabelled(line) {
		return false // An indent begins a paragraph; "日時：" begins an entry.
	}
	previous := s.current[len(s.current)-1]
	last, _ := utf8.DecodeLastRuneInString(previous)
	if strings.ContainsRune("、，,（「『(・／/＝=〜～→-－–", last) {
		return true
	}
	if openBracket(previous) && len(s.current) < 6 {
		return true
	}
	if strings.ContainsRune("：:", last) {
		return false
	}
	if isMark(last) || isClosing(last) && endsQuoted(previous) {
		return false
	}
	const narrow = 30 // In columns. Prose is never wrapped at less than 15 Japanese characters.
	return s.width >= narrow && s.last*10 >= s.width*7
}

// isBareHeading reports whether a line is a heading by its form alone: short, without final punctuation, and far from
// the width at which its paragraph is wrapped.
func (s *unitSplitter) isBareHeading(line string, alone bool) bool {
	last, _ := utf8.DecodeLastRuneInString(line)
	if isMark(last) || strings.ContainsRune("、，,：:；;」", last) || isLabelled(line) {
		return false
	}
	length := utf8.RuneCountInString(line)
	if numbered(line) || alone && !endsPolitely(line) {
		return length <= maxHeading
	}
	return length <= 20 && s.width >= 30 && s.last*2 < s.width && !endsPolitely(line)
}

func (s *unitSplitter) add(line string, kind unitKind, width int) {
	if line == "" {
		return
	}
	s.current = append(s.current, line)
	s.kind = kind
	s.last = width
}

func (s *unitSplitter) flush() {
	if len(s.current) == 0 {
		return
	}
	var b strings.Builder
	for i, line := range s.current {
		if i > 0 && needsSpace(s.current[i-1], line) {
			b.WriteByte(' ')
		}
		b.WriteString(line)
	}
	s.units = append(s.units, unit{text: b.String(), kind: s.kind, paragraph: s.paragraph})
	s.current = s.current[:0]
}

// needsSpace reports whether two lines are joined by a space, as in languages with spaces between words.
func needsSpace(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(after)
	if last == '-' && isASCIIAlnum(first) {
		return false
	}
	return !isWide(last) && !isWide(first)
}

// isBreak reports whether a line is empty, or a rule: ---, ＝＝＝, ━━━.
func isBreak(line string) bool {
	return strings.Trim(line, " \t　-=*_~＝－―─━═＊＿…+.·") == ""
}

// widestOf returns the columns of the widest line up to the next break.
func widestOf(lines []string) int {
	width := 0
	for _, line := range lines {
		if isBreak(line) {
			break
		}
		width = max(width, columns(strings.TrimSpace(line)))
	}
	return width
}

// columns returns the width of a line on a screen where Japanese characters are two columns wide.
func columns(line string) int {
	n := 0
	for _, r := range line {
		switch {
		case isExtender(r):
		case isWide(r):
			n += 2
		default:
			n++
		}
	}
	return n
}

// isWide reports whether r is as wide as a Japanese character.
func isWide(r rune) bool {
	return r >= 0x1100 && (r <= 0x115F || r >= 0x2E80 && r <= 0xA4CF || r >= 0xAC00 && r <= 0xD7A3 ||
		r >= 0xF900 && r <= 0xFAFF || r >= 0xFE30 && r <= 0xFE6F || r >= 0xFF00 && r <= 0xFF60 || r >= 0xFFE0 &&
		r <= 0xFFE6 ||
		r >= 0x1F300)
}

func isTable(line string) bool {
	return strings.HasPrefix(line, "|") || strings.Count(line, "\t") >= 2
}

// isMarkedHeading recognizes headings by their marks: Markdown's, 【…】, and ■ before a short line.
func isMarkedHeading(line string) bool {
	if hashes := len(line) - len(strings.TrimLeft(line, "#")); hashes > 0 && hashes <= 6 &&
		strings.HasPrefix(line[hashes:], " ") {
		return true
	}
	if utf8.RuneCountInString(line) > maxHeading {
		return false
	}
	if rest, ok := strings.CutPrefix(line, "【"); ok {
		return strings.HasSuffix(line, "】") && strings.Count(rest, "】") == 1
	}
	first, _ := utf8.DecodeRuneInString(line)
	last, _ := utf8.DecodeLastRuneInString(line)
	return strings.ContainsRune("■◆▼★◎□◇▽☆", first) && !isMark(last) && !endsPolitely(line)
}

func trimHeading(line string) string {
	line = strings.Trim(line, "#■◆▼★◎□◇▽☆ 　")
	if strings.HasPrefix(line, "【") && strings.HasSuffix(line, "】") {
		line = strings.TrimSuffix(strings.TrimPrefix(line, "【"), "】")
	}
	return strings.TrimSpace(line)
}

// numbered reports whether a line begins like the headings of rules and reports: 第3条, 2.1 目的, 一、.
func numbered(line string) bool {
	rest, ok := strings.CutPrefix(line, "第")
	if ok {
		rest = strings.TrimLeftFunc(rest, func(r rune) bool {
			return unicode.IsDigit(r) || strings.ContainsRune("一二三四五六七八九十百", r)
		})
		first, _ := utf8.DecodeRuneInString(rest)
		return strings.ContainsRune("章節条編部項", first)
	}
	digits := len(line) - len(strings.TrimLeft(line, "0123456789."))
	return digits >= 2 && strings.Contains(line[:digits], ".") && line[0] != '.'
}

// bulletLength returns the length of a bullet or an item's number in bytes, or 0.
func bulletLength(line string) int {
	first, size := utf8.DecodeRuneInString(line)
	rest := line[size:]
	switch {
	case strings.ContainsRune("・•◦‣●○◆◇■□▪▫▶►▷✓✔☑※→⇒●", first):
		return size
	case strings.ContainsRune("-*+–—－", first):
		if strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, "　") || strings.HasPrefix(rest, "\t") {
			return size
		}
		return 0
	case first >= '①' && first <= '⑳':
		return size
	}
	return numberLength(line)
}

// numberLength is bulletLength for 1. (1) 1) １． ア） a) and the like.
func numberLength(line string) int {
	body := strings.TrimLeft(line, "(（")
	opened := len(line) - len(body)
	rest := strings.TrimLeftFunc(body, unicode.IsDigit)
	if n := len(body) - len(rest); n == 0 || n > 9 {
		first, size := utf8.DecodeRuneInString(body)
		if !strings.ContainsRune("アイウエオカキクケコabcdefghABCDEFGH", first) {
			return 0
		}
		rest = body[size:]
		if !strings.HasPrefix(rest, ")") && !strings.HasPrefix(rest, "）") {
			return 0
		}
	}
	sign, size := utf8.DecodeRuneInString(rest)
	after := rest[min(size, len(rest)):]
	end := len(line) - len(after)
	switch {
	case sign == ')' || sign == '）':
		return end
	case opened > 0:
		return 0
	case sign == '.' && strings.HasPrefix(after, " "), sign == '．' && !startsWithDigit(after), sign == '、' &&
		len(rest) != len(body):
		return end
	default:
		return 0
	}
}

func startsWithDigit(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsDigit(r)
}

// isLabelled reports whether a line is an entry: a short label, a colon and a value.
func isLabelled(line string) bool {
	for i, r := range line {
		if r == '：' || r == ':' {
			label := line[:i]
			return i > 0 && utf8.RuneCountInString(label) <= 10 && !strings.ContainsAny(label, "。、「（ ") &&
				!strings.HasPrefix(line[i:], "://")
		}
		if i > 40 {
			break
		}
	}
	return false
}

// openBracket reports whether a quotation mark is not closed in the line.
func openBracket(line string) bool {
	return strings.Count(line, "「") > strings.Count(line, "」") || strings.Count(line, "（") > strings.Count(line, "）")
}

// endsQuoted reports whether a line ends with final punctuation inside brackets: …です。）
func endsQuoted(line string) bool {
	trimmed := strings.TrimRightFunc(line, isClosing)
	last, _ := utf8.DecodeLastRuneInString(trimmed)
	return isMark(last)
}

// endsPolitely reports whether a line ends like a sentence without a full stop.
func endsPolitely(line string) bool {
	for _, ending := range []string{"です", "ます", "ました", "ません", "ください", "下さい", "でした", "だった", "である", "ましょう"} {
		if strings.HasSuffix(line, ending) {
			return true
		}
	}
	return false
}
