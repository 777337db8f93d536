package chat

import (
	"time"

	"github.com/google/uuid"
)

// TemporaryLifetime is how long a temporary thread lasts, counted from when it was begun: its owner is told so at its
// head.
const TemporaryLifetime = 24 * time.Hour

// expiryBatch is how many expired threads one transaction deletes at most.
const expiryBatch = 100

// Expired is a temporary thread that was deleted because its time is over.
type Expired struct {
	Owner    Owner
	ThreadID uuid.UUID
	Running  *uuid.UUID // The answer that was being written in it, nil for none.
}

// expireThreads deletes temporary threads whose time is over, until the Service stops. Every server does it, so that it
// needs none in particular.
func (s *Service) expireThreads() {
	again := time.NewTicker(s.cfg.Expiry)
	defer again.Stop()
	for {
		for s.expire() == expiryBatch {
		}
		select {
		case <-s.root.Done():
			return
		case <-again.C:
		}
	}
}

// expire deletes a batch of expired threads, ends what is being written in them, and returns how many there were.
func (s *Service) expire() int {
	expired, err := s.threads.DeleteExpired(s.root, expiryBatch)
	if err != nil && s.root.Err() == nil {
		s.log.WarnContext(s.root, "temporary threads are deleted later", "err", err)
	}
	for _, e := range expired {
		if e.Running != nil {
			s.stop(*e.Running)
		}
		s.events.ThreadDeleted(e.Owner, e.ThreadID)
	}
	return len(expired)
}
