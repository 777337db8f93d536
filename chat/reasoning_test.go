package chat_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// reasoning returns the model's reasoning in a stream.
func reasoning(t *testing.T, raw string) string {
	t.Helper()
	return join(t, raw, "reasoning-delta")
}

// TestReasoningIsStoredAsItWasSeen streams an answer with reasoning, live and from the store, and asks again. The model
// receives its answer, but not its reasoning.
func TestReasoningIsStoredAsItWasSeen(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	exchange := f.send(f.question("九・一一と九・九は？"))
	call := model.Next(t)
	call.Reason("小数を\x00")
	w := f.watch(f.server, exchange.Answer.ID)
	call.Reason("比べる。")
	call.Emit("九・九です。")
	call.Finish()
	live := f.drain(w)
	got := f.wait(exchange).Answer
	const want = "小数を\uFFFD比べる。"
	if got.Reasoning != want || got.Content != "九・九です。" || got.Status != chat.StatusSuccess || got.ReasoningTime < 0 {
		t.Errorf("stored %+v", got)
	}
	late := f.follow(f.server, exchange.Answer.ID, "")
	for name, raw := range map[string]string{"live": live, "replayed": late} {
		if reasoning(t, raw) != want || deltas(t, raw) != "九・九です。" || strings.Count(raw, `"reasoning-end"`) != 1 {
			t.Errorf("%s: %s", name, raw)
		}
	}
	if raw := f.follow(f.server, exchange.Answer.ID, "1-3"); strings.Contains(raw, "reasoning") {
		t.Errorf("a client with some of the text is told again: %s", raw)
	}

	f.send(f.question("なぜ？"))
	call = model.Next(t)
	for _, m := range call.Request.Messages {
		if strings.Contains(m.Content, "小数") {
			t.Errorf("the model is told what it thought: %q", m.Content)
		}
	}
	call.Finish()
}

// TestReasoningAloneIsAFailure: reasoning without an answer is a failure that keeps the reasoning.
func TestReasoningAloneIsAFailure(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t).Add(llmtest.Reasoning("考えた", "だけ。"), llmtest.Finish("stop"), llmtest.Done())
	client := must.Get(llm.NewClient(llm.Config{BaseURL: provider.URL(), Model: "m"}))(t)
	t.Cleanup(client.Close)
	f := newFixture(t, client)
	exchange := f.send(f.question("何か"))
	raw := f.follow(f.server, exchange.Answer.ID, "")
	got := f.wait(exchange).Answer
	if got.Status != chat.StatusFailed || got.Failure == nil || got.Failure.Code != string(llm.CodeBadResponse) ||
		!got.Failure.Retryable ||
		got.Content != "" || got.Reasoning != "考えただけ。" {
		t.Errorf("stored %+v, %+v", got, got.Failure)
	}
	if reasoning(t, raw) != "考えただけ。" || !strings.Contains(raw, got.Failure.Detail) {
		t.Errorf("told %s", raw)
	}
}

// TestStopWhileItThinks: a stop keeps the reasoning so far.
func TestStopWhileItThinks(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	exchange := f.send(f.question("長く考えて"))
	call := model.Next(t)
	call.Reason("まだ考えている")
	must.Succeed(t, f.server.StopMessage(t.Context(), f.owner, exchange.Answer.ID))
	if got := f.wait(exchange).Answer; got.FinishReason != chat.FinishStopped || got.Reasoning != "まだ考えている" {
		t.Errorf("%+v", got)
	}
}

// TestReasoningOfAFailedServerIsDropped takes over an answer during its reasoning: the next run starts from the
// beginning.
func TestReasoningOfAFailedServerIsDropped(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, nil)
	slow := f.start(model, f.db, mute())
	exchange := f.sendTo(slow, f.question("途中で倒れる"))
	call := model.Next(t)
	call.Reason("前の回の考え")
	again := llmtest.NewLive()
	next := f.start(again, f.db, chat.Config{Alone: true})
	call = again.Next(t)
	call.Reason("次の回の考え")
	call.Emit("答え")
	call.Finish()
	got := f.waitAt(next, exchange).Answer
	if raw := f.follow(next, exchange.Answer.ID, "1-3"); got.Reasoning != "次の回の考え" || reasoning(t, raw) != "次の回の考え" {
		t.Errorf("%+v, told %s", got, raw)
	}
}

// TestReasoningPastItsLimitIsDropped: the beginning of the reasoning and the whole answer are kept.
func TestReasoningPastItsLimitIsDropped(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, nil)
	f.server = f.start(model, f.db, chat.Config{MaxReasoning: 10})
	exchange := f.send(f.question("長く考えて"))
	call := model.Next(t)
	for _, piece := range []string{"一二", "三四", "五"} {
		call.Reason(piece)
	}
	call.Emit("答え")
	call.Finish()
	got := f.wait(exchange).Answer
	if got.Reasoning != "一二三…" || got.Content != "答え" {
		t.Errorf("%+v", got)
	}
}

// TestReasoningIsNotPartOfTheAnswer: in any provider's form, reasoning is not in the answer or the title, not
// searchable, not sent to the model again, and not shared.
func TestReasoningIsNotPartOfTheAnswer(t *testing.T) {
	t.Parallel()
	const thought = "秘密の思案"
	for name, said := range map[string][]string{
		"tags":  {`{"content":"<think>` + thought + `</think>回答です"}`},
		"field": {`{"reasoning_content":"` + thought + `"}`, `{"content":"回答です"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if strings.Contains(string(body), thought) {
					t.Errorf("the model is told %s", body)
				}
				deltas := said
				if strings.Contains(string(body), llmtest.TitleInstruction) {
					deltas = []string{`{"content":"<think>` + thought + `</think>よい題"}`}
				}
				for _, delta := range deltas {
					_, _ = io.WriteString(w, `data: {"choices":[{"delta":`+delta+"}]}\n\n")
				}
				_, _ = io.WriteString(w, `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
			}))
			t.Cleanup(provider.Close)
			client := must.Get(llm.NewClient(llm.Config{BaseURL: provider.URL, Model: "m"}))(t)
			t.Cleanup(client.Close)
			f := newFixture(t, client)
			events := &titles{changed: make(chan chat.Thread, 100)}
			f.server = f.startWith(chat.Deps{Model: client, Events: events}, chat.Config{})
			for range 2 { // The second request contains the first answer.
				exchange := f.send(f.question("質問です"))
				if got := f.wait(exchange).Answer; got.Content != "回答です" || got.Reasoning != thought {
					t.Fatalf("stored %+v", got)
				}
			}
			events.await(t, "よい題")
			searcher := chat.NewSearcher(f.db, slog.New(slog.DiscardHandler))
			for query, want := range map[string]int{"回答です": 1, thought: 0} {
				if found, err := searcher.Search(t.Context(), f.owner, query, chat.ThreadFilter{}, 0, 10); err != nil || len(found) != want {
					t.Errorf("%s finds %+v, %v", query, found, err)
				}
			}
		})
	}
}
