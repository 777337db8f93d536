package index

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tsumugi-ai/tsumugi/internal/ngram"
)

// The BM25 parameters: k1 is the saturation of term frequency, and b is the influence of the passage length. Anserini
// uses the same values for passages. docs/documents.md compares them with others.
const (
	k1 = 0.9
	b  = 0.4
)

// errCorrupt means that the bytes are not an index of this version.
var errCorrupt = errors.New("index: not an index of this version")

// Document is the decoded head of a packed index.
type Document struct {
	logarithm int
	lengths   []uint32
	total     uint64
}

// Open decodes the head of a packed index.
func Open(head []byte) (*Document, error) {
	if len(head) < 2 || head[0] != Version || head[1] > maxParts {
		return nil, errCorrupt
	}
	d := &Document{logarithm: int(head[1])}
	rest := head[2:]
	count, rest, ok := uvarint(rest)
	if !ok || count > uint64(len(rest)) {
		return nil, errCorrupt
	}
	d.lengths = make([]uint32, count)
	for i := range d.lengths {
		var length uint64
		if length, rest, ok = uvarint(rest); !ok || length > math.MaxUint32 {
			return nil, errCorrupt
		}
		d.lengths[i] = uint32(length)
		d.total += length
	}
	return d, nil
}

// Len returns the number of passages.
func (d *Document) Len() int { return len(d.lengths) }

// Bytes returns the approximate memory of the head.
func (d *Document) Bytes() int { return 4 * len(d.lengths) }

