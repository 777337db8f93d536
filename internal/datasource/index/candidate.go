package index

import "github.com/tsumugi-ai/tsumugi/internal/ngram"

// KeyedPassage describes a passage in an index of keys, which finds candidates in a large collection.
type KeyedPassage struct {
	Keys   []int32 // The distinct keys of its tokens, and of those of the title and headings.
	Length int     // Number of tokens of its text.
}

// KeyPassages returns the keys of a document's passages. They depend on the scope, as those of ngram.
func KeyPassages(scope []byte, title string, passages []Passage) []KeyedPassage {
	counter := newCounter(title)
	keyed := make([]KeyedPassage, len(passages))
	for i, p := range passages {
		counts, length := counter.count(p)
		keys := make([]int32, 0, len(counts))
		for token := range counts {
			keys = append(keys, ngram.TokenKey(scope, token))
		}
		keyed[i] = KeyedPassage{Keys: keys, Length: int(length)} //nolint:gosec // At most the length of the text.
	}
	return keyed
}

// Keys returns the key of each token of a query.
func (q Query) Keys(scope []byte) []int32 {
	keys := make([]int32, len(q))
	for i, t := range q {
		keys[i] = ngram.TokenKey(scope, t.token)
	}
	return keys
}

// Statistics describes a collection for the scores of its passages.
type Statistics struct {
	Passages int
	Tokens   int64 // Total length of the passages.
	Having   []int // For each token of a query, the number of passages that contain it.
}

// Weights returns the weight of each token of a query. A passage that contains the token often has nearly this score for
// it.
func (s Statistics) Weights(q Query) []float64 {
	weights := make([]float64, len(q))
	for i, t := range q {
		weights[i] = t.weight(s.Passages, s.Having[i])
	}
	return weights
}

// Norms returns the normalization of the counts of a passage by its length, as base + perToken · length.
func (s Statistics) Norms() (base, perToken float64) {
	average := averageLength(s.Passages, uint64(s.Tokens)) //nolint:gosec // A sum of lengths.
	base = norm(0, average)
	return base, norm(1, average) - base
}

// Candidate is a passage with the title of its document.
type Candidate struct {
	Title string
	Passage
}

// Scores returns the score of each candidate. With exact statistics, the scores are those of Collection.Scores.
func (s Statistics) Scores(q Query, candidates []Candidate) []float64 {
	scores, weights := make([]float64, len(candidates)), s.Weights(q)
	average := averageLength(s.Passages, uint64(s.Tokens)) //nolint:gosec // A sum of lengths.
	only := make(map[string]bool, len(q))
	for _, t := range q {
		only[t.token] = true
	}
	var c *counter
	for i, p := range candidates {
		if i == 0 || p.Title != candidates[i-1].Title {
			c = newCounter(p.Title)
			c.only = only
		}
		counts, length := c.count(p.Passage)
		for j, t := range q {
			if count := counts[t.token]; count > 0 {
				scores[i] += gain(weights[j], count, norm(length, average))
			}
		}
	}
	return scores
}
