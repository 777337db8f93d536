package stream

import (
	"sync/atomic"
	"weak"
)

// Segments grow from the first size to the last: a short answer costs little memory, and a long one has few segments.
const (
	firstSegment = 4 << 10
	lastSegment  = 16 << 10
)

// logWindow is how many bytes of events a watch may be behind by and still read them one by one. A watch that is
// further behind catches up from the text, which is several times smaller.
const logWindow = 1 << 20

// segment is a part of the log. Bytes below n never change. next is set after the last change of n and end.
type segment struct {
	buf      []byte // Written by the text's publisher only.
	n        atomic.Int64
	next     atomic.Pointer[segment]
	end      Position  // That of a watch that has read the segment. Belongs to the publisher until next is set.
	caughtUp *caughtUp // Guarded by Text.catching. What follows the segment, once that has left the window.
}

// caughtUp says in few events what a part of the log said in many, and where to go on.
type caughtUp struct {
	events []byte
	at     *segment
	pos    int
}

// gone is the next of a segment whose successor has left the window.
var gone = new(segment)

// log is the events of a text. It holds the last segment only: an earlier one stays in memory while a watch has still
// to read it, and, once it has left the window, keeps none of its successors there.
type log struct {
	tail   *segment
	size   int        // Bytes of the segments in the window and of tail.
	window []inWindow // The segments before tail, oldest first.
}

type inWindow struct {
	segment weak.Pointer[segment]
	size    int
}

func newLog() log {
	return log{tail: &segment{buf: make([]byte, firstSegment)}, size: firstSegment}
}

// room returns where the next event can be encoded, so that append need not copy it if it fits.
func (l *log) room() []byte {
	n := l.tail.n.Load()
	return l.tail.buf[n:n]
}

// append adds the bytes of an event. position is the position of a watch that has read them.
func (l *log) append(frame []byte, position Position) {
	s := l.tail
	n := int(s.n.Load())
	if n+len(frame) > len(s.buf) {
		l.grow(len(frame))
		s, n = l.tail, 0
	}
	if at := s.buf[n:]; len(frame) > 0 && &frame[0] != &at[0] {
		copy(at, frame)
	}
	s.end = position
	s.n.Store(int64(n + len(frame)))
}

// grow adds a segment that has room for an event of some size, and drops the oldest ones from the window.
func (l *log) grow(room int) {
	s := l.tail
	l.tail = &segment{buf: make([]byte, max(min(2*len(s.buf), lastSegment), room))}
	l.size += len(l.tail.buf)
	s.next.Store(l.tail)
	l.window = append(l.window, inWindow{weak.Make(s), len(s.buf)})
	for l.size > logWindow && len(l.window) > 0 {
		oldest := l.window[0]
		l.window = l.window[1:]
		l.size -= oldest.size
		if s := oldest.segment.Value(); s != nil {
			s.next.Store(gone)
		}
	}
}

// held returns how many bytes of the log are in memory, those that only a watch keeps there included.
func (l *log) held() int {
	bytes := len(l.tail.buf)
	for _, w := range l.window {
		if w.segment.Value() != nil {
			bytes += w.size
		}
	}
	return bytes
}
