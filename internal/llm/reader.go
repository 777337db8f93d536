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

// The client reads the stream itself instead of using go-openai's Recv. Recv reads lines of unbounded length, so that a
// provider or proxy that never sends a line break fills the memory. It decodes strings with encoding/json, which
// destroys characters split over chunks. And it matches two regular expressions per line. go-openai still sends the
// request, with its types, URLs and headers for OpenAI and Azure.
const (
	firstBuffer = 4 << 10 // A chunk has about 300 bytes, and net/http reads as much at once.
	// For a provider faster than its reader: an eighth of the system calls and deltas.
	largeBuffer  = 32 << 10
	maxLine      = 1 << 20 // Far longer than any chunk of an answer.
	maxBody      = 8 << 20 // A complete answer of a server that does not stream.
	maxErrorBody = 64 << 10
)

var (
	errTooMuch     = errors.New("llm: the answer takes more bytes than allowed")
	errLineTooLong = fmt.Errorf("llm: an event of the stream exceeds %d bytes", maxLine)
	errBodyTooLong = fmt.Errorf("llm: the answer exceeds %d bytes", maxBody)
	errNoJSON      = errors.New("llm: an event of the stream is no JSON")
)

// byteOrderMark is an optional mark at the beginning of a stream.
var byteOrderMark = []byte("\uFEFF")

// event is an event of a stream. Its data is valid JSON, unless it is the end mark or a failure.
type event struct {
	data   []byte
	text   []byte // The literal of the text, if known recognizes the event.
	failed bool   // The event, or its field, is named error.
}

// isEnd reports whether the event is the end mark.
func (e event) isEnd() bool { return string(e.data) == "[DONE]" }

// eventReader reads the events of a stream as specified by WHATWG (server-sent events), and as sent by servers that
// deviate from it: a data line that is valid JSON is an event even without a blank line after it; so is a JSON line
// without a field name, and the field "error" of llama.cpp's servers until autumn 2025.
type eventReader struct {
	body    io.Reader
	idle    func() // Called before each read, when no complete line is left.
	comment func() // Called for each comment.
	left    int64  // Remaining bytes of the limit.
	buf     []byte
	start   int // buf[start:end] has been read from the body but not returned.
	seen    int // buf[start:start+seen] has no line break.
	end     int
	begun   bool       // The first line has been returned.
	afterCR bool       // The last line ended with CR: a following LF belongs to it.
	full    bool       // The last read filled buf: more data is available.
	large   *sync.Pool // Of *[largeBuffer]byte.
	taken   *[largeBuffer]byte
	err     error // The error that ended the body.

	pending []byte // The data of a multi-line event.
	failed  bool   // The event being read is named error.

	known pattern // Set by the caller.
}

func newEventReader(body io.Reader, limit int64, large *sync.Pool, idle, comment func()) *eventReader {
	return &eventReader{
		body: body, idle: idle, comment: comment, left: limit, buf: make([]byte, firstBuffer),
		large: large,
	}
}

// close returns the borrowed buffer. Results of next become invalid.
func (r *eventReader) close() {
	if r.taken != nil {
		r.large.Put(r.taken)
	}
	r.buf, r.taken = nil, nil
}

// next returns the next event, valid until the following call, or io.EOF. It drops an incomplete event at the end of
// the stream.
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
			if len(r.pending) == 0 && !r.failed {
				if literal, ok := r.known.match(value); ok {
					return event{data: value, text: literal}, nil
				}
			}
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

// endEvent returns the event ended by a blank line, without data if it is empty.
func (r *eventReader) endEvent() (event, error) {
	e := event{data: bytes.TrimSpace(r.pending), failed: r.failed}
	r.pending, r.failed = r.pending[:0], false
	if len(e.data) > 0 && !e.failed && !isJSON(e.data) {
		return event{}, errNoJSON
	}
	return e, nil
}

// isJSON reports whether data is JSON. Package gjson takes a fifth of the time of encoding/json, but its stack grows
// with the nesting of the data.
func isJSON(data []byte) bool {
	if len(data) > firstBuffer {
		return json.Valid(data)
	}
	return gjson.ValidBytes(data)
}

// line returns the next line without its end. The last line may lack one.
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

// take returns the bytes up to a line end, which is size bytes long.
func (r *eventReader) take(end, size int) []byte {
	line := r.buf[r.start:end]
	r.start, r.seen = end+size, 0
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	return line
}

// lineEnd returns the index of the first line break of b, LF or CR with or without LF, or -1.
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

// read reads once into a buffer with space.
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
