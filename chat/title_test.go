package chat_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/llm/offline"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// titler is a model that returns titles on the test's command. Its answers come from another model.
type titler struct {
	llm.Model
	asked  chan titleCall
	titles atomic.Int32 // Requests for a title.
}

// titleCall is a request for a title. The test sends the title to say, or closes say for a failure.
type titleCall struct {
	model  string
	prompt string
	say    chan string
	gone   chan struct{} // Closed when the caller has received the title or was canceled.
}

func newTitler(answers llm.Model) *titler {
	return &titler{Model: answers, asked: make(chan titleCall, 10)}
}

func (m *titler) Stream(ctx context.Context, req llm.Request, emit func(string)) (llm.Result, error) {
	if !llmtest.IsTitle(req.Messages) {
		return m.Model.Stream(ctx, req, emit)
	}
	m.titles.Add(1)
	call := titleCall{
		model: req.Model, prompt: req.Messages[1].Content, say: make(chan string), gone: make(chan struct{}),
	}
	defer close(call.gone)
	m.asked <- call
	usage := llm.Usage{InputTokens: 1000, OutputTokens: 7}
	select {
	case title := <-call.say:
		if title == "" {
			return llm.Result{Usage: usage}, fault.Errorf(llm.CodeInterrupted, "途切れました。")
		}
		emit(title)
		return llm.Result{Model: llmtest.ModelName, FinishReason: llm.FinishStop, Usage: usage}, nil
	case <-ctx.Done():
		return llm.Result{}, llm.Canceled(ctx)
	}
}

// next returns the next request for a title.
func (m *titler) next(t *testing.T) titleCall {
	t.Helper()
	select {
	case call := <-m.asked:
		return call
	case <-time.After(time.Minute):
		t.Fatal("the model was not asked for a title")
		return titleCall{}
	}
}

// titleTokens is the usage of one title.
const titleTokens = 1007

// titles records a thread's titles, and the spent tokens.
type titles struct {
	recordedEvents
	changed chan chat.Thread
	spent   chan int
}

func (e *titles) ThreadChanged(_ chat.Readers, t chat.Thread) { e.changed <- t }

func (e *titles) Check(context.Context, uuid.UUID, uuid.UUID) error { return nil }
func (e *titles) RecordUsage(_, _ uuid.UUID, tokens int)            { e.spent <- tokens }

// awaitTokens returns when a title's tokens were spent: the title was then stored, or was not needed.
func (e *titles) awaitTokens(t *testing.T) {
	t.Helper()
	for {
		select {
		case tokens := <-e.spent:
			if tokens == titleTokens {
				return
			}
		case <-time.After(time.Minute):
			t.Fatal("no title was counted")
		}
	}
}

// await returns the thread of the event with a title.
func (e *titles) await(t *testing.T, title string) chat.Thread {
	t.Helper()
	for {
		select {
		case thread := <-e.changed:
			if thread.Title == title {
				return thread
			}
		case <-time.After(time.Minute):
			t.Fatalf("nobody was told of the title %q", title)
		}
	}
}

// titling starts a server on the fixture's database that generates titles on the test's command.
func (f *fixture) titling(answers llm.Model, cfg chat.Config) (*titler, *titles) {
	f.t.Helper()
	model, events := newTitler(answers), &titles{changed: make(chan chat.Thread, 100), spent: make(chan int, 100)}
	f.server = f.startWith(chat.Deps{Model: model, Events: events, Budget: events}, cfg)
	return model, events
}

func (f *fixture) title() string {
	f.t.Helper()
	thread := must.Get(f.db.FindThread(f.t.Context(), f.owner, f.thread.ID))(f.t)
	return thread.Title
}

// TestNothingWaitsForTheTitle: an answer ends, and its thread and its slot are free for the next question, while the
// title is still being generated. The title is sent and counted later.
func TestNothingWaitsForTheTitle(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	model, events := f.titling(llmtest.Say("答え"), chat.Config{MaxGenerations: 1, MaxPerPerson: 1})
	exchange := f.send(f.question("糸の紡ぎ方を教えて"))
	call := model.next(t)
	raw := f.follow(f.server, exchange.Answer.ID, "")
	if !strings.HasSuffix(raw, "data: [DONE]\n\n") || strings.Contains(raw, "data-title") {
		t.Errorf("the answer's stream: %s", raw)
	}
	if end, finish := strings.Index(raw, `"text-end"`), strings.Index(raw, `"finish"`); end < 0 ||
		strings.Count(raw[end:finish], "\n\n") != 1 {
		t.Errorf("something comes between the text's end and the finish: %s", raw)
	}
	f.wait(f.send(f.question("次の質問")))
	if n := model.titles.Load(); n != 1 {
		t.Errorf("the model was asked for %d titles", n)
	}
	before := f.usage()
	call.say <- "糸の紡ぎ方"
	if thread := events.await(t, "糸の紡ぎ方"); thread.ID != f.thread.ID || thread.UpdatedAt.IsZero() {
		t.Errorf("told of %+v", thread)
	}
	if got := f.usage(); got != (org.Usage{
		Messages: before.Messages, InputTokens: before.InputTokens + 1000, OutputTokens: before.OutputTokens + 7,
	}) {
		t.Errorf("used %+v after %+v", got, before)
	}
	for _, id := range []uuid.UUID{exchange.Answer.ID, f.messages()[0].ID} {
		if raw := f.follow(f.server, id, ""); strings.Count(raw, `"data-title","data":{"title":"糸の紡ぎ方"`) != 1 {
			t.Errorf("a replay: %s", raw)
		}
	}
}

