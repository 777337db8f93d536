package chat_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestApproval: a call that needs a decision is made once it is approved, with the arguments that the person has
// entered. The other calls of the round do not wait. A refusal is the result of its call. The stream stays open.
func TestApproval(t *testing.T) {
	t.Parallel()
	f, box, model := newAskingFixture(t)
	s := f.startWith(chat.Deps{Model: model, Tools: box}, chat.Config{MaxGenerations: 1})
	exchange := f.sendTo(s, f.question("送って"))
	call := model.Next(t)
	live := f.watch(s, exchange.Answer.ID)
	call.Emit("送ります。")
	call.CallTools(calling("a", "send", `{"to":"甲"}`), calling("b", "send", `{"to":"乙"}`), calling("c", "look", `{}`))
	if name := <-box.began; name != "look" {
		t.Fatalf("%s was called", name)
	}
	list := f.waits(s, 2)
	f.parked(exchange)
	f.idle(s)
	if _, err := s.Send(t.Context(), f.owner, f.question("次")); !errors.Is(err, chat.ErrThreadBusy) {
		t.Errorf("the thread is free: %v", err)
	}
	first := list[0]
	if sum := sha256.Sum256([]byte(`{"to":"甲"}`)); first.Tool != "send" || first.Title != "題send" ||
		first.Arguments != `{"to":"甲"}` || string(first.ArgumentsSHA256) != string(sum[:]) || first.Cause != chat.CauseRule ||
		time.Until(first.ExpiresAt) < 23*time.Hour || first.MessageID != exchange.Answer.ID {
		t.Errorf("waits %+v", first)
	}
	edited := approve(first)
	edited.Arguments = json.RawMessage(`{"to":"丙"}`)
	if decided := f.decide(s, edited); decided.State != chat.ApprovalApproved || !decided.Edited ||
		string(decided.ArgumentsSHA256) == string(first.ArgumentsSHA256) {
		t.Errorf("decided %+v", decided)
	}
	if name := <-box.began; name != "send" { // Although the other call still waits.
		t.Fatalf("%s was called", name)
	}
	f.decide(s, refuse(list[1], "宛先が違います"))
	call = model.Next(t)
	if got := results(call.Request); !slices.Equal(got, []string{
		`a:結果{"to":"丙"}`, "b:利用者が拒否しました。理由：宛先が違います", "c:結果{}",
	}) {
		t.Errorf("results %q", got)
	}
	call.Emit("送りました。")
	call.Finish()
	answer := f.waitAt(s, exchange).Answer
	if answer.Run != 1 || answer.Content != "送ります。\n\n送りました。" || answer.AwaitsApproval || len(answer.ToolCalls) != 3 ||
		answer.ToolCalls[0].State != chat.ToolDone || answer.ToolCalls[0].Arguments != `{"to":"丙"}` ||
		answer.ToolCalls[1].State != chat.ToolDenied || answer.ToolCalls[1].Approval.Reason != "宛先が違います" {
		t.Errorf("stored %+v", answer)
	}
	if got := box.made(); !slices.Equal(got, []string{"look{}", `send{"to":"丙"}`}) {
		t.Errorf("calls %q", got)
	}
	for _, raw := range []string{f.drain(live), f.follow(s, exchange.Answer.ID, "")} {
		if got := deltas(t, raw); got != answer.Content {
			t.Errorf("text %q", got)
		}
		for _, part := range []string{
			`"type":"tool-approval-request","approvalId":"` + first.ID.String() + `","toolCallId":"a"`,
			`"type":"tool-output-denied","toolCallId":"b"`, `"input":{"to":"丙"}`, `"state":"approved"`, `"state":"denied"`,
			`"reason":"宛先が違います"`,
		} {
			if !strings.Contains(raw, part) {
				t.Errorf("%s is not in %s", part, raw)
			}
		}
	}
}

