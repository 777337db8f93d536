package chat_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// continuingOffers are a model that continues answers.
var continuingOffers = llmtest.Offers{{ID: "m", Name: "モデル", Thinking: llm.ThinkingSwitch, Continues: true}}

// checkpoints is a store that reports stored pieces of texts.
type checkpoints struct {
	chat.Store
	stored chan string
}

func (s *checkpoints) AddCheckpoints(ctx context.Context, server uuid.UUID, pieces []chat.Checkpoint) ([]uuid.UUID,
	error,
) {
	stored, err := s.Store.AddCheckpoints(ctx, server, pieces)
	for _, p := range pieces {
		if slices.Contains(stored, p.MessageID) {
			s.stored <- p.Text
		}
	}
	return stored, err
}

// startSilent starts a server that seems to have crashed to the others: it sends no heartbeat.
func (f *fixture) startSilent(n chat.Deps) (*server, *checkpoints) {
	f.t.Helper()
	store := &checkpoints{Store: f.db, stored: make(chan string, 100)}
	cfg := mute()
	cfg.Checkpoints = time.Millisecond
	n.Store, n.Offers = store, continuingOffers
	return f.startWith(n, cfg), store
}

// long is more text than a server leaves without a checkpoint.
var long = strings.Repeat("紡がれた文章。", 100)

// takeOver starts a server that takes over the answers of crashed ones.
func (f *fixture) takeOver(n chat.Deps) *server {
	f.t.Helper()
	n.Offers = continuingOffers
	return f.startWith(n, chat.Config{Alone: true, Checkpoints: time.Millisecond})
}

// cursor returns the last event id of a client with a text of a run.
func cursor(run int, text string) string { return stream.Cursor{Run: run, Offset: len(text)}.String() }

// TestTakeoverContinuesTheText: the model continues the text of the last checkpoint. Clients with a part of that text
// keep it, during and after the generation; a client with more is reset.
func TestTakeoverContinuesTheText(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.named()
	first := llmtest.NewLive()
	crashed, store := f.startSilent(chat.Deps{Model: first})
	exchange := f.sendTo(crashed, f.question("長い回答を"))
	call := first.Next(t)
	call.Emit(long)
	<-store.stored
	call.Emit("失われる文章")

	second := llmtest.NewLive()
	store = &checkpoints{Store: f.db, stored: make(chan string, 100)}
	next := f.takeOver(chat.Deps{Store: store, Model: second})
	call = second.Next(t)
	if call.Request.Prefix != long {
		t.Fatalf("the model continues %q", call.Request.Prefix)
	}
	if attachment, err := next.Attach(t.Context(), f.owner, exchange.Answer.ID); err != nil || attachment.Text != nil {
		t.Errorf("a text before the model has begun: %+v, %v", attachment, err)
	}
	call.Emit("続き")
	call.Emit(long)
	<-store.stored

	// The second server crashes, too.
	third := llmtest.NewLive()
	last := f.takeOver(chat.Deps{Model: third})
	call = third.Next(t)
	if call.Request.Prefix != long+"続き"+long {
		t.Fatalf("the model continues %q", call.Request.Prefix)
	}
	call.Emit("終わり")
	whole := long + "続き" + long + "終わり"
	clients := map[string]string{
		cursor(1, "紡が"): whole[len("紡が"):], cursor(1, long): whole[len(long):],
		cursor(2, long+"続き"): long + "終わり", cursor(3, long): whole[len(long):],
		cursor(1, long+"続"): whole, cursor(2, whole): whole, cursor(4, long): whole,
	}
	check := func(when string, follow func(cursor string) string) {
		t.Helper()
		for cursor, want := range clients {
			raw := follow(cursor)
			if got := deltas(t, raw); got != want || strings.Contains(raw, "data-reset") != (want == whole) {
				t.Errorf("%s, %s: got %d bytes, want %d: %.200s", when, cursor, len(got), len(want), raw)
			}
		}
	}
	text := f.attach(last, exchange.Answer.ID)
	watches := make(map[string]*stream.Watch)
	for cursor := range clients {
		watches[cursor] = text.Watch(cursor)
	}
	call.Finish()
	check("live", func(cursor string) string { return f.drain(watches[cursor]) })
	if answer := f.waitAt(last, exchange).Answer; answer.Content != whole || answer.Run != 3 {
		t.Errorf("stored run %d, %q", answer.Run, answer.Content)
	}
	check("stored", func(cursor string) string { return f.follow(f.server, exchange.Answer.ID, cursor) })
	for id, found := range map[string]bool{cursor(1, long): true, cursor(2, whole): false} {
		answer, err := f.server.FindAttachable(t.Context(), f.owner, f.thread.ID, id)
		if err != nil || (answer != nil) != found {
			t.Errorf("%s: attachable %v, %v", id, answer != nil, err)
		}
	}
}

