package chat_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// counting wraps a model and reports a token count with every answer.
func counting(model llm.Model) llmtest.Func {
	return func(ctx context.Context, req llm.Request, emit func(text string)) (llm.Result, error) {
		result, err := model.Stream(ctx, req, emit)
		result.Usage = llm.Usage{InputTokens: 100, OutputTokens: 11}
		return result, err
	}
}

// ledger is a budget that refuses on demand, and records the spent tokens.
type ledger struct {
	mu     sync.Mutex // Guards the fields below.
	refuse error
	spent  []int
}

func (l *ledger) Check(context.Context, uuid.UUID, uuid.UUID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refuse
}

func (l *ledger) RecordUsage(_, _ uuid.UUID, tokens int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spent = append(l.spent, tokens)
}

func (l *ledger) total() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, tokens := range l.spent {
		n += tokens
	}
	return n
}

// usage returns the usage of the owner's organization on the days of the contract page.
func (f *fixture) usage() (u org.Usage) {
	f.t.Helper()
	view := must.Get(f.db.ContractView(f.t.Context(), f.owner.OrganizationID))(f.t)
	for _, day := range view.Usage {
		u.Messages, u.InputTokens, u.OutputTokens = u.Messages+day.Messages, u.InputTokens+day.InputTokens,
			u.OutputTokens+day.OutputTokens
	}
	if view.TokensUsed > u.InputTokens+u.OutputTokens {
		f.t.Errorf("%d tokens this month, and %+v in 30 days", view.TokensUsed, u)
	}
	return u
}

