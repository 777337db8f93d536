package streamtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// Rule says when a client takes an event id.
type Rule string

// The rules of the clients in use.
const (
	AtBlankLine Rule = "at the blank line" // The WHATWG's rule: EventSource.
	WithData    Rule = "with data"         // Libraries that pass events on: eventsource-parser, go-sse.
	AtLine      Rule = "at its line"       // fetch-event-source: before the event is whole.

	// AtLineChecked is AtLine as docs/streaming.md asks for: a client whose id is not the length of its text begins
	// anew.
	AtLineChecked Rule = "at its line, checked"
)

// Reader is a client with a rule, which reads connections that are cut anywhere. It can be compared.
type Reader struct {
	Rule         Rule
	Text, Cursor string
	Reasoning    string
	Done         bool
	Torn         bool // It holds the id of an event of which it never saw the end: the cut that AtLine cannot survive.
}

// Read takes what came over one connection. It reports whether the client leaves by itself.
func (c *Reader) Read(raw string) (left bool, err error) {
	id, data := "", ""
	for {
		line, rest, whole := strings.Cut(raw, "\n")
		if !whole {
			return false, nil
		}
		raw = rest
		if value, ok := strings.CutPrefix(line, "id: "); ok {
			id = value
			if c.Rule == AtLine || c.Rule == AtLineChecked {
				c.Cursor, c.Torn = id, true
			}
		} else if value, ok := strings.CutPrefix(line, "data: "); ok {
			data = value
		}
		if line != "" {
			continue
		}
		c.Torn = false
		if id != "" && (c.Rule == AtBlankLine || c.Rule == WithData && data != "") {
			c.Cursor = id
		}
		if data != "" {
			goesOn, err := c.event(id, data)
			if err != nil {
				return true, err
			}
			if !goesOn {
				c.Text, c.Cursor = "", ""
				return true, nil
			}
		}
		id, data = "", ""
	}
}

// event takes an event. It reports whether the client can go on.
func (c *Reader) event(id, data string) (goesOn bool, err error) {
	if c.Done = data == "[DONE]"; c.Done {
		return true, nil
	}
	var ch chunk
	if err := json.Unmarshal([]byte(data), &ch); err != nil {
		return false, fmt.Errorf("data is no JSON: %q: %w", data, err)
	}
	switch ch.Type {
	case "start":
		if c.Cursor == "" { // It has asked for everything.
			c.Reasoning = ""
		}
	case "data-reset":
		c.Text, c.Reasoning = "", ""
	case "reasoning-delta":
		c.Reasoning += ch.Delta
	case "text-delta":
		c.Text += ch.Delta
	}
	if c.Rule != AtLineChecked || id == "" {
		return true, nil
	}
	cursor, _ := stream.ParseCursor(id)
	return cursor.Offset == len(c.Text), nil
}
