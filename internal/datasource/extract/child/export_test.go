package child

import (
	"errors"
	"io"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
)

// ErrFrames is the error for malformed frames.
var ErrFrames = errFrames

// WriteFrames writes the frames of a file.
func WriteFrames(w io.Writer, pages []extract.Page, wrong *extract.UnreadableError) error {
	f := newFrameWriter(w)
	if err := f.step(len(pages)); err != nil {
		return err
	}
	for _, p := range pages {
		if err := f.Page(p, len(pages)); err != nil {
			return err
		}
	}
	return f.end(wrong)
}

// ReadFrames returns the pages in frames.
func ReadFrames(r io.Reader) (pages []extract.Page, _ error) {
	f := newFrameReader(r)
	for {
		page, _, err := f.next()
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