// Parts returns the numbers of the parts that a query reads, in order.
func (d *Document) Parts(q Query) []int {
	parts := make([]int, len(q))
	for i, t := range q {
		parts[i] = partOf(t.token, d.logarithm)
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}

// Query is the list of tokens to rank by, in order, with their numbers of occurrences.
type Query []term

type term struct {
	token string
	count float64
}

// maxTerms limits the cost of a query. A question has a few dozen tokens. Only the first maxTerms tokens of a longer
// text are used.
const maxTerms = 256

// NewQuery returns the query for a text. An empty query finds nothing.
func NewQuery(text string) Query {
	var q Query
	at := make(map[string]int)
	for token := range ngram.Fold(text).Tokens() {
		i, known := at[token]
		if !known {
			if len(q) == maxTerms {
				continue
			}
			i = len(q)
			at[token] = i
			q = append(q, term{token: token})
		}
		q[i].count++
	}
	slices.SortFunc(q, func(x, y term) int { return cmp.Compare(x.token, y.token) })
	return q
}

// Collection is a set of documents to search together.
type Collection struct {
	Documents []*Document
	// Part returns a part of a document by their numbers.
	Part func(document, part int) []byte
}

// entry contains the postings of a token in a part.
type entry struct {
	passages int
	packed   []byte
}

// Scores returns the score of each passage by document, 0 for passages without a token of the query.
func (c Collection) Scores(q Query) ([][]float64, error) {
	scores := make([][]float64, len(c.Documents))
	norms := make([][]float64, len(c.Documents))
	passages, total := 0, uint64(0)
	for _, d := range c.Documents {
		passages += d.Len()
		total += d.total
	}
	average := averageLength(passages, total)
	for i, d := range c.Documents {
		scores[i], norms[i] = make([]float64, d.Len()), make([]float64, d.Len())
		for j, length := range d.lengths {
			norms[i][j] = norm(uint64(length), average)
		}
	}
	entries := make([]entry, len(c.Documents))
	for _, t := range q {
		having := 0
		for i, d := range c.Documents {
			var err error
			if entries[i], err = find(c.Part(i, partOf(t.token, d.logarithm)), t.token); err != nil {
				return nil, err
			}
			having += entries[i].passages
		}
		weight := t.weight(passages, having)
		for i, e := range entries {
			if err := e.score(scores[i], norms[i], weight); err != nil {
				return nil, err
			}
		}
	}
	return scores, nil
}

// MatchAll returns for each document the first passages that contain all tokens of a query, up to most.
func (c Collection) MatchAll(q Query, most int) ([][]int, error) {
	found := make([][]int, len(c.Documents))
	for i, d := range c.Documents {
		counts := make([]float64, d.Len())
		norms := make([]float64, d.Len()) // Zero norms make each token count only once.
		for _, t := range q {
			e, err := find(c.Part(i, partOf(t.token, d.logarithm)), t.token)
			if err == nil {
				err = e.score(counts, norms, 1)
			}
			if err != nil {
				return nil, err
			}
			if e.passages == 0 {
				break
			}
		}
		for j, count := range counts {
			if int(count) == len(q) && len(q) > 0 && len(found[i]) < most {
				found[i] = append(found[i], j)
			}
		}
	}
	return found, nil
}

// averageLength returns the average length of passages with a total length in tokens. It is at least 1.
func averageLength(passages int, total uint64) float64 {
	return max(float64(total)/float64(max(passages, 1)), 1)
}

// norm returns the normalization of the counts of a passage by its length.
func norm(length uint64, average float64) float64 { return k1 * (1 - b + b*float64(length)/average) }

// weight returns the weight of a term that having of the passages contain.
func (t term) weight(passages, having int) float64 {
	return t.count * rarity(passages, having) * (k1 + 1)
}

// gain returns the score of a passage for a term that it contains count times.
func gain(weight float64, count uint64, norm float64) float64 {
	frequency := float64(count)
	return weight * frequency / (frequency + norm)
}

// rarity returns the inverse document frequency of a token in having of the passages. It is above 0.
func rarity(passages, having int) float64 {
	return math.Log(1 + (float64(passages-having)+0.5)/(float64(having)+0.5))
}

// find returns the entry of a token in a part.
func find(part []byte, token string) (entry, error) {
	for len(part) > 0 {
		length, rest, ok := uvarint(part)
		if !ok || length > uint64(len(rest)) {
			return entry{}, errCorrupt
		}
		name := rest[:length]
		passages, rest, ok := uvarint(rest[length:])
		if !ok {
			return entry{}, errCorrupt
		}
		size, rest, ok := uvarint(rest)
		if !ok || size > uint64(len(rest)) || passages > size {
			return entry{}, errCorrupt
		}
		if string(name) == token {
			return entry{passages: int(passages), packed: rest[:size]}, nil //nolint:gosec // At most the size.
		}
		part = rest[size:]
	}
	return entry{}, nil
}

// score adds the weight of a token to the scores of the passages that contain it.
func (e entry) score(scores, norms []float64, weight float64) error {
	packed, number := e.packed, uint64(0)
	for range e.passages {
		distance, rest, ok := uvarint(packed)
		if !ok {
			return errCorrupt
		}
		count := uint64(1)
		if distance&1 == 1 {
			if count, rest, ok = uvarint(rest); !ok {
				return errCorrupt
			}
		}
		if number += distance >> 1; number >= uint64(len(scores)) {
			return fmt.Errorf("%w: passage %d of %d", errCorrupt, number, len(scores))
		}
		scores[number] += gain(weight, count, norms[number])
		packed = rest
	}
	return nil
}

// uvarint decodes a number, with a fast path for a single byte.
func uvarint(from []byte) (n uint64, rest []byte, ok bool) {
	if len(from) > 0 && from[0] < 0x80 {
		return uint64(from[0]), from[1:], true
	}
	n, size := binary.Uvarint(from)
	if size <= 0 {
		return 0, nil, false
	}
	return n, from[size:], true
}

// Hit is a matching passage.
type Hit struct {
	Document, Passage int
	Score             float64
}

// Best returns the k passages with the highest scores above 0, best first. Passages with equal scores are ordered by
// document and passage.
func Best(scores [][]float64, k int) []Hit {
	if k < 1 {
		return nil
	}
	var best []Hit
	for i, list := range scores {
		for j, score := range list {
			if score <= 0 || len(best) == k && score <= best[k-1].Score {
				continue
			}
			at, _ := slices.BinarySearchFunc(best, score, func(h Hit, s float64) int {
				if h.Score >= s {
					return -1
				}
				return 1
			})
			if len(best) == k {
				best = best[:k-1]
			}
			best = slices.Insert(best, at, Hit{Document: i, Passage: j, Score: score})
		}
	}
	return best
}
