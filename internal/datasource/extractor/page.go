package extractor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/sandbox"
)

// MaxCharacters is the largest number of characters of a file, in addition to extract.MaxPages. It also limits the text
// of a page.
const MaxCharacters = 20_000_000

const (
	maxMarks   = 50_000  // Marks of a page.
	maxLocator = 1 << 10 // In bytes.
	maxSteps   = 2
)

// The kinds of frames, in addition to those of package sandbox.
const (
	stepFrame = 's' // The head is a pageHead without a page. It reports that the file was received or opened.
	pageFrame = 'p' // The head is a pageHead as JSON, the body the text of the page.
)

// pageHead is a page without its text.
type pageHead struct {
	Number   int            `json:"number"`
	Total    int            `json:"total"`
	Bytes    int            `json:"bytes"`
	Marks    []extract.Mark `json:"marks,omitempty"`
	Pictured bool           `json:"pictured,omitempty"`
}

// pageWriter writes the pages of a file as frames.
type pageWriter struct{ *sandbox.Writer }

// page writes a page. total is the number of pages, 0 while it is unknown.
func (w pageWriter) page(page extract.Page, total int) error {
	head, err := json.Marshal(pageHead{
		Number: page.Number, Total: total, Bytes: len(page.Text), Marks: page.Marks, Pictured: page.Pictured,
	})
	if err != nil {
		return err
	}
	return w.Frame(pageFrame, head, page.Text)
}

// step reports progress before the first page: the file was received or opened.
func (w pageWriter) step(total int) error {
	head, err := json.Marshal(pageHead{Total: total})
	if err != nil {
		return err
	}
	return w.Frame(stepFrame, head, "")
}

// pageReader reads the frames of a file.
type pageReader struct {
	steps      int // Number of steps so far.
	pages      int
	characters int
}

// next returns the next page and the number of pages of the file, 0 while it is unknown. For a step, the page has no
// number. The errors are those of sandbox.Reader.Next: io.EOF at the end of the file.
func (r *pageReader) next(frames *sandbox.Reader) (_ extract.Page, total int, _ error) {
	kind, head, err := frames.Next()
	switch {
	case errors.Is(err, io.EOF) && r.pages == 0:
		return extract.Page{}, 0, fmt.Errorf("%w: an end without pages", sandbox.ErrMalformed)
	case err != nil:
		return extract.Page{}, 0, err
	case kind == stepFrame:
		return r.step(head)
	case kind == pageFrame:
		return r.page(head, frames)
	}
	return extract.Page{}, 0, sandbox.Unexpected(kind)
}

func (r *pageReader) step(encoded []byte) (extract.Page, int, error) {
	var head pageHead
	if err := json.Unmarshal(encoded, &head); err != nil {
		return extract.Page{}, 0, fmt.Errorf("%w: %w", sandbox.ErrMalformed, err)
	}
	if r.steps++; r.steps > maxSteps || r.pages > 0 || head.Total < 0 {
		return extract.Page{}, 0, fmt.Errorf("%w: step %d", sandbox.ErrMalformed, r.steps)
	}
	if head.Total > extract.MaxPages {
		return extract.Page{}, 0, extract.ErrTooManyPages
	}
	return extract.Page{}, head.Total, nil
}

func (r *pageReader) page(encoded []byte, frames *sandbox.Reader) (extract.Page, int, error) {
	var head pageHead
	if err := json.Unmarshal(encoded, &head); err != nil {
		return extract.Page{}, 0, fmt.Errorf("%w: %w", sandbox.ErrMalformed, err)
	}
	r.pages++
	switch {
	case head.Number != r.pages, head.Total != 0 && head.Total < head.Number, head.Bytes < 0:
		return extract.Page{}, 0, fmt.Errorf("%w: page %d of %d with %d bytes", sandbox.ErrMalformed, head.Number,
			head.Total, head.Bytes)
	case max(head.Number, head.Total) > extract.MaxPages:
		return extract.Page{}, 0, extract.ErrTooManyPages
	case head.Bytes > (MaxCharacters-r.characters)*utf8.UTFMax:
		return extract.Page{}, 0, extract.ErrTooManyCharacters
	}
	text, err := frames.Body(head.Bytes)
	if err != nil {
		return extract.Page{}, 0, err
	}
	page := extract.Page{Number: head.Number, Text: text, Marks: head.Marks, Pictured: head.Pictured}
	if r.characters += utf8.RuneCountInString(page.Text); r.characters > MaxCharacters {
		return extract.Page{}, 0, extract.ErrTooManyCharacters
	}
	if !sandbox.IsText(page.Text) || !areMarks(page) {
		return extract.Page{}, 0, fmt.Errorf("%w: page %d", sandbox.ErrMalformed, head.Number)
	}
	return page, head.Total, nil
}

// areMarks reports whether the marks of a page are inside its text and in order.
func areMarks(page extract.Page) bool {
	if len(page.Marks) > maxMarks {
		return false
	}
	last := 0
	for _, m := range page.Marks {
		if m.Offset < last || m.Offset > len(page.Text) || len(m.Locator) > maxLocator || !sandbox.IsText(m.Locator) {
			return false
		}
		if m.Offset < len(page.Text) && !utf8.RuneStart(page.Text[m.Offset]) {
			return false
		}
		last = m.Offset
	}
	return true
}
