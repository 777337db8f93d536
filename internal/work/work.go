// Package work runs the background work of a server: periodic tasks, and jobs that servers claim in the database.
//
// A claim is a lease. The server renews it while the job runs, and when the server is silent for longer, another one
// claims the job. A job ends by storing its result, or by storing when it is due again; Backoff is the usual delay.
// Pool runs many such jobs, and Lease.Hold a single one. The statements are literal SQL in package store, because each
// queue selects its next job by other rules.
//
// Package work imports timeout and the ids of jobs. It owns no table and no log message.
package work

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Group owns goroutines until it is stopped. It is safe for concurrent use.
type Group struct {
	root   context.Context // Canceled by Stop.
	cancel context.CancelFunc
	log    *slog.Logger
	all    sync.WaitGroup
}

// NewGroup returns a Group without goroutines. The caller must call Stop if it starts some.
func NewGroup(log *slog.Logger) *Group {
	root, cancel := context.WithCancel(context.Background())
	return &Group{root: root, cancel: cancel, log: log}
}

// Stop cancels the context of all goroutines and waits for them. Only these may still call Go.
func (g *Group) Stop() {
	g.cancel()
	g.all.Wait()
}

// Go calls run in a goroutine. Its context ends when the Group stops.
func (g *Group) Go(run func(ctx context.Context)) { g.all.Go(func() { run(g.root) }) }

// Every calls run in a goroutine as the function Every does. It logs the errors of run as warnings with the message
// failure and the attributes attrs.
func (g *Group) Every(
	interval time.Duration, wake Signal, run func(ctx context.Context) error, failure string, attrs ...any,
) {
	log := g.log.With(attrs...)
	g.Go(func(ctx context.Context) {
		Every(ctx, interval, wake, func() {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				log.WarnContext(ctx, failure, "err", err)
			}
		})
	})
}

// Every calls run at once, and again after each interval and each wakeup, until ctx ends. wake may be nil.
func Every(ctx context.Context, interval time.Duration, wake Signal, run func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		run()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-wake:
		}
	}
}

// Signal wakes the call of Every that receives from it. Several wakeups during one run cause one more run.
type Signal chan struct{}

// NewSignal returns a Signal.
func NewSignal() Signal { return make(Signal, 1) }

// Wake sends a wakeup. It does not block.
func (s Signal) Wake() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// Backoff returns the delay after consecutive failures: first after one, doubled by each further one, at most longest.
func Backoff(failures int, first, longest time.Duration) time.Duration {
	return min(first<<min(max(failures-1, 0), 10), longest)
}

// Sleep waits for d or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
