package streamtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// Rule is the time at which a client adopts an event id.
type Rule string

// The rules of common clients.
const (
	AtBlankLine Rule = "at the blank line" // The WHATWG's rule: EventSource.
	WithData    Rule = "with data"         // Libraries that deliver complete events: eventsource-parser, go-sse.
	AtLine      Rule = "at its line"       // fetch-event-source: before the event is complete.

	// AtLineChecked is AtLine as required by docs/streaming.md: a client whose id does not match the length of its text
	// starts over.
	AtLineChecked Rule = "at its line, checked"
)

// Reader is a client with a rule. Its connections may be cut anywhere. It is comparable.
type Reader struct {
	Rule         Rule
	Text, Cursor string
	Reasoning    string
	Done         bool
	Torn         bool // The client has the id of an event whose end it never received. AtLine cannot recover from this.
}

// Read processes the data received over one connection. It reports whether the client disconnects by itself.
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

// event processes an event. It reports whether the client can continue.
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
		if c.Cursor == "" { // The client requested the text from its start.
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
