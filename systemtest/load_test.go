package systemtest_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/cluster"
)

// TestR31_DroppedStreamsComeBack breaks two thousand streams off at once: all have resumed within ten seconds, each at its
// character.
func TestR31_DroppedStreamsComeBack(t *testing.T) {
	t.Parallel()
	s := newSingle(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	link, err := cluster.NewLink(ctx, s.cfg.Listen)
	must(t, err)
	t.Cleanup(link.Close)
	through := func() string { return "http://" + link.Address() }

	var mu sync.Mutex
	var dropped time.Time
	var took []time.Duration
	var begun sync.WaitGroup
	var fs followers
	all := s.askMany(t, s.url(), 20, answer{chars: 1200, rate: 15})
	for i := range 2000 {
		a := all[i%len(all)]
		f := s.watcher(a, through)
		begun.Add(1)
		started := begunOnce(&begun)
		f.onBegin = func(resp *http.Response) {
			started(resp)
			if f.connections > 1 && resp.StatusCode < 300 {
				mu.Lock()
				defer mu.Unlock()
				took = append(took, time.Since(dropped))
			}
		}
		fs.run(ctx, t, f, a.want)
	}
	join(ctx, t, &begun)
	mu.Lock()
	dropped = time.Now()
	mu.Unlock()
	link.Cut()
	link.Heal()
	join(ctx, t, &fs.wait)
	if len(took) < len(fs.all) {
		t.Fatalf("%d of %d came back", len(took), len(fs.all))
	}
	longest := slices.Max(took)
	t.Logf("%d streams were back %v to %v after they were dropped", len(took), slices.Min(took).Round(time.Millisecond), longest.Round(time.Millisecond))
	if longest > 10*time.Second {
		t.Errorf("the last was back after %v", longest)
	}
	s.stored(t, s.url(), all)
}

// TestR31_AboveTheCapClientsAreSentAway opens more streams than a server takes: those beyond are told when to come back,
// each another time, and do so.
func TestR31_AboveTheCapClientsAreSentAway(t *testing.T) {
	t.Parallel()
	const most = 50
	s := newSingle(t, "TSUMUGI_MAX_STREAMS=50")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	all := s.askMany(t, s.url(), 5, answer{chars: 200, rate: 20})
	var mu sync.Mutex
	refused := make(map[string]int)
	var fs followers
	for i := range 3 * most {
		a := all[i%len(all)]
		f := s.watcher(a, s.url)
		f.onDrop = func(err error) {
			p, ok := errors.AsType[*problem](err)
			if !ok {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			refused[p.RetryAfter]++
			if p.Status != http.StatusServiceUnavailable || p.Detail == "" {
				t.Errorf("sent away with %v", p)
			}
		}
		fs.run(ctx, t, f, a.want)
	}
	join(ctx, t, &fs.wait)
	t.Logf("sent away for so many seconds: %v", refused)
	if len(refused) < 3 {
		t.Errorf("sent away for so many seconds: %v", refused)
	}
}