// TestTitleComesFromTheQuestionAlone: the title is sent in the stream of an answer that is still being generated.
func TestTitleComesFromTheQuestionAlone(t *testing.T) {
	t.Parallel()
	answers := llmtest.NewLive()
	f := newFixture(t, nil)
	model, events := f.titling(answers, chat.Config{})
	exchange := f.send(f.question("糸とは何ですか。\n\n詳しく。"))
	call := model.next(t)
	if want := "<question>\n糸とは何ですか。\n\n詳しく。\n</question>"; call.prompt != want {
		t.Errorf("asked for a title with %q, want %q", call.prompt, want)
	}
	if first := <-events.changed; first.Title != "糸とは何ですか" || !first.Running {
		t.Errorf("first told of %+v", first)
	}
	writing := answers.Next(t)
	writing.Emit("繭から")
	w := f.watch(f.server, exchange.Answer.ID)
	call.say <- "「糸とは」。\n二行目"
	raw := f.drainUntil(w, `"data-title"`)
	thread := events.await(t, "糸とは")
	writing.Emit("引いたもの")
	writing.Finish()
	raw += f.drain(w)
	title := strings.Index(raw,
		`"data-title","data":{"title":"糸とは","updated_at":"`+thread.UpdatedAt.UTC().Format(time.RFC3339Nano)+`"}`)
	if title < 0 || title > strings.Index(raw, `"text-end"`) || deltas(t, raw) != "繭から引いたもの" {
		t.Errorf("got %s", raw)
	}
}

// TestTitleWithoutAModel: the offline engine recognizes the request for a title.
func TestTitleWithoutAModel(t *testing.T) {
	t.Parallel()
	model := must.Get(llm.NewClient(llm.Config{
		BaseURL: offline.BaseURL, Model: offline.ModelName, Transport: offline.NewTransport(offline.Config{}),
	}))(t)
	f := newFixture(t, nil)
	events := &titles{changed: make(chan chat.Thread, 100), spent: make(chan int, 100)}
	f.server = f.startWith(chat.Deps{Model: model, Events: events, Budget: events}, chat.Config{})
	f.send(f.question("お疲れ様です。出張旅費の精算方法を教えてください。"))
	events.await(t, "出張旅費の精算方法を教えてください")
}

// TestQuestionIsTheFirstTitle: a thread always has a title, even if generating one or the answer fails.
func TestQuestionIsTheFirstTitle(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	model, _ := f.titling(llmtest.NewLive(), chat.Config{})
	exchange := f.send(f.question("糸とは何ですか。"))
	if got := f.title(); got != "糸とは何ですか" {
		t.Errorf("the thread is called %q", got)
	}
	call := model.next(t)
	close(call.say) // The model fails.
	<-call.gone
	must.Succeed(t, f.server.StopMessage(t.Context(), f.owner, exchange.Answer.ID))
	f.wait(exchange)
	if got := f.title(); got != "糸とは何ですか" {
		t.Errorf("without a title the thread is called %q", got)
	}
	if raw := f.follow(f.server, exchange.Answer.ID, ""); strings.Contains(raw, "data-title") {
		t.Errorf("what stands in for a title is told: %s", raw)
	}
	f.thread = f.newThread(chatSkill)
	f.send(f.question("# 夏の出張の旅費は、いつまでに精算すればよいでしょうか。\n\n教えてください。"))
	if got := f.title(); got != "夏の出張の旅費は、いつまでに精算すれば…" {
		t.Errorf("by a long question the thread is called %q", got)
	}
	f.thread = f.newThread(formSkill)
	q := f.question("")
	q.Form = map[string]string{}
	for _, field := range formSkill.FormFields {
		if len(field.Options) > 0 {
			q.Form[field.Name] = field.Options[0]
		}
	}
	q.Form["text"] = "来月、就業規則を改定します。"
	f.send(q)
	if got := f.title(); got != "来月、就業規則を改定します" {
		t.Errorf("a form's thread is called %q", got)
	}
}

// TestTitleAfterAFailedAnswer: the title is generated even if the answer fails.
func TestTitleAfterAFailedAnswer(t *testing.T) {
	t.Parallel()
	answers := llmtest.NewLive()
	f := newFixture(t, nil)
	model, events := f.titling(answers, chat.Config{})
	for _, end := range []func(chat.Exchange, *llmtest.Call){
		func(_ chat.Exchange, c *llmtest.Call) {
			c.Fail(fault.Errorf(llm.CodeInterrupted, "途切れました。"))
		},
		func(e chat.Exchange, _ *llmtest.Call) {
			must.Succeed(t, f.server.StopMessage(t.Context(), f.owner, e.Answer.ID))
		},
	} {
		f.thread = f.newThread(chatSkill)
		exchange := f.send(f.question("質問"))
		end(exchange, answers.Next(t))
		f.wait(exchange)
		model.next(t).say <- "題"
		if thread := events.await(t, "題"); thread.ID != f.thread.ID || thread.Running {
			t.Errorf("told of %+v", thread)
		}
	}
}

