package ground_test

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/chat/ground"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/offline"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// noter is a model whose notes contain the fact of each source and of every fourth note. Its summaries cite the first
// three.
type noter struct {
	before func(ctx context.Context, part string) error // Called before each note; may be nil.
	more   string                                       // Appended to a summary.
	detail string                                       // Appended to each note.

	mu    sync.Mutex
	noted map[string]int // Guarded by mu. Number of notes of each part, by the part's first fact.
	last  []llm.Message  // Guarded by mu. The last request for a summary.
	sent  int            // Guarded by mu. Estimated tokens of all requests.
}

var (
	factIn   = regexp.MustCompile(`(?s)<source index="(\d+)"[^>]*>\n[^。]*?(事実\d+)`)
	numberIn = regexp.MustCompile(`(?m)^- .*\[(\d+)\]$`)
)

func (n *noter) Stream(ctx context.Context, req llm.Request, emit func(string)) (llm.Result, error) {
	result := llm.Result{
		Model: "noter", FinishReason: llm.FinishStop, Usage: llm.Usage{InputTokens: 100, OutputTokens: 10},
	}
	text := req.Messages[len(req.Messages)-1].Content
	n.mu.Lock()
	for _, m := range req.Messages {
		n.sent += llm.EstimateTokens(m.Content)
	}
	n.mu.Unlock()
	if !strings.Contains(req.Messages[0].Content, "要点を書き留める係です。") {
		n.mu.Lock()
		n.last = req.Messages
		n.mu.Unlock()
		for i, m := range numberIn.FindAllStringSubmatch(text, 3) {
			emit(fmt.Sprintf("要点%dです【%s】。", i, m[1]))
		}
		emit("以上です。" + n.more)
		return result, nil
	}
	facts := factIn.FindAllStringSubmatch(text, -1)
	if len(facts) == 0 { // The input consists of notes.
		for i, line := range numberIn.FindAllString(text, -1) {
			if i%4 == 0 {
				emit(line + "\n")
			}
		}
		return result, nil
	}
	if n.before != nil {
		if err := n.before(ctx, facts[0][2]); err != nil {
			return llm.Result{}, err
		}
	}
	n.mu.Lock()
	n.noted[facts[0][2]]++
	n.mu.Unlock()
	for _, m := range facts {
		emit("- " + m[2] + "である" + n.detail + " [" + m[1] + "]\n")
	}
	return result, nil
}

// counted returns the number of noted parts, and how many of them were noted more than once.
func (n *noter) counted() (parts, again int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, times := range n.noted {
		parts++
		if times > 1 {
			again++
		}
	}
	return parts, again
}

// longText returns a document of about 300 pages.
func longText() string { return textOf(600) }

// textOf returns a document of the given number of facts, with 330 characters each.
func textOf(facts int) string {
	var b strings.Builder
	for i := range facts {
		if i%20 == 0 {
			fmt.Fprintf(&b, "# 第%d章\n\n", 1+i/20)
		}
		fmt.Fprintf(&b, "事実%d。%s\n\n", i, strings.Repeat("経緯の説明が続く。", 36))
	}
	return b.String()
}

// allowance is a budget that permits a number of checks.
type allowance struct {
	mu    sync.Mutex
	left  int // Guarded by mu, like the fields below.
	spent int
}

func (a *allowance) Check(context.Context, uuid.UUID, uuid.UUID) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left--; a.left < 0 {
		return org.ErrTokenLimit
	}
	return nil
}

func (a *allowance) RecordUsage(_, _ uuid.UUID, tokens int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spent += tokens
}

func summaries(budget chat.Budget) ground.Config {
	return ground.Config{Summaries: ground.Summaries{Name: "noter", Budget: budget}}
}

// used returns the tokens counted for the person.
func (f *fixture) used() int64 {
	f.t.Helper()
	usage, err := f.db.OwnUsage(f.t.Context(), f.owner.OrganizationID, f.owner.UserID)
	f.must(err)
	return usage.InputTokens + usage.OutputTokens
}

// mustHaveUsed checks the usage of an answer, returned and stored, against a number of calls of a noter.
func (f *fixture) mustHaveUsed(answer chat.Message, calls int) {
	f.t.Helper()
	stored, err := f.chat.FindMessage(f.t.Context(), f.owner, answer.ID)
	f.must(err)
	for what, m := range map[string]chat.Message{"ended": answer, "stored": stored} {
		if m.InputTokens != 100*calls || m.OutputTokens != 10*calls {
			f.t.Errorf("the usage %s is %d and %d tokens, of %d calls", what, m.InputTokens, m.OutputTokens, calls)
		}
	}
}

