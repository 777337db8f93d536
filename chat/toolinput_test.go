package chat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// bookingTools has the tool "send", which changes something and asks for input in its first rounds. It records the
// requests.
type bookingTools struct {
	*askingTools

	rounds     int // The number of requests for input.
	idempotent bool
}

func (b *bookingTools) Of(context.Context, identity.Owner, []string) ([]tool.Tool, error) {
	request := func(line string, round int) (tool.Result, error) {
		b.mu.Lock()
		b.calls = append(b.calls, line)
		b.mu.Unlock()
		b.began <- line
		if round >= b.rounds {
			return tool.Result{Text: "予約しました", Untrusted: true}, nil
		}
		return tool.Result{Untrusted: true, Input: &tool.InputRequest{
			Server: "予約サーバー", State: fmt.Sprintf("state-%d", round+1), Forms: []tool.InputForm{{
				ID: "guest", Message: "何名ですか", Fields: []tool.InputField{
					{Name: "people", Label: "人数", Type: tool.FieldInteger, Required: true, Minimum: new(1.0)},
					{Name: "note", Label: "備考", Type: tool.FieldString},
				},
			}},
		}}, nil
	}
	return []tool.Tool{{
		Name: "send", Title: "予約", Rule: tool.RuleAllow, Effects: true, Idempotent: b.idempotent,
		Call: func(context.Context, json.RawMessage) (tool.Result, error) { return request("first", 0) },
		Resume: func(
			_ context.Context, _ json.RawMessage, r tool.InputRequest, response tool.InputResponse,
		) (tool.Result, error) {
			encoded, _ := json.Marshal(response)
			var round int
			_, _ = fmt.Sscanf(r.State, "state-%d", &round)
			return request(r.State+" "+string(encoded), round)
		},
	}}, nil
}

func newBookingFixture(t *testing.T, rounds int) (*fixture, *bookingTools, *llmtest.Live) {
	f, asking, model := newAskingFixture(t)
	return f, &bookingTools{askingTools: asking, rounds: rounds}, model
}

// respond returns a decision with a response to a request for input.
func respond(a chat.ToolApproval, action tool.InputAction, values map[string]any) chat.Decision {
	d := approve(a)
	d.Approved, d.Input = action == tool.InputAccept, &tool.InputResponse{Action: action}
	if values != nil {
		d.Input.Values = map[string]map[string]any{"guest": values}
	}
	return d
}

