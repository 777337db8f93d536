package index

import (
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/ngram"
)

// Version is the version of the packed form and of the tokens. An index with another version must be rebuilt.
const Version = 1

// Passage is the indexed text of a passage.
type Passage struct {
	Text     string
	Headings string // The headings above the text.
}

// PackedIndex is the stored form of a document's index. A query reads the head and the parts that contain its tokens.
//
// The head contains the version, the logarithm of the number of parts, the number of passages, and the length of each
// passage. A part is a sequence of entries: a token with its length in bytes, the number of passages that contain it,
// the number of remaining bytes, and for each passage the doubled distance to the previous passage, plus one if the
// count of the token follows because it is not one. Numbers are uvarints.
type PackedIndex struct {
	Head  []byte
	Parts [][]byte
}

const (
	// partBytes is the average size of a part. A part is a database row that is read at once. A frequent token can make
	// it larger.
	partBytes = 4 << 10
	maxParts  = 16 // Logarithm of the largest number of parts.
)

// contextWeight is the weight of the tokens of the title and headings in each passage, in occurrences in the text.
const contextWeight = 1

// Build packs the index of a document from its title and its passages in order.
func Build(title string, passages []Passage) PackedIndex {
	b := builder{postings: make(map[string]*postings)}
	counter := newCounter(title)
	lengths := make([]byte, 0, 2*len(passages))
	for i, p := range passages {
		counts, length := counter.count(p)
		b.add(uint32(i), counts) //nolint:gosec // A count.
		lengths = binary.AppendUvarint(lengths, length)
	}
	logarithm := 0
	for logarithm < maxParts && b.bytes>>logarithm > partBytes {
		logarithm++
	}
	head := binary.AppendUvarint([]byte{Version, byte(logarithm)}, uint64(len(passages)))
	return PackedIndex{Head: append(head, lengths...), Parts: b.parts(logarithm)}
}

// counter counts the tokens of the passages of a document.
type counter struct {
	title    []string
	headings string
	context  []string // The distinct tokens of the title and headings.
	counts   map[string]uint64
	only     map[string]bool // The tokens to count; nil for all.
}

func newCounter(title string) *counter {
	tokens := slices.Collect(ngram.Fold(title).Tokens())
	return &counter{title: tokens, context: tokenSet(tokens, ""), counts: make(map[string]uint64)}
}

// count returns the counts of a passage's tokens, with those of its context, which are valid until the next call. length
// is the number of tokens of its text.
func (c *counter) count(p Passage) (counts map[string]uint64, length uint64) {
	if p.Headings != c.headings {
		c.context, c.headings = tokenSet(c.title, p.Headings), p.Headings
	}
	clear(c.counts)
	for token := range ngram.Fold(p.Text).Tokens() {
		if c.only == nil || c.only[token] {
			c.counts[token]++
		}
		length++
	}
	for _, token := range c.context {
		c.counts[token] += contextWeight
	}
	return c.counts, length
}

// tokenSet returns the distinct tokens of the title and headings.
func tokenSet(title []string, headings string) []string {
	all := slices.AppendSeq(slices.Clone(title), ngram.Fold(headings).Tokens())
	slices.Sort(all)
	return slices.Compact(all)
}

// builder collects the postings of a document.
type builder struct {
	postings map[string]*postings
	bytes    int // Approximate size of the entries.
}

// postings are the passages that contain a token. A long document has hundreds of thousands of tokens, so the numbers
// have only 32 bits.
type postings struct {
	passages uint32
	last     uint32 // The last passage added.
	packed   []byte
}

// add indexes a passage with the counts of its tokens.
func (b *builder) add(number uint32, counts map[string]uint64) {
	for token, count := range counts {
		p := b.postings[token]
		if p == nil {
			p = new(postings)
			b.postings[strings.Clone(token)] = p // Clone, so that the key does not keep the whole text in memory.
			b.bytes += len(token) + 3
		}
		before := len(p.packed)
		distance := uint64(number-p.last) << 1 // Passages come in order.
		if count == 1 {
			p.packed = binary.AppendUvarint(p.packed, distance)
		} else {
			p.packed = binary.AppendUvarint(binary.AppendUvarint(p.packed, distance|1), count)
		}
		b.bytes += len(p.packed) - before
		p.passages++
		p.last = number
	}
}

// parts packs the collected postings, sorted by token, so that equal documents result in equal bytes.
func (b *builder) parts(logarithm int) [][]byte {
	parts := make([][]byte, 1<<logarithm)
	for _, token := range slices.Sorted(maps.Keys(b.postings)) {
		p := b.postings[token]
		part := &parts[partOf(token, logarithm)]
		*part = append(binary.AppendUvarint(*part, uint64(len(token))), token...)
		*part = binary.AppendUvarint(*part, uint64(p.passages))
		*part = binary.AppendUvarint(*part, uint64(len(p.packed)))
		*part = append(*part, p.packed...)
	}
	return parts
}

// partOf returns the number of the part that contains a token.
func partOf(token string, logarithm int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(token))
	return int(h.Sum32() & (1<<logarithm - 1))
}
