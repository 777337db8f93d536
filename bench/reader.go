package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"
	"hash/crc32"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// Bytes before a token's text in the events of a UI message stream, and in the chunks of an OpenAI-compatible model.
const (
	deltaMark   = `"delta":"`
	contentMark = `"content":"`
	doneLine    = "data: [DONE]"
)

// reader is a sink that reads every event and decodes the tokens in it.
type reader struct {
	mark       []byte // Bytes before an event's text.
	want       int    // Number of tokens, including lost ones, after which the reader is complete.
	whole      bool   // The reader is complete after the end mark.
	next       int    // Number of the next token.
	lost       int
	duplicated int
	events     int
	hash       hash.Hash // Hash of the text.
	first      time.Time // Time of reading the first text.
	lags       []float64 // Milliseconds from a token's due time to its arrival, if due is set.
	due        func(n int) time.Time
	line       []byte // Beginning of an incomplete line.
	part       []byte // Beginning of an incomplete token, because an event may end inside a token.

	clocked bool          // The first tokens of the text encode its due time.
	every   time.Duration // Time between tokens; 0 if they are sent as fast as possible.
	clock   int           // Value of the first token.
}

// newReader returns a reader of tokens first to first+want-1.
func newReader(first, want int) *reader {
	return &reader{mark: []byte(deltaMark), next: first, want: first + want, hash: sha256.New()}
}

// newAnswerReader returns a reader of a whole answer, an llmtest.NumberedText of n tokens.
func newAnswerReader(mark string, tokens int, every time.Duration) *reader {
	return &reader{
		mark: []byte(mark), want: tokens, whole: true, hash: sha256.New(), clocked: true, every: every,
		lags: make([]float64, 0, tokens),
	}
}

const lineBreak = '\n'

func (r *reader) Take(b []byte, at time.Time) bool {
	for len(b) > 0 {
		line, rest, found := bytes.Cut(b, []byte{lineBreak})
		if !found {
			r.line = append(r.line, b...)
			break
		}
		if len(r.line) > 0 {
			r.line = append(r.line, line...)
			line = r.line
		}
		if _, text, ok := bytes.Cut(line, r.mark); ok {
			text, _, _ = bytes.Cut(text, []byte{'"'})
			r.events++
			r.text(text, at)
		} else if r.whole && string(line) == doneLine {
			return true
		}
		r.line = r.line[:0]
		b = rest
	}
	return !r.whole && r.next >= r.want
}

func (r *reader) text(text []byte, at time.Time) {
	if r.first.IsZero() {
		r.first = at
	}
	if len(r.part) > 0 {
		text = append(r.part, text...)
		r.part = nil
	}
	for ; len(text) >= tokenBytes; text = text[tokenBytes:] {
		n := llmtest.ReadToken(text)
		if r.clocked && r.next < llmtest.ClockTokens {
			r.tell(n)
			n = r.next
		}
		if n < r.next {
			r.duplicated++
			continue
		}
		r.lost += n - r.next
		r.next = n + 1
		r.hash.Write(text[:tokenBytes])
		if r.due != nil {
			r.lags = append(r.lags, float64(at.Sub(r.due(n)))/1e6)
		}
	}
	r.part = append(r.part, text...)
}

// tell processes the tokens that encode the due time of the first token.
func (r *reader) tell(n int) {
	if r.next == 0 {
		r.clock = n
		return
	}
	if r.every == 0 {
		return
	}
	began := llmtest.ReadClock(r.clock, n)
	r.due = func(n int) time.Time { return began.Add(time.Duration(n) * r.every) }
	r.lags = append(r.lags, float64(r.first.Sub(began))/1e6) // The delay of the first token.
}

// right reports whether exactly the expected tokens arrived, once and in order.
func (r *reader) right() bool {
	return r.lost == 0 && r.duplicated == 0 && r.next == r.want && len(r.part) == 0
}

// wantedText returns the hash of the text of tokens first to first+n-1.
func wantedText(first, n int) string {
	h := sha256.New()
	for i := range n {
		h.Write(llmtest.AppendToken(nil, first+i))
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

func (r *reader) sum() string { return fmt.Sprintf("%x", r.hash.Sum(nil)) }

// tally is a sink that counts events by their line breaks and sums their bytes, which costs little more than reading
// them. Two watchers of a stream with the same count and sum have received the same text.
type tally struct {
	head  []byte // Bytes before the first token.
	begun bool
	lines int
	sum   uint32
	table *crc32.Table
	full  *reader // If set, also reads every event to compare the text with the published one.

	// reached is called with the number of complete events whenever it increases. It reports whether to stop.
	reached func(events int) bool
}

const (
	// dataStart is the prefix of a token's line.
	dataStart = `data: {"type":"text-delta","id":"0","delta":"`

	// An event has three line breaks: after its data, its id and at its end.
	eventLines = 3
)

func (t *tally) Take(b []byte, at time.Time) bool {
	if t.full != nil {
		t.full.Take(b, at)
	}
	if !t.begun {
		t.head = append(t.head, b...)
		start := bytes.Index(t.head, []byte(dataStart))
		if start < 0 {
			return false
		}
		b, t.begun, t.lines = t.head[start:], true, 1 // The line with the id is complete.
	}
	t.lines += bytes.Count(b, []byte{lineBreak})
	t.sum = crc32.Update(t.sum, t.table, b)
	return t.reached(t.lines / eventLines)
}
