package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// deltas returns the text of an event stream.
func deltas(t testing.TB, raw string) string {
	t.Helper()
	return join(t, raw, "text-delta")
}

// join concatenates the deltas of one type in an event stream.
func join(t testing.TB, raw, kind string) string {
	t.Helper()
	var text strings.Builder
	for line := range strings.Lines(raw) {
		data, found := strings.CutPrefix(strings.TrimSpace(line), "data: {")
		if !found {
			continue
		}
		var chunk struct{ Type, Delta string }
		must.Succeed(t, json.Unmarshal([]byte("{"+data), &chunk))
		if chunk.Type == kind {
			text.WriteString(chunk.Delta)
		}
	}
	return text.String()
}

// mute configures a server that sends one heartbeat when it starts, and never again. It takes nothing over.
func mute() chat.Config {
	return chat.Config{Heartbeat: time.Hour, Lease: 2 * time.Hour, Sweep: time.Hour}
}

// attachOnce waits until a server generates an answer, and returns its stream for a client with a cursor.
func (f *fixture) attachOnce(s *server, exchange chat.Exchange, cursor string) string {
	f.t.Helper()
	for {
		attachment := must.Get(s.Attach(f.t.Context(), f.owner, exchange.Answer.ID))(f.t)
		if attachment.Text != nil {
			return f.drain(attachment.Text.Watch(cursor))
		}
		await(f.t, "the answer is written", attachment.Opened)
		attachment.Leave()
	}
}

func TestGenerationOfADeadServerIsRunAgain(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, nil)
	slow := f.start(model, f.db, mute())
	exchange := f.sendTo(slow, f.question("途中で倒れる"))
	call := model.Next(t)
	call.Emit("前の回の文章")
	w := f.watch(slow, exchange.Answer.ID)

	// As after a restart on a database that no other server uses.
	next := f.start(llmtest.Say("次の回の", "文章"), f.db, chat.Config{Alone: true})
	raw := f.attachOnce(next, exchange, "1-18")
	if deltas(t, raw) != "次の回の文章" ||
		!strings.Contains(raw, `{"type":"data-reset","data":{"run":2},"transient":true}`) ||
		!strings.Contains(raw, "[DONE]") {
		t.Errorf("got %s", raw)
	}

	// The first server was only slow: its output is void.
	call.Emit("、遅れて届いた")
	call.Finish()
	if late := f.drain(w); strings.Contains(late, "[DONE]") {
		t.Errorf("the stale run ends as if it were complete: %s", late)
	}
	answer, err := f.db.FindMessage(t.Context(), f.owner, exchange.Answer.ID)
	if err != nil || answer.Content != "次の回の文章" || answer.Status != chat.StatusSuccess || answer.Run != 2 {
		t.Errorf("stored %+v, %v", answer, err)
	}
}

// coldStore is a database whose first read after a takeover takes as long as the takeover may take.
type coldStore struct {
	chat.Store
	taking context.Context // Of the last takeover; nil before it.
	reads  int
}

func (s *coldStore) TakeOver(
	ctx context.Context, server uuid.UUID, owned []uuid.UUID, lease time.Duration, limit, epoch int,
) ([]chat.StoredGeneration, error) {
	s.taking = ctx
	return s.Store.TakeOver(ctx, server, owned, lease, limit, epoch)
}

func (s *coldStore) Guidance(ctx context.Context, organizationID, userID uuid.UUID) (org.Guidance, error) {
	if s.reads++; s.taking != nil && s.reads == 1 {
		<-s.taking.Done()
	}
	return s.Store.Guidance(ctx, organizationID, userID)
}

// TestSlowTakeoverIsNotRepeated: slow reads for one answer do not fail the takeover of it and of those after it, which
// would count as further attempts.
func TestSlowTakeoverIsNotRepeated(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	dead := f.start(llmtest.NewLive(), f.db, mute())
	exchanges := []chat.Exchange{f.sendTo(dead, f.question("一つ目"))}
	f.thread = f.newThread(chatSkill)
	exchanges = append(exchanges, f.sendTo(dead, f.question("二つ目")))
	dead.kill()
	next := f.start(llmtest.Say("答え"), &coldStore{Store: f.db}, takesOver())
	for _, exchange := range exchanges {
		if answer := f.waitAt(next, exchange).Answer; answer.Content != "答え" || answer.Run != 2 {
			t.Errorf("stored %+v", answer)
		}
	}
}

