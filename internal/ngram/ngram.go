// Package ngram searches Japanese text without a dictionary: it folds spellings that a reader considers equal, and
// splits the result into n-grams of one to three characters for an index. It does not know the database and imports
// golang.org/x/text only.
//
// An index of n-grams finds candidates only, because a text with all trigrams of a term need not contain the term. Find
// finds the candidates that contain it.
package ngram

import (
	"hash/fnv"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Text is a folded text that keeps the original position of each character.
type Text struct {
	folded []rune
	// from[i] and to[i] delimit the original characters (code points) of folded[i].
	from, to []int
}

// Fold folds a text: NFKC, lower case, hiragana as katakana, and every white space character as a space.
func Fold(text string) Text {
	t := Text{
		folded: make([]rune, 0, len(text)/2), from: make([]int, 0, len(text)/2), to: make([]int, 0, len(text)/2),
	}
	position := 0
	var buffer []byte
	for len(text) > 0 {
		// Most text is ASCII, kana and kanji, which NFKC does not change. Other text is normalized up to the next
		// boundary, because a mark changes the preceding character (か with a voiced mark is が).
		r, n := utf8.DecodeRuneInString(text)
		next, _ := utf8.DecodeRuneInString(text[n:])
		width := 1
		if plain(r) && (n == len(text) || plain(next)) {
			t.folded = append(t.folded, fold(r))
			t.from, t.to = append(t.from, position), append(t.to, position+1)
		} else {
			if n = norm.NFKC.NextBoundaryInString(text, true); n <= 0 {
				n = len(text)
			}
			width = utf8.RuneCountInString(text[:n])
			buffer = norm.NFKC.AppendString(buffer[:0], text[:n])
			for _, r := range string(buffer) {
				t.folded = append(t.folded, fold(r))
				t.from, t.to = append(t.from, position), append(t.to, position+width)
			}
		}
		text, position = text[n:], position+width
	}
	return t
}

// plain reports whether NFKC changes neither the character nor the preceding one.
func plain(r rune) bool {
	return r < utf8.RuneSelf || ('ぁ' <= r && r <= 'ゖ') || ('ァ' <= r && r <= 'ヺ') || r == 'ー' ||
		('一' <= r && r <= '\u9fff') ||
		('、' <= r && r <= '〃')
}

func fold(r rune) rune {
	switch {
	case 'ぁ' <= r && r <= 'ゖ', r == 'ゝ', r == 'ゞ':
		return r + ('ァ' - 'ぁ')
	case unicode.IsSpace(r):
		return ' '
	}
	return unicode.ToLower(r)
}

// String returns the folded text.
func (t Text) String() string { return string(t.folded) }

// Find returns at most limit occurrences of a term in the original text, as pairs of character positions [from, to)
// that do not overlap. The term must be folded.
func (t Text) Find(term string, limit int) [][2]int {
	var found [][2]int
	wanted := []rune(term)
	for i := 0; len(wanted) > 0 && i+len(wanted) <= len(t.folded) && len(found) < limit; {
		if !slices.Equal(t.folded[i:i+len(wanted)], wanted) {
			i++
			continue
		}
		found = append(found, [2]int{t.from[i], t.to[i+len(wanted)-1]})
		i += len(wanted)
	}
	return found
}

// Tokens yields the tokens for ranking a text, in order and with repetitions. For scripts with spaces between words,
// the tokens are words and numbers, without the commas in numbers. For other scripts, they are single characters and
// pairs of adjacent characters.
func (t Text) Tokens() iter.Seq[string] {
	return func(yield func(string) bool) {
		text := t.String()
		pair := 0 // Start of the previous character, if it forms a pair with this one.
		paired := false
		for i := 0; i < len(text); {
			r, n := utf8.DecodeRuneInString(text[i:])
			if !isLetter(r) {
				paired = false
				i += n
				continue
			}
			if isSpaced(r) {
				end := wordEnd(text, i)
				if !yield(word(text[i:end])) {
					return
				}
				i, paired = end, false
				continue
			}
			if !yield(text[i:i+n]) || paired && !yield(text[pair:i+n]) {
				return
			}
			pair, paired = i, true
			i += n
		}
	}
}

// isLetter reports whether a character may be a part of a word: a letter, a digit, a mark, 〇 or ー.
func isLetter(r rune) bool {
	return 'a' <= r && r <= 'z' || isDigit(r) || r >= utf8.RuneSelf &&
		(unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r))
}

// isSpaced reports whether a letter is a digit or belongs to a script with spaces between words.
func isSpaced(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return true
	case r < 0x0E00:
		return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
	}
	return unicode.Is(unicode.Hangul, r)
}

// wordEnd returns the end of the word or number that begins at an offset.
func wordEnd(text string, start int) int {
	end, last := start, rune(0)
	for i, r := range text[start:] {
		inNumber := (r == ',' || r == '.') && isDigit(last) && i+1 < len(text)-start && isDigit(rune(text[start+i+1]))
		if !inNumber && (!isLetter(r) || !isSpaced(r)) {
			break
		}
		end, last = start+i+utf8.RuneLen(r), r
	}
	return end
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// maxWord is the maximum length of a word in bytes. Longer sequences are not words and are not indexed.
const maxWord = 60

// word returns the form of a word that is used for ranking.
func word(text string) string {
	for i := range text {
		if i > maxWord {
			text = text[:i]
			break
		}
	}
	return strings.ReplaceAll(text, ",", "")
}

// Terms returns the folded words of a query. A result must contain all of them.
func Terms(query string) []string { return strings.Fields(Fold(query).String()) }

// Keys returns the sorted keys of a text for an index, one for each n-gram without white space. The keys depend on the
// scope, such as a person, so that a lookup reads the entries of one scope only. Two n-grams rarely have the same key.
func Keys(scope []byte, t Text) []int32 {
	seen := make(map[gram]struct{}, 2*len(t.folded))
	for i := range t.folded {
		var g gram
		for n := 0; n < len(g) && i+n < len(t.folded) && t.folded[i+n] != ' '; n++ {
			g[n] = t.folded[i+n]
			seen[g] = struct{}{}
		}
	}
	keys := make([]int32, 0, len(seen))
	for g := range seen {
		keys = append(keys, g.key(scope))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// QueryKeys returns the keys of the longest n-grams of each term. Every text with all terms has these keys.
func QueryKeys(scope []byte, terms []string) []int32 {
	var keys []int32
	for _, term := range terms {
		runes := []rune(term)
		var g gram
		size := min(len(runes), len(g))
		for i := 0; i+size <= len(runes); i++ {
			copy(g[:], runes[i:i+size])
			keys = append(keys, g.key(scope))
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// gram is an n-gram, padded with 0.
type gram [3]rune

func (g gram) key(scope []byte) int32 {
	h := fnv.New64a()
	_, _ = h.Write(scope)
	for _, r := range g {
		_, _ = h.Write([]byte{byte(r), byte(r >> 8), byte(r >> 16)})
	}
	return shortened(h.Sum64())
}

// TokenKey returns the key of a token of Tokens for an index. Like those of Keys, it depends on the scope.
func TokenKey(scope []byte, token string) int32 {
	h := fnv.New64a()
	_, _ = h.Write(scope)
	_, _ = io.WriteString(h, token)
	return shortened(h.Sum64())
}

// shortened returns 32 bits of a hash.
func shortened(sum uint64) int32 {
	return int32(sum ^ sum>>32) //nolint:gosec // The truncation is intended; the upper half is included by XOR.
}
