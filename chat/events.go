package chat

import (
	"context"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// Readers are the people who receive an event: the owner of a private thread, or all members of a project.
type Readers struct {
	identity.Owner
	ProjectID *uuid.UUID // Set for a shared thread.
}

// Events is notified of changes to threads and messages after they are committed, each time with the whole record, so
// that every tab and device of the readers shows the same state. Its methods are called from many goroutines and must
// not block.
//
// Every event reports a committed change, and is normally sent once. If two servers send events about one thread, they
// may arrive out of order: the record with the later UpdatedAt or TouchedAt is the newer one.
type Events interface {
	// ThreadChanged is called when a thread was created, renamed, touched or given a title, and when its answer has
	// begun or ended (see Running). It is not called for temporary threads, which are not listed.
	ThreadChanged(readers Readers, thread Thread)

	// ThreadDeleted is called when a thread was deleted with all its messages, or when the readers lost access to it.
	ThreadDeleted(readers Readers, threadID uuid.UUID)

	// MessageChanged is called for a new question, for an answer that has begun (clients can attach to it) or ended
	// (see Status, FinishReason and Failure), and for a rated answer. In a shared thread it is also called for a question
	// that waits (see Waiting) and for each later change of its place.
	MessageChanged(readers Readers, message Message)

	// ToolCallChanged is called for the person who decides about a call, when the call waits for a decision, and when that
	// was made, has expired or is not needed any more.
	ToolCallChanged(owner identity.Owner, approval ToolApproval)

	// MessageDeleted is called when a waiting question was canceled.
	MessageDeleted(readers Readers, threadID, messageID uuid.UUID)
}

// noEvents discards all events.
type noEvents struct{}

func (noEvents) ThreadChanged(Readers, Thread)                {}
func (noEvents) ThreadDeleted(Readers, uuid.UUID)             {}
func (noEvents) MessageChanged(Readers, Message)              {}
func (noEvents) ToolCallChanged(identity.Owner, ToolApproval) {}
func (noEvents) MessageDeleted(Readers, uuid.UUID, uuid.UUID) {}

// publishBegin sends the events of a stored question, and then allows those of its end.
func (s *Service) publishBegin(g *generation, stored StoredGeneration) {
	readers := stored.Thread.readers(g.req.Owner.OrganizationID)
	s.publishThread(g.req.Owner, stored.Thread)
	s.events.MessageChanged(readers, stored.Question)
	s.events.MessageChanged(readers, stored.Answer)
	close(g.announced)
}

// publishStart sends the event of an answer that has waited for a slot.
func (s *Service) publishStart(ctx context.Context, g *generation) {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	if message, err := s.store.FindMessage(ctx, g.req.Owner, g.answer.ID); err == nil {
		s.events.MessageChanged(Readers{Owner: g.req.Owner, ProjectID: message.SharedIn}, message)
	}
}

// publishEnd sends the events of an ended answer, if its end was stored.
func (s *Service) publishEnd(owner identity.Owner, result EndResult) {
	if result.Message.ID == uuid.Nil {
		return
	}
	s.events.MessageChanged(result.Thread.readers(owner.OrganizationID), result.Message)
	s.publishThread(owner, result.Thread)
}

// publishThread sends the event of a changed thread, unless it is temporary.
func (s *Service) publishThread(owner identity.Owner, thread Thread) {
	if thread.ExpiresAt == nil {
		s.events.ThreadChanged(thread.readers(owner.OrganizationID), thread)
	}
}

// publishMessage sends the event of a changed message to one person. A failed read is only logged, because clients see
// the change when they next load the thread.
func (s *Service) publishMessage(ctx context.Context, owner identity.Owner, id uuid.UUID) {
	if s.events == (noEvents{}) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	if message, err := s.store.FindMessage(ctx, owner, id); err == nil {
		s.events.MessageChanged(Readers{Owner: owner}, message)
	}
}
