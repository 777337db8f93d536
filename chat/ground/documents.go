package ground

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/answer"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
)

const (
	// maxPassages is the maximum number of passages in a prompt.
	maxPassages = 300

	candidates  = 30    // Number of retrieved passages.
	maxHeadings = 5     // Headings listed if no passage is relevant.
	leastBudget = 1_500 // Minimum tokens for passages, even with a long question.

	// Passages whose score is less than tail times the best score are dropped. On JSQuAD, with 15 articles searched,
	// 99.65 % of the questions keep their passage (as with 0.2), and 7 passages remain on average.
	tail = 0.3

	// If no passage covers at least this share of a question's terms, no passage is relevant. On JSQuAD this applies to
	// 37 % of the questions if their article is not searched, and to 0.2 % if it is.
	least = 0.25
)

// documents grounds the answer on the data sources of its question: on their whole text if it fits into the model's
// context, else on the most relevant passages.
func (g *Grounder) documents(ctx context.Context, req *chat.AnswerRequest, tell func(chat.Step)) (chat.Grounds, error) {
	s, states, files, err := g.newSearch(ctx, req, req.Question.Content, query(req))
	if err != nil {
		return chat.Grounds{}, err
	}
	tellMissing(req.Skill.MissingDocuments+states.unread(req.Skill.Documents), tell)
	step := chat.Step{Kind: chat.StepRetrieval, Status: chat.StatusSuccess}
	if len(s.ready)+len(s.project) == 0 && len(req.Question.DataSourceIDs) == 0 {
		if len(states.waiting) > 0 {
			step.Detail = "使えるファイルがありません" + states.note()
			tell(step)
		}
		return chat.Grounds{Prompt: req.Prompt}, nil
	}
	if len(s.ready)+len(s.project) == 0 {
		step.Detail = "使えるファイルがありません" + states.note()
		tell(step)
		return chat.Grounds{Answer: states.unusable()}, nil
	}
	tell(chat.Step{
		Kind: chat.StepRetrieval, Status: chat.StatusRunning,
		Detail: searching(files, req.Project != nil),
	})
	prompt := conversation(req.Prompt, g.context/2)
	s.budget = max(g.context-g.reserve()-tokens(prompt), leastBudget)
	passages, err := s.choose(ctx)
	switch {
	case err != nil:
		return chat.Grounds{}, err
	case len(passages) == 0 && len(req.Question.DataSourceIDs) == 0:
		// No passage of the project and of the skill's documents is relevant; the model answers without them.
		step.Detail = "スキルのファイルに、質問に合う箇所はありませんでした"
		if req.Project != nil {
			step.Detail = "プロジェクトのファイルに、質問に合う箇所はありませんでした"
		}
		tell(step)
		return chat.Grounds{Prompt: req.Prompt}, nil
	case len(passages) == 0 && len(req.Question.Pictures) > 0: // The pictures may contain the answer.
		step.Detail = "ファイルに、質問に合う箇所はありませんでした" + states.note()
		tell(step)
		return chat.Grounds{Prompt: prompt}, nil
	case len(passages) == 0 && req.HasTool(tool.SearchDocuments): // The model may search for other words.
		step.Detail = "質問に合う箇所はありませんでした" + states.note()
		tell(step)
		return chat.Grounds{Prompt: withSources(prompt, answer.Instructions, "")}, nil
	case len(passages) == 0:
		step.Detail = "質問に合う箇所はありませんでした" + states.note()
		tell(step)
		return chat.Grounds{Answer: answer.NoPassages(s.headings)}, nil
	}
	step.Detail = fmt.Sprintf("%dか所を確認", len(passages)) + states.note()
	if s.whole {
		step.Detail = fmt.Sprintf("%d件のファイルの全文を確認", len(states.ready)) + states.note()
	}
	tell(step)
	return chat.Grounds{
		Prompt: withSources(prompt, answer.Instructions, fenced(passages)), Sources: s.marked(passages),
	}, nil
}

// newSearch returns the search for a question in the data sources that an answer may use, their states, and the number
// of files that are not found by the project.
func (g *Grounder) newSearch(ctx context.Context, req *chat.AnswerRequest, question, query string) (
	s search, of states, files int, err error,
) {
	sources, ids := newTogether(g.sources, req)
	found, err := sources.findAll(ctx, req.Owner, ids)
	if err != nil {
		return s, of, 0, err
	}
	of = byState(found)
	of.waiting, of.failed = sources.open(of.waiting), sources.open(of.failed)
	s = search{
		sources: sources, owner: req.Owner, ready: of.ready, question: question, query: query, veiled: sources.veiled,
	}
	files = len(s.ready)
	if req.Project != nil {
		var waiting []datasource.Source
		waiting, err = s.searchProject(ctx, req.Project.ID)
		of.waiting = append(of.waiting, waiting...)
	}
	return s, of, files, err
}

