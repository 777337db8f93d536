package extractor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"path"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/sandbox"
)

// maxRects is the largest number of rectangles of a place.
const maxRects = 10_000

// RenderPage returns a page of a file, from 1, as a PNG with a width of 200 to 2,000 pixels. The errors are those of
// Extract, and extract.ErrNoPage.
func (e *Extractor) RenderPage(ctx context.Context, filename string, file io.Reader, page, width int) ([]byte, error) {
	picture, err := e.look(ctx, taskRender, input{Page: page, Width: width}, filename, file)
	if err != nil {
		return nil, err
	}
	if _, err := png.DecodeConfig(bytes.NewReader(picture)); err != nil {
		return nil, fmt.Errorf("%w: %w", sandbox.ErrMalformed, err)
	}
	return picture, nil
}

// Locate returns the place of the bytes [from, to) of the text of a page. page counts from 1. The errors are those of
// RenderPage.
func (e *Extractor) Locate(ctx context.Context, filename string, file io.Reader, page, from, to int) (extract.Place,
	error,
) {
	found, err := e.look(ctx, taskLocate, input{Page: page, From: from, To: to}, filename, file)
	if err != nil {
		return extract.Place{}, err
	}
	var place extract.Place
	if err := json.Unmarshal(found, &place); err != nil {
		return extract.Place{}, fmt.Errorf("%w: %w", sandbox.ErrMalformed, err)
	}
	if !isPlace(place, page) {
		return extract.Place{}, fmt.Errorf("%w: a place on page %d", sandbox.ErrMalformed, page)
	}
	return place, nil
}

// isPlace reports whether a place meets the requirements of extract.Place.
func isPlace(place extract.Place, page int) bool {
	if len(place.Rects) > maxRects || place.Characters < 0 || !sandbox.IsText(place.Text) {
		return false
	}
	for _, r := range place.Rects {
		const most = 1.001
		if !(r.Page == page && r.X >= 0 && r.Y >= 0 && r.Width >= 0 && r.Height >= 0 && r.X+r.Width <= most &&
			r.Y+r.Height <= most) {
			return false
		}
	}
	return true
}

// look runs a child that renders a page or locates text on it. The error is extract.ErrNoPage if the file has no such
// page.
func (e *Extractor) look(ctx context.Context, task string, in input, filename string, file io.Reader) ([]byte, error) {
	if format, ok := extract.FormatOf(filename); !ok || !format.IsPaged() {
		return nil, extract.ErrNoPage
	}
	if err := e.compile(ctx); err != nil {
		return nil, err
	}
	in.Name, in.Cache = "a"+path.Ext(filename), e.cfg.Cache != ""
	found, err := e.find(ctx, task, in, file, 2*e.cfg.Page) // One limit for opening the file, and one for the page.
	if err == nil && len(found) == 0 {
		err = extract.ErrNoPage
	}
	return found, err
}
