package chat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
)

// crashStore lets a server crash at a point: from then on, all its calls of the store fail.
type crashStore struct {
	chat.Store
	at      string
	crashed chan struct{}

	once sync.Once
	gate sync.Mutex
	dead bool // Guarded by gate.
}

// reach reports whether the server lives. It crashes at the point at.
func (s *crashStore) reach(point string) error {
	if point == s.at {
		s.once.Do(func() {
			s.gate.Lock()
			s.dead = true
			s.gate.Unlock()
			close(s.crashed)
		})
	}
	s.gate.Lock()
	defer s.gate.Unlock()
	if s.dead {
		return errFlaky
	}
	return nil
}

func (s *crashStore) AddToolRound(ctx context.Context, server uuid.UUID, round chat.AddedRound) error {
	if err := s.reach("before the round is stored"); err != nil {
		return err
	}
	return s.Store.AddToolRound(ctx, server, round)
}

func (s *crashStore) BeginWait(ctx context.Context, server uuid.UUID, run chat.RunID, ids []string) (chat.Wait, error) {
	if err := s.reach("before it waits"); err != nil {
		return chat.Wait{}, err
	}
	return s.Store.BeginWait(ctx, server, run, ids)
}

func (s *crashStore) EndWait(ctx context.Context, server uuid.UUID, run chat.RunID, force bool) (chat.Wait, error) {
	if err := s.reach("decided"); err != nil {
		return chat.Wait{}, err
	}
	return s.Store.EndWait(ctx, server, run, force)
}

func (s *crashStore) ClaimToolCalls(ctx context.Context, server uuid.UUID, run chat.RunID, ids []string) error {
	if err := s.reach("before the claim"); err != nil {
		return err
	}
	err := s.Store.ClaimToolCalls(ctx, server, run, ids)
	if lost := s.reach("claimed"); lost != nil {
		return lost
	}
	return err
}

func (s *crashStore) EndToolCall(ctx context.Context, server uuid.UUID, run chat.RunID, call chat.ToolCall) error {
	before, after := "before the result is stored", "after the result"
	if call.Name != "send" {
		before, after = "", ""
	}
	if err := s.reach(before); err != nil {
		return err
	}
	err := s.Store.EndToolCall(ctx, server, run, call)
	if lost := s.reach(after); lost != nil {
		return lost
	}
	return err
}

func (s *crashStore) Renew(ctx context.Context, server uuid.UUID, owned []chat.RunID) (chat.Renewal, error) {
	if err := s.reach(""); err != nil {
		return chat.Renewal{}, err
	}
	return s.Store.Renew(ctx, server, owned)
}

func (s *crashStore) EndGeneration(ctx context.Context, o chat.Outcome) (chat.EndResult, error) {
	if err := s.reach(""); err != nil {
		return chat.EndResult{}, err
	}
	return s.Store.EndGeneration(ctx, o)
}

func (s *crashStore) LeaveWaits(ctx context.Context, server uuid.UUID) error {
	if err := s.reach(""); err != nil {
		return err
	}
	return s.Store.LeaveWaits(ctx, server)
}

func (s *crashStore) TakeOver(
	context.Context, uuid.UUID, []uuid.UUID, time.Duration, int, int,
) ([]chat.StoredGeneration, error) {
	return nil, errFlaky
}

// person approves every call that waits, at two servers at once, until the context ends. It counts the approved calls by
// their arguments.
type person struct {
	f  *fixture
	at [2]*server

	mu       sync.Mutex
	approved map[string]int  // Guarded by mu. By arguments.
	causes   map[string]bool // Guarded by mu.
}

func (p *person) decideAll(ctx context.Context) {
	for ctx.Err() == nil {
		list, err := p.at[0].ListToolApprovals(ctx, p.f.owner, 0, 10)
		if err != nil {
			continue
		}
		for _, waiting := range list {
			var wg sync.WaitGroup
			for _, s := range p.at {
				wg.Go(func() {
					d := approve(waiting)
					if _, err := s.DecideToolCall(ctx, p.f.actor(), d); err != nil {
						return
					}
					p.mu.Lock()
					p.approved[waiting.Arguments]++
					p.causes[string(waiting.Cause)] = true
					p.mu.Unlock()
				})
			}
			wg.Wait()
		}
	}
}

