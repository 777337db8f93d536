package chat

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/proofread"
)

// maxStoreAttempts is the number of attempts to store an answer if the database is reachable and refuses for an unknown
// reason. While the database is unavailable there is no limit, so that no answer is lost; the generation keeps its
// slot.
const maxStoreAttempts = 8

// shutdownGrace bounds storing an answer after the Service has stopped.
const shutdownGrace = time.Second

// Outcome is the result of a generation.
type Outcome struct {
	Owner         identity.Owner
	ThreadID      uuid.UUID
	MessageID     uuid.UUID
	Run           int
	ServerID      uuid.UUID
	Content       string
	Reasoning     string
	ReasoningTime time.Duration
	Status        Status // StatusSuccess or StatusFailed.
	FinishReason  FinishReason
	Failure       *Failure
	Model         string
	ModelID       string // The model that answered or, if none did, the chosen one.
	ModelName     string // "" if no model was called.
	InputTokens   int    // To be added to the answer's tokens; notes have already added theirs.
	OutputTokens  int
	Citations     []Citation
	Steps         []Step
	Proofread     *proofread.Result
	ToolCalls     []ToolCall
	ToolUses      []ToolCall // Are counted and recorded in the audit log.
	SkillID       uuid.UUID  // Of ToolUses.
	Checkpointed  bool       // There may be checkpoints or rounds, which are deleted.
}

// EndResult is the result of EndGeneration: the updated records.
type EndResult struct {
	Thread  Thread
	Message Message
}

// storeOutcome stores the outcome, retries until the database accepts it, and returns the stored outcome. If an outcome
// cannot be stored, it stores a failure without text instead; if even that fails, the failure is only shown. An error
// means that this run is invalid: another server has taken over the generation or its thread was deleted (ErrStaleRun),
// or this server stops.
func (s *Service) storeOutcome(ctx context.Context, g *generation, o Outcome) (Outcome, error) {
	pause := 50 * time.Millisecond
	refused := 0
	for {
		err := s.endGeneration(ctx, g, o)
		switch {
		case err == nil:
			o.Citations = g.endResult.Message.Citations // Without citations of files that were deleted meanwhile.
			return o, nil
		case errors.Is(err, ErrStaleRun):
			s.metrics.Fenced(1)
			s.log.InfoContext(ctx, "chat: run no longer current, generation dropped", "message_id", g.answer.ID, "run",
				g.answer.Run)
			return o, err
		}
		if code := fault.CodeOf(err); code != fault.Unavailable && code != fault.Canceled {
			refused++
			if code != fault.Internal || refused == maxStoreAttempts {
				return s.storeFailure(ctx, g, o, err)
			}
		}
		s.log.ErrorContext(ctx, "chat: storing an answer failed, retrying", "message_id", g.answer.ID, "run",
			g.answer.Run, "err", err)
		select {
		case <-time.After(withJitter(pause)):
			pause = min(2*pause, s.cfg.StoreRetry)
		case <-s.root.Done():
			return o, err
		}
	}
}

// withJitter returns a random pause around the given one, so that answers do not retry all at once.
func withJitter(pause time.Duration) time.Duration {
	return pause/2 + rand.N(pause) //nolint:gosec // Spreads the answers; no secret.
}

// storeFailure ends a generation whose outcome cannot be stored.
func (s *Service) storeFailure(ctx context.Context, g *generation, o Outcome, cause error) (Outcome, error) {
	s.log.ErrorContext(ctx, "chat: answer cannot be stored", "message_id", g.answer.ID, "run", g.answer.Run, "err", cause)
	failed := Outcome{
		Owner: o.Owner, ThreadID: o.ThreadID, MessageID: o.MessageID, Run: o.Run, ServerID: o.ServerID,
		Status: StatusFailed, FinishReason: FinishError, InputTokens: o.InputTokens, OutputTokens: o.OutputTokens,
		ToolUses: o.ToolUses, SkillID: o.SkillID,
		Failure: &Failure{Code: string(fault.Internal), Detail: "回答を保存できませんでした。もう一度お試しください。", Retryable: true},
	}
	err := s.endGeneration(ctx, g, failed)
	if err == nil || errors.Is(err, ErrStaleRun) {
		return failed, err
	}
	s.log.ErrorContext(ctx, "chat: failed answer cannot be stored", "message_id", g.answer.ID, "run", g.answer.Run, "err",
		err)
	return failed, nil
}

func (s *Service) endGeneration(ctx context.Context, g *generation, outcome Outcome) (err error) {
	// A stopped generation is stored like any other. One that ends while the Service stops gets a short grace period.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	defer context.AfterFunc(s.root, func() { time.AfterFunc(shutdownGrace, cancel) })()
	g.endResult, err = s.store.EndGeneration(ctx, outcome)
	return err
}
