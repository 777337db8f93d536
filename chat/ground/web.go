package ground

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/answer"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/index"
	"github.com/tsumugi-ai/tsumugi/internal/dial"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/japan"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/internal/websearch"
)

const (
	maxPages    = 5      // Pages read for a question.
	maxOfSite   = 2      // Pages of one site.
	webTokens   = 12_000 // Tokens of all passages.
	opening     = 3      // Passages of each page if none contains a term of the question.
	queryTokens = 400    // Maximum tokens of the model's queries, including its reasoning.

	webTimeout   = time.Minute
	queryTimeout = 15 * time.Second // Bounds the model call for queries. After it, the question itself is the query.
)

// Searches holds the dependencies of web searches.
type Searches struct {
	Web    *websearch.Service
	Model  llm.Model // Writes the queries.
	Budget chat.Budget
}

// web grounds the answer on pages of the web.
func (g *Grounder) web(
	ctx context.Context, req *chat.AnswerRequest, tell func(chat.Step),
) (grounds chat.Grounds, err error) {
	if g.searches.Web == nil { // The answer began on a server with another configuration.
		return chat.Grounds{}, fault.Errorf(fault.SkillUnavailable, "このサーバーでは、ウェブ検索をご利用いただけません。管理者にお知らせください。")
	}
	step := chat.Step{Kind: chat.StepWebSearch, Status: chat.StatusRunning}
	say := func(detail string, done, total int) {
		step.Detail, step.Done, step.Total = detail, done, total
		tell(step)
	}
	say("検索語を選んでいます", 0, 0)
	queries, usage, err := g.queries(ctx, req)
	grounds.Usage = usage
	if err != nil {
		return grounds, err
	}
	say("検索中"+answer.QuoteQueries(queries), 0, 0)
	results, err := g.search(ctx, queries)
	if err != nil {
		return grounds, err
	}
	pages, missing := g.read(ctx, results, func(done int) {
		say(fmt.Sprintf("%dページを確認中", len(results)), done, len(results))
	})
	if err := ctx.Err(); err != nil {
		return grounds, fault.Wrap(err, fault.Unavailable, "ページの読み取りに時間がかかりすぎています。もう一度お試しください。")
	}
	step.Status = chat.StatusSuccess
	if len(pages) == 0 && req.HasTool(tool.SearchWeb) { // The model may search for other words.
		say("読み取れるページがありませんでした", 0, 0)
		grounds.Prompt = withSources(conversation(req.Prompt, g.context/2), answer.WebInstructions, "")
		return grounds, nil
	}
	if len(pages) == 0 {
		say("読み取れるページがありませんでした", 0, 0)
		grounds.Answer = answer.NoPages(queries)
		return grounds, nil
	}
	prompt := conversation(req.Prompt, g.context/2)
	budget := min(max(g.context-g.reserve()-tokens(prompt), leastBudget), webTokens)
	grounds.Sources, err = rank(pages, query(req)+"\n"+strings.Join(queries, "\n"), budget)
	if err != nil {
		return grounds, err
	}
	say(confirmed(len(results)-missing, missing), 0, 0)
	list := make([]answer.Passage, len(grounds.Sources))
	for i, s := range grounds.Sources {
		list[i] = answer.Passage{Index: s.Index, Filename: s.Filename, Site: s.Site, Date: s.PublishedOn, Text: s.Text}
	}
	grounds.Prompt = withSources(prompt, answer.WebInstructions, answer.Sources(list))
	return grounds, nil
}

// confirmed returns the number of pages read, for people.
func confirmed(read, missing int) string {
	switch {
	case missing == 0:
		return fmt.Sprintf("%dページを確認", read)
	case read == 0:
		return fmt.Sprintf("検索結果の抜粋を確認（%dページは読み取れませんでした）", missing)
	}
	return fmt.Sprintf("%dページを確認（ほか%dページは読み取れませんでした）", read, missing)
}

