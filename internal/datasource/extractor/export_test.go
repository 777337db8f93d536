package extractor

import (
	"bytes"
	"errors"
	"io"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/sandbox"
)

// WritePages writes the frames of a file that ends with an error, or with nil.
func WritePages(w io.Writer, pages []extract.Page, end error) error {
	c := &sandbox.Child{Writer: sandbox.NewWriter(w)}
	f := pageWriter{c.Writer}
	if err := f.step(len(pages)); err != nil {
		return err
	}
	for _, p := range pages {
		if err := f.page(p, len(pages)); err != nil {
			return err
		}
	}
	return c.End(end)
}

// ReadPages returns the pages in frames.
func ReadPages(content []byte) (pages []extract.Page, _ error) {
	var r pageReader
	frames := sandbox.NewReader(bytes.NewReader(content))
	for {
		page, _, err := r.next(frames)
		if errors.Is(err, io.EOF) {
			return pages, nil
		}
		if err != nil {
			return pages, err
		}
		if page.Number > 0 {
			pages = append(pages, page)
		}
	}
}