// TestArgumentsThatDoNotMatch: the person is not asked about a call whose arguments the tool refuses. The model gets the
// reason, and may correct them in one more round. If it does not, the tool is not called any more in the answer.
func TestArgumentsThatDoNotMatch(t *testing.T) {
	t.Parallel()
	f, box, model := newAskingFixture(t)
	s := f.startWith(chat.Deps{Model: model, Tools: box}, chat.Config{})
	exchange := f.sendTo(s, f.question("送って"))
	const refused, final = "エラー: 引数が合いません。", "エラー: 引数が二度、ツールの定義に合わなかったため、この回答では使えません。"
	model.Next(t).CallTools(calling("a", "look", `{"to":"不正"}`), calling("b", "send", `{"to":"不正"}`))
	call := model.Next(t)
	if got := results(call.Request); !slices.Equal(got, []string{"a:" + refused, "b:" + refused}) {
		t.Errorf("results %q", got)
	}
	call.CallTools(calling("c", "send", `{"to":"不正"}`), calling("d", "look", `{"to":"甲"}`))
	call = model.Next(t)
	if got := results(call.Request); !slices.Equal(got, []string{"c:" + refused, `d:結果{"to":"甲"}`}) {
		t.Errorf("results %q", got)
	}
	call.CallTools(calling("e", "send", `{"to":"甲"}`), calling("f", "look", `{"to":"乙"}`))
	call = model.Next(t)
	if got := results(call.Request); !slices.Equal(got, []string{"e:" + final, `f:結果{"to":"乙"}`}) {
		t.Errorf("results %q", got)
	}
	call.Emit("できませんでした。")
	call.Finish()
	answer := f.waitAt(s, exchange).Answer
	for _, c := range answer.ToolCalls {
		if c.Approval != nil {
			t.Errorf("the person was asked about %s", c.ID)
		}
	}
	if got := box.made(); answer.Status != chat.StatusSuccess || !slices.Equal(got, []string{`look{"to":"甲"}`, `look{"to":"乙"}`}) {
		t.Errorf("calls %q, %s", got, answer.Status)
	}
}

// TestCallsThatCannotBeStored: a call is approved and made although the model's id for it has NUL, or its arguments are
// not UTF-8. The hash on the screen is that of the stored arguments, which are the ones that the tool gets.
func TestCallsThatCannotBeStored(t *testing.T) {
	t.Parallel()
	f, box, model := newAskingFixture(t)
	s := f.startWith(chat.Deps{Model: model, Tools: box}, chat.Config{})
	exchange := f.sendTo(s, f.question("送って"))
	call := model.Next(t)
	live := f.watch(s, exchange.Answer.ID)
	call.CallTools(
		calling("a\x00\xff", "send", `{}`), calling("b", "send", "{\"to\":\"\xff\"}"), calling("c", "look", "{\"to\":\"\xff\"}"))
	waiting := f.waits(s, 2)
	for _, w := range waiting {
		f.decide(s, approve(w))
	}
	call = model.Next(t)
	got := results(call.Request)
	if len(got) != 3 || strings.ContainsAny(got[0], "\x00\uFFFD") || !strings.HasSuffix(got[0], ":結果{}") ||
		got[1] != "b:結果{\"to\":\"\uFFFD\"}" || got[2] != "c:結果{\"to\":\"\uFFFD\"}" {
		t.Errorf("results %q", got)
	}
	call.Finish()
	raw := f.drain(live)
	for _, w := range waiting {
		if sum := hex.EncodeToString(w.ArgumentsSHA256); strings.Count(raw, sum) == 0 {
			t.Errorf("%s of %s is not in %s", sum, w.Arguments, raw)
		}
	}
	if sum := sha256.Sum256([]byte("{\"to\":\"\xff\"}")); strings.Contains(raw, hex.EncodeToString(sum[:])) {
		t.Errorf("the hash of other arguments is in %s", raw)
	}
}

