// Package ngram finds text in Japanese without a dictionary: it folds spellings that a reader takes for the same, and
// cuts what remains into n-grams of one to three characters for an index. It knows no database and imports
// golang.org/x/text only.
//
// An index of n-grams finds candidates, never results: a text that holds all trigrams of a term need not hold the term.
// Find tells them apart.
package ngram

import (
	"hash/fnv"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Text is a folded text that remembers where each of its characters came from.
type Text struct {
	folded []rune
	// from and to are the characters (code points) of the original that folded[i] stands for.
	from, to []int
}

// Fold folds a text: NFKC, lower case, hiragana as katakana, and every white space as one space.
func Fold(text string) Text {
	t := Text{
		folded: make([]rune, 0, len(text)/2), from: make([]int, 0, len(text)/2), to: make([]int, 0, len(text)/2),
	}
	position := 0
	var buffer []byte
	for len(text) > 0 {
		// Most text is ASCII, kana and kanji that stand for themselves. The rest is normalized up to the next boundary,
		// because a mark changes the character before it (か and a voiced mark are が).
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

// plain reports whether a character is one that NFKC leaves alone, and that changes none before it.
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

// Find returns where a term occurs in the original text, as pairs of character positions [from, to), without overlap.
// At most limit are returned. The term must be folded.
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

// Tokens yields what a text is ranked by, in order, each as often as it occurs: words and numbers of scripts that have
// spaces, whole, and of all others single characters and pairs of neighbours. The commas of a number are left out.
func (t Text) Tokens() iter.Seq[string] {
	return func(yield func(string) bool) {
		text := t.String()
		pair := 0 // Where the character before begins, if it makes a pair with this one.
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

// isLetter reports whether a character belongs to a word: letters, digits, their marks, and 〇 and ー.
func isLetter(r rune) bool {
	return 'a' <= r && r <= 'z' || isDigit(r) || r >= utf8.RuneSelf &&
		(unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r))
}

// isSpaced reports whether a letter is of a script that parts words by spaces, or a digit.
func isSpaced(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return true
	case r < 0x0E00:
		return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
	}
	return unicode.Is(unicode.Hangul, r)
}

// wordEnd returns where the word or number ends that begins at an offset.
func wordEnd(text string, start int) int {
	end, last := start, rune(0)
	for i, r := range text[start:] {
		inNumber := (r == ',' || r == '.') && isDigit(last) && i+1 < len(text)-start && isDigit(rune(text[start+i+1]))
		if !inNumber && !(isLetter(r) && isSpaced(r)) {
			break
		}
		end, last = start+i+utf8.RuneLen(r), r
	}
	return end
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// maxWord bounds a word, in bytes: what is longer is none, and an index need not hold it.
const maxWord = 60

// word returns a word as it is ranked by.
func word(text string) string {
	for i := range text {
		if i > maxWord {
			text = text[:i]
			break
		}
	}
	return strings.ReplaceAll(text, ",", "")
}

// Terms returns the words of a query, folded: all of them must occur.
func Terms(query string) []string { return strings.Fields(Fold(query).String()) }

// Keys returns the sorted keys of a text for an index: one for each of its n-grams, without those that hold white
// space. Keys of one scope, such as a person, are other ones than those of the next, so that a look-up reads the
// entries of its own scope only; now and then two n-grams share a key.
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

// QueryKeys returns keys that every text with all terms has: of each term its longest n-grams.
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

// gram is an n-gram; what it lacks is 0.
type gram [3]rune

func (g gram) key(scope []byte) int32 {
	h := fnv.New64a()
	_, _ = h.Write(scope)
	for _, r := range g {
		_, _ = h.Write([]byte{byte(r), byte(r >> 8), byte(r >> 16)})
	}
	sum := h.Sum64()
	return int32(sum ^ sum>>32) //nolint:gosec // The upper half is folded in.
}
