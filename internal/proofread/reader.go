package proofread

import (
	"bytes"
	"encoding/json"
	"strings"
)

const (
	maxObject  = 32 << 10 // Bytes of a change in JSON.
	maxChanges = 1_000    // Of a part.
)

// Proposal is a change as a model names it.
type Proposal struct {
	Context  string
	Before   string
	After    string
	Kind     Kind
	Reason   string
	Question bool
}

// Reader reads changes out of a model's answer while it is streamed: each JSON object that has no other object inside it
// is one, whatever stands around it. So it reads the object that was asked for, a list, objects in lines, and each of
// them in a code block or after an introduction. The zero value is ready.
type Reader struct {
	object  []byte // From the last "{", while no "}" has ended it.
	open    bool   // Within an object.
	quoted  bool   // Within a string of it.
	escaped bool   // After a backslash of that.
	named   bool   // The name of its first field has ended, and a colon followed.
	unnamed bool   // The colon must follow.
	last    byte   // The last character that is no space, outside of objects.

	formed bool // The answer has the form that was asked for, perhaps without a change.
	count  int
	broken int
}

// Write reads the next piece of the answer and returns the changes that it completes.
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

// Formed reports whether the answer has the form that was asked for.
func (r *Reader) Formed() bool { return r.formed }

// Broken returns how many changes could not be read.
func (r *Reader) Broken() int {
	if r.open && bytes.Contains(r.object, beforeKey) {
		return r.broken + 1
	}
	return r.broken
}

var (
	beforeKey  = []byte(`"before"`)
	changesKey = []byte(`"changes"`)
)

// add reads a byte and reports whether it ends an object. The bytes of a character beyond ASCII are never one of JSON's
// own.
func (r *Reader) add(c byte) (ended bool) {
	if !r.open {
		if c == '{' {
			r.begin()
		} else if c > ' ' {
			r.formed = r.formed || c == ']' && r.last == '['
			r.last = c
		}
		return false
	}
	r.object = append(r.object, c)
	switch {
	case len(r.object) > maxObject, r.quoted && c == '\n':
		r.fail() // No string has a line end: a quotation mark was lost.
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
		r.formed = r.formed || bytes.Contains(r.object, changesKey)
		r.begin() // What is around it is no change.
	case c == '}':
		return true
	}
	return false
}

func (r *Reader) begin() {
	r.object, r.open, r.quoted, r.escaped, r.last = append(r.object[:0], '{'), true, false, false, 0
	r.named, r.unnamed = false, false
}

// fail drops the object that is being read.
func (r *Reader) fail() {
	if bytes.Contains(r.object, beforeKey) {
		r.broken++
	}
	r.object, r.open = r.object[:0], false
}

// take returns the change that an object is.
func (r *Reader) take() (Proposal, bool) {
	r.open = false
	var fields struct {
		Context  loose           `json:"context"`
		Before   *loose          `json:"before"`
		After    *loose          `json:"after"`
		Kind     loose           `json:"kind"`
		Reason   loose           `json:"reason"`
		Question loose           `json:"question"`
		Changes  json.RawMessage `json:"changes"`
	}
	err := json.Unmarshal(r.object, &fields)
	if err != nil {
		err = json.Unmarshal(withoutComma(r.object), &fields)
	}
	r.formed = r.formed || fields.Changes != nil
	if err != nil || fields.Before == nil || fields.After == nil || r.count == maxChanges {
		if bytes.Contains(r.object, beforeKey) {
			r.broken++
		}
		return Proposal{}, false
	}
	r.formed = true
	r.count++
	return Proposal{
		Context: string(fields.Context), Before: string(*fields.Before), After: string(*fields.After),
		Kind: readKind(string(fields.Kind)), Reason: string(fields.Reason), Question: fields.Question == "true",
	}, true
}

// withoutComma returns an object without the comma before its end, which many models write.
func withoutComma(object []byte) []byte {
	inside := bytes.TrimRight(object[:len(object)-1], " \t\r\n,")
	return append(bytes.Clone(inside), '}')
}

// loose is a string, or what a model may write in its place.
type loose string

// UnmarshalJSON implements json.Unmarshaler.
func (l *loose) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, (*string)(l))
	}
	if string(data) != "null" {
		*l = loose(data)
	}
	return nil
}

// readKind reads the name of a kind, also one that was not asked for.
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
