package chat

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/internal/work"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// An answer with a call that needs a decision waits. Meanwhile it occupies no slot and belongs to no server, so that no
// server takes it over. Its goroutine and its text stay, so that its stream stays open. A decision makes the answer the
// waiting server's again, and the same run continues. If that server has failed meanwhile, another one takes the answer
// over, as after any failure.

// awaitDecisions waits until one of the waiting calls is decided, and applies the decisions.
func (s *Service) awaitDecisions(ctx context.Context, g *generation, calls []ToolCall) error {
	if !g.state.CompareAndSwap(stateWriting, stateWaiting) { // Renewals of the lease leave it alone from now on.
		return errLost
	}
	g.waits.Add(1)
	began := time.Now()
	wait, err := s.beginWait(g, calls)
	since := began
	if err == nil && wait.Waits {
		s.releaseSlot(g)
		s.publishStart(ctx, g)
		wait, since, err = s.endWait(ctx, g)
		g.waited += time.Since(began)
	}
	if err != nil {
		if s.root.Err() == nil && !errors.Is(err, errShutdown) {
			g.state.Store(stateWriting)
		}
		return s.dropStale(g, err)
	}
	s.own(g, since)
	if wait.Stopped {
		g.cancel(errStopped)
	}
	if g.slot == nil {
		g.slot = s.slots.acquireUnlimited(g.req.Owner)
		if err := g.slot.wait(ctx); err != nil {
			return llm.Canceled(ctx)
		}
		s.publishStart(ctx, g)
	}
	s.ensureLease()
	if g.state.Load() == stateLost {
		return errLost
	}
	s.applyDecisions(g, calls, wait.Calls)
	return nil
}

// applyDecisions replaces waiting calls by the decided ones, and publishes them.
func (s *Service) applyDecisions(g *generation, calls, stored []ToolCall) {
	for i, call := range calls {
		j := slices.IndexFunc(stored, func(other ToolCall) bool { return other.ID == call.ID })
		if call.State == ToolWaiting && j >= 0 && stored[j].State != ToolWaiting {
			calls[i] = stored[j]
			putToolCall(g.text, calls[i])
		}
	}
}

// beginWait stores that the answer waits, even if it was stopped, and retries until the database accepts it.
func (s *Service) beginWait(g *generation, calls []ToolCall) (wait Wait, err error) {
	var ids []string
	for _, call := range calls {
		if call.State == ToolWaiting {
			ids = append(ids, call.ID)
		}
	}
	err = s.persist(s.root, func(ctx context.Context) (err error) {
		wait, err = s.store.BeginWait(ctx, s.serverID, g.runID(), ids)
		return err
	})
	return wait, err
}

// endWait returns when the answer waits no longer and is this server's again. since is a time before it was.
func (s *Service) endWait(ctx context.Context, g *generation) (wait Wait, since time.Time, err error) {
	for {
		draining := false
		select {
		case <-g.woken:
		case <-s.draining:
			draining = true
		case <-ctx.Done():
		}
		if errors.Is(context.Cause(ctx), errShutdown) {
			return Wait{}, since, errShutdown
		}
		since = time.Now()
		// Also if the answer was stopped.
		err = s.persist(s.root, func(within context.Context) (err error) {
			wait, err = s.store.EndWait(within, s.serverID, g.runID(), ctx.Err() != nil)
			return err
		})
		if err != nil || !wait.Waits {
			return wait, since, err
		}
		if draining {
			g.cancel(errShutdown)
			return Wait{}, since, errShutdown
		}
	}
}

// persist calls a method of the store, and retries it until the database is available or ctx ends.
func (s *Service) persist(ctx context.Context, call func(context.Context) error) error {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, s.cfg.StoreRetry) {
		within, cancel := context.WithTimeout(ctx, commitTimeout)
		err := call(within)
		cancel()
		code := fault.CodeOf(err)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return llm.Canceled(ctx)
		case code != fault.Unavailable && code != fault.Canceled:
			return err
		}
		work.Sleep(ctx, withJitter(pause))
	}
}

