package proofread

import (
	"bytes"
	"encoding/json"
	"strings"
)

const (
	maxObject  = 32 << 10 // JSON of one change, in bytes.
	maxChanges = 1_000    // Changes of one part.
)

// Proposal is a change in a model's answer.
type Proposal struct {
	Context  string `json:"context"`
	Before   string `json:"before"`
	After    string `json:"after"`
	Kind     Kind   `json:"kind"`
	Reason   string `json:"reason"`
	Question bool   `json:"question"`
}

// Reader parses changes from a model's answer while it is streamed. It treats each innermost JSON object as a change
// and ignores the text around it. It therefore accepts the requested object, a list, and one object per line, each also
// in a code block or after an introduction. The zero value is ready to use.
type Reader struct {
	object  []byte // The bytes since the last "{", while the object is open.
	open    bool   // Inside an object.
	quoted  bool   // Inside a string of the object.
	escaped bool   // After a backslash in the string.
	named   bool   // The name of the first field and its colon were read.
	unnamed bool   // The name of the first field was read; a colon must follow.
	last    byte   // The last character outside of objects that is not a space.

	wellFormed bool // The answer is in the requested format, possibly without changes.
	count      int
	malformed  int
}

// Write adds the next piece of the answer and returns the changes that it completes.
func (r *Reader) Write(piece string) (found []Proposal) {
	for i := range len(piece) {
		if r.add(piece[i]) {
			if p, ok := r.take(); ok {
				found = append(found, p)
			}
		}
	}
	return found
}

// WellFormed reports whether the answer is in the requested format.
func (r *Reader) WellFormed() bool { return r.wellFormed }

// Malformed returns the number of changes that could not be parsed.
func (r *Reader) Malformed() int {
	if r.open && bytes.Contains(r.object, beforeKey) {
		return r.malformed + 1
	}
	return r.malformed
}

var (
	beforeKey  = []byte(`"before"`)
	changesKey = []byte(`"changes"`)
)

// add processes a byte and reports whether it ends an object. It can ignore multi-byte characters, because their bytes
// never occur in the syntax of JSON.
func (r *Reader) add(c byte) (ended bool) {
	if !r.open {
		if c == '{' {
			r.begin()
		} else if c > ' ' {
			r.wellFormed = r.wellFormed || c == ']' && r.last == '['
			r.last = c
		}
		return false
	}
	r.object = append(r.object, c)
	switch {
	case len(r.object) > maxObject, r.quoted && c == '\n':
		r.fail() // A JSON string has no line ends, so a quotation mark is missing.
	case r.unnamed && c > ' ':
		if r.unnamed, r.named = false, c == ':'; !r.named {
			r.fail() // A brace in prose.
		}
	case r.escaped:
		r.escaped = false
	case r.quoted && c == '\\':
		r.escaped = true
	case c == '"':
		r.quoted = !r.quoted
		r.unnamed = !r.quoted && !r.named
	case r.quoted:
	case c == '{':
		r.wellFormed = r.wellFormed || bytes.Contains(r.object, changesKey)
		r.begin() // The outer object is not a change.
	case c == '}':
		return true
	}
	return false
}

func (r *Reader) begin() {
	r.object, r.open, r.quoted, r.escaped, r.last = append(r.object[:0], '{'), true, false, false, 0
	r.named, r.unnamed = false, false
}

// fail discards the current object.
func (r *Reader) fail() {
	if bytes.Contains(r.object, beforeKey) {
		r.malformed++
	}
	r.object, r.open = r.object[:0], false
}

// take parses the completed object as a change.
func (r *Reader) take() (Proposal, bool) {
	r.open = false
	var fields struct {
		Context  looseString     `json:"context"`
		Before   *looseString    `json:"before"`
		After    *looseString    `json:"after"`
		Kind     looseString     `json:"kind"`
		Reason   looseString     `json:"reason"`
		Question looseString     `json:"question"`
		Changes  json.RawMessage `json:"changes"`
	}
	err := json.Unmarshal(r.object, &fields)
	if err != nil {
		err = json.Unmarshal(withoutComma(r.object), &fields)
	}
	r.wellFormed = r.wellFormed || fields.Changes != nil
	if err != nil || fields.Before == nil || fields.After == nil || r.count == maxChanges {
		if bytes.Contains(r.object, beforeKey) {
			r.malformed++
		}
		return Proposal{}, false
	}
	r.wellFormed = true
	r.count++
	return Proposal{
		Context: string(fields.Context), Before: string(*fields.Before), After: string(*fields.After),
		Kind: readKind(string(fields.Kind)), Reason: string(fields.Reason), Question: fields.Question == "true",
	}, true
}

// withoutComma returns an object without a comma before its closing brace. Many models write one.
func withoutComma(object []byte) []byte {
	inside := bytes.TrimRight(object[:len(object)-1], " \t\r\n,")
	return append(bytes.Clone(inside), '}')
}

// looseString is a string that can also be decoded from another JSON value.
type looseString string

func (l *looseString) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, (*string)(l))
	}
	if string(data) != "null" {
		*l = looseString(data)
	}
	return nil
}

// readKind maps the name of a kind to a Kind. It accepts common variants that models write.
func readKind(name string) Kind {
	name = strings.ToLower(strings.TrimSpace(name))
	for _, known := range []struct {
		kind  Kind
		names []string
	}{
		{Fact, []string{"fact", "事実", "確認", "figure", "number", "固有名詞"}},
		{Honorific, []string{"honor", "honour", "polite", "keigo", "敬語"}},
		{Variation, []string{"variation", "variant", "consisten", "notation", "表記", "ゆれ", "揺れ", "統一"}},
		{Wordy, []string{"word", "redundan", "style", "clarity", "readab", "verbos", "冗長", "読みや", "読みに", "重複", "文体"}},
	} {
		for _, n := range known.names {
			if strings.Contains(name, n) {
				return known.kind
			}
		}
	}
	return Typo
}
