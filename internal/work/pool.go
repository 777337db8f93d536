package work

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/timeout"
)

// Queue describes the jobs of a Pool. J is a claimed job.
type Queue[J any] struct {
	Lease Lease
	Poll  time.Duration // Interval of claiming jobs, for missed wakeups.

	// Claim claims due jobs for Lease.Duration, as far as this server has room for them. It is called again until it
	// returns none.
	Claim func(ctx context.Context) ([]J, error)
	// Renew renews the leases of jobs for a duration and returns the ids of the lost ones.
	Renew func(ctx context.Context, held []J, lease time.Duration) (lost []uuid.UUID, _ error)
	// Run runs a job and stores its result. ctx ends when the Group stops, or with ErrLost as the cause when the lease
	// was lost.
	Run func(ctx context.Context, job *Job[J])
	ID  func(job J) uuid.UUID

	ClaimFailure string // Log message of an error of Claim,
	RenewFailure string // and of Renew.
}

// Job is a claimed job that runs on this server.
type Job[J any] struct {
	Value  J
	cancel context.CancelCauseFunc
	until  atomic.Pointer[time.Time]
}

// Cancel ends the context of the job with a cause.
func (j *Job[J]) Cancel(cause error) { j.cancel(cause) }

// Until returns the end of the lease by this server's clock. A server that was suspended for longer has lost the job.
func (j *Job[J]) Until() time.Time { return *j.until.Load() }

// Pool claims jobs, runs each in a goroutine of its Group, and renews their leases. It is safe for concurrent use.
type Pool[J any] struct {
	queue Queue[J]
	group *Group
	wake  Signal

	mu   sync.Mutex
	jobs map[uuid.UUID]*Job[J] // Guarded by mu.
}

// NewPool returns a Pool that claims no jobs before Start.
func NewPool[J any](group *Group, queue Queue[J]) *Pool[J] {
	return &Pool[J]{queue: queue, group: group, wake: NewSignal(), jobs: make(map[uuid.UUID]*Job[J])}
}

// Start begins to claim jobs and to renew leases, until the Group stops.
func (p *Pool[J]) Start() {
	p.group.Every(p.queue.Poll, p.wake, p.claim, p.queue.ClaimFailure)
	p.group.Every(p.queue.Lease.Renewal, nil, p.renew, p.queue.RenewFailure)
}

// Wake makes the Pool claim jobs at once.
func (p *Pool[J]) Wake() { p.wake.Wake() }

// Jobs returns the running jobs.
func (p *Pool[J]) Jobs() []*Job[J] {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Values(p.jobs))
}

// Len returns the number of running jobs.
func (p *Pool[J]) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.jobs)
}

func (p *Pool[J]) claim(ctx context.Context) error {
	for ctx.Err() == nil {
		until := time.Now().Add(p.queue.Lease.Duration)
		limited, cancel := context.WithTimeout(ctx, timeout.Store)
		claimed, err := p.queue.Claim(limited)
		cancel()
		for _, value := range claimed {
			p.Add(value, until)
		}
		if err != nil || len(claimed) == 0 {
			return err
		}
	}
	return nil
}

// Add runs a job that this server has claimed until a time. It cancels a running job with the same id, whose lease must
// have expired. After the Group has stopped, only a job of the Group may call Add.
func (p *Pool[J]) Add(value J, until time.Time) {
	ctx, cancel := context.WithCancelCause(p.group.root)
	job, id := &Job[J]{Value: value, cancel: cancel}, p.queue.ID(value)
	job.until.Store(&until)
	p.mu.Lock()
	if earlier := p.jobs[id]; earlier != nil {
		earlier.cancel(ErrLost)
	}
	p.jobs[id] = job
	p.mu.Unlock()
	p.group.Go(func(context.Context) {
		defer cancel(nil)
		p.queue.Run(ctx, job)
		p.mu.Lock()
		if p.jobs[id] == job {
			delete(p.jobs, id)
		}
		p.mu.Unlock()
		p.Wake()
	})
}

// renew renews the leases of all running jobs, and cancels the lost ones.
func (p *Pool[J]) renew(ctx context.Context) error {
	p.mu.Lock()
	held := maps.Clone(p.jobs)
	p.mu.Unlock()
	if len(held) == 0 {
		return nil
	}
	values := make([]J, 0, len(held))
	for _, job := range held {
		values = append(values, job.Value)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout.Store)
	defer cancel()
	until := time.Now().Add(p.queue.Lease.Duration)
	lost, err := p.queue.Renew(ctx, values, p.queue.Lease.Duration)
	if err != nil {
		return err
	}
	for _, id := range lost {
		held[id].cancel(ErrLost)
		delete(held, id)
	}
	for _, job := range held {
		job.until.Store(&until)
	}
	return nil
}