// TestNothingIsStoredWithoutBudget: a refused message is not stored on any way of sending. A message accepted before is
// answered, and may be repeated.
func TestNothingIsStoredWithoutBudget(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	budget := &ledger{}
	s := f.startWith(chat.Deps{Model: llmtest.Say("はい"), Budget: budget}, chat.Config{})
	accepted := f.question("一つ目")
	exchange := f.waitAt(s, f.sendTo(s, accepted))
	for _, refusal := range []error{org.ErrTokenLimit, org.ErrContractEnded} {
		budget.mu.Lock()
		budget.refuse = refusal
		budget.mu.Unlock()
		again := chat.Question{RequestID: newID(), ThreadID: f.thread.ID, Regenerate: &exchange.Answer.ID}
		for what, q := range map[string]chat.Question{"a question": f.question("二つ目"), "the last answer again": again} {
			if _, err := s.Send(t.Context(), f.owner, q); !errors.Is(err, refusal) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if got, err := s.Send(t.Context(), f.owner, accepted); err != nil || got.Answer.ID != exchange.Answer.ID {
			t.Errorf("what was accepted before: %+v, %v", got, err)
		}
		if _, err := s.Send(t.Context(), f.owner, chat.Question{
			RequestID: newID(), ThreadID: newID(),
			Content: "x",
		}); !errors.Is(err, chat.ErrNoThread) {
			t.Errorf("no thread: %v", err)
		}
	}
	if messages := f.messages(); len(messages) != 2 {
		t.Errorf("%d messages are stored", len(messages))
	}
}

// TestUsageIsTheSumOfMessages: for every kind of end, the usage is the sum over the messages, including replaced ones,
// and each is counted once.
func TestUsageIsTheSumOfMessages(t *testing.T) {
	t.Parallel()
	live := llmtest.NewLive()
	f := newFixture(t, nil)
	f.named()
	budget := &ledger{}
	start := func(model llm.Model, cfg chat.Config) *server {
		return f.startWith(chat.Deps{Model: counting(model), Budget: budget}, cfg)
	}
	good, bad, slow := start(llmtest.Say("はい"), mute()), start(llmtest.Fail(errors.New("broken"), "途中"), mute()),
		start(live, mute())
	answered := f.waitAt(good, f.sendTo(good, f.question("成功")))
	f.waitAt(good, f.sendTo(good, chat.Question{
		RequestID: newID(), ThreadID: f.thread.ID,
		Regenerate: &answered.Answer.ID,
	}))
	f.waitAt(bad, f.sendTo(bad, f.question("失敗")))

	stopped := f.sendTo(slow, f.question("停止"))
	live.Next(t).Emit("途中まで")
	must.Succeed(t, slow.StopMessage(t.Context(), f.owner, stopped.Answer.ID))
	f.waitAt(slow, stopped)

	// A slow server, whose answer was taken over and completed meanwhile.
	exchange := f.sendTo(slow, f.question("引き継ぎ"))
	call := live.Next(t)
	call.Emit("遅い")
	next := start(llmtest.Say("速い"), chat.Config{Alone: true})
	f.attachOnce(next, exchange, "")
	f.waitAt(next, exchange)
	call.Finish()
	slow.kill()

	var want org.Usage
	for _, m := range append(f.messages(), answered.Answer) { // Replaced ones are not listed.
		if m.Role == chat.RoleAssistant {
			want.Messages, want.InputTokens, want.OutputTokens = want.Messages+1, want.InputTokens+int64(m.InputTokens),
				want.OutputTokens+int64(m.OutputTokens)
		}
	}
	if got := f.usage(); got != want || want.Messages != 5 || want.InputTokens == 0 {
		t.Errorf("counted %+v, the messages say %+v", got, want)
	}
	if total := budget.total(); total != int(want.InputTokens+want.OutputTokens) {
		t.Errorf("the budget was told of %d tokens, the messages say %+v", total, want)
	}
	// The usage remains, with its user, when the thread is deleted.
	must.Succeed(t, f.server.DeleteThread(t.Context(), f.owner, f.thread.ID))
	byMember, n, err := f.db.UsageByMember(t.Context(), f.owner.OrganizationID, 0, 10)
	if err != nil || n != 1 || *byMember[0].UserID != f.owner.UserID || byMember[0].Usage != want {
		t.Errorf("by member: %+v of %d, %v", byMember, n, err)
	}
}

// TestDeletedThreadsAreCounted: deleting a thread while its answer is generated does not remove the answer's usage.
func TestDeletedThreadsAreCounted(t *testing.T) {
	t.Parallel()
	live := llmtest.NewLive()
	f := newFixture(t, live)
	f.named()
	budget := &ledger{}
	s := f.startWith(chat.Deps{Model: counting(live), Budget: budget}, chat.Config{})
	exchange := f.sendTo(s, f.question("長い質問"))
	live.Next(t).Emit("途中まで")
	w := f.watch(s, exchange.Answer.ID)
	must.Succeed(t, s.DeleteThread(t.Context(), f.owner, f.thread.ID))
	f.drain(w)
	if got := f.usage(); got != (org.Usage{Messages: 1, InputTokens: 100, OutputTokens: 11}) || budget.total() != 111 {
		t.Errorf("counted %+v, the budget was told of %d tokens", got, budget.total())
	}
}

// TestLimitOfAMemberStopsTheirMessages: after the answer that crosses the limit, no message is accepted until the limit
// is removed.
func TestLimitOfAMemberStopsTheirMessages(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	f.named()
	limit := int64(200)
	must.Succeed(t, f.db.SetMemberTokens(t.Context(), identity.Actor{User: identity.User{
		ID: f.owner.UserID, OrganizationID: f.owner.OrganizationID,
	}}, &limit, func(*org.Member) error { return nil }))
	budget := org.NewBudget(f.db, slog.New(slog.DiscardHandler))
	t.Cleanup(budget.Stop)
	s := f.startWith(chat.Deps{Model: counting(llmtest.Say("はい")), Budget: budget}, chat.Config{})
	for range 2 { // 111 tokens each.
		f.waitAt(s, f.sendTo(s, f.question("はい")))
	}
	if _, err := s.Send(t.Context(), f.owner, f.question("もう一つ")); fault.CodeOf(err) != fault.MemberLimit {
		t.Errorf("got %v", err)
	}
	if _, err := f.db.ChangeMember(t.Context(), f.owner.OrganizationID, f.owner.UserID, org.System(),
		func(r org.MemberContext) (org.MemberChange, error) {
			m := r.Member
			return org.MemberChange{
				Name: m.Name, Role: m.Role, State: m.State, Limit: &org.MemberLimit{Rule: org.LimitNone},
				Action: org.ActionEdit, Details: []org.Change{{Field: "token_limit", After: "none"}},
			}, nil
		}); err != nil {
		t.Fatal(err)
	}
	fresh := org.NewBudget(f.db, slog.New(slog.DiscardHandler))
	t.Cleanup(fresh.Stop)
	s = f.startWith(chat.Deps{Model: counting(llmtest.Say("はい")), Budget: fresh}, chat.Config{})
	f.waitAt(s, f.sendTo(s, f.question("上限のない人")))
}

// TestLimitOfTheContractStopsMessages: with a real budget and database, no message is accepted after the answer that
// crosses the limit.
func TestLimitOfTheContractStopsMessages(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	f.named()
	tokens := int64(300)
	if _, err := f.db.SetContract(t.Context(), f.owner.OrganizationID, org.ContractEdit{Tokens: &tokens},
		org.System()); err != nil {
		t.Fatal(err)
	}
	budget := org.NewBudget(f.db, slog.New(slog.DiscardHandler))
	t.Cleanup(budget.Stop)
	s := f.startWith(chat.Deps{Model: counting(llmtest.Say("はい")), Budget: budget}, chat.Config{})
	for range 3 { // 111 tokens each.
		f.waitAt(s, f.sendTo(s, f.question("はい")))
	}
	if _, err := s.Send(t.Context(), f.owner, f.question("もう一つ")); !errors.Is(err, org.ErrTokenLimit) {
		t.Errorf("got %v", err)
	}
	if got := f.usage(); got != (org.Usage{Messages: 3, InputTokens: 300, OutputTokens: 33}) {
		t.Errorf("used %+v", got)
	}
}
