package chat

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// takeOverBatch is how many generations one sweep takes at most; those that are left go to the next, or to another
// server.
const takeOverBatch = 50

// Start makes this server known and begins to take over what dead servers left. It returns when the server is known.
func (s *Service) Start(ctx context.Context) error {
	if err := s.store.Heartbeat(ctx, s.serverID); err != nil {
		return err
	}
	if s.cfg.Alone {
		s.sweep(ctx, 0)
	}
	s.sweeper.Go(s.watchOver)
	return nil
}

// Stop refuses new generations, gives the running ones until the context ends, and hands what is left to other servers,
// or to the next start: their watches end without a terminal event, and their clients come back.
func (s *Service) Stop(ctx context.Context) {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.jobs.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	s.cancel(errShutdown)
	s.sweeper.Wait()
	<-done
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := s.store.RemoveServer(ctx, s.serverID); err != nil {
		s.log.Warn("taking the server off the list failed; its lease will run out", "err", err)
	}
}

// Running returns how many answers this server is writing.
func (s *Service) Running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running)
}

// watchOver says that this server lives and looks for the generations of dead ones until the Service stops.
func (s *Service) watchOver() {
	heartbeat := time.NewTicker(s.cfg.Heartbeat)
	defer heartbeat.Stop()
	sweep := time.NewTicker(s.cfg.Sweep)
	defer sweep.Stop()
	for {
		select {
		case <-s.root.Done():
			return
		case <-heartbeat.C:
			ctx, cancel := context.WithTimeout(s.root, commitTimeout)
			if err := s.store.Heartbeat(ctx, s.serverID); err != nil {
				s.log.Error("heartbeat failed", "err", err)
			}
			cancel()
		case <-sweep.C:
			s.obeyStops(s.root)
			s.sweep(s.root, s.cfg.Lease)
		}
	}
}

// obeyStops ends the generations whose owners asked another server to stop them. Where all share one server, stopping is
// done when it is asked for, and there is nothing to be found.
func (s *Service) obeyStops(ctx context.Context) {
	if s.cfg.Alone || s.Running() == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	answers, err := s.store.StopRequests(ctx, s.serverID)
	if err != nil {
		s.log.Error("looking for requests to stop failed", "err", err)
	}
	for _, answer := range answers {
		s.stopLocal(answer)
	}
}

// sweep takes over generations whose server has been silent for longer than lease, and runs them.
func (s *Service) sweep(ctx context.Context, lease time.Duration) {
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		return
	}
	held := make([]uuid.UUID, 0, len(s.running))
	for id := range s.running {
		held = append(held, id)
	}
	s.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	jobs, err := s.store.TakeOver(ctx, s.serverID, held, lease, takeOverBatch)
	if err != nil {
		s.log.Error("looking for abandoned generations failed", "err", err)
		return
	}
	for _, j := range jobs {
		if err := s.resume(ctx, j); err != nil {
			// It stays this server's and unheld: a later sweep finds it again.
			s.log.Error("taking over a generation failed", "message_id", j.Answer.ID, "run", j.Run, "err", err)
		}
	}
}

// resume runs a generation that was taken over, from the start and as the next run.
func (s *Service) resume(ctx context.Context, j Job) error {
	s.log.Info("taking over a generation", "message_id", j.Answer.ID, "thread_id", j.ThreadID, "run", j.Run)
	thread, err := s.store.FindThread(ctx, j.Owner, j.ThreadID)
	if err != nil {
		return err
	}
	sk, err := s.skills.Get(ctx, j.Owner.OrganizationID, j.Owner.UserID, thread.SkillID)
	if err != nil {
		return err
	}
	history, err := s.store.History(ctx, j.Owner, j.ThreadID, j.Question.ID, s.cfg.history())
	if err != nil {
		return err
	}
	answer := j.Answer
	answer.Run = j.Run
	g, err := s.launch(job{
		owner: j.Owner, threadID: j.ThreadID, run: j.Run, titled: thread.Title != "", answer: answer,
		prompt: newPrompt(sk, history, j.Question.Content, j.Question.Prompt),
	})
	if err != nil {
		return err
	}
	g.stored <- true
	if j.Stopped {
		g.cancel(errStopped)
	}
	return nil
}
