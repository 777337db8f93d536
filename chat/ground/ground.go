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

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

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
	sources   *datasource.Service
	context   int // In tokens.
	summaries Summaries
	searches  Searches
	estimate  time.Duration
	taken     int // Tokens of the context for passages that are added to the prompt of a page.
}

// New returns a Grounder.
func New(sources *datasource.Service, cfg Config) *Grounder {
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
