package systemtest_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// stopLimit is how long a server may take to stop: 35 s, where the machine does nothing else.
const stopLimit = 70 * time.Second

// comings records when clients were dropped, and when they were told to come back. When they do is their machine's affair.
type comings struct {
	mu    sync.Mutex
	drops []time.Time // Guarded by mu.
	backs []time.Time // Guarded by mu.
}

// note has a follower tell when it is dropped for the first time.
func (c *comings) note(f *follower) {
	dropped := false
	f.onDrop = func(_ error, pause time.Duration) {
		if dropped {
			return
		}
		dropped = true
		now := time.Now()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.drops = append(c.drops, now)
		c.backs = append(c.backs, now.Add(pause))
	}
}

// crowd returns the largest share of those dropped that were told to come back within the same half second.
func (c *comings) crowd() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.SortFunc(c.backs, time.Time.Compare)
	most := 0
	for i, from := range c.backs {
		n := 0
		for _, at := range c.backs[i:] {
			if at.Sub(from) > 500*time.Millisecond {
				break
			}
			n++
		}
		most = max(most, n)
	}
	return float64(most) / float64(max(1, len(c.backs)))
}

// unreadyAtOnce asks a server to stop and checks that it says so at once, and takes no more questions.
func unreadyAtOnce(t *testing.T, c *client, term func(), base, threadID string) {
	t.Helper()
	began := time.Now()
	term()
	await(t, "the server says that it stops", 30*time.Second, func() bool { return ready(t.Context(), base) == http.StatusServiceUnavailable })
	t.Logf("unready after %v", time.Since(began).Round(time.Millisecond))
	var e exchange
	err := c.call(t.Context(), http.MethodPost, base+"/v1/message/async", answer{chars: 10}.in(threadID), &e)
	if !isProblem(err, http.StatusServiceUnavailable) {
		t.Errorf("a new question while it stops: %v", err)
	}
}

