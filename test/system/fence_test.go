package system_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestR20_PausedServerIsFenced holds a server up for longer than its lease. Its answers go on elsewhere, and when it
// goes on itself it does not know: it must not say one more character of what it was writing, nor store it.
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
		// One knows the server that is held up only, one may go anywhere.
		there, elsewhere := r.watcher(a, r.at(0)), r.watcher(a, r.at(1))
		connected.Add(2)
		begun.Add(2)
		for _, f := range []*follower{there, elsewhere} {
			f.onBegin = begunOnce(&connected)
			started := sync.OnceFunc(begun.Done)
			f.onEvent = func(e event) {
				if e.Type == "text-delta" {
					started()
					if f == there && resumed.Load() && !f.anew() {
						t.Errorf("message %s: the old run says %q", f.messageID, e.Delta)
					}
				}
			}
		}
		taken.Add(1)
		next, onEvent := sync.OnceFunc(taken.Done), elsewhere.onEvent
		elsewhere.onEvent = func(e event) {
			onEvent(e)
			if e.Type == "text-delta" && elsewhere.anew() {
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
	pause(ctx, 3*time.Second) // What it sent before it was held up has arrived, and is read.
	resumed.Store(true)
	r.Server(0).Resume()
	model.end() // Not before: there is something to take over, however late the servers are.
	join(ctx, t, &stale.wait)
	join(ctx, t, &loyal.wait)
	for _, f := range append(stale.all, loyal.all...) {
		if !f.anew() || f.resets == 0 {
			t.Errorf("message %s: run %d after %d resets", f.messageID, f.run, f.resets)
		}
	}
	r.stored(t, r.at(0)(), all)
}