// searching returns the detail of the step during the search.
func searching(files int, project bool) string {
	switch {
	case !project:
		return fmt.Sprintf("%d件のファイルを検索中", files)
	case files == 0:
		return "プロジェクトのファイルを検索中"
	default:
		return fmt.Sprintf("プロジェクトのファイルと、%d件のファイルを検索中", files)
	}
}

// reserve returns the number of context tokens reserved for the answer and for errors of the estimates.
func (g *Grounder) reserve() int { return min(g.context/4, 8_000) }

// conversation returns a prompt without the oldest messages of its history, so that it fits into limit tokens.
func conversation(prompt []llm.Message, limit int) []llm.Message {
	first, last := prompt[0], questionAt(prompt)
	from := 1
	for from < last && tokens(prompt[from:])+tokens(prompt[:1]) > limit {
		from++
	}
	for from < last && prompt[from].Role != llm.RoleUser { // A conversation must begin with a question.
		from++
	}
	return append([]llm.Message{first}, prompt[from:]...)
}

// withSources returns a prompt with documents, or notes of them, before the question. instructions tell the model how
// to use them.
func withSources(prompt []llm.Message, instructions, documents string) []llm.Message {
	prompt = slices.Clone(prompt)
	for i, m := range prompt {
		switch m.Role {
		case llm.RoleSystem:
			prompt[i].Content = m.Content + "\n" + instructions
		case llm.RoleAssistant:
			prompt[i].Content = answer.StripCitations(answer.NeutralizeTags(m.Content))
		default:
			prompt[i].Content = answer.NeutralizeTags(m.Content)
		}
	}
	question := &prompt[questionAt(prompt)]
	question.Content = documents + "\n" + question.Content
	return prompt
}

// fenced formats passages for the prompt.
func fenced(passages []answer.SourcePassage) string {
	list := make([]answer.Passage, len(passages))
	for i, p := range passages {
		list[i] = p.Passage
	}
	return answer.Sources(list)
}

// query returns the search query for the question.
func query(req *chat.AnswerRequest) string { return answer.Query(req.Question.Content, earlier(req)) }

// earlier returns the person's earlier questions, newest first.
func earlier(req *chat.AnswerRequest) (questions []string) {
	for _, m := range slices.Backward(req.History) {
		if m.Role == chat.RoleUser {
			questions = append(questions, m.Content)
		}
	}
	return questions
}

// search selects passages for a question.
type search struct {
	sources  together
	owner    identity.Owner
	ready    []datasource.Source
	project  []datasource.RetrievedPassage // The passages found in a large project, best first.
	small    map[uuid.UUID]bool            // The ready data sources of a small project.
	question string
	query    string
	budget   int                  // Maximum tokens of all passages.
	veiled   func(uuid.UUID) bool // Reports whether the name of a data source is hidden. Nil hides none.
	best     bool                 // Select the most relevant passages, even if all of them fit into the budget.

	passages map[string]datasource.Passage // Passages read so far, by id.
	whole    bool                          // All passages were selected.
	headings []string                      // The headings of the nearest passages, if none is relevant.
}

// choose returns the passages for the prompt in document order. It returns none if no passage is relevant.
func (s *search) choose(ctx context.Context) ([]answer.SourcePassage, error) {
	s.passages = make(map[string]datasource.Passage)
	var retrieved []datasource.RetrievedPassage
	if len(s.ready) > 0 {
		var err error
		if retrieved, err = s.sources.retrieve(ctx, s.owner, s.ids(), s.query, candidates); err != nil {
			return nil, err
		}
	}
	retrieved = s.withProject(retrieved)
	scores := make(map[uuid.UUID]float64, len(retrieved))
	for _, r := range retrieved {
		scores[r.ID] = r.Score
	}
	if len(s.project)+len(s.small) == 0 && !s.best {
		if all, err := s.all(ctx, scores); all != nil || err != nil {
			return all, err
		}
	}
	passages, beside := s.found(retrieved)
	if len(passages) == 0 && answer.Coverage(s.question, answer.Passage{}) == 1 {
		// The question has no terms to search for, such as 要点は？
		var err error
		if passages, err = s.beginnings(ctx); err != nil {
			return nil, err
		}
	} else if !slices.ContainsFunc(passages, func(f answer.SourcePassage) bool {
		return answer.Coverage(s.question, f.Passage) >= least
	}) {
		s.headings = headings(slices.DeleteFunc(passages, func(f answer.SourcePassage) bool {
			return s.veiled != nil && s.veiled(s.passages[f.ID].SourceID)
		}))
		return nil, nil
	}
	return answer.Select(passages, s.budget, cost, beside), nil
}

