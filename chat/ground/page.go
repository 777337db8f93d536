package ground

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/answer"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// page grounds the answer on a page of the browser extension, which precedes the first question. It uses the page's
// whole text if that fits into the model's context. Otherwise it uses notes of all parts and, for a question, the most
// relevant parts. A selection within the page is never shortened.
func (g *Grounder) page(
	ctx context.Context, req *chat.AnswerRequest, tell func(chat.Step),
) (grounds chat.Grounds, err error) {
	limit := g.context - g.reserve() - g.taken
	if tokens(req.Prompt) <= limit {
		return chat.Grounds{Prompt: req.Prompt}, nil
	}
	last := questionAt(req.Prompt)
	prompt := opened(req.Prompt, max(limit-tokens(req.Prompt[:2])-tokens(req.Prompt[last:]), g.context/6))
	if tokens(prompt) <= limit {
		return chat.Grounds{Prompt: prompt}, nil
	}
	at, kept, rest := longestPage(prompt)
	if req.Skill.FollowUp().Kind == skill.KindEasyExplanationFollowUp {
		if len(kept) > 1 { // The page that contains the selection.
			prompt[at].Content = answer.Sources(kept[:1]) + rest
			tell(chat.Step{
				Kind: chat.StepSummarize, Status: chat.StatusSuccess, Detail: "選択した文章だけを確認（ページの全文は長いため除外）",
			})
		}
		return g.unshortened(prompt)
	}
	if len(kept) == 0 {
		return g.unshortened(prompt)
	}
	longest := slices.MaxFunc(kept, func(a, b answer.Passage) int { return cmp.Compare(len(a.Text), len(b.Text)) })
	kept = slices.DeleteFunc(kept, func(p answer.Passage) bool { return p == longest })

	prompt[0].Content += "\n" + answer.PageInstructions
	prompt[at].Content = answer.Sources(kept) + rest
	budget := max(limit-tokens(prompt), leastBudget)
	parts := partsOf(longest)
	if req.Question.ParentID != nil || req.Skill.Kind != skill.KindPageWholeSummary {
		for _, f := range fitting(parts, req.Question.Content, budget/2) {
			f.Locator = longest.Locator
			kept = append(kept, f.Passage)
			budget -= cost(f.Passage)
		}
	}
	notes, calls, err := g.condense(ctx, req, parts, budget, tell)
	grounds.Usage = calls.usage
	if err != nil {
		return grounds, calls.failure(err)
	}
	tell(chat.Step{
		Kind: chat.StepSummarize, Status: chat.StatusSuccess, Detail: fmt.Sprintf("ページ全体を確認（%d区分）", calls.total),
	})
	if notes.Text == "" && len(kept) == 0 {
		grounds.Answer = "このページには、回答に使える内容が見つかりませんでした。ページの内容をご確認ください。"
		return grounds, nil
	}
	for i := range kept {
		kept[i].Index = i + 1
	}
	prompt[at].Content = answer.Sources(kept) + answer.StripCitations(notes.Text) + rest
	sent, err := g.unshortened(prompt)
	grounds.Prompt = sent.Prompt
	return grounds, err
}

// unshortened returns a prompt of which nothing may be dropped, or refuses it if it is too long. Some model servers
// truncate long prompts without an error.
func (g *Grounder) unshortened(prompt []llm.Message) (chat.Grounds, error) {
	if tokens(prompt)+g.taken > g.context {
		return chat.Grounds{}, fault.Errorf(llm.CodeContextLength,
			"文章が長すぎて、AIモデルが一度に読み取れません。選択する範囲や質問を短くして、もう一度お試しください。")
	}
	return chat.Grounds{Prompt: prompt}, nil
}

// opened drops the oldest messages between the first question, which holds the page, and the last question until the
// prompt fits into limit tokens. If no message is left between them, the last question receives the page.
func opened(prompt []llm.Message, limit int) []llm.Message {
	last := questionAt(prompt)
	if last < 2 {
		return slices.Clone(prompt)
	}
	from := 2
	for from < last && (tokens(prompt[from:last]) > limit || prompt[from].Role == llm.RoleUser) {
		from++
	}
	if from < last {
		return slices.Concat(prompt[:2], prompt[from:])
	}
	passages, _ := answer.Split(prompt[1].Content)
	question := prompt[last]
	question.Content = answer.Sources(passages) + question.Content
	return append([]llm.Message{prompt[0], question}, prompt[last+1:]...)
}

// longestPage returns the index of the question, first or last, with the longer page, the passages of that page, and
// the text after them.
func longestPage(prompt []llm.Message) (at int, passages []answer.Passage, rest string) {
	last := questionAt(prompt)
	passages, rest = answer.Split(prompt[1].Content)
	later, after := answer.Split(prompt[last].Content)
	if len(prompt[last].Content)-len(after) > len(prompt[1].Content)-len(rest) {
		return last, later, after
	}
	return 1, passages, rest
}

// partsOf splits the text of a page into passages.
func partsOf(page answer.Passage) []answer.SourcePassage {
	passages := extract.Split([]extract.Page{{Number: 1, Text: page.Text}})
	parts := make([]answer.SourcePassage, len(passages))
	for i, p := range passages {
		parts[i] = answer.SourcePassage{
			Passage: answer.Passage{Filename: page.Filename, Locator: p.Locator, Text: p.Text}, ID: strconv.Itoa(i), Ordinal: i,
		}
	}
	return parts
}

// fitting returns the most relevant parts of a page in page order, within a token budget. It returns none for a
// question without search terms.
func fitting(parts []answer.SourcePassage, question string, budget int) []answer.SourcePassage {
	if answer.Coverage(question, answer.Passage{}) == 1 {
		return nil
	}
	var passages []answer.SourcePassage
	for _, f := range parts {
		f.Score = answer.Coverage(question, answer.Passage{Locator: f.Locator, Text: f.Text})
		if f.Score >= least {
			passages = append(passages, f)
		}
	}
	slices.SortStableFunc(passages, func(a, b answer.SourcePassage) int { return cmp.Compare(b.Score, a.Score) })
	return answer.Select(passages, budget, cost, func(answer.SourcePassage) []answer.SourcePassage { return nil })
}
