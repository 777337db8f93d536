package extractor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/redline"
	"github.com/tsumugi-ai/tsumugi/internal/sandbox"
)

// Paragraphs returns the text of a Word document for proofreading, see redline.Text. The errors are those of Extract.
func (e *Extractor) Paragraphs(ctx context.Context, file io.Reader) (string, error) {
	text, err := e.find(ctx, taskText, input{}, file, e.runner.Whole())
	if err != nil {
		return "", err
	}
	if !utf8.Valid(text) {
		return "", fmt.Errorf("%w: a text", sandbox.ErrMalformed)
	}
	return string(text), nil
}

// Redline applies an edit of the text of Paragraphs to a Word document. The errors are those of Extract.
func (e *Extractor) Redline(ctx context.Context, file io.Reader, edit redline.Edit) ([]byte, error) {
	encoded, err := json.Marshal(edit)
	if err != nil {
		return nil, err
	}
	content := io.MultiReader(bytes.NewReader(encoded), file)
	return e.find(ctx, taskRedline, input{Edit: len(encoded)}, content, e.runner.Whole())
}
