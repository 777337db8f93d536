package slack

import (
	"sync"
	"time"
)

// maxCached is the maximum number of keys of a cache.
const maxCached = 10_000

// cache stores values from Slack for a limited time and a limited number of keys.
type cache[T any] struct {
	life time.Duration

	mu   sync.Mutex // Guards kept.
	kept map[string]entry[T]
}

type entry[T any] struct {
	value T
	until time.Time
}

func newCache[T any](life time.Duration) *cache[T] {
	return &cache[T]{life: life, kept: make(map[string]entry[T])}
}

func (c *cache[T]) get(key string) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.kept[key]
	return e.value, ok && time.Now().Before(e.until)
}

// set stores a value. If the cache is full, it removes all expired values, and then arbitrary values.
func (c *cache[T]) set(key string, value T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if len(c.kept) >= maxCached {
		for k, e := range c.kept {
			if now.After(e.until) {
				delete(c.kept, k)
			}
		}
		for k := range c.kept {
			if len(c.kept) < maxCached {
				break
			}
			delete(c.kept, k)
		}
	}
	c.kept[key] = entry[T]{value, now.Add(c.life)}
}