// TestSummaryOfALongDocument: each part is noted once, even if the summary is repeated. All calls are counted.
func TestSummaryOfALongDocument(t *testing.T) {
	t.Parallel()
	model, budget := &noter{noted: make(map[string]int)}, &allowance{left: 1000}
	f := newFixture(t, summaries(budget), model)
	f.start()
	id := f.read("報告書.md", longText())
	answered := f.ask(f.thread("要約"), "要約してください", id)
	parts, again := model.counted()
	if answered.Status != chat.StatusSuccess || parts < 20 || parts > 60 || again != 0 {
		t.Fatalf("%d parts, %d again: %+v %+v", parts, again, answered, answered.Failure)
	}
	if answered.Content != "要点0です[1]。要点1です[2]。要点2です[3]。以上です。" || len(answered.Citations) < 3 ||
		answered.Citations[0].Index != 1 || answered.Citations[0].DataSourceID != id {
		t.Errorf("answered %q, %+v", answered.Content, answered.Citations)
	}
	want := chat.Step{
		Kind: chat.StepSummarize, Status: chat.StatusSuccess, Detail: fmt.Sprintf("1件のファイルの全体を確認（%d区分）", parts),
	}
	if len(answered.Steps) != 1 || answered.Steps[0] != want {
		t.Errorf("steps %+v", answered.Steps)
	}
	model.mu.Lock()
	told := model.last[len(model.last)-1].Content
	model.mu.Unlock()
	if first, last := strings.Index(told, "事実0である"), strings.Index(told, "事実599である"); first < 0 || last < first ||
		!strings.HasSuffix(told, "要約してください") {
		t.Errorf("the model was told %.500s", told)
	}
	if tokens := f.used(); tokens != int64(110*(parts+1)) || budget.spent != 110*parts {
		t.Errorf("%d tokens are counted, %d of them of parts; there were %d parts", tokens, budget.spent, parts)
	}
	f.mustHaveUsed(answered, parts+1)
	f.mustHaveUsed(f.ask(f.thread("要約"), "三点にまとめてください", id), 1) // The stored notes are used.
	if now, again := model.counted(); now != parts || again != 0 {
		t.Errorf("%d parts, %d were noted again", now, again)
	}
}

// TestShortDocumentsAreSentWhole: short documents are sent whole, and questions without files are unchanged.
func TestShortDocumentsAreSentWhole(t *testing.T) {
	t.Parallel()
	model := &noter{noted: make(map[string]int)}
	f := newFixture(t, summaries(&allowance{left: 1000}), model)
	f.start()
	id := f.read("短い報告.md", "# 報告\n\n事実1。売上は100億円である。")
	answered := f.ask(f.thread("要約"), "要約してください", id)
	if parts, _ := model.counted(); parts != 0 || answered.Steps[0].Detail != "1件のファイルの全文を確認" ||
		!strings.Contains(model.last[1].Content, "<source index=\"1\"") {
		t.Errorf("%d parts, steps %+v: %v", parts, answered.Steps, model.last)
	}
	answered = f.ask(f.thread("要約"), "次の文章を要約してください。売上は100億円である。")
	if len(answered.Steps) != 0 || strings.Contains(model.last[0].Content, "<notes>") {
		t.Errorf("steps %+v: %v", answered.Steps, model.last)
	}
}

// TestR20_TakenOverSummaryUsesStoredNotes: a server that takes over a summary uses the stored notes.
func TestR20_TakenOverSummaryUsesStoredNotes(t *testing.T) {
	t.Parallel()
	reached, once := make(chan struct{}), sync.Once{}
	held := make(chan struct{})
	model := &noter{noted: make(map[string]int)}
	count := 0
	model.before = func(ctx context.Context, _ string) error {
		model.mu.Lock()
		count++
		hold := count > 10
		model.mu.Unlock()
		if !hold {
			return nil
		}
		select {
		case <-held: // The second server's call.
			return nil
		default:
			once.Do(func() { close(reached) })
		}
		<-ctx.Done()
		return llm.Canceled(ctx)
	}
	f := newFixture(t, summaries(&allowance{left: 1000}), model)
	f.start()
	id := f.read("報告書.md", longText())
	exchange, err := f.chat.Send(t.Context(), f.owner, chat.Question{
		RequestID: newID(), ThreadID: f.thread("要約"), Content: "要約してください", DataSourceIDs: []uuid.UUID{id},
		AcceptTokens: math.MaxInt,
	})
	f.must(err)
	<-reached
	stop(f.chat)
	noted, _ := model.counted()
	close(held)
	f.chat = f.serve(summaries(&allowance{left: 1000}), model)
	exchange, err = f.chat.WaitFor(t.Context(), f.owner, exchange)
	f.must(err)
	parts, again := model.counted()
	if exchange.Answer.Status != chat.StatusSuccess || noted < 7 || again != 0 || parts <= noted {
		t.Errorf("%d of %d parts were noted before, %d again: %+v", noted, parts, again, exchange.Answer)
	}
	f.mustHaveUsed(exchange.Answer, parts+1)
	if tokens := f.used(); tokens != int64(110*(parts+1)) {
		t.Errorf("%d tokens are counted of %d parts", tokens, parts)
	}
}