// TestStopKeepsTheWholeText: a server that stops stores the texts of running answers to the last character. The owner
// may stop the answer before another server continues it.
func TestStopKeepsTheWholeText(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]bool{"continued": false, "stopped by the owner": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil)
			f.named()
			first := llmtest.NewLive()
			stopping, _ := f.startSilent(chat.Deps{Model: first})
			exchange := f.sendTo(stopping, f.question("はい"))
			first.Next(t).Emit("短い文章")
			stopping.kill()
			if stop {
				must.Succeed(t, f.server.StopMessage(t.Context(), f.owner, exchange.Answer.ID))
			}
			second := llmtest.NewLive()
			next := f.takeOver(chat.Deps{Model: second})
			want := "短い文章"
			if !stop {
				call := second.Next(t)
				call.Emit("の続き")
				call.Finish()
				want += "の続き"
			}
			answer := f.waitAt(next, exchange).Answer
			if answer.Content != want || answer.Status != chat.StatusSuccess ||
				(answer.FinishReason == chat.FinishStopped) != stop {
				t.Errorf("stored %+v", answer)
			}
			if raw := f.follow(next, exchange.Answer.ID, cursor(1, "短い文章")); strings.Contains(raw, "data-reset") {
				t.Errorf("the client is reset: %s", raw)
			}
		})
	}
}

// TestTextIsKeptIfItsSourcesAreNotFoundAgain: an answer that ends before the next server has found its sources keeps its
// text. Clients are not reset.
func TestTextIsKeptIfItsSourcesAreNotFoundAgain(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]bool{"stopped by the owner": true, "the search fails": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil)
			f.named()
			first := llmtest.NewLive()
			stopping, _ := f.startSilent(chat.Deps{Model: first, Grounder: f.groundedIn(three...)})
			exchange := f.sendTo(stopping, f.question("休暇は？"))
			const want = "20日です[2]。申請は"
			first.Next(t).Emit(want)
			stopping.kill()
			if stop {
				must.Succeed(t, f.server.StopMessage(t.Context(), f.owner, exchange.Answer.ID))
			}
			next := f.takeOver(chat.Deps{
				Model: llmtest.NewLive(), // Not asked.
				Grounder: grounder(func(ctx context.Context, _ *chat.AnswerRequest, _ func(chat.Step)) (chat.Grounds, error) {
					if stop {
						<-ctx.Done()
						return chat.Grounds{}, ctx.Err()
					}
					return chat.Grounds{}, fault.Errorf(fault.Unavailable, "検索できませんでした。")
				}),
			})
			answer := f.waitAt(next, exchange).Answer
			if answer.Content != want || (answer.FinishReason == chat.FinishStopped) != stop ||
				(answer.Status == chat.StatusFailed) == stop {
				t.Errorf("stored %+v", answer)
			}
			if raw := f.follow(next, exchange.Answer.ID, cursor(1, want)); strings.Contains(raw, "data-reset") {
				t.Errorf("the client is reset: %s", raw)
			}
		})
	}
}

// tiredStore is a store whose answers have been begun too often.
type tiredStore struct{ chat.Store }

func (s tiredStore) TakeOver(
	ctx context.Context, server uuid.UUID, owned []uuid.UUID, lease time.Duration, limit, epoch int,
) ([]chat.StoredGeneration, error) {
	taken, err := s.Store.TakeOver(ctx, server, owned, lease, limit, epoch)
	for i := range taken {
		taken[i].Attempts = 1000
	}
	return taken, err
}

// TestAnswerBegunTooOftenKeepsItsText: the answer fails with its text and its calls. The call that was being made is
// shown as stopped.
func TestAnswerBegunTooOftenKeepsItsText(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.giveTools()
	box, model := newToolbox(), llmtest.NewLive()
	crashed, _ := f.startSilent(chat.Deps{Model: model, Tools: box})
	exchange := f.sendTo(crashed, f.question("調べて"))
	call := model.Next(t)
	call.Emit("調べます。")
	call.CallTools(calling("a", "echo", "{}"), calling("w", "wait", "{}"))
	<-box.called
	<-box.called
	crashed.kill()
	last := f.takeOver(chat.Deps{Store: tiredStore{f.db}, Model: llmtest.NewLive()}) // The model is not asked.
	answer := f.waitAt(last, exchange).Answer
	if answer.Status != chat.StatusFailed || answer.Content != "調べます。" || len(answer.ToolCalls) != 2 ||
		answer.ToolCalls[1].State != chat.ToolFailed || answer.ToolCalls[1].Error != "停止しました。" {
		t.Errorf("stored %+v", answer)
	}
}

