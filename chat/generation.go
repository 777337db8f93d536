package chat

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// generation is the generation of one answer by this server, from the question to the stored text. Its goroutine is
// owned by the Service and outlives the request.
type generation struct {
	req    *AnswerRequest
	answer Message   // As stored during the generation: StatusPending if it waits for a slot.
	since  time.Time // When the question arrived or was taken over.
	slot   *slot     // Belongs to the generation's goroutine after launch; nil after releaseSlot.

	// Set by launch.
	life      context.Context // Has the request's log and trace values; canceled only by Stop.
	text      *stream.Text
	span      trace.Span
	state     atomic.Int32  // One of stateStarting … stateWaiting.
	stored    chan bool     // Receives once whether the question was stored. An earlier end waits for it.
	announced chan struct{} // Closed when Events was notified of its beginning.
	cancel    context.CancelCauseFunc

	// The fields below belong to the generation's goroutine.
	steps           []Step // The last state of each kind.
	grounds         Grounds
	grounded        bool                       // The sources were found.
	guard           *answer.CitationNormalizer // Nil if the model received no sources.
	sources         atomic.Pointer[[]Source]   // See allSources. Only the generation's goroutine changes it.
	length          int                        // Length of the text in bytes.
	reasoningLength int                        // Length of the reasoning in bytes.
	truncated       bool                       // The text has reached its limit.
	rounds          []ToolRound                // The rounds with calls of tools so far.
	roundsText      string                     // The text of the rounds of an earlier run.
	newParagraph    bool                       // A blank line is published before the next text.
	returned        []ToolCall                 // The calls in the state ToolReturned.
	waited          time.Duration              // For decisions about calls.

	waits atomic.Int64 // The number of waits for decisions that have begun.

	woken chan struct{} // Receives when the answer may no longer wait for decisions. Set by launch.

	proofreading *proofreading // Nil unless the answer is a list of changes.

	// later means that open makes the text visible, because an earlier run's text may be continued.
	later  bool
	known  KnownText // Of an earlier run. Belongs to the generation's goroutine.
	opened atomic.Bool

	// Set by open before it sets opened; then they belong to checkpointLoop, and after that to Stop.
	checkpointed   int // Bytes of the text in checkpoints.
	checkpointedAt time.Time

	hasCheckpoints atomic.Bool // There may be checkpoints.

	endResult EndResult // Empty until its end is stored.
}

// The states of a generation.
const (
	stateStarting int32 = iota // Its question may not be stored yet.
	stateWriting               // Owned by this server while the lease is valid.
	stateEnding                // Its end is being stored; the result shows whether this server still owned it.
	stateLost                  // It was dropped.
	stateWaiting               // It waits for decisions about calls, and belongs to no server.
)

// launch starts a generation whose fields before life are set. Only clients that know the answer's id can see it. ctx
// is the request's context; the generation outlives it.
func (s *Service) launch(ctx context.Context, g *generation) error {
	life, endLife := context.WithCancelCause(context.WithoutCancel(ctx))
	life, span := s.tracer.Start(life, "chat.generation", trace.WithAttributes(attributes(g.answer)...))
	own, cancel := context.WithCancelCause(life)
	g.life, g.span, g.cancel = life, span, cancel
	g.stored, g.announced = make(chan bool, 1), make(chan struct{})
	g.req.Stored = g.announced
	g.woken = make(chan struct{}, 1)
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		s.slots.release(g.slot)
		span.End()
		endLife(errShutdown)
		return refusal(RefusedStopping)
	}
	s.running[g.answer.ID] = g
	s.jobs.Add(1)
	s.mu.Unlock()

	g.text = stream.NewText(streamHead(g.answer))
	if !g.later {
		s.hub.Register(g.text)
		g.checkpointedAt = g.since
		g.opened.Store(true)
	}
	s.metrics.GenerationBegan()
	go func() {
		defer s.jobs.Done()
		defer endLife(nil)
		defer context.AfterFunc(s.root, func() { endLife(errShutdown) })()
		outcome, tokens := s.generate(own, g)
		s.releaseSlot(g)
		s.mu.Lock()
		if s.running[g.answer.ID] == g {
			delete(s.running, g.answer.ID)
		}
		if outcome == OutcomeHandedOver {
			s.released = append(s.released, g)
		}
		s.mu.Unlock()
		s.hub.Close(g.text)
		s.metrics.GenerationEnded(outcome, time.Since(g.since), tokens)
		span.SetAttributes(attribute.String("chat.outcome", outcome))
		span.End()
	}()
	return nil
}

