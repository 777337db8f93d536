package ground

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
)

const (
	// cheapTokens is the size of documents whose answers take less than chat.ConfirmTokens: their text is sent once,
	// and a quarter of it again as notes.
	cheapTokens = chat.ConfirmTokens / 2

	passageTokens = 500 // Of the longest passage, with its markup.
	noteShare     = 5   // Ratio of the length of a part to that of its notes, as the instructions demand.
)

// Estimate implements chat.Grounder. Unless the documents are short, it takes the same steps as Ground, with a
// rehearsal as the model, so that both read the same parts. Stored notes cost nothing.
func (g *Grounder) Estimate(ctx context.Context, ask chat.Ask) (int, error) {
	g = g.sizedFor(ask.Model)
	rehearsed := &rehearsal{Notes: g.summaries.Notes}
	dry := *g
	dry.summaries = Summaries{Model: rehearsed, Name: g.summaries.Name, Notes: rehearsed, Budget: rehearsed}
	var grounds chat.Grounds
	var err error
	switch {
	case g.summarizes(ask):
		if cheap, err := g.cheap(ctx, ask); cheap || err != nil {
			return 0, err
		}
		grounds, err = dry.summary(ctx, ask, func(chat.Step) {})
	case g.readsPage(ask) && tokens(ask.Prompt) > cheapTokens:
		grounds, err = dry.page(ctx, ask, func(chat.Step) {})
		if fault.CodeOf(err) == llm.CodeContextLength {
			err = nil // Ground reports it as the failure of the answer.
		}
	}
	return int(rehearsed.tokens.Load()) + tokens(grounds.Prompt), err
}

// cheap reports whether the documents of a summary have at most cheapTokens.
func (g *Grounder) cheap(ctx context.Context, ask chat.Ask) (bool, error) {
	found, err := g.sources.FindAll(ctx, datasource.Owner(ask.Owner), ask.Question.DataSourceIDs)
	passages := 0
	for _, source := range byState(found).ready {
		passages += source.ChunkCount
	}
	return err == nil && passages*passageTokens <= cheapTokens, err
}

// rehearsal is a model that counts the tokens of its requests and answers with meaningless notes of the demanded
// length. It finds stored notes and stores none.
type rehearsal struct {
	Notes

	tokens atomic.Int64
}

// PutNote stores nothing.
func (*rehearsal) PutNote(context.Context, chat.Owner, Note) (bool, error) { return true, nil }

// Check sets no limit.
func (*rehearsal) Check(context.Context, uuid.UUID, uuid.UUID) error { return nil }

// Spent counts nothing.
func (*rehearsal) Spent(uuid.UUID, uuid.UUID, int) {}

// Stream implements llm.Model.
func (r *rehearsal) Stream(_ context.Context, req llm.Request, emit func(string)) (llm.Result, error) {
	r.tokens.Add(int64(tokens(req.Messages)))
	const width = 60
	line := "- " + strings.Repeat("要", width) + " [1]\n"
	for range tokens(req.Messages[1:])/(noteShare*width) + 1 {
		emit(line)
	}
	return llm.Result{FinishReason: llm.FinishStop}, nil
}
