package ground

import (
	"context"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/proofread"
)

// original reads the file to proofread, if there is one: the file of the form, or without a form the file attached to
// the question. Follow-up questions use the conversation only.
func (g *Grounder) original(ctx context.Context, req *chat.AnswerRequest) (chat.Grounds, error) {
	grounds := chat.Grounds{Prompt: req.Prompt}
	files := req.Skill.FormFiles(req.Question.Form)
	if req.Question.Form == nil {
		files = req.Question.DataSourceIDs
	}
	if len(files) == 0 || !req.Proofreads() {
		return grounds, nil
	}
	if len(files) > 1 {
		return chat.Grounds{}, fault.Errorf(fault.Invalid,
			"一度に校正できるファイルは一つです。ファイルを一つだけ選んで、もう一度お試しください。")
	}
	source, text, word, err := g.sources.Original(ctx, req.Owner, files[0])
	if fault.CodeOf(err) == fault.NotFound {
		err = fault.Wrap(err, fault.NotFound, "校正するファイルが見つかりません。もう一度アップロードしてください。")
	}
	if err != nil {
		return chat.Grounds{}, err
	}
	grounds.Original = &chat.Original{
		Text: text, File: &proofread.File{DataSourceID: source.ID, Filename: source.Filename, DOCX: word},
	}
	return grounds, nil
}
