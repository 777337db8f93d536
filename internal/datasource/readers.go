package datasource

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/timeout"
)

// Config configures reading. A zero field means its default.
type Config struct {
	Workers          int           // Files that this server reads at once. Default 2.
	StoragePerPerson int64         // Storage limit of a person, in bytes. Default 5 GiB.
	SlowAfter        time.Duration // A longer reading may be interrupted for another person's file. Default 2 s.
	ReadTimeout      time.Duration // Time limit of a reading, storing it included. Default 12 min.
	Lease            time.Duration // How long a server may be silent before others take over its readings. Default 5 s.
	Poll             time.Duration // How often this server looks for missed notifications, and renews leases. Default 1 s.
	ProgressInterval time.Duration // Minimum interval between two progress events of a file. Default 500 ms.
	RetryPause       time.Duration // Before the second attempt; later ones wait longer. Default 1 s.
	Cache            int           // Memory for cached indexes, in bytes. Default 64 MiB.

	Embedding Embedding // By default, search uses words only.
	// Memory for cached vectors and largest size of the vectors of one search, in bytes. Default 256 MiB.
	Vectors int
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&c.SlowAfter, 2 * time.Second},
		{&c.ReadTimeout, 12 * time.Minute},
		{&c.Lease, 5 * time.Second},
		{&c.Poll, time.Second},
		{&c.ProgressInterval, 500 * time.Millisecond},
		{&c.RetryPause, time.Second},
		{&c.Embedding.Interval, 15 * time.Second},
	} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	if c.StoragePerPerson <= 0 {
		c.StoragePerPerson = 5 << 30
	}
	if c.Workers <= 0 {
		c.Workers = 2
	}
	if c.Cache <= 0 {
		c.Cache = 64 << 20
	}
	if c.Vectors <= 0 {
		c.Vectors = 256 << 20
	}
	return c
}

// Reasons to cancel a reading.
var (
	errInterrupted = errors.New("datasource: interrupted for another person's file")
	errStopping    = errors.New("datasource: the server stops")
	errLost        = errors.New("datasource: deleted, or taken over by another server")
)

// readers read queued files with limited concurrency.
//
// The store selects the next file for all servers. A slow file must not delay other people: each server reserves one
// place for files that are not known to be slow. If slow files nevertheless occupy all places, because they were not
// known, readers interrupt the most recently started one for a person without a running reading. This happens at most
// once for each file, because the file is known to be slow afterwards.
type readers struct {
	service *Service
	cfg     Config
	wakeup  chan struct{} // Holds a value while there may be something to read.

	mu      sync.Mutex
	running map[uuid.UUID]*runningReading // Guarded by mu.
}

// runningReading is a reading in progress on this server.
type runningReading struct {
	Reading
	began        time.Time // Zero during preparation. Guarded by the mu of readers.
	cancel       context.CancelCauseFunc
	interrupting bool // It is being interrupted for another file. Guarded by the mu of readers.
}

func newReaders(s *Service, cfg Config) *readers {
	return &readers{service: s, cfg: cfg, wakeup: make(chan struct{}, 1), running: make(map[uuid.UUID]*runningReading)}
}

// wake makes run check for work at once.
func (r *readers) wake() {
	select {
	case r.wakeup <- struct{}{}:
	default:
	}
}

// run reads files until the context is canceled, and then waits for the running readings.
func (r *readers) run(ctx context.Context) {
	var work sync.WaitGroup
	defer work.Wait()
	tick := time.NewTicker(r.cfg.Poll)
	defer tick.Stop()
	for {
		if err := r.begin(ctx, &work); err != nil && ctx.Err() == nil {
			r.service.log.WarnContext(ctx, "datasource: claiming the next file failed, retrying", "err", err)
		}
		select {
		case <-tick.C:
		case <-r.wakeup:
		case <-ctx.Done():
			return
		}
	}
}

// begin starts readings until all places are occupied.
func (r *readers) begin(ctx context.Context, work *sync.WaitGroup) error {
	for ctx.Err() == nil {
		free, quick := r.room()
		if free == 0 {
			return r.makeRoom(ctx)
		}
		reading, found, err := r.next(ctx, quick)
		if err != nil || !found {
			return err
		}
		r.start(ctx, reading, work)
	}
	return nil
}

