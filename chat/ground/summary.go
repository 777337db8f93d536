package ground

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/answer"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
)

const (
	notesAtOnce = 4     // Parts of a document noted concurrently.
	partTokens  = 8_000 // Tokens of a part, unless the documents have more than mostParts parts
	mostParts   = 60    // or the model's context is smaller.
	noteTries   = 2     // Attempts for a part whose note breaks off, in addition to those of the model's client.

	// summaryTimeout bounds the notes of all parts.
	summaryTimeout = 30 * time.Minute
	noteTimeout    = 5 * time.Second // For a database call.
)

// Summaries holds the dependencies of summaries of long documents.
type Summaries struct {
	Model  llm.Model
	Name   string // The model's name if the question chose none. It is a part of the notes' keys.
	Notes  Notes
	Budget chat.Budget
}

// Note is the model's note of one part of a document.
type Note struct {
	AnswerID                  uuid.UUID // The answer that it was made for.
	Key                       [32]byte  // Hash of the model, its instructions and the part.
	Text                      string    // "" if the call failed.
	ModelID                   string    // The model that was called.
	InputTokens, OutputTokens int       // Usage of the call.
}

// Notes stores notes for some days, up to a number for each person. A summary that is repeated or taken over by another
// server uses the stored notes and does not pay for them again.
type Notes interface {
	// FindNote returns the person's stored note for key.
	FindNote(ctx context.Context, owner identity.Owner, key [32]byte) (text string, found bool, err error)
	// PutNote stores a note unless its Text is empty. In the same transaction it adds the tokens to the usage of the
	// answer and of its person, unless the answer was deleted. counted reports whether it did.
	PutNote(ctx context.Context, owner identity.Owner, note Note) (counted bool, err error)
}

// summary grounds the answer on whole documents: on their text if it fits into the model's context, else on notes of
// all parts.
func (g *Grounder) summary(
	ctx context.Context, req *chat.AnswerRequest, tell func(chat.Step),
) (grounds chat.Grounds, err error) {
	owner := req.Owner
	sources, _ := newTogether(g.sources, req)
	found, err := sources.findAll(ctx, owner, req.Question.DataSourceIDs)
	if err != nil {
		return chat.Grounds{}, err
	}
	states := byState(found)
	step := chat.Step{Kind: chat.StepSummarize, Status: chat.StatusSuccess}
	if len(states.ready) == 0 {
		step.Detail = "使えるファイルがありません" + states.note()
		tell(step)
		return chat.Grounds{Answer: states.unusable()}, nil
	}
	prompt := conversation(req.Prompt, g.context/2)
	s := search{
		sources: sources, owner: owner, ready: states.ready, passages: make(map[string]datasource.Passage),
		budget: max(g.context-g.reserve()-tokens(prompt), leastBudget),
	}
	all, err := s.all(ctx, nil)
	if err != nil {
		return chat.Grounds{}, err
	}
	if all != nil {
		step.Detail = fmt.Sprintf("%d件のファイルの全文を確認", len(states.ready)) + states.note()
		tell(step)
		return chat.Grounds{
			Prompt: withSources(prompt, answer.SummaryInstructions, fenced(all)), Sources: s.cited(all),
		}, nil
	}
	passages, err := sources.firstPassages(ctx, owner, states.ready, math.MaxInt)
	if err != nil {
		return chat.Grounds{}, err
	}
	list := make([]answer.SourcePassage, len(passages))
	for i, p := range passages {
		list[i] = s.read(p, 0)
	}
	notes, calls, err := g.condense(ctx, req, list, s.budget, tell)
	grounds.Usage = calls.usage
	if err != nil {
		return grounds, calls.failure(err)
	}
	step.Detail = fmt.Sprintf("%d件のファイルの全体を確認（%d区分）", len(states.ready), calls.total) + states.note()
	tell(step)
	if notes.Text == "" {
		grounds.Answer = "選択されたファイルには、要約できる内容が見つかりませんでした。ファイルの内容をご確認ください。"
		return grounds, nil
	}
	grounds.Prompt, grounds.Sources = withSources(prompt, answer.SummaryInstructions, notes.Text),
		s.cited(notes.Passages)
	return grounds, nil
}