// dropStale returns an error of a generation, which it drops if the run has ended.
func (s *Service) dropStale(g *generation, err error) error {
	if errors.Is(err, ErrStaleRun) {
		s.drop(g)
	}
	return err
}

func (g *generation) runID() RunID { return RunID{MessageID: g.answer.ID, Run: g.answer.Run} }

// askAgain makes running calls of an earlier run wait for a decision if they may not be repeated.
func (s *Service) askAgain(ctx context.Context, g *generation, tools []tool.Tool, calls []ToolCall) error {
	var unknown []ToolCall
	for i, call := range calls {
		found, exists := findTool(tools, call.Name)
		if call.State == ToolRunning && exists && !repeatable(found) {
			call.ask(CauseUnknown, time.Now().Add(s.cfg.Approval))
			if call.Input == nil { // The input that the person has entered is only for the server that asked for it.
				call.Version = found.Version
			}
			calls[i] = call
			unknown = append(unknown, call)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return s.storeAsked(ctx, g, unknown)
}

// storeAsked stores that running calls wait for decisions, and publishes them.
func (s *Service) storeAsked(ctx context.Context, g *generation, calls []ToolCall) error {
	if err := s.persist(ctx, func(ctx context.Context) error {
		return s.store.AskAgain(ctx, s.serverID, g.runID(), calls)
	}); err != nil {
		return s.dropStale(g, err)
	}
	s.ensureLease()
	s.publishAsked(g, calls)
	for _, call := range calls {
		putToolCall(g.text, call)
	}
	return nil
}

// claimCalls claims approved calls for this run before it makes them. They are running calls then: if this server fails,
// their results are unknown.
func (s *Service) claimCalls(ctx context.Context, g *generation, calls []ToolCall) error {
	var ids []string
	for _, call := range calls {
		if call.State == ToolApproved {
			ids = append(ids, call.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := s.persist(ctx, func(ctx context.Context) error {
		return s.store.ClaimToolCalls(ctx, s.serverID, g.runID(), ids)
	}); err != nil {
		return s.dropStale(g, err)
	}
	for i := range calls {
		if calls[i].State == ToolApproved {
			calls[i].State = ToolRunning
		}
	}
	s.ensureLease()
	if g.state.Load() == stateLost {
		return errLost
	}
	return nil
}

// publishAsked sends the events of calls that wait for a decision, or no longer.
func (s *Service) publishAsked(g *generation, calls []ToolCall) {
	for _, call := range calls {
		if call.Approval == nil {
			continue
		}
		s.events.ToolCallChanged(g.req.Owner, ToolApproval{
			Approval: *call.Approval, UserID: g.req.Owner.UserID, ThreadID: g.answer.ThreadID, MessageID: g.answer.ID,
			CallID: call.ID, Tool: call.Name, Title: call.Title,
		})
	}
}

// cancelWaiting marks calls without a result at the end of an answer, and publishes them. It returns those whose approvals
// it has canceled.
func (s *Service) cancelWaiting(g *generation) (canceled []ToolCall) {
	for _, round := range g.rounds {
		for i := range round.Calls {
			call := &round.Calls[i]
			if !call.open() {
				continue
			}
			isCanceled := call.State == ToolWaiting && call.Approval != nil // A damaged call has none.
			call.State, call.Error = ToolFailed, stoppedCall
			if isCanceled {
				approval := *call.Approval
				approval.State = ApprovalCanceled
				call.Approval = &approval
				canceled = append(canceled, *call)
			}
			putToolCall(g.text, *call)
		}
	}
	return canceled
}

// topicDecided is the feed's topic for decisions. Its events are decidedCalls as JSON. A server that misses one finds the
// decision with its next check of waiting answers.
const topicDecided = "decided"

// decidedCall is a decision about a call of an answer.
type decidedCall struct {
	MessageID uuid.UUID
	Approval  stream.ToolApproval
}

// decided shows a decision at all servers, and continues the answer.
func (s *Service) decided(a ToolApproval) {
	d := decidedCall{a.MessageID, streamApproval(a.CallID, a.Approval, a.ArgumentsSHA256)}
	s.showDecision(d)
	s.feed.Publish(topicDecided, encode(d))
}

// handleDecisions handles decisions at other servers until the Service stops.
func (s *Service) handleDecisions(decisions *stream.Subscription) {
	s.handle(decisions, topicDecided, func(event []byte) {
		var d decidedCall
		if json.Unmarshal(event, &d) == nil { // Else a message of another version.
			s.showDecision(d)
		}
	}, s.checkWaiting)
}

// showDecision continues an answer that waits on this server. It shows the decision in the texts of waiting answers, and
// ends them: their clients attach again.
func (s *Service) showDecision(d decidedCall) {
	s.mu.Lock()
	g := s.running[d.MessageID]
	var texts []*stream.Text
	for run, text := range s.waitingTexts {
		if run.MessageID == d.MessageID {
			delete(s.waitingTexts, run)
			texts = append(texts, text)
		}
	}
	s.mu.Unlock()
	if g != nil {
		g.wake()
	}
	for _, text := range texts {
		text.PutToolApproval(d.Approval)
		text.Abandon()
	}
}

// wake makes endWait look whether the answer waits.
func (g *generation) wake() {
	select {
	case g.woken <- struct{}{}:
	default:
	}
}

// checkWaiting continues the answers of this server whose calls are decided, because other servers may have stored the
// decisions. It ends the texts of decided answers without a server.
func (s *Service) checkWaiting() {
	s.mu.Lock()
	waiting := make(map[RunID]*generation)
	var runs []RunID
	for _, g := range s.running {
		if g.state.Load() == stateWaiting {
			waiting[g.runID()] = g
			runs = append(runs, g.runID())
		}
	}
	for run := range s.waitingTexts {
		runs = append(runs, run)
	}
	s.mu.Unlock()
	if len(runs) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(s.root, commitTimeout)
	defer cancel()
	still, err := s.store.WaitingRuns(ctx, runs)
	if err != nil {
		if s.root.Err() == nil {
			s.log.WarnContext(ctx, "chat: waiting answers not checked", "answers", len(runs), "err", err)
		}
		return
	}
	for _, run := range runs {
		if slices.Contains(still, run) {
			continue
		}
		if g := waiting[run]; g != nil {
			g.wake()
		}
		s.mu.Lock()
		text := s.waitingTexts[run]
		delete(s.waitingTexts, run)
		s.mu.Unlock()
		if text != nil {
			text.Abandon() // Its clients attach again.
		}
	}
}

// waitingText returns the text of an answer that waits for a decision although this server knows no text of it, because
// the waiting server has failed or is not connected. It returns nil if the answer does not wait any more.
func (s *Service) waitingText(ctx context.Context, m Message) (*stream.Text, error) {
	run := RunID{MessageID: m.ID, Run: m.Run}
	s.mu.Lock()
	text := s.waitingTexts[run]
	s.mu.Unlock()
	if text != nil {
		return text, nil
	}
	within, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	known, err := s.store.WaitingText(within, run)
	if errors.Is(err, ErrStaleRun) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text = stream.NewText(streamHead(m))
	for _, round := range known.Rounds {
		for _, call := range round.Calls {
			putToolCall(text, call)
		}
	}
	text.AppendText(roundsText(known.Rounds))
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.waitingTexts[run]; other != nil {
		return other, nil
	}
	s.waitingTexts[run] = text
	return text, nil
}

// abandonWaitingTexts ends all texts of waiting answers.
func (s *Service) abandonWaitingTexts() {
	s.mu.Lock()
	texts := s.waitingTexts
	s.waitingTexts = make(map[RunID]*stream.Text)
	s.mu.Unlock()
	for _, text := range texts {
		text.Abandon()
	}
}
