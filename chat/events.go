package chat

import (
	"context"

	"github.com/google/uuid"
)

// Events is told what has become of threads and messages once it is committed, each time with the whole record as it is
// then, so that every tab and device of its owner can show the same. Its methods are called from many goroutines and
// never block.
//
// Nothing is told twice on purpose and nothing that did not happen. Two events about one thread may overtake each other
// where two servers tell them: the record with the later UpdatedAt or TouchedAt is the newer one.
type Events interface {
	// ThreadChanged is told of a thread that was created, renamed, given a title or touched, and of one whose answer
	// was begun or has ended: Running says so. It is not told of temporary threads, which are in no list.
	ThreadChanged(owner Owner, thread Thread)

	// ThreadDeleted is told of a thread that is gone with all its messages.
	ThreadDeleted(owner Owner, threadID uuid.UUID)

	// MessageChanged is told of a new question, of an answer that was begun (it can be attached to), and of one that
	// has ended, with how: Status, FinishReason, Failure; and of one that was rated.
	MessageChanged(owner Owner, message Message)
}

// noEvents tells nobody.
type noEvents struct{}

func (noEvents) ThreadChanged(Owner, Thread)    {}
func (noEvents) ThreadDeleted(Owner, uuid.UUID) {}
func (noEvents) MessageChanged(Owner, Message)  {}

// tellBegun tells of a question that was stored, and then lets its end be told.
func (s *Service) tellBegun(g *generation, b Begun) {
	s.tellThread(g.owner, b.Thread)
	s.events.MessageChanged(g.owner, b.Question)
	s.events.MessageChanged(g.owner, b.Answer)
	close(g.told)
}

// tellEnded tells how an answer ended, if that was stored.
func (s *Service) tellEnded(owner Owner, ended Ended) {
	if ended.Message.ID == uuid.Nil {
		return
	}
	s.events.MessageChanged(owner, ended.Message)
	s.tellThread(owner, ended.Thread)
}

// tellThread tells of a thread as it is now, if it is in a list.
func (s *Service) tellThread(owner Owner, thread Thread) {
	if thread.ExpiresAt == nil {
		s.events.ThreadChanged(owner, thread)
	}
}

// tellMessage tells of a message that was changed. What cannot be read, the tabs find out when they look next.
func (s *Service) tellMessage(ctx context.Context, owner Owner, id uuid.UUID) {
	if s.events == (noEvents{}) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	if message, err := s.threads.FindMessage(ctx, owner, id); err == nil {
		s.events.MessageChanged(owner, message)
	}
}
