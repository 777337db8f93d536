package stream

import (
	"bytes"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// reasoning is the model's reasoning before its answer. Cursors do not count it. It ends where the text begins: a
// client with some of the text has all of the reasoning, and any other client receives it from its start.
type reasoning struct {
	text  []byte // Only appended to: a slice of it stays valid.
	began time.Time
	took  time.Duration // Set at its end.
	over  bool
}

// AppendReasoning publishes the next piece of the reasoning. It drops the piece if there is text. It replaces invalid
// UTF-8 by U+FFFD.
func (t *Text) AppendReasoning(delta string) {
	if delta == "" {
		return
	}
	t.mu.Lock()
	defer t.unlock()
	if len(t.text) > 0 || t.over() || (t.reasoning != nil && t.reasoning.over) {
		return
	}
	t.publishReasoning([]byte(strings.ToValidUTF8(delta, "\uFFFD")), time.Now())
}

// PutReasoning publishes the whole reasoning of a stored answer.
func (t *Text) PutReasoning(text string, took time.Duration) {
	t.AppendReasoning(text)
	t.mu.Lock()
	defer t.unlock()
	t.closeReasoning(took)
}

// Reasoning returns the reasoning so far and the time that the model has thought.
func (t *Text) Reasoning() (text string, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reasoning == nil {
		return "", 0
	}
	return string(t.reasoning.text), t.reasoning.elapsed()
}

// elapsed returns the time that the model has thought.
func (r *reasoning) elapsed() time.Duration {
	if r.over {
		return r.took
	}
	return max(0, time.Since(r.began))
}

// publishReasoning publishes a piece of valid text. began is the arrival time of the first piece. The caller holds mu.
func (t *Text) publishReasoning(piece []byte, began time.Time) {
	b := t.log.room()
	if t.reasoning == nil {
		t.reasoning = &reasoning{began: began}
		b = appendReasoningStart(b, t.reasoning.elapsed())
	}
	from := len(t.reasoning.text)
	t.reasoning.text = append(t.reasoning.text, piece...)
	t.publish(appendReasoning(b, t.reasoning.text, from))
}

// endReasoning ends the reasoning, if it has not ended, and appends its end event. The caller holds mu.
func (t *Text) endReasoning(b []byte, took time.Duration) []byte {
	r := t.reasoning
	if r == nil || r.over {
		return b
	}
	r.over, r.took = true, took
	return appendReasoningEnd(b, took)
}

// closeReasoning publishes the end of the reasoning, if it has not ended. The caller holds mu.
func (t *Text) closeReasoning(took time.Duration) {
	if b := t.endReasoning(t.log.room(), took); len(b) > 0 {
		t.publish(b)
	}
}

// reasoningTime returns the time that the model has thought, or 0. The caller holds mu.
func (t *Text) reasoningTime() time.Duration {
	if t.reasoning == nil {
		return 0
	}
	return t.reasoning.elapsed()
}

// appendReasoning appends the new reasoning as events.
func (n textDelta) appendReasoning(b []byte) []byte {
	r := &n.reasoning
	if len(r.text) == 0 {
		return b
	}
	if n.from.reasoning == 0 {
		b = appendReasoningStart(b, r.elapsed())
	}
	b = appendReasoning(b, r.text, n.from.reasoning)
	if r.over && !n.from.reasoningEnded {
		b = appendReasoningEnd(b, r.took)
	}
	return b
}

// ReasoningUpdate is the change of a text's reasoning since a position.
type ReasoningUpdate struct {
	Offset int    // Of Text, in bytes.
	Text   []byte // Whole characters.
	Began  time.Time
	Over   bool
	Took   time.Duration // Set at its end.
}

// reasoningSince returns the reasoning after the position of n, or nil, and the position of its end. whole is false if
// there is more.
func (n textDelta) reasoningSince() (u *ReasoningUpdate, to int, whole bool) {
	r, from := n.reasoning, n.from.reasoning
	if len(r.text) == from && r.over == n.from.reasoningEnded {
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

// applyReasoning publishes the new part of an update of the reasoning. The caller holds mu.
func (t *Text) applyReasoning(u *ReasoningUpdate) error {
	var known []byte
	if t.reasoning != nil {
		known = t.reasoning.text
	}
	overlap := len(known) - u.Offset
	if overlap < 0 {
		return ErrGap
	}
	overlap = min(overlap, len(u.Text))
	fresh := u.Text[overlap:]
	if !bytes.Equal(known[u.Offset:u.Offset+overlap], u.Text[:overlap]) ||
		(len(fresh) > 0 && !utf8.RuneStart(fresh[0])) {
		return ErrGap
	}
	if len(fresh) > 0 && len(t.text) == 0 && (t.reasoning == nil || !t.reasoning.over) {
		t.publishReasoning(fresh, u.Began)
	}
	if u.Over {
		t.closeReasoning(u.Took)
	}
	return nil
}

// reasoningPartID is the id of an answer's only reasoning part.
const reasoningPartID = "reasoning"

// appendReasoningStart appends the event that begins the reasoning. A client discards its reasoning at this event.
func appendReasoningStart(dst []byte, elapsed time.Duration) []byte {
	dst = append(dst, `data: {"type":"reasoning-start","id":"`+reasoningPartID+
		`","providerMetadata":{"tsumugi":{"elapsed_ms":`...)
	return append(strconv.AppendInt(dst, elapsed.Milliseconds(), 10), "}}}\n\n"...)
}

// appendReasoning appends the reasoning from an offset as reasoning-delta events. It does not split a character.
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
