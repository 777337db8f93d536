package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

const (
	groupSize  = 32               // Transactions that are committed as one, at most.
	groupLanes = 3                // Groups of a kind that are committed at once: one alone gets little of a busy machine.
	groupLimit = 10 * time.Second // For the statements of a group.

	// groupLock is how long a group waits for a lock of another transaction: after it, its transactions are committed
	// apart, so that each waits for its own locks only.
	groupLock = "50ms"
)

// group commits short transactions together: those that arrive while one commit is under way are the next one. A lone
// transaction is committed at once. It is safe for concurrent use.
type group struct {
	pool interface {
		SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
	}
	lanes int // Groups that are committed at the same time.

	// maxWait is how long the first one may have waited before others are refused. 0: none is.
	maxWait time.Duration

	mu      sync.Mutex
	work    sync.WaitGroup
	waiting []*grouped // Guarded by mu. Oldest first.
	running int        // Guarded by mu. Goroutines that commit, at most lanes.
}

// grouped is a transaction of a group.
type grouped struct {
	thread uuid.UUID          // Whose row it locks first.
	user   uuid.UUID          // Whose usage it locks last.
	first  func(b *pgx.Batch) // Queues the statements up to that with the lock of the thread.
	then   func(b *pgx.Batch) // Queues the others.

	ctx   context.Context
	since time.Time
	done  chan error
}

// do commits a transaction, with others or alone, and returns its error. The functions of the transaction may be called
// more than once. If ctx ends first, what became of the transaction is not known.
func (g *group) do(ctx context.Context, t grouped) error {
	t.ctx, t.since, t.done = ctx, time.Now(), make(chan error, 1)
	g.mu.Lock()
	if g.maxWait > 0 && len(g.waiting) > 0 && time.Since(g.waiting[0].since) > g.maxWait {
		g.mu.Unlock()
		return fault.Errorf(fault.Unavailable, "ただいま混み合っています。少し時間をおいて、もう一度お試しください。")
	}
	g.waiting = append(g.waiting, &t)
	if g.running < g.lanes {
		g.running++
		g.work.Go(g.run)
	}
	g.mu.Unlock()
	select {
	case err := <-t.done:
		return err
	case <-ctx.Done():
		return translate(ctx.Err())
	}
}

// run commits what is waiting, and ends when nothing is.
func (g *group) run() {
	for {
		g.mu.Lock()
		taken := g.waiting[:min(len(g.waiting), groupSize)]
		g.waiting = slices.Clone(g.waiting[len(taken):])
		if len(taken) == 0 {
			g.running--
			g.mu.Unlock()
			return
		}
		g.mu.Unlock()
		taken = slices.DeleteFunc(slices.Clone(taken), func(t *grouped) bool { return t.ctx.Err() != nil })
		if len(taken) > 0 {
			g.commit(taken)
		}
	}
}

// commit commits transactions together. If that fails because of one of them, each is committed apart from the group.
func (g *group) commit(all []*grouped) {
	err := g.commitTogether(all)
	apart := mayRepeat(err) || hasCode(err, codeLockTimeout) || len(all) > 1 && isRefused(err)
	for _, t := range all {
		if apart {
			g.work.Go(func() { t.done <- g.commitAlone(t) })
		} else {
			t.done <- translate(err)
		}
	}
}

func (g *group) commitAlone(t *grouped) error {
	return repeat(t.ctx, func() error {
		batch := &pgx.Batch{}
		t.first(batch)
		t.then(batch)
		return g.pool.SendBatch(t.ctx, batch).Close()
	})
}

// commitTogether commits transactions as one. Their rows are locked in the same order by all servers: threads, then
// usage.
func (g *group) commitTogether(all []*grouped) error {
	ctx, cancel := context.WithTimeout(context.Background(), groupLimit)
	defer cancel()
	batch := &pgx.Batch{}
	batch.Queue(`SELECT set_config('lock_timeout', $1, true)`, groupLock)
	slices.SortFunc(all, func(a, b *grouped) int { return slices.Compare(a.thread[:], b.thread[:]) })
	for _, t := range all {
		t.first(batch)
	}
	slices.SortStableFunc(all, func(a, b *grouped) int { return slices.Compare(a.user[:], b.user[:]) })
	for _, t := range all {
		t.then(batch)
	}
	return g.pool.SendBatch(ctx, batch).Close()
}

// isRefused reports whether the database refused a statement because of what it says.
func isRefused(err error) bool {
	_, ok := errors.AsType[*pgconn.PgError](err)
	return ok && !isUnavailable(err)
}
