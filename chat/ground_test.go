package chat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/answer"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// grounder implements chat.Grounder by a function.
type grounder func(ctx context.Context, req *chat.AnswerRequest, tell func(chat.Step)) (chat.Grounds, error)

func (g grounder) Ground(ctx context.Context, req *chat.AnswerRequest, tell func(chat.Step)) (chat.Grounds, error) {
	return g(ctx, req, tell)
}

func (grounder) Estimate(context.Context, *chat.AnswerRequest, int) (int, error) { return 0, nil }

// three are the sources of groundedIn.
var three = []string{
	"第1条 この規則は就業について定める。", "第12条 年次有給休暇は20日とする。", "第13条 休暇は三日前までに申請する。",
}

// groundedIn grounds every answer on texts of a file.
func (f *fixture) groundedIn(texts ...string) grounder {
	f.t.Helper()
	file := f.dataSources(f.owner, 1)[0]
	return func(_ context.Context, req *chat.AnswerRequest, tell func(chat.Step)) (chat.Grounds, error) {
		tell(chat.Step{Kind: chat.StepRetrieval, Status: chat.StatusRunning, Detail: "1件のファイルを検索中"})
		grounds := chat.Grounds{Prompt: req.Prompt, Usage: llm.Usage{InputTokens: 1000}}
		for i, text := range texts {
			grounds.Sources = append(grounds.Sources, chat.Source{
				Citation: chat.Citation{
					Index: i + 1, ChunkEmbeddingID: newID(), DataSourceID: file, Filename: "就業規則.pdf", Page: i + 1,
					Locator: "第2章", Score: float64(len(texts) - i),
				},
				Text: text,
			})
		}
		tell(chat.Step{Kind: chat.StepRetrieval, Status: chat.StatusSuccess, Detail: "3か所を確認"})
		return grounds, nil
	}
}

// grounded starts a server with a Grounder, and makes it the fixture's server.
func (f *fixture) grounded(model llm.Model, g chat.Grounder) {
	f.t.Helper()
	f.server = f.startWith(chat.Deps{Model: model, Grounder: g}, chat.Config{})
}

func numbers(citations []chat.Citation) (list []string) {
	for _, c := range citations {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%d %s", c.Index, c.Support)))
	}
	return list
}

// TestR81_GuardedTextIsStoredAsStreamed splits citations into pieces, cites missing sources, and resumes at every
// character.
func TestR81_GuardedTextIsStoredAsStreamed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	model := llmtest.NewLive()
	f.grounded(model, f.groundedIn(three...))
	f.named()
	exchange := f.send(f.question("休暇は何日ですか"))
	call := model.Next(t)
	w := f.watch(f.server, exchange.Answer.ID)
	for _, piece := range []string{
		"20日です", "【", "2", "†sou", "rce】", "。[9", "]`a[9]`は[", "3, 7]を三日前までに", "申請し", "ます。[", "1",
	} {
		call.Emit(piece)
	}
	call.Finish()
	live := f.drain(w)
	stored := f.wait(exchange).Answer
	const want = "20日です[2]。`a[9]`は[3]を三日前までに申請します。[1"
	if stored.Content != want || deltas(t, live) != want {
		t.Fatalf("stored %q, streamed %q", stored.Content, deltas(t, live))
	}
	if got := numbers(stored.Citations); !slices.Equal(got, []string{"2 strong", "3 strong", "1"}) {
		t.Errorf("cited %q", got)
	}
	if got := numbers(stored.Cited()); !slices.Equal(got, []string{"2 strong", "3 strong"}) {
		t.Errorf("without what was only consulted: %q", got)
	}
	if c := stored.Citations[0]; c.Quote != three[1] || c.Filename != "就業規則.pdf" || c.Page != 2 || c.Locator != "第2章" {
		t.Errorf("the citation is %+v", c)
	}
	if got := stored.Steps; len(got) != 1 || got[0].Status != chat.StatusSuccess || got[0].Detail != "3か所を確認" {
		t.Errorf("steps %+v", got)
	}
	if stored.InputTokens < 1000 {
		t.Errorf("%d tokens: those of the search are not counted", stored.InputTokens)
	}
	list := must.Get(json.Marshal(stored.Citations))(t)
	told := `data: {"type":"data-citations","data":{"citations":` + string(list) + `},"transient":true}`
	order := []string{`"type":"source-document"`, `"type":"text-start"`, told, `"type":"text-end"`, `"type":"finish"`}
	for i, at := 0, 0; i < len(order); i++ {
		next := strings.Index(live[at:], order[i])
		if next < 0 {
			t.Fatalf("%s is not there, or comes too early:\n%s", order[i], live)
		}
		at += next
	}
	for from := range want {
		cursor := fmt.Sprintf("%d-%d", stored.Run, from)
		raw := f.follow(f.server, stored.ID, cursor)
		if got := deltas(t, raw); from > 0 && got != want[from:] || !strings.Contains(raw, told) {
			t.Errorf("after %s: %q", cursor, got)
		}
	}
}

