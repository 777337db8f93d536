package offline

import (
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// term is a word of Latin letters or digits, or a pair of adjacent characters, because Japanese has no spaces. Terms
// are weighted by script: kanji and katakana carry the meaning, hiragana mostly the grammar.
type term struct {
	text   string
	weight float64
}

// weightOf returns the weight of terms with a character, which is 0 for punctuation. It differs between scripts.
func weightOf(r rune) float64 {
	switch {
	case unicode.Is(unicode.Han, r) || r == '々':
		return kanji
	case unicode.Is(unicode.Katakana, r) || r == 'ー':
		return katakana
	case unicode.Is(unicode.Hiragana, r):
		return hiragana
	case unicode.IsLetter(r) || unicode.IsDigit(r):
		return latin
	}
	return 0
}

const (
	latin    = 1.2
	kanji    = 1
	katakana = 0.4
	hiragana = 0.1
)

func hasLetters(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return weightOf(r) > 0 })
}

// terms are the terms of a text, sorted.
type terms []term

func termsOf(text string) (list terms) {
	weights := make(map[string]float64)
	runes := []rune(strings.ToLower(norm.NFKC.String(text)))
	for start := 0; start < len(runes); {
		weight, end := weightOf(runes[start]), start+1
		for end < len(runes) && (weightOf(runes[end]) == weight || weight == latin &&
			strings.ContainsRune(".,-_@", runes[end]) && weightOf(runeAt(runes, end+1)) == latin) {
			end++
		}
		switch run := runes[start:end]; {
		case weight == latin:
			weights[strings.ReplaceAll(string(run), ",", "")] += weight
		case weight > 0:
			for i := range len(run) - 1 {
				weights[string(run[i:i+2])] += weight
			}
		}
		if weight == kanji && end == start+1 {
			weights[string(runes[start:end])] += 0.6
		}
		if weight == kanji && weightOf(runeAt(runes, end)) == hiragana {
			weights[string(runes[end-1:end+1])] += 0.4 // The stem of a verb.
		}
		start = end
	}
	for _, text := range slices.Sorted(maps.Keys(weights)) {
		list = append(list, term{text, weights[text]})
	}
	return list
}

func (t terms) has(text string) bool {
	_, found := slices.BinarySearchFunc(t, text, func(t term, text string) int { return strings.Compare(t.text, text) })
	return found
}

// rarities returns a function for the inverse document frequency of a term in texts.
func rarities(texts []terms) func(text string) float64 {
	frequency := make(map[string]int)
	for _, list := range texts {
		for _, t := range list {
			frequency[t.text]++
		}
	}
	return func(text string) float64 { return math.Log(1 + float64(len(texts)+1)/(float64(frequency[text])+0.5)) }
}
