package chat

import (
	"time"

	"github.com/google/uuid"
)

// FreshLife is freshLife.
const FreshLife = freshLife

// Fresh remembers new threads of one person.
type Fresh struct{ fresh fresh }

// Put is fresh.put.
func (f *Fresh) Put(threadID uuid.UUID, looked Looked, now time.Time) {
	f.fresh.put(turn{threadID: threadID}, looked, now)
}

// Take is fresh.take.
func (f *Fresh) Take(threadID uuid.UUID, now time.Time) (Looked, bool) {
	return f.fresh.take(turn{threadID: threadID}, now)
}

// Held returns how many threads are remembered, of how many it is known when they were put in, and the bytes counted.
func (f *Fresh) Held() (threads, ordered, bytes int) {
	return len(f.fresh.threads), len(f.fresh.order), f.fresh.bytes
}
