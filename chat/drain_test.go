package chat_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// TestR18_DrainRefusesFinishesAndHandsOver stops a server with two answers. It refuses new questions at once and stores
// the answer that ends in time. Another server takes over the other one at once, before any lease expires.
func TestR18_DrainRefusesFinishesAndHandsOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	model := llmtest.NewLive()
	s := f.start(model, f.db, chat.Config{})
	quick := f.sendTo(s, f.question("すぐ"))
	quickCall := model.Next(t)
	f.thread = f.newThread(chatSkill)
	long := f.sendTo(s, f.question("長く"))
	model.Next(t).Emit("半分")
	sync := make(chan error)
	go func() {
		_, err := s.WaitFor(t.Context(), f.owner, long)
		sync <- err
	}()

	s.BeginStop()
	s.BeginStop()
	f.thread = f.newThread(chatSkill)
	_, err := s.Send(t.Context(), f.owner, f.question("まだ"))
	wantRefusal(t, err, fault.Unavailable)
	if n := len(f.messages()); n != 0 {
		t.Errorf("%d messages of a refused question were stored", n)
	}
	quickCall.Emit("間に合う")
	quickCall.Finish()
	if got := f.waitAt(s, quick).Answer; got.Content != "間に合う" {
		t.Errorf("stored %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Stop(ctx)
	if err := <-sync; fault.CodeOf(err) != fault.Unavailable || fault.RetryAfterOf(err) == 0 {
		t.Errorf("who waits for the answer is told %v", err)
	}
	next := f.start(llmtest.Say("全部"), f.db, chat.Config{Lease: time.Hour, Sweep: time.Millisecond})
	if raw := f.attachOnce(next, long, "1-6"); deltas(t, raw) != "全部" || !strings.Contains(raw, "data-reset") {
		t.Errorf("got %s", raw)
	}
}

// TestAnswerThatCrashesServersFails takes over an answer repeatedly, as if it crashed its servers.
func TestAnswerThatCrashesServersFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.NewLive())
	exchange := f.send(f.question("毒"))
	f.server.kill()
	for range 9 {
		if jobs, err := f.db.TakeOver(t.Context(), newID(), nil, time.Second, 10, 0); err != nil || len(jobs) != 1 {
			t.Fatalf("taken over: %+v, %v", jobs, err)
		}
	}
	s := f.start(llmtest.NewLive(), f.db, chat.Config{Sweep: time.Millisecond, Patience: 20 * time.Millisecond})
	got := f.waitAt(s, exchange).Answer
	if got.Status != chat.StatusFailed || got.Run != 11 || got.Failure == nil || got.Failure.Detail == "" {
		t.Errorf("stored %+v", got)
	}
}
