package datasource

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Config tunes how files are read. The zero value of a field means its default.
type Config struct {
	Places int           // Files that this server reads at once. Default 2.
	Person int64         // Storage limit of a person, in bytes. Default 5 GiB.
	Quick  time.Duration // A longer reading may be interrupted for another person's file. Default 2 s.
	Limit  time.Duration // Time limit of a reading, storing it included. Default 12 min.
	Lease  time.Duration // How long a server may be silent before others take over its readings. Default 5 s.
	Poll   time.Duration // How often this server looks for missed notifications, and renews leases. Default 1 s.
	Told   time.Duration // Minimum interval between two progress events of a file. Default 500 ms.
	Pause  time.Duration // Before the second attempt; later ones wait longer. Default 1 s.
	Cache  int           // Memory for cached indexes, in bytes. Default 64 MiB.

	Embedding Embedding // What passages mean. By default they are found by their words alone.
	// How much of vectors is kept in memory, and compared with a question, in bytes. Default 256 MiB.
	Vectors int
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&c.Quick, 2 * time.Second},
		{&c.Limit, 12 * time.Minute},
		{&c.Lease, 5 * time.Second},
		{&c.Poll, time.Second},
		{&c.Told, 500 * time.Millisecond},
		{&c.Pause, time.Second},
		{&c.Embedding.Rest, 15 * time.Second},
	} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	if c.Person <= 0 {
		c.Person = 5 << 30
	}
	if c.Places <= 0 {
		c.Places = 2
	}
	if c.Cache <= 0 {
		c.Cache = 64 << 20
	}
	if c.Vectors <= 0 {
		c.Vectors = 256 << 20
	}
	return c
}

// Why a reading ends before its time.
var (
	errGaveWay  = errors.New("datasource: interrupted for another person's file")
	errStopping = errors.New("datasource: the server stops")
	errLost     = errors.New("datasource: deleted, or taken over by another server")
)

// readers read queued files, a few at a time.
//
// The store decides which file is next, for all servers together. A slow file delays nobody: one place of each server
// is reserved for files that are not known to be slow. When slow files hold all places nevertheless, because they were
// not known, the one that began last is interrupted for a person without a running reading. That happens to a file
// once, because it is known to be slow afterwards.
type readers struct {
	service *Service
	cfg     Config
	woken   chan struct{} // Holds a value while there may be something to read.

	mu      sync.Mutex
	running map[uuid.UUID]*current // Guarded by mu.
}

// current is a reading that runs here.
type current struct {
	Reading
	began  time.Time // Zero while it is prepared. Guarded by the mu of readers.
	cancel context.CancelCauseFunc
	leaves bool // It is being interrupted for another file. Guarded by the mu of readers.
}

func newReaders(s *Service, cfg Config) *readers {
	return &readers{service: s, cfg: cfg, woken: make(chan struct{}, 1), running: make(map[uuid.UUID]*current)}
}

// wake wakes run.
func (r *readers) wake() {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// run reads until the context ends, and waits for what it has begun.
func (r *readers) run(ctx context.Context) {
	var work sync.WaitGroup
	defer work.Wait()
	tick := time.NewTicker(r.cfg.Poll)
	defer tick.Stop()
	for {
		if err := r.begin(ctx, &work); err != nil && ctx.Err() == nil {
			r.service.log.WarnContext(ctx, "the next data source could not be claimed and is tried again", "err", err)
		}
		select {
		case <-tick.C:
		case <-r.woken:
		case <-ctx.Done():
			return
		}
	}
}

// begin begins readings while there is room.
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
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return r.service.store.NextReading(ctx, quick, r.cfg.Lease)
}

// room returns how many places are free, and whether they are for quick files only.
func (r *readers) room() (free int, quick bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	slow := 0
	for _, c := range r.running {
		if r.isSlow(c) {
			slow++
		}
	}
	return r.cfg.Places - len(r.running), slow >= max(1, r.cfg.Places-1)
}

// isSlow reports whether a reading is known to be slow. The caller holds mu.
func (r *readers) isSlow(c *current) bool {
	return c.Slow || !c.began.IsZero() && time.Since(c.began) >= r.cfg.Quick
}

// makeRoom interrupts a slow reading if all are slow and a person without a running reading waits.
func (r *readers) makeRoom(ctx context.Context) error {
	if r.last() == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	waits, err := r.service.store.AnyoneWaits(ctx)
	if err != nil || !waits {
		return err
	}
	if c := r.last(); c != nil {
		r.mu.Lock()
		c.leaves = true
		r.mu.Unlock()
		c.cancel(errGaveWay)
	}
	return nil
}

// last returns the reading that began last of those that may be interrupted. There is none while another one is being
// interrupted, or is quick.
func (r *readers) last() (last *current) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.running {
		if c.leaves || !r.isSlow(c) {
			return nil
		}
		if !c.Slow && (last == nil || c.began.After(last.began)) {
			last = c
		}
	}
	return last
}

// start reads a file in a goroutine of its own.
func (r *readers) start(ctx context.Context, reading Reading, work *sync.WaitGroup) {
	// The cause tells the end of ctx from other reasons.
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stopped := context.AfterFunc(ctx, func() { cancel(errStopping) })
	c := &current{Reading: reading, cancel: cancel}
	r.mu.Lock()
	r.running[reading.ID] = c
	r.mu.Unlock()
	work.Go(func() {
		defer cancel(nil)
		defer stopped()
		r.prepare(own, c)
		limited, release := context.WithTimeout(own, r.cfg.Limit)
		defer release()
		r.service.read(limited, reading, r.cfg.Pause)
		r.mu.Lock()
		if r.running[reading.ID] == c {
			delete(r.running, reading.ID)
		}
		r.mu.Unlock()
		r.wake()
	})
}

// prepare waits until files of a reading's format can be read. That time does not count for the reading: it is not slow
// because of it. If it fails, so does the reading.
func (r *readers) prepare(ctx context.Context, c *current) {
	if err := r.service.extractor.Prepare(ctx, c.Filename); err != nil && ctx.Err() == nil {
		r.service.log.WarnContext(ctx, "datasource: preparing to read files failed", "err", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c.began = time.Now()
}

// keep renews the leases of the readings of this server until the context ends. It cancels those that were deleted, or
// taken over by another server.
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
			r.service.log.WarnContext(ctx, "leases of readings could not be renewed", "err", err)
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
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
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
