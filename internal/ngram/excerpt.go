package ngram

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Lengths of an excerpt.
const (
	excerptBefore = 20 // Characters before the first match.
	excerptLength = 90 // Characters in total.
	maxRanges     = 10 // Maximum number of matches per term.
)

// Excerpt is a part of a text that contains the words of a search.
type Excerpt struct {
	Text   string   // The words with their context, on one line.
	Ranges [][2]int // Positions of the words in Text, in characters (code points): [from, to).
}

// NewExcerpt returns an excerpt of a text around the terms of a query. It returns false unless the text contains all
// terms.
func NewExcerpt(text string, terms []string) (Excerpt, bool) {
	folded := Fold(text)
	var first [2]int
	for i, term := range terms {
		at := folded.Find(term, 1)
		if len(at) == 0 {
			return Excerpt{}, false
		}
		if i == 0 || at[0][0] < first[0] {
			first = at[0]
		}
	}
	return excerpt(text, first, terms), true
}

// NewRankedExcerpt returns an excerpt of a text that was found by a ranking, around the part with the most words of the
// query. The text need not contain all of them.
func NewRankedExcerpt(text, query string) Excerpt {
	terms := contentTerms(query)
	folded := Fold(text)
	type occurrence struct {
		at   [2]int
		term int
	}
	var all []occurrence
	for i, term := range terms {
		for _, at := range folded.Find(term, len(folded.folded)) {
			all = append(all, occurrence{at, i})
		}
	}
	slices.SortFunc(all, func(a, b occurrence) int { return a.at[0] - b.at[0] })
	var best [2]int
	most := 0
	for i, first := range all {
		near := make(map[int]bool)
		for _, o := range all[i:] {
			if o.at[1] > first.at[0]+excerptLength-excerptBefore {
				break
			}
			near[o.term] = true
		}
		if len(near) > most {
			most, best = len(near), first.at
		}
	}
	return excerpt(text, best, terms)
}

// contentTerms returns the folded words of a query, and pairs of adjacent characters for scripts without spaces. It
// omits hiragana, which are mostly particles and endings, and single characters, unless the query has nothing else.
func contentTerms(query string) []string {
	isHiragana := func(r rune) bool { return unicode.Is(unicode.Hiragana, r) }
	isSingle := func(term string) bool { return utf8.RuneCountInString(term) == 1 }
	var terms []string
	for _, part := range strings.FieldsFunc(norm.NFKC.String(query), isHiragana) {
		terms = slices.AppendSeq(terms, Fold(part).Tokens())
	}
	terms = slices.DeleteFunc(terms, isSingle)
	if len(terms) == 0 {
		all := slices.Collect(Fold(query).Tokens())
		if terms = slices.DeleteFunc(slices.Clone(all), isSingle); len(terms) == 0 {
			terms = all
		}
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// excerpt returns the excerpt around a range with the terms marked.
func excerpt(text string, around [2]int, terms []string) Excerpt {
	e := Excerpt{Text: context([]rune(text), around, terms)}
	folded := Fold(e.Text)
	for _, term := range terms {
		e.Ranges = append(e.Ranges, folded.Find(term, maxRanges)...)
	}
	slices.SortFunc(e.Ranges, func(a, b [2]int) int { return a[0] - b[0] })
	e.Ranges = joined(e.Ranges)
	return e
}

// joined merges sorted ranges that overlap.
func joined(ranges [][2]int) [][2]int {
	all := ranges[:0]
	for _, r := range ranges {
		if n := len(all); n > 0 && r[0] <= all[n-1][1] {
			all[n-1][1] = max(all[n-1][1], r[1])
			continue
		}
		all = append(all, r)
	}
	return all
}

// context returns the context of a range on one line. It omits Markdown's layout characters that no term contains.
func context(text []rune, found [2]int, terms []string) string {
	from := max(0, found[0]-excerptBefore)
	to := min(len(text), max(from+excerptLength, found[1]))
	line := strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if strings.ContainsRune("*`#|~", r) && !slices.ContainsFunc(terms,
			func(t string) bool { return strings.ContainsRune(t, r) }) {
			return -1
		}
		return r
	}, string(text[from:to]))), " ")
	if from > 0 {
		line = "…" + line
	}
	if to < len(text) {
		line += "…"
	}
	return line
}
