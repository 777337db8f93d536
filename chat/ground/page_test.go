package ground_test

import (
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/project"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/internal/webpage"
)

// smallContext is the context size of some small models, much less than a long page.
const smallContext = 8_000

// askOfPage asks about a page, as the browser extension does, and accepts any cost.
func (f *fixture) askOfPage(thread uuid.UUID, r webpage.Request) chat.Message {
	f.t.Helper()
	q := f.ofPage(thread, r)
	q.AcceptTokens = math.MaxInt
	exchange, err := f.chat.Send(f.t.Context(), f.owner, q)
	f.must(err)
	exchange, err = f.chat.WaitFor(f.t.Context(), f.owner, exchange)
	f.must(err)
	return exchange.Answer
}

// ofPage returns a question about a page.
func (f *fixture) ofPage(thread uuid.UUID, r webpage.Request) chat.Question {
	f.t.Helper()
	r.URL, r.Title = "https://example.jp/terms", "長い約款"
	q, err := r.Question()
	f.must(err)
	return chat.Question{RequestID: newID(), ThreadID: thread, Content: q.Content, Prompt: q.Prompt}
}

func further(question string) webpage.Request {
	return webpage.Request{
		Kind: skill.KindPageWholeSummaryFollowUp, IsFollowUp: true,
		Messages: []webpage.Message{{Role: "user", Content: question}},
	}
}

// newPages returns a server with a small model that takes notes.
func newPages(t *testing.T) (*fixture, *noter) {
	t.Helper()
	model := &noter{noted: make(map[string]int)}
	cfg := summaries(&allowance{left: 10_000})
	cfg.ContextTokens = smallContext
	return newFixture(t, cfg, model), model
}

// lastRequest returns the model's last request, and fails the test if the request exceeds the model's context.
func (n *noter) lastRequest(t *testing.T) []llm.Message {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	total := 0
	for _, m := range n.last {
		total += llm.EstimateTokens(m.Content)
	}
	if total > smallContext {
		t.Errorf("the model was sent %d tokens of %d", total, smallContext)
	}
	return n.last
}

// TestPageLargerThanTheContext: the model notes a long page part by part. Questions about the page use these notes
// without repeating them, and the most relevant parts.
func TestPageLargerThanTheContext(t *testing.T) {
	t.Parallel()
	f, model := newPages(t)
	text, left := webpage.Truncate(textOf(880) + "解約手数料は、契約から二年以内の解約に限り、一万円とする。")
	if utf8.RuneCountInString(text) < webpage.MaxText-10_000 {
		t.Fatal("the page is short")
	}
	thread := f.thread("ページの要約")
	answered := f.askOfPage(thread, webpage.Request{Kind: skill.KindPageWholeSummary, Text: text})
	parts, again := model.counted()
	if answered.Status != chat.StatusSuccess || left != 0 || parts < 40 || again != 0 || answered.Content != "以上です。" {
		t.Fatalf("%d parts, %d again: %+v %+v", parts, again, answered, answered.Failure)
	}
	if len(answered.Citations) != 0 || len(answered.Steps) != 1 || answered.Steps[0].Kind != chat.StepSummarize ||
		!strings.HasPrefix(answered.Steps[0].Detail, "ページ全体を確認（") {
		t.Errorf("answered %+v", answered)
	}
	sent := model.lastRequest(t)
	if told := sent[1].Content; strings.Contains(told, "<source ") || !strings.Contains(told, "- 事実0である") ||
		!strings.HasSuffix(told, "このページを要約してください。") || !strings.Contains(sent[0].Content, "<notes>") {
		t.Errorf("the model was told %.500s", told)
	}

	for range 2 {
		answered = f.askOfPage(thread, further("解約手数料はいくらですか？"))
		if now, again := model.counted(); answered.Status != chat.StatusSuccess || now != parts || again != 0 {
			t.Errorf("%d parts, %d were noted again: %+v", now, again, answered.Failure)
		}
		sent = model.lastRequest(t)
		if page := sent[1].Content; !strings.Contains(page, "一万円とする。\n</source>") ||
			!strings.Contains(page, "<notes ") || sent[len(sent)-1].Content != "解約手数料はいくらですか？" {
			t.Errorf("the model was told %.500s … %q", page, sent[len(sent)-1].Content)
		}
	}
}

