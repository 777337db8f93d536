package stream

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// Segments grow from the first size to the last, so that a short answer costs little and a long one few segments.
const (
	firstSegment = 1 << 10
	lastSegment  = 16 << 10
)

// segment is a piece of the log. Bytes below n never change. next is set after the last change of n.
type segment struct {
	buf  []byte // Its capacity is fixed; written by the text's publisher only.
	n    atomic.Int64
	next atomic.Pointer[segment]
}

// Text is one run of an answer: what has been written of it, and the log of the events that said so. One goroutine
// publishes (AppendText, PutStep, … Finish); any number may watch.
type Text struct {
	head Head

	mu        sync.Mutex
	text      []byte      // Guarded by mu. Only appended to: a slice of it stays valid.
	begun     bool        // Guarded by mu. The text part was started.
	closed    bool        // Guarded by mu. The text part was ended.
	parts     []part      // Guarded by mu. What a late watch is told beside the text.
	end       []byte      // Guarded by mu. The terminal events; nil while it goes on.
	abandoned bool        // Guarded by mu. Watches end without a terminal event.
	tail      *segment    // Guarded by mu.
	wake      *bell       // Guarded by mu. Rung at the next change; nil if no watch waits.
	wakers    []waker     // Guarded by mu. Told of a change once mu is released; replaced and never changed.
	changed   bool        // Guarded by mu. The wakers have still to be told.
	ended     atomic.Bool // The text is over, and all that there will ever be is in the log.
	scratch   []byte      // Guarded by mu. Room to encode an event in.
}

// bell wakes goroutines that wait for a change.
type bell struct {
	c    chan struct{} // Closed when it is rung.
	rung time.Time     // Set before c is closed.
}

// waker is told of changes on behalf of watches for which no goroutine waits.
type waker interface {
	// wake says that there is more in the log, or that the text is over. Whoever changed the text calls it, after the text's
	// lock was released, and must not be held up.
	wake()
}

// addWaker has a waker told of changes from now on.
func (t *Text) addWaker(w waker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wakers = append(slices.Clone(t.wakers), w)
}

// removeWaker ends that. A call that is under way may still come.
func (t *Text) removeWaker(w waker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wakers = slices.DeleteFunc(slices.Clone(t.wakers), func(other waker) bool { return other == w })
}

// unlock releases mu after a change, and tells the wakers.
func (t *Text) unlock() {
	var wakers []waker
	if t.changed {
		t.changed, wakers = false, t.wakers
	}
	t.mu.Unlock()
	for _, w := range wakers {
		w.wake()
	}
}

// part is the latest event about one thing.
type part struct {
	key   string
	frame []byte
}

// NewText returns an empty text, which a Hub makes known to others. To replay a stored answer, publish it whole to a
// text of its own and watch that.
func NewText(head Head) *Text {
	return &Text{head: head, tail: &segment{buf: make([]byte, firstSegment)}}
}

// Run returns which run of the answer this is.
func (t *Text) Run() int { return t.head.Run }

// Text returns what has been written so far.
func (t *Text) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// AppendText publishes the next piece of the answer. Bytes that are no valid UTF-8 become U+FFFD.
func (t *Text) AppendText(delta string) {
	if delta == "" {
		return
	}
	if !utf8.ValidString(delta) {
		delta = strings.ToValidUTF8(delta, "\uFFFD")
	}
	t.mu.Lock()
	defer t.unlock()
	if t.closed || t.over() {
		return
	}
	b := t.scratch[:0]
	if !t.begun {
		t.begun = true
		b = append(b, textStartFrame...)
	}
	t.text = append(t.text, delta...)
	b = appendDelta(b, t.head.Run, len(t.text), delta)
	t.publish(b)
	t.scratch = b
}

// PutStep publishes what the assistant does before it writes. A later step of the same kind takes its place.
func (t *Text) PutStep(kind, status, detail string) {
	data := map[string]string{"kind": kind, "status": status}
	if detail != "" {
		data["detail"] = detail
	}
	t.put("step "+kind, dataChunk{Type: "data-step", ID: kind, Data: data})
}

// PutSource publishes a passage that the answer rests on.
func (t *Text) PutSource(s Source) {
	t.put("source "+s.SourceID, sourceChunk{
		Type: "source-document", SourceID: s.SourceID, MediaType: s.MediaType, Title: s.Title, Filename: s.Filename,
		Index: s.Index, Page: s.Page,
	})
}

// PutTitle publishes the title of the answer's thread.
func (t *Text) PutTitle(title string) {
	t.put("title", dataChunk{Type: "data-title", Data: map[string]string{"title": title}})
}

func (t *Text) put(key string, chunk any) {
	frame := appendEvent(nil, "", chunk)
	t.mu.Lock()
	defer t.unlock()
	if t.over() {
		return
	}
	t.publish(frame)
	for i := range t.parts {
		if t.parts[i].key == key {
			t.parts[i].frame = frame
			return
		}
	}
	t.parts = append(t.parts, part{key, frame})
}