// TestFailedPartIsRetried: a failed part is retried, then the summary fails. The next summary uses the stored notes.
func TestFailedPartIsRetried(t *testing.T) {
	t.Parallel()
	failing, failed := true, 0
	model := &noter{noted: make(map[string]int)}
	model.before = func(context.Context, string) error {
		model.mu.Lock()
		defer model.mu.Unlock()
		if !failing || len(model.noted) < 8 {
			return nil
		}
		failed++
		return fault.Errorf(llm.CodeUnavailable, "AIモデルに接続できませんでした。")
	}
	f := newFixture(t, summaries(&allowance{left: 1000}), model)
	f.start()
	id := f.read("報告書.md", longText())
	answered := f.ask(f.thread("要約"), "要約してください", id)
	if answered.Status != chat.StatusFailed || !answered.Failure.Retryable || failed < 2 ||
		!strings.Contains(answered.Failure.Detail, "続きから再開します。") || answered.Content != "" ||
		answered.Steps[0].Status != chat.StatusFailed || !strings.HasPrefix(answered.Steps[0].Detail, "要約中 ") {
		t.Errorf("%d failed: %+v, %+v", failed, answered, answered.Failure)
	}
	before, _ := model.counted()
	f.mustHaveUsed(answered, before)
	model.mu.Lock()
	failing = false
	model.mu.Unlock()
	answered = f.ask(f.thread("要約"), "要約してください", id)
	parts, again := model.counted()
	if answered.Status != chat.StatusSuccess || parts < 20 || again != 0 {
		t.Errorf("%d parts, %d again: %+v", parts, again, answered)
	}
	f.mustHaveUsed(answered, parts-before+1)
}

// TestSummaryEndsWithItsBudget: no part is noted after the budget is used up.
func TestSummaryEndsWithItsBudget(t *testing.T) {
	t.Parallel()
	model := &noter{noted: make(map[string]int)}
	f := newFixture(t, summaries(&allowance{left: 9}), model)
	f.start()
	answered := f.ask(f.thread("要約"), "要約してください", f.read("報告書.md", longText()))
	if parts, _ := model.counted(); answered.Status != chat.StatusFailed ||
		answered.Failure.Code != string(fault.TokenLimit) ||
		parts > 9 {
		t.Errorf("%d parts: %+v, %+v", parts, answered, answered.Failure)
	}
}

// TestR17_StopEndsASummary: a stop ends all calls within a second.
func TestR17_StopEndsASummary(t *testing.T) {
	t.Parallel()
	reached, ended := make(chan struct{}, 100), make(chan struct{}, 100)
	model := &noter{noted: make(map[string]int), before: func(ctx context.Context, _ string) error {
		reached <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return llm.Canceled(ctx)
	}}
	f := newFixture(t, summaries(&allowance{left: 1000}), model)
	f.start()
	id := f.read("報告書.md", longText())
	exchange, err := f.chat.Send(t.Context(), f.owner, chat.Question{
		RequestID: newID(), ThreadID: f.thread("要約"), Content: "要約してください", DataSourceIDs: []uuid.UUID{id},
		AcceptTokens: math.MaxInt,
	})
	f.must(err)
	for range 4 {
		<-reached
	}
	f.must(f.chat.StopMessage(t.Context(), f.owner, exchange.Answer.ID))
	exchange, err = f.chat.WaitFor(t.Context(), f.owner, exchange)
	f.must(err)
	if exchange.Answer.FinishReason != chat.FinishStopped || len(ended) != 4 || len(reached) != 0 {
		t.Errorf("%d of the calls have ended, %d began: %+v", len(ended), len(reached), exchange.Answer)
	}
}

// TestOfflineSummary: the offline engine summarizes the same way, with citations.
func TestOfflineSummary(t *testing.T) {
	t.Parallel()
	model := must.Get(llm.NewClient(llm.Config{
		BaseURL: offline.BaseURL, Model: offline.ModelName, Transport: offline.NewTransport(offline.Config{}),
	}))(t)
	f := newFixture(t, summaries(&allowance{left: 1000}), model)
	f.start()
	var text strings.Builder
	for i := range 300 {
		fmt.Fprintf(&text, "# 第%d章\n\n事業%dの売上高は、前年を%d％上回る%d億円に達した。%s\n\n", i+1, i, i%30, 100+i,
			strings.Repeat("経緯の説明が続いている。", 20))
	}
	answered := f.ask(f.thread("要約"), "要約してください", f.read("報告書.md", text.String()))
	if answered.Status != chat.StatusSuccess || !strings.HasPrefix(answered.Steps[0].Detail, "1件のファイルの全体を確認") ||
		len(answered.Citations) == 0 || answered.Citations[0].Support != "strong" {
		t.Errorf("%+v, %+v", answered, answered.Failure)
	}
}
