package datasource

import (
	"context"
	"io"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/redline"
)

var errNoWord = fault.Errorf(fault.Conflict, "Word文書（.docx）ではありません。Wordで.docx形式で保存し、もう一度アップロードしてください。")

// Paragraphs returns the text of a person's Word document for proofreading, see redline.Text. The error has the code
// fault.Conflict if the file is not a Word document or is unreadable, and fault.Unavailable if too many people are
// waiting for files.
func (s *Service) Paragraphs(ctx context.Context, owner identity.Owner, id uuid.UUID) (text string, err error) {
	err = s.openWord(ctx, owner, id, func(file io.Reader) error {
		text, err = s.extractor.Paragraphs(ctx, file)
		return err
	})
	return text, err
}

// Redline applies an edit of the text of Paragraphs to a person's Word document. The errors are those of Paragraphs,
// and fault.Conflict if the text has changed.
func (s *Service) Redline(
	ctx context.Context, owner identity.Owner, id uuid.UUID, edit redline.Edit,
) (edited []byte, err error) {
	err = s.openWord(ctx, owner, id, func(file io.Reader) error {
		edited, err = s.extractor.Redline(ctx, file, edit)
		return err
	})
	return edited, err
}

// Original returns a data source and its text for proofreading. For a Word document, word is true and the text is that
// of Paragraphs. For other formats, it is the concatenated text of the pages. The errors are those of Paragraphs.
func (s *Service) Original(
	ctx context.Context, owner identity.Owner, id uuid.UUID,
) (source Source, text string, word bool, err error) {
	if source, err = s.Find(ctx, owner, id); err != nil {
		return Source{}, "", false, err
	}
	if format, ok := extract.FormatOf(source.Filename); ok && format.IsWord() {
		text, err = s.Paragraphs(ctx, owner, id)
		return source, text, true, err
	}
	ctx, cancel := context.WithTimeout(ctx, transientTimeout)
	defer cancel()
	var pages []string
	err = s.open(ctx, id, func(file io.Reader) error {
		return s.extractor.Extract(ctx, source.Filename, file, func(p extract.Page, _ int) error {
			pages = append(pages, strings.TrimRight(p.Text, "\n"))
			return nil
		})
	})
	return source, strings.Join(pages, "\n"), false, err
}

func (s *Service) openWord(ctx context.Context, owner identity.Owner, id uuid.UUID, use func(io.Reader) error) error {
	source, err := s.Find(ctx, owner, id)
	if err != nil {
		return err
	}
	if format, ok := extract.FormatOf(source.Filename); !ok || !format.IsWord() {
		return errNoWord
	}
	return s.open(ctx, id, use)
}
