package answer

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// SourcePassage is a search result: a passage and its position.
type SourcePassage struct {
	Passage
	ID       string // The passage's id.
	Document int    // Position of its document in the list of searched documents.
	Ordinal  int    // Position of the passage in its document.
	Score    float64
}

// relevant is the fraction of the best score from which a document is clearly relevant.
const relevant = 0.6

// Select returns the passages for a prompt, numbered from 1 in the order of the documents. found must be sorted, best
// first. Select takes the best passages until their costs exceed the budget, and first the best passage of each
// document that is clearly relevant. beside returns the passages before and after a passage; Select adds those of
// clearly relevant passages while the budget allows.
func Select(
	passages []SourcePassage, budget int, cost func(Passage) int, beside func(SourcePassage) []SourcePassage,
) []SourcePassage {
	type place struct{ document, ordinal int }
	taken := make(map[place]bool)
	var chosen []SourcePassage
	take := func(f SourcePassage) {
		at, size := place{f.Document, f.Ordinal}, cost(f.Passage)
		if !taken[at] && size <= budget {
			taken[at], budget = true, budget-size
			chosen = append(chosen, f)
		}
	}
	documents := make(map[int]bool)
	for _, f := range passages {
		if !documents[f.Document] && f.Score >= relevant*passages[0].Score {
			take(f)
		}
		documents[f.Document] = true
	}
	for _, f := range passages {
		take(f)
		if f.Score >= relevant*passages[0].Score {
			for _, near := range beside(f) {
				take(near)
			}
		}
	}
	slices.SortFunc(chosen, func(a, b SourcePassage) int {
		return cmp.Or(a.Document-b.Document, a.Ordinal-b.Ordinal)
	})
	for i := range chosen {
		chosen[i].Index = i + 1
	}
	return chosen
}

// Query returns the search query for a question. earlier are the person's previous questions, the last one first. A
// question that refers to the previous one, such as それはいつまで？, is searched together with it; the previous question may
// itself refer to its predecessor, and at most two are added. A question that may or may not be independent, such as
// 申請期限は？, is repeated to weigh more than the previous one.
func Query(question string, earlier []string) string {
	query := question
	for _, before := range earlier[:min(len(earlier), 2)] {
		follows, short := isFollowUp(question), len(termsOf(question)) < minTerms
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

// following are words at the beginning of a question that refer to the previous question.
var following = []string{
	"それ", "その", "そこ", "これ", "この", "ここ", "あれ", "あの", "では", "じゃあ", "じゃ、", "ほかに", "他に", "また", "さらに", "もっと", "つまり",
}

const (
	minTerms      = 4 // A question with this many terms is independent.
	weightOfShort = 3 // The weight of a short question relative to the previous one.
)

// isFollowUp reports whether a question refers to the previous one or has no terms.
func isFollowUp(question string) bool {
	question = strings.TrimSpace(question)
	return len(termsOf(question)) == 0 ||
		slices.ContainsFunc(following, func(word string) bool { return strings.HasPrefix(question, word) })
}

// asking are common words in questions that do not describe the subject.
var asking = strings.NewReplacer("教えて", " ", "説明", " ", "場合", " ", "方法", " ", "何", " ", "場所", " ", "資料", " ", "文書", " ",
	"記載", " ", "内容", " ")

// Coverage returns the fraction of the question's terms that occur in a passage, from 0 to 1. It returns 1 for a
// question with fewer than two terms.
func Coverage(question string, p Passage) float64 {
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

// termsOf returns the pairs of adjacent kanji and katakana in a text, and its words and numbers in ASCII.
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
