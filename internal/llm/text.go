package llm

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// joiner converts the JSON string literals of a provider's chunks to complete characters.
//
// encoding/json cannot do this: when a provider splits a character over two chunks (as llama.cpp and byte-level
// gateways do), it replaces each half by U+FFFD, and the character is lost. The zero value is ready for use.
type joiner struct {
	pending   []byte // The beginning of an incomplete character, at most utf8.UTFMax-1 bytes.
	surrogate rune   // A high surrogate without its low surrogate, or 0.
	buf       []byte // Reused between calls.
}

// add adds a raw JSON string literal with its quotes, and appends the complete characters to dst. The literal must have
// been validated by encoding/json, which accepts invalid UTF-8 in it.
func (j *joiner) add(dst []byte, literal string) []byte {
	body := literal[1 : len(literal)-1]
	if len(j.pending) == 0 && j.surrogate == 0 && isPlain(body) {
		return append(dst, body...)
	}
	j.buf = append(j.buf[:0], j.pending...)
	j.pending = j.pending[:0]
	for len(body) > 0 {
		if body[0] == '\\' {
			body = j.unescape(body)
			continue
		}
		j.flushSurrogate()
		j.buf = append(j.buf, body[0])
		body = body[1:]
	}
	return j.take(dst)
}

// flush appends the rest at the end of the answer and replaces incomplete characters.
func (j *joiner) flush(dst []byte) []byte {
	j.buf = append(j.buf[:0], j.pending...)
	j.pending = j.pending[:0]
	j.flushSurrogate()
	return appendValid(dst, j.buf)
}

// take appends the complete characters of buf to dst and keeps an incomplete one for the next call.
func (j *joiner) take(dst []byte) []byte {
	tail := incompleteTail(j.buf)
	whole := j.buf[:len(j.buf)-tail]
	j.pending = append(j.pending, j.buf[len(j.buf)-tail:]...)
	return appendValid(dst, whole)
}

// unescape appends the character of the escape sequence at the start of body, and returns the rest.
func (j *joiner) unescape(body string) string {
	if body[1] == 'u' {
		unit, _ := strconv.ParseUint(body[2:6], 16, 16) // encoding/json has validated the digits.
		j.appendUnit(rune(unit))
		return body[6:]
	}
	j.flushSurrogate()
	c := body[1]
	switch c {
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	}
	j.buf = append(j.buf, c)
	return body[2:]
}

// appendUnit appends a UTF-16 code unit. A surrogate pair may be split over two chunks.
func (j *joiner) appendUnit(unit rune) {
	if j.surrogate != 0 {
		if r := utf16.DecodeRune(j.surrogate, unit); r != utf8.RuneError {
			j.surrogate = 0
			j.buf = utf8.AppendRune(j.buf, r)
			return
		}
		j.flushSurrogate()
	}
	if unit >= 0xD800 && unit < 0xDC00 {
		j.surrogate = unit
		return
	}
	j.buf = utf8.AppendRune(j.buf, unit) // A lone low surrogate becomes U+FFFD.
}

func (j *joiner) flushSurrogate() {
	if j.surrogate != 0 {
		j.surrogate = 0
		j.buf = utf8.AppendRune(j.buf, utf8.RuneError)
	}
}

// isPlain reports whether a literal needs no decoding.
func isPlain(body string) bool { return strings.IndexByte(body, '\\') < 0 && utf8.ValidString(body) }

// incompleteTail returns the length of an incomplete character at the end of b.
func incompleteTail(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		c := b[len(b)-n]
		if utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// appendValid appends b with invalid bytes replaced by U+FFFD.
func appendValid(dst, b []byte) []byte {
	if utf8.Valid(b) {
		return append(dst, b...)
	}
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		dst = utf8.AppendRune(dst, r)
		b = b[size:]
	}
	return dst
}
