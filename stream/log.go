package stream

import (
	"sync/atomic"
	"weak"
)

// Segments grow from the first size to the last, so that a short answer uses little memory and a long one has few
// segments.
const (
	firstSegment = 4 << 10
	lastSegment  = 16 << 10
)

// logWindow is the size of the events that a watch can read one by one. A watch that is further behind catches up from
// the text, which is several times smaller.
const logWindow = 1 << 20

// segment is a part of the log. Bytes below n never change. next is set after the last change of n and end.
type segment struct {
	buf     []byte // Written by the text's publisher only.
	n       atomic.Int64
	next    atomic.Pointer[segment]
	end     Position // The position of a watch that has read the segment. Belongs to the publisher until next is set.
	backlog *backlog // Guarded by Text.catching. Replaces the rest of the log once it has left the window.
}

// backlog replaces a part of the log by a few events. It also has the segment with which a watch continues.
type backlog struct {
	events []byte
	at     *segment
	pos    int
}

// evicted is the value of next for a segment whose successor has left the window.
var evicted = new(segment)

// log holds the events of a text. It refers to the last segment only: an earlier one stays in memory while a watch has
// yet to read it. A segment outside of the window does not refer to its successors.
type log struct {
	tail   *segment
	size   int             // Bytes of tail and of the segments in the window.
	window []windowSegment // The segments before tail, oldest first.
}

type windowSegment struct {
	segment weak.Pointer[segment]
	size    int
}

func newLog() log {
	return log{tail: &segment{buf: make([]byte, firstSegment)}, size: firstSegment}
}

// room returns a buffer for the next event. If the event fits into it, append does not copy.
func (l *log) room() []byte {
	n := l.tail.n.Load()
	return l.tail.buf[n:n]
}

// append adds the bytes of an event. position is the position of a watch after them.
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

// grow adds a segment with room for an event of the given size, and drops the oldest segments from the window.
func (l *log) grow(room int) {
	s := l.tail
	l.tail = &segment{buf: make([]byte, max(min(2*len(s.buf), lastSegment), room))}
	l.size += len(l.tail.buf)
	s.next.Store(l.tail)
	l.window = append(l.window, windowSegment{weak.Make(s), len(s.buf)})
	for l.size > logWindow && len(l.window) > 0 {
		oldest := l.window[0]
		l.window = l.window[1:]
		l.size -= oldest.size
		if s := oldest.segment.Value(); s != nil {
			s.next.Store(evicted)
		}
	}
}

// memorySize returns the number of bytes of the log in memory, including those referenced only by a watch.
func (l *log) memorySize() int {
	bytes := len(l.tail.buf)
	for _, w := range l.window {
		if w.segment.Value() != nil {
			bytes += w.size
		}
	}
	return bytes
}