// TestToolAsksForInput: a tool that asks for input waits for the person without a slot. Invalid input is refused with
// the name of its field. Each response is sent once, with the state of the tool, and the result follows.
func TestToolAsksForInput(t *testing.T) {
	t.Parallel()
	f, box, model := newBookingFixture(t, 2)
	s := f.startWith(chat.Deps{Model: model, Tools: box}, chat.Config{})
	exchange := f.sendTo(s, f.question("予約して"))
	call := model.Next(t)
	live := f.watch(s, exchange.Answer.ID)
	call.CallTools(calling("a", "send", `{}`))
	first := f.waits(s, 1)[0]
	f.parked(exchange)
	f.idle(s)
	if first.Cause != chat.CauseInput || first.Input == nil || first.Input.Server != "予約サーバー" ||
		len(first.Input.Forms) != 1 || first.Input.Forms[0].Fields[0].Label != "人数" ||
		time.Until(first.ExpiresAt) < 23*time.Hour {
		t.Fatalf("waits %+v", first)
	}
	withArguments, remembered := respond(first, tool.InputAccept, map[string]any{"people": 2.0}), approve(first)
	withArguments.Arguments, remembered.Remember = json.RawMessage(`{}`), true
	mixed := respond(first, tool.InputDecline, nil)
	mixed.Approved = true
	for field, d := range map[string]chat.Decision{
		"input":                     approve(first),
		"arguments":                 withArguments,
		"remember":                  remembered,
		"input.action":              mixed,
		"input.values.guest.people": respond(first, tool.InputAccept, map[string]any{"people": 0.0}),
		"input.values.guest":        respond(first, tool.InputAccept, map[string]any{"people": 1.0, "other": "x"}),
		"input.values":              respond(first, tool.InputDecline, map[string]any{"people": 1.0}),
	} {
		_, err := s.DecideToolCall(t.Context(), f.actor(), d)
		if known := fault.FieldsOf(err); len(known) != 1 || known[0].Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	decided := f.decide(s, respond(first, tool.InputAccept, map[string]any{"people": 2.0, "note": "窓際"}))
	if decided.State != chat.ApprovalApproved || decided.Input != nil {
		t.Errorf("decided %+v", decided)
	}
	var second chat.ToolApproval
	for second.ID == first.ID || second.Input == nil {
		second = f.waits(s, 1)[0]
	}
	f.decide(s, respond(second, tool.InputDecline, nil))
	call = model.Next(t)
	if got := call.Request.Messages[len(call.Request.Messages)-1].Content; !strings.Contains(got, "予約しました") {
		t.Errorf("result %q", got)
	}
	call.Emit("終わりました。")
	call.Finish()
	answer := f.waitAt(s, exchange).Answer
	if len(answer.ToolCalls) != 1 || answer.ToolCalls[0].State != chat.ToolDone || answer.ToolCalls[0].Input != nil ||
		answer.ToolCalls[0].Approval.State != chat.ApprovalDenied || answer.Run != 1 {
		t.Errorf("stored %+v", answer)
	}
	if got := box.made(); !slices.Equal(got, []string{
		"first", `state-1 {"action":"accept","values":{"guest":{"note":"窓際","people":2}}}`, `state-2 {"action":"decline"}`,
	}) {
		t.Errorf("requests %q", got)
	}
	if raw := f.drain(live); !strings.Contains(raw, `"cause":"input","state":"waiting"`) || strings.Contains(raw, "state-1") {
		t.Errorf("stream %s", raw)
	}
}

// TestToolAsksForInputTooOften: a call that asks for input again and again fails.
func TestToolAsksForInputTooOften(t *testing.T) {
	t.Parallel()
	f, box, model := newBookingFixture(t, 100)
	s := f.startWith(chat.Deps{Model: model, Tools: box}, chat.Config{})
	exchange := f.sendTo(s, f.question("予約して"))
	model.Next(t).CallTools(calling("a", "send", `{}`))
	for range 5 {
		<-box.began
		f.decide(s, respond(f.waits(s, 1)[0], tool.InputCancel, nil))
	}
	call := model.Next(t)
	call.Emit("だめでした。")
	call.Finish()
	answer := f.waitAt(s, exchange).Answer
	if got := answer.ToolCalls[0]; got.State != chat.ToolFailed || !strings.Contains(got.Error, "何度も入力を求めた") {
		t.Errorf("stored %+v", got)
	}
	if n := len(box.made()); n != 6 {
		t.Errorf("%d requests", n)
	}
}

// TestInputExpires: a request for input that is not answered in time is a failed call, without a further request.
func TestInputExpires(t *testing.T) {
	t.Parallel()
	f, box, model := newBookingFixture(t, 1)
	s := f.startWith(chat.Deps{Model: model, Tools: box}, chat.Config{Approval: time.Millisecond})
	exchange := f.sendTo(s, f.question("予約して"))
	model.Next(t).CallTools(calling("a", "send", `{}`))
	call := model.Next(t)
	call.Emit("期限でした。")
	call.Finish()
	answer := f.waitAt(s, exchange).Answer
	if got := answer.ToolCalls[0]; got.State != chat.ToolFailed || got.Error != "入力の期限が切れました。" {
		t.Errorf("stored %+v", got)
	}
	if got := box.made(); !slices.Equal(got, []string{"first"}) {
		t.Errorf("requests %q", got)
	}
}

// successorStore is a crashStore that takes answers over before the crash.
type successorStore struct{ *crashStore }

func (s successorStore) TakeOver(
	ctx context.Context, server uuid.UUID, dead []uuid.UUID, lease time.Duration, attempts, limit int,
) ([]chat.StoredGeneration, error) {
	if err := s.reach(""); err != nil {
		return nil, err
	}
	return s.Store.TakeOver(ctx, server, dead, lease, attempts, limit)
}

func (s successorStore) AskAgain(ctx context.Context, server uuid.UUID, run chat.RunID, calls []chat.ToolCall) error {
	if err := s.reach("before the request is stored"); err != nil {
		return err
	}
	return s.Store.AskAgain(ctx, server, run, calls)
}

// TestCrashBeforeTheRequestForInputIsStored: the result of the round is unknown then, and the person approves another
// one.
func TestCrashBeforeTheRequestForInputIsStored(t *testing.T) {
	t.Parallel()
	f, box, model := newBookingFixture(t, 1)
	db := &crashStore{Store: f.db, at: "before the request is stored", crashed: make(chan struct{})}
	crashing := f.startWith(chat.Deps{Model: model, Tools: box, Store: successorStore{db}}, takesOver())
	exchange := f.sendTo(crashing, f.question("予約して"))
	model.Next(t).CallTools(calling("a", "send", `{}`))
	await(t, "the crash", db.crashed)
	crashing.kill()
	second := llmtest.NewLive()
	s := f.startWith(chat.Deps{Model: second, Tools: box}, takesOver())
	unknown := f.waits(s, 1)[0]
	if got := box.made(); unknown.Cause != chat.CauseUnknown || !slices.Equal(got, []string{"first"}) {
		t.Errorf("waits %+v after %q", unknown, got)
	}
	f.decide(s, approve(unknown))
	<-box.began
	<-box.began
	asked := f.waits(s, 1)[0]
	f.parked(exchange)
	if asked.Cause != chat.CauseInput {
		t.Fatalf("waits %+v", asked)
	}
	must.Succeed(t, s.StopMessage(t.Context(), f.owner, exchange.Answer.ID))
	answer := f.waitAt(s, exchange).Answer
	if got := answer.ToolCalls[0]; got.State != chat.ToolFailed || got.Approval.State != chat.ApprovalCanceled {
		t.Errorf("stored %+v", got)
	}
	if got := box.made(); !slices.Equal(got, []string{"first", "first"}) {
		t.Errorf("requests %q", got)
	}
}

// TestInputSurvivesRestarts: a request for input waits across a restart, and the next server sends the response once. If
// a server fails during that round, the round is made again only if the tool is idempotent or the person approves.
func TestInputSurvivesRestarts(t *testing.T) {
	t.Parallel()
	for _, idempotent := range []bool{true, false} {
		t.Run(fmt.Sprintf("idempotent=%v", idempotent), func(t *testing.T) {
			t.Parallel()
			f, box, model := newBookingFixture(t, 1)
			box.idempotent = idempotent
			s := f.startWith(chat.Deps{Model: model, Tools: box}, chat.Config{})
			exchange := f.sendTo(s, f.question("予約して"))
			model.Next(t).CallTools(calling("a", "send", `{}`))
			waiting := f.waits(s, 1)[0]
			f.parked(exchange)
			s.kill()
			// The second server fails after the response was sent.
			db := &crashStore{Store: f.db, at: "before the result is stored", crashed: make(chan struct{})}
			second := f.startWith(chat.Deps{Model: model, Tools: box, Store: successorStore{db}}, takesOver())
			f.decide(second, respond(waiting, tool.InputAccept, map[string]any{"people": 3.0}))
			await(t, "the crash", db.crashed)
			second.kill()
			third := f.startWith(chat.Deps{Model: model, Tools: box}, takesOver())
			sent := `state-1 {"action":"accept","values":{"guest":{"people":3}}}`
			want := []string{"first", sent, sent}
			if !idempotent {
				unknown := f.waits(third, 1)[0]
				if unknown.Cause != chat.CauseUnknown || unknown.Input != nil {
					t.Errorf("waits %+v", unknown)
				}
				if got := box.made(); !slices.Equal(got, want[:2]) {
					t.Errorf("requests %q", got)
				}
				f.decide(third, approve(unknown))
			}
			for call := model.Next(t); ; call = model.Next(t) {
				call.Emit("はい")
				call.Finish()
				if last := call.Request.Messages[len(call.Request.Messages)-1]; strings.Contains(last.Content, "予約しました") {
					break
				}
			}
			answer := f.waitAt(third, exchange).Answer
			if answer.ToolCalls[0].State != chat.ToolDone {
				t.Errorf("stored %+v", answer)
			}
			if got := box.made(); !slices.Equal(got, want) {
				t.Errorf("requests %q", got)
			}
		})
	}
}
