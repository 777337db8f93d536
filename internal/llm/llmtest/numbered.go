package llmtest

import (
	"time"
	"unicode/utf8"
)

// A numbered token is two Chinese characters, as long as what models send for Japanese. Together they spell the token's
// number, so that a client can tell from the text alone which tokens it lacks and which came twice, however the text
// was cut into events.
const (
	TokenBytes = 6       // Bytes of a numbered token.
	digits     = 1 << 14 // All digits are ideographs of three bytes.
	firstDigit = 0x4E00  // 一
)

// ClockTokens is how many tokens at the beginning of a numbered text tell the time instead of their number.
const ClockTokens = 2

// AppendToken appends numbered token n, which is not negative and less than 2^28.
func AppendToken(dst []byte, n int) []byte {
	dst = utf8.AppendRune(dst, rune(firstDigit+n/digits))
	return utf8.AppendRune(dst, rune(firstDigit+n%digits))
}

// ReadToken returns the number that the token at the beginning of a text spells, or -1.
func ReadToken(text []byte) int {
	high, size := utf8.DecodeRune(text)
	low, _ := utf8.DecodeRune(text[size:])
	high, low = high-firstDigit, low-firstDigit
	if high < 0 || high >= digits || low < 0 || low >= digits {
		return -1
	}
	return int(high)*digits + int(low)
}

// NumberedText returns a text of so many tokens, at least ClockTokens. The first ones tell when its first token was
// due, to a microsecond; the others spell their number, counted from the first.
func NumberedText(tokens int, due time.Time) []byte {
	const clock = digits * digits
	text := make([]byte, 0, max(tokens, ClockTokens)*TokenBytes)
	text = AppendToken(text, int(due.UnixMicro()/clock))
	text = AppendToken(text, int(due.UnixMicro()%clock))
	for n := ClockTokens; n < tokens; n++ {
		text = AppendToken(text, n)
	}
	return text
}

// ReadClock returns the time that the first two tokens of a numbered text tell.
func ReadClock(first, second int) time.Time {
	return time.UnixMicro(int64(first)*digits*digits + int64(second))
}
