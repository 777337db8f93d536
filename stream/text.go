package stream

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// firstText is the initial capacity of a text in bytes.
const firstText = 256

// maxPart bounds the data of a part in bytes. A larger one is not published.
const maxPart = 128 << 10

// Text is one run of an answer: its text so far, and the log of its events. One goroutine publishes (AppendText,
// PutStep, … Finish); PutTitle may be called from another one. Any number of watches may read.
type Text struct {
	head     Head
	first    []byte        // The start event.
	mirrored bool          // Another server writes the text. Set before the text is shared.
	followed chan struct{} // Closed by the hub when another server follows the text. Nil unless it is relayed.
	ended    atomic.Bool   // The text is complete or abandoned, and the log is complete.

	catching sync.Mutex // Lets one watch at a time catch up from the text. Locked before mu.

	mu        sync.Mutex
	log       log         // Guarded by mu.
	text      []byte      // Guarded by mu. Only appended to: a slice of it stays valid.
	reasoning *reasoning  // Guarded by mu. Nil without reasoning.
	parts     []Part      // Guarded by mu. The latest part of each key.
	open      bool        // Guarded by mu. A text part has begun and not ended.
	round     int         // Guarded by mu. The number of the current round plus 1; 0 without rounds.
	partSeq   int         // Guarded by mu. Seq of the latest part.
	end       *End        // Guarded by mu. Nil until the text ends. The End itself never changes.
	abandoned bool        // Guarded by mu. Watches end without a terminal event.
	changed   bool        // Guarded by mu. The listeners must be called.
	listeners []*func()   // Guarded by mu. Never changed in place.
	next      *change     // Guarded by mu. The next change; nil if nothing waits.
	inputs    []toolInput // Guarded by mu. The calls of tools that the model is writing.
}

// change is the next change of a text.
type change struct {
	done chan struct{}
	at   time.Time // Set before done is closed.
}

// OnChange registers f to be called after every change, by the goroutine that made the change and with no lock held. f
// must not block. A call in progress may end after stop has returned.
func (t *Text) OnChange(f func()) (stop func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listeners = append(slices.Clip(t.listeners), &f)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.listeners = slices.DeleteFunc(slices.Clone(t.listeners), func(other *func()) bool { return other == &f })
	}
}

// unlock releases mu and calls the listeners if the text has changed. It calls them without the lock, so that they may
// acquire other locks and read the text.
func (t *Text) unlock() {
	var listeners []*func()
	if t.changed {
		t.changed, listeners = false, t.listeners
	}
	t.mu.Unlock()
	for _, f := range listeners {
		(*f)()
	}
}

// Part is additional content of an answer: the latest step of a kind, a source, a change or the title.
type Part struct {
	Seq  int    // In the order of publication, from 1.
	Key  string // A later part replaces an earlier one with the same key.
	Data []byte // The chunk: JSON without line breaks. It never changes.
}

// Position is the part of a text that a watch or another server has received. It is comparable. The zero value is the
// start.
type Position struct {
	started        bool // The head.
	offset         int  // Bytes of the text.
	partSeq        int
	open           bool // A text part has begun and not ended.
	reasoning      int  // Bytes of the reasoning.
	reasoningEnded bool // The end of the reasoning was received.
	ended          bool
}

// NewText returns an empty text without a hub. To replay a stored answer, publish it to a new text and watch that.
func NewText(head Head) *Text {
	return &Text{head: head, first: startFrame(head), text: make([]byte, 0, firstText), log: newLog()}
}

// Head returns the head of the text.
func (t *Text) Head() Head { return t.head }

// Run returns the number of the run.
func (t *Text) Run() int { return t.head.Run }

// Continue makes text, the beginning of an earlier run's text, the beginning of this one. continued is the Continued of
// this run. It must be called before AppendText, and before the text is registered or watched.
func (t *Text) Continue(text string, continued []Cursor) {
	t.head.Continued = continued
	t.AppendText(text)
}

