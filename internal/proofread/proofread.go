// Package proofread converts a model's answers about a text into changes of the text.
//
// It splits a text into parts for separate model calls (Proof.Parts, Part.Prompt), parses changes from the streamed
// answers (Reader), locates each change in the text (Proof.AddProposal), and formats the result as Markdown. It neither
// calls a model nor depends on threads. The model's output is untrusted: changes that do not fit the text are dropped
// and counted.
//
// The model returns only changes, each with its reason. If it returned the corrected text, rewriting could not be
// distinguished from correcting, and a diff would have no reasons. Tool calls, one for each change, were rejected
// because not every provider streams them. A change is searched for in the text, because models cannot count
// characters. It is reduced to the difference, but never within a number or a word in katakana or Latin letters. It
// does not overlap another change or cross a line end, so it cannot move a sentence or join paragraphs. Offsets count
// UTF-16 code units, as browsers do, so that only the server has to convert them. The answer's text is Markdown that is
// written from the checked changes, so that Slack, the extension, search and export need no support for changes.
package proofread

import (
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

// MaxText is the largest length of a text in characters.
const MaxText = 60_000

// Kind is the kind of error that a change corrects.
type Kind string

// The kinds of changes.
const (
	Typo      Kind = "typo"      // Spelling, grammar, punctuation.
	Variation Kind = "variation" // The same word in several spellings, or a violation of the customer's style rules.
	Honorific Kind = "honorific"
	Wordy     Kind = "wordy" // Hard to read.
	Fact      Kind = "fact"  // Must be confirmed by the writer.
)

// label returns the Japanese name of a kind.
func (k Kind) label() string {
	switch k {
	case Variation:
		return "表記ゆれ"
	case Honorific:
		return "敬語"
	case Wordy:
		return "冗長"
	case Fact:
		return "事実の確認"
	default:
		return "誤字"
	}
}

// Change replaces a range of a text. Start and End count UTF-16 code units. Before is not empty. Before and After have
// no line ends. The API, the stream and the store use the same JSON form.
type Change struct {
	ID     int    `json:"id"` // From 1, in the order of publication.
	Start  int    `json:"start"`
	End    int    `json:"end"`
	Before string `json:"before"`
	After  string `json:"after"`
	Kind   Kind   `json:"kind"`
	Reason string `json:"reason"`

	// Question means that only the writer can decide. After equals Before if there is no proposal.
	Question bool `json:"question,omitempty"`
}

// Range is a range of a text, in UTF-16 code units.
type Range struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// File identifies the source file of a text.
type File struct {
	DataSourceID uuid.UUID `json:"data_source_id"`
	Filename     string    `json:"filename"`
	DOCX         bool      `json:"docx"` // Changes can be written into the file.
}

// Result is the stored result of a proofreading.
type Result struct {
	Text      string   `json:"text"`
	File      *File    `json:"file,omitempty"`
	Changes   []Change `json:"changes"` // Ordered by position in the text, without overlaps.
	Dropped   int      `json:"dropped"`
	Unchecked []Range  `json:"unchecked,omitempty"`
}

// Block is a piece of a text that fits into one event of a stream.
type Block struct {
	Offset int // In UTF-16 code units.
	Text   string
}

// Blocks splits a text into pieces of at most size bytes, at character boundaries.
func Blocks(text string, size int) []Block {
	var blocks []Block
	offset := 0
	for len(text) > 0 {
		first := runes.FirstBytes(text, size)
		blocks = append(blocks, Block{offset, first})
		offset += units(first)
		text = text[len(first):]
	}
	return blocks
}

// units returns the length of a text in UTF-16 code units.
func units(text string) int {
	n := 0
	for _, r := range text {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}
