package extract

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// builtinFormats are the number formats that files name by their ids alone, in the Japanese locale (ECMA-376 part 1,
// 18.8.30).
var builtinFormats = map[int]string{
	1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 5: `"¥"#,##0;"¥"-#,##0`, 6: `"¥"#,##0;"¥"-#,##0`,
	7: `"¥"#,##0.00;"¥"-#,##0.00`,
	8: `"¥"#,##0.00;"¥"-#,##0.00`, 9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?", 13: "# ??/??", 14: "yyyy/m/d",
	15: "d-mmm-yy",
	16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 22: "yyyy/m/d h:mm",
	27: "[$-411]ge.m.d", 28: `[$-411]ggge"年"m"月"d"日"`, 29: `[$-411]ggge"年"m"月"d"日"`, 30: "m/d/yy",
	31: `yyyy"年"m"月"d"日"`,
	32: `h"時"mm"分"`, 33: `h"時"mm"分"ss"秒"`, 34: `yyyy"年"m"月"`, 35: `m"月"d"日"`, 36: "[$-411]ge.m.d",
	37: "#,##0;-#,##0", 38: "#,##0;-#,##0", 39: "#,##0.00;-#,##0.00", 40: "#,##0.00;-#,##0.00",
	41: `#,##0;-#,##0;"-";@`, 42: `"¥"#,##0;"¥"-#,##0;"¥-";@`, 43: `#,##0.00;-#,##0.00;"-";@`,
	44: `"¥"#,##0.00;"¥"-#,##0.00;"¥-";@`,
	45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0", 48: "##0.0E+0", 49: "@", 50: "[$-411]ge.m.d",
	51: `[$-411]ggge"年"m"月"d"日"`,
	52: `yyyy"年"m"月"`, 53: `m"月"d"日"`, 54: `[$-411]ggge"年"m"月"d"日"`, 55: `yyyy"年"m"月"`, 56: `m"月"d"日"`,
	57: "[$-411]ge.m.d",
	58: `[$-411]ggge"年"m"月"d"日"`,
}

// maxFormat bounds a format, in bytes. Excel takes 255 characters.
const maxFormat = 1024

// numberFormat is how numbers are shown, up to four ways: by sign, by conditions, and for text.
type numberFormat struct{ sections []formatSection }

// formatSection is one of them.
type formatSection struct {
	tokens    []formatToken
	condition string // "<", "<=", "=", "<>", ">=", ">", or "".
	operand   float64
	isDate    bool
	isText    bool
	digits    byte // '1' to '4' for the signs that stand for digits ([DBNum1]), 0 for the usual ones.
	japanese  bool // The names of days and months are.
	gannen    bool // The first year of an era is 元年.
}

// formatToken is a piece of a format: a literal or a placeholder.
type formatToken struct {
	kind byte // One of those below, or the letter of a part of a date.
	text string
}

const (
	tokenLiteral = '"'
	tokenDigit   = '0' // 0, # or ?.
	tokenPoint   = '.'
	tokenComma   = ','
	tokenPercent = '%'
	tokenExp     = 'E'
	tokenSlash   = '/' // Of a fraction.
	tokenGeneral = 'G'
	tokenText    = '@'
	tokenElapsed = '[' // [h], [mm], [ss].
	tokenHalfDay = 'A' // AM/PM, A/P, 午前/午後.
	tokenMinute  = 'n' // An m behind hours or before seconds.
	tokenMillis  = 'S' // The digits behind the point of seconds.
)

// parseNumberFormat reads the code of a format.
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

// splitSections cuts a code at its semicolons, but for quoted ones.
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

// halfDays are the ways to write the half of a day.
var halfDays = []string{"AM/PM", "am/pm", "A/P", "a/p", "午前/午後", "上午/下午"}

// parseToken takes a token from the start of code and returns its length.
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
	case '_', '*': // The width of a character, and a character that fills.
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

// datePart takes a run of one letter.
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

// bracket reads what stands between brackets: a condition, a currency, a language, kinds of digits, elapsed time, a
// color.
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
	case name == "f800": // The long date of the system.
		*s = parseSection(`yyyy"年"m"月"d"日"`)
		s.condition = systemFormat
	case name == "f400": // Its time.
		*s = parseSection("h:mm:ss")
		s.condition = systemFormat
	}
}

// systemFormat marks a section whose tokens are those of the system, whatever follows in the code.
const systemFormat = "system"

// settle tells minutes from months, and points of seconds and slashes of dates from those of numbers.
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

// nextPart returns the letter of the next part of a date behind a token.
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

// number returns a number as it is shown.
func (f *numberFormat) number(v float64, is1904 bool) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	s, negative := f.section(v)
	switch {
	case s == nil:
		return generalNumber(v)
	case s.isDate:
		return s.date(v, is1904)
	}
	text := s.number(math.Abs(v))
	if v < 0 && !negative && strings.ContainsFunc(text, func(r rune) bool { return r >= '1' && r <= '9' || r > 0x7F }) {
		text = "-" + text
	}
	return strings.TrimSpace(text)
}

