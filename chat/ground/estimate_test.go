package ground_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/internal/webpage"
)

// mustBeCostly sends a question, expects a CostError, and returns the estimate.
func (f *fixture) mustBeCostly(q chat.Question) int {
	f.t.Helper()
	_, err := f.chat.Send(f.t.Context(), f.owner, q)
	costly, ok := errors.AsType[*chat.CostError](err)
	if !ok {
		f.t.Fatalf("%+v: %v", q, err)
	}
	return costly.Tokens
}

// mustAnswer sends a question and returns its complete answer.
func (f *fixture) mustAnswer(q chat.Question) chat.Message {
	f.t.Helper()
	exchange, err := f.chat.Send(f.t.Context(), f.owner, q)
	f.must(err)
	exchange, err = f.chat.WaitFor(f.t.Context(), f.owner, exchange)
	f.must(err)
	return exchange.Answer
}

// TestCostlySummaryIsConfirmed: a summary of many tokens begins after the person has accepted the estimate. Until then
// nothing is stored, counted or sent to the model. A repeated request finds its answer, with or without AcceptTokens.
func TestCostlySummaryIsConfirmed(t *testing.T) {
	t.Parallel()
	model := &noter{noted: make(map[string]int), detail: strings.Repeat("詳", 55)} // One fifth of the text in total.
	f := newFixture(t, summaries(&allowance{left: 1000}), model)
	f.start()
	id, thread := f.read("報告書.md", longText()), f.thread("要約")
	q := chat.Question{
		RequestID: newID(), ThreadID: thread, Content: "要約してください", DataSourceIDs: []uuid.UUID{id},
	}
	tokens := f.mustBeCostly(q)
	q.AcceptTokens = tokens / 3
	f.mustBeCostly(q)
	messages, err := f.chat.ListMessages(t.Context(), f.owner, thread, nil, 0, 10)
	f.must(err)
	if len(messages) != 0 || model.sent != 0 || f.used() != 0 {
		t.Errorf("%d messages are stored, %d tokens sent, %d counted", len(messages), model.sent, f.used())
	}

	q.AcceptTokens = tokens
	answered := f.mustAnswer(q)
	if answered.Status != chat.StatusSuccess || tokens < model.sent*9/10 || tokens > model.sent*11/10 {
		t.Errorf("%d tokens were estimated, %d sent: %s", tokens, model.sent, answered.Status)
	}
	sent := model.sent
	for _, accepted := range []int{0, tokens, 2 * tokens} {
		q.AcceptTokens = accepted
		if again := f.mustAnswer(q); again.ID != answered.ID || model.sent != sent {
			t.Errorf("repeated with %d tokens: %+v", accepted, again)
		}
	}

	// Stored notes cost nothing, so no confirmation is needed. Notes of another model are not used.
	edit := chat.Question{RequestID: newID(), ThreadID: thread, Content: "三点で", Edit: answered.ParentID}
	regenerate := chat.Question{RequestID: newID(), ThreadID: thread, Regenerate: &answered.ID}
	f.mustAnswer(edit)
	f.mustAnswer(regenerate)
	cfg := summaries(&allowance{left: 1000})
	cfg.Summaries.Name = "another"
	f.chat = f.serve(cfg, model)
	for _, q := range []chat.Question{edit, regenerate} {
		q.RequestID = newID()
		if again := f.mustBeCostly(q); again < tokens*9/10 || again > tokens*11/10 {
			t.Errorf("%d tokens, of another model %d", tokens, again)
		}
	}
	if _, err := f.chat.Send(t.Context(), f.owner, chat.Question{
		RequestID: newID(), ThreadID: thread, Content: "要約", AcceptTokens: -1,
	}); err == nil {
		t.Error("less than no tokens are accepted")
	}
}

// TestCostlyThreadIsNotStarted: StartThread creates no thread without confirmation. The same request with AcceptTokens
// creates it.
func TestCostlyThreadIsNotStarted(t *testing.T) {
	t.Parallel()
	f := newFixture(t, summaries(&allowance{left: 1000}), &noter{noted: make(map[string]int)})
	f.start()
	id := f.read("報告書.md", longText())
	before, err := f.chat.ListThreads(t.Context(), f.owner, chat.ThreadFilter{}, 0, 10)
	f.must(err)
	start := func(accepted int) (chat.Exchange, error) {
		return f.chat.StartThread(t.Context(), f.owner, chat.NewThread{SkillID: f.skills["要約"]}, chat.Question{
			RequestID: id, Content: "要約してください", DataSourceIDs: []uuid.UUID{id}, AcceptTokens: accepted,
		})
	}
	_, err = start(0)
	costly, ok := errors.AsType[*chat.CostError](err)
	if !ok || costly.Tokens <= chat.ConfirmTokens {
		t.Fatalf("%+v, %v", costly, err)
	}
	after, err := f.chat.ListThreads(t.Context(), f.owner, chat.ThreadFilter{}, 0, 10)
	f.must(err)
	if len(after) != len(before) {
		t.Errorf("%d threads, then %d", len(before), len(after))
	}
	exchange, err := start(costly.Tokens)
	f.must(err)
	if again, err := start(0); err != nil || again.Answer.ID != exchange.Answer.ID {
		t.Errorf("repeated: %+v, %v", again, err)
	}
}

// TestCostlyPageIsConfirmed: a long page needs a confirmation with a small model; a follow-up question does not.
func TestCostlyPageIsConfirmed(t *testing.T) {
	t.Parallel()
	f, model := newPages(t)
	model.detail = strings.Repeat("詳", 55)
	text, _ := webpage.Truncate(textOf(600))
	thread := f.thread("ページの要約")
	q := f.ofPage(thread, webpage.Request{Kind: skill.KindPageWholeSummary, Text: text})
	q.AcceptTokens = f.mustBeCostly(q)
	f.mustAnswer(q)
	if tokens := q.AcceptTokens; tokens < model.sent*8/10 || tokens > model.sent*12/10 {
		t.Errorf("%d tokens were estimated, %d sent", tokens, model.sent)
	}
	f.mustAnswer(f.ofPage(thread, further("経緯は？")))
}