// Text returns the text written so far.
func (t *Text) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// TextFrom returns the text written so far from an offset, in bytes, which it contains.
func (t *Text) TextFrom(offset int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text[offset:])
}

// Len returns the length of the text in bytes.
func (t *Text) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.text)
}

// AppendText publishes the next piece of the answer. It replaces invalid UTF-8 by U+FFFD.
func (t *Text) AppendText(delta string) {
	if delta == "" {
		return
	}
	if !utf8.ValidString(delta) {
		delta = strings.ToValidUTF8(delta, "\uFFFD")
	}
	t.mu.Lock()
	defer t.unlock()
	if !t.over() {
		appendTo(t, delta)
	}
}

// appendTo publishes a piece of valid text. The caller holds mu.
func appendTo[T string | []byte](t *Text, piece T) {
	b, from := t.log.room(), len(t.text)
	if from == 0 {
		b = t.endReasoning(b, t.reasoningTime())
	}
	if !t.open {
		t.open = true
		b = append(b, textStartFrame...)
	}
	t.text = append(t.text, piece...)
	t.publish(appendText(b, t.head.Run, t.text, from))
}

// PutStep publishes an action of the assistant before it writes. A later step of the same kind replaces it.
func (t *Text) PutStep(s Step) { t.put("step "+s.Kind, newDataChunk("step", s.Kind, s)) }

// PutSource publishes a passage or a page on which the answer is based.
func (t *Text) PutSource(s Source) {
	t.put("source "+s.SourceID, newSourceChunk(s))
}

// Sources returns the ids of the published sources in their order.
func (t *Text) Sources() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ids []string
	for _, p := range t.parts {
		if id, ok := strings.CutPrefix(p.Key, "source "); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// ApprovalSeq returns the Seq of the latest part with the state of a decision, or 0 without one.
func (t *Text) ApprovalSeq() (seq int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.parts {
		if strings.HasPrefix(p.Key, approvalState) {
			seq = max(seq, p.Seq)
		}
	}
	return seq
}

// PutCitations publishes the citations of an answer, an encoded JSON list.
func (t *Text) PutCitations(citations json.RawMessage) {
	t.put("citations", newDataChunk("citations", "", map[string]json.RawMessage{"citations": citations}))
}

// PutProofreadText publishes a block of the proofread text. offset counts UTF-16 code units.
func (t *Text) PutProofreadText(index, offset int, text string) {
	id := strconv.Itoa(index)
	t.put("proofread-text "+id, newDataChunk("proofread-text", id, proofreadBlock{index, offset, text}))
}

// PutChange publishes a change to the proofread text, as encoded JSON.
func (t *Text) PutChange(id int, change json.RawMessage) {
	t.put("change "+strconv.Itoa(id), newDataChunk("change", strconv.Itoa(id), change))
}

// PutProofread publishes the result of the proofreading, as encoded JSON.
func (t *Text) PutProofread(summary json.RawMessage) {
	t.put("proofread", newDataChunk("proofread", "", summary))
}

// PutTitle publishes the title of the answer's thread. updatedAt lets a client that has a later title ignore it.
// PutTitle may be called concurrently with the goroutine that publishes.
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

// putPart publishes a part, unless the text has the same or a later part with its key. The caller holds mu.
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
	t.publish(appendData(t.beginPart(nil, p), p.Data))
}

// Finish publishes the end. Later publications are dropped, so that there is exactly one end.
func (t *Text) Finish(end End) {
	t.mu.Lock()
	defer t.unlock()
	if !t.over() {
		t.finish(end)
	}
}

// finish publishes the end. The caller holds mu.
func (t *Text) finish(end End) {
	b := t.withdrawInputs(t.log.room(), func(toolInput) bool { return true })
	b = t.endReasoning(b, t.reasoningTime())
	if t.open {
		t.open = false
		b = append(b, textEndFrame...)
	}
	b = appendRoundEnd(b, t.round)
	t.end = &end
	t.publish(appendEnd(b, Cursor{t.head.Run, len(t.text)}, end))
	t.ended.Store(true)
}

