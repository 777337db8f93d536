package child

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
)

// Limits of the content of a file. MaxCharacters also limits the text of a page.
const (
	MaxPages      = extract.MaxPages
	MaxCharacters = 20_000_000

	maxHead    = 96 << 20 // Head of a frame in bytes, without the text. The largest is a document with changes.
	maxMarks   = 50_000   // Marks of a page.
	maxLocator = 1 << 10  // In bytes.
	maxReason  = 1 << 10  // In bytes.
	maxSteps   = 2
)

// A frame consists of its kind, the length of its head in four bytes, and the head. The text of a page follows its
// head.
const (
	stepFrame   = 's' // The head is a pageHead without a page. It reports that the file was received or opened.
	pageFrame   = 'p' // The head is a pageHead as JSON.
	failedFrame = 'f' // The head is an extract.UnreadableError as JSON.
	endFrame    = 'e' // No head.
	foundFrame  = 'r' // The head is the answer: a PNG, JSON, text, or a Word document.
	noPageFrame = 'n' // No head.
)

// pageHead is a page without its text.
type pageHead struct {
	Number   int            `json:"number"`
	Total    int            `json:"total"`
	Bytes    int            `json:"bytes"`
	Marks    []extract.Mark `json:"marks,omitempty"`
	Pictured bool           `json:"pictured,omitempty"`
}

// errFrames means that a child violated the protocol, so that its output cannot be trusted.
var errFrames = errors.New("child: malformed frames")

// frameWriter is the child's side of the protocol.
type frameWriter struct{ w *bufio.Writer }

func newFrameWriter(w io.Writer) *frameWriter { return &frameWriter{bufio.NewWriterSize(w, 64<<10)} }

// step reports progress before the first page: the file was received or opened.
func (f *frameWriter) step(total int) error {
	head, err := json.Marshal(pageHead{Total: total})
	if err != nil {
		return err
	}
	if err := f.frame(stepFrame, head); err != nil {
		return err
	}
	return f.w.Flush()
}

// Opened implements extract.Sink.
func (f *frameWriter) Opened(pages int) error { return f.step(pages) }

// Page implements extract.Sink: it writes a page. total is the number of pages, 0 while it is unknown.
func (f *frameWriter) Page(page extract.Page, total int) error {
	head, err := json.Marshal(pageHead{
		Number: page.Number, Total: total, Bytes: len(page.Text), Marks: page.Marks, Pictured: page.Pictured,
	})
	if err != nil {
		return err
	}
	if err := f.frame(pageFrame, head); err != nil {
		return err
	}
	if _, err := f.w.WriteString(page.Text); err != nil {
		return err
	}
	return f.w.Flush() // The parent measures how long the next page takes.
}

// end writes the result: success, or the error if the file cannot be read.
func (f *frameWriter) end(wrong *extract.UnreadableError) error {
	kind, head := byte(endFrame), []byte(nil)
	if wrong != nil {
		kind = failedFrame
		var err error
		if head, err = json.Marshal(wrong); err != nil {
			return err
		}
	}
	if err := f.frame(kind, head); err != nil {
		return err
	}
	return f.w.Flush()
}

// answer writes the answer of a job with a single answer.
func (f *frameWriter) answer(kind byte, found []byte) error {
	if err := f.frame(kind, found); err != nil {
		return err
	}
	return f.w.Flush()
}

func (f *frameWriter) frame(kind byte, head []byte) error {
	var start [5]byte
	start[0] = kind
	binary.BigEndian.PutUint32(start[1:], uint32(len(head))) //nolint:gosec // Heads are much shorter.
	if _, err := f.w.Write(start[:]); err != nil {
		return err
	}
	_, err := f.w.Write(head)
	return err
}

// frameReader reads the output of a child, which is untrusted.
type frameReader struct {
	r          *bufio.Reader
	steps      int // Number of steps so far.
	pages      int
	characters int
}

func newFrameReader(r io.Reader) *frameReader { return &frameReader{r: bufio.NewReaderSize(r, 64<<10)} }

// next returns the next page and the number of pages of the file, 0 while it is unknown. For a step, the page has no
// number. The error is io.EOF at the end of the file, an *extract.UnreadableError if it cannot be read, errFrames for a
// violation of the protocol, or an error of the pipe: io.ErrUnexpectedEOF if the child ended early.
func (f *frameReader) next() (_ extract.Page, total int, _ error) {
	kind, head, err := f.frame()
	if err != nil {
		return extract.Page{}, 0, err
	}
	switch kind {
	case stepFrame:
		return f.step(head)
	case pageFrame:
		return f.page(head)
	case failedFrame:
		return extract.Page{}, 0, unreadable(head)
	case endFrame:
		if len(head) > 0 || f.pages == 0 {
			return extract.Page{}, 0, fmt.Errorf("%w: an end after %d pages", errFrames, f.pages)
		}
		return extract.Page{}, 0, io.EOF
	}
	return extract.Page{}, 0, fmt.Errorf("%w: kind %q", errFrames, kind)
}

