package system_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/test/must"
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

// TestR20_ShortStallsCauseNoTakeover stalls the database or a server for less than a lease of the running server.
func TestR20_ShortStallsCauseNoTakeover(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]stall{
		"the database for 5 s": {
			func(ctx context.Context, t *testing.T, r *rig) {
				resume := hangPostgres(ctx, t, r.DSN())
				pause(ctx, 5*time.Second)
				resume()
			},
			func(_, end, taken time.Time) bool { return taken.Sub(end) > 2500*time.Millisecond },
		},
		"the server for 2.5 s": {
			func(ctx context.Context, _ *testing.T, r *rig) {
				r.Server(0).Pause()
				pause(ctx, 2500*time.Millisecond)
				r.Server(0).Resume()
			},
			func(last, end, _ time.Time) bool { return end.Sub(last) > 2900*time.Millisecond },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 5 {
				if s.isSurvived(t) {
					return
				}
			}
			t.Skip("this machine is too busy: the server's heartbeats are late even without a stall")
		})
	}
}

// stall is a fault during an answer of server 0.
type stall struct {
	inject func(ctx context.Context, t *testing.T, r *rig)

	// busy reports whether a takeover was right, because the machine delayed the server. Its arguments are the last
	// heartbeat before the stall, the end of the stall, and the takeover.
	busy func(last, end, taken time.Time) bool
}

// isSurvived reports whether the server kept its answer. It returns false if the machine was too busy to tell.
func (s stall) isSurvived(t *testing.T) bool {
	t.Helper()
	model := newHeldModel(t)
	r := newRig(t, 2, model.setting)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	conn := must.Get(pgx.Connect(ctx, r.DSN()))(t)
	defer conn.Close(context.WithoutCancel(ctx))
	all := r.askMany(t, r.at(0)(), 1, answer{chars: 400})
	var heartbeat, started time.Time
	var attempts int
	beatsAfter := func(at time.Time) func() bool {
		return func() bool {
			must.Succeed(t, conn.QueryRow(ctx, `SELECT s.heartbeat_at, g.started_at, g.attempts
				FROM generations g JOIN servers s ON s.id = g.server_id WHERE g.message_id = $1`, all[0].Answer.ID).
				Scan(&heartbeat, &started, &attempts))
			return heartbeat.After(at)
		}
	}
	var readers followers
	f := r.watcher(all[0], r.at(0))
	readers.run(ctx, t, f, all[0].want)
	model.begin()
	await(t, "a heartbeat", waitLimit, beatsAfter(time.Now()))
	last := heartbeat
	s.inject(ctx, t, r)
	end := time.Now()
	await(t, "a heartbeat after the stall", waitLimit, beatsAfter(end))
	model.end()
	join(ctx, t, &readers.wait)
	r.stored(t, r.at(0)(), all)
	switch {
	case attempts == 1 && f.resets == 0:
		return true
	case s.busy(last, end, started):
		return false
	}
	t.Fatalf("taken over %v after the end of the stall, %d attempts", started.Sub(end), attempts)
	return false
}
