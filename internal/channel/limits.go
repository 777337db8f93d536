package channel

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

// limits are the times before which a surface takes no call of a kind for an installation. Others are not concerned.
type limits struct {
	mu    sync.Mutex
	until map[limited]time.Time // Guarded by mu.
}

type limited struct {
	installationID uuid.UUID
	call           call
}

func newLimits() limits { return limits{until: make(map[limited]time.Time)} }

// set has calls wait. Times that are over are forgotten.
func (l *limits) set(key limited, after time.Duration) {
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

// wait returns how long a call has to wait.
func (l *limits) wait(key limited) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Until(l.until[key])
}
