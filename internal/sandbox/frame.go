package sandbox

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

const (
	maxHead   = 96 << 20 // Head of a frame in bytes. The largest is a document with changes.
	maxReason = 1 << 10  // In bytes.
)

// A frame consists of its kind, the length of its head in four bytes, and the head. The head can announce a body, which
// follows it. Tasks define the other kinds.
const (
	answerFrame = 'r' // The head is the answer of a job with a single answer.
	failedFrame = 'f' // The head is a fault.UnreadableError as JSON.
	endFrame    = 'e' // No head.
)

// ErrMalformed means that a child violated the protocol, so that its output cannot be trusted.
var ErrMalformed = errors.New("sandbox: malformed frames")

// Writer is the child's side of the protocol.
type Writer struct{ w *bufio.Writer }

// NewWriter returns a Writer.
func NewWriter(w io.Writer) *Writer { return &Writer{bufio.NewWriterSize(w, 64<<10)} }

// Frame writes a frame and its body. The parent receives it at once, because it measures the time until the next one.
func (w *Writer) Frame(kind byte, head []byte, body string) error {
	var start [5]byte
	start[0] = kind
	binary.BigEndian.PutUint32(start[1:], uint32(len(head))) //nolint:gosec // Heads are much shorter.
	_, err := w.w.Write(start[:])
	if err == nil {
		_, err = w.w.Write(head)
	}
	if err == nil {
		_, err = w.w.WriteString(body)
	}
	if err != nil {
		return err
	}
	return w.w.Flush()
}

// Reader reads the output of a child, which is untrusted.
type Reader struct{ r *bufio.Reader }

// NewReader returns a Reader.
func NewReader(r io.Reader) *Reader { return &Reader{bufio.NewReaderSize(r, 64<<10)} }

// Next returns the kind and the head of the next frame. The error is io.EOF at the end of the job, a
// *fault.UnreadableError if the file cannot be read, ErrMalformed for a violation of the protocol, or an error of the
// pipe: io.ErrUnexpectedEOF if the child ended early.
func (r *Reader) Next() (kind byte, head []byte, err error) {
	if kind, head, err = r.frame(); err != nil {
		return 0, nil, err
	}
	switch {
	case kind == failedFrame:
		return 0, nil, unreadable(head)
	case kind == endFrame && len(head) > 0:
		return 0, nil, fmt.Errorf("%w: an end of %d bytes", ErrMalformed, len(head))
	case kind == endFrame:
		return 0, nil, io.EOF
	}
	return kind, head, nil
}

// Answer returns the answer of a job with a single answer. The errors are those of Next, except io.EOF.
func (r *Reader) Answer() ([]byte, error) {
	switch kind, head, err := r.Next(); {
	case err == nil && kind == answerFrame:
		return head, nil
	case err == nil:
		return nil, Unexpected(kind)
	case errors.Is(err, io.EOF):
		return nil, Unexpected(endFrame)
	default:
		return nil, err
	}
}

// Body returns the body of the last frame, which has n bytes. Its memory grows with the received bytes, not with n.
func (r *Reader) Body(n int) (string, error) {
	var body strings.Builder
	if received, err := io.CopyN(&body, r.r, int64(n)); err != nil {
		return "", fmt.Errorf("sandbox: %d bytes into a body: %w", received, early(err))
	}
	return body.String(), nil
}

// Unexpected returns the error for a frame of the wrong kind.
func Unexpected(kind byte) error { return fmt.Errorf("%w: kind %q", ErrMalformed, kind) }

// IsText reports whether a text is valid UTF-8 without control characters other than tabs and line ends.
func IsText(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool {
		return r < 0x20 && r != '\n' && r != '\t' || r == 0x7F
	}) < 0
}

// unreadable decodes a *fault.UnreadableError.
func unreadable(encoded []byte) error {
	wrong := new(fault.UnreadableError)
	if err := json.Unmarshal(encoded, wrong); err != nil || !isReason(wrong) {
		return fmt.Errorf("%w: reason %.40q", ErrMalformed, encoded)
	}
	return wrong
}

// isReason reports whether a reason can be shown to a person.
func isReason(wrong *fault.UnreadableError) bool {
	return wrong.Code != "" && len(wrong.Code) < 40 && wrong.Reason != "" && len(wrong.Reason) <= maxReason &&
		IsText(wrong.Reason)
}

func (r *Reader) frame() (kind byte, head []byte, err error) {
	var start [5]byte
	if _, err := io.ReadFull(r.r, start[:]); err != nil {
		return 0, nil, early(err)
	}
	length := binary.BigEndian.Uint32(start[1:])
	if length > maxHead {
		return 0, nil, fmt.Errorf("%w: a head of %d bytes", ErrMalformed, length)
	}
	head, err = r.bytes(int(length))
	return start[0], head, err
}

// bytes returns the next n bytes. Its memory grows with the received bytes, not with n.
func (r *Reader) bytes(n int) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r.r, int64(n)))
	if err == nil && len(b) < n {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

func early(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
