package extract

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// parseNumberFormat parses a format code.
func parseNumberFormat(code string) *numberFormat {
	f := new(numberFormat)
	if code == "" || len(code) > maxFormat {
		return f
	}
	for _, section := range splitSections(code) {
		f.sections = append(f.sections, parseSection(section))
	}
	if len(f.sections) > 4 {
		f.sections = f.sections[:4]
	}
	return f
}

// splitSections splits a code at its unquoted semicolons.
func splitSections(code string) []string {
	var out []string
	start, quoted := 0, false
	for i := 0; i < len(code); i++ {
		switch c := code[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\\' || c == '_' || c == '*':
			i++
		case c == ';':
			out = append(out, code[start:i])
			start = i + 1
		}
	}
	return append(out, code[min(start, len(code)):])
}

func parseSection(code string) (s formatSection) {
	for code != "" {
		n := s.parseToken(code)
		code = code[min(n, len(code)):]
	}
	s.settle()
	return s
}

// halfDays are the notations for AM and PM.
var halfDays = []string{"AM/PM", "am/pm", "A/P", "a/p", "午前/午後", "上午/下午"}

// parseToken parses the first token of code and returns its length.
func (s *formatSection) parseToken(code string) int {
	add := func(kind byte, text string) { s.tokens = append(s.tokens, formatToken{kind, text}) }
	for _, half := range halfDays {
		if strings.HasPrefix(code, half) {
			add(tokenHalfDay, half)
			return len(half)
		}
	}
	if len(code) >= 7 && strings.EqualFold(code[:7], "General") {
		add(tokenGeneral, "")
		return 7
	}
	r, size := utf8.DecodeRuneInString(code)
	switch c := code[0]; c {
	case '"':
		text, _, _ := strings.Cut(code[1:], `"`)
		add(tokenLiteral, text)
		return len(text) + 2
	case '\\':
		_, next := utf8.DecodeRuneInString(code[1:])
		add(tokenLiteral, code[1:1+next])
		return 1 + next
	case '_', '*': // The width of a character, or a fill character.
		_, next := utf8.DecodeRuneInString(code[1:])
		return 1 + next
	case '[':
		text, _, _ := strings.Cut(code[1:], "]")
		s.bracket(text)
		return len(text) + 2
	case '0', '#', '?':
		add(tokenDigit, code[:1])
	case '.', ',', '%', '@', '/':
		add(c, code[:1])
	case 'E', 'e':
		if len(code) > 1 && (code[1] == '+' || code[1] == '-') {
			add(tokenExp, code[:2])
			return 2
		}
		return s.datePart(code)
	case 'y', 'Y', 'm', 'M', 'd', 'D', 'h', 'H', 's', 'S', 'g', 'G', 'a', 'A', 'r', 'R':
		return s.datePart(code)
	default:
		add(tokenLiteral, string(r))
	}
	return size
}

// datePart parses a run of one letter.
func (s *formatSection) datePart(code string) int {
	n := 1
	for n < len(code) && code[n]|0x20 == code[0]|0x20 {
		n++
	}
	letter := code[0] | 0x20
	if letter == 'a' && n < 3 {
		s.tokens = append(s.tokens, formatToken{tokenLiteral, code[:n]})
		return n
	}
	s.tokens = append(s.tokens, formatToken{letter, strings.Repeat(string(rune(letter)), n)})
	s.isDate = true
	return n
}

// bracket parses the text in brackets: a condition, a currency, a language, a kind of digits, elapsed time, or a color.
func (s *formatSection) bracket(text string) {
	lower := strings.ToLower(text)
	switch {
	case text == "":
	case strings.Trim(lower, "h") == "" || strings.Trim(lower, "m") == "" || strings.Trim(lower, "s") == "":
		s.tokens = append(s.tokens, formatToken{tokenElapsed, lower})
		s.isDate = true
	case text[0] == '$':
		currency, language, _ := strings.Cut(text[1:], "-")
		if currency != "" {
			s.tokens = append(s.tokens, formatToken{tokenLiteral, currency})
		}
		s.language(strings.ToLower(language))
	case strings.HasPrefix(lower, "dbnum") && len(lower) == 6:
		s.digits = lower[5]
	case strings.ContainsRune("<>=", rune(text[0])):
		n := 1
		if len(text) > 1 && strings.ContainsRune(">=", rune(text[1])) {
			n = 2
		}
		if operand, err := strconv.ParseFloat(strings.TrimSpace(text[n:]), 64); err == nil {
			s.condition, s.operand = text[:n], operand
		}
	}
}

func (s *formatSection) language(name string) {
	s.gannen = strings.Contains(name, "gannen")
	switch {
	case strings.HasSuffix(name, "411"), strings.HasPrefix(name, "ja"):
		s.japanese = true
	case name == "f800": // The system's long date format.
		*s = parseSection(`yyyy"年"m"月"d"日"`)
		s.condition = systemFormat
	case name == "f400": // The system's time format.
		*s = parseSection("h:mm:ss")
		s.condition = systemFormat
	}
}

// systemFormat marks a section with a format of the system. The section ignores the rest of the code.
const systemFormat = "system"

// settle distinguishes minutes from months, and the points and slashes of dates from those of numbers.
func (s *formatSection) settle() {
	if s.condition == systemFormat {
		s.condition = ""
		end := 6
		if s.tokens[0].kind == 'h' {
			end = 5
		}
		s.tokens = s.tokens[:end]
	}
	last := byte(0)
	for i := range s.tokens {
		t := &s.tokens[i]
		s.isText = s.isText || t.kind == tokenText
		if !s.isDate {
			continue
		}
		switch t.kind {
		case 'm':
			if len(t.text) <= 2 && (last == 'h' || s.nextPart(i) == 's') {
				t.kind = tokenMinute
			}
		case tokenPoint:
			if n := s.digitsFrom(i + 1); n > 0 && (last == 's') {
				t.kind, t.text = tokenMillis, strings.Repeat("0", n)
				s.tokens = slices.Delete(s.tokens, i+1, i+1+n)
				s.settle()
				return
			}
			t.kind = tokenLiteral
		case tokenSlash, tokenComma, tokenPercent, tokenDigit:
			t.kind = tokenLiteral
		}
		switch {
		case t.kind == tokenElapsed:
			last = t.text[0]
		case t.kind >= 'a' && t.kind <= 'z' || t.kind == tokenMinute:
			last = t.kind
		}
	}
}

// nextPart returns the letter of the next date part after a token.
func (s *formatSection) nextPart(i int) byte {
	for _, t := range s.tokens[i+1:] {
		switch {
		case t.kind == tokenElapsed:
			return t.text[0]
		case t.kind >= 'a' && t.kind <= 'z':
			return t.kind
		}
	}
	return 0
}

func (s *formatSection) digitsFrom(i int) int {
	n := 0
	for i+n < len(s.tokens) && s.tokens[i+n].kind == tokenDigit {
		n++
	}
	return n
}
