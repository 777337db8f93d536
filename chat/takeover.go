package chat

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/work"
	"github.com/tsumugi-ai/tsumugi/stream"
)

const (
	// takeOverBatch is how many generations one sweep takes at most; the next sweep, or another server, takes the rest.
	takeOverBatch = 50

	// maxAttempts is how often an answer is begun at most. After that it is suspected to crash its servers.
	maxAttempts = 10

	registerLimit = time.Minute
)

// Start registers this server and begins to take over the generations of dead servers. It returns once the server is
// registered, or has tried that for registerLimit.
func (s *Service) Start(ctx context.Context) error {
	deadline := time.Now().Add(registerLimit)
	for {
		err := s.renew()
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			return err
		}
		select { // The database is busy: many servers may be starting.
		case <-time.After(s.cfg.Heartbeat):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if s.cfg.Alone {
		s.sweep(ctx, 0)
	}
	stops := s.feed.Subscribe(topicStop)
	s.sweeper.Go(func() { s.handleStops(stops) })
	decisions := s.feed.Subscribe(topicDecided)
	s.sweeper.Go(func() { s.handleDecisions(decisions) })
	// The lease has its own goroutine, so that nothing else can delay it.
	s.every(s.cfg.Heartbeat, func() { _ = s.renew() }) // Logs its own error.
	s.every(s.cfg.Sweep, func() { s.sweep(s.root, s.cfg.Lease) })
	s.every(s.cfg.Sweep, s.checkWaiting)
	s.every(4*s.cfg.Sweep, s.expireApprovals)
	s.every(4*s.cfg.Sweep, func() { // Less urgent, and not free with many texts.
		s.measureTexts()
		s.sweepMirrors(s.root)
	})
	s.every(s.cfg.Checkpoints, s.checkpointRunning)
	s.sweeper.Go(func() { work.Every(s.root, s.cfg.Expiry, nil, s.deleteExpired) })
	return nil
}

// every calls run in a goroutine after each interval, until the Service stops.
func (s *Service) every(interval time.Duration, run func()) {
	s.sweeper.Go(func() {
		if work.Sleep(s.root, interval); s.root.Err() == nil {
			work.Every(s.root, interval, nil, run)
		}
	})
}

// BeginStop refuses new generations. Running ones continue, and so does the lease. It may be called before Stop, more
// than once.
func (s *Service) BeginStop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
}

