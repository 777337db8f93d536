package chat

import (
	"context"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// Events is notified of changes to threads and messages after they are committed, each time with the whole record, so
// that every tab and device of the owner shows the same state. Its methods are called from many goroutines and must not
// block.
//
// Every event reports a committed change, and is normally sent once. If two servers send events about one thread, they
// may arrive out of order: the record with the later UpdatedAt or TouchedAt is the newer one.
type Events interface {
	// ThreadChanged is called when a thread was created, renamed, touched or given a title, and when its answer has
	// begun or ended (see Running). It is not called for temporary threads, which are not listed.
	ThreadChanged(owner identity.Owner, thread Thread)

	// ThreadDeleted is called when a thread was deleted with all its messages.
	ThreadDeleted(owner identity.Owner, threadID uuid.UUID)

	// MessageChanged is called for a new question, for an answer that has begun (clients can attach to it) or ended
	// (see Status, FinishReason and Failure), and for a rated answer.
	MessageChanged(owner identity.Owner, message Message)
}

// noEvents discards all events.
type noEvents struct{}

func (noEvents) ThreadChanged(identity.Owner, Thread)    {}
func (noEvents) ThreadDeleted(identity.Owner, uuid.UUID) {}
func (noEvents) MessageChanged(identity.Owner, Message)  {}

// publishBegin sends the events of a stored question, and then allows those of its end.
func (s *Service) publishBegin(g *generation, stored StoredGeneration) {
	s.publishThread(g.req.Owner, stored.Thread)
	s.events.MessageChanged(g.req.Owner, stored.Question)
	s.events.MessageChanged(g.req.Owner, stored.Answer)
	close(g.announced)
}

// publishEnd sends the events of an ended answer, if its end was stored.
func (s *Service) publishEnd(owner identity.Owner, result EndResult) {
	if result.Message.ID == uuid.Nil {
		return
	}
	s.events.MessageChanged(owner, result.Message)
	s.publishThread(owner, result.Thread)
}

// publishThread sends the event of a changed thread, unless it is temporary.
func (s *Service) publishThread(owner identity.Owner, thread Thread) {
	if thread.ExpiresAt == nil {
		s.events.ThreadChanged(owner, thread)
	}
}

// publishMessage sends the event of a changed message. A failed read is only logged, because clients see the change
// when they next load the thread.
func (s *Service) publishMessage(ctx context.Context, owner identity.Owner, id uuid.UUID) {
	if s.events == (noEvents{}) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	if message, err := s.store.FindMessage(ctx, owner, id); err == nil {
		s.events.MessageChanged(owner, message)
	}
}
