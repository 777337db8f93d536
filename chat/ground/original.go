package ground

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/proofread"
	"github.com/tsumugi-ai/tsumugi/internal/redline"
)

// original reads the text that is proofread, if it is that of a file. Other data sources of the question do not matter.
func (g *Grounder) original(ctx context.Context, ask chat.Ask) (chat.Grounds, error) {
	grounds := chat.Grounds{Prompt: ask.Prompt}
	files := ask.Skill.FormFiles(ask.Question.Form)
	if len(files) == 0 {
		return grounds, nil
	}
	text, file, err := g.readOriginal(ctx, datasource.Owner(ask.Owner), files[0])
	if fault.CodeOf(err) == fault.NotFound {
		err = fault.Wrap(err, fault.NotFound, "校正するファイルが見つかりません。もう一度アップロードしてください。")
	}
	if err != nil {
		return chat.Grounds{}, err
	}
	grounds.Original = &chat.Original{Text: text, File: &file}
	return grounds, nil
}

// readOriginal returns the text of a file. That of a Word document is the one into which changes can be written.
func (g *Grounder) readOriginal(ctx context.Context, owner datasource.Owner, id uuid.UUID) (string, proofread.File,
	error,
) {
	source, content, err := g.sources.Open(ctx, owner, id)
	if err != nil {
		return "", proofread.File{}, err
	}
	defer func() { _ = content.Close() }()
	file := proofread.File{DataSourceID: source.ID, Filename: source.Filename}
	if !strings.HasSuffix(strings.ToLower(source.Filename), ".docx") {
		_, text, err := g.sources.Text(ctx, owner, id)
		return text, file, err
	}
	file.DOCX = true
	data, err := io.ReadAll(content)
	if err != nil {
		return "", file, err
	}
	text, err := redline.Text(data)
	switch {
	case errors.Is(err, redline.ErrTooLarge):
		err = fault.Wrap(err, fault.TooLarge, "Wordの文書が大きすぎるため、読み取れませんでした。分割して、もう一度お試しください。")
	case err != nil:
		err = fault.Wrap(err, fault.Invalid, "Wordの文書を読み取れませんでした。Wordで保存し直して、もう一度アップロードしてください。")
	}
	return text, file, err
}
