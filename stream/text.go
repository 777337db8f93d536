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

// firstText is the room, in bytes, that a text has for its first tokens.
const firstText = 256

// maxPart bounds the data of a part in bytes. A larger one is not published.
const maxPart = 32 << 10

// Text is one run of an answer: what has been written of it, and the log of the events that said so. One goroutine
// publishes (AppendText, PutStep, … Finish; PutTitle may come from another one); any number may watch.
//
// Many texts are published to in turn, so that each is out of the processor's cache by the time of its next token: what a token
// needs stands first, in two of its lines.
type Text struct {
	mu        sync.Mutex
	closed    bool          // Guarded by mu. Nothing is added to the text any more.
	abandoned bool          // Guarded by mu. Watches end without a terminal event.
	changed   bool          // Guarded by mu. The waker has still to be told.
	mirrored  bool          // Another server writes it. Set before it is known to anybody.
	ended     atomic.Bool   // The text is over, and all that there will ever be is in the log.
	text      []byte        // Guarded by mu. Only appended to: a slice of it stays valid.
	end       *End          // Guarded by mu. Nil while it goes on. What it points to does not change.
	wake      chan struct{} // Guarded by mu. Closed at the next change; nil if nobody waits for that.
	partSeq   int           // Guarded by mu. The Seq of the latest part.
	waker     Waker         // Guarded by mu. Told of a change once mu is released; nil for none.
	head      Head
	log       log // Guarded by mu.

	parts     []Part        // Guarded by mu. What a late watch is told beside the text.
	reasoning *reasoning    // Guarded by mu. What the model thinks before it answers; nil for nothing.
	first     []byte        // The head as an event: encoded once, since every watch is told of it.
	followed  chan struct{} // Closed, by the hub, when another server follows it. Nil unless others are told of it.
	catching  sync.Mutex    // Has one watch at a time make up what slow ones lack. Taken before mu.

	_ [32]byte // Texts begin where a line does: Go puts things of one size side by side.
}

// Waker is told of changes on behalf of watches for which no goroutine waits.
type Waker interface {
	// Wake says that there is more in the log, or that the text is over. Whoever changed the text calls it, after the text's
	// lock was released, and must not be held up.
	Wake()
}

// wakers are told one after the other. A list is never changed.
type wakers []Waker

func (list wakers) Wake() {
	for _, w := range list {
		w.Wake()
	}
}

// ChangeWaker has one waker told of changes from now on instead of another; nil is none. A call of the other that is under way
// may still come. Nearly always there is one only.
func (t *Text) ChangeWaker(from, to Waker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch list, several := t.waker.(wakers); {
	case several:
		list = slices.DeleteFunc(slices.Clone(list), func(w Waker) bool { return w == from })
		if to != nil {
			list = append(list, to)
		}
		t.waker = list
	case t.waker == from:
		t.waker = to
	default:
		t.waker = wakers{t.waker, to}
	}
}

// unlock releases mu after a change, and tells the waker.
func (t *Text) unlock() {
	var w Waker
	if t.changed {
		t.changed, w = false, t.waker
	}
	t.mu.Unlock()
	if w != nil {
		w.Wake()
	}
}

// Part is the latest of what stands beside the text about one thing.
type Part struct {
	Seq  int    // From 1, and higher the later it was put.
	Key  string // Of the thing.
	Data []byte // The chunk: JSON without line breaks. It does not change any more.
}

// Position is how much of a text somebody has been told, and can be compared. The zero value is nothing.
type Position struct {
	offset    int
	partSeq   int32
	reasoning int32 // Bytes of the reasoning.
	started   bool  // The head was told.
	reasoned  bool  // The reasoning is over.
	closed    bool
	ended     bool
}

// NewText returns an empty text, which a Hub makes known to others. To replay a stored answer, publish it whole to a
// text of its own and watch that.
func NewText(head Head) *Text {
	return &Text{head: head, first: startFrame(head), text: make([]byte, 0, firstText), log: newLog()}
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
	if !t.closed && !t.over() {
		appendTo(t, delta)
	}
}

// appendTo publishes a piece of valid text. It belongs to holders of mu.
func appendTo[T string | []byte](t *Text, piece T) {
	b, from := t.log.room(), len(t.text)
	if from == 0 {
		b = append(t.endReasoning(b, t.thought()), textStartFrame...)
	}
	t.text = append(t.text, piece...)
	t.publish(appendText(b, t.head.Run, t.text, from))
}

// PutStep publishes what the assistant does before it writes. A later step of the same kind takes its place.
func (t *Text) PutStep(kind, status, detail string) {
	data := map[string]string{"kind": kind, "status": status}
	if detail != "" {
		data["detail"] = detail
	}
	t.put("step "+kind, newDataChunk("step", kind, data))
}

// PutSource publishes a passage that the answer rests on.
func (t *Text) PutSource(s Source) {
	t.put("source "+s.SourceID, sourceChunk{
		Type: "source-document", SourceID: s.SourceID, MediaType: s.MediaType, Title: s.Title, Filename: s.Filename,
		Index: s.Index, Page: s.Page,
	})
}

