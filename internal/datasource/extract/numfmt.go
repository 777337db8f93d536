package extract

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// builtinFormats are the predefined number formats by id, in the Japanese locale (ECMA-376 part 1, 18.8.30).
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

// maxFormat is the largest length of a format code, in bytes. Excel allows 255 characters.
const maxFormat = 1024

// numberFormat is a parsed format code of up to four sections, which are selected by sign, by conditions, or for text.
type numberFormat struct{ sections []formatSection }

// formatSection is one section of a format code.
type formatSection struct {
	tokens    []formatToken
	condition string // "<", "<=", "=", "<>", ">=", ">", or "".
	operand   float64
	isDate    bool
	isText    bool
	digits    byte // '1' to '4' for [DBNum1] to [DBNum4], 0 for ordinary digits.
	japanese  bool // Names of days and months are Japanese.
	gannen    bool // The first year of an era is written 元年.
}

// formatToken is a piece of a format: a literal or a placeholder.
type formatToken struct {
	kind byte // One of the constants below, or the letter of a date part.
	text string
}

const (
	tokenLiteral = '"'
	tokenDigit   = '0' // 0, # or ?.
	tokenPoint   = '.'
	tokenComma   = ','
	tokenPercent = '%'
	tokenExp     = 'E'
	tokenSlash   = '/' // The slash of a fraction.
	tokenGeneral = 'G'
	tokenText    = '@'
	tokenElapsed = '[' // [h], [mm], [ss].
	tokenHalfDay = 'A' // AM/PM, A/P, 午前/午後.
	tokenMinute  = 'n' // An m after hours or before seconds.
	tokenMillis  = 'S' // Decimals of seconds.
)

// number formats a number.
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

// text formats a text.
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

// section returns the section for a number, nil for the format General. negative reports whether the section itself
// contains the sign.
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

// number formats a non-negative number.
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

// wholeDigits returns the digits for a placeholder. left is the number of placeholders from this one to the decimal
// point. The first placeholder gets all excess digits.
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

// writeDecimal writes the decimal at an index. It writes nothing for a trailing zero with an optional placeholder.
func writeDecimal(out *strings.Builder, placeholder, decimals string, at int) {
	if at >= len(decimals) {
		return
	}
	if placeholder != "0" && strings.Trim(decimals[at:], "0") == "" {
		return
	}
	out.WriteByte(decimals[at])
}

// significantDecimals reports whether any decimals are displayed.
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

// formatPattern summarizes the placeholders of a section.
type formatPattern struct {
	wholes   int // Placeholders before the decimal point.
	decimals int // Placeholders after the decimal point.
	percents int
	scale    int  // Commas that each divide by a thousand.
	grouped  bool // Thousands separators are displayed.
	first    int  // The index of the first placeholder, -1 if there is none.
	slash    int  // The index of the slash of a fraction, -1 if there is none.
	exponent int  // The index of the exponent, -1 if there is none.
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

// fraction formats a number as a whole number and the nearest fraction.
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
