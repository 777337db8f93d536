package storetest_test

import (
	"strings"
	"sync"
)

// syncBuffer collects a child's output while the test reads it.
type syncBuffer struct {
	mu  sync.Mutex // Guards buf.
	buf strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