// TestR18_SingleServerStopsWithFiveHundredStreams stops a server, some of whose answers do not end in time, and starts it
// again: nothing is lost.
func TestR18_SingleServerStopsWithFiveHundredStreams(t *testing.T) {
	t.Parallel()
	s := newSingle(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	threadID := s.thread(t, s.url())
	all := s.askMany(t, s.url(), 40, answer{chars: 200, rate: 20})
	all = append(all, s.askMany(t, s.url(), 10, answer{chars: 200, seed: 100, more: `,"stall_after":0,"times":1,"key":"KEY"`})...)
	var fs followers
	var back comings
	var begun sync.WaitGroup
	for i := range 500 {
		a := all[i%len(all)]
		f := s.watcher(a, s.url)
		back.note(f)
		begun.Add(1)
		f.onBegin = begunOnce(&begun)
		fs.run(ctx, t, f, a.want)
	}
	join(ctx, t, &begun)
	began := time.Now()
	unreadyAtOnce(t, s.client, s.running().Term, s.url(), threadID)
	stopCtx, cancelStop := context.WithTimeout(ctx, stopLimit)
	defer cancelStop()
	must(t, s.running().Stop(stopCtx))
	t.Logf("stopped after %v", time.Since(began).Round(time.Millisecond))
	s.restart(t)
	join(ctx, t, &fs.wait)
	s.stored(t, s.url(), all)
	share := back.crowd()
	t.Logf("%d were dropped; %.0f %% were to come back within the same half second", len(back.drops), 100*share)
	if len(back.drops) < 100 || share > 0.6 {
		t.Errorf("%d dropped, %.2f told to come back at once", len(back.drops), share)
	}
}

// TestR18_ServerOfAClusterStopsWithFiveHundredStreams stops one of three servers that writes the answers: those who watch
// there go on elsewhere, within seconds and not all at once.
func TestR18_ServerOfAClusterStopsWithFiveHundredStreams(t *testing.T) {
	t.Parallel()
	setting, release := heldModel(t)
	r := newRig(t, 3, setting)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	threadID := r.thread(t, r.anywhere())
	all := r.askMany(t, r.at(0)(), 25, answer{chars: 1600, rate: 20}) // 20 s: longer than clients are sent away, and shorter than a server waits.
	var fs followers
	var back comings
	var begun sync.WaitGroup
	for i := range 500 {
		a := all[i%len(all)]
		first := r.at(0)
		f := r.watcher(a, nil)
		f.where = func() string {
			if f.connections == 0 {
				return first()
			}
			return r.anywhere()
		}
		back.note(f)
		begun.Add(1)
		f.onBegin = begunOnce(&begun)
		fs.run(ctx, t, f, a.want)
	}
	join(ctx, t, &begun)
	release()
	began := time.Now()
	unreadyAtOnce(t, r.client, r.Server(0).Term, r.at(0)(), threadID)
	stopCtx, cancelStop := context.WithTimeout(ctx, stopLimit)
	defer cancelStop()
	must(t, r.StopServer(stopCtx, 0))
	t.Logf("stopped after %v", time.Since(began).Round(time.Millisecond))
	join(ctx, t, &fs.wait)
	r.stored(t, r.anywhere(), all)
	if len(back.drops) != len(fs.all) {
		t.Fatalf("%d of %d were dropped", len(back.drops), len(fs.all))
	}
	onceOnly(t, &fs)
	last, share := slices.MaxFunc(back.drops, time.Time.Compare).Sub(began), back.crowd()
	t.Logf("all dropped after %v; %.0f %% were to come back within the same half second", last.Round(time.Millisecond), 100*share)
	if last > time.Minute || share > 0.4 {
		t.Errorf("all dropped after %v, %.2f told to come back at once", last, share)
	}
}

// onceOnly checks that no answer was begun anew, whose server had time to end it, and that hardly anybody had to be told
// a text from its start because the server they came to had not got as far as they had.
func onceOnly(t *testing.T, fs *followers) {
	t.Helper()
	again := fs.sum(func(f *follower) int { return min(1, f.run-1) })
	resets := fs.sum(func(f *follower) int { return f.resets })
	t.Logf("%d of %d streams were told their text from its start", resets, len(fs.all))
	if again > 0 || resets > len(fs.all)/20 {
		t.Errorf("%d of %d streams are of answers that were begun anew; %d were told their text from its start", again, len(fs.all), resets)
	}
}

// begunOnce returns a hook that tells of the first stream that has begun.
func begunOnce(begun *sync.WaitGroup) func(*http.Response) {
	done := sync.OnceFunc(begun.Done)
	return func(resp *http.Response) {
		if resp.StatusCode == http.StatusOK {
			done()
		}
	}
}

// TestRollingRestart stops and starts each of three servers while two hundred streams are watched: nobody loses or repeats
// anything, and no answer is begun anew.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	enough := make(chan struct{})
	var fs followers
	var all []asked
	var pairs sync.WaitGroup
	var mu sync.Mutex
	// Forty people ask again and again, and five clients watch each answer.
	for i := range 40 {
		pairs.Go(func() {
			for seed := uint64(1000 * i); ; seed++ { //nolint:gosec // Small.
				select {
				case <-enough:
					return
				default:
				}
				a, ok := r.askPatiently(ctx, t, r.anywhere, answer{chars: 240, rate: 20, seed: seed})
				if !ok {
					return
				}
				var watching followers
				for range 5 {
					watching.run(ctx, t, r.watcher(a, r.anywhere), a.want)
				}
				watching.wait.Wait()
				mu.Lock()
				fs.all, all = append(fs.all, watching.all...), append(all, a)
				mu.Unlock()
			}
		})
	}
	began := time.Now()
	for i := range r.Len() {
		stopCtx, cancelStop := context.WithTimeout(ctx, stopLimit)
		must(t, r.StopServer(stopCtx, i))
		cancelStop()
		must(t, r.Restart(ctx, i))
	}
	took := time.Since(began)
	close(enough)
	pairs.Wait()
	r.stored(t, r.anywhere(), all)
	onceOnly(t, &fs)
	t.Logf("three servers restarted in %v; %d answers, %d streams in %d connections", took.Round(time.Millisecond), len(all),
		len(fs.all), fs.sum(func(f *follower) int { return f.connections }))
}
