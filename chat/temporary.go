package chat

import (
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// TemporaryLifetime is the lifetime of a temporary thread from its creation. The thread's page shows it to the owner.
const TemporaryLifetime = 24 * time.Hour

// expiryBatch is the maximum number of expired threads deleted in one transaction.
const expiryBatch = 100

// DeletedThread is a thread that was deleted after its time limit.
type DeletedThread struct {
	identity.Owner
	ThreadID uuid.UUID
	Running  *uuid.UUID // The answer that was being generated in it, or nil.
}

// expireThreads deletes expired temporary threads and threads that are due by their organization's retention setting,
// until the Service stops. Every server does it, so that no leader is needed.
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

// expire deletes a batch of expired threads, ends their running generations, and returns the number of threads.
func (s *Service) expire() int {
	expired, err := s.store.DeleteExpired(s.root, expiryBatch)
	if err != nil && s.root.Err() == nil {
		s.log.WarnContext(s.root, "chat: deleting temporary threads failed, retrying later", "err", err)
	}
	for _, e := range expired {
		if e.Running != nil {
			s.stop(*e.Running)
		}
		s.events.ThreadDeleted(e.Owner, e.ThreadID)
	}
	return len(expired)
}
