package offline

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Japanese has no spaces, and a dictionary would be the largest part of this program. Pairs of adjacent characters
// work nearly as well for comparing texts, if they are weighted by script: kanji and katakana carry the meaning,
// hiragana mostly the grammar.
const (
	weightKanji    = 1.0
	weightSingle   = 0.6 // A kanji alone.
	weightWord     = 1.2 // A word of Latin letters or katakana.
	weightPart     = 0.3 // A pair inside a katakana word.
	weightNumber   = 0.7
	weightStem     = 0.4 // A kanji and the hiragana after it: the stem of a verb.
	weightHiragana = 0.12
)

// weighted is a term of a text and its weight.
type weighted struct {
	term   string
	weight float64
}

// terms returns the weighted terms of a text, sorted. Repetitions count logarithmically.
func terms(text string) []weighted {
	type entry struct {
		count  int
		weight float64
	}
	entries := make(map[string]entry)
	walkTerms(text, func(term string, weight float64) {
		e := entries[term]
		entries[term] = entry{e.count + 1, max(e.weight, weight)}
	})
	out := make([]weighted, 0, len(entries))
	for term, e := range entries {
		out = append(out, weighted{term, e.weight * (1 + math.Log(float64(e.count)))})
	}
	slices.SortFunc(out, func(a, b weighted) int { return strings.Compare(a.term, b.term) })
	return out
}

type script int

const (
	scriptNone script = iota
	scriptKanji
	scriptKatakana
	scriptHiragana
	scriptLatin
	scriptOther // Any other letters, such as Hangul.
)

func scriptOf(r rune) script {
	switch {
	case r < 0x80:
		if isASCIIAlnum(r) {
			return scriptLatin
		}
		return scriptNone
	case unicode.Is(unicode.Han, r) || r == '々' || r == '〆':
		return scriptKanji
	case unicode.Is(unicode.Katakana, r) || r == 'ー':
		return scriptKatakana
	case unicode.Is(unicode.Hiragana, r):
		return scriptHiragana
	case unicode.Is(unicode.Latin, r):
		return scriptLatin
	case unicode.IsLetter(r) || unicode.IsDigit(r):
		return scriptOther
	}
	return scriptNone
}

// normalize unifies full and half width, upper and lower case.
func normalize(text string) string { return strings.ToLower(norm.NFKC.String(text)) }

// walkTerms calls yield with every term of a text, in order.
func walkTerms(text string, yield func(term string, weight float64)) {
	runes := []rune(normalize(text))
	for i := 0; i < len(runes); {
		kind := scriptOf(runes[i])
		end := i + 1
		for end < len(runes) && (scriptOf(runes[end]) == kind || kind == scriptLatin && joinsLatin(runes, end)) {
			end++
		}
		if kind != scriptNone {
			walkRun(runes[i:end], kind, yield)
		}
		if kind == scriptKanji && end < len(runes) && scriptOf(runes[end]) == scriptHiragana {
			yield(string(runes[end-1:end+1]), weightStem)
		}
		i = end
	}
}

// joinsLatin reports whether a character keeps 3.14, go-openai or 10,000 together.
func joinsLatin(runes []rune, i int) bool {
	return strings.ContainsRune(".-_,'@/", runes[i]) && between(runes, i, isASCIIAlnum)
}

func walkRun(run []rune, kind script, yield func(term string, weight float64)) {
	switch kind {
	case scriptKanji:
		if len(run) == 1 {
			yield(string(run), weightSingle)
			return
		}
		walkPairs(run, weightKanji, yield)
	case scriptKatakana:
		if len(run) > 1 {
			yield(strings.TrimSuffix(string(run), "ー"), weightWord) // Unifies サーバ and サーバー.
			if len(run) > 3 {
				walkPairs(run, weightPart, yield)
			}
		}
	case scriptHiragana:
		walkPairs(run, weightHiragana, yield)
	case scriptLatin:
		word := strings.ReplaceAll(string(run), ",", "")
		switch {
		case strings.Trim(word, "0123456789.") == "":
			yield(word, weightNumber)
		case !isEnglishFiller(word):
			yield(stem(word), weightWord)
		}
	case scriptOther:
		walkPairs(run, weightKanji, yield)
	}
}

func walkPairs(run []rune, weight float64, yield func(term string, weight float64)) {
	for i := range len(run) - 1 {
		yield(string(run[i:i+2]), weight)
	}
}

// stem removes common endings from an English word.
func stem(word string) string {
	for _, ending := range []string{"'s", "ies", "ing", "ed", "es", "s"} {
		if base, ok := strings.CutSuffix(word, ending); ok && len(base) >= 3 && !strings.HasSuffix(base, "s") {
			if ending == "ies" {
				base += "y"
			}
			return strings.TrimSuffix(base, "e")
		}
	}
	return strings.TrimSuffix(word, "e")
}

func isEnglishFiller(word string) bool {
	switch word {
	case "a", "an", "the", "and", "or", "but", "if", "of", "to", "in", "on", "at", "by", "for", "with", "from", "as",
		"is",
		"are", "was", "were", "be", "been", "being", "it", "its", "this", "that", "these", "those", "he", "she", "they",
		"we",
		"you", "i", "his", "her", "their", "our", "your", "my", "not", "no", "do", "does", "did", "have", "has", "had",
		"will",
		"would", "can", "could", "should", "may", "might", "must", "than", "then", "so", "such", "there", "here",
		"which", "who",
		"what", "when", "where", "how", "why", "all", "any", "each", "more", "most", "other", "some", "also", "into",
		"about",
		"over", "after", "before", "between", "only", "very", "just", "s", "t":
		return true
	}
	return false
}