// TestCrashWhileACallWaits: a server that is lost in any state of a call that needs a decision loses no call, and makes
// none twice for one approval. The text is exact. A person approves every call at two servers at once.
func TestCrashWhileACallWaits(t *testing.T) {
	t.Parallel()
	for _, point := range []string{
		"before the round is stored", "before it waits", "waiting", "decided", "before the claim", "claimed",
		"before the result is stored", "after the result",
	} {
		for attempt := range 2 {
			t.Run(fmt.Sprint(point, " ", attempt), func(t *testing.T) {
				t.Parallel()
				crashWhileACallWaits(t, point)
			})
		}
	}
}

func crashWhileACallWaits(t *testing.T, point string) {
	t.Helper()
	f := newFixture(t, nil)
	f.giveTools()
	box, first, second := newAskingTools(), llmtest.NewLive(), llmtest.NewLive()
	db := &crashStore{Store: f.db, at: point, crashed: make(chan struct{})}
	crashing := f.startWith(chat.Deps{Model: first, Tools: box, Store: db}, takesOver())
	exchange := f.sendTo(crashing, f.question("送って"))
	call := first.Next(t)
	call.Emit("送ります。")
	call.CallTools(calling("a", "send", `{"n":1}`), calling("b", "look", `{}`))
	p := &person{f: f, approved: make(map[string]int), causes: make(map[string]bool)}
	if point == "waiting" || point == "decided" { // The decision must come after the wait has begun.
		f.parked(exchange)
	}
	if point == "waiting" {
		_ = db.reach(point)
		crashing.kill()
	}
	p.at = [2]*server{f.startWith(chat.Deps{}, chat.Config{}), f.startWith(chat.Deps{}, chat.Config{})}
	ctx, cancel := context.WithCancel(t.Context())
	var decider sync.WaitGroup
	decider.Go(func() { p.decideAll(ctx) })
	defer decider.Wait()
	defer cancel()
	await(t, "the crash", db.crashed)
	if point != "waiting" {
		crashing.kill()
	}

	// Started earlier, it would take the answer over before the crash if the machine is busy.
	other := f.startWith(chat.Deps{Model: second, Tools: box}, chat.Config{Lease: testLease, Sweep: 20 * time.Millisecond})
	call = second.Next(t)
	if len(results(call.Request)) == 0 { // Nothing was stored: the answer is restarted.
		call.Emit("送ります。")
		call.CallTools(calling("a", "send", `{"n":1}`), calling("b", "look", `{}`))
		call = second.Next(t)
	}
	if got := results(call.Request); !slices.Equal(got, []string{`a:結果{"n":1}`, "b:結果{}"}) {
		t.Errorf("results %q", got)
	}
	call.Emit("送りました。")
	call.Finish()
	answer := f.waitAt(other, exchange).Answer
	if answer.Content != "送ります。\n\n送りました。" || answer.Run != 2 || len(answer.ToolCalls) != 2 ||
		answer.ToolCalls[0].State != chat.ToolDone {
		t.Errorf("run %d stored %q, %+v", answer.Run, answer.Content, answer.ToolCalls)
	}
	cancel()
	decider.Wait()
	made := 0
	for _, c := range box.made() {
		if strings.HasPrefix(c, "send") {
			made++
		}
	}
	if approved := p.approved[`{"n":1}`]; made > approved || made == 0 {
		t.Errorf("%d calls after %d approvals", made, approved)
	}
	unknown := point == "claimed" || point == "before the result is stored"
	if p.causes[string(chat.CauseUnknown)] != unknown {
		t.Errorf("causes %v", p.causes)
	}
	if got := deltas(t, f.follow(other, exchange.Answer.ID, "")); got != answer.Content {
		t.Errorf("streamed %q", got)
	}
}

