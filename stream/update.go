package stream

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"
	"unicode/utf8"
)

// MaxEntry bounds an encoded update, in bytes. NATS refuses messages over 1 MiB by default.
const MaxEntry = 384 << 10

// Maximum of each in an entry; the rest of MaxEntry is for the head and the end.
const (
	maxEntryText      = 128 << 10
	maxEntryParts     = 192 << 10
	maxEntryReasoning = 32 << 10
	maxContinued      = 100
)

// Update is the change of a text since a position. Servers exchange updates, while clients receive events. Updates of a
// run may overlap: applying a known part has no effect.
type Update struct {
	Run    int
	Head   *Head  // In the first update of a run; else nil.
	Offset int    // Of Text, in bytes.
	Text   []byte // Whole characters.
	Parts  []Part // By Seq.

	Reasoning *ReasoningUpdate // Nil without a change. While it is incomplete, Text is empty.

	End *End // Nil until the text ends.
}

// Since returns the change of a text since a position, and the position after it. The encoded update has at most
// MaxEntry bytes: the next update has the rest.
func (t *Text) Since(p Position) (Update, Position) {
	t.mu.Lock()
	n, next := t.deltaSince(p), t.position()
	t.mu.Unlock()

	u := Update{Run: t.head.Run, Offset: p.offset}
	if !p.started {
		u.Head = &t.head
	}
	thought, reasoned, whole := n.reasoningSince()
	u.Reasoning = thought
	if !whole {
		p.started, p.reasoning = true, reasoned
		return u, p
	}
	to := wholeRunes(n.text, p.offset+maxEntryText)
	u.Text = n.text[p.offset:to]
	slices.SortFunc(n.parts, func(a, b Part) int { return cmp.Compare(a.Seq, b.Seq) })
	size, parts := 0, 0
	for parts < len(n.parts) && size <= maxEntryParts-maxPart {
		size += len(n.parts[parts].Key) + len(n.parts[parts].Data)
		parts++
	}
	u.Parts = n.parts[:parts]
	if to < len(n.text) || parts < len(n.parts) {
		reached := next
		reached.offset, reached.partSeq, reached.ended = to, p.partSeq, p.ended
		if parts > 0 {
			reached.partSeq = u.Parts[parts-1].Seq
		}
		return u, reached
	}
	u.End = n.end
	return u, next
}

// ErrGap means that an update begins after the end of the text, or contradicts it: updates in between were lost.
var ErrGap = errors.New("stream: updates are missing")

// Apply publishes the new part of an update. It replaces AppendText, PutStep and so on for a text written by another
// server. After ErrGap, the text is unchanged.
func (t *Text) Apply(u Update) error {
	t.mu.Lock()
	defer t.unlock()
	if t.over() {
		return nil
	}
	known := len(t.text) - u.Offset
	if known < 0 || u.Run != t.head.Run {
		return ErrGap
	}
	known = min(known, len(u.Text))
	fresh := u.Text[known:]
	if !bytes.Equal(t.text[u.Offset:u.Offset+known], u.Text[:known]) || (len(fresh) > 0 && !utf8.RuneStart(fresh[0])) {
		return ErrGap
	}
	if u.Reasoning != nil {
		if err := t.applyReasoning(u.Reasoning); err != nil {
			return err
		}
	}
	for _, p := range u.Parts {
		t.putPart(p)
	}
	if len(fresh) > 0 {
		appendTo(t, fresh)
	}
	if u.End != nil {
		t.finish(*u.End)
	}
	return nil
}

// The encoding of an update is a version, flags, and the present fields in the order of Update. Numbers are unsigned
// varints; every other field is preceded by its length.
const (
	updateVersion = 2

	flagHead      = 1 << 0
	flagEnd       = 1 << 1
	flagReasoning = 1 << 2
	allFlags      = flagHead | flagEnd | flagReasoning
)

type headJSON struct {
	MessageID string          `json:"message_id"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`
	Continued []Cursor        `json:"continued,omitempty"`
}

type reasoningJSON struct {
	Offset int    `json:"offset"`
	Began  int64  `json:"began"`          // In milliseconds since the epoch.
	Took   *int64 `json:"took,omitempty"` // In milliseconds; set at its end.
}

type endJSON struct {
	Outcome      Outcome         `json:"outcome"`
	FinishReason string          `json:"finish_reason,omitempty"`
	Metadata     json.RawMessage `json:"metadata,omitempty"`
	Reason       string          `json:"reason,omitempty"`
	ErrorText    string          `json:"error_text,omitempty"`
	Code         string          `json:"code,omitempty"`
	Retryable    bool            `json:"retryable,omitempty"`
}