// withProject adds the passages found in the project, without passages that were found before.
func (s *search) withProject(retrieved []datasource.RetrievedPassage) []datasource.RetrievedPassage {
	for _, p := range s.project {
		if !slices.ContainsFunc(retrieved, func(r datasource.RetrievedPassage) bool { return r.ID == p.ID }) {
			retrieved = append(retrieved, p)
		}
	}
	slices.SortStableFunc(retrieved, func(a, b datasource.RetrievedPassage) int { return cmp.Compare(b.Score, a.Score) })
	return retrieved
}

// searchProject searches a project. The data sources of a small project are added to those of the search. It returns
// the unread ones.
func (s *search) searchProject(ctx context.Context, id uuid.UUID) (waiting []datasource.Source, err error) {
	found, ok, err := s.sources.sources.SmallProject(ctx, s.owner, id)
	if err != nil {
		return nil, err
	}
	if !ok {
		s.project, err = s.sources.sources.SearchProject(ctx, s.owner, id, s.query, candidates)
		return nil, err
	}
	states := byState(found)
	s.small = make(map[uuid.UUID]bool)
	ids := s.ids()
	for _, source := range states.ready {
		s.small[source.ID] = true
		if !slices.Contains(ids, source.ID) {
			s.ready = append(s.ready, source)
		}
	}
	return states.waiting, nil
}

// inProject reports whether a data source was searched because it is in the project.
func (s *search) inProject(id uuid.UUID) bool {
	return s.small[id] || slices.ContainsFunc(s.project, func(p datasource.RetrievedPassage) bool { return p.SourceID == id })
}

// document returns the position of a data source: first the ready ones, then those of the project as found.
func (s *search) document(id uuid.UUID) int {
	if i := slices.IndexFunc(s.ready, func(source datasource.Source) bool { return source.ID == id }); i >= 0 {
		return i
	}
	return len(s.ready) + slices.IndexFunc(s.project, func(p datasource.RetrievedPassage) bool { return p.SourceID == id })
}

func (s *search) ids() []uuid.UUID {
	ids := make([]uuid.UUID, len(s.ready))
	for i, source := range s.ready {
		ids[i] = source.ID
	}
	return ids
}

// all returns all passages if they fit into the budget, else nil.
func (s *search) all(ctx context.Context, scores map[uuid.UUID]float64) ([]answer.SourcePassage, error) {
	count := 0
	for _, source := range s.ready {
		count += source.ChunkCount
	}
	if count > maxPassages {
		return nil, nil
	}
	passages, err := s.sources.firstPassages(ctx, s.owner, s.ready, maxPassages)
	if err != nil {
		return nil, err
	}
	all := make([]answer.SourcePassage, len(passages))
	left := s.budget
	for i, p := range passages {
		all[i] = s.read(p, scores[p.ID])
		all[i].Index = i + 1
		if left -= cost(all[i].Passage); left < 0 {
			return nil, nil
		}
	}
	s.whole = true
	return all, nil
}

// found returns the search results without irrelevant ones, best first, and the neighbours of each.
func (s *search) found(retrieved []datasource.RetrievedPassage) (passages []answer.SourcePassage,
	beside func(answer.SourcePassage) []answer.SourcePassage,
) {
	near := make(map[string][]answer.SourcePassage)
	for _, r := range retrieved {
		if r.Score < tail*retrieved[0].Score {
			break
		}
		f := s.read(r.Passage, r.Score)
		passages = append(passages, f)
		for _, p := range []*datasource.Passage{r.Before, r.After} {
			if p != nil {
				near[f.ID] = append(near[f.ID], s.read(*p, 0))
			}
		}
	}
	return passages, func(f answer.SourcePassage) []answer.SourcePassage { return near[f.ID] }
}

