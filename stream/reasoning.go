package stream

import (
	"bytes"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// reasoning is what a model thinks before it answers. Cursors do not count it. It ends where the text begins: a client
// that has some of the text has all of the reasoning, and any other client is sent it from its start.
type reasoning struct {
	text  []byte // Only appended to: a slice of it stays valid.
	began time.Time
	took  time.Duration // Once it is over.
	over  bool
}

// AppendReasoning publishes the next piece of the reasoning. Once there is text, it is dropped. Invalid UTF-8 becomes
// U+FFFD.
func (t *Text) AppendReasoning(delta string) {
	if delta == "" {
		return
	}
	t.mu.Lock()
	defer t.unlock()
	if len(t.text) > 0 || t.over() || (t.reasoning != nil && t.reasoning.over) {
		return
	}
	t.reason([]byte(strings.ToValidUTF8(delta, "\uFFFD")), time.Now())
}

// PutReasoning publishes the whole reasoning of a stored answer.
func (t *Text) PutReasoning(text string, took time.Duration) {
	t.AppendReasoning(text)
	t.mu.Lock()
	defer t.unlock()
	t.closeReasoning(took)
}

// Reasoning returns the reasoning so far and how long the model has thought.
func (t *Text) Reasoning() (text string, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reasoning == nil {
		return "", 0
	}
	return string(t.reasoning.text), t.reasoning.elapsed()
}

// elapsed returns how long the model has thought.
func (r *reasoning) elapsed() time.Duration {
	if r.over {
		return r.took
	}
	return max(0, time.Since(r.began))
}

// reason publishes a piece of valid text. began is when the first piece came. The caller holds mu.
func (t *Text) reason(piece []byte, began time.Time) {
	b := t.log.room()
	if t.reasoning == nil {
		t.reasoning = &reasoning{began: began}
		b = appendReasoningStart(b, t.reasoning.elapsed())
	}
	from := len(t.reasoning.text)
	t.reasoning.text = append(t.reasoning.text, piece...)
	t.publish(appendReasoning(b, t.reasoning.text, from))
}

// endReasoning ends the reasoning, if it goes on, and appends its end event. The caller holds mu.
func (t *Text) endReasoning(b []byte, took time.Duration) []byte {
	r := t.reasoning
	if r == nil || r.over {
		return b
	}
	r.over, r.took = true, took
	return appendReasoningEnd(b, took)
}

// closeReasoning publishes the end of the reasoning, if it goes on. The caller holds mu.
func (t *Text) closeReasoning(took time.Duration) {
	if b := t.endReasoning(t.log.room(), took); len(b) > 0 {
		t.publish(b)
	}
}

// thought returns how long the model has thought, 0 if it did not. The caller holds mu.
func (t *Text) thought() time.Duration {
	if t.reasoning == nil {
		return 0
	}
	return t.reasoning.elapsed()
}

// appendReasoning appends the news of the reasoning as events.
func (n news) appendReasoning(b []byte) []byte {
	r := &n.reasoning
	if len(r.text) == 0 {
		return b
	}
	if n.from.reasoning == 0 {
		b = appendReasoningStart(b, r.elapsed())
	}
	b = appendReasoning(b, r.text, n.from.reasoning)
	if r.over && !n.from.reasoned {
		b = appendReasoningEnd(b, r.took)
	}
	return b
}

// ReasoningUpdate is what has changed in a text's reasoning since a position.
type ReasoningUpdate struct {
	Offset int    // Of Text, in bytes.
	Text   []byte // Whole characters.
	Began  time.Time
	Over   bool
	Took   time.Duration // Set if it is over.
}

// reasoningSince returns the reasoning beyond the position of n, nil for nothing, and where that ends. whole is false
// if there is more.
func (n news) reasoningSince() (u *ReasoningUpdate, to int, whole bool) {
	r, from := n.reasoning, n.from.reasoning
	if len(r.text) == from && r.over == n.from.reasoned {
		return nil, from, true
	}
	to = wholeRunes(r.text, from+maxEntryReasoning)
	u = &ReasoningUpdate{Offset: from, Text: r.text[from:to], Began: r.began}
	if whole = to == len(r.text); whole {
		u.Over, u.Took = r.over, r.took
	}
	return u, to, whole
}

// wholeRunes returns the end of the last whole character of the first bytes of a text.
func wholeRunes(text []byte, size int) int {
	if size >= len(text) {
		return len(text)
	}
	for !utf8.RuneStart(text[size]) {
		size--
	}
	return size
}

// applyReasoning publishes what is new in an update of the reasoning. The caller holds mu.
func (t *Text) applyReasoning(u *ReasoningUpdate) error {
	var known []byte
	if t.reasoning != nil {
		known = t.reasoning.text
	}
	overlap := len(known) - u.Offset
	if overlap < 0 {
		return ErrHole
	}
	overlap = min(overlap, len(u.Text))
	fresh := u.Text[overlap:]
	if !bytes.Equal(known[u.Offset:u.Offset+overlap], u.Text[:overlap]) ||
		(len(fresh) > 0 && !utf8.RuneStart(fresh[0])) {
		return ErrHole
	}
	if len(fresh) > 0 && len(t.text) == 0 && (t.reasoning == nil || !t.reasoning.over) {
		t.reason(fresh, u.Began)
	}
	if u.Over {
		t.closeReasoning(u.Took)
	}
	return nil
}

// reasoningPartID is the id of the one reasoning part that an answer has.
const reasoningPartID = "reasoning"

// appendReasoningStart appends the event that begins the reasoning. A client that has some of it begins anew.
func appendReasoningStart(dst []byte, elapsed time.Duration) []byte {
	dst = append(dst, `data: {"type":"reasoning-start","id":"`+reasoningPartID+
		`","providerMetadata":{"tsumugi":{"elapsed_ms":`...)
	return append(strconv.AppendInt(dst, elapsed.Milliseconds(), 10), "}}}\n\n"...)
}

// appendReasoning appends the reasoning from an offset as reasoning-delta events. It splits no character.
func appendReasoning(dst, text []byte, offset int) []byte {
	for offset < len(text) {
		end := wholeRunes(text, offset+maxDelta)
		dst = append(dst, `data: {"type":"reasoning-delta","id":"`+reasoningPartID+`","delta":"`...)
		dst = append(appendEscaped(dst, text[offset:end]), "\"}\n\n"...)
		offset = end
	}
	return dst
}

func appendReasoningEnd(dst []byte, took time.Duration) []byte {
	dst = append(dst, `data: {"type":"reasoning-end","id":"`+reasoningPartID+
		`","providerMetadata":{"tsumugi":{"duration_ms":`...)
	return append(strconv.AppendInt(dst, took.Milliseconds(), 10), "}}}\n\n"...)
}
