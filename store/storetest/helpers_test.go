package storetest_test

import (
	"strings"
	"sync"
	"testing"
	"time"
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

// eventually tries f every few milliseconds until it succeeds.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(3 * time.Minute)
	for !f() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not within 3 minutes", what)
		}
	}
}