// text returns a text as it is shown.
func (f *numberFormat) text(v string) string {
	var s *formatSection
	switch n := len(f.sections); {
	case n == 4:
		s = &f.sections[3]
	case n > 0 && f.sections[n-1].isText:
		s = &f.sections[n-1]
	default:
		return v
	}
	var out strings.Builder
	for _, t := range s.tokens {
		switch t.kind {
		case tokenText:
			out.WriteString(v)
		case tokenLiteral:
			out.WriteString(t.text)
		}
	}
	return strings.TrimSpace(out.String())
}

// section returns how a number is shown, nil for as it is. negative says that the sign is in the section.
func (f *numberFormat) section(v float64) (s *formatSection, negative bool) {
	numeric := f.sections
	if n := len(numeric); n == 4 || n > 1 && numeric[n-1].isText {
		numeric = numeric[:n-1]
	}
	conditions := slices.ContainsFunc(numeric, func(s formatSection) bool { return s.condition != "" })
	for i := range numeric {
		s := &numeric[i]
		last := i == len(numeric)-1
		switch {
		case s.condition != "":
			if s.holds(v) {
				return s, s.condition[0] == '<' && s.operand <= 0
			}
		case last, !conditions && i == 0 && (v > 0 || v == 0 && len(numeric) == 2):
			return s, i == 1
		case i == 1 && v < 0:
			return s, true
		}
	}
	return nil, false
}

func (s *formatSection) holds(v float64) bool {
	switch s.condition {
	case "<":
		return v < s.operand
	case "<=":
		return v <= s.operand
	case ">":
		return v > s.operand
	case ">=":
		return v >= s.operand
	case "=":
		return v == s.operand
	}
	return v != s.operand
}

// number writes a number that is not negative.
func (s *formatSection) number(v float64) string {
	p := s.pattern()
	v *= math.Pow(100, float64(p.percents)) / math.Pow(1000, float64(p.scale))
	if math.IsInf(v, 0) {
		return generalNumber(v)
	}
	switch {
	case p.exponent >= 0:
		return s.scientific(v, p)
	case p.slash >= 0 && p.first < p.slash:
		return s.fraction(v)
	}
	whole, decimals, _ := strings.Cut(roundDecimal(v, p.decimals), ".")
	if whole == "0" && p.first >= 0 {
		whole = ""
	}
	var out strings.Builder
	left, seen, inDecimals := p.wholes, 0, false
	for i, t := range s.tokens {
		switch t.kind {
		case tokenLiteral, tokenPercent, tokenSlash:
			out.WriteString(t.text)
		case tokenGeneral:
			out.WriteString(s.withDigits(generalNumber(v), true))
		case tokenText:
			out.WriteString(generalNumber(v))
		case tokenPoint:
			inDecimals = true
			if i >= p.first && significantDecimals(decimals, s.tokens[i+1:]) {
				out.WriteByte('.')
			}
		case tokenDigit:
			if inDecimals {
				writeDecimal(&out, t.text, decimals, seen)
				seen++
				continue
			}
			out.WriteString(s.withDigits(wholeDigits(whole, left, p, t.text), false))
			left--
		}
	}
	return out.String()
}

// wholeDigits returns the digits that take the place of the placeholder with left ones from it to the point. The first
// takes all that are too many.
func wholeDigits(whole string, left int, p formatPattern, placeholder string) string {
	from, to := len(whole)-left, len(whole)-left+1
	if left == p.wholes {
		from = 0
	}
	digits := ""
	switch {
	case to > 0:
		digits = whole[max(from, 0):to]
	case placeholder == "0":
		digits = "0"
	}
	if !p.grouped {
		return digits
	}
	var out strings.Builder
	for i := range len(digits) {
		out.WriteByte(digits[i])
		if rest := left - 1 + len(digits) - 1 - i; rest > 0 && rest%3 == 0 {
			out.WriteByte(',')
		}
	}
	return out.String()
}

// writeDecimal writes the digit at a place behind the point, none if it is a zero that is not to be shown.
func writeDecimal(out *strings.Builder, placeholder, decimals string, at int) {
	if at >= len(decimals) {
		return
	}
	if placeholder != "0" && strings.Trim(decimals[at:], "0") == "" {
		return
	}
	out.WriteByte(decimals[at])
}

// significantDecimals reports whether something is shown behind the point.
func significantDecimals(decimals string, tokens []formatToken) bool {
	at := 0
	for _, t := range tokens {
		if t.kind == tokenDigit {
			if t.text == "0" || at < len(decimals) && strings.Trim(decimals[at:], "0") != "" {
				return true
			}
			at++
		}
	}
	return at == 0
}

// formatPattern is what the placeholders of a section ask for.
type formatPattern struct {
	wholes   int // Placeholders before the point.
	decimals int // And behind it.
	percents int
	scale    int  // Commas that divide by a thousand.
	grouped  bool // A comma stands between digits.
	first    int  // The index of the first placeholder, -1 if there is none.
	slash    int  // That of the slash of a fraction, -1 if there is none.
	exponent int  // That of the exponent, -1 if there is none.
}

