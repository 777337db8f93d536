package stream

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Cursor is a position in an answer's text: the part that a client has received. On the wire it is an event id,
// "<run>-<offset>".
type Cursor struct {
	Run    int // Starts at 1.
	Offset int // In bytes of UTF-8.
}

// String returns the cursor as an event id.
func (c Cursor) String() string {
	return strconv.Itoa(c.Run) + "-" + strconv.Itoa(c.Offset)
}

// MarshalText implements encoding.TextMarshaler. The text is the event id.
func (c Cursor) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

var errCursor = errors.New("stream: malformed cursor")

func (c *Cursor) UnmarshalText(text []byte) error {
	parsed, ok := ParseCursor(string(text))
	if !ok {
		return errCursor
	}
	*c = parsed
	return nil
}

// ParseCursor parses an event id. It accepts only the output of String: decimal digits, no signs, no leading zeros.
func ParseCursor(id string) (Cursor, bool) {
	run, offset, found := strings.Cut(id, "-")
	if !found {
		return Cursor{}, false
	}
	c := Cursor{}
	var ok bool
	if c.Run, ok = parseNumber(run); !ok || c.Run == 0 {
		return Cursor{}, false
	}
	if c.Offset, ok = parseNumber(offset); !ok {
		return Cursor{}, false
	}
	return c, true
}

func parseNumber(s string) (int, bool) {
	if s == "" || s[0] < '0' || s[0] > '9' || (s[0] == '0' && len(s) > 1) {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 32)
	return int(n), err == nil
}

// start is the start of a stream: an offset of the text, and whether the client must discard its text.
type start struct {
	offset int
	reset  bool
}

// resolve returns the start of a client's stream. lastEventID is "" for a client without a text.
func resolve(lastEventID string, head Head, text []byte) start {
	if lastEventID == "" {
		return start{}
	}
	c, ok := ParseCursor(lastEventID)
	switch {
	case !ok, !head.Accepts(c), c.Offset > len(text):
		return start{reset: true}
	case c.Offset == 0:
		// The id of a reset. A client that adopts an id at its line may have it without having read the reset.
		return start{reset: true}
	case c.Offset < len(text) && !utf8.RuneStart(text[c.Offset]):
		return start{reset: true}
	}
	return start{offset: c.Offset}
}
