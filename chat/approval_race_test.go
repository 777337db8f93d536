package chat_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// impatientStore asks without a pause whether a wait has ended.
type impatientStore struct{ chat.Store }

func (s impatientStore) EndWait(ctx context.Context, server uuid.UUID, run chat.RunID, force bool) (chat.Wait, error) {
	for {
		if wait, err := s.Store.EndWait(ctx, server, run, force); err != nil || !wait.Waits {
			return wait, err
		}
	}
}

// TestDecisionWhileTheServerAsks: a decision that is stored while the server asks for it continues the same run.
func TestDecisionWhileTheServerAsks(t *testing.T) {
	t.Parallel()
	f, box, model := newAskingFixture(t)
	s := f.startWith(chat.Deps{Model: model, Tools: box, Store: impatientStore{f.db}},
		chat.Config{Sweep: 10 * time.Millisecond, Lease: time.Hour})
	exchange := f.sendTo(s, f.question("送って"))
	const rounds = 15
	for n := range rounds {
		model.Next(t).CallTools(calling(fmt.Sprint(n), "send", `{}`))
		waiting := f.waits(s, 1)[0]
		f.parked(exchange)
		f.decide(s, approve(waiting))
	}
	call := model.Next(t)
	call.Emit("送りました。")
	call.Finish()
	if answer := f.waitAt(s, exchange).Answer; answer.Run != 1 || len(box.made()) != rounds {
		t.Errorf("run %d after %d calls", answer.Run, len(box.made()))
	}
}

// slowRenewalStore delays the result of a renewal that looked while the answer waited, until the answer continues.
type slowRenewalStore struct {
	chat.Store
	began, parked, looked, claimed chan struct{}

	delayed, done bool          // Of Renew, which is not called concurrently.
	applied       chan struct{} // Closed by the renewal after the delayed one.
}

func (s *slowRenewalStore) Renew(ctx context.Context, server uuid.UUID, owned []chat.RunID) (chat.Renewal, error) {
	if s.delayed && !s.done {
		s.done = true
		close(s.applied)
	}
	if s.delayed || len(owned) == 0 {
		return s.Store.Renew(ctx, server, owned)
	}
	select {
	case s.began <- struct{}{}: // The answer is about to wait.
	default:
		return s.Store.Renew(ctx, server, owned)
	}
	s.delayed = true
	<-s.parked
	renewal, err := s.Store.Renew(ctx, server, owned)
	close(s.looked)
	<-s.claimed
	return renewal, err
}

func (s *slowRenewalStore) BeginWait(ctx context.Context, server uuid.UUID, run chat.RunID, ids []string) (chat.Wait, error) {
	wait, err := s.Store.BeginWait(ctx, server, run, ids)
	close(s.parked)
	return wait, err
}

func (s *slowRenewalStore) ClaimToolCalls(ctx context.Context, server uuid.UUID, run chat.RunID, ids []string) error {
	close(s.claimed)
	return s.Store.ClaimToolCalls(ctx, server, run, ids)
}

func (s *slowRenewalStore) AddToolRound(ctx context.Context, server uuid.UUID, round chat.AddedRound) error {
	<-s.began
	return s.Store.AddToolRound(ctx, server, round)
}

// TestRenewalDuringAWait: a renewal of the lease that found the answer to be no server's, because it waited at that
// moment, does not drop it after the decision.
func TestRenewalDuringAWait(t *testing.T) {
	t.Parallel()
	f, box, model := newAskingFixture(t)
	db := &slowRenewalStore{
		Store: f.db, began: make(chan struct{}), parked: make(chan struct{}), looked: make(chan struct{}),
		claimed: make(chan struct{}), applied: make(chan struct{}),
	}
	s := f.startWith(chat.Deps{Model: model, Tools: box, Store: db},
		chat.Config{Heartbeat: 10 * time.Millisecond, Sweep: 10 * time.Millisecond, Lease: time.Hour})
	exchange := f.sendTo(s, f.question("送って"))
	model.Next(t).CallTools(calling("a", "send", `{}`))
	await(t, "the renewal", db.looked)
	f.decide(s, approve(f.waits(s, 1)[0]))
	call := model.Next(t)
	await(t, "the next renewal", db.applied)
	call.Emit("送りました。")
	call.Finish()
	if answer := f.waitAt(s, exchange).Answer; answer.Run != 1 || answer.Content != "送りました。" {
		t.Errorf("run %d stored %q", answer.Run, answer.Content)
	}
}

// TestDecisionReachesOtherServersByAnEvent: a decision is shown by other servers, and continues the answer at another
// server, at once and not with the next sweep.
func TestDecisionReachesOtherServersByAnEvent(t *testing.T) {
	t.Parallel()
	f, box, model := newAskingFixture(t)
	feed, err := stream.NewFeed(nil) // Connects the servers.
	must.Succeed(t, err)
	never := chat.Config{Sweep: time.Hour, Lease: time.Hour}
	s := f.startWith(chat.Deps{Model: model, Tools: box, Feed: feed}, never)
	other := f.startWith(chat.Deps{Feed: feed}, never)
	exchange := f.sendTo(s, f.question("送って"))
	model.Next(t).CallTools(calling("a", "send", `{}`))
	f.parked(exchange)
	tab := f.watch(other, exchange.Answer.ID) // At a server that knows only the stored text.
	f.drainUntil(tab, `"state":"waiting"`)
	f.decide(s, approve(f.waits(other, 1)[0]))
	if raw := f.drain(tab); !strings.Contains(raw, `"state":"approved"`) {
		t.Errorf("a tab at another server shows %s", raw)
	}
	call := model.Next(t)
	call.CallTools(calling("b", "send", `{}`))
	f.parked(exchange)
	f.decide(other, approve(f.waits(other, 1)[0]))
	call = model.Next(t)
	call.Emit("送りました。")
	call.Finish()
	if answer := f.waitAt(s, exchange).Answer; answer.Run != 1 || answer.Content != "送りました。" {
		t.Errorf("run %d stored %q", answer.Run, answer.Content)
	}
}