// TestOneDecision: of two decisions at the same time on two servers, one is stored and the other one refused. The same
// request again has the same result, also after the end of the answer.
func TestOneDecision(t *testing.T) {
	t.Parallel()
	f, box, model := newAskingFixture(t)
	s := f.startWith(chat.Deps{Model: model, Tools: box}, chat.Config{})
	other := f.startWith(chat.Deps{Model: model, Tools: box}, chat.Config{})
	exchange := f.sendTo(s, f.question("送って"))
	model.Next(t).CallTools(calling("a", "send", `{}`))
	waiting := f.waits(other, 1)[0]
	colleague := f.colleague(f.owner.OrganizationID)
	decisions := []chat.Decision{approve(waiting), approve(waiting), refuse(waiting, ""), refuse(waiting, "いや")}
	var wg sync.WaitGroup
	errs := make([]error, len(decisions))
	for i, d := range decisions {
		wg.Go(func() {
			at := []*server{s, other}[i%2]
			_, errs[i] = at.DecideToolCall(t.Context(), f.actor(), d)
		})
	}
	wg.Wait()
	won := slices.Index(errs, nil)
	if won < 0 {
		t.Fatal(errs)
	}
	for i, err := range errs {
		if i != won && !errors.Is(err, chat.ErrDecided) {
			t.Errorf("decision %d: %v", i, err)
		}
	}
	call := model.Next(t)
	call.Emit("はい")
	call.Finish()
	f.waitAt(other, exchange)
	if n := len(box.made()); n > 1 || n == 1 != decisions[won].Approved {
		t.Errorf("%d calls", n)
	}
	again := f.decide(other, decisions[won])
	if again.State == chat.ApprovalWaiting || again.DecidedAt == nil {
		t.Errorf("again %+v", again)
	}
	changed := decisions[won]
	changed.Reason += "別"
	for _, c := range []struct {
		by   identity.Owner
		d    chat.Decision
		want error
	}{
		{f.owner, changed, chat.ErrRequestConflict},
		{f.owner, approve(waiting), chat.ErrDecided},
		{colleague, approve(waiting), chat.ErrNoToolCall},
		{f.owner, chat.Decision{ID: newID(), RequestID: newID(), ArgumentsSHA256: waiting.ArgumentsSHA256}, chat.ErrNoToolCall},
	} {
		if _, err := s.DecideToolCall(t.Context(), actorOf(c.by), c.d); !errors.Is(err, c.want) {
			t.Errorf("%v instead of %v", err, c.want)
		}
	}
}

// TestArgumentsThatWereNotShown: a decision on other arguments than those of the call is refused. Arguments of a
// decision or of the model are refused if they are not a JSON object, or if an object in them has a duplicate name.
func TestArgumentsThatWereNotShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.giveTools()
	model := llmtest.NewLive()
	s := f.startWith(chat.Deps{Model: model, Tools: newAskingTools()}, chat.Config{})
	f.sendTo(s, f.question("送って"))
	const repeats = `{"x":[{"to":["to"]},{"to":{},"t\u006f":"乙"}]}`
	model.Next(t).CallTools(calling("b", "send", `{"to":"甲","to":"乙"}`), calling("c", "send", repeats))
	call := model.Next(t)
	if got := results(call.Request); !slices.Equal(got, []string{
		"b:エラー: 引数に、同じ名前の項目が二つ以上あります。", "c:エラー: 引数に、同じ名前の項目が二つ以上あります。",
	}) {
		t.Errorf("results %q", got)
	}
	call.CallTools(calling("a", "send", `{"to":{"to":"to","x":[{"to":1},{"to":2}]},"x":"甲"}`))
	waiting := f.waits(s, 1)[0]
	other, list, twice := approve(waiting), approve(waiting), approve(waiting)
	sum := sha256.Sum256([]byte(`{"to":"乙"}`))
	other.ArgumentsSHA256, list.Arguments, twice.Arguments = sum[:], json.RawMessage(`[1]`), json.RawMessage(repeats)
	if _, err := s.DecideToolCall(t.Context(), f.actor(), other); !errors.Is(err, chat.ErrArgumentsChanged) {
		t.Errorf("other arguments: %v", err)
	}
	if _, err := s.DecideToolCall(t.Context(), f.actor(), list); err == nil {
		t.Error("a list was accepted")
	}
	if _, err := s.DecideToolCall(t.Context(), f.actor(), twice); err == nil {
		t.Error("a repeated name was accepted")
	}
	f.waits(s, 1)
}

