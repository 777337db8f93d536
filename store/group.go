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
	groupSize    = 32               // Maximum number of transactions in a group.
	groupLanes   = 3                // Groups that are committed concurrently. One connection gets too little CPU time.
	groupTimeout = 10 * time.Second // For the statements of a group.

	// groupLock is the lock timeout of a group. After a timeout, each transaction of the group is committed separately
	// and waits for its own locks.
	groupLock = "50ms"
)

// group commits short transactions together. Transactions that arrive during a commit form the next group. A single
// transaction is committed immediately. A group is safe for concurrent use.
type group struct {
	pool interface {
		SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
	}

	// maxWait limits the queue: while the oldest transaction has waited longer, do rejects new ones. 0: no limit.
	maxWait time.Duration

	mu      sync.Mutex
	work    sync.WaitGroup
	waiting []*groupTx // Guarded by mu. Oldest first.
	running int        // Guarded by mu. Number of committing goroutines, at most groupLanes.
}

// groupTx is a transaction of a group.
type groupTx struct {
	thread uuid.UUID          // The row that the transaction locks first.
	first  func(b *pgx.Batch) // Queues the statements up to the lock of the thread.
	then   func(b *pgx.Batch) // Queues the remaining statements, or is nil.
	usage  *usage             // Is counted last, or is nil.

	ctx   context.Context
	since time.Time  // When do was called.
	done  chan error // Receives the result.
}

// do commits a transaction, together with others or separately, and returns its error. It may call the functions of the
// transaction more than once. If ctx ends first, the result of the transaction is unknown.
func (g *group) do(ctx context.Context, t groupTx) error {
	t.ctx, t.since, t.done = ctx, time.Now(), make(chan error, 1)
	g.mu.Lock()
	if g.maxWait > 0 && len(g.waiting) > 0 && time.Since(g.waiting[0].since) > g.maxWait {
		g.mu.Unlock()
		return fault.Errorf(fault.Unavailable, busy)
	}
	g.waiting = append(g.waiting, &t)
	if g.running < groupLanes {
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

// run commits waiting transactions until there are none.
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
		taken = slices.DeleteFunc(slices.Clone(taken), func(t *groupTx) bool { return t.ctx.Err() != nil })
		if len(taken) > 0 {
			g.commit(taken)
		}
	}
}

// commit commits transactions together. If one of them fails or has to wait for a lock, it commits each separately and
// does not wait for the results.
func (g *group) commit(all []*groupTx) {
	err := g.commitTogether(all)
	separately := isRetryable(err) || hasCode(err, codeLockTimeout) || len(all) > 1 && isRefused(err)
	for _, t := range all {
		if separately {
			g.work.Go(func() { t.done <- g.commitSeparately(t) })
		} else {
			t.done <- translate(err)
		}
	}
}

func (g *group) commitSeparately(t *groupTx) error {
	return retry(t.ctx, func() error {
		batch := &pgx.Batch{}
		queueTogether(batch, []*groupTx{t})
		return g.pool.SendBatch(t.ctx, batch).Close()
	})
}

// commitTogether commits transactions as one.
func (g *group) commitTogether(all []*groupTx) error {
	ctx, cancel := context.WithTimeout(context.Background(), groupTimeout)
	defer cancel()
	batch := &pgx.Batch{}
	// Planning a statement with its parameters, as the database does five times on each connection, costs more than
	// running it.
	batch.Queue(`SELECT set_config('lock_timeout', $1, true),
		set_config('plan_cache_mode', 'force_generic_plan', true)`, groupLock)
	queueTogether(batch, all)
	return g.pool.SendBatch(ctx, batch).Close()
}

// queueTogether queues the statements of transactions. All servers lock rows in the same order: threads by id, then
// usage by user. Usage is counted last, because all answers of a user update the same rows, which stay locked until the
// commit.
func queueTogether(batch *pgx.Batch, all []*groupTx) {
	slices.SortFunc(all, func(a, b *groupTx) int { return slices.Compare(a.thread[:], b.thread[:]) })
	for _, t := range all {
		t.first(batch)
	}
	var used []usage
	for _, t := range all {
		if t.then != nil {
			t.then(batch)
		}
		if t.usage != nil {
			used = append(used, *t.usage)
		}
	}
	if len(used) > 0 {
		queueUsage(batch, used)
	}
}

// isRefused reports whether the database rejected a statement, as for a violated constraint. It reports false for
// errors that may pass.
func isRefused(err error) bool {
	_, ok := errors.AsType[*pgconn.PgError](err)
	return ok && !isUnavailable(err)
}