// condense asks the model for notes of all parts of the passages, and repeats this with the notes until they fit into
// budget tokens.
func (g *Grounder) condense(ctx context.Context, req *chat.AnswerRequest, list []answer.SourcePassage, budget int,
	tell func(chat.Step),
) (answer.Notes, *calls, error) {
	calls, total := &calls{cfg: g.summaries, req: req}, 0
	for _, f := range list {
		total += llm.EstimateTokens(f.Text)
	}
	most := (g.context - g.reserve()) / 2
	c := answer.Condenser{
		Note: calls.note, Size: llm.EstimateTokens, MaxPart: min(most, max(partTokens, total/mostParts)), MaxNotes: budget,
		Concurrency: notesAtOnce,
		Progress: func(done, total int) {
			calls.total = total
			tell(chat.Step{
				Kind: chat.StepSummarize, Status: chat.StatusRunning, Done: done, Total: total,
				Detail: fmt.Sprintf("要約中 %d/%d", done, total),
			})
		},
	}
	notes, err := c.Condense(ctx, list)
	return notes, calls, err
}

// calls are the model calls of one summary.
type calls struct {
	cfg   Summaries
	req   *chat.AnswerRequest
	total int // Number of parts.

	mu    sync.Mutex
	usage llm.Usage // Guarded by mu. Tokens that PutNote could not count.
}

// note returns the stored note of a part, or asks the model for it.
func (c *calls) note(ctx context.Context, instructions, part string) (string, error) {
	owner, model := c.req.Owner, c.req.Model
	key := sha256.Sum256([]byte(cmp.Or(model.ID, c.cfg.Name) + "\x00" + instructions + "\x00" + part))
	if text, found, err := c.cfg.Notes.FindNote(ctx, owner, key); err == nil && found {
		return text, nil // If the database is unavailable, call the model.
	}
	if c.req.Stored != nil { // Each call needs the budget's permission, and its tokens are counted for the answer.
		select {
		case <-c.req.Stored:
		case <-ctx.Done():
			return "", llm.Canceled(ctx)
		}
	}
	for try := 1; ; try++ {
		if err := c.cfg.Budget.Check(ctx, owner.OrganizationID, owner.UserID); err != nil {
			return "", err
		}
		var said strings.Builder
		result, err := c.cfg.Model.Stream(ctx, llm.Request{
			Model: model.ID, Thinking: model.Thinking, Messages: []llm.Message{
				{Role: llm.RoleSystem, Content: instructions}, {Role: llm.RoleUser, Content: part},
			},
		}, func(text string) { said.WriteString(text) })
		note := Note{
			AnswerID: c.req.AnswerID, Key: key, ModelID: cmp.Or(result.ModelID, model.ID),
			InputTokens: result.Usage.InputTokens, OutputTokens: result.Usage.OutputTokens,
		}
		if err == nil {
			note.Text = said.String()
		}
		c.put(ctx, note)
		if err == nil || try == noteTries || ctx.Err() != nil || !llm.Retryable(err) {
			return note.Text, err
		}
	}
}

// put stores a note and counts its tokens, even if the summary was stopped meanwhile.
func (c *calls) put(ctx context.Context, note Note) {
	if note.InputTokens+note.OutputTokens == 0 && note.Text == "" {
		return
	}
	owner := c.req.Owner
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	if counted, err := c.cfg.Notes.PutNote(ctx, owner, note); !counted || err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.usage.Add(llm.Usage{InputTokens: note.InputTokens, OutputTokens: note.OutputTokens})
		return
	}
	c.cfg.Budget.RecordUsage(owner.OrganizationID, owner.UserID, note.InputTokens+note.OutputTokens)
}

// failure adds to a temporary failure's message that the notes are kept.
func (c *calls) failure(err error) error {
	if !llm.Retryable(err) || c.total < 2 {
		return err
	}
	return fault.Wrap(err, fault.CodeOf(err), "最後まで要約できませんでした。%s要約が済んだ部分は保存されているため、続きから再開します。",
		fault.DetailOf(err))
}