func TestApprovalExpires(t *testing.T) {
	t.Parallel()
	f, box, model := newAskingFixture(t)
	s := f.startWith(chat.Deps{Model: model, Tools: box}, chat.Config{Approval: time.Millisecond, Sweep: 10 * time.Millisecond})
	exchange := f.sendTo(s, f.question("送って"))
	model.Next(t).CallTools(calling("a", "send", `{}`))
	call := model.Next(t)
	if got := results(call.Request); !slices.Equal(got, []string{"a:エラー: 承認の期限が切れました。"}) {
		t.Errorf("results %q", got)
	}
	call.Emit("残念")
	call.Finish()
	if answer := f.waitAt(s, exchange).Answer; answer.ToolCalls[0].State != chat.ToolFailed ||
		answer.ToolCalls[0].Approval.State != chat.ApprovalExpired || len(box.made()) > 0 {
		t.Errorf("stored %+v", answer)
	}
}

// damagedStore returns answers whose first call has lost its request for a decision.
type damagedStore struct{ chat.Store }

func (s damagedStore) TakeOver(
	ctx context.Context, server uuid.UUID, owned []uuid.UUID, lease time.Duration, limit, epoch int,
) ([]chat.StoredGeneration, error) {
	list, err := s.Store.TakeOver(ctx, server, owned, lease, limit, epoch)
	for _, stored := range list {
		stored.Known.Rounds[0].Calls[0].Approval = nil
	}
	return list, err
}

// approvalEvents records the states of approvals in events.
type approvalEvents struct {
	recordedEvents
	states chan chat.ApprovalState
}

func (e *approvalEvents) ToolCallChanged(_ identity.Owner, a chat.ToolApproval) { e.states <- a.State }

// TestStopEndsAWait: stopping the answer ends the wait, whether the waiting server lives or not, also if a stored call is
// damaged. The calls are not made.
func TestStopEndsAWait(t *testing.T) {
	t.Parallel()
	for _, dead := range []bool{false, true} {
		f, box, model := newAskingFixture(t)
		events := &approvalEvents{states: make(chan chat.ApprovalState, 10)}
		s := f.startWith(chat.Deps{Model: model, Tools: box, Events: events}, chat.Config{})
		exchange := f.sendTo(s, f.question("送って"))
		call := model.Next(t)
		call.Emit("送ります。")
		call.CallTools(calling("a", "send", `{}`), calling("b", "send", `{}`))
		waiting := f.waits(s, 2)[0]
		f.parked(exchange)
		at := f.startWith(chat.Deps{Model: model, Tools: box, Store: damagedStore{f.db}, Events: events}, chat.Config{})
		if dead {
			s.kill()
		}
		must.Succeed(t, at.StopMessage(t.Context(), f.owner, exchange.Answer.ID))
		answer := f.waitAt(at, exchange).Answer
		if answer.FinishReason != chat.FinishStopped || answer.Content != "送ります。" || len(box.made()) > 0 ||
			answer.ToolCalls[0].State != chat.ToolFailed || (answer.ToolCalls[0].Approval == nil) != dead ||
			answer.ToolCalls[1].State != chat.ToolFailed || answer.ToolCalls[1].Approval.State != chat.ApprovalCanceled {
			t.Errorf("stored %+v", answer)
		}
		for _, want := range []chat.ApprovalState{chat.ApprovalWaiting, chat.ApprovalWaiting, chat.ApprovalCanceled} {
			if state := <-events.states; state != want {
				t.Errorf("event %s, not %s", state, want)
			}
		}
		f.waits(at, 0)
		if _, err := at.DecideToolCall(t.Context(), f.actor(), approve(waiting)); !errors.Is(err,
			chat.ErrApprovalCanceled) {
			t.Errorf("decided: %v", err)
		}
	}
}

