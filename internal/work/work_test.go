package work_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/work"
	"github.com/tsumugi-ai/tsumugi/test/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

var errDown = errors.New("down")

func TestEvery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		g := work.NewGroup(slog.New(slog.NewTextHandler(&log, nil)))
		began, wake := time.Now(), work.NewSignal()
		var runs []time.Duration
		g.Every(time.Minute, wake, func(ctx context.Context) error {
			if runs = append(runs, time.Since(began)); len(runs) == 1 {
				wake.Wake()
				wake.Wake()
			}
			return errors.Join(ctx.Err(), errDown)
		}, "part: failed", "model", "m")
		time.Sleep(90 * time.Second)
		wake.Wake()
		time.Sleep(40 * time.Second)
		g.Stop()
		if want := []time.Duration{0, 0, time.Minute, 90 * time.Second, 2 * time.Minute}; !slices.Equal(runs, want) {
			t.Errorf("runs after %v", runs)
		}
		if n := strings.Count(log.String(), `level=WARN msg="part: failed" model=m err=down`); n != 5 {
			t.Errorf("logged %d failures: %s", n, log.String())
		}
	})
}

func TestEveryIsSilentWhenItStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		g := work.NewGroup(slog.New(slog.NewTextHandler(&log, nil)))
		g.Every(time.Minute, nil, func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}, "part: failed")
		synctest.Wait()
		g.Stop()
		if log.Len() > 0 {
			t.Errorf("logged %s", log.String())
		}
	})
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int]time.Duration{
		-1: time.Second, 0: time.Second, 1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 6: 30 * time.Second,
		1000: 30 * time.Second,
	} {
		if got := work.Backoff(failures, time.Second, 30*time.Second); got != want {
			t.Errorf("after %d failures %v, want %v", failures, got, want)
		}
	}
}

func TestSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		work.Sleep(t.Context(), time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		work.Sleep(ctx, time.Hour)
		if took := time.Since(began); took != 61*time.Minute {
			t.Errorf("slept for %v", took)
		}
	})
}

var lease = work.Lease{Duration: 8 * time.Second, Renewal: 2 * time.Second}

func TestHold(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		results []error // Of acquire. The last one repeats.
		runs    time.Duration
		want    error
		after   time.Duration
	}{
		"renewed":                  {[]error{nil}, time.Minute, nil, time.Minute},
		"never acquired":           {[]error{work.ErrLost}, time.Minute, work.ErrLost, 0},
		"store down":               {[]error{errDown}, time.Minute, errDown, 0},
		"lost":                     {[]error{nil, nil, work.ErrLost}, time.Minute, work.ErrLost, 4 * time.Second},
		"two renewals fail":        {[]error{nil, errDown, errDown, nil}, time.Minute, nil, time.Minute},
		"ends before it expires":   {[]error{nil, errDown}, time.Minute, work.ErrLost, 8 * time.Second},
		"run ends before the rest": {[]error{nil}, time.Second, nil, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began, calls, running := time.Now(), 0, false
				err := lease.Hold(t.Context(), func(context.Context) error {
					calls++
					return test.results[min(calls, len(test.results))-1]
				}, func(ctx context.Context) error {
					running = true
					defer func() { running = false }()
					work.Sleep(ctx, test.runs)
					if ctx.Err() != nil && !errors.Is(context.Cause(ctx), work.ErrLost) {
						t.Errorf("canceled by %v", context.Cause(ctx))
					}
					return nil
				})
				if took := time.Since(began); !errors.Is(err, test.want) || took != test.after || running {
					t.Errorf("%v after %v, running %v", err, took, running)
				}
			})
		})
	}
}

func TestHoldReturnsTheErrorOfRun(t *testing.T) {
	t.Parallel()
	ok := func(context.Context) error { return nil }
	if err := lease.Hold(t.Context(), ok, func(context.Context) error { return errDown }); !errors.Is(err, errDown) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := lease.Hold(ctx, ok, func(ctx context.Context) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("after its context ended: %v", err)
	}
}

// queue is a queue in memory, with the leases of one server.
type queue struct {
	mu      sync.Mutex // Guards the fields below.
	due     []uuid.UUID
	down    bool
	lost    map[uuid.UUID]bool
	renewed map[uuid.UUID]int
	claims  int
	causes  map[uuid.UUID]error // Of the ends of contexts.
	*work.Pool[uuid.UUID]
}

