package channel_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/channel/channeltest"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// sending provides a tool whose calls need a decision, and counts the calls.
type sending struct{ made atomic.Int32 }

func (s *sending) Of(context.Context, identity.Owner, []string) ([]tool.Tool, error) {
	return []tool.Tool{{
		Name: "send", Title: "送信", Rule: tool.RuleAsk, Effects: true,
		Call: func(context.Context, json.RawMessage) (tool.Result, error) {
			s.made.Add(1)
			return tool.Result{Text: "送信済み"}, nil
		},
	}}, nil
}

// newApprovalFixture returns a fixture whose skills have the tool.
func newApprovalFixture(t *testing.T) (*fixture, *sending) {
	t.Helper()
	f, box := newFixture(t), &sending{}
	categories, skills, err := skill.Builtin()
	f.must(err)
	for i := range skills {
		skills[i].Tools = tool.Names()
	}
	f.must(f.db.SaveBuiltinSkills(t.Context(), categories, skills))
	f.chat = f.startChat(chat.Deps{Model: f.model, Tools: box})
	return f, box
}

// callTool makes the model call the tool after a text.
func (f *fixture) callTool(text string) {
	f.t.Helper()
	call := f.model.Next(f.t)
	if text != "" {
		call.Emit(text)
	}
	call.CallTools(llm.ToolCall{ID: "a", Name: "send", Arguments: `{"宛先":"甲"}`})
}

// requests returns the messages with requests for decisions.
func (f *fixture) requests() (list []channeltest.Message) {
	for _, m := range f.surface.Messages() {
		if m.Draft.Approval != nil {
			list = append(list, m)
		}
	}
	return list
}

// requested waits until the only request for a decision has a state, and returns its message.
func (f *fixture) requested(state chat.ApprovalState) channeltest.Message {
	f.t.Helper()
	f.until("a request is "+string(state), func() bool {
		list := f.requests()
		return len(list) > 0 && list[0].Draft.Approval.State == state
	})
	list := f.requests()
	if len(list) != 1 {
		f.t.Fatalf("%d requests", len(list))
	}
	return list[0]
}

// press returns the event of a person who presses a button of a request.
func (f *fixture) press(person string, m channeltest.Message, approved bool) channel.IncomingEvent {
	in := f.event(channel.KindDecide, person)
	in.ApprovalID, in.ArgumentsSHA256 = m.Draft.Approval.ID, m.Draft.Approval.ArgumentsSHA256
	in.Approved = approved
	return in
}

// toldText waits until a person receives a notice with a text.
func (f *fixture) toldText(person, text string) {
	f.t.Helper()
	f.until(person+" reads "+text, func() bool {
		for _, n := range f.surface.Notices() {
			if n.To.Person == person && n.Notice.Kind == channel.NoticeRefused && strings.Contains(n.Notice.Text, text) {
				return true
			}
		}
		return false
	})
}

// decision returns the state of the request in the database.
func (f *fixture) decision(state chat.ApprovalState) int {
	return f.count(`SELECT count(*) FROM tool_approvals WHERE coalesce(decision, 'waiting') = $1`, state)
}

// TestApprovalInTheThread: a call that needs a decision is shown in the thread after the text before it. Only the person
// who asked decides, once, and only on the shown arguments. Then the call is made, and the message shows the decision.
func TestApprovalInTheThread(t *testing.T) {
	t.Parallel()
	f, box := newApprovalFixture(t)
	s := f.start()
	f.take(s, f.mention("sato", "送って"))
	f.callTool("送ります。")
	m := f.requested(chat.ApprovalWaiting)
	if of := m.Draft.Approval; of.Title != "送信" || of.Arguments != `{"宛先":"甲"}` || len(of.ArgumentsSHA256) != 32 ||
		m.Channel != "C1" || m.Thread != "thread" || !strings.HasPrefix(m.Draft.URL, "https://tsumugi.example/chat/") {
		t.Errorf("%+v of %+v", m.Draft.Approval, m)
	}
	if first := f.surface.Messages()[0]; first.Draft.Markdown != "送ります。" {
		t.Errorf("before the request: %+v", first.Draft)
	}

	f.take(s, f.press("suzuki", m, true))
	f.toldText("suzuki", "質問した人だけ")
	f.take(s, f.press("stranger", m, true))
	f.toldText("stranger", "質問した人だけ")
	changed := f.press("sato", m, true)
	changed.ArgumentsSHA256 = make([]byte, 32)
	f.take(s, changed)
	f.toldText("sato", "実行の内容が異なります")
	if f.decision(chat.ApprovalWaiting) != 1 || box.made.Load() != 0 {
		t.Error("it was decided")
	}

	f.take(s, f.press("sato", m, true))
	if got := read(f.say("送りました。")); !strings.Contains(got, "送信済み") {
		t.Errorf("the model reads %q", got)
	}
	f.answered(1)
	m = f.requested(chat.ApprovalApproved)
	f.take(s, f.press("sato", m, false))
	f.toldText("sato", "すでに承認または拒否されています")
	if box.made.Load() != 1 || f.decision(chat.ApprovalApproved) != 1 {
		t.Errorf("%d calls", box.made.Load())
	}
	if n := f.count(`SELECT count(*) FROM audit_events WHERE action = 'tool_call.approve'
	                   AND actor_email = 'sato@test.example'`); n != 1 {
		t.Errorf("%d entries in the audit log", n)
	}
	for _, v := range f.surface.Violations() {
		t.Error(v)
	}
}