// TestLongPageInAProject: a page that would fit without the passages of a project is shortened, so that both fit into
// the model's context. Their numbers are consecutive.
func TestLongPageInAProject(t *testing.T) {
	t.Parallel()
	f, model := newPages(t)
	f.start()
	var file strings.Builder
	for i := range 60 {
		fmt.Fprintf(&file, "# 第%d条\n\n解約手数料の例外%dは、%sとする。\n\n", i, i, strings.Repeat("解約の届け出による免除", 20))
	}
	source := f.read("例外.md", file.String())
	projects := project.NewService(f.db, project.Config{}, slog.New(slog.DiscardHandler))
	actor := identity.Actor{User: identity.User{ID: f.owner.UserID, OrganizationID: f.owner.OrganizationID}}
	p, err := projects.Create(t.Context(), actor, newID(), project.Draft{Name: "約款"})
	f.must(err)
	_, err = projects.ShareSources(t.Context(), actor, p.ID, []uuid.UUID{source})
	f.must(err)
	thread, err := f.chat.CreateThread(t.Context(), f.owner, chat.NewThread{
		SkillID: f.skills["ページへの質問"], ProjectID: &p.ID, Title: "題",
	})
	f.must(err)
	first := further("解約手数料の例外は？")
	const fee = "解約手数料は、契約から二年以内の解約に限り、一万円とする。"
	n := 1
	for llm.EstimateTokens(textOf(n)+fee) < smallContext/2 {
		n++
	}
	first.IsFollowUp, first.Text = false, textOf(n)+fee
	for i, r := range []webpage.Request{first, further("解約手数料はいくらですか？")} {
		answered := f.askOfPage(thread.ID, r)
		sent := model.lastRequest(t)
		page, last := sent[1].Content, sent[len(sent)-1].Content
		pages := strings.Count(page, `filename="長い約款"`)
		passages := strings.Count(last, `filename="例外.md"`)
		total := 0
		for _, m := range sent {
			total += llm.EstimateTokens(m.Content)
		}
		if total > smallContext*3/4 {
			t.Errorf("question %d: %d tokens leave no room for the answer", i, total)
		}
		if answered.Status != chat.StatusSuccess || pages == 0 || passages < 2 || !strings.Contains(page, "<notes") ||
			!strings.Contains(last, fmt.Sprintf(`<source index="%d" filename="例外.md"`, pages+1)) {
			t.Errorf("question %d: %d pages, %d passages: %+v\n%.300s\n%.300s", i, pages, passages, answered, page, last)
		}
	}
}

// TestPageIsKeptInALongConversation: if page and conversation together exceed the context, the page is still
// sent.
func TestPageIsKeptInALongConversation(t *testing.T) {
	t.Parallel()
	f, model := newPages(t)
	thread := f.thread("ページの要約")
	page := strings.Repeat("約款の本文が続く。", 350) + "解約手数料は一万円とする。"
	f.askOfPage(thread, webpage.Request{Kind: skill.KindPageWholeSummary, Text: page})
	for i := range 5 {
		f.askOfPage(thread, further(fmt.Sprintf("%d番目の質問。%s", i, strings.Repeat("背景の説明。", 150))))
	}
	sent := model.lastRequest(t)
	if parts, _ := model.counted(); parts != 0 || !strings.Contains(sent[1].Content, page) || len(sent) < 5 ||
		!strings.HasPrefix(sent[len(sent)-3].Content, "3番目") || !strings.HasPrefix(sent[len(sent)-1].Content, "4番目") {
		t.Errorf("%d parts were noted, the model was sent %d messages: %.200s", parts, len(sent), sent[1].Content)
	}
	for i, m := range sent[1:] {
		if want := []llm.Role{llm.RoleUser, llm.RoleAssistant}[i%2]; m.Role != want {
			t.Errorf("message %d is by %s", i, m.Role)
		}
	}
}

// TestPageAfterALongAnswer: the question after a long answer is sent with the page and without history.
func TestPageAfterALongAnswer(t *testing.T) {
	t.Parallel()
	f, model := newPages(t)
	model.more = strings.Repeat("長い説明。", 300)
	thread := f.thread("ページの要約")
	f.askOfPage(thread, webpage.Request{Kind: skill.KindPageWholeSummary, Text: textOf(14)})
	f.askOfPage(thread, further("手数料は？"))
	if sent := model.lastRequest(t); len(sent) != 2 || !strings.HasSuffix(sent[1].Content, "</source>\n手数料は？") ||
		!strings.Contains(sent[1].Content, "事実13。") {
		t.Errorf("the model was sent %d messages: %.300s", len(sent), sent[1].Content)
	}
}

// TestSelectionIsNotShortened: the rest of the page is dropped instead, and a selection larger than the context is
// refused.
func TestSelectionIsNotShortened(t *testing.T) {
	t.Parallel()
	f, model := newPages(t)
	selected := strings.Repeat("選択した条文。", 500)
	answered := f.askOfPage(f.thread("やさしく説明"),
		webpage.Request{Kind: skill.KindEasyExplain, Selection: selected, Text: longText()})
	if sent := model.lastRequest(t); answered.Status != chat.StatusSuccess || !strings.Contains(sent[1].Content, selected) ||
		strings.Contains(sent[1].Content, "事実0") || !strings.Contains(answered.Steps[0].Detail, "選択した文章だけを確認") {
		t.Errorf("answered %+v %+v", answered, answered.Failure)
	}
	answered = f.askOfPage(f.thread("やさしく説明"),
		webpage.Request{Kind: skill.KindEasyExplain, Selection: strings.Repeat("選択した条文。", 1500)})
	if answered.Status != chat.StatusFailed || answered.Failure.Code != string(llm.CodeContextLength) ||
		answered.Failure.Retryable || !strings.Contains(answered.Failure.Detail, "選択する範囲") {
		t.Errorf("answered %+v %+v", answered, answered.Failure)
	}
	if parts, _ := model.counted(); parts != 0 {
		t.Errorf("%d parts were noted", parts)
	}
}