// newQueue returns a queue with a Pool that runs two jobs at once, each for an hour.
func newQueue(g *work.Group, due ...uuid.UUID) *queue {
	q := &queue{
		due: due, lost: make(map[uuid.UUID]bool), renewed: make(map[uuid.UUID]int), causes: make(map[uuid.UUID]error),
	}
	q.Pool = work.NewPool(g, work.Queue[uuid.UUID]{
		Lease: lease, Poll: time.Second, Claim: q.claim, Renew: q.renew, Run: q.run,
		ID: func(id uuid.UUID) uuid.UUID { return id }, ClaimFailure: "claim failed", RenewFailure: "renewal failed",
	})
	return q
}

func (q *queue) claim(context.Context) ([]uuid.UUID, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.claims++
	if q.down {
		return nil, errDown
	}
	n := min(len(q.due), max(2-q.Len(), 0))
	claimed := q.due[:n]
	q.due = q.due[n:]
	return claimed, nil
}

func (q *queue) renew(_ context.Context, held []uuid.UUID, d time.Duration) (lost []uuid.UUID, _ error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.down || d != lease.Duration {
		return nil, errDown
	}
	for _, id := range held {
		if q.lost[id] {
			lost = append(lost, id)
		}
		q.renewed[id]++
	}
	return lost, nil
}

func (q *queue) run(ctx context.Context, job *work.Job[uuid.UUID]) {
	work.Sleep(ctx, time.Hour)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.causes[job.Value] = context.Cause(ctx)
}

func (q *queue) cause(id uuid.UUID) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.causes[id]
}

func (q *queue) set(change func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	change()
}

func TestPool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := work.NewGroup(slog.New(slog.DiscardHandler))
		ids := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
		q := newQueue(g, ids...)
		q.Start()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if q.Len() != 2 || len(q.Jobs()) != 2 || q.renewed[ids[0]] < 2 || q.renewed[ids[2]] != 0 {
			t.Errorf("%d jobs, renewed %v", q.Len(), q.renewed)
		}
		for _, job := range q.Jobs() {
			if left := time.Until(job.Until()); left != 7*time.Second {
				t.Errorf("the lease ends in %v", left)
			}
		}
		q.set(func() { q.down = true })
		time.Sleep(time.Minute)
		synctest.Wait()
		if q.Len() != 2 || q.cause(ids[0]) != nil {
			t.Errorf("%d jobs while the store is down, %v", q.Len(), q.causes)
		}
		q.set(func() { q.down, q.lost[ids[0]] = false, true })
		time.Sleep(2100 * time.Millisecond)
		synctest.Wait()
		if q.Len() != 2 || !errors.Is(q.cause(ids[0]), work.ErrLost) || q.cause(ids[1]) != nil || len(q.due) != 0 {
			t.Errorf("%d jobs after one was lost, %v, due %v", q.Len(), q.causes, q.due)
		}
		for _, job := range q.Jobs() {
			if job.Value == ids[1] {
				job.Cancel(errDown)
			}
		}
		synctest.Wait()
		g.Stop()
		if q.Len() != 0 || !errors.Is(q.cause(ids[1]), errDown) || !errors.Is(q.cause(ids[2]), context.Canceled) {
			t.Errorf("%d jobs after the end, %v", q.Len(), q.causes)
		}
	})
}

// TestPoolClaimsWhenWoken covers wakeups by the caller and by the end of a job.
func TestPoolClaimsWhenWoken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := work.NewGroup(slog.New(slog.DiscardHandler))
		defer g.Stop()
		q := newQueue(g)
		q.Start()
		synctest.Wait()
		first := uuid.New()
		q.set(func() { q.due = []uuid.UUID{first, uuid.New(), uuid.New()} })
		q.Wake()
		synctest.Wait()
		if q.Len() != 2 || len(q.due) != 1 {
			t.Errorf("%d jobs, due %v", q.Len(), q.due)
		}
		for _, job := range q.Jobs() {
			if job.Value == first {
				job.Cancel(errDown)
			}
		}
		synctest.Wait()
		if q.Len() != 2 || len(q.due) != 0 {
			t.Errorf("%d jobs after one ended, due %v", q.Len(), q.due)
		}
	})
}

// TestJobReplacesItsEarlierRun: this server claims a job again after its own lease has expired.
func TestJobReplacesItsEarlierRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := work.NewGroup(slog.New(slog.DiscardHandler))
		q := newQueue(g)
		id := uuid.New()
		until := time.Now().Add(time.Minute)
		q.Add(id, until)
		q.Add(id, until.Add(time.Minute))
		synctest.Wait()
		if jobs := q.Jobs(); len(jobs) != 1 || !jobs[0].Until().Equal(until.Add(time.Minute)) ||
			!errors.Is(q.cause(id), work.ErrLost) {
			t.Errorf("%d jobs, %v", len(jobs), q.causes)
		}
		g.Stop()
		if !errors.Is(q.cause(id), context.Canceled) {
			t.Errorf("after the end %v", q.causes)
		}
	})
}