func TestR82_UnsupportedCitationsAreWeak(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.grounded(llmtest.Say("年次有給休暇は20日です[2]。25日です[2]。三日前までに申請します[3]。"), f.groundedIn(three...))
	citations := f.wait(f.send(f.question("何日？"))).Answer.Citations
	if got := numbers(citations); !slices.Equal(got, []string{"2 weak", "3 strong", "1"}) {
		t.Errorf("cited %q", got)
	}
	if got := citations[0].WeakOccurrences; !slices.Equal(got, []int{1}) {
		t.Errorf("unsupported occurrences of [2]: %v, want only the second", got)
	}
}

// TestLongCitationsFitIntoTheirPart has citations that exceed one part of the stream with whole quotes.
func TestLongCitationsFitIntoTheirPart(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	texts, said := make([]string, 120), ""
	for i := range texts {
		texts[i] = strings.Repeat(`"長い文章"`, 80)
		said += fmt.Sprintf("長い文章です[%d]。", i+1)
	}
	f.grounded(llmtest.Say(said), f.groundedIn(texts...))
	stored := f.wait(f.send(f.question("全部"))).Answer
	if len(stored.Citations) != 120 || stored.Citations[0].Quote == "" {
		t.Fatalf("%d citations", len(stored.Citations))
	}
	if raw := f.follow(f.server, stored.ID, ""); !strings.Contains(raw, `"data-citations"`) {
		t.Error("they are not streamed")
	}
}

func TestGroundsWithAnAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.grounded(nil, grounder(func(context.Context, *chat.AnswerRequest, func(chat.Step)) (chat.Grounds, error) {
		return chat.Grounds{Answer: answer.NoPassages([]string{"第1章 [1]"})}, nil
	}))
	f.named()
	got := f.wait(f.send(f.question("宇宙の年齢は？"))).Answer
	if got.Status != chat.StatusSuccess || got.FinishReason != chat.FinishStop || len(got.Citations) != 0 ||
		!strings.HasPrefix(got.Content, answer.NoAnswer) || !strings.Contains(got.Content, `第1章 \[1\]`) {
		t.Errorf("answered %+v", got)
	}
}

// TestNoCitationsWithoutAnAnswer: without an answer, consulted sources are not listed.
func TestNoCitationsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.grounded(llmtest.Say(answer.NoAnswer), f.groundedIn(three...))
	if got := f.wait(f.send(f.question("宇宙の年齢は？"))).Answer.Citations; len(got) != 0 {
		t.Errorf("cited %+v", got)
	}
}

func TestGroundingFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.grounded(nil, grounder(func(_ context.Context, _ *chat.AnswerRequest, tell func(chat.Step)) (chat.Grounds, error) {
		tell(chat.Step{Kind: chat.StepRetrieval, Status: chat.StatusRunning, Detail: "1件のファイルを検索中"})
		return chat.Grounds{Usage: llm.Usage{OutputTokens: 7}}, fault.Errorf(fault.Unavailable, "読み取り直しています。")
	}))
	f.named()
	exchange := f.send(f.question("何日？"))
	got := f.wait(exchange).Answer
	if got.Status != chat.StatusFailed || got.Failure == nil || got.Failure.Detail != "読み取り直しています。" ||
		!got.Failure.Retryable || got.OutputTokens != 7 {
		t.Errorf("failed with %+v", got.Failure)
	}
	if len(got.Steps) != 1 || got.Steps[0].Status != chat.StatusFailed {
		t.Errorf("steps %+v", got.Steps)
	}
}

// TestStopWhileGrounding: the model is not called, and the usage is counted.
func TestStopWhileGrounding(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	began := make(chan struct{})
	f.grounded(nil, grounder(func(ctx context.Context, _ *chat.AnswerRequest, tell func(chat.Step)) (chat.Grounds, error) {
		tell(chat.Step{Kind: chat.StepSummarize, Status: chat.StatusRunning, Detail: "要約中 3/12", Done: 3, Total: 12})
		close(began)
		<-ctx.Done()
		return chat.Grounds{Usage: llm.Usage{InputTokens: 5}}, ctx.Err()
	}))
	f.named()
	exchange := f.send(f.question("要約して"))
	await(t, "the grounds are looked for", began)
	must.Succeed(t, f.server.StopMessage(t.Context(), f.owner, exchange.Answer.ID))
	got := f.wait(exchange).Answer
	if got.Status != chat.StatusSuccess || got.FinishReason != chat.FinishStopped || got.InputTokens != 5 {
		t.Errorf("stopped as %+v", got)
	}
	if len(got.Steps) != 1 || got.Steps[0].Status != chat.StatusFailed || got.Steps[0].Done != 3 {
		t.Errorf("steps %+v", got.Steps)
	}
}

