package datasource

import (
	"container/list"
	"sync"
)

// cache keeps values up to a number of bytes and evicts the least recently used. The value of a key never changes.
// Access is checked in the database with every call, not here.
type cache[K comparable, V any] struct {
	limit int

	mu      sync.Mutex
	entries map[K]*list.Element // Guarded by mu, as what follows.
	used    *list.List          // Of *cached[K, V], the last used first.
	bytes   int
}

type cached[K comparable, V any] struct {
	key   K
	value V
	bytes int
}

// entryBytes is about what an entry takes beside its value.
const entryBytes = 200

func newCache[K comparable, V any](limit int) *cache[K, V] {
	return &cache[K, V]{limit: limit, entries: make(map[K]*list.Element), used: list.New()}
}

func (c *cache[K, V]) get(key K) (value V, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, found := c.entries[key]
	if !found {
		return value, false
	}
	c.used.MoveToFront(e)
	return e.Value.(*cached[K, V]).value, true
}

// put keeps a value that takes so many bytes.
func (c *cache[K, V]) put(key K, value V, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, found := c.entries[key]; found {
		return
	}
	c.bytes += bytes + entryBytes
	c.entries[key] = c.used.PushFront(&cached[K, V]{key, value, bytes + entryBytes})
	for c.bytes > c.limit {
		last := c.used.Back()
		e := c.used.Remove(last).(*cached[K, V])
		delete(c.entries, e.key)
		c.bytes -= e.bytes
	}
}
