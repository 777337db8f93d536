package stream

import (
	"errors"
	"time"
)

// ErrAbandoned says that a watch ended before its text did.
var ErrAbandoned = errors.New("stream: the text is written anew, or elsewhere")

// Watch is one client's position in a text. Its methods belong to one goroutine.
type Watch struct {
	text    *Text
	pending []byte // What the client is told before the log.
	at      *segment
	pos     int
	resumed bool // The client had a cursor.
	reset   bool // It did not hold.
	awaited *change
}

// Watch returns the position of a client that has what lastEventID says, "" for nothing.
func (t *Text) Watch(lastEventID string) *Watch {
	t.mu.Lock()
	from := resolve(lastEventID, t.head.Run, t.text)
	n := t.since(t.told(from))
	w := &Watch{
		text: t, at: t.log.tail, pos: int(t.log.tail.n.Load()),
		resumed: lastEventID != "", reset: from.reset,
	}
	t.mu.Unlock()

	// Encoded outside the lock: what was read under it does not change any more.
	b := appendStart(make([]byte, 0, n.size()), t.first, t.head.Run, from)
	w.pending = n.appendEvents(b, t.head.Run)
	return w
}

// told returns the position of a client that is at an offset of the text. Who has some of it has all of the reasoning. It
// belongs to holders of mu.
func (t *Text) told(from start) Position {
	p := Position{offset: from.offset}
	if all := t.position(); from.offset > 0 {
		p.reasoning, p.reasoned = all.reasoning, all.reasoned
	}
	return p
}

// news is what a text has beyond a position. What it refers to does not change.
type news struct {
	from      Position
	reasoning reasoning // From the start.
	text      []byte    // From the start.
	parts     []Part    // Those that have changed.
	end       *End
}

// since belongs to holders of the text's mu.
func (t *Text) since(p Position) news {
	n := news{from: p, text: t.text}
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

// size is room for the events: the text that is lacking, a little more for what has to be escaped, and what stands around it.
func (n news) size() int {
	lacking := len(n.text) - n.from.offset + len(n.reasoning.text) - n.from.reasoning
	return lacking + lacking/16 + 1<<10
}

// appendEvents appends the events that tell the news.
func (n news) appendEvents(b []byte, run int) []byte {
	for _, p := range n.parts {
		b = appendData(b, p.Data)
	}
	b = n.appendReasoning(b)
	if len(n.text) > 0 {
		// A stream that has been started was told of the text with the first piece of it.
		if !n.from.started || n.from.offset == 0 {
			b = append(b, textStartFrame...)
		}
		b = appendText(b, run, n.text, n.from.offset)
		if n.end != nil {
			b = append(b, textEndFrame...)
		}
	}
	if n.end != nil {
		b = appendEnd(b, Cursor{run, len(n.text)}, *n.end)
	}
	return b
}

// Take returns the next bytes that are there, nil if there are none at present. They must not be changed.
func (w *Watch) Take() []byte {
	if b := w.pending; b != nil {
		w.pending = nil
		return b
	}
	for {
		// next before n: if next is set, n is final.
		next := w.at.next.Load()
		if n := int(w.at.n.Load()); w.pos < n {
			b := w.at.buf[w.pos:n]
			w.pos = n
			return b
		}
		switch next {
		case nil:
			return nil
		case gone:
			return w.catchUp()
		}
		w.at, w.pos = next, 0
	}
}

// catchUp returns what a watch lacks whose next segment has left the window, and moves it to where that ends.
func (w *Watch) catchUp() []byte {
	c := w.text.catchUp(w.at)
	w.at, w.pos = c.at, c.pos
	return c.events
}

// catchUp makes what follows a segment that has left the window. Watches that are equally slow come here at the same time:
// the first one makes it for all.
func (t *Text) catchUp(s *segment) *caughtUp {
	t.catching.Lock()
	defer t.catching.Unlock()
	if s.caughtUp == nil {
		t.mu.Lock()
		n := t.since(s.end)
		c := &caughtUp{at: t.log.tail, pos: int(t.log.tail.n.Load())}
		t.mu.Unlock()
		c.events = n.appendEvents(make([]byte, 0, n.size()), t.head.Run)
		s.caughtUp = c
	}
	return s.caughtUp
}

// Wait returns a channel that is closed when Take may have more, or nil and true when it never will.
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
	w.awaited = t.await()
	return w.awaited.done, false
}

// Changed returns when the text changed first after the last Wait whose channel was closed.
func (w *Watch) Changed() time.Time {
	if w.awaited == nil {
		return time.Time{}
	}
	return w.awaited.at
}

// Over reports whether the text is over and all of it has been taken. err is nil after the text's end, else ErrAbandoned.
func (w *Watch) Over() (over bool, err error) {
	t := w.text
	// ended first: what the log has then is all that there will be.
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

// Text returns the text that is watched.
func (w *Watch) Text() *Text { return w.text }

// Resumed reports whether the client had a cursor, and Reset whether that did not hold.
func (w *Watch) Resumed() bool { return w.resumed }

// Reset reports whether the client is told to begin anew.
func (w *Watch) Reset() bool { return w.reset }