// TestRenamedThreadKeepsItsName: the name is kept even if it equals the provisional title.
func TestRenamedThreadKeepsItsName(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	model, events := f.titling(llmtest.Say("答え"), chat.Config{})
	for _, name := range []string{"人の題", "糸とは何ですか"} {
		f.thread = f.newThread(chatSkill)
		exchange := f.wait(f.send(f.question("糸とは何ですか。")))
		call := model.next(t)
		if _, err := f.server.EditThread(t.Context(), f.owner, f.thread.ID,
			chat.ThreadEdit{Title: new(name)}); err != nil {
			t.Fatal(err)
		}
		call.say <- "モデルの題"
		events.awaitTokens(t)
		if got := f.title(); got != name {
			t.Errorf("renamed to %q, it is called %q", name, got)
		}
		if raw := f.follow(f.server, exchange.Answer.ID, ""); !strings.Contains(raw,
			`"data-title","data":{"title":"`+name) {
			t.Errorf("a replay: %s", raw)
		}
	}
}

// TestTitleHasItsOwnTime: after the timeout the thread keeps its provisional title.
func TestTitleHasItsOwnTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	model, _ := f.titling(llmtest.Say("答え"), chat.Config{TitleTimeout: time.Millisecond})
	f.wait(f.send(f.question("質問")))
	await(t, "the title is given up", model.next(t).gone)
	f.wait(f.send(f.question("二つ目の質問")))
	if got, n := f.title(), model.titles.Load(); got != "質問" || n != 1 {
		t.Errorf("the thread is called %q, the model was asked %d times", got, n)
	}
}

// TestStopEndsTitles: a stopping server waits for its answers, but not for their titles.
func TestStopEndsTitles(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	model, _ := f.titling(llmtest.Say("答え"), chat.Config{})
	f.wait(f.send(f.question("質問")))
	call := model.next(t)
	stopped := make(chan struct{})
	go func() {
		f.server.Stop(context.WithoutCancel(t.Context()))
		close(stopped)
	}()
	await(t, "the server stops", stopped)
	await(t, "the title is given up", call.gone)
	if got := f.title(); got != "質問" {
		t.Errorf("the thread is called %q", got)
	}
}

// TestTitleAfterATakeover: the server that takes over a first answer generates the title. It generates none for a later
// question, even if the first one failed.
func TestTitleAfterATakeover(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	model, _ := f.titling(llmtest.NewLive(), chat.Config{})
	exchange := f.send(f.question("一つ目"))
	model.next(t)
	f.server.kill()
	model, events := f.titling(llmtest.Say("答え"), chat.Config{Alone: true})
	model.next(t).say <- "題"
	events.await(t, "題")
	f.wait(exchange)

	f.thread = f.newThread(chatSkill)
	f.wait(f.send(f.question("三つ目")))
	close(model.next(t).say)
	f.server.kill()
	live := llmtest.NewLive()
	f.titling(live, chat.Config{})
	exchange = f.send(f.question("四つ目"))
	live.Next(t)
	f.server.kill()
	model, _ = f.titling(llmtest.Say("答え"), chat.Config{Alone: true})
	f.wait(exchange)
	f.server.Stop(context.WithoutCancel(t.Context())) // Waits for all started work.
	if n := model.titles.Load(); n != 0 || f.title() != "三つ目" {
		t.Errorf("the thread is called %q, the model was asked %d times", f.title(), n)
	}
}

func TestTitles(t *testing.T) {
	t.Parallel()
	const long = "とても長い見出しなので二十文字を超えてしまいます"
	f := newFixture(t, nil)
	model, events := f.titling(llmtest.Say("回答"), chat.Config{})
	for name, c := range map[string]struct{ made, want string }{
		"as made":    {"絹糸の作り方", "絹糸の作り方"},
		"dressed":    {"「絹糸の作り方」。\n", "絹糸の作り方"},
		"too long":   {long, string([]rune(long)[:20])},
		"empty":      {"\n \n", "糸はどう作りますか"},
		"joined":     {strings.Repeat("👨‍👩‍👧", 12), strings.Repeat("👨‍👩‍👧", 6) + "👨‍👩"},
		"control":    {"絹\u202e糸\x07\u200f", "絹糸"},
		"separated":  {"絹\u2028糸", "絹 糸"},
		"marked":     {"## **絹糸**の`作り方`と[糸](https://example.com)", "絹糸の作り方と糸"},
		"with intro": {"見出し：絹糸", "絹糸"},
	} {
		f.thread = f.newThread(chatSkill)
		f.send(f.question("糸はどう作りますか。"))
		model.next(t).say <- c.made
		events.awaitTokens(t)
		if got := f.title(); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