// TestR88_DecisionsMadeElsewhereAreShown: the message of a request loses its buttons after a decision in the app, at the
// expiry, when its answer is stopped or deleted, and when the person who decides becomes inactive.
func TestR88_DecisionsMadeElsewhereAreShown(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		state     chat.ApprovalState
		act       func(f *fixture, of chat.ToolApproval)
		continues bool
	}{
		"approved": {chat.ApprovalApproved, func(f *fixture, of chat.ToolApproval) { f.decide(of, true) }, true},
		"denied":   {chat.ApprovalDenied, func(f *fixture, of chat.ToolApproval) { f.decide(of, false) }, true},
		"expired": {chat.ApprovalExpired, func(f *fixture, _ chat.ToolApproval) {
			f.exec(`UPDATE tool_approvals SET expires_at = now()`)
		}, true},
		"stopped": {chat.ApprovalCanceled, func(f *fixture, of chat.ToolApproval) {
			f.must(f.chat.StopMessage(f.t.Context(), f.sato, of.MessageID))
		}, false},
		"deleted": {chat.ApprovalCanceled, func(f *fixture, of chat.ToolApproval) {
			f.must(f.chat.DeleteThread(f.t.Context(), f.sato, of.ThreadID))
		}, false},
		"deactivated member": {chat.ApprovalCanceled, func(f *fixture, _ chat.ToolApproval) {
			f.exec(`UPDATE users SET state = 'inactive' WHERE id = $1`, f.sato.UserID)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, box := newApprovalFixture(t)
			f.take(f.startWith(channel.Config{AccessCheck: 10 * time.Millisecond}), f.mention("sato", "送って"))
			f.callTool("")
			test.act(f, *f.requested(chat.ApprovalWaiting).Draft.Approval)
			if test.continues {
				f.say("はい。")
				f.answered(1)
			}
			m := f.requested(test.state)
			if m.Draft.Approval.Title != "送信" {
				t.Errorf("%+v", m.Draft.Approval)
			}
			if made := box.made.Load(); (made == 1) != (test.state == chat.ApprovalApproved) {
				t.Errorf("%d calls", made)
			}
		})
	}
}

// TestThreadDeletedDuringThePost: a request loses its buttons if its thread is deleted while it is posted.
func TestThreadDeletedDuringThePost(t *testing.T) {
	t.Parallel()
	f, _ := newApprovalFixture(t)
	f.surface.SetFault(func(c channeltest.Call) channeltest.Fault {
		if c.Method == "begin" && c.Draft.Approval != nil {
			if err := f.chat.DeleteThread(t.Context(), f.sato, c.Draft.Approval.ThreadID); err != nil {
				t.Error(err)
			}
		}
		return channeltest.Fault{}
	})
	f.take(f.start(), f.mention("sato", "送って"))
	f.callTool("")
	f.requested(chat.ApprovalCanceled)
}

// decide decides about a call in the app.
func (f *fixture) decide(of chat.ToolApproval, approved bool) {
	f.t.Helper()
	actor := identity.Actor{User: identity.User{OrganizationID: f.sato.OrganizationID, ID: f.sato.UserID}}
	_, err := f.chat.DecideToolCall(f.t.Context(), actor, chat.Decision{
		ID: of.ID, RequestID: newID(), Approved: approved, ArgumentsSHA256: of.ArgumentsSHA256,
	})
	f.must(err)
}

// TestR88_RequestsSurviveKilledServers kills the delivering server at every other call for a request, before or after the
// effect. The thread has one message with the request, which shows the decision.
func TestR88_RequestsSurviveKilledServers(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]channeltest.Fault{"before": {Before: errDead}, "after": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, box := newApprovalFixture(t)
			current := f.startMortal(4, kill)
			f.take(current.Load().Service, f.mention("sato", "送って"))
			f.callTool("")
			f.take(current.Load().Service, f.press("sato", f.requested(chat.ApprovalWaiting), true))
			f.say("送りました。")
			f.answered(1)
			f.requested(chat.ApprovalApproved)
			must.Become(f.t, "the delivery is over", func() bool {
				return f.count(`SELECT count(*) FROM channel_deliveries WHERE ended_at IS NOT NULL`) == 1
			})
			f.requested(chat.ApprovalApproved)
			if box.made.Load() != 1 {
				t.Errorf("%d calls", box.made.Load())
			}
			for _, v := range f.surface.Violations() {
				t.Error(v)
			}
		})
	}
}

// startMortal starts a server that is killed at every other one of its first calls for a request, and started again.
func (f *fixture) startMortal(first int64, kill channeltest.Fault) *atomic.Pointer[process] {
	var current atomic.Pointer[process]
	var calls atomic.Int64
	died, stop := make(chan struct{}, first), make(chan struct{})
	f.surface.SetFault(func(c channeltest.Call) channeltest.Fault {
		s := current.Load()
		if c.Draft.Approval == nil || s.dead.Load() {
			return channeltest.Fault{}
		}
		if n := calls.Add(1); n > first || n%2 == 0 {
			return channeltest.Fault{}
		}
		s.dead.Store(true)
		died <- struct{}{}
		return kill
	})
	current.Store(f.startProcess())
	var all sync.WaitGroup
	all.Go(func() {
		for {
			select {
			case <-died:
				current.Load().Stop()
				current.Store(f.startProcess())
			case <-stop:
				return
			}
		}
	})
	f.t.Cleanup(func() {
		close(stop)
		all.Wait()
		current.Load().Stop()
		if calls.Load() < first {
			f.t.Errorf("%d calls for the request", calls.Load())
		}
	})
	return &current
}
