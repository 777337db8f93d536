// Package lru keeps values in memory up to a number of bytes. It imports the standard library only.
package lru

import (
	"container/list"
	"sync"
)

// Cache keeps values up to a number of bytes and evicts the least recently used. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	limit int

	mu      sync.Mutex
	entries map[K]*list.Element // Guarded by mu, as what follows.
	used    *list.List          // Of *entry[K, V], the last used first.
	bytes   int
}

type entry[K comparable, V any] struct {
	key   K
	value V
	bytes int
}

// entryBytes is about what an entry takes beside its value.
const entryBytes = 200

// New returns a Cache for so many bytes.
func New[K comparable, V any](limit int) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, entries: make(map[K]*list.Element), used: list.New()}
}

// Limit returns how many bytes it keeps.
func (c *Cache[K, V]) Limit() int { return c.limit }

// Get returns the value of a key.
func (c *Cache[K, V]) Get(key K) (value V, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, found := c.entries[key]
	if !found {
		return value, false
	}
	c.used.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// Put keeps a value that takes so many bytes, in place of what its key had.
func (c *Cache[K, V]) Put(key K, value V, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, found := c.entries[key]; found {
		c.remove(e)
	}
	c.bytes += bytes + entryBytes
	c.entries[key] = c.used.PushFront(&entry[K, V]{key, value, bytes + entryBytes})
	for c.bytes > c.limit {
		c.remove(c.used.Back())
	}
}

// remove forgets an entry. The caller holds mu.
func (c *Cache[K, V]) remove(e *list.Element) {
	removed := c.used.Remove(e).(*entry[K, V])
	delete(c.entries, removed.key)
	c.bytes -= removed.bytes
}