// TestR20_TakeoverInsideACitation kills a server that holds back the beginning of a citation. The next run uses the
// same data sources.
func TestR20_TakeoverInsideACitation(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	model, asked := llmtest.NewLive(), make(chan []uuid.UUID, 2)
	found := f.groundedIn(three...)
	grounds := grounder(func(ctx context.Context, req *chat.AnswerRequest, tell func(chat.Step)) (chat.Grounds, error) {
		asked <- req.Question.DataSourceIDs
		return found(ctx, req, tell)
	})
	f.named()
	ids := f.dataSources(f.owner, 2)
	slow := f.startWith(chat.Deps{Model: model, Grounder: grounds}, mute())
	q := f.question("休暇は何日ですか")
	q.DataSourceIDs = ids
	exchange := f.sendTo(slow, q)
	call := model.Next(t)
	call.Emit("20日です[2")
	w := f.watch(slow, exchange.Answer.ID)
	if got := deltas(t, f.drainUntil(w, "20日です")); got != "20日です" {
		t.Errorf("before the takeover: %q", got)
	}
	next := f.startWith(chat.Deps{Model: llmtest.Say("休暇は20日", "です【2", "】。"), Grounder: grounds},
		chat.Config{Alone: true})
	raw := f.attachOnce(next, exchange, "1-11")
	if deltas(t, raw) != "休暇は20日です[2]。" || !strings.Contains(raw, `"data-reset"`) ||
		!strings.Contains(raw, `"support":"strong"`) {
		t.Errorf("got %s", raw)
	}
	for range 2 {
		if got := <-asked; !slices.Equal(got, ids) {
			t.Errorf("asked with %v, want %v", got, ids)
		}
	}
}

// dataSources stores data sources without processing them.
func (f *fixture) dataSources(owner identity.Owner, n int) (ids []uuid.UUID) {
	f.t.Helper()
	for range n {
		source := datasource.Source{
			ID: newID(), Filename: "a.txt", MediaType: "text/plain", Size: 1,
		}
		source.SHA256 = slices.Concat(source.ID[:], source.ID[:])
		must.Succeed(f.t, f.db.MarkOrphan(f.t.Context(), source.ID, time.Minute))
		if _, _, err := f.db.CreateSource(f.t.Context(), owner, uuid.Nil, source, 1<<30); err != nil {
			f.t.Fatal(err)
		}
		ids = append(ids, source.ID)
	}
	return ids
}

// TestDataSourcesOfQuestions asks with given data sources, with all of the thread, with none, again, and in place of
// another question.
func TestDataSourcesOfQuestions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	asked := make(chan []uuid.UUID, 1)
	f.grounded(llmtest.Say("はい"),
		grounder(func(_ context.Context, req *chat.AnswerRequest, _ func(chat.Step)) (chat.Grounds, error) {
			asked <- req.Question.DataSourceIDs
			return chat.Grounds{Prompt: req.Prompt}, nil
		}))
	f.named()
	ids := f.dataSources(f.owner, 4)
	ask := func(q chat.Question, want ...uuid.UUID) chat.Exchange {
		t.Helper()
		q.RequestID, q.ThreadID = newID(), f.thread.ID
		exchange := f.wait(f.send(q))
		if got := <-asked; !slices.Equal(got, want) {
			t.Errorf("answered from %v, want %v", got, want)
		}
		if !slices.Equal(exchange.Question.DataSourceIDs, want) {
			t.Errorf("stored %v, want %v", exchange.Question.DataSourceIDs, want)
		}
		return exchange
	}
	ask(chat.Question{Content: "なし"})
	first := ask(chat.Question{Content: "二つ", DataSourceIDs: ids[1:3]}, ids[1:3]...)
	ask(chat.Question{Content: "全部"}, ids[1:3]...)
	ask(chat.Question{Content: "別の一つ", DataSourceIDs: ids[:1]}, ids[0])
	ask(chat.Question{Content: "外す", DataSourceIDs: []uuid.UUID{}})
	ask(chat.Question{Content: "全部"}, ids[1], ids[2], ids[0])
	ask(chat.Question{Regenerate: &first.Answer.ID}, ids[1:3]...)
	ask(chat.Question{Content: "直す", Edit: &first.Question.ID}, ids[1:3]...)
	if thread, err := f.server.FindThread(t.Context(), f.owner, f.thread.ID); err != nil || len(thread.Sources) != 3 {
		t.Errorf("the thread has %+v, %v", thread.Sources, err)
	}
	must.Succeed(t, f.db.DeleteSource(t.Context(), f.owner, ids[1]))
	ask(chat.Question{Regenerate: &first.Answer.ID}, ids[1:3]...) // The question keeps the deleted id.
	ask(chat.Question{Content: "直す", Edit: &first.Question.ID}, ids[2])
}

