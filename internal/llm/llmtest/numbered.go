package llmtest

import (
	"time"
	"unicode/utf8"
)

// A numbered token is two Chinese characters, as long as the tokens of models for Japanese. They encode the token's
// number. From the text alone a client can detect missing and repeated tokens, whatever events the text was divided
// into.
const (
	TokenBytes = 6       // Bytes of a numbered token.
	digits     = 1 << 14 // All digits are ideographs of three bytes.
	firstDigit = 0x4E00  // 一
)

// ClockTokens is the number of tokens at the beginning of a numbered text that encode the time instead of their
// number.
const ClockTokens = 2

// AppendToken appends numbered token n, which must be at least 0 and less than 2^28.
func AppendToken(dst []byte, n int) []byte {
	dst = utf8.AppendRune(dst, rune(firstDigit+n/digits))
	return utf8.AppendRune(dst, rune(firstDigit+n%digits))
}

// ReadToken returns the number of the token at the beginning of a text, or -1.
func ReadToken(text []byte) int {
	high, size := utf8.DecodeRune(text)
	low, _ := utf8.DecodeRune(text[size:])
	high, low = high-firstDigit, low-firstDigit
	if high < 0 || high >= digits || low < 0 || low >= digits {
		return -1
	}
	return int(high)*digits + int(low)
}

// NumberedText returns a text of the given number of tokens, at least ClockTokens. The first tokens encode the due time
// of the first token in microseconds. The others encode their number, counted from the first.
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

// ReadClock returns the time encoded by the first two tokens of a numbered text.
func ReadClock(first, second int) time.Time {
	return time.UnixMicro(int64(first)*digits*digits + int64(second))
}
