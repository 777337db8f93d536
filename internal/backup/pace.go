package backup

import (
	"context"
	"io"
	"sync"
	"time"
)

// A pause takes pauseFactor times as long as the work since the last one, and at most maxPause.
const (
	pauseFactor = 2
	maxPause    = time.Second
)

// pace is a writer that discards its input and pauses after each write.
type pace struct {
	ctx context.Context

	mu      sync.Mutex // Guards resumed.
	resumed time.Time
}

// NewPace returns a writer for Options.Pace that makes a backup pause for two thirds of the time, in many short pauses, so
// that a call to a server is delayed by a few milliseconds at most. Canceling ctx ends a pause.
func NewPace(ctx context.Context) io.Writer { return &pace{ctx: ctx, resumed: time.Now()} }

func (p *pace) Write(piece []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-time.After(min(pauseFactor*time.Since(p.resumed), maxPause)):
	case <-p.ctx.Done():
	}
	p.resumed = time.Now()
	return len(piece), p.ctx.Err()
}