// generate runs in the generation's goroutine. It returns one of the outcomes of Metrics, and the token count if the
// answer was stored.
func (s *Service) generate(ctx context.Context, g *generation) (ended string, tokens int) {
	var result llm.Result
	if g.later {
		s.findKnownText(ctx, g)
	}
	err := g.slot.wait(ctx)
	if err == nil {
		if g.answer.Status == StatusPending {
			s.jobs.Go(func() { s.markRunning(ctx, g) }) // Concurrent with the model call, to avoid a delay.
		}
		result, err = s.write(ctx, g)
	}
	return s.end(ctx, g, result, err)
}

// end stores and publishes the end of an answer. result and err are those of write. It returns the results of generate.
func (s *Service) end(ctx context.Context, g *generation, result llm.Result, err error) (ended string, tokens int) {
	if !<-g.stored {
		return OutcomeDropped, 0
	}
	<-g.announced
	if err != nil && errors.Is(context.Cause(ctx), errShutdown) {
		return OutcomeHandedOver, 0 // Another server, or this one after its restart, generates the next run.
	}
	// The answer may have ended before the model was asked.
	g.restoreRounds(true)
	if err := s.open(g, g.prefix(s.cfg.MaxAnswer)); err != nil {
		s.log.WarnContext(ctx, "chat: run not begun", "message_id", g.answer.ID, "run", g.answer.Run, "err", err)
		if errors.Is(err, errShutdown) {
			return OutcomeHandedOver, 0
		}
		return OutcomeDropped, 0
	}
	canceled := s.cancelWaiting(g)
	o := g.outcome(ctx, result, err)
	o.ServerID = s.serverID
	o.ModelID, o.ModelName = s.answeringModel(g, result)
	if !g.state.CompareAndSwap(stateWriting, stateEnding) {
		s.countDropped(g, o)
		return OutcomeDropped, 0
	}
	o.Checkpointed = g.hasCheckpoints.Load() || len(g.rounds) > 0
	if o.Failure != nil {
		s.log.WarnContext(ctx, "generation failed", "message_id", g.answer.ID, "thread_id", g.answer.ThreadID, "run",
			g.answer.Run, "err", err)
	}
	if o, err = s.storeOutcome(ctx, g, o); err != nil {
		if errors.Is(context.Cause(ctx), errShutdown) {
			return OutcomeHandedOver, 0
		}
		s.countDropped(g, o)
		return OutcomeDropped, 0
	}
	s.budget.RecordUsage(g.req.Owner.OrganizationID, g.req.Owner.UserID, o.InputTokens+o.OutputTokens)
	g.span.AddEvent("stored")
	g.span.SetAttributes(attribute.String("llm.model", o.Model),
		attribute.Int("llm.input_tokens", g.endResult.Message.InputTokens),
		attribute.Int("llm.output_tokens", g.endResult.Message.OutputTokens))
	s.releaseSlot(g) // Before subscribers see the end, because a client may ask its next question at once.
	s.finish(g, o)
	s.publishAsked(g, canceled)
	if g.endResult.Thread.Shared {
		s.jobs.Go(func() { s.beginWaiting(&g.answer.ThreadID) })
	}
	switch {
	case o.Failure != nil:
		return OutcomeFailed, o.OutputTokens
	case o.FinishReason == FinishStopped:
		return OutcomeStopped, o.OutputTokens
	}
	return OutcomeSuccess, o.OutputTokens
}

// markRunning stores that an answer that had to wait for a slot is now being generated, and sends the event, after its
// question was stored. ctx ends with the generation.
func (s *Service) markRunning(ctx context.Context, g *generation) {
	select {
	case <-g.announced:
	case <-ctx.Done():
		return
	}
	within, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	started, err := s.store.StartAnswer(within, g.req.Owner, g.answer.ID)
	switch {
	case err != nil && ctx.Err() == nil:
		s.log.WarnContext(ctx, "chat: start of an answer not stored", "message_id", g.answer.ID, "err", err)
	case started:
		s.publishStart(ctx, g)
	}
}

// countDropped counts the tokens of an answer whose thread was deleted while it was generated. If another server has
// taken over the answer, that server counts them.
func (s *Service) countDropped(g *generation, o Outcome) {
	ctx, cancel := context.WithTimeout(g.life, commitTimeout)
	defer cancel()
	counted, err := s.store.CountDeleted(ctx, o)
	if err != nil {
		s.log.WarnContext(ctx, "chat: usage of a deleted answer not counted", "message_id", g.answer.ID, "err",
			err)
	}
	if counted {
		s.budget.RecordUsage(g.req.Owner.OrganizationID, g.req.Owner.UserID, o.InputTokens+o.OutputTokens)
	}
}