// Append appends the encoded update.
func (u Update) Append(dst []byte) []byte {
	flags := byte(0)
	if u.Head != nil {
		flags |= flagHead
	}
	if u.End != nil {
		flags |= flagEnd
	}
	if u.Reasoning != nil {
		flags |= flagReasoning
	}
	dst = append(dst, updateVersion, flags)
	dst = binary.AppendUvarint(dst, uint64(u.Run))
	if u.Head != nil {
		dst = appendBytes(dst, appendJSON(nil, headJSON{u.Head.MessageID, u.Head.Metadata, u.Head.Continued}))
	}
	dst = binary.AppendUvarint(dst, uint64(u.Offset))
	dst = appendBytes(dst, u.Text)
	dst = binary.AppendUvarint(dst, uint64(len(u.Parts)))
	for _, p := range u.Parts {
		dst = binary.AppendUvarint(dst, uint64(p.Seq))
		dst = appendBytes(dst, []byte(p.Key))
		dst = appendBytes(dst, p.Data)
	}
	if r := u.Reasoning; r != nil {
		about := reasoningJSON{Offset: r.Offset, Began: r.Began.UnixMilli()}
		if took := r.Took.Milliseconds(); r.Over {
			about.Took = &took
		}
		dst = appendBytes(appendBytes(dst, appendJSON(nil, about)), r.Text)
	}
	if e := u.End; e != nil {
		dst = appendBytes(dst, appendJSON(nil, endJSON{
			e.Outcome, e.FinishReason, e.Metadata, e.Reason, e.ErrorText, e.Code, e.Retryable,
		}))
	}
	return dst
}

func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// errVersion is the error of an update of another version. Servers of different releases may send each other updates
// during an upgrade.
var errVersion = errors.New("stream: update of another version")

var errEntry = errors.New("stream: malformed update")

// ParseUpdate decodes the output of Append. The result shares memory with entry.
func ParseUpdate(entry []byte) (Update, error) {
	switch {
	case len(entry) < 2 || len(entry) > MaxEntry:
		return Update{}, errEntry
	case entry[0] != updateVersion:
		return Update{}, errVersion
	case entry[1]&^byte(allFlags) != 0:
		return Update{}, errEntry
	}
	flags := entry[1]
	d := decoder{rest: entry[2:]}
	u := Update{Run: d.number()}
	if flags&flagHead != 0 {
		var h headJSON
		d.json(&h)
		u.Head = &Head{MessageID: h.MessageID, Run: u.Run, Metadata: d.object(h.Metadata), Continued: h.Continued}
		d.bad = d.bad || len(h.Continued) > maxContinued
	}
	u.Offset = d.number()
	u.Text = d.bytes()
	for n := d.number(); n > 0 && !d.bad; n-- {
		p := Part{Seq: d.number(), Key: string(d.bytes()), Data: d.bytes()}
		if !isLine(p.Data) || len(p.Data) > maxPart || p.Seq < 1 {
			d.bad = true
		}
		u.Parts = append(u.Parts, p)
	}
	if flags&flagReasoning != 0 {
		u.Reasoning = d.reasoning()
	}
	if flags&flagEnd != 0 {
		var e endJSON
		d.json(&e)
		u.End = &End{e.Outcome, e.FinishReason, d.object(e.Metadata), e.Reason, e.ErrorText, e.Code, e.Retryable}
		d.bad = d.bad || (e.Outcome != Finished && e.Outcome != Aborted && e.Outcome != Failed)
	}
	if d.bad || len(d.rest) > 0 || u.Run < 1 || !utf8.Valid(u.Text) {
		return Update{}, errEntry
	}
	return u, nil
}

// isLine reports whether data is JSON without control characters, as required in an event.
func isLine(data []byte) bool {
	return json.Valid(data) && utf8.Valid(data) && !bytes.ContainsFunc(data, func(r rune) bool { return r < 0x20 })
}

// decoder decodes the fields of an entry. After an error it returns zero values.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) number() int {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 || v > math.MaxInt32 {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[n:]
	return int(v)
}

func (d *decoder) bytes() []byte {
	n := d.number()
	if n > len(d.rest) {
		d.bad, d.rest = true, nil
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) reasoning() *ReasoningUpdate {
	const longest = 1 << 40 // In milliseconds: 35 years.
	var about reasoningJSON
	d.json(&about)
	r := &ReasoningUpdate{Offset: about.Offset, Text: d.bytes(), Began: time.UnixMilli(about.Began)}
	if about.Took != nil {
		r.Over, r.Took = true, time.Duration(*about.Took)*time.Millisecond
		d.bad = d.bad || *about.Took < 0 || *about.Took > longest
	}
	d.bad = d.bad || about.Offset < 0 || about.Offset > math.MaxInt32-MaxEntry || !utf8.Valid(r.Text)
	return r
}

// object returns metadata that is nil or passes isObject.
func (d *decoder) object(metadata json.RawMessage) json.RawMessage {
	if s := string(metadata); s == "{}" || s == "null" {
		return nil
	}
	d.bad = d.bad || !isObject(metadata)
	return metadata
}

func (d *decoder) json(v any) {
	b := d.bytes()
	if d.bad || !isLine(b) || json.Unmarshal(b, v) != nil {
		d.bad = true
	}
}
