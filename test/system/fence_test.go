package system_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestR20_PausedServerIsFenced suspends a server for longer than its lease. Its answers are taken over, and when it
// resumes it does not know that: it must neither publish nor store another character of them.
func TestR20_PausedServerIsFenced(t *testing.T) {
	t.Parallel()
	model := newHeldModel(t)
	r := newRig(t, 3, shortLease, model.setting)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	all := r.askMany(t, r.at(0)(), 20, answer{chars: 1600, rate: 40})

	var resumed atomic.Bool
	var stale, loyal followers
	var connected, begun, taken sync.WaitGroup
	for _, a := range all {
		// One uses the suspended server only, the other one any server.
		there, elsewhere := r.watcher(a, r.at(0)), r.watcher(a, r.at(1))
		connected.Add(2)
		begun.Add(2)
		for _, f := range []*follower{there, elsewhere} {
			f.onBegin = begunOnce(&connected)
			started := sync.OnceFunc(begun.Done)
			late := 0
			f.onEvent = func(e event) {
				if e.Type == "text-delta" {
					started()
					if f == there && resumed.Load() && !f.restarted() {
						// A server may be suspended after it has checked its lease and before it writes.
						if late++; late > 1 {
							t.Errorf("message %s: the old run says %q", f.messageID, e.Delta)
						}
					}
				}
			}
		}
		taken.Add(1)
		next, onEvent := sync.OnceFunc(taken.Done), elsewhere.onEvent
		elsewhere.onEvent = func(e event) {
			onEvent(e)
			if e.Type == "text-delta" && elsewhere.restarted() {
				next()
			}
		}
		stale.run(ctx, t, there, a.want)
		loyal.run(ctx, t, elsewhere, a.want)
	}
	join(ctx, t, &connected)
	model.begin()
	join(ctx, t, &begun)
	r.Server(0).Pause()
	join(ctx, t, &taken)
	pause(ctx, 3*time.Second) // Everything that it sent before the suspension has arrived and is read.
	resumed.Store(true)
	r.Server(0).Resume()
	model.end() // Not before: there must be something to take over, however slow the servers are.
	join(ctx, t, &stale.wait)
	join(ctx, t, &loyal.wait)
	for _, f := range append(stale.all, loyal.all...) {
		if !f.restarted() || f.resets == 0 {
			t.Errorf("message %s: run %d after %d resets", f.messageID, f.run, f.resets)
		}
	}
	r.stored(t, r.at(0)(), all)
}