func (s *formatSection) pattern() formatPattern {
	p := formatPattern{first: -1, slash: -1, exponent: -1}
	inDecimals, commas := false, 0
	for i, t := range s.tokens {
		switch t.kind {
		case tokenDigit:
			if p.first < 0 {
				p.first = i
			}
			p.grouped = p.grouped || commas > 0 && !inDecimals
			commas = 0
			switch {
			case p.exponent >= 0:
			case inDecimals:
				p.decimals++
			default:
				p.wholes++
			}
		case tokenComma:
			if p.first >= 0 {
				commas++
			}
		case tokenPoint:
			inDecimals = true
			p.scale += commas
			commas = 0
		case tokenPercent:
			p.percents++
		case tokenSlash:
			p.slash = i
		case tokenExp:
			p.exponent = i
		}
	}
	p.scale += commas
	return p
}

func (s *formatSection) scientific(v float64, p formatPattern) string {
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'E', p.decimals, 64), "E")
	sign := ""
	if exponent[0] == '-' || s.tokens[p.exponent].text[1] == '+' {
		sign = exponent[:1]
	}
	width := s.digitsFrom(p.exponent + 1)
	digits := strings.TrimLeft(exponent[1:], "0")
	return mantissa + "E" + sign + strings.Repeat("0", max(width-len(digits), 0)) + digits
}

// fraction writes a number as a whole one and the nearest fraction.
func (s *formatSection) fraction(v float64) string {
	slash := slices.IndexFunc(s.tokens, func(t formatToken) bool { return t.kind == tokenSlash })
	most, fixed := 9, 0
	if n := s.digitsFrom(slash + 1); n > 1 {
		most = 99
	}
	if slash+1 < len(s.tokens) && s.tokens[slash+1].kind == tokenLiteral {
		var digits strings.Builder
		for _, t := range s.tokens[slash+1:] {
			digits.WriteString(t.text)
		}
		fixed, _ = strconv.Atoi(digits.String())
	}
	whole, part := math.Modf(v)
	best, over := 0.0, 1
	for d := 1; d <= most; d++ {
		if fixed > 0 && fixed <= 1000 {
			d, most = fixed, fixed
		}
		n := math.Round(part * float64(d))
		if d == 1 || d == fixed || math.Abs(n/float64(d)-part) < math.Abs(best/float64(over)-part)-1e-12 {
			best, over = n, d
		}
	}
	if int(best) == over {
		whole, best = whole+1, 0
	}
	switch {
	case best == 0:
		return generalNumber(whole)
	case whole == 0:
		return generalNumber(best) + "/" + strconv.Itoa(over)
	}
	return generalNumber(whole) + " " + generalNumber(best) + "/" + strconv.Itoa(over)
}

// withDigits writes digits in the signs that the section asks for. counted says that they are a number to be read
// aloud.
func (s *formatSection) withDigits(digits string, counted bool) string {
	if s.digits == 0 {
		return digits
	}
	signs := []rune("〇一二三四五六七八九")
	switch s.digits {
	case '2':
		signs = []rune("〇壱弐参四伍六七八九")
	case '3', '4':
		signs = []rune("０１２３４５６７８９")
	}
	if n, err := strconv.Atoi(digits); err == nil && counted && s.digits < '3' && n <= 1_000_000 {
		if s.digits == '2' {
			return kanjiNumber(n, signs, []string{"", "拾", "百", "千"}, "万", true)
		}
		return kanjiNumber(n, signs, []string{"", "十", "百", "千"}, "万", false)
	}
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return signs[r-'0']
		}
		return r
	}, digits)
}

// roundDecimal writes a number that is not negative with n decimals. Halves are rounded up, by the fifteen digits that
// a person sees: 1.005 is a half, though its binary form is less.
func roundDecimal(v float64, n int) string {
	if v >= 1e15 {
		return strconv.FormatFloat(v, 'f', n, 64)
	}
	seen, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 15, 64), 64)
	text := strconv.FormatFloat(seen, 'f', -1, 64)
	whole, decimals, _ := strings.Cut(text, ".")
	if len(decimals) <= n {
		if n == 0 {
			return whole
		}
		return whole + "." + decimals + strings.Repeat("0", n-len(decimals))
	}
	up := decimals[n] >= '5'
	digits := []byte(whole + decimals[:n])
	for i := len(digits) - 1; up && i >= 0; i-- {
		if digits[i]++; digits[i] <= '9' {
			up = false
		} else {
			digits[i] = '0'
		}
	}
	if up {
		digits = append([]byte{'1'}, digits...)
	}
	at := len(digits) - n
	if n == 0 {
		return string(digits)
	}
	return string(digits[:at]) + "." + string(digits[at:])
}

// generalNumber writes a number with the digits that a person sees: fifteen at most, and an exponent only where it is
// needed.
func generalNumber(f float64) string {
	if size := math.Abs(f); size != 0 && (size >= 1e15 || size < 1e-9) {
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'E', 5, 64), "E")
		if strings.Contains(mantissa, ".") {
			mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
		}
		return mantissa + "E" + exponent
	}
	f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'g', 15, 64), 64)
	return strconv.FormatFloat(f, 'f', -1, 64)
}
