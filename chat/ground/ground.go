// Package ground selects the sources of answers. It implements chat.Grounder. Package datasource finds passages of data
// sources, and package websearch finds pages of the web. Package answer converts both to a prompt and checks the
// citations.
//
// Questions about a page of the browser extension are grounded on that page, and in a project also on its data sources.
// Other questions without data sources and
// without documents of the skill use the conversation only. The package does not use a database or HTTP.
package ground

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// Sources finds data sources, files of projects, and their passages. *datasource.Service implements it.
type Sources interface {
	// FindAll returns the owner's data sources with the given ids, in their order, without deleted ones.
	FindAll(ctx context.Context, owner identity.Owner, ids []uuid.UUID) ([]datasource.Source, error)

	// Retrieve returns the k most relevant passages of some data sources, best first.
	Retrieve(
		ctx context.Context, owner identity.Owner, ids []uuid.UUID, query string, k int,
	) ([]datasource.RetrievedPassage, error)

	// Original returns a data source of the owner with its text for proofreading, and whether corrections can be
	// written into the file.
	Original(ctx context.Context, owner identity.Owner, id uuid.UUID) (source datasource.Source, text string, word bool,
		err error)

	// FirstPassages returns at most each first passages of every data source, in order.
	FirstPassages(ctx context.Context, owner identity.Owner, of []datasource.Source, each int) ([]datasource.Passage,
		error)

	// SmallProject returns the data sources of a project if Retrieve can search all of them at once. It returns
	// fault.NotFound if the reader has no role in the project now.
	SmallProject(ctx context.Context, reader identity.Owner, projectID uuid.UUID) (
		_ []datasource.Source, ok bool, _ error)

	// SearchProject returns the k most relevant passages of all data sources of a project, best first. It returns
	// fault.NotFound if the reader has no role in the project now.
	SearchProject(ctx context.Context, reader identity.Owner, projectID uuid.UUID, query string, k int) (
		[]datasource.RetrievedPassage, error)
}

// Config tunes a Grounder. The zero value of a field selects its default.
type Config struct {
	// ContextTokens is the context size of models that do not declare one. Default 32,000.
	ContextTokens int

	// Summaries configures summaries of documents larger than the model's context. Without a Model, passages are
	// searched for as for any question.
	Summaries Summaries

	// Searches configures web searches. Without a Web, no question is answered from the web.
	Searches Searches

	// EstimateTime bounds the exact estimate of an answer's tokens. It must leave time to store the question within the
	// call. Default 2 s.
	EstimateTime time.Duration
}

// searchTimeout bounds a search, which normally takes milliseconds.
const searchTimeout = 30 * time.Second

// Grounder selects the sources of answers. It is safe for concurrent use.
type Grounder struct {
	sources   Sources
	context   int // In tokens.
	summaries Summaries
	searches  Searches
	estimate  time.Duration
	taken     int // Tokens of the context for passages that are added to the prompt of a page.
}

// New returns a Grounder.
func New(sources Sources, cfg Config) *Grounder {
	if cfg.ContextTokens <= 0 {
		cfg.ContextTokens = 32_000
	}
	if cfg.EstimateTime <= 0 {
		cfg.EstimateTime = 2 * time.Second
	}
	return &Grounder{
		sources: sources, context: cfg.ContextTokens, summaries: cfg.Summaries, searches: cfg.Searches,
		estimate: cfg.EstimateTime,
	}
}

func (g *Grounder) Ground(ctx context.Context, req *chat.AnswerRequest, tell func(chat.Step)) (chat.Grounds, error) {
	g = g.sizedFor(req.Model)
	tellMissing(req.Skill.MissingDocuments, tell)
	if req.Skill.Kind == skill.KindProofreading {
		return g.original(ctx, req)
	}
	if req.Skill.Kind == skill.KindWebSearch {
		ctx, cancel := context.WithTimeout(ctx, webTimeout)
		defer cancel()
		return g.web(ctx, req, tell)
	}
	if g.readsPage(req) {
		ctx, cancel := context.WithTimeout(ctx, summaryTimeout)
		defer cancel()
		if req.Project != nil && asksOfPage(req) {
			return g.pageInProject(ctx, req, tell)
		}
		return g.page(ctx, req, tell)
	}
	if len(req.Question.DataSourceIDs)+len(req.Skill.Documents) == 0 && req.Project == nil {
		return chat.Grounds{Prompt: req.Prompt}, nil
	}
	if g.summarizes(req) {
		ctx, cancel := context.WithTimeout(ctx, summaryTimeout)
		defer cancel()
		return g.summary(ctx, req, tell)
	}
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	return g.documents(ctx, req, tell)
}

// sizedFor returns a Grounder with the context size of a model.
func (g *Grounder) sizedFor(model chat.AnswerModel) *Grounder {
	if model.ContextTokens <= 0 {
		return g
	}
	sized := *g
	sized.context = model.ContextTokens
	return &sized
}

// readsPage reports whether an answer uses a page of the browser extension.
func (g *Grounder) readsPage(req *chat.AnswerRequest) bool {
	return req.Skill.IsExtension() && len(req.Question.DataSourceIDs)+len(req.Skill.Documents) == 0 &&
		g.summaries.Model != nil
}

// summarizes reports whether an answer uses whole documents.
func (g *Grounder) summarizes(req *chat.AnswerRequest) bool {
	return req.Skill.TaskType == skill.TaskSummarization && len(req.Question.DataSourceIDs) > 0 &&
		g.summaries.Model != nil
}

// tokens estimates the number of tokens of a prompt.
func tokens(prompt []llm.Message) int {
	n := 0
	for _, m := range prompt {
		n += llm.EstimateTokens(m.Content) + llm.PictureTokens(m.Pictures)
		for _, call := range m.ToolCalls {
			n += llm.EstimateTokens(call.Arguments)
		}
	}
	return n
}

// questionAt returns the index of the question in a prompt. Only calls of tools and their results follow it.
func questionAt(prompt []llm.Message) int {
	at := len(prompt) - 1
	for prompt[at].Role != llm.RoleUser {
		at--
	}
	return at
}
