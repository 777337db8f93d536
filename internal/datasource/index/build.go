package index

import (
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/ngram"
)

// Version is the version of the packed form and of the tokens. An index of another version must be rebuilt.
const Version = 1

// Passage is the indexed text of a passage.
type Passage struct {
	Text     string
	Headings string // Above it.
}

// Packed is the stored form of a document's index. A query reads the head and those parts that its tokens are in.
//
// The head is the version, the logarithm of the number of parts, the number of passages and the length of each. A part
// is a row of entries: a token with the number of its bytes, the number of passages that have it, the number of bytes
// that follow, and for each passage the distance to the one before, doubled, plus one if its count follows because it
// is not one. Numbers are uvarints.
type Packed struct {
	Head  []byte
	Parts [][]byte
}

const (
	// partBytes is how large a part is on average: a row of the database that is read in one piece, unless a token
	// fills more.
	partBytes = 4 << 10
	maxParts  = 16 // As a logarithm.
)

// contextWeight is how often the tokens of title and headings count in each of their passages, as if they stood in its
// text.
const contextWeight = 1

// Build packs the index of a document: its title and its passages in order.
func Build(title string, passages []Passage) Packed {
	b := builder{postings: make(map[string]*postings)}
	titleTokens := slices.Collect(ngram.Fold(title).Tokens())
	context, headings := tokenSet(titleTokens, ""), ""
	lengths := make([]byte, 0, 2*len(passages))
	for i, p := range passages {
		if p.Headings != headings {
			context, headings = tokenSet(titleTokens, p.Headings), p.Headings
		}
		lengths = binary.AppendUvarint(lengths, b.add(i, p.Text, context))
	}
	logarithm := 0
	for logarithm < maxParts && b.bytes>>logarithm > partBytes {
		logarithm++
	}
	head := binary.AppendUvarint([]byte{Version, byte(logarithm)}, uint64(len(passages)))
	return Packed{Head: append(head, lengths...), Parts: b.parts(logarithm)}
}

// tokenSet returns the tokens of title and headings, each once.
func tokenSet(title []string, headings string) []string {
	all := slices.AppendSeq(slices.Clone(title), ngram.Fold(headings).Tokens())
	slices.Sort(all)
	return slices.Compact(all)
}

// builder gathers the postings of a document.
type builder struct {
	postings map[string]*postings
	counts   map[string]uint64 // Of one passage.
	bytes    int               // About how many the entries will have.
}

// postings are the passages that have a token.
type postings struct {
	passages int
	last     int // The last one.
	packed   []byte
}

// add indexes a passage, and returns its length in tokens.
func (b *builder) add(number int, text string, context []string) (length uint64) {
	if b.counts == nil {
		b.counts = make(map[string]uint64)
	}
	clear(b.counts)
	for token := range ngram.Fold(text).Tokens() {
		b.counts[token]++
		length++
	}
	for _, token := range context {
		b.counts[token] += contextWeight
	}
	for token, count := range b.counts {
		p := b.postings[token]
		if p == nil {
			p = new(postings)
			b.postings[strings.Clone(token)] = p // Not the whole text with it.
			b.bytes += len(token) + 3
		}
		before := len(p.packed)
		distance := uint64(number-p.last) << 1 //nolint:gosec // Passages come in order.
		if count == 1 {
			p.packed = binary.AppendUvarint(p.packed, distance)
		} else {
			p.packed = binary.AppendUvarint(binary.AppendUvarint(p.packed, distance|1), count)
		}
		b.bytes += len(p.packed) - before
		p.passages++
		p.last = number
	}
	return length
}

// parts packs what was gathered. The order is that of the tokens, so that the same document gives the same bytes.
func (b *builder) parts(logarithm int) [][]byte {
	parts := make([][]byte, 1<<logarithm)
	for _, token := range slices.Sorted(maps.Keys(b.postings)) {
		p := b.postings[token]
		part := &parts[partOf(token, logarithm)]
		*part = append(binary.AppendUvarint(*part, uint64(len(token))), token...)
		*part = binary.AppendUvarint(*part, uint64(p.passages)) //nolint:gosec // A count.
		*part = binary.AppendUvarint(*part, uint64(len(p.packed)))
		*part = append(*part, p.packed...)
	}
	return parts
}

// partOf returns the number of the part that a token is in.
func partOf(token string, logarithm int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(token))
	return int(h.Sum32() & (1<<logarithm - 1))
}
