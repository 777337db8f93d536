package chat_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestTakeoverDuringTwentyCalls: a server crashes during the eleventh of twenty calls. The next one makes this call
// again, and the rest. No other call is repeated, and the text is exact.
func TestTakeoverDuringTwentyCalls(t *testing.T) {
	t.Parallel()
	box, model := newToolbox(), llmtest.NewLive()
	f := newFixture(t, nil)
	f.giveTools()
	exchange := f.sendTo(f.startWith(chat.Deps{Model: model, Tools: box}, mute()), f.question("調べて"))
	want := make([]string, 20)
	text := ""
	ask := func(model *llmtest.Live, i int) {
		call := model.Next(t)
		name := map[bool]string{true: "wait", false: "echo"}[i == 10]
		want[i] = fmt.Sprintf(`c%d %s {"n":%d}`, i, name, i)
		call.Emit(fmt.Sprintf("%d番。", i))
		text += fmt.Sprintf("%d番。\n\n", i)
		call.CallTools(calling(fmt.Sprintf("c%d", i), name, fmt.Sprintf(`{"n":%d}`, i)))
	}
	for i := range 11 {
		ask(model, i)
	}
	for range 11 {
		<-box.called
	}

	box2, second := newToolbox(), llmtest.NewLive()
	close(box2.leave)
	next := f.startWith(chat.Deps{Model: second, Tools: box2}, chat.Config{Alone: true})
	for i := 11; i < 20; i++ {
		ask(second, i)
	}
	call := second.Next(t)
	if call.Request.ToolChoice.Mode != llm.ToolNone {
		t.Errorf("the model may call %q", call.Request.ToolChoice.Mode)
	}
	call.Emit("終わり。")
	call.Finish()
	answer := f.waitAt(next, exchange).Answer
	var got []string
	for _, c := range answer.ToolCalls {
		got = append(got, c.ID+" "+c.Name+" "+c.Arguments)
		if c.State != chat.ToolDone {
			t.Errorf("%s is %s: %s", c.ID, c.State, c.Error)
		}
	}
	if !slices.Equal(got, want) || answer.Content != text+"終わり。" || len(box.called) != 0 || len(box2.called) != 10 {
		t.Errorf("calls %q, %d of them after the crash, text %q", got, len(box2.called), answer.Content)
	}
}

// roundStore reports when the results of tools are stored.
type roundStore struct {
	chat.Store
	ended chan string
}

func (s *roundStore) EndToolCall(ctx context.Context, server uuid.UUID, run chat.RunID, call chat.ToolCall) error {
	err := s.Store.EndToolCall(ctx, server, run, call)
	s.ended <- call.ID
	return err
}

// TestTakeoverKeepsToolCalls: after a crash, the text up to the last calls is never withdrawn, whether the model continues
// answers or not. A call with a result is not repeated; one without is.
func TestTakeoverKeepsToolCalls(t *testing.T) {
	t.Parallel()
	for name, offers := range map[string]llmtest.Offers{
		"continues": continuingOffers, "restarts": {{ID: "m", Name: "モデル"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := storetest.DSN(t)
			db, err := store.Open(t.Context(), dsn)
			must.Succeed(t, err)
			t.Cleanup(db.Close)
			f := newFixtureOn(t, db, nil)
			f.giveTools()
			continues := name == "continues"
			box, model := newToolbox(), llmtest.NewLive()
			rounds := &roundStore{Store: f.db, ended: make(chan string, 10)}
			crashed := f.startWith(chat.Deps{Model: model, Tools: box, Store: rounds, Offers: offers}, mute())
			exchange := f.sendTo(crashed, f.question("調べて"))
			call := model.Next(t)
			if !continues {
				call.Reason("道具が要る。")
			}
			call.Emit("一回目。")
			call.CallTools(calling("a", "echo", "{}"), calling("w", "wait", "{}"))
			if id := <-rounds.ended; id != "a" {
				t.Fatalf("%s has ended", id)
			}

			// The server has crashed during the second call.
			restart := func(model llm.Model, box *toolbox) (*server, *checkpoints) {
				pieces := &checkpoints{Store: f.db, stored: make(chan string, 100)}
				return f.startWith(chat.Deps{Model: model, Tools: box, Store: pieces, Offers: offers},
					chat.Config{Alone: true, Checkpoints: time.Millisecond}), pieces
			}
			box2, second := newToolbox(), llmtest.NewLive()
			close(box2.leave)
			_, pieces := restart(second, box2)
			call = second.Next(t)
			if got := results(call.Request); !slices.Equal(got, []string{"a:結果{}", "w:待ちました"}) || call.Request.Prefix != "" {
				t.Fatalf("results %q, prefix %q", got, call.Request.Prefix)
			}
			if asked := call.Request.Messages[len(call.Request.Messages)-3]; asked.Content != "一回目。" ||
				(asked.Reasoning == "道具が要る。") == continues {
				t.Errorf("calls %+v", asked)
			}
			if n := len(box2.called); n != 1 {
				t.Errorf("%d calls were repeated", n)
			}
			call.Emit("二回目。")
			call.CallTools(calling("b", "echo", "{}"))
			call = second.Next(t)
			call.Emit(long)
			base := "一回目。\n\n二回目。"
			kept := ""
			if continues {
				<-pieces.stored
				kept = "\n\n" + long
			}

			// The second server crashes in the text after the calls.
			third := llmtest.NewLive()
			last, _ := restart(third, newToolbox())
			call = third.Next(t)
			if got := results(call.Request); !slices.Equal(got, []string{"b:結果{}"}) || call.Request.Prefix != kept {
				t.Fatalf("results %q, prefix %q", got, call.Request.Prefix)
			}
			call.Emit("終わり")
			call.Finish()
			answer := f.waitAt(last, exchange).Answer
			whole := base + "\n\n終わり"
			if continues {
				whole = base + kept + "終わり"
			}
			if answer.Content != whole || answer.Run != 3 || len(answer.ToolCalls) != 3 ||
				(answer.Reasoning == "道具が要る。") == continues {
				t.Errorf("run %d stored %q with %d calls, %q", answer.Run, answer.Content, len(answer.ToolCalls), answer.Reasoning)
			}
			lost := base + "\n\n" + long
			for _, client := range []struct {
				cursor, has string
			}{
				{cursor(1, "一回目。"), "一回目。"}, {cursor(2, base), base}, {cursor(2, lost), base + kept},
			} {
				reset := client.cursor == cursor(2, lost) && !continues
				if reset {
					client.has = ""
				}
				raw := f.follow(last, exchange.Answer.ID, client.cursor)
				if client.has+deltas(t, raw) != whole || strings.Contains(raw, "data-reset") != reset ||
					strings.Count(raw, "tool-output-available") != 3 {
					t.Errorf("%s: %s", client.cursor, raw)
				}
			}
			var rows int
			err = storetest.Pool(t, dsn).QueryRow(t.Context(), `SELECT count(*) FROM tool_calls`).Scan(&rows)
			if err != nil || rows != 0 {
				t.Errorf("%d rows are left, %v", rows, err)
			}
		})
	}
}