// Abandon ends every watch without a terminal event, so that the clients reconnect for the next run.
func (t *Text) Abandon() {
	t.mu.Lock()
	defer t.unlock()
	if !t.over() {
		t.abandoned = true
		t.ended.Store(true)
		t.broadcast()
	}
}

// over reports whether the text is complete or abandoned. The caller holds mu.
func (t *Text) over() bool { return t.end != nil || t.abandoned }

// position returns the position of a watch that has read everything. The caller holds mu.
func (t *Text) position() Position {
	p := Position{started: true, offset: len(t.text), partSeq: t.partSeq, open: t.open, ended: t.end != nil}
	if r := t.reasoning; r != nil {
		p.reasoning, p.reasoningEnded = len(r.text), r.over
	}
	return p
}

// changesAfter returns a channel that is closed when the text is longer than p, or nil and true if it never will be.
func (t *Text) changesAfter(p Position) (more <-chan struct{}, over bool) {
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
	return t.nextChange().done, false
}

// memorySize returns the number of bytes of the text and of its log in memory.
func (t *Text) memorySize() (text, log int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reasoning != nil {
		text = cap(t.reasoning.text)
	}
	for _, in := range t.inputs {
		text += cap(in.arguments)
	}
	return text + cap(t.text), t.log.memorySize()
}

// publish appends the events of a change to the log and notifies the watches. The caller holds mu.
func (t *Text) publish(frame []byte) {
	t.log.append(frame, t.position())
	t.broadcast()
}

// broadcast closes the channel of the next change. The caller holds mu.
func (t *Text) broadcast() {
	t.changed = true
	if t.next != nil {
		t.next.at = time.Now()
		close(t.next.done)
		t.next = nil
	}
}

// nextChange returns the next change. The caller holds mu.
func (t *Text) nextChange() *change {
	if t.next == nil {
		t.next = &change{done: make(chan struct{})}
	}
	return t.next
}

// Wait waits until the text is complete or abandoned.
func (t *Text) Wait(ctx context.Context) error {
	return t.waitUntil(ctx, t.over)
}

// Follow calls grown after each change until the text is complete or abandoned, at least once. It calls idle after each
// interval without a change.
func (t *Text) Follow(ctx context.Context, interval time.Duration, grown, idle func() error) error {
	for {
		t.mu.Lock()
		over, next := t.over(), t.nextChange()
		t.mu.Unlock()
		if err := grown(); err != nil || over {
			return err
		}
		select {
		case <-next.done:
		case <-time.After(interval):
			if err := idle(); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// WaitForCursor waits until a mirrored text contains the client's cursor, so that a client that reconnects faster than
// the text arrives is not reset. It returns false if the text is abandoned and belongs to an earlier run than the
// cursor: the hub has another text. It returns at once for a cursor that will never be valid.
func (t *Text) WaitForCursor(ctx context.Context, lastEventID string) bool {
	c, ok := ParseCursor(lastEventID)
	accepted := t.head.Accepts(c)
	if !ok || !t.mirrored || c.Run < t.head.Run && !accepted {
		return true
	}
	stale := false
	err := t.waitUntil(ctx, func() bool {
		stale = t.abandoned && c.Run > t.head.Run
		return t.over() || (accepted && len(t.text) >= c.Offset)
	})
	return err != nil || !stale
}

// waitUntil waits until condition returns true. It calls condition with mu held.
func (t *Text) waitUntil(ctx context.Context, condition func() bool) error {
	for {
		t.mu.Lock()
		if condition() {
			t.mu.Unlock()
			return nil
		}
		change := t.nextChange()
		t.mu.Unlock()
		select {
		case <-change.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// AtEnd reports whether the text is complete or abandoned and lastEventID is its end, so that nothing needs to be sent.
// It is false for an empty text, because an id at offset 0 causes a reset.
func (t *Text) AtEnd(lastEventID string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end != nil && len(t.text) > 0 && lastEventID == Cursor{t.head.Run, len(t.text)}.String()
}

// ready is a closed channel.
var ready = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()