// Stop refuses new generations, lets the running ones continue until the context ends, and releases the rest, which
// other servers take over at once, or this one after its restart: their streams end without a terminal event, and their
// clients reconnect.
func (s *Service) Stop(ctx context.Context) {
	s.BeginStop()
	s.leaveWaits(ctx)
	done := make(chan struct{})
	go func() {
		s.jobs.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	s.cancel(errShutdown) // Also ends title generation: those threads keep their first question as their title.
	s.sweeper.Wait()
	<-done
	s.titles.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	s.mu.Lock()
	released := s.released
	s.mu.Unlock()
	s.checkpoint(ctx, released, 1)
	if err := s.store.RemoveServer(ctx, s.serverID); err != nil {
		s.log.WarnContext(ctx, "taking the server off the list failed; its lease will run out", "err", err)
	}
}

// leaveWaits leaves the answers that wait for decisions to the server that takes them over after a decision.
func (s *Service) leaveWaits(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := s.store.LeaveWaits(ctx, s.serverID); err != nil {
		s.log.WarnContext(ctx, "chat: waiting answers not left, they are when the lease expires", "err", err)
	}
	s.drain()
	s.abandonWaitingTexts()
}

// Stats returns what this server is doing at the moment.
func (s *Service) Stats() Stats {
	running, waiting, _ := s.slots.stats()
	return Stats{Running: running, Waiting: waiting}
}

// sweep takes over and runs the generations of servers that have been silent for longer than lease, as many as this
// server can run. Then it begins the answers to questions that wait although their thread is free: the server that
// completed the answer before them has failed since.
func (s *Service) sweep(ctx context.Context, lease time.Duration) {
	for s.takeOver(ctx, lease) == takeOverBatch {
	}
	s.beginWaiting(nil)
}

// takeOver takes over a batch of generations and returns how many of them run.
func (s *Service) takeOver(ctx context.Context, lease time.Duration) int {
	_, _, free := s.slots.stats()
	s.mu.Lock()
	if s.stopping || free == 0 || s.lease.recentlyTroubled(lease) {
		s.mu.Unlock()
		return 0
	}
	owned := make([]uuid.UUID, 0, len(s.running))
	for id := range s.running {
		owned = append(owned, id)
	}
	s.mu.Unlock()

	// No longer than a lease: the owned generations must still be complete when the database compares them.
	within, cancel := context.WithTimeout(ctx, min(commitTimeout, max(s.cfg.Lease, time.Second)))
	began := time.Now()
	taken, err := s.store.TakeOver(within, s.serverID, owned, lease, min(free, takeOverBatch), s.cfg.Epoch())
	cancel()
	if err != nil {
		s.log.ErrorContext(ctx, "looking for abandoned generations failed", "err", err)
		return 0
	}
	if len(taken) > 0 {
		s.metrics.TookOver(len(taken))
	}
	resumed := 0
	for _, b := range taken {
		if err := s.resume(ctx, b, began); err != nil {
			// It stays assigned to this server but is not in owned: a later sweep finds it again.
			s.log.ErrorContext(ctx, "taking over a generation failed", "message_id", b.Answer.ID, "run", b.Answer.Run,
				"err", err)
			continue
		}
		resumed++
	}
	return resumed
}

// resume runs a generation that was taken over, as the next run.
func (s *Service) resume(ctx context.Context, b StoredGeneration, since time.Time) error {
	s.log.InfoContext(ctx, "taking over a generation", "message_id", b.Answer.ID, "thread_id", b.Thread.ID, "run",
		b.Answer.Run)
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	if b.Attempts > maxAttempts {
		return s.failExhausted(ctx, b)
	}
	sk, err := s.skills.Get(ctx, b.Owner.OrganizationID, b.Owner.UserID, b.Thread.SkillID)
	if err != nil {
		return err
	}
	guidance, err := s.store.Guidance(ctx, b.Owner.OrganizationID, b.Owner.UserID)
	if err != nil {
		return err
	}
	history, err := s.historyBefore(ctx, b.Owner, b.Question)
	if err != nil {
		return err
	}
	before, err := s.withOpening(ctx, b.Owner, sk, b.Question, history)
	if err != nil {
		return err
	}
	before.Instructions, before.Project = b.Instructions, b.Project
	req := newAsk(b.Owner, sk, guidance, before, b.Exchange, previousModel(s.offers, b.Answer))
	g := &generation{
		req: req, answer: b.Answer, since: since, slot: s.slots.acquireUnlimited(b.Owner), known: b.Known,
		later: req.continues() || b.Known.Run > 0,
	}
	if err := s.launch(s.root, g); err != nil {
		return err
	}
	if b.Untitled && b.Question.ParentID == nil {
		s.beginTitle(g)
	}
	close(g.announced) // The first run has sent the event of its beginning.
	s.confirmOwnership(g, since)
	if b.Stopped {
		g.cancel(errStopped)
	}
	return nil
}

// failExhausted fails an answer that has been begun too often. It keeps its known text and calls.
func (s *Service) failExhausted(ctx context.Context, b StoredGeneration) error {
	g := &generation{
		req: &AnswerRequest{Owner: b.Owner}, answer: b.Answer, text: stream.NewText(streamHead(b.Answer)), rounds: b.Known.Rounds,
	}
	canceled := s.cancelWaiting(g)
	result, err := s.store.EndGeneration(ctx, Outcome{
		Owner: b.Owner, ThreadID: b.Thread.ID, MessageID: b.Answer.ID, Run: b.Answer.Run, ServerID: s.serverID,
		Status: StatusFailed, FinishReason: FinishError, Failure: unknownFailure(), Content: b.Known.Text,
		SkillID: b.Thread.SkillID, ToolCalls: g.toolCalls(), ToolUses: g.toolUses(), Checkpointed: true,
	})
	if err == nil {
		s.publishEnd(b.Owner, result)
		s.publishAsked(g, canceled)
	}
	return err
}

// sweepMirrors drops the mirrors of runs that have ended. If the connection was lost together with the end of the
// stream, subscribers would otherwise wait indefinitely. After the drop they reconnect and find the stored answer.
func (s *Service) sweepMirrors(ctx context.Context) {
	var runs []RunID
	for _, head := range s.hub.Mirrors() {
		if id, err := uuid.Parse(head.MessageID); err == nil {
			runs = append(runs, RunID{MessageID: id, Run: head.Run})
		}
	}
	if len(runs) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	ended, err := s.store.EndedRuns(ctx, runs, s.cfg.MirrorGrace)
	if err != nil {
		s.log.ErrorContext(ctx, "chat: searching ended runs failed", "err", err)
		return
	}
	for _, run := range ended {
		s.hub.Drop(run.MessageID.String(), run.Run)
	}
}
