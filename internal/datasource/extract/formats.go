package extract

import (
	"context"
	"path"
	"strings"
	"unicode"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Format is a readable file format. The zero value is plain text.
type Format struct {
	MediaType string // For example "text/csv", without parameters.

	kind kind
}

type kind int

const (
	plain kind = iota // Plain text and Markdown.
	csvFile
	tsvFile
	htmlFile
	docxFile
	xlsxFile
	pptxFile
	pdfFile
)

const openXML = "application/vnd.openxmlformats-officedocument."

// formats are the supported formats by extension. Macros of documents are ignored.
var formats = map[string]Format{
	".txt":      {MediaType: "text/plain"},
	".text":     {MediaType: "text/plain"},
	".md":       {MediaType: "text/markdown"},
	".markdown": {MediaType: "text/markdown"},
	".csv":      {MediaType: "text/csv", kind: csvFile},
	".tsv":      {MediaType: "text/tab-separated-values", kind: tsvFile},
	".html":     {MediaType: "text/html", kind: htmlFile},
	".htm":      {MediaType: "text/html", kind: htmlFile},
	".pdf":      {MediaType: "application/pdf", kind: pdfFile},
	".docx":     {MediaType: openXML + "wordprocessingml.document", kind: docxFile},
	".docm":     {MediaType: "application/vnd.ms-word.document.macroEnabled.12", kind: docxFile},
	".xlsx":     {MediaType: openXML + "spreadsheetml.sheet", kind: xlsxFile},
	".xlsm":     {MediaType: "application/vnd.ms-excel.sheet.macroEnabled.12", kind: xlsxFile},
	".pptx":     {MediaType: openXML + "presentationml.presentation", kind: pptxFile},
	".pptm":     {MediaType: "application/vnd.ms-powerpoint.presentation.macroEnabled.12", kind: pptxFile},
}

// FormatOf returns the format for the extension of a file name, in upper or lower case. ok is false if the format is
// not supported.
func FormatOf(filename string) (f Format, ok bool) {
	f, ok = formats[extensionOf(filename)]
	return f, ok
}

func extensionOf(filename string) string { return strings.ToLower(path.Ext(filename)) }

// Page is the text of one page: valid UTF-8, lines separated by \n, without control characters except tabs. A file
// without pages has exactly one Page.
type Page struct {
	Number int // From 1.
	Text   string
	Marks  []Mark // In ascending order of Offset.
	// Pictured means that the page contains pictures with unreadable text, and little or no other text.
	Pictured bool
}

// Mark is the location in the file for the text from its offset to the next mark.
type Mark struct {
	Offset  int    // Bytes into the page's text.
	Locator string // "第1章 > 1.1 目的", "スライド 3", "Sheet1!B12:F12".
	Heading bool   // The line at the offset is a heading.
}

// Errors for files of any format.
var (
	ErrTooManyPages      = &fault.UnreadableError{Code: fault.FileTooLarge, Reason: reasonPages}
	ErrTooManyCharacters = &fault.UnreadableError{Code: fault.FileTooLarge, Reason: reasonCharacters}
)

// Reasons shown to people.
const (
	reasonPages      = "ページが多すぎるため、読み取れませんでした。5,000ページ以下に分けて、もう一度アップロードしてください。"
	reasonCharacters = "文字が多すぎるため、読み取れませんでした。2,000万文字以下に分けて、もう一度アップロードしてください。"

	reasonBinary = "テキストとして読み取れませんでした。ファイルの中身と拡張子が合っているか確認し、" +
		"文字コードをUTF-8にして保存し直してから、もう一度アップロードしてください。"
	reasonEmpty     = "ファイルに文字が入っていません。内容を確認して、もう一度アップロードしてください。"
	reasonHTMLEmpty = "HTMLの本文に文字が見つかりませんでした。ブラウザーで開き、表示された文章を" +
		"テキストファイルに保存して、アップロードしてください。"
	reasonHTMLTooBig = "HTMLの構造が複雑なため、読み取れませんでした。" +
		"必要な部分だけをテキストファイルとして保存し、もう一度アップロードしてください。"
)

// MaxSize is the largest size of a file, in bytes.
const MaxSize = 50 << 20

// IsPaged reports whether Read reads files of the format page by page, and RenderPage and Locate support it.
func (f Format) IsPaged() bool { return f.kind == pdfFile }

// Read reads a file of at most MaxSize bytes and calls page for each page; total is the number of pages. If the file is
// read page by page, it first calls opened with their number. engine may be nil unless IsPaged. An error of page or
// opened stops the reading. Read returns it, or an error of Pages.
func (f Format) Read(ctx context.Context, engine *pdf.Engine, content []byte, opened func(total int) error,
	page func(p Page, total int) error,
) error {
	if f.kind == pdfFile {
		return readPDF(ctx, engine, content, opened, page)
	}
	pages, err := f.Pages(ctx, content)
	if err != nil {
		return err
	}
	for _, p := range pages {
		if err := page(p, len(pages)); err != nil {
			return err
		}
	}
	return nil
}

// Pages reads a file of at most MaxSize bytes in a format that is not read page by page. At least one page has text. If
// the person can solve the problem, the error is a *fault.UnreadableError. After ctx is canceled, Pages soon returns
// the error of ctx.
func (f Format) Pages(ctx context.Context, content []byte) ([]Page, error) {
	switch f.kind {
	case docxFile, xlsxFile, pptxFile:
		return officePages(ctx, f.kind, content)
	}
	declared := ""
	if f.kind == htmlFile {
		declared = declaredCharset(content)
	}
	text, err := decode(ctx, content, declared)
	if err != nil {
		return nil, err
	}
	if blank(text) {
		return nil, &fault.UnreadableError{Code: fault.FileNoText, Reason: reasonEmpty}
	}
	switch f.kind {
	case csvFile:
		text, err = tableText(ctx, text, sniffComma(text))
	case tsvFile:
		text, err = tableText(ctx, text, '\t')
	case htmlFile:
		text, err = htmlText(ctx, text)
	}
	if err != nil {
		return nil, err
	}
	page := Page{Number: 1, Text: text}
	if f.kind != csvFile && f.kind != tsvFile {
		page.Marks = headingMarks(text)
	}
	return []Page{page}, nil
}

// maxText returns the largest size of the text of a file of n bytes, so that a small file cannot expand without limit.
func maxText(n int) int { return 4*n + 64<<10 }

func blank(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsSpace(r) }) < 0
}
