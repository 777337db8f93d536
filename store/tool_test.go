package store_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestToolRounds: calls of tools are stored by the current run only, are returned by a takeover with the text before them,
// and are stored with the message at the end.
func TestToolRounds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dead, alive, source := newID(), newID(), newID()
	f.renew(t, dead)
	f.renew(t, alive)
	begun := must.Get(f.BeginGeneration(t.Context(), question(f.ann, f.thread(t, f.ann).ID, dead)))(t)
	id := begun.Answer.ID
	call := func(id, result string) chat.ToolCall {
		c := chat.ToolCall{
			ToolCall: llm.ToolCall{ID: id, Name: "calculate", Arguments: `{"expression":"1+2"}`}, Title: "計算", Offset: 12,
			State: chat.ToolRunning,
		}
		if result != "" {
			c.State, c.Result, c.Duration = chat.ToolDone, result, 3*time.Millisecond
		}
		return c
	}
	run := chat.RunID{MessageID: id, Run: 1}
	rounds := []chat.ToolRound{
		{Text: "まゆ", Reasoning: "考え", Calls: []chat.ToolCall{call("a", ""), call("b", "")}},
		{Text: "から", Calls: []chat.ToolCall{call("c", "")}},
	}
	for i, round := range rounds {
		add := chat.AddedRound{RunID: run, ToolRound: round, Index: i, Sources: []uuid.UUID{source}}
		must.Succeed(t, f.AddToolRound(t.Context(), dead, add))
		must.Succeed(t, f.AddToolRound(t.Context(), dead, add)) // Its acknowledgement was lost.
		if err := f.AddToolRound(t.Context(), alive, add); !errors.Is(err, chat.ErrStaleRun) {
			t.Errorf("the wrong server: %v", err)
		}
	}
	must.Succeed(t, f.EndToolCall(t.Context(), dead, run, call("a", "結果\x00")))
	if err := f.EndToolCall(t.Context(), alive, run, call("b", "結果")); !errors.Is(err, chat.ErrStaleRun) {
		t.Errorf("the wrong server: %v", err)
	}
	rounds[0].Calls[0] = call("a", "結果\x1A")

	take := func(server uuid.UUID, number int) chat.KnownText {
		t.Helper()
		taken := must.Get(f.TakeOver(t.Context(), server, nil, lease, 10, number))(t)
		i := slices.IndexFunc(taken, func(g chat.StoredGeneration) bool { return g.Answer.ID == id })
		if i < 0 {
			t.Fatalf("taken over: %+v", taken)
		}
		return taken[i].Known
	}
	f.silence(t, dead, lease+time.Second)
	known := take(alive, 2)
	if known.Run != 1 || known.Text != "まゆから" || !slices.Equal(known.Sources, []uuid.UUID{source}) ||
		!reflect.DeepEqual(known.Rounds, rounds) {
		t.Errorf("known: %+v\nwant %+v", known, rounds)
	}

	// The next run begins with the rounds and more text.
	begin := chat.RunBeginning{RunID: chat.RunID{MessageID: id, Run: 2}, Text: "まゆから糸", KeepTools: true}
	must.Succeed(t, f.BeginRun(t.Context(), alive, begin))
	f.renew(t, dead)
	f.silence(t, alive, lease+time.Second)
	if known = take(dead, 3); known.Run != 2 || known.Text != "まゆから糸" || len(known.Rounds) != 2 {
		t.Errorf("known: %+v", known)
	}
	// The answer is restarted.
	must.Succeed(t, f.BeginRun(t.Context(), dead, chat.RunBeginning{RunID: chat.RunID{MessageID: id, Run: 3}}))
	f.renew(t, alive)
	f.silence(t, dead, lease+time.Second)
	if known = take(alive, 4); known.Text != "" || known.Rounds != nil {
		t.Errorf("known: %+v", known)
	}

	calls := []chat.ToolCall{call("a", "結果")}
	must.Succeed(t, f.AddToolRound(t.Context(), alive, chat.AddedRound{
		RunID: chat.RunID{MessageID: id, Run: 4}, ToolRound: chat.ToolRound{Calls: calls},
	}))
	ended := must.Get(f.EndGeneration(t.Context(), chat.Outcome{
		Owner: f.ann, ThreadID: begun.Answer.ThreadID, MessageID: id, Run: 4, ServerID: alive, Content: "終わり",
		Status: chat.StatusSuccess, FinishReason: chat.FinishStop, ToolCalls: calls, Checkpointed: true,
	}))(t)
	found := must.Get(f.FindMessage(t.Context(), f.ann, id))(t)
	if !reflect.DeepEqual(found.ToolCalls, calls) || !reflect.DeepEqual(ended.Message.ToolCalls, calls) {
		t.Errorf("stored calls %+v and %+v", found.ToolCalls, ended.Message.ToolCalls)
	}
	if n := value[int](t, f, `SELECT count(*) FROM tool_calls`); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