// releaseSlot releases the generation's slot. It may be called more than once.
func (s *Service) releaseSlot(g *generation) {
	if g.slot != nil {
		s.slots.release(g.slot)
		g.slot = nil
	}
}

// write writes the answer into the text: first its sources, then the model's text, or the Grounder's answer without a
// model.
func (s *Service) write(ctx context.Context, g *generation) (result llm.Result, err error) {
	if err = s.ground(ctx, g); err == nil && (g.grounds.Answer != "" || g.req.Proofreads()) {
		err = s.open(g, "")
	}
	switch {
	case err != nil:
	case g.grounds.Answer != "" && g.req.wantsJSON():
		err = fault.Errorf(fault.Unavailable, "%s", g.grounds.Answer)
	case g.grounds.Answer != "":
		s.publish(g, g.grounds.Answer)
		result.FinishReason = llm.FinishStop
	case g.req.Proofreads():
		result, err = s.proofread(ctx, g)
	default:
		result, err = s.askModel(ctx, g)
	}
	result.Usage.Add(g.grounds.Usage)
	return result, err
}

// askModel calls the model and writes its answer into the text.
func (s *Service) askModel(ctx context.Context, g *generation) (llm.Result, error) {
	prompt, err := s.withPictures(ctx, g.req.Owner, g.req.Model, g.grounds.Prompt)
	if err != nil {
		return llm.Result{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	g.span.AddEvent("asked")
	req := llm.Request{
		Model: g.req.Model.ID, Thinking: g.req.Model.Thinking, Messages: prompt,
		Reasoning: func(delta string) { s.publishReasoning(g, delta) },
	}
	if params := g.req.Question.Params; params != nil {
		req.Params, req.Exact = params.Params, true
	}
	if g.req.wantsJSON() {
		prompt[0].Content += jsonOnly
	}
	tools, err := s.toolsOf(ctx, g.req, g.allSources)
	if err != nil {
		return llm.Result{}, err
	}
	g.restoreRounds(len(tools) > 0)
	req.Prefix = g.prefix(s.cfg.MaxAnswer)
	if len(tools) > 0 || len(g.rounds) > 0 {
		return s.askWithTools(ctx, cancel, g, req, tools)
	}
	result, err := s.askOnce(ctx, cancel, g, req)
	if err == nil && result.FinishReason == llm.FinishTools {
		result.FinishReason = llm.FinishStop
		err = s.returnCalls(g, req.Prefix, result.ToolCalls)
	}
	return result, err
}

// askOnce makes one request to the model, or two if it does not continue the prefix.
func (s *Service) askOnce(
	ctx context.Context, cancel context.CancelCauseFunc, g *generation, req llm.Request,
) (llm.Result, error) {
	result, err := s.streamModel(ctx, cancel, g, req)
	if fault.CodeOf(err) == llm.CodeNotContinued && !g.opened.Load() {
		s.log.InfoContext(ctx, "chat: the model does not continue the answer", "message_id", g.answer.ID, "err", err)
		spent := result.Usage
		req.Prefix, g.known.Text = "", g.roundsText
		result, err = s.streamModel(ctx, cancel, g, req)
		result.Usage.Add(spent)
	}
	if g.guard != nil && s.root.Err() == nil { // After a stop, the next run decides what the held text is.
		s.publish(g, g.guard.Close())
		g.guard = answer.NewCitationNormalizer(passages(g.allSources())) // For the next round.
	}
	if g.length > 0 {
		g.span.AddEvent("last token")
	}
	if g.truncated {
		result.FinishReason, err = llm.FinishLength, nil
	}
	return result, err
}

// streamModel asks the model and publishes its text. It opens the text of a generation that was taken over: at once, or
// when the model has begun to continue its prefix.
func (s *Service) streamModel(ctx context.Context, cancel context.CancelCauseFunc, g *generation, req llm.Request) (
	llm.Result, error,
) {
	if req.Prefix == "" {
		if err := s.open(g, ""); err != nil {
			return llm.Result{}, err
		}
	}
	return s.model.Stream(ctx, req, func(delta string) {
		if err := s.open(g, req.Prefix); err != nil {
			cancel(err)
			return
		}
		if g.newParagraph {
			g.newParagraph = false
			s.publish(g, "\n\n")
		}
		if g.guard != nil {
			delta = g.guard.Write(delta)
		}
		s.publish(g, delta)
		if g.truncated {
			cancel(errTooLong)
		}
	})
}

// publishReasoning appends a delta of the model's reasoning, up to the limit. It runs in the generation's goroutine.
func (s *Service) publishReasoning(g *generation, delta string) {
	if g.reasoningLength == s.cfg.MaxReasoning {
		return
	}
	if left := s.cfg.MaxReasoning - g.reasoningLength; len(delta) > left {
		delta = runes.FirstBytes(delta, left) + "…"
		g.reasoningLength = s.cfg.MaxReasoning
	} else {
		g.reasoningLength += len(delta)
	}
	s.ensureLease()
	g.text.AppendReasoning(withoutNUL(delta))
}

// publish appends a delta of the answer to the text, up to the limit. It runs in the generation's goroutine.
func (s *Service) publish(g *generation, delta string) {
	if g.truncated || delta == "" {
		return
	}
	delta = withoutNUL(delta) // First, because it changes the length.
	if g.truncated = g.length+len(delta) > s.cfg.MaxAnswer; g.truncated {
		delta = runes.FirstBytes(delta, s.cfg.MaxAnswer-g.length)
	}
	first := g.length == 0
	g.length += len(delta)
	s.ensureLease()
	g.text.AppendText(delta)
	if first {
		s.metrics.FirstToken(time.Since(g.since))
		g.span.AddEvent("first token")
	}
}

// withoutNUL replaces NUL, which PostgreSQL cannot store, because the live text must equal the stored one.
func withoutNUL(text string) string { return strings.ReplaceAll(text, "\x00", "\uFFFD") }

// outcome derives the outcome from the model's result and the cause of the end of ctx.
func (g *generation) outcome(ctx context.Context, result llm.Result, err error) Outcome {
	o := Outcome{
		Owner: g.req.Owner, ThreadID: g.answer.ThreadID, MessageID: g.answer.ID, Run: g.answer.Run,
		Content: g.text.Text(), Status: StatusSuccess, Steps: g.steps, Proofread: g.proofreading.result(),
		ToolCalls: g.toolCalls(), ToolUses: g.toolUses(), SkillID: g.req.Skill.ID,
		FinishReason: FinishReason(result.FinishReason), Model: result.Model,
		InputTokens: result.Usage.InputTokens, OutputTokens: result.Usage.OutputTokens,
	}
	o.Reasoning, o.ReasoningTime = g.text.Reasoning()
	o.Citations = g.cite(o.Content)
	switch {
	case err == nil:
	case errors.Is(context.Cause(ctx), errStopped):
		o.FinishReason = FinishStopped
	default:
		o.Status, o.FinishReason = StatusFailed, FinishError
		o.Failure = &Failure{
			Code: string(fault.CodeOf(err)), Detail: fault.DetailOf(err),
			Retryable: llm.Retryable(err) || fault.CodeOf(err) == fault.Unavailable,
		}
		if o.Failure.Detail == "" {
			o.Failure = unknownFailure()
		}
	}
	return o
}

// answeringModel returns the id and the name of the model that answered: the chosen one, unless a fallback replaced it.
func (s *Service) answeringModel(g *generation, result llm.Result) (id, name string) {
	switch chosen := g.req.Model; {
	case result.Model == "":
		return chosen.ID, ""
	case result.ModelID != "" && result.ModelID != chosen.ID:
		return result.ModelID, previousModel(s.offers, Message{ModelID: result.ModelID}).Name
	default:
		return chosen.ID, chosen.Name
	}
}

func unknownFailure() *Failure {
	return &Failure{
		Code: string(fault.Internal), Detail: "回答の作成中に問題が発生しました。もう一度お試しください。", Retryable: true,
	}
}

// finish notifies the subscribers, and the owner's other tabs, of the end of a stored answer. The end is already
// committed, so the lease need not be checked again.
func (s *Service) finish(g *generation, o Outcome) {
	answer := g.answer
	answer.Status, answer.FinishReason, answer.Failure = o.Status, o.FinishReason, o.Failure
	answer.InputTokens, answer.OutputTokens = g.endResult.Message.InputTokens, g.endResult.Message.OutputTokens
	answer.ModelID, answer.ModelName = o.ModelID, o.ModelName
	putCitations(g.text, o.Citations)
	putProofread(g.text, o.Proofread)
	g.text.Finish(streamEnd(answer))
	s.publishEnd(g.req.Owner, g.endResult)
}
