package proofread

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxPart   = 3_000 // Characters of a part.
	maxBeside = 200   // Characters of the text on either side of it.
)

// Part is a piece of a text that a model is asked about by itself: whole paragraphs, or whole sentences of a long one.
type Part struct {
	Text       string
	start, end int    // Bytes of the whole text.
	offset     int    // Of the start, in UTF-16 code units.
	preceding  string // What stands beside it, to be read.
	following  string
}

// Blank reports whether there is nothing to proofread.
func (p Part) Blank() bool {
	return !strings.ContainsFunc(p.Text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

// cut returns a text in parts. Joined they are the text.
func cut(text string) []Part {
	var parts []Part
	add := func(start, end int) {
		if start == end {
			return
		}
		offset := 0
		if n := len(parts); n > 0 {
			offset = parts[n-1].offset + units(parts[n-1].Text)
		}
		parts = append(parts, Part{
			Text: text[start:end], start: start, end: end, offset: offset,
			preceding: lastCharacters(text[:start], maxBeside), following: firstCharacters(text[end:], maxBeside),
		})
	}
	start, at, length := 0, 0, 0
	for line := range strings.Lines(text) {
		for piece := range pieces(line) {
			n := utf8.RuneCountInString(piece)
			if length+n > maxPart {
				add(start, at)
				start, length = at, 0
			}
			at, length = at+len(piece), length+n
		}
	}
	add(start, at)
	return parts
}

// pieces yields a paragraph whole if it is short, else its sentences. A sentence longer than a part is cut where a
// character ends.
func pieces(paragraph string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if utf8.RuneCountInString(paragraph) <= maxPart {
			yield(paragraph)
			return
		}
		for paragraph != "" {
			end := sentenceEnd(paragraph)
			if !yield(paragraph[:end]) {
				return
			}
			paragraph = paragraph[end:]
		}
	}
}

// sentenceEnd returns where the first sentence of a text ends, with the brackets and spaces that follow it.
func sentenceEnd(text string) int {
	n, ended := 0, false
	var last rune
	for i, r := range text {
		closing := strings.ContainsRune("」』）)】\"' 　\n", r) || strings.ContainsRune("。！？!?", r)
		if (ended && !closing || n >= maxPart) && !joined(last, r) {
			return i
		}
		ended = ended || strings.ContainsRune("。！？!?", r)
		n, last = n+1, r
	}
	return len(text)
}

// joined reports whether two neighbouring characters are read as one, so that nothing may come between them.
func joined(left, right rune) bool {
	const zeroWidthJoiner = '\u200d'
	return right == zeroWidthJoiner || left == zeroWidthJoiner || unicode.In(right, unicode.M) ||
		right >= 0x1F3FB && right <= 0x1F3FF || right == 'ﾞ' || right == 'ﾟ' || regional(left) && regional(right)
}

// regional reports whether a character is half of a flag.
func regional(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }

// firstCharacters returns the beginning of a text.
func firstCharacters(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// lastCharacters returns the end of a text.
func lastCharacters(text string, n int) string {
	at := len(text)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return text[at:]
}