// TestPermissionForAThread: a remembered approval holds for further calls of the tool by the same person in the thread,
// but not after an untrusted result.
func TestPermissionForAThread(t *testing.T) {
	t.Parallel()
	f, box, model := newAskingFixture(t)
	s := f.startWith(chat.Deps{Model: model, Tools: box}, chat.Config{})
	f.sendTo(s, f.question("送って"))
	model.Next(t).CallTools(calling("a", "send", `{}`))
	d := approve(f.waits(s, 1)[0])
	d.Remember = true
	f.decide(s, d)
	model.Next(t).CallTools(calling("b", "send", `{}`), calling("c", "slow", `{}`))
	if other := f.waits(s, 1)[0]; other.Tool != "slow" {
		t.Errorf("%s waits", other.Tool)
	} else {
		f.decide(s, refuse(other, ""))
	}
	model.Next(t).CallTools(calling("p", "page", `{}`))
	call := model.Next(t)
	if got := results(call.Request); len(got) != 1 || !strings.Contains(got[0], "\n結果{}\n") {
		t.Errorf("results %q", got)
	}
	call.CallTools(calling("d", "send", `{}`), calling("e", "allowed", `{}`), calling("f", "look", `{}`))
	for _, waiting := range f.waits(s, 2) {
		if waiting.Cause != chat.CauseUntrusted {
			t.Errorf("%s waits because of %q", waiting.Tool, waiting.Cause)
		}
		f.decide(s, refuse(waiting, ""))
	}
	model.Next(t)
	if got := box.made(); !slices.Equal(got, []string{"send{}", "send{}", "page{}", "look{}"}) {
		t.Errorf("calls %q", got)
	}
}

// TestCallsAfterExternalTextOfThePrompt: pages of the web in the prompt are untrusted like results of tools, whether they
// were found by a search before the answer or sent by the browser extension. Files are not.
func TestCallsAfterExternalTextOfThePrompt(t *testing.T) {
	t.Parallel()
	f, box, model := newAskingFixture(t)
	page, _ := skill.Extension(skill.KindPageWholeSummary)
	ofFile := f.groundedIn(three...)
	ofPages := grounder(func(ctx context.Context, req *chat.AnswerRequest, tell func(chat.Step)) (chat.Grounds, error) {
		grounds, err := ofFile(ctx, req, tell)
		grounds.Sources[2].URL, grounds.Sources[2].DataSourceID = "https://example.jp/", uuid.Nil
		return grounds, err
	})
	for name, test := range map[string]struct {
		skill    skill.Skill
		grounder chat.Grounder
		asks     bool
	}{
		"files": {chatSkill, ofFile, false}, "pages of the web": {chatSkill, ofPages, true}, "a page": {page, nil, true},
	} {
		s := f.startWith(chat.Deps{Model: model, Tools: box, Grounder: test.grounder}, chat.Config{})
		question := f.question("送って")
		question.ThreadID = f.newThread(test.skill).ID
		f.sendTo(s, question)
		model.Next(t).CallTools(calling("a", "look", `{}`), calling("b", "allowed", `{}`))
		if test.asks {
			waiting := f.waits(s, 1)[0]
			if waiting.Tool != "allowed" || waiting.Cause != chat.CauseUntrusted {
				t.Errorf("%s: %s waits because of %q", name, waiting.Tool, waiting.Cause)
			}
			f.decide(s, refuse(waiting, ""))
		}
		call := model.Next(t)
		if got := results(call.Request)[1]; got == "b:結果{}" == test.asks {
			t.Errorf("%s: result %q", name, got)
		}
		call.Finish()
	}
}
