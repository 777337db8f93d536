package stream

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Cursor is a position in an answer's text: how much of it a client has. On the wire it is an event id,
// "<run>-<offset>".
type Cursor struct {
	Run    int // From 1.
	Offset int // Bytes of UTF-8.
}

// String returns the cursor as it stands in an event id.
func (c Cursor) String() string {
	return strconv.Itoa(c.Run) + "-" + strconv.Itoa(c.Offset)
}

// ParseCursor reads an event id. It accepts only what String writes: decimal digits, no signs, no leading zeros.
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

// start is where a stream begins: an offset of the text, and whether the client must discard what it has.
type start struct {
	offset int
	reset  bool
}

// resolve returns where the stream of a client begins. lastEventID is "" for a client that has nothing.
func resolve(lastEventID string, run int, text []byte) start {
	if lastEventID == "" {
		return start{}
	}
	c, ok := ParseCursor(lastEventID)
	switch {
	case !ok, c.Run != run, c.Offset > len(text):
		return start{reset: true}
	case c.Offset == 0:
		// The id of a reset. A client that takes an id at its line may hold it without having seen the reset.
		return start{reset: true}
	case c.Offset < len(text) && !utf8.RuneStart(text[c.Offset]):
		return start{reset: true}
	}
	return start{offset: c.Offset}
}
