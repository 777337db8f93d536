package chat

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// NewThread is the argument of CreateThread.
type NewThread struct {
	ID        uuid.UUID
	SkillID   uuid.UUID
	Title     string
	RequestID *uuid.UUID    // Chosen by the client; nil for none.
	Lifetime  time.Duration // Time until it is deleted; 0 for a permanent thread.
	ProjectID *uuid.UUID    // Nil for none. Without a SkillID, the thread gets the project's default skill.
	Shared    bool          // With the project.

	Instructions string // For all its answers, in addition to those of the skill. At most maxInstructions characters.
}

// StartThread begins a thread with its first question. The request's id identifies both, so that a repeated request
// finds them. If the question is refused, the thread is removed.
func (s *Service) StartThread(ctx context.Context, owner identity.Owner, n NewThread, q Question) (Exchange, error) {
	if err := q.validate(); err != nil {
		return Exchange{}, err
	}
	wait, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	// One at a time per request, because a copy must not find a thread that is about to be removed.
	unlock, err := s.lockSend(wait, sendKey{owner.UserID, q.RequestID})
	if err != nil {
		return Exchange{}, err
	}
	defer unlock()
	n.ID, n.RequestID, n.Instructions = uuidv7.New(), &q.RequestID, q.Instructions
	thread, err := s.store.CreateThread(ctx, owner, n)
	if err != nil {
		return Exchange{}, err
	}
	q.ThreadID = thread.ID
	if len(q.Earlier) > 0 { // Also of a known thread: an earlier request may have failed before they were stored.
		err = s.store.AddEarlierMessages(ctx, owner, thread.ID, q.Earlier)
	}
	var exchange Exchange
	if err == nil {
		exchange, err = s.Send(ctx, owner, q)
	}
	if err != nil && thread.ID == n.ID { // Otherwise it existed before.
		s.discardThread(ctx, owner, thread)
	}
	return exchange, err
}

// discardThread deletes a thread whose first question was refused. No event was sent for it.
func (s *Service) discardThread(ctx context.Context, owner identity.Owner, thread Thread) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	deleted, err := s.store.DeleteThread(ctx, owner, thread.ID)
	if err != nil {
		s.log.WarnContext(ctx, "chat: empty thread not deleted", "thread_id", thread.ID, "err", err)
	}
	if deleted.Running != nil { // Storing the question was reported as failed, but succeeded.
		s.stop(*deleted.Running)
	}
}