// PutTitle publishes the title of the answer's thread, and when that was changed last: a client may know of a later title. It
// may be called beside the goroutine that publishes.
func (t *Text) PutTitle(title string, updatedAt time.Time) {
	t.put("title", newDataChunk("title", "", map[string]string{
		"title": title, "updated_at": updatedAt.UTC().Format(time.RFC3339Nano),
	}))
}

func (t *Text) put(key string, chunk any) {
	data := appendJSON(nil, chunk)
	t.mu.Lock()
	defer t.unlock()
	if !t.over() && len(data) <= maxPart {
		t.putPart(Part{t.partSeq + 1, key, data})
	}
}

// putPart publishes a part, unless the same or a later one about its thing is there. It belongs to holders of mu.
func (t *Text) putPart(p Part) {
	i := slices.IndexFunc(t.parts, func(other Part) bool { return other.Key == p.Key })
	switch {
	case i < 0:
		t.parts = append(t.parts, p)
	case t.parts[i].Seq < p.Seq:
		t.parts[i] = p
	default:
		return
	}
	t.partSeq = max(t.partSeq, p.Seq)
	t.publish(appendData(nil, p.Data))
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
	if t.closed {
		return
	}
	t.closeReasoning(t.thought())
	t.closed = true
	if len(t.text) > 0 {
		t.publish(textEndFrame)
	} else {
		t.broadcast()
	}
}

// Finish publishes the end. What is published afterwards is dropped: there is exactly one end.
func (t *Text) Finish(end End) {
	t.mu.Lock()
	defer t.unlock()
	if !t.over() {
		t.finish(end)
	}
}

// finish belongs to holders of mu.
func (t *Text) finish(end End) {
	t.closeText()
	t.end = &end
	t.publish(appendEnd(nil, Cursor{t.head.Run, len(t.text)}, end))
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

// position is that of somebody who has been told everything. It belongs to holders of mu.
func (t *Text) position() Position {
	p := Position{
		started: true, offset: len(t.text), partSeq: int32(t.partSeq), closed: t.closed, ended: t.end != nil, //nolint:gosec // A process has put fewer.
	}
	if r := t.reasoning; r != nil {
		p.reasoning, p.reasoned = int32(len(r.text)), r.over //nolint:gosec // An answer's reasoning is bounded.
	}
	return p
}

// beyond returns a channel that is closed once there is more than position tells, or nil and true when there never will be.
func (t *Text) beyond(p Position) (more <-chan struct{}, over bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.abandoned:
		return nil, true
	case p != t.position():
		return ready, false
	case t.end != nil:
		return nil, true
	}
	return t.await(), false
}

// held returns how many bytes of text and of its log are in memory.
func (t *Text) held() (text, log int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reasoning != nil {
		text = cap(t.reasoning.text)
	}
	return text + cap(t.text), t.log.held()
}

// publish appends the bytes that tell of a change to the log and wakes the watches. It belongs to holders of mu.
func (t *Text) publish(frame []byte) {
	t.log.append(frame, t.position())
	t.broadcast()
}

// broadcast belongs to holders of mu.
func (t *Text) broadcast() {
	t.changed = true
	if t.wake != nil {
		close(t.wake)
		t.wake = nil
	}
}

// await returns a channel that is closed at the next change. It belongs to holders of mu.
func (t *Text) await() <-chan struct{} {
	if t.wake == nil {
		t.wake = make(chan struct{})
	}
	return t.wake
}

// WaitClosed waits until the text is complete, or over in another way.
func (t *Text) WaitClosed(ctx context.Context) error {
	for {
		t.mu.Lock()
		if t.closed || t.over() {
			t.mu.Unlock()
			return nil
		}
		change := t.await()
		t.mu.Unlock()
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Reach waits until a text that another server writes has arrived here as far as a client has it by its event id, so that
// the client need not begin anew because it came here faster. It returns false if the text is of an earlier run than the
// client's, and abandoned: the hub does not know it any more. It returns at once for a cursor that will never hold.
func (t *Text) Reach(ctx context.Context, lastEventID string) bool {
	c, ok := ParseCursor(lastEventID)
	if !ok || !t.mirrored || c.Run < t.head.Run {
		return true
	}
	for {
		t.mu.Lock()
		if t.closed || t.over() || (c.Run == t.head.Run && len(t.text) >= c.Offset) {
			stale := t.abandoned && c.Run > t.head.Run
			t.mu.Unlock()
			return !stale
		}
		change := t.await()
		t.mu.Unlock()
		select {
		case <-change:
		case <-ctx.Done():
			return true
		}
	}
}

// AtEnd reports whether the text is over and lastEventID is its end: there is nothing to be told. Of an empty text
// there always is, as resolve says.
func (t *Text) AtEnd(lastEventID string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end != nil && len(t.text) > 0 && lastEventID == Cursor{t.head.Run, len(t.text)}.String()
}

// ready is always closed.
var ready = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()