// TestRestartOfAllServers: an answer waits although no server runs, is shown by a new server while it waits, and
// continues after the decision as the next run.
func TestRestartOfAllServers(t *testing.T) {
	t.Parallel()
	f, box, model := newAskingFixture(t)
	s := f.startWith(chat.Deps{Model: model, Tools: box}, chat.Config{})
	exchange := f.sendTo(s, f.question("送って"))
	call := model.Next(t)
	call.Emit("送ります。")
	call.CallTools(calling("a", "send", `{}`))
	f.parked(exchange)
	s.kill()
	model = llmtest.NewLive()
	s = f.startWith(chat.Deps{Model: model, Tools: box}, chat.Config{Alone: true})
	waiting := f.waits(s, 1)[0]
	live := f.watch(s, exchange.Answer.ID)
	raw := f.drainUntil(live, "送ります。")
	if !strings.Contains(raw, `"approvalId":"`+waiting.ID.String()+`"`) || !strings.Contains(raw, `"state":"waiting"`) {
		t.Errorf("while it waits: %s", raw)
	}
	if message, err := s.FindMessage(t.Context(), f.owner, exchange.Answer.ID); err != nil || message.Run != 1 {
		t.Errorf("run %d, %v", message.Run, err)
	}
	f.decide(s, approve(waiting))
	call = model.Next(t)
	if got := results(call.Request); !slices.Equal(got, []string{"a:結果{}"}) {
		t.Errorf("results %q", got)
	}
	call.Emit("送りました。")
	call.Finish()
	answer := f.waitAt(s, exchange).Answer
	if answer.Run != 2 || answer.Content != "送ります。\n\n送りました。" || len(box.made()) != 1 {
		t.Errorf("run %d stored %q after %q", answer.Run, answer.Content, box.made())
	}
	f.drain(live) // Its text was ended.
	rest := f.follow(s, exchange.Answer.ID, cursor(1, "送ります。"))
	if strings.Contains(rest, "data-reset") || deltas(t, rest) != "\n\n送りました。" {
		t.Errorf("the rest: %s", rest)
	}
}

// TestToolChangedDuringARestart: an approval does not hold for a tool whose server or definition has changed while no
// server knew the waiting call. A call whose result is unknown is shown again, and the decision is about the new tool.
func TestToolChangedDuringARestart(t *testing.T) {
	t.Parallel()
	const made = "a:結果{}"
	for name, c := range map[string]struct{ point, version, want string }{
		"waiting":                    {"waiting", "1", "a:エラー: " + tool.ErrWithdrawn.Detail},
		"claimed":                    {"claimed", "1", made},
		"stored without its version": {"waiting", "", made},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, box, model := newAskingFixture(t)
			box.version = c.version
			db := &crashStore{Store: f.db, at: c.point, crashed: make(chan struct{})}
			s := f.startWith(chat.Deps{Model: model, Tools: box, Store: db}, takesOver())
			exchange := f.sendTo(s, f.question("送って"))
			model.Next(t).CallTools(calling("a", "send", `{}`))
			f.parked(exchange)
			if c.point == "claimed" {
				f.decide(s, approve(f.waits(s, 1)[0]))
				await(t, "the crash", db.crashed)
			}
			s.kill()
			box, model = newAskingTools(), llmtest.NewLive()
			box.version = "2"
			s = f.startWith(chat.Deps{Model: model, Tools: box}, chat.Config{Lease: testLease, Sweep: 20 * time.Millisecond})
			f.decide(s, approve(f.waits(s, 1)[0]))
			if got := results(model.Next(t).Request); !slices.Equal(got, []string{c.want}) {
				t.Errorf("results %q", got)
			}
			if n := len(box.made()); (n > 0) != (c.want == made) {
				t.Errorf("%d calls", n)
			}
		})
	}
}

// TestDrainingServerLeavesWaits: a server that stops does not wait for decisions. Another one continues the answer after
// the decision.
func TestDrainingServerLeavesWaits(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.giveTools()
	box, model, next := newAskingTools(), llmtest.NewLive(), llmtest.NewLive()
	s := f.startWith(chat.Deps{Model: model, Tools: box}, chat.Config{})
	exchange := f.sendTo(s, f.question("送って"))
	model.Next(t).CallTools(calling("a", "send", `{}`))
	f.parked(exchange)
	other := f.startWith(chat.Deps{Model: next, Tools: box}, chat.Config{})
	s.Stop(t.Context()) // Without a time limit.
	d := approve(f.waits(other, 1)[0])
	d.Arguments = json.RawMessage(`{"n":2}`)
	f.decide(other, d)
	call := next.Next(t)
	call.Emit("はい")
	call.Finish()
	if answer := f.waitAt(other, exchange).Answer; answer.Content != "はい" || len(box.made()) != 1 {
		t.Errorf("stored %+v", answer)
	}
}
