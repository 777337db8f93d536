package channel

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

// limits holds the rate limits of each installation and kind of call.
type limits struct {
	mu    sync.Mutex
	until map[limitKey]time.Time // Guarded by mu.
}

type limitKey struct {
	installationID uuid.UUID
	call           call
}

func newLimits() limits { return limits{until: make(map[limitKey]time.Time)} }

// set delays calls for key until after has elapsed, and drops expired entries.
func (l *limits) set(key limitKey, after time.Duration) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, until := range l.until {
		if until.Before(now) {
			delete(l.until, k)
		}
	}
	if until := now.Add(after); until.After(l.until[key]) {
		l.until[key] = until
	}
}

// wait returns the time until a call for key is allowed.
func (l *limits) wait(key limitKey) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Until(l.until[key])
}
