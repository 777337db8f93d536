package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// The reading of the stream is our own and not go-openai's Recv: that reads lines without a bound, so that a provider (or
// a proxy before it) that never sends a line break fills the memory; it decodes strings by encoding/json, which destroys
// characters that are split over chunks; and it matches two regular expressions a line. What is left to write is this
// file. go-openai still makes the request: its types, its URLs and headers for OpenAI and Azure.
const (
	firstBuffer  = 4 << 10  // A chunk is about 300 bytes, and net/http reads as much at once.
	largeBuffer  = 32 << 10 // For a provider that sends faster than it is read: an eighth of the system calls and deltas.
	maxLine      = 1 << 20  // No chunk of an answer comes near this.
	maxBody      = 8 << 20  // A whole answer of a server that doesn't stream.
	maxErrorBody = 64 << 10
)

var (
	errTooMuch     = errors.New("llm: the answer takes more bytes than allowed")
	errLineTooLong = fmt.Errorf("llm: a line of the stream exceeds %d bytes", maxLine)
	errBodyTooLong = fmt.Errorf("llm: the answer exceeds %d bytes", maxBody)
)

// lineReader reads the payloads of an event stream.
//
// Each data line is taken as one event, as all OpenAI-compatible servers write them, so that those that forget the blank
// line between events are read too.
type lineReader struct {
	body  io.Reader
	idle  func() // Called before each read: of what came, no whole line is left.
	left  int64  // How many bytes may still be read.
	buf   []byte
	start int // buf[start:end] has been read from the body and not been returned.
	seen  int // buf[start:start+seen] has no line break.
	end   int
	full  bool       // The last read has filled buf: more is there already.
	large *sync.Pool // Of *[largeBuffer]byte.
	taken *[largeBuffer]byte
	err   error // What the body ended with.
}

func newLineReader(body io.Reader, limit int64, large *sync.Pool, idle func()) *lineReader {
	return &lineReader{body: body, idle: idle, left: limit, buf: make([]byte, firstBuffer), large: large}
}

// close gives back what was borrowed. What next has returned is no longer valid.
func (r *lineReader) close() {
	if r.taken != nil {
		r.large.Put(r.taken)
	}
	r.buf, r.taken = nil, nil
}

// next returns the next payload, which is valid until the following call, or io.EOF.
func (r *lineReader) next() ([]byte, error) {
	for {
		line, err := r.line()
		if err != nil {
			return nil, err
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if data = bytes.TrimSpace(data); len(data) > 0 {
				return data, nil
			}
			continue
		}
		// Some servers write an error that befalls them in mid-stream as bare JSON.
		if len(line) > 0 && line[0] == '{' {
			return bytes.TrimSpace(line), nil
		}
	}
}

// line returns the next line without its end. The last one need not have any.
func (r *lineReader) line() ([]byte, error) {
	for {
		if i := bytes.IndexByte(r.buf[r.start+r.seen:r.end], '\n'); i >= 0 {
			line := r.buf[r.start : r.start+r.seen+i]
			r.start, r.seen = r.start+len(line)+1, 0
			return line, nil
		}
		r.seen = r.end - r.start
		if r.err != nil {
			if line := r.buf[r.start:r.end]; len(line) > 0 && errors.Is(r.err, io.EOF) {
				r.start, r.seen = r.end, 0
				return line, nil
			}
			return nil, r.err
		}
		r.read()
	}
}

// read reads more, once, into a buffer that has room.
func (r *lineReader) read() {
	r.idle()
	if r.start > 0 {
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
	}
	switch {
	case r.full && len(r.buf) < largeBuffer:
		r.taken = r.large.Get().(*[largeBuffer]byte) //nolint:forcetypeassert // Nothing else is put there.
		copy(r.taken[:], r.buf[:r.end])
		r.buf = r.taken[:]
	case r.end < len(r.buf):
	case len(r.buf) >= maxLine:
		r.err = errLineTooLong
		return
	default:
		r.buf = append(r.buf, make([]byte, len(r.buf))...)
	}
	n, err := r.body.Read(r.buf[r.end:])
	r.end += n
	r.full = r.end == len(r.buf)
	r.err = err
	if r.left -= int64(n); r.left < 0 {
		r.err = errTooMuch
	}
}

// chunk is what the client needs of a chat.completion.chunk.
type chunk struct {
	model    string
	content  []byte // The raw JSON literal of the text, or nil.
	thinking bool   // It carries a token that isn't part of the answer (reasoning).
	finish   string
	usage    *Usage
	err      *providerError
}

