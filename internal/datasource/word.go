package datasource

import (
	"context"
	"io"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/redline"
)

var errNoWord = fault.Errorf(fault.Conflict, "Word文書（.docx）ではありません。Wordで.docx形式で保存し、もう一度アップロードしてください。")

// Paragraphs returns the text of a person's Word document as it is proofread: see redline.Text. fault.Conflict says
// that it is no Word document or cannot be read; fault.Unavailable that too many people wait for files now.
func (s *Service) Paragraphs(ctx context.Context, owner Owner, id uuid.UUID) (text string, err error) {
	err = s.openWord(ctx, owner, id, func(file io.Reader) error {
		text, err = s.extractor.Paragraphs(ctx, file)
		return err
	})
	return text, err
}

// Redline returns a person's Word document with an edit of what Paragraphs returns. The errors are those of Paragraphs;
// fault.Conflict says also that the text is another one.
func (s *Service) Redline(ctx context.Context, owner Owner, id uuid.UUID, edit redline.Edit) (edited []byte, err error) {
	err = s.openWord(ctx, owner, id, func(file io.Reader) error {
		edited, err = s.extractor.Redline(ctx, file, edit)
		return err
	})
	return edited, err
}

// Original returns a data source with its text as it is proofread: that of Paragraphs, where word says that it is a Word
// document, else the pages that are read of it, one after the other. The errors are those of Paragraphs.
func (s *Service) Original(ctx context.Context, owner Owner, id uuid.UUID) (source Source, text string, word bool,
	err error,
) {
	if source, err = s.Find(ctx, owner, id); err != nil {
		return Source{}, "", false, err
	}
	if format, ok := extract.FormatOf(source.Filename); ok && format.IsWord() {
		text, err = s.Paragraphs(ctx, owner, id)
		return source, text, true, err
	}
	ctx, cancel := context.WithTimeout(ctx, passingTime)
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

func (s *Service) openWord(ctx context.Context, owner Owner, id uuid.UUID, use func(io.Reader) error) error {
	source, err := s.Find(ctx, owner, id)
	if err != nil {
		return err
	}
	if format, ok := extract.FormatOf(source.Filename); !ok || !format.IsWord() {
		return errNoWord
	}
	return s.open(ctx, id, use)
}
