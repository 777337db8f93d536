// Package runes shortens and measures texts by characters, never within one, and writes superscripts and
// subscripts. It imports golang.org/x/text/width.
package runes

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// First returns the first n characters of a text.
func First(text string, n int) string {
	for i := range text {
		if n <= 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// Truncate returns a text of at most n characters. It replaces the end of a longer one with an ellipsis, which counts.
func Truncate(text string, n int) string {
	switch {
	case n < 1:
		return ""
	case utf8.RuneCountInString(text) <= n:
		return text
	}
	return First(text, n-1) + "…"
}

// OneLine returns at most n characters of an untrusted text, on one line and without invisible characters.
func OneLine(text string, n int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text)
	return Truncate(text, n)
}

// FirstBytes returns the longest prefix of whole characters with at most n bytes.
func FirstBytes(text string, n int) string {
	if n >= len(text) {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// Columns returns the width of a text in a monospaced font, in columns. Ideographs are two columns wide.
func Columns(text string) int {
	n := 0
	for _, r := range text {
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

// Blank reports whether a text has no visible character.
func Blank(text string) bool {
	const brailleBlank = '\u2800'
	return !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsGraphic(r) && !unicode.IsSpace(r) && r != brailleBlank &&
			!unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
	})
}

// NotInName reports whether a character is not allowed in names: a control character, or one that begins a new line or
// changes the direction of text.
func NotInName(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}
