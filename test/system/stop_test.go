package system_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// drops records when clients lost their connection and how long they were asked to wait.
type drops struct {
	all sync.WaitGroup // Drops that are still expected.

	mu     sync.Mutex
	times  []time.Time     // Guarded by mu.
	pauses []time.Duration // Guarded by mu.
}

// note registers a follower's first drop.
func (d *drops) note(f *follower) {
	dropped := false
	f.onDrop = func(_ error, pause time.Duration) {
		if dropped {
			return
		}
		dropped = true
		d.mu.Lock()
		d.times, d.pauses = append(d.times, time.Now()), append(d.pauses, pause)
		d.mu.Unlock()
		d.all.Done()
	}
}

// spread returns the difference between the longest and the shortest pause. Clients that are disconnected at the same
// time must not reconnect at the same time.
func (d *drops) spread() time.Duration { return slices.Max(d.pauses) - slices.Min(d.pauses) }

// checkUnready asks a server to stop and checks that it immediately reports that it is not ready and refuses
// questions.
func checkUnready(t *testing.T, c *client, term func(), base, threadID string) {
	t.Helper()
	began := time.Now()
	term()
	await(t, "the server says that it stops", 30*time.Second,
		func() bool { return ready(t.Context(), base) == http.StatusServiceUnavailable })
	t.Logf("unready after %v", time.Since(began).Round(time.Millisecond))
	var e exchange
	err := c.call(t.Context(), http.MethodPost, base+"/v1/message/async", answer{chars: 10}.in(threadID), &e)
	if !isProblem(err, http.StatusServiceUnavailable) {
		t.Errorf("a new question while it stops: %v", err)
	}
}

// TestR18_SingleServerStopsWithFiveHundredStreams stops a server while some of its answers do not end in time, and
// restarts it. No text is lost.
func TestR18_SingleServerStopsWithFiveHundredStreams(t *testing.T) {
	t.Parallel()
	s := newSingle(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*waitLimit)
	defer cancel()
	threadID := s.thread(t, s.url())
	all := s.askMany(t, s.url(), 40, answer{chars: 200, rate: 20})
	all = append(all, s.askMany(t, s.url(), 10, answer{
		chars: 200, seed: 100,
		more: `,"stall_after":0,"times":1,"key":"KEY"`,
	})...)
	var fs followers
	var dropped drops
	var begun sync.WaitGroup
	dropped.all.Add(500)
	for i := range 500 {
		a := all[i%len(all)]
		f := s.watcher(a, s.url)
		dropped.note(f)
		begun.Add(1)
		f.onBegin = firstResponse(&begun)
		fs.run(ctx, t, f, a.want)
	}
	join(ctx, t, &begun)
	began := time.Now()
	checkUnready(t, s.client, s.running().Term, s.url(), threadID)
	stopCtx, cancelStop := context.WithTimeout(ctx, waitLimit)
	defer cancelStop()
	must.Succeed(t, s.running().Stop(stopCtx))
	t.Logf("stopped after %v", time.Since(began).Round(time.Millisecond))
	s.restart(t)
	join(ctx, t, &fs.wait)
	s.stored(t, s.url(), all)
	t.Logf("%d clients were disconnected; their pauses differ by up to %v", len(dropped.times), dropped.spread())
	if len(dropped.times) < 100 || dropped.spread() < 500*time.Millisecond {
		t.Errorf("%d clients were disconnected; their pauses differ by up to %v", len(dropped.times), dropped.spread())
	}
}

// TestR18_ServerOfAClusterStopsWithFiveHundredStreams stops the server that writes the answers, one of three. Its
// clients reconnect to the others within seconds, but not all at the same time.
func TestR18_ServerOfAClusterStopsWithFiveHundredStreams(t *testing.T) {
	t.Parallel()
	model := newHeldModel(t)
	r := newRig(t, 3, model.setting)
	ctx, cancel := context.WithTimeout(t.Context(), 2*waitLimit)
	defer cancel()
	threadID := r.thread(t, r.anywhere())
	all := r.askMany(t, r.at(0)(), 25, answer{chars: 400, rate: 20})
	var fs followers
	var dropped drops
	var begun sync.WaitGroup
	dropped.all.Add(500)
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
		dropped.note(f)
		begun.Add(1)
		f.onBegin = firstResponse(&begun)
		fs.run(ctx, t, f, a.want)
	}
	join(ctx, t, &begun)
	model.begin() // The answers continue until all clients have reconnected.
	began := time.Now()
	checkUnready(t, r.client, r.Server(0).Term, r.at(0)(), threadID)
	join(ctx, t, &dropped.all)
	t.Logf("all dropped after %v", time.Since(began).Round(time.Millisecond))
	model.end()
	stopCtx, cancelStop := context.WithTimeout(ctx, waitLimit)
	defer cancelStop()
	must.Succeed(t, r.StopServer(stopCtx, 0))
	t.Logf("stopped after %v", time.Since(began).Round(time.Millisecond))
	join(ctx, t, &fs.wait)
	r.stored(t, r.anywhere(), all)
	checkNotRestarted(t, &fs)
}

// checkNotRestarted checks that no answer was restarted. Its server had time to finish it. It logs the number of
// clients that received a reset because their new server did not reach their cursor in time.
func checkNotRestarted(t *testing.T, fs *followers) {
	t.Helper()
	t.Logf("%d resets in %d streams", fs.sum(func(f *follower) int { return f.resets }),
		len(fs.all))
	again := fs.sum(func(f *follower) int {
		if f.restarted() {
			return 1
		}
		return 0
	})
	if again > 0 {
		t.Errorf("%d of %d streams have restarted answers", again, len(fs.all))
	}
}

// firstResponse returns a hook that signals the first successful response.
func firstResponse(begun *sync.WaitGroup) func(*http.Response) {
	done := sync.OnceFunc(begun.Done)
	return func(resp *http.Response) {
		if resp.StatusCode == http.StatusOK {
			done()
		}
	}
}

// TestRollingRestart restarts each of three servers while two hundred clients read streams. No text is lost or
// repeated, and no answer is restarted.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), 2*waitLimit)
	defer cancel()
	enough := make(chan struct{})
	var fs followers
	var all []asked
	var pairs sync.WaitGroup
	var mu sync.Mutex
	// Forty conversations with five clients for each answer.
	for i := range 40 {
		pairs.Go(func() {
			for seed := uint64(1000 * i); ; seed++ { //nolint:gosec // Small.
				select {
				case <-enough:
					return
				default:
				}
				a, ok := r.askWithRetries(ctx, t, r.anywhere, answer{chars: 240, rate: 20, seed: seed})
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
		stopCtx, cancelStop := context.WithTimeout(ctx, waitLimit)
		must.Succeed(t, r.StopServer(stopCtx, i))
		cancelStop()
		must.Succeed(t, r.Restart(ctx, i))
	}
	took := time.Since(began)
	close(enough)
	pairs.Wait()
	r.stored(t, r.anywhere(), all)
	checkNotRestarted(t, &fs)
	t.Logf("three servers restarted in %v; %d answers, %d streams in %d connections", took.Round(time.Millisecond),
		len(all),
		len(fs.all), fs.sum(func(f *follower) int { return f.connections }))
}
