package ground

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/answer"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/websearch"
)

// asksOfPage reports whether a question is about a page of the browser extension, and not a request for its summary or
// for the explanation of a selection.
func asksOfPage(req *chat.AnswerRequest) bool {
	return req.Question.ParentID != nil || req.Skill.FollowUp().Kind == req.Skill.Kind
}

// pageInProject grounds the answer on a page of the browser extension, and on the most relevant passages of the
// project's data sources. The passages take the part of the context that the page does not need, or a quarter of it.
func (g *Grounder) pageInProject(
	ctx context.Context, req *chat.AnswerRequest, tell func(chat.Step),
) (chat.Grounds, error) {
	if answer.Coverage(req.Question.Content, answer.Passage{}) == 1 {
		return g.page(ctx, req, tell) // The question has no terms to search for.
	}
	step := chat.Step{Kind: chat.StepRetrieval, Status: chat.StatusRunning, Detail: searching(0, true)}
	tell(step)
	s := search{
		sources: together{sources: g.sources}, owner: req.Owner, question: req.Question.Content, query: query(req),
		budget: max(g.context-g.reserve()-tokens(req.Prompt), g.context/4),
	}
	waiting, err := s.searchProject(ctx, req.Project.ID)
	if err != nil {
		return chat.Grounds{}, err
	}
	passages, err := s.choose(ctx)
	if err != nil {
		return chat.Grounds{}, err
	}
	step.Status, step.Detail = chat.StatusSuccess, fmt.Sprintf("プロジェクトのファイルの%dか所を確認", len(passages))
	if len(passages) == 0 {
		step.Detail = "プロジェクトのファイルに、質問に合う箇所はありませんでした"
	}
	step.Detail += states{waiting: waiting}.note()
	tell(step)
	if len(passages) == 0 {
		return g.page(ctx, req, tell)
	}
	reading := *g
	reading.taken = llm.EstimateTokens(fenced(passages) + answer.ProjectPageInstructions)
	grounds, err := reading.page(ctx, req, tell)
	if err != nil || grounds.Answer != "" {
		return grounds, err
	}
	grounds.Prompt, grounds.Sources = numberPages(grounds.Prompt)
	for i := range passages {
		passages[i].Index += len(grounds.Sources)
	}
	for _, source := range s.cited(passages) {
		source.InProject = true
		grounds.Sources = append(grounds.Sources, source)
	}
	grounds.Prompt[0].Content += "\n" + answer.ProjectPageInstructions
	last := &grounds.Prompt[len(grounds.Prompt)-1]
	pages, question := answer.Split(last.Content)
	last.Content = answer.Sources(pages) + fenced(passages) + "\n" + question
	return grounds, nil
}

// numberPages numbers the pages of a prompt, and their parts, from 1. It returns the prompt and the numbered sources. It
// removes the citations of earlier answers, whose numbers have another meaning.
func numberPages(prompt []llm.Message) (numbered []llm.Message, pages []chat.Source) {
	numbered = slices.Clone(prompt)
	for i, m := range numbered {
		switch m.Role {
		case llm.RoleAssistant:
			numbered[i].Content = answer.StripCitations(answer.NeutralizeTags(m.Content))
		case llm.RoleUser:
			passages, rest := answer.Split(m.Content)
			if slices.ContainsFunc(passages, func(p answer.Passage) bool { return !isWebAddress(p.Locator) }) {
				numbered[i].Content = answer.NeutralizeTags(m.Content) // The person has written the tags.
				continue
			}
			for j := range passages {
				passages[j].Index = len(pages) + 1
				pages = append(pages, pageSource(passages[j]))
			}
			numbered[i].Content = answer.Sources(passages) + rest
		}
	}
	return numbered, pages
}

func isWebAddress(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// pageSource returns a page, or a part of it, as a source.
func pageSource(p answer.Passage) chat.Source {
	id := uuid.NewSHA1(uuid.NameSpaceURL, []byte(p.Locator+" "+strconv.Itoa(p.Index)))
	return chat.Source{
		Citation: chat.Citation{
			Index: p.Index, ChunkEmbeddingID: id, Filename: p.Filename, URL: p.Locator, Site: websearch.Site(p.Locator),
		},
		Text: p.Text,
	}
}
