package datasource

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/work"
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

	// Changed and Deleted are called after a change of a data source is committed. They are called concurrently and must
	// not block. Changes of one data source may arrive out of order; the record with the higher Revision is newer. By
	// default, changes are not reported.
	Changed func(owner identity.Owner, source Source)
	Deleted func(owner identity.Owner, id uuid.UUID)
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
	if c.Changed == nil {
		c.Changed = func(identity.Owner, Source) {}
	}
	if c.Deleted == nil {
		c.Deleted = func(identity.Owner, uuid.UUID) {}
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

// errInterrupted is the cause of canceling a reading for another person's file.
var errInterrupted = errors.New("datasource: interrupted for another person's file")

// readers read queued files with limited concurrency.
//
// The store selects the next file for all servers. A slow file must not delay other people: each server reserves one
// place for files that are not known to be slow. If slow files nevertheless occupy all places, because they were not
// known, readers interrupt the most recently started one for a person without a running reading. This happens at most
// once for each file, because the file is known to be slow afterwards.
type readers struct {
	*work.Pool[*runningReading]
	service *Service
	cfg     Config
	mu      sync.Mutex // Guards the fields of running readings.
}

// runningReading is a reading in progress on this server.
type runningReading struct {
	Reading
	began        time.Time // Zero during preparation. Guarded by the mu of readers.
	interrupting bool      // It is being interrupted for another file. Guarded by the mu of readers.
}

func newReaders(s *Service, cfg Config) *readers {
	r := &readers{service: s, cfg: cfg}
	r.Pool = work.NewPool(s.group, work.Queue[*runningReading]{
		Lease: work.Lease{Duration: cfg.Lease, Renewal: cfg.Poll}, Poll: cfg.Poll,
		Claim: r.claim, Renew: r.renew, Run: r.run,
		ID:           func(c *runningReading) uuid.UUID { return c.ID },
		ClaimFailure: "datasource: claiming the next file failed, retrying",
		RenewFailure: "datasource: renewing leases failed",
	})
	return r
}

// claim claims a reading. If all places are occupied, it may interrupt a reading instead.
func (r *readers) claim(ctx context.Context) ([]*runningReading, error) {
	free, quick := r.room()
	if free <= 0 {
		return nil, r.makeRoom(ctx)
	}
	reading, found, err := r.service.store.ClaimReading(ctx, quick, r.cfg.Lease)
	if err != nil || !found {
		return nil, err
	}
	return []*runningReading{{Reading: reading}}, nil
}

func (r *readers) renew(ctx context.Context, held []*runningReading, lease time.Duration) ([]uuid.UUID, error) {
	readings := make([]Reading, len(held))
	for i, c := range held {
		readings[i] = c.Reading
	}
	return r.service.store.RenewReadings(ctx, readings, lease)
}

// room returns the number of free places, and whether they are reserved for quick files.
func (r *readers) room() (free int, quick bool) {
	jobs := r.Jobs()
	r.mu.Lock()
	defer r.mu.Unlock()
	slow := 0
	for _, job := range jobs {
		if r.isSlow(job.Value) {
			slow++
		}
	}
	return r.cfg.Workers - len(jobs), slow >= max(1, r.cfg.Workers-1)
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
	waits, err := r.service.store.HasWaitingReading(ctx)
	if err != nil || !waits {
		return err
	}
	if job := r.last(); job != nil {
		r.mu.Lock()
		job.Value.interrupting = true
		r.mu.Unlock()
		job.Cancel(errInterrupted)
	}
	return nil
}

// last returns the most recently started reading that may be interrupted. It returns nil if a reading is already being
// interrupted, or if one is quick.
func (r *readers) last() (last *work.Job[*runningReading]) {
	jobs := r.Jobs()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, job := range jobs {
		c := job.Value
		if c.interrupting || !r.isSlow(c) {
			return nil
		}
		if !c.Slow && (last == nil || c.began.After(last.Value.began)) {
			last = job
		}
	}
	return last
}

// run reads a file.
func (r *readers) run(ctx context.Context, job *work.Job[*runningReading]) {
	r.prepare(ctx, job.Value)
	ctx, cancel := context.WithTimeout(ctx, r.cfg.ReadTimeout)
	defer cancel()
	r.service.read(ctx, job.Value.Reading, r.cfg.RetryPause)
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

// abandon cancels the reading of a data source if it runs on this server.
func (r *readers) abandon(id uuid.UUID) {
	for _, job := range r.Jobs() {
		if job.Value.ID == id {
			job.Cancel(work.ErrLost)
		}
	}
}