// answer returns the answer of a job with a single answer. The errors are those of next, and extract.ErrNoPage.
func (f *frameReader) answer() ([]byte, error) {
	kind, head, err := f.frame()
	switch {
	case err != nil:
		return nil, err
	case kind == foundFrame:
		return head, nil
	case kind == noPageFrame:
		return nil, extract.ErrNoPage
	case kind == failedFrame:
		return nil, unreadable(head)
	}
	return nil, fmt.Errorf("%w: kind %q", errFrames, kind)
}

// unreadable decodes an *extract.UnreadableError.
func unreadable(encoded []byte) error {
	wrong := new(extract.UnreadableError)
	if err := json.Unmarshal(encoded, wrong); err != nil || !isReason(wrong) {
		return fmt.Errorf("%w: reason %.40q", errFrames, encoded)
	}
	return wrong
}

func (f *frameReader) frame() (kind byte, head []byte, err error) {
	var start [5]byte
	if _, err := io.ReadFull(f.r, start[:]); err != nil {
		return 0, nil, early(err)
	}
	length := binary.BigEndian.Uint32(start[1:])
	if length > maxHead {
		return 0, nil, fmt.Errorf("%w: a head of %d bytes", errFrames, length)
	}
	head, err = f.bytes(int(length))
	return start[0], head, err
}

// bytes returns the next n bytes. Its memory grows with the received bytes, not with n.
func (f *frameReader) bytes(n int) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(f.r, int64(n)))
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

func (f *frameReader) step(encoded []byte) (extract.Page, int, error) {
	var head pageHead
	if err := json.Unmarshal(encoded, &head); err != nil {
		return extract.Page{}, 0, fmt.Errorf("%w: %w", errFrames, err)
	}
	if f.steps++; f.steps > maxSteps || f.pages > 0 || head.Total < 0 {
		return extract.Page{}, 0, fmt.Errorf("%w: step %d", errFrames, f.steps)
	}
	if head.Total > MaxPages {
		return extract.Page{}, 0, extract.ErrTooManyPages
	}
	return extract.Page{}, head.Total, nil
}

func (f *frameReader) page(encoded []byte) (extract.Page, int, error) {
	var head pageHead
	if err := json.Unmarshal(encoded, &head); err != nil {
		return extract.Page{}, 0, fmt.Errorf("%w: %w", errFrames, err)
	}
	f.pages++
	switch {
	case head.Number != f.pages, head.Total != 0 && head.Total < head.Number, head.Bytes < 0:
		return extract.Page{}, 0, fmt.Errorf("%w: page %d of %d with %d bytes", errFrames, head.Number, head.Total,
			head.Bytes)
	case max(head.Number, head.Total) > MaxPages:
		return extract.Page{}, 0, extract.ErrTooManyPages
	case head.Bytes > (MaxCharacters-f.characters)*utf8.UTFMax:
		return extract.Page{}, 0, extract.ErrTooManyCharacters
	}
	var text strings.Builder
	if n, err := io.CopyN(&text, f.r, int64(head.Bytes)); err != nil {
		return extract.Page{}, 0, fmt.Errorf("child: %d bytes into a page: %w", n, early(err))
	}
	page := extract.Page{Number: head.Number, Text: text.String(), Marks: head.Marks, Pictured: head.Pictured}
	if f.characters += utf8.RuneCountInString(page.Text); f.characters > MaxCharacters {
		return extract.Page{}, 0, extract.ErrTooManyCharacters
	}
	if !isText(page.Text) || !areMarks(page) {
		return extract.Page{}, 0, fmt.Errorf("%w: page %d", errFrames, head.Number)
	}
	return page, head.Total, nil
}

// isReason reports whether a reason can be shown to a person.
func isReason(wrong *extract.UnreadableError) bool {
	return wrong.Code != "" && len(wrong.Code) < 40 && wrong.Reason != "" && len(wrong.Reason) <= maxReason &&
		isText(wrong.Reason)
}

// isText reports whether a text meets the requirements of extract.Page.
func isText(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool {
		return r < 0x20 && r != '\n' && r != '\t' || r == 0x7F
	}) < 0
}

// areMarks reports whether the marks of a page are inside its text and in order.
func areMarks(page extract.Page) bool {
	if len(page.Marks) > maxMarks {
		return false
	}
	last := 0
	for _, m := range page.Marks {
		if m.Offset < last || m.Offset > len(page.Text) || len(m.Locator) > maxLocator || !isText(m.Locator) {
			return false
		}
		if m.Offset < len(page.Text) && !utf8.RuneStart(page.Text[m.Offset]) {
			return false
		}
		last = m.Offset
	}
	return true
}
