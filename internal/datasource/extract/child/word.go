package child

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/redline"
)

// Paragraphs returns the text of a Word document as it is proofread: see redline.Text. The errors are those of Extract.
func (e *Extractor) Paragraphs(ctx context.Context, file io.Reader) (string, error) {
	text, err := e.find(ctx, Job{Task: taskText}, file, e.cfg.Whole)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(text) {
		return "", fmt.Errorf("%w: a text", errFrames)
	}
	return string(text), nil
}

// Redline returns a Word document with an edit of what Paragraphs returns. The errors are those of Extract.
func (e *Extractor) Redline(ctx context.Context, file io.Reader, edit redline.Edit) ([]byte, error) {
	encoded, err := json.Marshal(edit)
	if err != nil {
		return nil, err
	}
	job := Job{Task: taskRedline, Edit: len(encoded)}
	return e.find(ctx, job, io.MultiReader(bytes.NewReader(encoded), file), e.cfg.Whole)
}
