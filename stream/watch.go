package stream

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// ErrAbandoned means that a text was abandoned. The client reconnects to the next run.
var ErrAbandoned = errors.New("stream: the text was abandoned")

// Watch is one client's position in a text. Its methods belong to one goroutine.
type Watch struct {
	text    *Text
	pending []byte // Bytes to send before those of the log.
	at      *segment
	pos     int
	resumed bool // The client had a cursor.
	reset   bool // The cursor was not valid.
	awaited *change
}

// Watch returns a watch for a client with the given last event id, or "" for a new client.
func (t *Text) Watch(lastEventID string) *Watch {
	t.mu.Lock()
	from := resolve(lastEventID, t.head, t.text)
	n := t.deltaSince(t.positionAt(from))
	w := &Watch{
		text: t, at: t.log.tail, pos: int(t.log.tail.n.Load()),
		resumed: lastEventID != "", reset: from.reset,
	}
	t.mu.Unlock()

	// Encoded without the lock, because n never changes.
	b := appendStart(make([]byte, 0, n.size()), t.first, t.head.Run, from)
	w.pending = n.appendEvents(b, t.head.Run)
	return w
}

// positionAt returns the position of a client at an offset of the text. A client with some of the text has all of the
// reasoning. The caller holds mu.
func (t *Text) positionAt(from start) Position {
	p := Position{offset: from.offset}
	if all := t.position(); from.offset > 0 {
		p.reasoning, p.reasoningEnded = all.reasoning, all.reasoningEnded
	}
	return p
}

// textDelta is the content of a text after a position. It never changes.
type textDelta struct {
	from      Position
	reasoning reasoning   // From the start.
	text      []byte      // From the start.
	parts     []Part      // The changed parts.
	inputs    []toolInput // The unfinished calls of tools, from their start.
	open      bool        // See Text, like round.
	round     int
	end       *End
}

// deltaSince returns the content of the text after a position. The caller holds mu.
func (t *Text) deltaSince(p Position) textDelta {
	n := textDelta{from: p, text: t.text, open: t.open, round: t.round, inputs: slices.Clone(t.inputs)}
	for _, part := range t.parts {
		if part.Seq > p.partSeq {
			n.parts = append(n.parts, part)
		}
	}
	if t.reasoning != nil {
		n.reasoning = *t.reasoning
	}
	if !p.ended {
		n.end = t.end
	}
	return n
}

// size estimates the length of the events: the missing text, some escapes, and the rest of the events.
func (n textDelta) size() int {
	lacking := len(n.text) - n.from.offset + len(n.reasoning.text) - n.from.reasoning
	return lacking + lacking/16 + 1<<10
}

// appendEvents appends the news as events.
func (n textDelta) appendEvents(b []byte, run int) []byte {
	open := n.from.started && n.from.open
	for _, p := range n.parts {
		if open && strings.HasPrefix(p.Key, roundEnd) {
			open = false
			b = append(b, textEndFrame...)
		}
		b = appendData(b, p.Data)
	}
	for _, in := range n.inputs {
		b = in.appendWhole(b)
	}
	b = n.appendReasoning(b)
	if len(n.text) > 0 {
		// The text part begins with the first piece of the text.
		if !open && (!n.from.started || n.from.offset < len(n.text)) {
			open = true
			b = append(b, textStartFrame...)
		}
		b = appendText(b, run, n.text, n.from.offset)
		if open && !n.open {
			b = append(b, textEndFrame...)
		}
	}
	if n.end != nil {
		b = appendRoundEnd(b, n.round)
		b = appendEnd(b, Cursor{run, len(n.text)}, *n.end)
	}
	return b
}

// Take returns the next available bytes, or nil. The caller must not change them.
func (w *Watch) Take() []byte {
	if b := w.pending; b != nil {
		w.pending = nil
		return b
	}
	for {
		// next is read before n: if next is set, n is final.
		next := w.at.next.Load()
		if n := int(w.at.n.Load()); w.pos < n {
			b := w.at.buf[w.pos:n]
			w.pos = n
			return b
		}
		switch next {
		case nil:
			return nil
		case evicted:
			return w.catchUp()
		}
		w.at, w.pos = next, 0
	}
}

// catchUp returns the events missing after a segment that has left the window, and moves the watch to their end.
func (w *Watch) catchUp() []byte {
	c := w.text.catchUp(w.at)
	w.at, w.pos = c.at, c.pos
	return c.events
}

// catchUp encodes the events after a segment whose successor has left the window, once for all watches at this segment.
func (t *Text) catchUp(s *segment) *backlog {
	t.catching.Lock()
	defer t.catching.Unlock()
	if s.backlog == nil {
		t.mu.Lock()
		n := t.deltaSince(s.end)
		c := &backlog{at: t.log.tail, pos: int(t.log.tail.n.Load())}
		t.mu.Unlock()
		c.events = n.appendEvents(make([]byte, 0, n.size()), t.head.Run)
		s.backlog = c
	}
	return s.backlog
}

// Wait returns a channel that is closed when Take may have more bytes, or nil and true if it never will.
func (w *Watch) Wait() (more <-chan struct{}, over bool) {
	t := w.text
	t.mu.Lock()
	defer t.mu.Unlock()
	w.awaited = nil
	if w.pending != nil || w.at != t.log.tail || w.pos < int(t.log.tail.n.Load()) {
		return ready, false
	}
	if t.over() {
		return nil, true
	}
	w.awaited = t.nextChange()
	return w.awaited.done, false
}

// Changed returns the time when the channel of the last Wait was closed, or the zero time if it was not closed or if
// Wait returned a closed channel.
func (w *Watch) Changed() time.Time {
	if w.awaited == nil {
		return time.Time{}
	}
	return w.awaited.at
}

// Over reports whether the text is complete or abandoned and has been read completely. err is nil after the text's end,
// else ErrAbandoned.
func (w *Watch) Over() (over bool, err error) {
	t := w.text
	// ended is read first, because the log is complete once it is set.
	if !t.ended.Load() || w.pending != nil || w.at.next.Load() != nil || w.pos != int(w.at.n.Load()) {
		return false, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end == nil {
		return true, ErrAbandoned
	}
	return true, nil
}

// Text returns the watched text.
func (w *Watch) Text() *Text { return w.text }

// Resumed reports whether the client had a cursor.
func (w *Watch) Resumed() bool { return w.resumed }

// Reset reports whether the cursor was invalid, so that the client discards its text.
func (w *Watch) Reset() bool { return w.reset }