// wireChunk is the chunk's JSON. Texts stay raw so that characters split over chunks can be joined.
type wireChunk struct {
	Object  string          `json:"object"`
	Model   string          `json:"model"`
	Error   json.RawMessage `json:"error"`
	Choices []wireChoice    `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
}

type wireChoice struct {
	Index        int        `json:"index"`
	Delta        *wireDelta `json:"delta"`
	Message      *wireDelta `json:"message"` // In place of delta where the server doesn't stream.
	FinishReason *string    `json:"finish_reason"`
}

type wireDelta struct {
	Content          json.RawMessage `json:"content"`
	Refusal          json.RawMessage `json:"refusal"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
}

type wireUsage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
}

// decoder reads the payloads of one answer. The zero value is ready for use.
type decoder struct {
	chunk chunk // The last one.

	// The last one with text alone that scanChunk knew: its model, and what stood before and behind its text.
	model      string
	head, tail []byte
}

// decode reads a payload into chunk. What scanChunk does not know is left to encoding/json.
func (d *decoder) decode(data []byte) error {
	if text := d.again(data); text != nil {
		d.chunk = chunk{model: d.model, content: text}
		return nil
	}
	previous := d.chunk.model
	d.chunk = chunk{}
	at, known := scanChunk(data, &d.chunk, previous)
	if !known {
		return decodeAnyChunk(data, &d.chunk)
	}
	if d.chunk.content == nil || d.chunk.finish != "" || d.chunk.usage != nil {
		return nil
	}
	d.model, d.head = d.chunk.model, append(d.head[:0], data[:at]...)
	d.tail = append(d.tail[:0], data[at+len(d.chunk.content):]...)
	return nil
}

// again returns the text's literal of a payload that is, but for that, the same as the last one with text, as nearly all of
// an answer's are; else nil. Where one JSON string stands in another one's place, all around it means the same.
func (d *decoder) again(data []byte) []byte {
	from, to := len(d.head), len(data)-len(d.tail)
	if from == 0 || to-from <= len(`""`) || !bytes.HasPrefix(data, d.head) || !bytes.HasSuffix(data, d.tail) {
		return nil
	}
	s := scanner{data: data[from:to]}
	if !s.string() || s.at < len(s.data) {
		return nil
	}
	return s.data
}

// decodeAnyChunk reads a payload of any shape into c.
func decodeAnyChunk(data []byte, c *chunk) error {
	*c = chunk{}
	var wire wireChunk
	if err := json.Unmarshal(data, &wire); err != nil {
		return fmt.Errorf("llm: decode chunk: %w", err)
	}
	if (len(wire.Error) > 0 && !isNull(wire.Error)) || wire.Object == "error" {
		c.err = parseProviderError(data)
		return nil
	}
	c.model = wire.Model
	c.usage = decodeUsage(wire.Usage)
	for i := range wire.Choices {
		// Only one answer was asked for. A server that sends several would interleave them.
		if wire.Choices[i].Index == 0 {
			return wire.Choices[i].decode(c)
		}
	}
	return nil
}

func (w *wireChoice) decode(c *chunk) error {
	if w.FinishReason != nil {
		c.finish = *w.FinishReason
	}
	delta := w.Delta
	if delta == nil {
		delta = w.Message
	}
	if delta == nil {
		return nil
	}
	c.content = delta.Content
	if isBlank(c.content) && !isBlank(delta.Refusal) {
		c.content = delta.Refusal // What the model says when it declines is an answer too.
	}
	if isBlank(c.content) {
		c.content = nil
		c.thinking = !isBlank(delta.Reasoning) || !isBlank(delta.ReasoningContent)
		return nil
	}
	if c.content[0] != '"' {
		return fmt.Errorf("llm: decode chunk: content is no text: it begins with %q", c.content[0]) // No more: it ends in the log.
	}
	return nil
}

// decodeUsage returns nil for an account that can't be read: an answer doesn't fail for its bill.
func decodeUsage(raw json.RawMessage) *Usage {
	var wire wireUsage
	if len(raw) == 0 || isNull(raw) || json.Unmarshal(raw, &wire) != nil {
		return nil
	}
	return &Usage{InputTokens: max(0, wire.PromptTokens), OutputTokens: max(0, wire.CompletionTokens)}
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

func isBlank(raw json.RawMessage) bool {
	return len(raw) == 0 || isNull(raw) || string(raw) == `""`
}
