package datasource

import (
	"container/list"
	"sync"

	"github.com/google/uuid"
)

// indexCache keeps what was read of indexes, the heads opened, up to a number of bytes; what was used least recently
// goes first. What is kept never changes, since a key names the revision of its data source; who may see it is the
// database's to say, with every search.
type indexCache struct {
	limit int

	mu      sync.Mutex
	entries map[indexKey]*list.Element // Guarded by mu, as what follows.
	used    *list.List                 // Of *indexEntry, the last used first.
	bytes   int
}

// indexKey names a part of an index, or its head.
type indexKey struct {
	source   uuid.UUID
	revision int
	part     int // headPart for the head.
}

const headPart = -1

type indexEntry struct {
	key   indexKey
	value any
	bytes int
}

// entryBytes is about what an entry takes beside its value.
const entryBytes = 200

func newIndexCache(limit int) *indexCache {
	return &indexCache{limit: limit, entries: make(map[indexKey]*list.Element), used: list.New()}
}

func (c *indexCache) get(key indexKey) (value any, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, found := c.entries[key]
	if !found {
		return nil, false
	}
	c.used.MoveToFront(e)
	return e.Value.(*indexEntry).value, true
}

// put keeps a value that takes so many bytes.
func (c *indexCache) put(key indexKey, value any, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, found := c.entries[key]; found {
		return
	}
	c.bytes += bytes + entryBytes
	c.entries[key] = c.used.PushFront(&indexEntry{key, value, bytes + entryBytes})
	for c.bytes > c.limit {
		last := c.used.Back()
		e := c.used.Remove(last).(*indexEntry)
		delete(c.entries, e.key)
		c.bytes -= e.bytes
	}
}