// TestTakeoverContinuesTheTextOfOtherServers: the text that other servers have received is continued, without a
// checkpoint.
func TestTakeoverContinuesTheTextOfOtherServers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.named()
	network := streamtest.NewNetwork()
	hub := func() *stream.Hub {
		hub := stream.NewHub(stream.HubConfig{Transport: network.Node()})
		t.Cleanup(func() { hub.Stop(context.Background()) })
		return hub
	}
	first := llmtest.NewLive()
	crashed, _ := f.startSilent(chat.Deps{Model: first, Hub: hub()})
	exchange := f.sendTo(crashed, f.question("はい"))
	call := first.Next(t)
	call.Emit("まゆから")
	reading := hub()
	var client streamtest.Client
	if err := client.Follow(t.Context(), reading, exchange.Answer.ID.String(), func(c *streamtest.Client) bool {
		return c.Text == "まゆから"
	}); err != nil {
		t.Fatal(err)
	}
	second := llmtest.NewLive()
	next := f.takeOver(chat.Deps{Model: second, Hub: hub()})
	call = second.Next(t)
	if call.Request.Prefix != "まゆから" {
		t.Errorf("the model continues %q", call.Request.Prefix)
	}
	call.Emit("糸を引く")
	call.Finish()
	f.waitAt(next, exchange)
	must.Succeed(t, client.Follow(t.Context(), reading, exchange.Answer.ID.String(), nil))
	if client.Text != "まゆから糸を引く" || client.Resets != 0 || client.Run != 2 {
		t.Errorf("the client has %q after %d resets", client.Text, client.Resets)
	}
}

// TestTakeoverRestartsTheAnswer: an answer that cannot be continued is restarted, without the earlier text.
func TestTakeoverRestartsTheAnswer(t *testing.T) {
	t.Parallel()
	refusing := llmtest.Func(func(_ context.Context, req llm.Request, emit func(string)) (llm.Result, error) {
		if req.Prefix != "" {
			return llm.Result{Usage: llm.Usage{InputTokens: 7}}, fault.Errorf(llm.CodeNotContinued, "断られました。")
		}
		emit("新しい回答")
		return llm.Result{FinishReason: llm.FinishStop}, nil
	})
	for name, test := range map[string]struct {
		change func(*chat.Question)
		think  string
		before func(f *fixture) chat.Grounder
		after  func(f *fixture) chat.Grounder
	}{
		"the model refuses": {},
		"reasoning":         {think: "考え中"},
		"thinking":          {change: func(q *chat.Question) { q.Thinking = new(true) }},
		"JSON":              {change: func(q *chat.Question) { q.Params = &chat.Params{Params: llm.Params{Schema: &chat.Schema{}}} }},
		"other sources": {
			before: func(f *fixture) chat.Grounder { return f.groundedIn(three...) },
			after:  func(f *fixture) chat.Grounder { return f.groundedIn(three...) }, // With other ids.
		},
		"sources are gone": {before: func(f *fixture) chat.Grounder { return f.groundedIn(three...) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil)
			f.named()
			deps := chat.Deps{Model: llmtest.NewLive()}
			first, _ := deps.Model.(*llmtest.Live)
			if test.before != nil {
				deps.Grounder = test.before(f)
			}
			crashed, _ := f.startSilent(deps)
			q := f.question("はい")
			if test.change != nil {
				test.change(&q)
			}
			exchange := f.sendTo(crashed, q)
			call := first.Next(t)
			if test.think != "" {
				call.Reason(test.think)
			}
			call.Emit(long)
			crashed.kill()
			deps = chat.Deps{Model: refusing}
			if test.after != nil {
				deps.Grounder = test.after(f)
			}
			next := f.takeOver(deps)
			raw := f.attachOnce(next, exchange, cursor(1, long))
			if deltas(t, raw) != "新しい回答" || !strings.Contains(raw, "data-reset") {
				t.Errorf("got %s", raw)
			}
			if answer := f.waitAt(next, exchange).Answer; answer.Content != "新しい回答" || answer.Continued != nil {
				t.Errorf("stored %+v", answer)
			}
		})
	}
}

// TestTakeoverContinuesCitations: an answer with the same sources as before is continued, and its citations are those of
// the whole text.
func TestTakeoverContinuesCitations(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.named()
	found := must.Get(f.groundedIn(three...)(t.Context(), &chat.AnswerRequest{}, func(chat.Step) {}))(t)
	same := grounder(func(_ context.Context, req *chat.AnswerRequest, _ func(chat.Step)) (chat.Grounds, error) {
		return chat.Grounds{Prompt: req.Prompt, Sources: found.Sources}, nil
	})
	first := llmtest.NewLive()
	crashed, _ := f.startSilent(chat.Deps{Model: first, Grounder: same})
	exchange := f.sendTo(crashed, f.question("休暇は？"))
	first.Next(t).Emit("20日です[2]。申請は【") // The bracket is held back.
	crashed.kill()
	second := llmtest.NewLive()
	next := f.takeOver(chat.Deps{Model: second, Grounder: same})
	call := second.Next(t)
	if call.Request.Prefix != "20日です[2]。申請は" {
		t.Errorf("the model continues %q", call.Request.Prefix)
	}
	call.Emit("三日前まで【3】です。")
	call.Finish()
	answer := f.waitAt(next, exchange).Answer
	if answer.Content != "20日です[2]。申請は三日前まで[3]です。" || len(answer.Cited()) != 2 {
		t.Errorf("stored %q with %v", answer.Content, numbers(answer.Citations))
	}
}