// TestR87_ATakeoverHasThePageInView: the page of the browser extension is longer than the sent history. The next run
// after a crash still sends it before the question, like the first run.
func TestR87_ATakeoverHasThePageInView(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, nil)
	slow := f.start(model, f.db, mute())
	page, ok := skill.Extension(skill.KindPageWholeSummary)
	if !ok {
		t.Fatal("there is no skill for pages")
	}
	f.thread = f.newThread(page)
	f.named()
	ask := func(content, prompt string) (chat.Exchange, *llmtest.Call) {
		q := f.question(content)
		q.Prompt = prompt
		return f.sendTo(slow, q), model.Next(t)
	}
	long := "<source>" + strings.Repeat("長い本文です。", 14_000) + "</source>"
	for _, q := range [][2]string{{"要約", long}, {"期限は？", ""}} {
		exchange, call := ask(q[0], q[1])
		call.Emit(q[0] + "への回答")
		call.Finish()
		f.waitAt(slow, exchange)
	}
	exchange, before := ask("手数料は？", "")
	before.Emit("途中まで")

	next := llmtest.NewLive()
	server := f.start(next, f.db, chat.Config{Alone: true})
	after := next.Next(t)
	if got, want := after.Request.Messages, before.Request.Messages; len(got) != 6 || got[1].Content != long ||
		got[2].Content != "要約への回答" || !reflect.DeepEqual(got[1:], want[1:]) {
		t.Errorf("the model is sent %d messages by the next run, %d by the first", len(got), len(want))
	}
	after.Emit("次の回")
	after.Finish()
	if got := f.waitAt(server, exchange).Answer; got.Content != "次の回" || got.Run != 2 {
		t.Errorf("stored %+v", got)
	}
}

func TestSilentServerIsTakenOverByTheSweep(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	exchange := f.send(f.question("はい"))
	model.Next(t)
	// The first server's heartbeat is as old as its start, which exceeds this lease at the next sweep.
	next := f.start(llmtest.Say("引き継ぎ"), f.db, chat.Config{Lease: time.Millisecond, Sweep: time.Millisecond})
	if raw := f.attachOnce(next, exchange, ""); deltas(t, raw) != "引き継ぎ" {
		t.Errorf("got %s", raw)
	}
}

// TestWhoWaitsFindsAnotherServersAnswer waits on one server for the answer that another live one generates.
func TestWhoWaitsFindsAnotherServersAnswer(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	other := f.start(model, f.db, chat.Config{Patience: 20 * time.Millisecond})
	exchange := f.send(f.question("どのサーバーでも"))
	found := make(chan chat.Exchange)
	go func() {
		got, err := other.WaitFor(t.Context(), f.owner, exchange)
		if err != nil {
			t.Error(err)
		}
		found <- got
	}()
	call := model.Next(t)
	call.Emit("同じ回答")
	call.Finish()
	select {
	case got := <-found:
		if got.Answer.Content != "同じ回答" {
			t.Errorf("got %+v", got.Answer)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for ever")
	}
}

// TestStopReachesTheServerThatWrites stops on one server an answer that another one generates.
func TestStopReachesTheServerThatWrites(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	writer := f.start(model, f.db, chat.Config{Heartbeat: 20 * time.Millisecond})
	exchange := f.sendTo(writer, f.question("別のサーバーで"))
	call := model.Next(t)
	call.Emit("ここまで")
	must.Succeed(t, f.server.StopMessage(t.Context(), f.owner, exchange.Answer.ID))
	await(t, "the model is left alone", call.Gone())
	if got := f.waitAt(writer, exchange).Answer; got.FinishReason != chat.FinishStopped || got.Content != "ここまで" {
		t.Errorf("stored %+v", got)
	}
}

func TestStopHandsOverWhatIsLeft(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	exchange := f.send(f.question("はい"))
	model.Next(t).Emit("半分")
	attachment := must.Get(f.server.Attach(t.Context(), f.owner, exchange.Answer.ID))(t)
	w := attachment.Text.Watch("")
	f.server.kill()
	if raw := f.drain(w); strings.Contains(raw, "[DONE]") {
		t.Errorf("a stream that is to be resumed ends with [DONE]: %s", raw)
	}
	if _, err := f.server.Send(t.Context(), f.owner, f.question("まだ")); err == nil {
		t.Error("a server that stops takes questions")
	}
	// No lease needs to expire: the server has removed its row.
	next := f.start(llmtest.Say("続き"), f.db, chat.Config{Lease: time.Hour, Sweep: time.Millisecond})
	if raw := f.attachOnce(next, exchange, "1-6"); deltas(t, raw) != "続き" || !strings.Contains(raw, "data-reset") {
		t.Errorf("got %s", raw)
	}
}

func TestStopWaitsForRunningAnswers(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	exchange := f.send(f.question("はい"))
	call := model.Next(t)
	stopped := make(chan struct{})
	go func() {
		f.server.Stop(context.Background())
		close(stopped)
	}()
	call.Emit("最後まで")
	call.Finish()
	<-stopped
	if answer, err := f.db.FindMessage(t.Context(), f.owner, exchange.Answer.ID); err != nil ||
		answer.Content != "最後まで" {
		t.Errorf("stored %+v, %v", answer, err)
	}
}

// flaky is a store that fails to end generations a few times, or stores a begin and reports it as failed.
type flaky struct {
	chat.Store
	ends, begins atomic.Int32 // How many more calls fail.
	acks         atomic.Int32 // How many ends are stored but reported as failed.
}

var errFlaky = errors.New("the connection was lost")

func (s *flaky) EndGeneration(ctx context.Context, o chat.Outcome) (chat.EndResult, error) {
	if s.ends.Add(-1) >= 0 {
		return chat.EndResult{}, errFlaky
	}
	ended, err := s.Store.EndGeneration(ctx, o)
	if err == nil && s.acks.Add(-1) >= 0 {
		return chat.EndResult{}, errFlaky
	}
	return ended, err
}

func (s *flaky) BeginGeneration(ctx context.Context, b chat.NewGeneration) (chat.StoredGeneration, error) {
	begun, err := s.Store.BeginGeneration(ctx, b)
	if err == nil && s.begins.Add(-1) >= 0 {
		return chat.StoredGeneration{}, errFlaky
	}
	return begun, err
}

func TestAnswerIsStoredOnceTheDatabaseIsBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	db := &flaky{Store: f.db}
	db.ends.Store(3)
	f.server = f.start(llmtest.Say("残る"), db, chat.Config{StoreRetry: time.Millisecond})
	if answer := f.wait(f.send(f.question("はい"))).Answer; answer.Content != "残る" {
		t.Errorf("stored %+v", answer)
	}
}

