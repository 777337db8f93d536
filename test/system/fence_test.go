package system_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestR20_PausedServerIsFenced suspends a server for longer than its lease, so that other servers take over its
// answers. After it resumes, it may publish at most the delta that it was writing, and must not store anything.
func TestR20_PausedServerIsFenced(t *testing.T) {
	t.Parallel()
	model := newHeldModel(t)
	r := newRig(t, 3, shortLease, model.setting)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	all := r.askMany(t, r.at(0)(), 20, answer{chars: 1600, rate: 40})

	var resumed atomic.Bool
	var stale, loyal followers
	var connected, begun, taken sync.WaitGroup
	for _, a := range all {
		// The first follower reads from the suspended server only, the second one from another server.
		paused, running := r.watcher(a, r.at(0)), r.watcher(a, r.at(1))
		connected.Add(2)
		begun.Add(2)
		for _, f := range []*follower{paused, running} {
			f.onBegin = firstResponse(&connected)
			started := sync.OnceFunc(begun.Done)
			late := 0
			f.onEvent = func(e event) {
				if e.Type == "text-delta" {
					started()
					if f == paused && resumed.Load() && !f.restarted() {
						// A server may be suspended between the check of its lease and the write.
						if late++; late > 1 {
							t.Errorf("message %s: the old run published %q", f.messageID, e.Delta)
						}
					}
				}
			}
		}
		taken.Add(1)
		next, onEvent := sync.OnceFunc(taken.Done), running.onEvent
		running.onEvent = func(e event) {
			onEvent(e)
			if e.Type == "text-delta" && running.restarted() {
				next()
			}
		}
		stale.run(ctx, t, paused, a.want)
		loyal.run(ctx, t, running, a.want)
	}
	join(ctx, t, &connected)
	model.begin()
	join(ctx, t, &begun)
	r.Server(0).Pause()
	join(ctx, t, &taken)
	pause(ctx, 3*time.Second) // The followers have read everything that the server sent before the suspension.
	resumed.Store(true)
	r.Server(0).Resume()
	model.end() // An earlier end might leave no answer to take over if the servers are slow.
	join(ctx, t, &stale.wait)
	join(ctx, t, &loyal.wait)
	for _, f := range append(stale.all, loyal.all...) {
		if !f.restarted() || f.resets == 0 {
			t.Errorf("message %s: run %d after %d resets", f.messageID, f.run, f.resets)
		}
	}
	r.stored(t, r.at(0)(), all)
}
