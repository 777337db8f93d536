package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/tidwall/gjson"
)

// The reading of the stream is our own and not go-openai's Recv: that reads lines without a bound, so that a provider
// (or a proxy before it) that never sends a line break fills the memory; it decodes strings by encoding/json, which
// destroys characters that are split over chunks; and it matches two regular expressions a line. go-openai still makes
// the request: its types, its URLs and headers for OpenAI and Azure.
const (
	firstBuffer = 4 << 10 // A chunk is about 300 bytes, and net/http reads as much at once.
	// For a provider that sends faster than it is read: an eighth of the system calls and deltas.
	largeBuffer  = 32 << 10
	maxLine      = 1 << 20 // No chunk of an answer comes near this.
	maxBody      = 8 << 20 // A whole answer of a server that doesn't stream.
	maxErrorBody = 64 << 10
)

var (
	errTooMuch     = errors.New("llm: the answer takes more bytes than allowed")
	errLineTooLong = fmt.Errorf("llm: an event of the stream exceeds %d bytes", maxLine)
	errBodyTooLong = fmt.Errorf("llm: the answer exceeds %d bytes", maxBody)
	errNoJSON      = errors.New("llm: an event of the stream is no JSON")
)

// byteOrderMark may stand at the beginning of a stream.
var byteOrderMark = []byte("\uFEFF")

// event is what an event stream tells at once. Its data is valid JSON, unless it is the end mark or a failure.
type event struct {
	data   []byte
	failed bool // The event, or its field, is called error.
}

// isEnd reports whether the event is the end mark.
func (e event) isEnd() bool { return string(e.data) == "[DONE]" }

// eventReader reads the events of a stream as WHATWG's section on server-sent events says, and as servers write them
// that do not keep to it: a data line that is JSON by itself is an event, whether a blank line follows or not; a line
// of JSON without a field's name is one too; and so is the field "error" of llama.cpp's servers until the autumn of
// 2025.
type eventReader struct {
	body    io.Reader
	idle    func() // Called before each read: of what came, no whole line is left.
	comment func() // Called for each comment.
	left    int64  // How many bytes may still be read.
	buf     []byte
	start   int // buf[start:end] has been read from the body and not been returned.
	seen    int // buf[start:start+seen] has no line break.
	end     int
	begun   bool       // The first line has been returned.
	afterCR bool       // The last line ended with a carriage return: a line feed that follows belongs to it.
	full    bool       // The last read has filled buf: more is there already.
	large   *sync.Pool // Of *[largeBuffer]byte.
	taken   *[largeBuffer]byte
	err     error // What the body ended with.

	pending []byte // The data of an event that is spread over lines.
	failed  bool   // The event that is being read is called error.
}

func newEventReader(body io.Reader, limit int64, large *sync.Pool, idle, comment func()) *eventReader {
	return &eventReader{
		body: body, idle: idle, comment: comment, left: limit, buf: make([]byte, firstBuffer),
		large: large,
	}
}

// close gives back what was borrowed. What next has returned is no longer valid.
func (r *eventReader) close() {
	if r.taken != nil {
		r.large.Put(r.taken)
	}
	r.buf, r.taken = nil, nil
}

// next returns the next event, which is valid until the following call, or io.EOF. An event that the stream's end cuts
// off is none.
func (r *eventReader) next() (event, error) {
	for {
		line, err := r.line()
		switch {
		case err != nil:
			return event{}, err
		case len(line) == 0:
			if e, err := r.endEvent(); err != nil || len(e.data) > 0 {
				return e, err
			}
			continue
		case line[0] == ':':
			r.comment()
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		if line[0] == '{' {
			name, value = []byte("data"), line
		}
		value = bytes.TrimSpace(value)
		switch string(name) {
		case "event":
			r.failed = string(value) == "error"
		case "error":
			return event{data: value, failed: true}, nil
		case "data":
			if e := (event{data: value, failed: r.failed}); len(r.pending) == 0 && (e.isEnd() || isJSON(value)) {
				return e, nil
			}
			if len(r.pending)+len(value) > maxLine {
				return event{}, errLineTooLong
			}
			if len(value) > 0 {
				r.pending = append(append(r.pending, value...), '\n')
			}
		}
	}
}

// endEvent returns the event that a blank line ends, without data if nothing is left of it.
func (r *eventReader) endEvent() (event, error) {
	e := event{data: bytes.TrimSpace(r.pending), failed: r.failed}
	r.pending, r.failed = r.pending[:0], false
	if len(e.data) > 0 && !e.failed && !isJSON(e.data) {
		return event{}, errNoJSON
	}
	return e, nil
}

// isJSON reports whether data is JSON. Package gjson takes a fifth of the time of encoding/json for it, but as much
// stack as the data is deep.
func isJSON(data []byte) bool {
	if len(data) > firstBuffer {
		return json.Valid(data)
	}
	return gjson.ValidBytes(data)
}

// line returns the next line without its end. The last one need not have any.
func (r *eventReader) line() ([]byte, error) {
	for {
		if r.afterCR && r.start < r.end {
			r.afterCR = false
			if r.buf[r.start] == '\n' {
				r.start++
			}
		}
		if i := lineEnd(r.buf[r.start+r.seen : r.end]); i >= 0 {
			end := r.start + r.seen + i
			r.afterCR = r.buf[end] == '\r'
			return r.take(end, 1), nil
		}
		r.seen = r.end - r.start
		if r.err != nil {
			if r.seen > 0 && errors.Is(r.err, io.EOF) {
				return r.take(r.end, 0), nil
			}
			return nil, r.err
		}
		r.read()
	}
}

// take returns what was read up to a line's end, which takes so many bytes.
func (r *eventReader) take(end, size int) []byte {
	line := r.buf[r.start:end]
	r.start, r.seen = end+size, 0
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	return line
}

// lineEnd returns where the first line break of b is: a line feed, or a carriage return with or without one; -1 for
// none.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// read reads more, once, into a buffer that has room.
func (r *eventReader) read() {
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
