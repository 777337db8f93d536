// Package extracttest extracts files within the test process.
package extracttest

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/redline"
)

// InProcess is a datasource.Extractor without child processes. It reads a file with the extension .pdf as plain text
// whose pages are separated by form feeds. It treats an empty page as a picture.
type InProcess struct{}

func (InProcess) Prepare(context.Context, string) error { return nil }

func (InProcess) Extract(ctx context.Context, filename string, file io.Reader,
	page func(extract.Page, int) error,
) error {
	content, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	var pages []extract.Page
	if path.Ext(filename) == ".pdf" {
		for i, text := range split(content) {
			pages = append(pages, extract.Page{Number: i + 1, Text: text, Pictured: text == ""})
		}
	} else {
		format, _ := extract.FormatOf(filename)
		pages, err = format.Pages(ctx, content)
	}
	for _, p := range pages {
		if err := page(p, len(pages)); err != nil {
			return err
		}
	}
	return err
}

func split(content []byte) []string { return strings.Split(string(content), "\f") }

// RenderPage implements datasource.Extractor. It returns the parameters as text instead of a PNG.
func (InProcess) RenderPage(_ context.Context, _ string, file io.Reader, page, width int) ([]byte, error) {
	content, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	if page > len(split(content)) {
		return nil, extract.ErrNoPage
	}
	return fmt.Appendf(nil, "page %d, %d pixels wide", page, width), nil
}

// Rect returns the rectangle that Locate returns for any text of a page.
func Rect(page int) extract.Rect {
	return extract.Rect{Page: page, X: 0.25, Y: 0.25, Width: 0.5, Height: 0.125}
}

func (InProcess) Locate(_ context.Context, _ string, file io.Reader, page, from, to int) (extract.Place, error) {
	content, err := io.ReadAll(file)
	if err != nil {
		return extract.Place{}, err
	}
	pages := split(content)
	if page > len(pages) {
		return extract.Place{}, extract.ErrNoPage
	}
	place := extract.Place{Text: pages[page-1], Rects: []extract.Rect{Rect(page)}}
	for _, r := range place.Text[min(from, len(place.Text)):min(to, len(place.Text))] {
		if !unicode.IsSpace(r) {
			place.Characters++
		}
	}
	return place, nil
}

func (InProcess) Paragraphs(_ context.Context, file io.Reader) (string, error) {
	content, err := io.ReadAll(file)
	if err != nil {
		return "", err
	}
	return extract.Paragraphs(content)
}

func (InProcess) Redline(_ context.Context, file io.Reader, edit redline.Edit) ([]byte, error) {
	content, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	return extract.Redline(content, edit)
}
