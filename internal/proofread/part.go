package proofread

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

const (
	maxPart   = 3_000 // Largest size of a part, in characters.
	maxBeside = 200   // Largest size of the context on either side, in characters.
)

// Part is a piece of a text for one model call: whole paragraphs, or whole sentences of a long paragraph.
type Part struct {
	Text       string
	start, end int    // In bytes of the whole text.
	offset     int    // Start in the whole text, in UTF-16 code units.
	preceding  string // Context before and after the part, for the model to read.
	following  string
}

// IsBlank reports whether the part has no letters or numbers, so that it needs no proofreading.
func (p Part) IsBlank() bool {
	return !strings.ContainsFunc(p.Text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

// cut splits a text into parts without loss.
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
			preceding: lastCharacters(text[:start], maxBeside), following: runes.First(text[end:], maxBeside),
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

// pieces yields a short paragraph as one piece and a long one as its sentences. It splits a sentence longer than a part
// at a character boundary.
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

// sentenceEnd returns the end of the first sentence of a text, including the closing brackets and spaces after it.
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

// joined reports whether two adjacent characters form one visible character, so that the text must not be split between
// them.
func joined(left, right rune) bool {
	const zeroWidthJoiner = '\u200d'
	return right == zeroWidthJoiner || left == zeroWidthJoiner || unicode.In(right, unicode.M) ||
		right >= 0x1F3FB && right <= 0x1F3FF || right == 'ﾞ' || right == 'ﾟ' || regional(left) && regional(right)
}

// regional reports whether a character is a regional indicator. Two of them form a flag.
func regional(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }

// lastCharacters returns the last n characters of a text.
func lastCharacters(text string, n int) string {
	at := len(text)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return text[at:]
}
