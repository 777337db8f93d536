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

// pace is a writer that pauses and discards its input.
type pace struct {
	ctx context.Context

	mu      sync.Mutex // Guards resumed.
	resumed time.Time
}

// NewPace returns a pace for Options, with which a backup works a third of the time. Its pauses are short, because
// calls to the servers should wait for a few milliseconds of its work at most. They end with ctx.
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