func TestEndWhoseCommitWasInDoubtIsTold(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	db := &flaky{Store: f.db}
	db.acks.Store(1)
	model := llmtest.NewLive()
	f.server = f.start(model, db, chat.Config{StoreRetry: time.Millisecond})
	exchange := f.send(f.question("はい"))
	attachment := must.Get(f.server.Attach(t.Context(), f.owner, exchange.Answer.ID))(t)
	w := attachment.Text.Watch("")
	call := model.Next(t)
	call.Emit("終わりまで")
	call.Finish()
	if raw := f.drain(w); deltas(t, raw) != "終わりまで" || !strings.Contains(raw, "[DONE]") {
		t.Errorf("got %s", raw)
	}
}

// TestQuestionWhoseCommitWasInDoubtIsAnswered loses the connection after the commit: the client gets an error, and its
// retry finds the answer, which the sweep has begun.
func TestQuestionWhoseCommitWasInDoubtIsAnswered(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	db := &flaky{Store: f.db}
	db.begins.Store(1)
	f.server = f.start(llmtest.Say("届いた"), db, chat.Config{
		Lease:     20 * time.Millisecond,
		Heartbeat: 5 * time.Millisecond, Sweep: 5 * time.Millisecond,
	})
	q := f.question("はい")
	if _, err := f.server.Send(t.Context(), f.owner, q); !errors.Is(err, errFlaky) {
		t.Fatalf("got %v", err)
	}
	exchange := f.send(q)
	if raw := f.attachOnce(f.server, exchange, ""); deltas(t, raw) != "届いた" {
		t.Errorf("got %s", raw)
	}
}

// overtaken is a store that delays takeovers, and one read of an answer until it was taken over and completed.
type overtaken struct {
	chat.Store
	counted
	reads atomic.Int32
	begin chan struct{} // Closed when an answer may be taken over.
	ended chan struct{} // Closed when its generation has left the server.
}

func (o *overtaken) TakeOver(ctx context.Context, id uuid.UUID, held []uuid.UUID, lease time.Duration, limit,
	epoch int,
) ([]chat.StoredGeneration, error) {
	select {
	case <-o.begin:
		return o.Store.TakeOver(ctx, id, held, lease, limit, epoch)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (o *overtaken) FindMessage(ctx context.Context, owner identity.Owner, id uuid.UUID) (chat.Message, error) {
	message, err := o.Store.FindMessage(ctx, owner, id)
	if o.reads.Add(1) == 2 {
		close(o.begin)
		<-o.ended
	}
	return message, err
}

func (o *overtaken) GenerationEnded(string, time.Duration, int) { close(o.ended) }

// TestWhoComesWhileAnAnswerIsTakenOverDoesNotWait: an answer is taken over, generated and stored after a client's
// server has read that it is running, and before the client waits for it.
func TestWhoComesWhileAnAnswerIsTakenOverDoesNotWait(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.NewLive())
	exchange := f.send(f.question("はい"))
	f.server.kill()
	o := &overtaken{
		Store: f.db, counted: counted{n: map[string]int{}}, begin: make(chan struct{}),
		ended: make(chan struct{}),
	}
	next := f.startWith(chat.Deps{Store: o, Model: llmtest.Say("もう全部"), Metrics: o},
		chat.Config{Sweep: time.Millisecond})
	attachment, err := next.Attach(t.Context(), f.owner, exchange.Answer.ID)
	if err != nil || attachment.Text != nil {
		t.Fatalf("got %+v, %v", attachment, err)
	}
	defer attachment.Leave()
	select {
	case <-attachment.Opened:
	default:
		t.Error("it waits for what has been")
	}
}
