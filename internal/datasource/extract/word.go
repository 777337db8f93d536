package extract

import (
	"errors"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/redline"
)

// reasonChanged explains why changes do not fit the document.
const reasonChanged = "元のファイルの文章が、校正した文章と異なります。もう一度校正してください。"

// IsWord reports whether Paragraphs and Redline support the format.
func (f Format) IsWord() bool { return f.kind == docxFile }

// Paragraphs returns the text of a Word document for proofreading, see redline.Text.
func Paragraphs(content []byte) (string, error) {
	text, err := redline.Text(content)
	return text, wordError(err)
}

// Redline applies an edit of the text of Paragraphs to a Word document.
func Redline(content []byte, edit redline.Edit) ([]byte, error) {
	edited, err := redline.Write(content, edit)
	return edited, wordError(err)
}

func wordError(err error) error {
	if errors.Is(err, redline.ErrMismatch) {
		return &fault.UnreadableError{Code: fault.FileMismatch, Reason: reasonChanged}
	}
	return officeError(err)
}
