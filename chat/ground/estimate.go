package ground

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
)

const (
	passageTokens = 500 // Upper bound for a passage with its markup.
	noteShare     = 5   // Ratio of the length of a part to the length of its notes, as the instructions demand.
)

// Estimate implements chat.Grounder. If the documents are so short that the answer certainly needs at most limit
// tokens, it uses their size. Otherwise, it runs the same steps as Ground with a rehearsal as the model, so that both read
// the same parts. Stored notes cost nothing. If this takes longer than EstimateTime, Estimate uses the size as well.
func (g *Grounder) Estimate(ctx context.Context, req *chat.AnswerRequest, limit int) (int, error) {
	g = g.sizedFor(req.Model)
	rehearsed := &rehearsal{Notes: g.summaries.Notes}
	dry := *g
	dry.summaries = Summaries{Model: rehearsed, Name: g.summaries.Name, Notes: rehearsed, Budget: rehearsed}
	var size int
	var err error
	read := dry.page
	switch {
	case g.summarizes(req):
		size, err = g.documentTokens(ctx, req)
		read = dry.summary
	case g.readsPage(req):
		size = tokens(req.Prompt)
	}
	bySize := size + size/4 // The documents are sent once, and about a quarter of them again as notes.
	if err != nil || 2*size <= limit {
		return bySize, err
	}
	within, cancel := context.WithTimeout(ctx, g.estimate)
	defer cancel()
	grounds, err := read(within, req, func(chat.Step) {})
	switch {
	case ctx.Err() != nil:
		return 0, llm.Canceled(ctx)
	case within.Err() != nil:
		return bySize, nil
	case fault.CodeOf(err) == llm.CodeContextLength:
		err = nil // Ground reports the error as the failure of the answer.
	}
	return int(rehearsed.tokens.Load()) + tokens(grounds.Prompt), err
}

// documentTokens returns an upper bound for the tokens of a question's documents.
func (g *Grounder) documentTokens(ctx context.Context, req *chat.AnswerRequest) (int, error) {
	sources, _ := newTogether(g.sources, req)
	found, err := sources.findAll(ctx, req.Owner, req.Question.DataSourceIDs)
	passages := 0
	for _, source := range byState(found).ready {
		passages += source.ChunkCount
	}
	return passages * passageTokens, err
}

// rehearsal is a model that counts the tokens of its requests and returns placeholder notes of the demanded length. It
// finds stored notes and stores none.
type rehearsal struct {
	Notes

	tokens atomic.Int64
}

// PutNote stores nothing.
func (*rehearsal) PutNote(context.Context, identity.Owner, Note) (bool, error) { return true, nil }

// Check sets no limit.
func (*rehearsal) Check(context.Context, uuid.UUID, uuid.UUID) error { return nil }

// RecordUsage counts nothing.
func (*rehearsal) RecordUsage(uuid.UUID, uuid.UUID, int) {}

func (r *rehearsal) Stream(ctx context.Context, req llm.Request, emit func(string)) (llm.Result, error) {
	if ctx.Err() != nil {
		return llm.Result{}, llm.Canceled(ctx)
	}
	r.tokens.Add(int64(tokens(req.Messages)))
	const width = 60
	line := "- " + strings.Repeat("要", width) + " [1]\n"
	for range tokens(req.Messages[1:])/(noteShare*width) + 1 {
		emit(line)
	}
	return llm.Result{FinishReason: llm.FinishStop}, nil
}