// queries returns the model's queries and the usage of that call. If the model fails, the question is the query.
func (g *Grounder) queries(ctx context.Context, req *chat.AnswerRequest) ([]string, llm.Usage, error) {
	if err := g.searches.Budget.Check(ctx, req.Owner.OrganizationID, req.Owner.UserID); err != nil {
		return nil, llm.Usage{}, err
	}
	within, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var said strings.Builder
	today := time.Now().In(japan.Zone)
	result, err := g.searches.Model.Stream(within, llm.Request{
		Model: req.Model.ID, Thinking: new(bool), Params: llm.Params{MaxTokens: queryTokens}, Messages: []llm.Message{
			{Role: llm.RoleSystem, Content: answer.QueryInstructions(today)},
			{Role: llm.RoleUser, Content: answer.QueryPrompt(req.Question.Content, earlier(req))},
		},
	}, func(text string) {
		if said.Len() < 4<<10 {
			said.WriteString(text)
		}
	})
	if err != nil {
		said.Reset()
	}
	return answer.Queries(said.String(), query(req)), result.Usage, ctx.Err()
}

// search returns the results to read, best first. It ignores failed queries unless all fail.
func (g *Grounder) search(ctx context.Context, queries []string) ([]websearch.Result, error) {
	lists, errs := make([][]websearch.Result, len(queries)), make([]error, len(queries))
	var work sync.WaitGroup
	for i, q := range queries {
		work.Go(func() { lists[i], errs[i] = g.searches.Web.Search(ctx, q) })
	}
	work.Wait()
	if !slices.Contains(errs, nil) {
		return nil, errs[0]
	}
	return merge(lists), nil
}

// merge interleaves the first results of several searches, with each page once and a limit for each site.
func merge(lists [][]websearch.Result) (merged []websearch.Result) {
	known, ofSite := make(map[string]bool), make(map[string]int)
	for place := 0; ; place++ {
		left := false
		for _, list := range lists {
			if place >= len(list) {
				continue
			}
			left = true
			r := list[place]
			site := websearch.Site(r.URL)
			if known[r.URL] || ofSite[site] == maxOfSite {
				continue
			}
			known[r.URL] = true
			ofSite[site]++
			if merged = append(merged, r); len(merged) == maxPages {
				return merged
			}
		}
		if !left {
			return merged
		}
	}
}

// page is the text of a page, or the search's excerpt of it.
type page struct {
	websearch.Result

	passages []extract.Passage
}

// read returns the pages of results in their order, and the number of pages that could not be read. For those it
// returns the search's excerpt, unless their address is forbidden. It calls told after each page.
func (g *Grounder) read(ctx context.Context, results []websearch.Result, told func(done int)) (pages []page,
	missing int,
) {
	type outcome struct {
		at   int
		page websearch.Page
		err  error
	}
	outcomes := make(chan outcome, len(results))
	var work sync.WaitGroup
	defer work.Wait()
	for i, r := range results {
		work.Go(func() {
			read, err := g.searches.Web.Read(ctx, r.URL)
			outcomes <- outcome{i, read, err}
		})
	}
	found := make([]page, len(results))
	for done := range results {
		told(done)
		o := <-outcomes
		r := results[o.at]
		switch {
		case o.err == nil && len(o.page.Passages) > 0:
			r.URL, r.Published = o.page.URL, firstDate(r.Published, o.page.Published)
			found[o.at] = page{r, o.page.Passages}
		default:
			missing++
			if r.Snippet != "" && !errors.Is(o.err, dial.ErrForbidden) {
				found[o.at] = page{r, []extract.Passage{{Text: r.Snippet}}}
			}
		}
	}
	known := make(map[string]bool)
	for _, p := range found { // Two results may redirect to one page.
		if len(p.passages) > 0 && !known[p.URL] {
			known[p.URL] = true
			pages = append(pages, p)
		}
	}
	return pages, missing
}

func firstDate(dates ...time.Time) time.Time {
	for _, d := range dates {
		if !d.IsZero() {
			return d
		}
	}
	return time.Time{}
}

