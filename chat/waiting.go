package chat

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// In a shared thread, one answer is generated at a time. Questions that are asked meanwhile wait in the store. When an
// answer is complete, its server begins the answer to the first of them; if that server has failed, the sweep of any
// server does. BeginGeneration removes the waiting question in the transaction that stores the generation, so that
// exactly one server begins it.

// waitingBatch is the maximum number of waiting questions that one sweep begins.
const waitingBatch = 20

// wait adds a question to the queue of its thread. The error is errThreadFree if the thread has no running answer.
func (s *Service) wait(ctx context.Context, b NewGeneration, q Question) (Exchange, error) {
	id := b.Question.ID
	if b.Regenerate {
		id = b.Answer.ID // The question is stored already, and has its own id.
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	message, err := s.store.AddWaiting(ctx, WaitingQuestion{
		ID: id, Owner: b.Owner, ThreadID: q.ThreadID, RequestID: b.RequestID, RequestHash: b.RequestHash,
		Content: b.Question.Content, Question: q,
	})
	switch {
	case err != nil:
		return Exchange{}, err
	case message == nil:
		return Exchange{}, errThreadFree
	}
	s.events.MessageChanged(Readers{Owner: b.Owner, ProjectID: message.SharedIn}, *message)
	return Exchange{Question: *message}, nil
}

// CancelWaiting cancels a question of the owner that waits in a shared thread.
func (s *Service) CancelWaiting(ctx context.Context, owner identity.Owner, id uuid.UUID) error {
	thread, err := s.store.RemoveWaiting(ctx, owner, id)
	if err != nil {
		return err
	}
	s.publishRemoved(ctx, owner, thread.readers(owner.OrganizationID), thread.ID, id)
	return nil
}

// ListWaiting returns the questions that wait in a thread, in their order.
func (s *Service) ListWaiting(ctx context.Context, owner identity.Owner, threadID uuid.UUID) ([]Message, error) {
	return s.store.ListWaiting(ctx, owner, threadID)
}

// publishRemoved sends the event of a removed question, and the new places of those behind it.
func (s *Service) publishRemoved(ctx context.Context, owner identity.Owner, readers Readers, threadID, id uuid.UUID) {
	s.events.MessageDeleted(readers, threadID, id)
	s.publishPlaces(ctx, owner, threadID)
}

// publishPlaces sends the places of the questions that wait in a thread. A failed read is only logged, because clients
// see the places when they next load the thread.
func (s *Service) publishPlaces(ctx context.Context, owner identity.Owner, threadID uuid.UUID) {
	waiting, err := s.store.ListWaiting(ctx, owner, threadID)
	if err != nil {
		s.log.InfoContext(ctx, "chat: places of waiting questions not read", "thread_id", threadID, "err", err)
	}
	for _, m := range waiting {
		s.events.MessageChanged(Readers{Owner: owner, ProjectID: m.SharedIn}, m)
	}
}

// beginWaiting begins the answers to the first waiting questions of free threads: of one thread, or of any if threadID
// is nil.
func (s *Service) beginWaiting(threadID *uuid.UUID) {
	s.mu.Lock()
	stopping := s.stopping
	s.mu.Unlock()
	_, _, free := s.slots.stats()
	if stopping || free == 0 {
		return // Another server begins them, or a later sweep.
	}
	ctx, cancel := context.WithTimeout(s.root, commitTimeout)
	defer cancel()
	waiting, err := s.store.NextWaiting(ctx, threadID, min(free, waitingBatch))
	if err != nil {
		if s.root.Err() == nil {
			s.log.ErrorContext(ctx, "chat: looking for waiting questions failed", "err", err)
		}
		return
	}
	for _, w := range waiting {
		if err := s.beginNext(ctx, w); err != nil && s.root.Err() == nil {
			s.log.WarnContext(ctx, "chat: waiting question not begun, retrying", "thread_id", w.ThreadID, "message_id", w.ID,
				"err", err)
		}
	}
}

// beginNext begins the answer to a waiting question, with the rights that its author has now. It drops a question that
// its author may no longer ask, or whose request id its author has used in another thread meanwhile. A question that is
// refused for another reason gets a failed answer with that reason.
func (s *Service) beginNext(ctx context.Context, w WaitingQuestion) error {
	q := w.Question
	q.RequestID, q.ThreadID, q.ParentID = w.RequestID, w.ThreadID, nil // It follows the answers given meanwhile.
	b := NewGeneration{
		Owner: w.Owner, RequestID: w.RequestID, RequestHash: w.RequestHash, ServerID: s.serverID,
		Regenerate: q.Regenerate != nil, WaitingID: &w.ID,
	}
	state, err := s.store.LoadThreadState(ctx, w.Owner, w.ThreadID, nil, w.RequestID, w.RequestHash, s.cfg.history(nil))
	switch {
	case fault.CodeOf(err) == fault.NotFound, fault.CodeOf(err) == fault.RequestConflict,
		err == nil && state.Project != nil && state.Project.Archived:
		return s.dropWaiting(ctx, w)
	case err != nil:
		return err
	case state.Existing != nil, state.Running:
		return nil // Another server was faster.
	}
	req, err := s.compose(ctx, &b, q, state)
	if err == nil {
		if !b.Regenerate {
			b.Question.ID = w.ID
			b.Answer.ParentID, req.Question.ID = &b.Question.ID, w.ID
		}
		err = s.beginStored(ctx, b, req)
	}
	if err == nil && b.Regenerate { // Otherwise the message of the question replaces the waiting one.
		s.events.MessageDeleted(Readers{Owner: w.Owner, ProjectID: &state.Project.ID}, w.ThreadID, w.ID)
	}
	switch fault.CodeOf(err) {
	case "":
		return nil
	case fault.Unavailable, fault.Internal, fault.Canceled, fault.ThreadBusy:
		return err
	case fault.RequestConflict:
		return s.dropWaiting(ctx, w)
	}
	return s.refuseWaiting(ctx, w, state, err)
}

// beginStored stores a generation and then starts it, unlike begin: no client waits for the first character.
func (s *Service) beginStored(ctx context.Context, b NewGeneration, req *AnswerRequest) error {
	slot := s.slots.acquireUnlimited(b.Owner) // The question was accepted before.
	if slot.isGranted() {
		b.Answer.Status = StatusRunning
	}
	began := time.Now()
	stored, err := s.store.BeginGeneration(ctx, b)
	if err != nil || stored.Existing {
		s.slots.release(slot)
		return err
	}
	g := &generation{req: req, answer: b.Answer, since: began, slot: slot}
	if err := s.launch(s.root, g); err != nil {
		return nil //nolint:nilerr // This server stops; the next one takes the stored generation over.
	}
	if stored.Untitled {
		s.beginTitle(g)
	}
	s.publishBegin(g, stored)
	s.confirmOwnership(g, began)
	s.publishPlaces(ctx, b.Owner, b.Answer.ThreadID)
	return nil
}

// dropWaiting removes a question without an answer.
func (s *Service) dropWaiting(ctx context.Context, w WaitingQuestion) error {
	readers, err := s.store.DropWaiting(ctx, w.Owner.OrganizationID, w.ID)
	if errors.Is(err, ErrNoMessage) {
		return nil // Another server was faster.
	}
	if err == nil {
		s.log.InfoContext(ctx, "chat: waiting question dropped", "thread_id", w.ThreadID, "message_id", w.ID)
		s.publishRemoved(ctx, readers.Owner, readers, w.ThreadID, w.ID)
		s.beginWaiting(&w.ThreadID)
	}
	return err
}

// refuseWaiting stores a waiting question with a failed answer that has the reason.
func (s *Service) refuseWaiting(ctx context.Context, w WaitingQuestion, state ThreadState, reason error) error {
	b := NewGeneration{
		Owner: w.Owner, RequestID: w.RequestID, RequestHash: w.RequestHash, ServerID: s.serverID, WaitingID: &w.ID,
		Title: questionTitle(w.Content),
	}
	b.Question = newMessage(w.ThreadID, RoleUser, StatusSuccess)
	b.Answer = newMessage(w.ThreadID, RoleAssistant, StatusPending)
	b.Question.ID, b.Question.Content, b.Question.ParentID = w.ID, w.Content, state.Leaf
	b.Answer.ParentID, b.Answer.Run = &b.Question.ID, max(s.cfg.Epoch(), 1)
	stored, err := s.store.BeginGeneration(ctx, b)
	if err != nil || stored.Existing {
		return err
	}
	readers := stored.Thread.readers(w.Owner.OrganizationID)
	s.events.MessageChanged(readers, stored.Question)
	result, err := s.store.EndGeneration(ctx, Outcome{
		Owner: w.Owner, ThreadID: w.ThreadID, MessageID: b.Answer.ID, Run: b.Answer.Run, ServerID: s.serverID,
		Status: StatusFailed, FinishReason: FinishError,
		Failure: &Failure{Code: string(fault.CodeOf(reason)), Detail: fault.DetailOf(reason), Retryable: true},
	})
	if err != nil {
		return err // A sweep takes the generation over and answers it.
	}
	s.publishEnd(w.Owner, result)
	s.publishPlaces(ctx, readers.Owner, w.ThreadID)
	s.beginWaiting(&w.ThreadID)
	return nil
}
