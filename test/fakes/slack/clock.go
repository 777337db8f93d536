package slack

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// clock is the workspace's time: Config.Now plus the durations added by Advance.
type clock struct {
	base func() time.Time

	mu     sync.Mutex // Guards the fields below.
	offset time.Duration
	moved  chan struct{} // Closed and replaced when the clock is moved.
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base().Add(c.offset)
}

// wait returns after d by the clock, or with the error of ctx.
func (c *clock) wait(ctx context.Context, d time.Duration) error {
	until := c.now().Add(d)
	for {
		c.mu.Lock()
		left, moved := until.Sub(c.base().Add(c.offset)), c.moved
		c.mu.Unlock()
		if left <= 0 {
			return ctx.Err()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-moved:
		case <-time.After(left):
		}
	}
}

// Advance moves the workspace's clock forward.
func (w *Workspace) Advance(d time.Duration) {
	w.clock.mu.Lock()
	w.clock.offset += d
	close(w.clock.moved)
	w.clock.moved = make(chan struct{})
	w.clock.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.touch()
}

// touch notifies Await and the pages of a change. The caller holds w.mu.
func (w *Workspace) touch() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// Await returns when done reports true. It calls done after each change of the workspace, and returns the error of ctx
// if ctx ends first. done may call the methods of the workspace.
func (w *Workspace) Await(ctx context.Context, done func() bool) error {
	for {
		w.mu.Lock()
		changed := w.changed
		w.mu.Unlock()
		if done() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// id returns a new identifier in Slack's form: prefix and ten digits or letters. The caller holds w.mu.
func (w *Workspace) id(prefix string) string {
	w.ids++
	return fmt.Sprintf("%s0%09s", prefix, strings.ToUpper(strconv.FormatInt(w.ids, 36)))
}

// ts returns a new unique message timestamp, later than all earlier ones. The caller holds w.mu.
func (w *Workspace) ts() string {
	w.lastTS = max(w.clock.now().UnixMicro(), w.lastTS+1)
	return fmt.Sprintf("%d.%06d", w.lastTS/1e6, w.lastTS%1e6)
}