func TestRefusedDataSources(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.grounded(llmtest.Say("はい"), f.groundedIn(three...))
	own, foreign := f.dataSources(f.owner, 21), f.dataSources(f.colleague(f.owner.OrganizationID), 1)
	sent := f.question("一度目")
	sent.DataSourceIDs = own[:1]
	f.wait(f.send(sent))
	other, none := sent, sent
	other.DataSourceIDs, none.DataSourceIDs = own[1:2], nil
	plain := f.newThread(formSkill)
	for name, c := range map[string]struct {
		question chat.Question
		want     fault.Code
	}{
		"a colleague's": {
			chat.Question{Content: "a", DataSourceIDs: []uuid.UUID{own[0], foreign[0]}}, fault.NotFound,
		},
		"missing":                  {chat.Question{Content: "a", DataSourceIDs: []uuid.UUID{newID()}}, fault.NotFound},
		"too many for the thread":  {chat.Question{Content: "a", DataSourceIDs: own[1:21]}, fault.Invalid},
		"the request with another": {other, fault.RequestConflict},
		"the request with all":     {none, fault.RequestConflict},
		"a skill that takes no files": {
			chat.Question{ThreadID: plain.ID, Content: "a", DataSourceIDs: own[:1]}, chat.SourcesNotAccepted,
		},
	} {
		q := c.question
		if q.RequestID == uuid.Nil {
			q.RequestID = newID()
		}
		if q.ThreadID == uuid.Nil {
			q.ThreadID = f.thread.ID
		}
		if _, err := f.server.Send(t.Context(), f.owner, q); fault.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if thread, err := f.server.FindThread(t.Context(), f.owner, f.thread.ID); err != nil || len(thread.Sources) != 1 {
		t.Errorf("the thread has %d data sources, %v", len(thread.Sources), err)
	}
}

// TestFilesOfAForm: the files are data sources of the question and of the thread.
func TestFilesOfAForm(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	asked := make(chan []uuid.UUID, 1)
	f.grounded(llmtest.Say("はい"),
		grounder(func(_ context.Context, req *chat.AnswerRequest, _ func(chat.Step)) (chat.Grounds, error) {
			asked <- req.Question.DataSourceIDs
			return chat.Grounds{Prompt: req.Prompt}, nil
		}))
	imported := must.Get(skill.ParseImport([]byte(`
skills:
  - key: contract-review
    category: document
    name: 契約書の確認
    description: |
      契約書の注意点を挙げます。
      一件ずつ確認します。
    icon: report
    form_type: form
    form_fields:
      - {name: contract, label: 契約書, type: file, required: true}
      - {name: focus, label: 観点, type: text}
    prompt: あなたは、契約書を確認する担当者である。
`)))(t)
	if _, err := f.db.ImportSkills(t.Context(), &f.owner.OrganizationID, imported,
		org.AuditActor{Kind: org.ByOperator}, false); err != nil {
		t.Fatal(err)
	}
	skills := must.Get(f.db.ListSkills(t.Context(), f.owner.OrganizationID, f.owner.UserID, 0, 100))(t)
	i := slices.IndexFunc(skills, func(s skill.Skill) bool { return s.Name == "契約書の確認" })
	f.thread = f.newThread(skills[i])
	ids := f.dataSources(f.owner, 2)
	q := f.question("")
	q.Form = map[string]string{"contract": ids[0].String(), "focus": "解約"}
	exchange := f.wait(f.send(q))
	if got := <-asked; !slices.Equal(got, ids[:1]) || !slices.Equal(exchange.Question.DataSourceIDs, ids[:1]) {
		t.Errorf("answered from %v", got)
	}
	follow := f.question("期限は？")
	f.wait(f.send(follow))
	if got := <-asked; !slices.Equal(got, ids[:1]) {
		t.Errorf("the next question is answered from %v", got)
	}
	foreign := f.dataSources(f.colleague(f.owner.OrganizationID), 1)
	q.RequestID, q.Form = newID(), map[string]string{"contract": foreign[0].String()}
	if _, err := f.server.Send(t.Context(), f.owner, q); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a colleague's file: %v", err)
	}
}
