// Package proofread turns what a model says about a text into changes that fit it.
//
// It cuts a text into parts that a model is asked about one by one (Proof.Parts, Part.Prompt), reads the changes out of
// its answers while they are streamed (Reader), finds where each one belongs (Proof.Take), and writes the result as
// Markdown. It asks no model itself and knows no threads. Nothing that a model says is trusted: what does not fit the
// text is dropped and counted.
package proofread

import (
	"unicode/utf8"

	"github.com/google/uuid"
)

// MaxText is how many characters a text may have.
const MaxText = 60_000

// Kind says what is wrong with the text.
type Kind string

// The kinds of changes.
const (
	Typo      Kind = "typo"      // Spelling, grammar, punctuation.
	Variation Kind = "variation" // The same word written in several ways, or against the rules of the house.
	Honorific Kind = "honorific"
	Wordy     Kind = "wordy" // Hard to read.
	Fact      Kind = "fact"  // To be confirmed.
)

// Label returns what a person reads for a kind.
func (k Kind) Label() string {
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

// Change replaces a piece of a text. Start and End count UTF-16 code units. Before is not empty, and neither Before nor
// After has a line end. Its JSON form is that of the API, the stream and the store.
type Change struct {
	ID     int    `json:"id"` // From 1, in the order of publication.
	Start  int    `json:"start"`
	End    int    `json:"end"`
	Before string `json:"before"`
	After  string `json:"after"`
	Kind   Kind   `json:"kind"`
	Reason string `json:"reason"`

	// Question says that only the writer can decide. After is Before where nothing is proposed.
	Question bool `json:"question,omitempty"`
}

// Range is a piece of a text, in UTF-16 code units.
type Range struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// File is the file that a text is from.
type File struct {
	DataSourceID uuid.UUID `json:"data_source_id"`
	Filename     string    `json:"filename"`
	DOCX         bool      `json:"docx"` // Changes can be written into it.
}

// Result is what is stored of a proofreading.
type Result struct {
	Text      string   `json:"text"`
	File      *File    `json:"file,omitempty"`
	Changes   []Change `json:"changes"` // In the order of the text, without overlaps.
	Dropped   int      `json:"dropped"`
	Unchecked []Range  `json:"unchecked,omitempty"`
}

// Block is a piece of a text that is small enough for one part of a stream.
type Block struct {
	Offset int // In UTF-16 code units.
	Text   string
}

// Blocks returns a text in pieces of at most size bytes. It splits no character.
func Blocks(text string, size int) []Block {
	var blocks []Block
	offset := 0
	for len(text) > 0 {
		end := min(size, len(text))
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end--
		}
		blocks = append(blocks, Block{offset, text[:end]})
		offset += units(text[:end])
		text = text[end:]
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
