package chat

import (
	"time"

	"github.com/google/uuid"
)

// TemporaryLifetime is how long a temporary thread lasts from its creation. The thread's page shows it to the owner.
const TemporaryLifetime = 24 * time.Hour

// expiryBatch is how many expired threads one transaction deletes at most.
const expiryBatch = 100

// Expired is a thread that was deleted because its time is over.
type Expired struct {
	Owner    Owner
	ThreadID uuid.UUID
	Running  *uuid.UUID // The answer that was being generated in it, nil for none.
}

// expireThreads deletes temporary threads and those that are not touched any more, once their time is over, until the
// Service stops. Every server does it, so that no leader is needed.
func (s *Service) expireThreads() {
	again := time.NewTicker(s.cfg.Expiry)
	defer again.Stop()
	for {
		for s.expire() == expiryBatch {
		}
		s.retain()
		select {
		case <-s.root.Done():
			return
		case <-again.C:
		}
	}
}

// expire deletes a batch of expired threads, ends their running generations, and returns how many threads there were.
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
