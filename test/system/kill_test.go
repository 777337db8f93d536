package system_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

const (
	kills = 50

	// killsInARow is the number of kills after which each conversation may finish an answer. An answer fails after ten
	// restarts, which a busy machine might otherwise reach.
	killsInARow = 5
)

// settle is the limit for completing all answers after the last fault. An idle machine needs 15 s.
const settle = 2 * time.Minute

// talkers are conversations that continue while servers are killed.
type talkers struct {
	enough chan struct{}
	wait   sync.WaitGroup

	mu                sync.Mutex
	answered          map[int]int // Guarded by mu. Complete answers by conversation.
	questions, resets int         // Guarded by mu.
}

// startTalkers starts n conversations through the servers that where returns.
func (c *client) startTalkers(ctx context.Context, t *testing.T, n int, where func() string, a answer) *talkers {
	talks := &talkers{enough: make(chan struct{}), answered: make(map[int]int)}
	for i := range n {
		talks.answered[i] = 0
		talks.wait.Go(func() {
			b := a
			b.seed = uint64(1000 * i) //nolint:gosec // Small.
			questions, resets := c.talk(ctx, t, where, talks.enough, b, func() {
				talks.mu.Lock()
				defer talks.mu.Unlock()
				talks.answered[i]++
			})
			talks.mu.Lock()
			defer talks.mu.Unlock()
			talks.questions += questions
			talks.resets += resets
		})
	}
	return talks
}

// progress waits until each conversation has completed an answer since the call.
func (k *talkers) progress(t *testing.T) {
	t.Helper()
	k.mu.Lock()
	before := maps.Clone(k.answered)
	k.mu.Unlock()
	await(t, "each conversation completes an answer", waitLimit, func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		for i, n := range k.answered {
			if n == before[i] && !t.Failed() {
				return false
			}
		}
		return true
	})
}

// end waits until all conversations have finished their current answer and returns the time that this took.
func (k *talkers) end() time.Duration {
	began := time.Now()
	close(k.enough)
	k.wait.Wait()
	return time.Since(began)
}

// TestR20_KilledServerWithEmbeddedDatabase runs conversations and repeatedly kills the only server, together with its
// database, at a random token.
func TestR20_KilledServerWithEmbeddedDatabase(t *testing.T) {
	t.Parallel()
	s := newSingle(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*waitLimit)
	defer cancel()
	talks := s.startTalkers(ctx, t, 12, s.url, answer{rate: 200})
	began := time.Now()
	for i := range kills {
		pause(ctx, rand.N(700*time.Millisecond))
		s.running().Kill()
		s.restart(t)
		if i%killsInARow == killsInARow-1 {
			talks.progress(t)
		}
	}
	killed := time.Since(began)
	if took := talks.end(); took > settle {
		t.Errorf("everything was answered %v after the last start", took)
	} else {
		t.Logf("%d kills in %v, %d questions, %d answers restarted, all complete after %v", kills,
			killed.Round(time.Second),
			talks.questions, talks.resets, took.Round(time.Millisecond))
	}
}

// TestR20_KilledServersOfACluster kills random servers one after the other during conversations through the balancer.
func TestR20_KilledServersOfACluster(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3, shortLease)
	ctx, cancel := context.WithTimeout(t.Context(), 3*waitLimit)
	defer cancel()
	talks := r.startTalkers(ctx, t, 10, r.anywhere, answer{rate: 25})
	began := time.Now()
	for n := range kills {
		pause(ctx, rand.N(200*time.Millisecond))
		i := rand.N(r.Len())
		r.Kill(i)
		must.Succeed(t, r.Restart(ctx, i))
		if n%killsInARow == killsInARow-1 {
			talks.progress(t)
		}
	}
	killed := time.Since(began)
	if took := talks.end(); took > settle {
		t.Errorf("everything was answered %v after the last start", took)
	} else {
		t.Logf("%d kills in %v, %d questions, %d answers restarted, all complete after %v", kills,
			killed.Round(time.Second),
			talks.questions, talks.resets, took.Round(time.Millisecond))
	}
}

// TestR20_TakeoverWithinTenSeconds kills a server with the default lease. It measures the time until other servers
// write its answers, and the time until their followers have received a reset.
func TestR20_TakeoverWithinTenSeconds(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	var mu sync.Mutex
	var took []time.Duration
	var killed time.Time
	var fs followers
	var begun sync.WaitGroup
	for _, a := range r.askMany(t, r.at(0)(), 20, answer{chars: 200, more: `,"stall_after":40,"times":1,"key":"KEY"`}) {
		f := r.watcher(a, r.anywhere)
		begun.Add(1)
		started, run := sync.OnceFunc(begun.Done), 0
		f.onEvent = func(e event) {
			switch e.Type {
			case "text-delta":
				started()
			case "start":
				if f.restarted() && f.run > run {
					run = f.run
					mu.Lock()
					defer mu.Unlock()
					took = append(took, time.Since(killed))
				}
			}
		}
		fs.run(ctx, t, f, a.want)
	}
	join(ctx, t, &begun)
	mu.Lock()
	killed = time.Now()
	mu.Unlock()
	r.Kill(0)
	r.awaitTakeover(ctx, t)
	takeover := time.Since(killed)
	join(ctx, t, &fs.wait)
	if len(took) != len(fs.all) {
		t.Fatalf("%d of %d answers were restarted", len(took), len(fs.all))
	}
	if takeover > time.Minute { // 10 s on an idle machine.
		t.Errorf("all answers were taken over after %v", takeover)
	}
	// Clients of other servers have to reconnect, which takes up to 3 s more.
	if longest := slices.Max(took); longest > takeover+time.Minute {
		t.Errorf("a client saw its answer go on after %v", longest)
	}
	t.Logf("all taken over after %v; clients saw it %v to %v after the kill", takeover.Round(time.Millisecond),
		slices.Min(took).Round(time.Millisecond), slices.Max(took).Round(time.Millisecond))
}

// awaitTakeover waits until every unfinished answer has been taken over.
func (r *rig) awaitTakeover(ctx context.Context, t *testing.T) {
	t.Helper()
	conn := must.Get(pgx.Connect(ctx, r.DSN()))(t)
	defer conn.Close(context.WithoutCancel(ctx))
	await(t, "all answers are taken over", waitLimit, func() bool {
		var left int
		must.Succeed(t, conn.QueryRow(ctx, `SELECT count(*) FROM generations WHERE attempts = 1 AND ended_at IS NULL`).Scan(&left))
		return left == 0
	})
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
