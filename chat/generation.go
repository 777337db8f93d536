package chat

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/fault"
	"github.com/tsumugi-ai/tsumugi/llm"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// job is what a generation has to do.
type job struct {
	owner    Owner
	threadID uuid.UUID
	run      int
	titled   bool // The thread has a title.
	prompt   prompt
	answer   Message // Id, thread, question and run.
}

// generation is the writing of one answer by this server, from the question to the stored text. Its goroutine is owned
// by the Service and by nobody's request.
type generation struct {
	job
	text   *stream.Text
	stored chan bool // Receives once whether the question was stored. What ends earlier waits for it.
	cancel context.CancelCauseFunc
}

// launch starts a generation. Its answer is shown to nobody who does not know its id.
func (s *Service) launch(j job) (*generation, error) {
	ctx, cancel := context.WithCancelCause(s.root)
	g := &generation{job: j, stored: make(chan bool, 1), cancel: cancel}
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		cancel(errShutdown)
		return nil, fault.Errorf(fault.Unavailable, "サーバーを再起動しています。少し待ってから、もう一度お試しください。")
	}
	s.running[j.answer.ID] = g
	s.jobs.Add(1)
	s.mu.Unlock()

	g.text = s.hub.Open(head(j.answer))
	go func() {
		defer s.jobs.Done()
		defer cancel(nil)
		s.generate(ctx, g)
		s.mu.Lock()
		if s.running[j.answer.ID] == g {
			delete(s.running, j.answer.ID)
		}
		s.mu.Unlock()
		s.hub.Close(g.text)
	}()
	return g, nil
}

// generate belongs to the generation's goroutine.
func (s *Service) generate(ctx context.Context, g *generation) {
	result, err := s.ask(ctx, g)
	if !<-g.stored {
		return
	}
	if err != nil && errors.Is(context.Cause(ctx), errShutdown) {
		return // Another server, or this one when it is back, writes the next run.
	}
	outcome := g.outcome(ctx, result, err)
	if outcome.Failure != nil {
		s.log.Warn("generation failed", "message_id", g.answer.ID, "thread_id", g.threadID, "run", g.run, "err", err)
	}
	outcome.ServerID = s.serverID
	if !s.keep(ctx, g, outcome) {
		return
	}
	s.finish(ctx, g, outcome)
}

// ask has the model write the answer into the text.
func (s *Service) ask(ctx context.Context, g *generation) (llm.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	length, over := 0, false
	result, err := s.model.Stream(ctx, llm.Request{Messages: g.prompt.messages}, func(delta string) {
		if length += len(delta); length > s.cfg.MaxAnswer {
			if !over {
				over = true
				cancel(errTooLong)
			}
			return
		}
		// PostgreSQL stores every character but NUL; what is seen live must be what is stored.
		g.text.AppendText(strings.ReplaceAll(delta, "\x00", "\uFFFD"))
	})
	if over {
		result.FinishReason, err = llm.FinishLength, nil
	}
	return result, err
}

// outcome says how the generation ended, from what the model returned and why its context ended.
func (g *generation) outcome(ctx context.Context, result llm.Result, err error) Outcome {
	o := Outcome{
		MessageID: g.answer.ID, Run: g.run, Content: g.text.Text(), Status: StatusSuccess,
		FinishReason: FinishReason(result.FinishReason), Model: result.Model,
		InputTokens: result.Usage.InputTokens, OutputTokens: result.Usage.OutputTokens,
	}
	switch {
	case err == nil:
	case errors.Is(context.Cause(ctx), errStopped):
		o.FinishReason = FinishStopped
	default:
		o.Status, o.FinishReason = StatusFailed, FinishError
		o.Failure = &Failure{Code: string(fault.CodeOf(err)), Detail: fault.DetailOf(err), Retryable: llm.Retryable(err)}
		if o.Failure.Detail == "" {
			o.Failure = &Failure{
				Code: string(fault.Internal), Detail: "回答の作成中に問題が発生しました。もう一度お試しください。", Retryable: true,
			}
		}
	}
	return o
}

// keep stores the outcome, trying again until the database takes it, and reports whether it did. If another server
// has taken the generation over, or the thread is gone, what was written here counts for nothing.
func (s *Service) keep(ctx context.Context, g *generation, outcome Outcome) bool {
	pause := 50 * time.Millisecond
	for {
		err := s.endGeneration(ctx, outcome)
		switch {
		case err == nil:
			return true
		case errors.Is(err, ErrStaleRun):
			s.log.Info("generation dropped: it is no longer current", "message_id", g.answer.ID, "run", g.run)
			return false
		}
		s.log.Error("storing an answer failed, trying again", "message_id", g.answer.ID, "run", g.run, "err", err)
		select {
		case <-time.After(pause):
			pause = min(2*pause, s.cfg.StoreRetry)
		case <-s.root.Done():
			return false
		}
	}
}

func (s *Service) endGeneration(ctx context.Context, outcome Outcome) error {
	// A stopped generation is stored like any other.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	return s.store.EndGeneration(ctx, outcome)
}

// finish tells the watches how a stored answer ended. A thread without a title is given one first: the text is closed
// before, so that nobody waits for it.
func (s *Service) finish(ctx context.Context, g *generation, o Outcome) {
	g.text.CloseText()
	if !g.titled {
		if title := s.title(ctx, g, o); title != "" {
			g.text.PutTitle(title)
		}
	}
	answer := g.answer
	answer.Status, answer.FinishReason, answer.Failure = o.Status, o.FinishReason, o.Failure
	answer.InputTokens, answer.OutputTokens = o.InputTokens, o.OutputTokens
	g.text.Finish(end(answer))
}

// stoppedTitleTimeout bounds the making of a title for an answer that was stopped: its watches are to end within a second.
const stoppedTitleTimeout = 700 * time.Millisecond

// title gives the thread a title and stores it, unless its owner gave one meanwhile: one that the model makes of the
// answer, or the question where there is no good answer. It returns "" if it gave none.
func (s *Service) title(ctx context.Context, g *generation, o Outcome) string {
	title := ""
	if o.Status == StatusSuccess && o.Content != "" {
		title = s.makeTitle(ctx, g, o.Content)
	}
	if title == "" {
		title = trimTitle(g.prompt.question)
	}
	if title == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(s.root, commitTimeout)
	defer cancel()
	given, err := s.store.TitleThread(ctx, g.owner, g.threadID, title)
	if err != nil {
		s.log.Warn("storing a title failed", "thread_id", g.threadID, "err", err)
	}
	if !given {
		return ""
	}
	return title
}

// makeTitle has the model make a title. It returns "" if that fails.
func (s *Service) makeTitle(ctx context.Context, g *generation, answer string) string {
	limit := s.cfg.TitleTimeout
	if errors.Is(context.Cause(ctx), errStopped) {
		// Whoever stops the answer still wants to find the thread again, and does not want to wait.
		ctx, limit = s.root, min(limit, stoppedTitleTimeout)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var made strings.Builder
	_, err := s.model.Stream(ctx, llm.Request{Messages: titlePrompt(g.prompt.question, answer), MaxTokens: 100}, func(delta string) {
		if made.Len() < 1<<10 {
			made.WriteString(delta)
		}
	})
	if err != nil {
		s.log.Warn("making a title failed, taking the question", "thread_id", g.threadID, "err", err)
		return ""
	}
	return trimTitle(made.String())
}
