// Package ground finds what an answer is based on: it implements chat.Grounder. Passages of data sources are found by
// package datasource, pages of the web by package websearch; package answer turns both into a prompt, and checked
// citations.
//
// A question of another skill without data sources is based on the conversation alone, unless its skill has documents of
// its own, and one about a page of the browser on that. The package knows no database and no HTTP.
package ground

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// Sources finds data sources and their passages. *datasource.Service is one.
type Sources interface {
	// FindAll returns those of some data sources that are the owner's and still there, in their order.
	FindAll(ctx context.Context, owner datasource.Owner, ids []uuid.UUID) ([]datasource.Source, error)

	// Retrieve returns the k passages of some data sources that fit a query best, best first.
	Retrieve(ctx context.Context, owner datasource.Owner, ids []uuid.UUID, query string, k int) ([]datasource.Retrieved,
		error)

	// Original returns a data source of the owner with its text as it is proofread, and whether changes of that can be
	// written into it.
	Original(ctx context.Context, owner datasource.Owner, id uuid.UUID) (source datasource.Source, text string, word bool,
		err error)

	// Beginnings returns the first passages of data sources, at most each of them, in order.
	Beginnings(ctx context.Context, owner datasource.Owner, of []datasource.Source, each int) ([]datasource.Passage,
		error)
}

// Config tunes a Grounder. The zero value of a field means its default.
type Config struct {
	// ContextTokens is what a model reads and writes at most that does not say so itself. Default 32,000.
	ContextTokens int

	// Summaries of documents that the model cannot read at once. Without a model, passages of them are searched for as
	// for any question.
	Summaries Summaries

	// Searches of the web. Without a Web, no question is answered from it.
	Searches Searches

	// EstimateTime bounds the exact estimate of the tokens of an answer. It leaves time to store the question within
	// the call. Default 2 s.
	EstimateTime time.Duration
}

// DefaultContextTokens is the context of a model that is not known.
const DefaultContextTokens = 32_000

// searchTimeout bounds the search, which normally takes milliseconds.
const searchTimeout = 30 * time.Second

// Grounder finds what answers are based on. It is safe for concurrent use.
type Grounder struct {
	sources   Sources
	context   int // Tokens.
	summaries Summaries
	searches  Searches
	estimate  time.Duration
}

// New returns a Grounder.
func New(sources Sources, cfg Config) *Grounder {
	if cfg.ContextTokens <= 0 {
		cfg.ContextTokens = DefaultContextTokens
	}
	if cfg.EstimateTime <= 0 {
		cfg.EstimateTime = 2 * time.Second
	}
	return &Grounder{
		sources: sources, context: cfg.ContextTokens, summaries: cfg.Summaries, searches: cfg.Searches,
		estimate: cfg.EstimateTime,
	}
}

// Ground implements chat.Grounder.
func (g *Grounder) Ground(ctx context.Context, ask chat.Ask, tell func(chat.Step)) (chat.Grounds, error) {
	g = g.sizedFor(ask.Model)
	tellMissing(ask.Skill.MissingDocuments, tell)
	if ask.Skill.Kind == skill.KindProofreading {
		return g.original(ctx, ask)
	}
	if ask.Skill.Kind == skill.KindWebSearch {
		ctx, cancel := context.WithTimeout(ctx, webTimeout)
		defer cancel()
		return g.web(ctx, ask, tell)
	}
	if g.readsPage(ask) {
		ctx, cancel := context.WithTimeout(ctx, summaryTimeout)
		defer cancel()
		return g.page(ctx, ask, tell)
	}
	if len(ask.Question.DataSourceIDs)+len(ask.Skill.Documents) == 0 {
		return chat.Grounds{Prompt: ask.Prompt}, nil
	}
	if g.summarizes(ask) {
		ctx, cancel := context.WithTimeout(ctx, summaryTimeout)
		defer cancel()
		return g.summary(ctx, ask, tell)
	}
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	return g.documents(ctx, ask, tell)
}

// sizedFor returns a Grounder with the context of a model.
func (g *Grounder) sizedFor(model chat.Chosen) *Grounder {
	if model.ContextTokens <= 0 {
		return g
	}
	sized := *g
	sized.context = model.ContextTokens
	return &sized
}

// readsPage reports whether an answer is based on a page of the browser extension.
func (g *Grounder) readsPage(ask chat.Ask) bool {
	return ask.Skill.OfExtension() && len(ask.Question.DataSourceIDs)+len(ask.Skill.Documents) == 0 &&
		g.summaries.Model != nil
}

// summarizes reports whether an answer is based on whole documents.
func (g *Grounder) summarizes(ask chat.Ask) bool {
	return ask.Skill.TaskType == skill.TaskSummarization && len(ask.Question.DataSourceIDs) > 0 &&
		g.summaries.Model != nil
}

// tokens estimates the length of a prompt.
func tokens(prompt []llm.Message) int {
	n := 0
	for _, m := range prompt {
		n += llm.EstimateTokens(m.Content) + llm.PictureTokens(m.Pictures)
	}
	return n
}