// rank selects the most relevant passages, and returns a source for each page with such passages.
func rank(pages []page, query string, budget int) ([]chat.Source, error) {
	packed := make([]index.PackedIndex, len(pages))
	documents := make([]*index.Document, len(pages))
	for i, p := range pages {
		texts := make([]index.Passage, len(p.passages))
		for j, passage := range p.passages {
			texts[j] = index.Passage{Text: passage.Text, Headings: extract.Headings(passage.Locator)}
		}
		packed[i] = index.Build(p.Title, texts)
		var err error
		if documents[i], err = index.Open(packed[i].Head); err != nil {
			return nil, err
		}
	}
	scores, err := index.Collection{
		Documents: documents, Part: func(document, part int) []byte { return packed[document].Parts[part] },
	}.Scores(index.NewQuery(query))
	if err != nil {
		return nil, err
	}
	r := ranking{pages: pages}
	for _, hit := range index.Best(scores, candidates) {
		if len(r.passages) > 0 && hit.Score < tail*r.passages[0].Score {
			break
		}
		r.add(hit.Document, hit.Passage, hit.Score)
	}
	if len(r.passages) == 0 {
		for i, p := range pages {
			for j := range p.passages[:min(len(p.passages), opening)] {
				r.add(i, j, 0)
			}
		}
	}
	return r.sources(answer.Select(r.passages, budget, cost, r.beside)), nil
}

// ranking holds the passages of all pages, most relevant first.
type ranking struct {
	pages    []page
	passages []answer.SourcePassage
}

func (r *ranking) add(document, ordinal int, score float64) {
	r.passages = append(r.passages, r.passage(document, ordinal, score))
}

func (r *ranking) passage(document, ordinal int, score float64) answer.SourcePassage {
	p := r.pages[document]
	return answer.SourcePassage{
		Passage: answer.Passage{
			Filename: p.Title, Site: websearch.Site(p.URL), Date: day(p.Published), Text: p.passages[ordinal].Text,
		},
		Document: document, Ordinal: ordinal, Score: score,
	}
}

// beside returns the passages before and after a passage.
func (r *ranking) beside(f answer.SourcePassage) (list []answer.SourcePassage) {
	for _, ordinal := range []int{f.Ordinal - 1, f.Ordinal + 1} {
		if ordinal >= 0 && ordinal < len(r.pages[f.Document].passages) {
			list = append(list, r.passage(f.Document, ordinal, 0))
		}
	}
	return list
}

// sources returns a source for each page with selected passages, numbered in page order. Its quote is the most relevant
// passage.
func (r *ranking) sources(chosen []answer.SourcePassage) (list []chat.Source) {
	for from := 0; from < len(chosen); {
		to := from
		for to < len(chosen) && chosen[to].Document == chosen[from].Document {
			to++
		}
		of := chosen[from:to]
		p := r.pages[of[0].Document]
		best := slices.MaxFunc(of, func(a, b answer.SourcePassage) int { return cmp.Compare(a.Score, b.Score) })
		list = append(list, chat.Source{
			Citation: chat.Citation{
				Index: len(list) + 1, ChunkEmbeddingID: uuid.NewSHA1(uuid.NameSpaceURL, []byte(p.URL)),
				Filename: p.Title, URL: p.URL, Site: websearch.Site(p.URL), PublishedOn: day(p.Published),
				Score: math.Round(best.Score*100) / 100, Quote: strings.TrimLeft(best.Text, "# "),
			},
			Text: joined(of),
		})
		from = to
	}
	return list
}

// joined joins passages of a page, with a mark for omitted text.
func joined(of []answer.SourcePassage) string {
	var b strings.Builder
	for i, f := range of {
		switch {
		case i == 0:
		case f.Ordinal == of[i-1].Ordinal+1:
			b.WriteString("\n\n")
		default:
			b.WriteString("\n\n……\n\n")
		}
		b.WriteString(f.Text)
	}
	return b.String()
}

// day formats a date for storage and display; "" for the zero time.
func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}
