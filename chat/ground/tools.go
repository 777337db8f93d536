package ground

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/answer"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/dial"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/internal/websearch"
)

var _ chat.SourceTools = (*Grounder)(nil).SourceTools

// callTokens bounds the passages of one call of a tool, in tokens.
const callTokens = 8_000

// SourceTools is a chat.SourceTools. The calls use the same data sources and services as Ground, with the same
// checks of access.
func (g *Grounder) SourceTools(req *chat.AnswerRequest, sources func() []chat.Source) []tool.Tool {
	g = g.sizedFor(req.Model)
	var tools []tool.Tool
	if req.HasTool(tool.SearchDocuments) &&
		(len(req.Question.DataSourceIDs)+len(req.Skill.Documents) > 0 || req.Project != nil) {
		tools = append(tools, tool.DocumentSearch(func(ctx context.Context, query string) (tool.Result, error) {
			return g.callSearch(ctx, req, query)
		}))
	}
	if g.searches.Web == nil {
		return tools
	}
	if req.HasTool(tool.SearchWeb) {
		tools = append(tools, tool.WebSearch(g.callWebSearch))
	}
	if req.HasTool(tool.ReadPage) {
		tools = append(tools, tool.PageReader(func(ctx context.Context, address, query string) (tool.Result, error) {
			return g.callReader(ctx, req, sources(), address, query)
		}))
	}
	return tools
}

// callBudget returns the number of tokens for the passages of one call.
func (g *Grounder) callBudget() int { return min(callTokens, g.context/4) }

// callSearch searches the data sources of an answer.
func (g *Grounder) callSearch(ctx context.Context, req *chat.AnswerRequest, query string) (tool.Result, error) {
	s, states, _, err := g.newSearch(ctx, req, query, query)
	if err != nil {
		return tool.Result{}, err
	}
	if len(s.ready)+len(s.project) == 0 {
		return tool.Result{Text: "使えるファイルがありません" + states.note(), Found: []chat.Source{}}, nil
	}
	s.budget, s.best = g.callBudget(), true
	passages, err := s.choose(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	result := tool.Result{Found: s.marked(passages)}
	if len(passages) == 0 {
		result.Text = "合う箇所は見つかりませんでした。"
		if len(s.headings) > 0 {
			result.Text += "近い見出し：" + strings.Join(s.headings, "、")
		}
	}
	return result, nil
}

// callWebSearch searches the web and reads the pages.
func (g *Grounder) callWebSearch(ctx context.Context, query string) (tool.Result, error) {
	query = answer.Queries(query, query)[0]
	results, err := g.search(ctx, []string{query})
	if err != nil {
		return tool.Result{}, err
	}
	pages, missing := g.read(ctx, results, func(int) {})
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	if len(pages) == 0 {
		return tool.Result{Text: "読み取れるページが見つかりませんでした。", Found: []chat.Source{}}, nil
	}
	sources, err := rank(pages, query, g.callBudget())
	return tool.Result{Text: confirmed(len(results)-missing, missing), Found: sources, Untrusted: true}, err
}

// callReader reads a page. It reads only addresses that the person has written, or that a source of the answer has:
// otherwise a text with instructions could make the model send what it knows in an address.
func (g *Grounder) callReader(
	ctx context.Context, req *chat.AnswerRequest, sources []chat.Source, address, query string,
) (tool.Result, error) {
	if !mentions(req, sources, address) {
		return tool.Result{}, fault.Errorf(fault.Forbidden,
			"読めるのは、質問者が書いたアドレスと、検索結果や出典にあるアドレスだけです。")
	}
	read, err := g.searches.Web.Read(ctx, address)
	switch {
	case errors.Is(err, dial.ErrForbidden):
		return tool.Result{}, fault.Wrap(err, fault.Forbidden, "このアドレスのページは読めません。")
	case ctx.Err() != nil:
		return tool.Result{}, ctx.Err()
	case err != nil:
		return tool.Result{}, fault.Wrap(err, fault.Unavailable, "ページを読み取れませんでした。")
	case len(read.Passages) == 0:
		return tool.Result{Text: "ページに文章がありませんでした。", Found: []chat.Source{}}, nil
	}
	p := page{
		Result:   websearch.Result{URL: read.URL, Title: titleOf(read, sources), Published: read.Published},
		passages: read.Passages,
	}
	if query == "" {
		return tool.Result{Found: beginningOf(p, g.callBudget()), Untrusted: true}, nil
	}
	found, err := rank([]page{p}, query, g.callBudget())
	return tool.Result{Found: found, Untrusted: true}, err
}

// mentions reports whether an address, with or without its scheme, occurs in the texts of the person or in a source.
func mentions(req *chat.AnswerRequest, sources []chat.Source, address string) bool {
	address, _, _ = strings.Cut(address, "#")
	if _, rest, found := strings.Cut(address, "://"); found {
		address = rest
	}
	address = strings.TrimRight(address, "/")
	if address == "" {
		return false
	}
	texts := append(earlier(req), req.Question.Content, req.Question.Prompt)
	for _, source := range sources {
		texts = append(texts, source.URL, source.Text)
	}
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, address) })
}

// titleOf returns the title of a page: that of its search result, its first heading, or its site.
func titleOf(read websearch.Page, sources []chat.Source) string {
	for _, source := range sources {
		if source.URL == read.URL {
			return source.Filename
		}
	}
	heading, _, _ := strings.Cut(extract.Headings(read.Passages[0].Locator), " > ")
	return cmp.Or(strings.TrimSpace(heading), websearch.Site(read.URL), read.URL)
}

// beginningOf returns the beginning of a page as a source.
func beginningOf(p page, budget int) []chat.Source {
	r := ranking{pages: []page{p}}
	for i := range p.passages {
		next := r.passage(0, i, 0)
		if budget -= cost(next.Passage); budget < 0 && i > 0 {
			break
		}
		r.passages = append(r.passages, next)
	}
	return r.sources(r.passages)
}