// waitingCall returns a call that waits for a decision.
func waitingCall(id, name string, expiresAt time.Time) chat.ToolCall {
	return chat.ToolCall{
		ToolCall: llm.ToolCall{ID: id, Name: name, Arguments: `{}`}, Title: "送信", State: chat.ToolWaiting,
		Approval: &chat.Approval{ID: newID(), Cause: chat.CauseRule, State: chat.ApprovalWaiting, ExpiresAt: expiresAt},
	}
}

// TestCallsWithUnusualTexts: a call is stored whatever texts the model and its provider have written. A value of the
// provider that PostgreSQL refuses is left out.
func TestCallsWithUnusualTexts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := newID()
	f.renew(t, server)
	for extra, want := range map[string]string{
		`{"google":{"thought_signature":"ab+/==","n":12345678901234567890}}`: `{"google":{"thought_signature":"ab+/==","n":12345678901234567890}}`,
		`{"a":"\u7d21\ud83d\ude00"}`:                                         `{"a":"紡😀"}`, `{"a":"\u0000"}`: "", `{"a":"\ud800"}`: `{"a":"�"}`,
		"{\"a\":\"\xff\"}": `{"a":"�"}`, `{"a":1e999999}`: "", `{"a\u0000":1}`: "", "": "",
	} {
		begun := must.Get(f.BeginGeneration(t.Context(), question(f.ann, f.thread(t, f.ann).ID, server)))(t)
		run := chat.RunID{MessageID: begun.Answer.ID, Run: 1}
		call := chat.ToolCall{
			ToolCall: llm.ToolCall{ID: "a\x00", Name: "b\x00", Arguments: "{\"a\":\"\\u0000\x00\xff\"}", Extra: json.RawMessage(extra)},
			Title:    "c\x00", State: chat.ToolRunning,
		}
		must.Succeed(t, f.AddToolRound(t.Context(), server, chat.AddedRound{
			RunID: run, ToolRound: chat.ToolRound{Calls: []chat.ToolCall{call}},
		}))
		wait := must.Get(f.EndWait(t.Context(), server, run, true))(t)
		if len(wait.Calls) != 1 {
			t.Fatalf("%s: stored %+v", extra, wait.Calls)
		}
		var got, expected any
		_, _ = json.Unmarshal(wait.Calls[0].Extra, &got), json.Unmarshal([]byte(want), &expected)
		if !reflect.DeepEqual(got, expected) {
			t.Errorf("%s: stored %s", extra, wait.Calls[0].Extra)
		}
	}
}

// TestBrokenApprovalsDoNotStopOthers: approvals that cannot expire are reported, and those after them expire, also if the
// broken ones are as many as may expire at once.
func TestBrokenApprovalsDoNotStopOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := newID()
	f.renew(t, server)
	begun := must.Get(f.BeginGeneration(t.Context(), question(f.ann, f.thread(t, f.ann).ID, server)))(t)
	waiting := func(id string, expired time.Duration) chat.ToolCall {
		return waitingCall(id, "send", time.Now().Add(-expired))
	}
	must.Succeed(t, f.AddToolRound(t.Context(), server, chat.AddedRound{
		RunID: chat.RunID{MessageID: begun.Answer.ID, Run: 1},
		ToolRound: chat.ToolRound{Calls: []chat.ToolCall{
			waiting("a", 4*time.Hour), waiting("b", 3*time.Hour), waiting("c", 2*time.Hour), waiting("d", time.Hour),
			waiting("e", time.Minute),
		}},
	}))
	f.exec(t, `UPDATE tool_calls SET call = '"broken"' WHERE call_id = 'a'`)
	f.exec(t, `UPDATE tool_calls SET call = call - 'approval' WHERE call_id = 'b'`)
	f.exec(t, `UPDATE tool_calls SET call = jsonb_set(call, '{approval,cause}', '"input"') WHERE call_id = 'c'`)
	for _, want := range []string{"d", "e"} {
		expired, err := f.ExpireToolCalls(t.Context(), 1)
		if err == nil || len(expired) != 1 || expired[0].CallID != want || expired[0].State != chat.ApprovalExpired {
			t.Errorf("expired %+v, %v", expired, err)
		}
	}
}
