package extract

import (
	"math"
	"strconv"
	"strings"
)

// withDigits writes digits in the numerals that the section requests. With counted, it writes them as a spoken number.
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

// roundDecimal formats a non-negative number with n decimals. It rounds half up based on the fifteen digits that Excel
// displays: 1.005 counts as a half, although its binary value is less.
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

// generalNumber formats a number like Excel's format General: with at most fifteen digits, and with an exponent only if
// necessary.
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