// CloseText publishes that the text is complete. Parts and the end may follow.
func (t *Text) CloseText() {
	t.mu.Lock()
	defer t.unlock()
	if !t.over() {
		t.closeText()
	}
}

// closeText belongs to holders of mu.
func (t *Text) closeText() {
	if t.begun && !t.closed {
		t.publish(textEndFrame)
	}
	t.closed = true
}

// Finish publishes the end. What is published afterwards is dropped: there is exactly one end.
func (t *Text) Finish(end End) {
	t.mu.Lock()
	defer t.unlock()
	if t.over() {
		return
	}
	t.closeText()
	t.end = appendEnd(nil, Cursor{t.head.Run, len(t.text)}, end)
	t.publish(t.end)
	t.ended.Store(true)
}

// Abandon ends every watch without a terminal event, so that the clients come back for the run that follows.
func (t *Text) Abandon() {
	t.mu.Lock()
	defer t.unlock()
	if !t.over() {
		t.abandoned = true
		t.ended.Store(true)
		t.broadcast()
	}
}

// over belongs to holders of mu.
func (t *Text) over() bool { return t.end != nil || t.abandoned }

// publish appends an event's bytes to the log and wakes the watches. It belongs to holders of mu.
func (t *Text) publish(frame []byte) {
	s := t.tail
	n := int(s.n.Load())
	if n+len(frame) > len(s.buf) {
		next := &segment{buf: make([]byte, max(min(2*len(s.buf), lastSegment), len(frame)))}
		copy(next.buf, frame)
		next.n.Store(int64(len(frame)))
		s.next.Store(next)
		t.tail = next
	} else {
		copy(s.buf[n:], frame)
		s.n.Store(int64(n + len(frame)))
	}
	t.broadcast()
}

// broadcast belongs to holders of mu.
func (t *Text) broadcast() {
	t.changed = true
	if t.wake != nil {
		t.wake.rung = time.Now()
		close(t.wake.c)
		t.wake = nil
	}
}

// await returns the bell of the next change. It belongs to holders of mu.
func (t *Text) await() *bell {
	if t.wake == nil {
		t.wake = &bell{c: make(chan struct{})}
	}
	return t.wake
}

// Watch is one client's position in a text. Its methods belong to one goroutine.
type Watch struct {
	text    *Text
	pending []byte // What the client is told before the log.
	at      *segment
	pos     int
	bell    *bell // What Wait returned last.
	resumed bool  // The client had a cursor.
	reset   bool  // It did not hold.
}

// Watch returns the position of a client that has what lastEventID says, "" for nothing.
func (t *Text) Watch(lastEventID string) *Watch {
	t.mu.Lock()
	from := resolve(lastEventID, t.head.Run, t.text)
	text, parts := t.text, append([]part(nil), t.parts...)
	begun, closed, end := t.begun, t.closed, t.end
	w := &Watch{text: t, at: t.tail, pos: int(t.tail.n.Load()), resumed: lastEventID != "", reset: from.reset}
	t.mu.Unlock()

	// Encoded outside the lock: what was read under it does not change any more.
	b := appendStart(make([]byte, 0, catchUpSize(len(text)-from.offset)), t.head, from)
	for _, p := range parts {
		b = append(b, p.frame...)
	}
	if begun {
		b = append(b, textStartFrame...)
		b = appendText(b, t.head.Run, text, from.offset)
		if closed {
			b = append(b, textEndFrame...)
		}
	}
	b = append(b, end...)
	w.pending = b
	return w
}

// catchUpSize is room for what a watch is told first when it lacks so many bytes of the text: those, a little more for
// what has to be escaped, and what stands around them.
func catchUpSize(lacking int) int { return lacking + lacking/16 + 1<<10 }

// WaitClosed waits until the text is complete, or over in another way.
func (t *Text) WaitClosed(ctx context.Context) error {
	for {
		t.mu.Lock()
		if t.closed || t.over() {
			t.mu.Unlock()
			return nil
		}
		change := t.await().c
		t.mu.Unlock()
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// AtEnd reports whether the text is over and lastEventID is its end: there is nothing to be told.
func (t *Text) AtEnd(lastEventID string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end != nil && lastEventID == Cursor{t.head.Run, len(t.text)}.String()
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
		if next == nil {
			return nil
		}
		w.at, w.pos = next, 0
	}
}

// Wait returns a channel that is closed when Take may have more, or nil and true when it never will.
func (w *Watch) Wait() (more <-chan struct{}, over bool) {
	t := w.text
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.pending != nil || w.at != t.tail || w.pos < int(t.tail.n.Load()) {
		return ready, false
	}
	if t.over() {
		return nil, true
	}
	w.bell = t.await()
	return w.bell.c, false
}

// exhausted reports whether all has been taken of a text that is over.
func (w *Watch) exhausted() bool {
	// ended first: what the log has then is all that there will be.
	return w.text.ended.Load() && w.pending == nil && w.at.next.Load() == nil && w.pos == int(w.at.n.Load())
}

// ready is always closed.
var ready = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()
