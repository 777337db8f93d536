package extract

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// MaxPages is the largest number of pages of a file.
const MaxPages = 5_000

// Reasons shown to people.
const (
	reasonPDFEncrypted = "パスワードで保護されているため、読み取れませんでした。" +
		"パスワードを解除して保存し直してから、もう一度アップロードしてください。"
	reasonPDFCorrupt = "PDFが壊れているか、途中で切れているため、読み取れませんでした。" +
		"元のファイルを開けることを確認し、保存し直してから、もう一度アップロードしてください。"
	reasonPDFPictures = "ページが画像でできているため、文字を読み取れませんでした。" +
		"文字認識（OCR）をしてテキスト付きのPDFにしてから、もう一度アップロードしてください。"
	reasonPDFMapping = "%dページの文字を正しく取り出せないため、読み取れませんでした。" +
		"元の文書からPDFを作り直すか、文字認識（OCR）をしてから、もう一度アップロードしてください。"
	reasonPDFFont = "フォントが埋め込まれていないPDFのため、読み取れませんでした。" +
		"フォントを埋め込んだPDFを作り直して、もう一度アップロードしてください。"
)

// readPDF implements Format.Read for a PDF.
func readPDF(ctx context.Context, engine *pdf.Engine, content []byte, opened func(total int) error,
	add func(p Page, total int) error,
) error {
	document, err := engine.Open(content)
	if err != nil {
		return unreadablePDF(err, 0)
	}
	defer document.Close()
	total := document.Pages()
	if total > MaxPages {
		return ErrTooManyPages
	}
	if err := opened(total); err != nil {
		return err
	}
	said, pictured := false, false
	var path headingPath
	for i := range total {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		page, err := document.Page(i)
		if err != nil {
			return unreadablePDF(err, i+1)
		}
		said = said || !page.Pictured && !blank(page.Text)
		pictured = pictured || page.Pictured
		err = add(Page{
			Number: i + 1, Text: page.Text, Marks: pdfMarks(page, &path), Pictured: page.Pictured,
		}, total)
		if err != nil {
			return err
		}
	}
	switch {
	case said:
		return nil
	case pictured:
		return &fault.UnreadableError{Code: fault.FileNoText, Reason: reasonPDFPictures}
	}
	return &fault.UnreadableError{Code: fault.FileNoText, Reason: reasonEmpty}
}

// Rect is a rectangle on a displayed page, in fractions of the width and height of the page. The origin is the upper
// left corner.
type Rect struct {
	Page          int // From 1.
	X, Y          float64
	Width, Height float64
}

// RenderPage returns a page of a PDF, from 1, as a PNG with a width of 200 to 2,000 pixels.
func RenderPage(engine *pdf.Engine, content []byte, page, width int) (picture []byte, err error) {
	err = withPage(engine, content, page, func(d *pdf.Document) error {
		picture, err = d.Picture(page-1, min(max(width, pdf.MinWidth), pdf.MaxWidth))
		return err
	})
	return picture, err
}

// Place is the position of a piece of a page's text.
type Place struct {
	Text       string // Of the whole page.
	Rects      []Rect // One for each piece of a line.
	Characters int    // Number of its characters in the rectangles, without white space.
}

// Locate returns the place of the bytes [from, to) of a page's text.
func Locate(engine *pdf.Engine, content []byte, page, from, to int) (place Place, err error) {
	err = withPage(engine, content, page, func(d *pdf.Document) error {
		read, err := d.Page(page - 1)
		if err != nil {
			return err
		}
		place.Text = read.Text
		rects, characters := read.Rects(from, to)
		place.Characters = characters
		for _, r := range rects {
			place.Rects = append(place.Rects, Rect{Page: page, X: r.X, Y: r.Y, Width: r.Width, Height: r.Height})
		}
		return nil
	})
	return place, err
}

// ErrNoPage means that the file has no such page.
var ErrNoPage = errors.New("extract: no such page")

// withPage opens a file and calls use if the page exists.
func withPage(engine *pdf.Engine, content []byte, page int, use func(*pdf.Document) error) error {
	document, err := engine.Open(content)
	if err != nil {
		return unreadablePDF(err, 0)
	}
	defer document.Close()
	if page < 1 || page > document.Pages() {
		return ErrNoPage
	}
	if err := use(document); err != nil {
		return unreadablePDF(err, page)
	}
	return nil
}

// pdfMarks returns marks for the headings of a page: lines with a large font, and headings of Japanese rules. path is
// the heading path of the previous page; pdfMarks updates it.
func pdfMarks(page *pdf.Page, path *headingPath) (marks []Mark) {
	if before := path.String(); before != "" {
		marks = append(marks, Mark{Locator: before})
	}
	large := make(map[int]pdf.Heading)
	for _, h := range page.Headings {
		large[h.Offset] = h
	}
	offset := 0
	for line := range strings.Lines(page.Text) {
		level, title, alone := headingOf(strings.TrimSpace(line))
		// A running title at the top of each page counts as a heading only once.
		if h, ok := large[offset]; ok && level == 0 && !path.has(strings.TrimSpace(line)) {
			level, title, alone = sizeLevel(h.Size), strings.TrimSpace(line), true
		}
		if level > 0 {
			path.enter(level, title)
			marks = append(marks, Mark{Offset: offset, Locator: path.String(), Heading: alone})
		}
		offset += len(line)
	}
	return marks
}

// sizeLevel returns the heading level for a font size relative to the body text.
func sizeLevel(size float64) int {
	for i, from := range []float64{1.8, 1.5, 1.3} {
		if size >= from {
			return i + 1
		}
	}
	return 4
}

// unreadablePDF converts an error of a PDF, or of one of its pages, to an *fault.UnreadableError.
func unreadablePDF(err error, page int) error {
	switch {
	case errors.Is(err, pdf.ErrEncrypted):
		return &fault.UnreadableError{Code: fault.FileEncrypted, Reason: reasonPDFEncrypted}
	case errors.Is(err, pdf.ErrNoFont):
		return &fault.UnreadableError{Code: fault.FileNoFont, Reason: reasonPDFFont}
	case errors.Is(err, pdf.ErrNoMapping):
		return &fault.UnreadableError{Code: fault.FileNoText, Reason: fmt.Sprintf(reasonPDFMapping, page)}
	}
	// ErrCorrupt and all other errors that a malformed file can cause in PDFium.
	return &fault.UnreadableError{Code: fault.FileCorrupt, Reason: reasonPDFCorrupt}
}