// beginnings returns the first passages of the documents, alternating between the documents.
func (s *search) beginnings(ctx context.Context) ([]answer.SourcePassage, error) {
	passages, err := s.sources.firstPassages(ctx, s.owner, s.ready, candidates)
	found := make([]answer.SourcePassage, len(passages))
	for i, p := range passages {
		found[i] = s.read(p, 0)
	}
	slices.SortStableFunc(found, func(a, b answer.SourcePassage) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return found, err
}

// read records a passage that was read.
func (s *search) read(p datasource.Passage, score float64) answer.SourcePassage {
	id := p.ID.String()
	s.passages[id] = p
	return answer.SourcePassage{
		Passage: answer.Passage{Filename: p.Filename, Page: p.Page, Locator: p.Locator, Text: p.Text}, ID: id,
		Document: s.document(p.SourceID), Ordinal: p.Ordinal, Score: score,
	}
}

// cited converts passages to the sources of an answer.
func (s *search) cited(passages []answer.SourcePassage) []chat.Source {
	list := make([]chat.Source, len(passages))
	for i, f := range passages {
		p := s.passages[f.ID]
		list[i] = chat.Source{
			Citation: chat.Citation{
				Index: f.Index, ChunkEmbeddingID: p.ID, DataSourceID: p.SourceID, Filename: p.Filename, Page: p.Page,
				Locator: p.Locator, Score: math.Round(f.Score*100) / 100,
			},
			Text: p.Text,
		}
	}
	return list
}

// marked returns the sources of passages with their readers.
func (s *search) marked(passages []answer.SourcePassage) []chat.Source {
	list := s.cited(passages)
	for i := range list {
		list[i].Hidden = s.veiled(list[i].DataSourceID)
		list[i].InProject = s.inProject(list[i].DataSourceID)
	}
	return list
}

// cost estimates the number of tokens of a passage in the prompt.
func cost(p answer.Passage) int {
	p.Index = maxPassages
	return llm.EstimateTokens(answer.Sources([]answer.Passage{p}))
}

// headings returns the distinct headings of passages.
func headings(passages []answer.SourcePassage) (list []string) {
	for _, f := range passages {
		heading := f.Filename
		if f.Locator != "" {
			heading += " " + f.Locator
		}
		if !slices.Contains(list, heading) && len(list) < maxHeadings {
			list = append(list, heading)
		}
	}
	return list
}

// states groups data sources by their status.
type states struct{ ready, waiting, failed []datasource.Source }

func byState(found []datasource.Source) (s states) {
	for _, source := range found {
		switch source.Status {
		case datasource.Success:
			s.ready = append(s.ready, source)
		case datasource.Failed:
			s.failed = append(s.failed, source)
		default:
			s.waiting = append(s.waiting, source)
		}
	}
	return s
}

// unread counts the documents that are not among the ready data sources.
func (s states) unread(documents []skill.Document) (n int) {
	for _, d := range documents {
		if !slices.ContainsFunc(s.ready, func(source datasource.Source) bool { return source.ID == d.ID }) {
			n++
		}
	}
	return n
}

// tellMissing reports a StepSkillDocuments for n missing documents if n > 0.
func tellMissing(n int, tell func(chat.Step)) {
	if n == 0 {
		return
	}
	tell(chat.Step{
		Kind: chat.StepSkillDocuments, Status: chat.StatusFailed, Detail: fmt.Sprintf(
			"このスキルのファイル%d件が、削除されたか読み取れないため、この回答はその内容に基づいていません。", n),
	})
}

// note lists the data sources that could not be used.
func (s states) note() string {
	var notes []string
	if len(s.waiting) > 0 {
		notes = append(notes, "読み取り中："+names(s.waiting))
	}
	if len(s.failed) > 0 {
		notes = append(notes, "読み取れないファイル："+names(s.failed))
	}
	if len(notes) == 0 {
		return ""
	}
	return "（" + strings.Join(notes, "、") + "）"
}

func names(of []datasource.Source) string {
	list := make([]string, len(of))
	for i, source := range of {
		list[i] = source.Filename
	}
	return strings.Join(list, "、")
}

// unusable is the answer if no data source can be used.
func (s states) unusable() string {
	var b strings.Builder
	switch {
	case len(s.waiting) > 0:
		b.WriteString("選択されたファイルは、まだ読み取り中です。読み取りが終わってから、もう一度お試しください。\n\n")
	case len(s.failed) > 0:
		b.WriteString("選択されたファイルは読み取れなかったため、回答に使えませんでした。\n\n")
	default:
		return "選択されたファイルは、すでに削除されています。別のファイルを選んで、もう一度お試しください。"
	}
	for _, source := range s.waiting {
		fmt.Fprintf(&b, "- %s（読み取り中）\n", answer.EscapeMarkdown(source.Filename))
	}
	for _, source := range s.failed {
		fmt.Fprintf(&b, "- %s：%s\n", answer.EscapeMarkdown(source.Filename), answer.EscapeMarkdown(source.Failure))
	}
	return b.String()
}
