package ngram

import (
	"slices"
	"strings"
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
	e := Excerpt{Text: around([]rune(text), first, terms)}
	folded = Fold(e.Text)
	for _, term := range terms {
		e.Ranges = append(e.Ranges, folded.Find(term, maxRanges)...)
	}
	slices.SortFunc(e.Ranges, func(a, b [2]int) int { return a[0] - b[0] })
	e.Ranges = joined(e.Ranges)
	return e, true
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

// around returns the context of a range on one line. It omits Markdown's layout characters that no term contains.
func around(text []rune, found [2]int, terms []string) string {
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
