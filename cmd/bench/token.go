package main

import (
	"strconv"
	"unicode/utf8"
)

// A token is two Chinese characters, as long as what models send for Japanese. Together they spell the token's number,
// so that a client can tell from the text alone which tokens it lacks and which came twice, however the text was cut into
// events.
const (
	firstDigit = 0x4E00  // 一
	base       = 1 << 14 // All digits are ideographs of three bytes.
	tokenBytes = 6
)

// appendToken appends token number n to dst.
func appendToken(dst []byte, n int) []byte {
	dst = utf8.AppendRune(dst, rune(firstDigit+n/base))
	return utf8.AppendRune(dst, rune(firstDigit+n%base))
}

// readToken returns the number that the token at the beginning of text spells, or -1.
func readToken(text []byte) int {
	high, size := utf8.DecodeRune(text)
	low, _ := utf8.DecodeRune(text[size:])
	high, low = high-firstDigit, low-firstDigit
	if high < 0 || high >= base || low < 0 || low >= base {
		return -1
	}
	return int(high)*base + int(low)
}

// appendData appends what a peer is given as the data of token n: the same chunk that our server writes.
func appendData(dst []byte, n int) []byte {
	dst = append(dst, `{"type":"text-delta","id":"0","delta":"`...)
	return append(appendToken(dst, n), `"}`...)
}

// appendID appends the event id of token n, in the form of our server.
func appendID(dst []byte, n int) []byte {
	return strconv.AppendInt(append(dst, "1-"...), int64((n+1)*tokenBytes), 10)
}

// appendFrame appends the whole event of token n.
func appendFrame(dst []byte, n int) []byte {
	dst = append(appendID(append(dst, "id: "...), n), "\ndata: "...)
	return append(appendData(dst, n), "\n\n"...)
}
