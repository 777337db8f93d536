package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"strconv"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// answer is what one client has of an answer. It is a client.Sink, whose Take belongs to the client's goroutine.
type answer struct {
	stats *stats
	every time.Duration // Between the tokens of the numbered text; 0 to time none.

	part   []byte        // Of an event that has not ended.
	cursor string        // The id of the last event that has.
	have   int           // Bytes of the text.
	hash   hash.Hash     // Of the text.
	begin  []byte        // The text's beginning, which tells when it was due.
	first  time.Time     // When the first of it was read.
	due    time.Time     // When its first token was.
	live   time.Time     // Since when the client is there: earlier tokens came late for a reason.
	retry  time.Duration // After which the client is to come back.
	done   bool          // [DONE] has come.
}

func newAnswer(s *stats, every time.Duration) *answer {
	return &answer{stats: s, every: every, hash: sha256.New(), retry: time.Second}
}

var eventEnd = []byte("\n\n")

// Take reads events, each when its end has come.
func (a *answer) Take(b []byte, at time.Time) bool {
	if len(a.part) > 0 {
		a.part = append(a.part, b...)
		b = a.part
	}
	for {
		event, rest, found := bytes.Cut(b, eventEnd)
		if !found {
			break
		}
		a.event(event, at)
		b = rest
	}
	a.part = append(a.part[:0], b...)
	return a.done
}

// reconnect forgets the event that was cut off.
func (a *answer) reconnect() { a.part = a.part[:0] }

func (a *answer) event(event []byte, at time.Time) {
	var data []byte
	id := ""
	for line := range bytes.SplitSeq(event, []byte("\n")) {
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch string(name) {
		case "data":
			data = value
		case "id":
			id = string(value)
		case "retry":
			if ms, err := strconv.Atoi(string(value)); err == nil {
				a.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
	if data != nil {
		a.chunk(data, id, at)
	}
	if id != "" {
		a.cursor = id
	}
}

// The beginnings of the chunks that matter, as the server writes them.
const (
	deltaStart = `{"type":"text-delta","id":"0","delta":"`
	deltaEnd   = `"}`
)

func (a *answer) chunk(data []byte, id string, at time.Time) {
	if text, ok := bytes.CutPrefix(data, []byte(deltaStart)); ok {
		text = bytes.TrimSuffix(text, []byte(deltaEnd))
		if bytes.IndexByte(text, '\\') >= 0 {
			var chunk struct{ Delta string }
			if json.Unmarshal(data, &chunk) != nil {
				a.stats.lost.Add(1)
			}
			text = []byte(chunk.Delta)
		}
		a.text(text, id, at)
		return
	}
	if string(data) == "[DONE]" {
		a.done = true
		return
	}
	var chunk struct{ Type string }
	if json.Unmarshal(data, &chunk) != nil {
		a.stats.lost.Add(1)
		return
	}
	switch chunk.Type {
	case "data-reset":
		a.stats.resets.Add(1)
		a.have, a.begin, a.due = 0, a.begin[:0], time.Time{}
		a.hash.Reset()
	case "finish", "abort", "error":
		if chunk.Type == "error" {
			a.stats.failed.Add(1)
		}
		a.place(id)
	}
}

// text takes a piece of the text, after which the client is at a cursor.
func (a *answer) text(text []byte, cursor string, at time.Time) {
	a.stats.events.Add(1)
	from := a.have
	a.have += len(text)
	a.hash.Write(text)
	if from == 0 {
		a.first = at
	}
	if missing := llmtest.ClockTokens*llmtest.TokenBytes - len(a.begin); missing > 0 {
		a.begin = append(a.begin, text[:min(missing, len(text))]...)
		if len(text) >= missing {
			a.due = llmtest.ReadClock(llmtest.ReadToken(a.begin), llmtest.ReadToken(a.begin[llmtest.TokenBytes:]))
			a.time(0, a.first)
			from = max(from, llmtest.TokenBytes)
		}
	}
	a.place(cursor)
	for n := from / llmtest.TokenBytes; n < a.have/llmtest.TokenBytes; n++ {
		a.time(n, at)
	}
}

// time notes how late a token was read, unless it came before the client was there.
func (a *answer) time(n int, at time.Time) {
	if a.every == 0 || a.due.IsZero() {
		return
	}
	if due := a.due.Add(time.Duration(n) * a.every); due.After(a.live) {
		a.stats.tokens.Add(1)
		a.stats.lag.add(at.Sub(due))
	}
}

// place compares what the client has with where the server says that it is.
func (a *answer) place(cursor string) {
	_, offset, found := strings.Cut(cursor, "-")
	n, err := strconv.Atoi(offset)
	if !found || err != nil {
		a.stats.lost.Add(1)
		return
	}
	a.stats.lost.Add(int64(max(n-a.have, 0)))
	a.stats.repeated.Add(int64(max(a.have-n, 0)))
	a.have = n
}

// sum returns the hash of the text.
func (a *answer) sum() string { return fmt.Sprintf("%x", a.hash.Sum(nil)) }