func (r *readers) next(ctx context.Context, quick bool) (Reading, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout.Store)
	defer cancel()
	return r.service.store.ClaimReading(ctx, quick, r.cfg.Lease)
}

// room returns the number of free places, and whether they are reserved for quick files.
func (r *readers) room() (free int, quick bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	slow := 0
	for _, c := range r.running {
		if r.isSlow(c) {
			slow++
		}
	}
	return r.cfg.Workers - len(r.running), slow >= max(1, r.cfg.Workers-1)
}

// isSlow reports whether a reading is known to be slow. The caller must hold mu.
func (r *readers) isSlow(c *runningReading) bool {
	return c.Slow || !c.began.IsZero() && time.Since(c.began) >= r.cfg.SlowAfter
}

// makeRoom interrupts a slow reading if all are slow and a person without a running reading is waiting.
func (r *readers) makeRoom(ctx context.Context) error {
	if r.last() == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout.Store)
	defer cancel()
	waits, err := r.service.store.HasWaitingReading(ctx)
	if err != nil || !waits {
		return err
	}
	if c := r.last(); c != nil {
		r.mu.Lock()
		c.interrupting = true
		r.mu.Unlock()
		c.cancel(errInterrupted)
	}
	return nil
}

// last returns the most recently started reading that may be interrupted. It returns nil if a reading is already being
// interrupted, or if one is quick.
func (r *readers) last() (last *runningReading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.running {
		if c.interrupting || !r.isSlow(c) {
			return nil
		}
		if !c.Slow && (last == nil || c.began.After(last.began)) {
			last = c
		}
	}
	return last
}

// start reads a file in a new goroutine.
func (r *readers) start(ctx context.Context, reading Reading, work *sync.WaitGroup) {
	// The cause distinguishes the cancellation of ctx from other reasons.
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stopped := context.AfterFunc(ctx, func() { cancel(errStopping) })
	c := &runningReading{Reading: reading, cancel: cancel}
	r.mu.Lock()
	r.running[reading.ID] = c
	r.mu.Unlock()
	work.Go(func() {
		defer cancel(nil)
		defer stopped()
		r.prepare(own, c)
		limited, release := context.WithTimeout(own, r.cfg.ReadTimeout)
		defer release()
		r.service.read(limited, reading, r.cfg.RetryPause)
		r.mu.Lock()
		if r.running[reading.ID] == c {
			delete(r.running, reading.ID)
		}
		r.mu.Unlock()
		r.wake()
	})
}

// prepare waits until the reader of the file's format is ready. This time does not count towards the duration of the
// reading. If the preparation fails, the reading fails too.
func (r *readers) prepare(ctx context.Context, c *runningReading) {
	if err := r.service.extractor.Prepare(ctx, c.Filename); err != nil && ctx.Err() == nil {
		r.service.log.WarnContext(ctx, "datasource: preparing to read files failed", "err", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c.began = time.Now()
}

// keep renews the leases of the readings on this server until the context is canceled. It cancels readings that were
// deleted or taken over by another server.
func (r *readers) keep(ctx context.Context) {
	tick := time.NewTicker(r.cfg.Poll)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := r.renew(ctx); err != nil && ctx.Err() == nil {
			r.service.log.WarnContext(ctx, "datasource: renewing leases failed", "err", err)
		}
	}
}

// abandon cancels the reading of a data source if it runs on this server.
func (r *readers) abandon(id uuid.UUID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.running[id]; c != nil {
		c.cancel(errLost)
	}
}

func (r *readers) renew(ctx context.Context) error {
	r.mu.Lock()
	held := make([]Reading, 0, len(r.running))
	for _, c := range r.running {
		held = append(held, c.Reading)
	}
	r.mu.Unlock()
	if len(held) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout.Store)
	defer cancel()
	lost, err := r.service.store.RenewReadings(ctx, held, r.cfg.Lease)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range held {
		if c := r.running[h.ID]; c != nil && c.Number == h.Number && slices.Contains(lost, h.ID) {
			c.cancel(errLost)
		}
	}
	return nil
}
