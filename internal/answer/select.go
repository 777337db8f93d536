package answer

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Found is a passage that a search has found, and its place.
type Found struct {
	Passage
	ID       string // Of the passage.
	Document int    // Position of its document among those that were searched.
	Ordinal  int    // Position in the document.
	Score    float64
}

// A document is clearly relevant from this part of the best score on.
const relevant = 0.6

// Select returns the passages that a model is told, numbered from 1 in the order of the documents: the best ones of
// found, which are the best first, as far as their costs fit into a budget, and at least one of each document that is
// clearly relevant. beside returns the passages before and after one; those of the best are taken while there is room.
func Select(found []Found, budget int, cost func(Passage) int, beside func(Found) []Found) []Found {
	type place struct{ document, ordinal int }
	taken := make(map[place]bool)
	var chosen []Found
	take := func(f Found) {
		at, size := place{f.Document, f.Ordinal}, cost(f.Passage)
		if !taken[at] && size <= budget {
			taken[at], budget = true, budget-size
			chosen = append(chosen, f)
		}
	}
	documents := make(map[int]bool)
	for _, f := range found {
		if !documents[f.Document] && f.Score >= relevant*found[0].Score {
			take(f)
		}
		documents[f.Document] = true
	}
	for _, f := range found {
		take(f)
		if f.Score >= relevant*found[0].Score {
			for _, near := range beside(f) {
				take(near)
			}
		}
	}
	slices.SortFunc(chosen, func(a, b Found) int {
		return cmp.Or(a.Document-b.Document, a.Ordinal-b.Ordinal)
	})
	for i := range chosen {
		chosen[i].Index = i + 1
	}
	return chosen
}

// Query returns what is searched for: the question and, where it leans on the one before, that too. それはいつまで？ says
// nothing without it, and what it leans on may lean itself; 申請期限は？ may stand alone or not, and weighs more than the
// one before. earlier are the person's questions, the last one first.
func Query(question string, earlier []string) string {
	query := question
	for _, before := range earlier[:min(len(earlier), 2)] {
		follows, short := goesOn(question), len(termsOf(question)) < fewestTerms
		switch {
		case follows && short:
			query = before + "\n" + query
			question = before
			continue
		case (follows || short) && query == question:
			query = before + strings.Repeat("\n"+question, weightOfShort)
		}
		break
	}
	return query
}

// following are words that a question begins with when it goes on from the one before.
var following = []string{
	"それ", "その", "そこ", "これ", "この", "ここ", "あれ", "あの", "では", "じゃあ", "じゃ、", "ほかに", "他に", "また", "さらに", "もっと", "つまり",
}

const (
	fewestTerms   = 4 // From so many terms on a question stands alone.
	weightOfShort = 3 // Of a question that may lean on the one before, against that.
)

// goesOn reports whether a question goes on from the one before, or says nothing by itself.
func goesOn(question string) bool {
	question = strings.TrimSpace(question)
	return len(termsOf(question)) == 0 ||
		slices.ContainsFunc(following, func(word string) bool { return strings.HasPrefix(question, word) })
}

// asking are words of a question that say nothing of what it is about.
var asking = strings.NewReplacer("教えて", " ", "説明", " ", "場合", " ", "方法", " ", "何", " ", "場所", " ", "資料", " ", "文書", " ",
	"記載", " ", "内容", " ")

// Covered returns how much of what a question is about stands in a passage, from 0 to 1. It is 1 for a question that
// says too little to tell.
func Covered(question string, p Passage) float64 {
	wanted := termsOf(asking.Replace(norm.NFKC.String(question)))
	if len(wanted) < 2 {
		return 1
	}
	held := termsOf(p.Filename + "\n" + p.Locator + "\n" + p.Text)
	found := 0
	for term := range wanted {
		if held[term] {
			found++
		}
	}
	return float64(found) / float64(len(wanted))
}

// termsOf returns the pairs of kanji and katakana of a text, and its words and numbers in other letters but hiragana.
func termsOf(text string) map[string]bool {
	terms := make(map[string]bool)
	var last rune
	var word []rune
	for _, r := range strings.ToLower(norm.NFKC.String(text)) + " " {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			word = append(word, r)
		} else if len(word) > 0 {
			terms[string(word)] = true
			word = word[:0]
		}
		if meaningful(last) && meaningful(r) {
			terms[string([]rune{last, r})] = true
		}
		last = r
	}
	return terms
}
