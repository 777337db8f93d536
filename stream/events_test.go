package stream_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// event is one event as dispatched by a client's parser.
type event struct {
	id   string // "" for an event without an id.
	data string
}

// chunk is the part of a UI message chunk that the tests read.
type chunk struct {
	Type  string          `json:"type"`
	Delta string          `json:"delta"`
	Data  json.RawMessage `json:"data"`
}

// parseEvents parses an event stream by section 9.2.6 of the WHATWG's HTML standard. It shares no code with the tested
// package. comments is the number of lines that begin with a colon.
func parseEvents(t testing.TB, raw []byte) (events []event, comments int) {
	t.Helper()
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	text := strings.ReplaceAll(strings.ReplaceAll(string(raw), "\r\n", "\n"), "\r", "\n")
	var data []string
	id := ""
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" {
			if data != nil {
				events = append(events, event{id, strings.Join(data, "\n")})
			}
			data, id = nil, ""
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "":
			comments++
		case "data":
			data = append(data, value)
		case "id":
			id = value
		case "retry":
		default:
			t.Fatalf("a field that no client knows: %q", line)
		}
	}
	return events, comments
}

// client is the state of a client that reads several streams one after the other.
type client struct {
	text      string // At the end of the last read.
	reasoning string
	cursor    string // The last event id.
	terminal  []string
	types     []string
	done      bool
}

// read processes an event stream. It fails the test if a cursor is not the length of the text.
func (c *client) read(t testing.TB, raw []byte) {
	t.Helper()
	events, _ := parseEvents(t, raw)
	text := []byte(c.text)
	defer func() { c.text = string(text) }()
	for _, e := range events {
		if c.done {
			t.Fatalf("an event after [DONE]: %q", e.data)
		}
		if e.data == "[DONE]" {
			c.done = true
			continue
		}
		var ch chunk
		if err := json.Unmarshal([]byte(e.data), &ch); err != nil {
			t.Fatalf("data is no JSON: %q: %v", e.data, err)
		}
		c.types = append(c.types, ch.Type)
		switch ch.Type {
		case "text-delta":
			text = append(text, ch.Delta...)
		case "start":
			if c.cursor == "" {
				c.reasoning = ""
			}
		case "reasoning-delta":
			c.reasoning += ch.Delta
		case "data-reset":
			text, c.reasoning = text[:0], ""
		case "finish", "abort", "error":
			c.terminal = append(c.terminal, ch.Type)
		}
		if e.id == "" {
			continue
		}
		c.cursor = e.id
		if cursor, ok := stream.ParseCursor(e.id); !ok || cursor.Offset != len(text) {
			t.Fatalf("cursor %q where the text has %d bytes", e.id, len(text))
		}
	}
}

// drain returns all bytes that a watch has at present.
func drain(w *stream.Watch) []byte {
	var all []byte
	for b := w.Take(); b != nil; b = w.Take() {
		all = append(all, b...)
	}
	return all
}

var done = stream.End{
	Outcome: stream.Finished, FinishReason: "stop",
	Metadata: json.RawMessage(`{"usage":{"input_tokens":12,"output_tokens":3}}`),
}

func newText(run int) *stream.Text {
	return stream.NewText(stream.Head{MessageID: "0190", Run: run, Metadata: json.RawMessage(`{"thread_id":"t"}`)})
}
