package offline

import (
	"context"
	"math"
	"slices"
)

// feature is a term of a sentence and its weight.
type feature struct {
	term   int
	weight float64
}

// vector holds the terms of a sentence, weighted by rarity in the text, with length 1. The order is fixed, so that
// summaries are deterministic.
type vector []feature

// weigh returns the vectors of texts, and the number of terms.
func weigh(texts []string) ([]vector, int) {
	vectors := make([]vector, len(texts))
	numbers := make(map[string]int)
	var frequency []int
	for i, text := range texts {
		for _, t := range terms(text) {
			number, known := numbers[t.term]
			if !known {
				number = len(numbers)
				numbers[t.term] = number
				frequency = append(frequency, 0)
			}
			frequency[number]++
			vectors[i] = append(vectors[i], feature{number, t.weight})
		}
	}
	for _, v := range vectors {
		v.scale(frequency, len(texts))
	}
	return vectors, len(numbers)
}

// scale weights the terms by inverse document frequency and normalizes the vector to length 1.
func (v vector) scale(frequency []int, n int) {
	sum := 0.0
	for i := range v {
		v[i].weight *= math.Log(1 + float64(n)/float64(frequency[v[i].term]))
		sum += v[i].weight * v[i].weight
	}
	if sum == 0 {
		return
	}
	length := math.Sqrt(sum)
	for i := range v {
		v[i].weight /= length
	}
}

// similarities returns the cosines of all pairs. It compares only sentences that share a term and, in a long text,
// skips terms of more than half of the sentences, which do not distinguish them.
func similarities(vectors []vector, nTerms int) [][]float32 {
	n := len(vectors)
	cells := make([]float32, n*n)
	matrix := make([][]float32, n)
	for i := range matrix {
		matrix[i] = cells[i*n : (i+1)*n]
	}
	type posting struct {
		sentence int
		weight   float64
	}
	postings := make([][]posting, nTerms)
	for i, v := range vectors {
		for _, f := range v {
			postings[f.term] = append(postings[f.term], posting{i, f.weight})
		}
	}
	for _, list := range postings {
		if n > 20 && len(list)*2 > n {
			continue
		}
		for a, p := range list {
			for _, q := range list[a+1:] {
				product := float32(p.weight * q.weight)
				matrix[p.sentence][q.sentence] += product
				matrix[q.sentence][p.sentence] += product
			}
		}
	}
	return matrix
}

// centrality ranks sentences by LexRank (Erkan and Radev, 2004): a sentence is central if it is similar to many
// central ones. The random walk restarts at sentences in proportion to prior. Ranks are scaled to a maximum of 1.
func centrality(matrix [][]float32, prior []float64) []float64 {
	const (
		damping   = 0.85
		threshold = 0.05 // A smaller similarity is coincidence.
		rounds    = 40
		enough    = 1e-6
	)
	n := len(matrix)
	start := normalized(prior)
	sums := make([]float64, n)
	for i, row := range matrix {
		for _, s := range row {
			if s > threshold {
				sums[i] += float64(s)
			}
		}
	}
	rank, next := slices.Clone(start), make([]float64, n)
	for range rounds {
		loose := 0.0 // The rank of isolated sentences is distributed to all.
		for i := range next {
			next[i] = 0
			if sums[i] == 0 {
				loose += rank[i]
			}
		}
		for i, row := range matrix {
			if sums[i] == 0 {
				continue
			}
			share := rank[i] / sums[i]
			for j, s := range row {
				if s > threshold {
					next[j] += share * float64(s)
				}
			}
		}
		change := 0.0
		for i := range next {
			next[i] = (1-damping)*start[i] + damping*(next[i]+loose*start[i])
			change += math.Abs(next[i] - rank[i])
		}
		rank, next = next, rank
		if change < enough {
			break
		}
	}
	if top := slices.Max(rank); top > 0 {
		for i := range rank {
			rank[i] /= top
		}
	}
	return rank
}

func normalized(prior []float64) []float64 {
	sum := 0.0
	for _, p := range prior {
		sum += p
	}
	out := make([]float64, len(prior))
	for i, p := range prior {
		if sum > 0 {
			out[i] = p / sum
		} else {
			out[i] = 1 / float64(len(prior))
		}
	}
	return out
}

// diversify picks sentences greedily, each the highest ranked of those that add new content and that accept permits
// (maximal marginal relevance, Carbonell and Goldstein, 1998). It returns their indexes in picking order.
func diversify(rank []float64, matrix [][]float32, accept func(i int) bool) []int {
	const (
		novelty = 0.5 // Penalty for a full repetition.
		same    = 0.8 // Sentences this similar are not both picked.
	)
	nearest := make([]float64, len(rank))
	taken := make([]bool, len(rank))
	var picked []int
	for {
		best := -1
		for i := range rank {
			if taken[i] || nearest[i] >= same || rank[i] <= 0 {
				continue
			}
			if best < 0 || rank[i]-novelty*nearest[i] > rank[best]-novelty*nearest[best] {
				best = i
			}
		}
		if best < 0 {
			return picked
		}
		taken[best] = true
		if !accept(best) {
			continue
		}
		picked = append(picked, best)
		for i := range nearest {
			nearest[i] = max(nearest[i], float64(matrix[best][i]))
		}
	}
}

// maxGraph bounds the sentences that are compared with each other, because the cost is quadratic.
const maxGraph = 400

// rankSentences returns the centrality of the sentences and their similarities. If there are more than maxGraph
// sentences, it ranks parts separately and then the best of all parts together; kept holds the indexes of the
// sentences in the returned slices.
func rankSentences(ctx context.Context, texts []string, prior []float64) (rank []float64, matrix [][]float32,
	kept []int,
) {
	kept = make([]int, len(texts))
	for i := range kept {
		kept[i] = i
	}
	for len(kept) > maxGraph && ctx.Err() == nil {
		var best []int
		for part := range slices.Chunk(kept, maxGraph) {
			scores := centrality(similarities(weigh(selected(texts, part))), selected(prior, part))
			best = append(best, strongest(part, scores, max(1, len(part)/4))...)
		}
		kept = best
	}
	kept = kept[:min(len(kept), maxGraph)]
	matrix = similarities(weigh(selected(texts, kept)))
	return centrality(matrix, selected(prior, kept)), matrix, kept
}

// strongest returns the n members of part with the highest scores, in their original order.
func strongest(part []int, scores []float64, n int) []int {
	order := make([]int, len(part))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	order = order[:n]
	slices.Sort(order)
	return selected(part, order)
}

// selected returns the elements of all at the given indexes.
func selected[T any](all []T, indexes []int) []T {
	out := make([]T, len(indexes))
	for i, at := range indexes {
		out[i] = all[at]
	}
	return out
}
