// Package lru is a cache of limited size in memory. It imports the standard library only.
package lru

import (
	"container/list"
	"sync"
)

// Cache holds values up to a total size in bytes and evicts the least recently used ones. It is safe for concurrent
// use.
type Cache[K comparable, V any] struct {
	limit int

	mu      sync.Mutex
	entries map[K]*list.Element // Guarded by mu, as are the following fields.
	used    *list.List          // Elements are *entry[K, V], most recently used first.
	bytes   int
}

type entry[K comparable, V any] struct {
	key   K
	value V
	bytes int
}

// entryBytes is the approximate memory of an entry without its value.
const entryBytes = 200

// New returns a Cache that holds up to limit bytes.
func New[K comparable, V any](limit int) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, entries: make(map[K]*list.Element), used: list.New()}
}

// Limit returns the maximum size in bytes.
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

// Put stores a value of the given size in bytes. It replaces the key's previous value.
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

// remove removes an entry. The caller holds mu.
func (c *Cache[K, V]) remove(e *list.Element) {
	removed := c.used.Remove(e).(*entry[K, V])
	delete(c.entries, removed.key)
	c.bytes -= removed.bytes
}
