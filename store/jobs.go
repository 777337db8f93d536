package store

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
)

// Jobs are River's. Its clients have connections of their own: it waits for notifications on one of them, and the pool's
// connections pass theirs on to us.
const (
	jobConns     = 3
	jobWorkers   = 2 // Of a server. A file may take ten times its size of memory while it is read.
	jobTimeout   = time.Minute
	jobRescue    = jobTimeout + 15*time.Second // After it, a job whose server has died is begun again.
	jobGrace     = time.Second                 // For jobs that are under way when the server stops.
	jobCooldown  = 5 * time.Millisecond
	jobPoll      = time.Second // Where nobody is told of new jobs, as behind some poolers.
	jobRetention = time.Hour
	jobPause     = 2 * time.Second // Before a client that could not be started is tried again.
)

// readSource is the job that reads a data source.
type readSource struct {
	ID uuid.UUID `json:"id"`
}

// Kind implements river.JobArgs.
func (readSource) Kind() string { return "read_data_source" }

// sourceReader gives the job to its worker.
type sourceReader struct {
	river.WorkerDefaults[readSource]
	worker datasource.Worker
}

// Work implements river.Worker.
func (r *sourceReader) Work(ctx context.Context, job *river.Job[readSource]) error {
	return r.worker.ReadSource(ctx, job.Args.ID)
}

// newInserter returns a client that only adds jobs, within transactions.
func newInserter() (*river.Client[pgx.Tx], error) {
	return river.NewClient(riverpgxv5.New(nil), &river.Config{})
}

// WorkSources implements datasource.Store.
func (db *DB) WorkSources(ctx context.Context, worker datasource.Worker, log *slog.Logger) {
	for ctx.Err() == nil {
		if err := db.workSources(ctx, worker, log); err != nil && ctx.Err() == nil {
			log.Warn("data sources are read later: the jobs cannot be begun", "err", err)
			select {
			case <-time.After(jobPause):
			case <-ctx.Done():
			}
		}
	}
}

// workSources works until the context ends, unless it cannot begin.
func (db *DB) workSources(ctx context.Context, worker datasource.Worker, log *slog.Logger) error {
	cfg := db.pool.Config()
	cfg.MaxConns, cfg.MinConns, cfg.MinIdleConns = jobConns, 0, 0
	cfg.AfterConnect = nil
	cfg.ConnConfig.RuntimeParams["application_name"] += " jobs"
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer pool.Close()
	workers := river.NewWorkers()
	river.AddWorker(workers, &sourceReader{worker: worker})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: jobWorkers}}, Workers: workers, Logger: slog.New(troubles{log.Handler()}),
		FetchCooldown: jobCooldown, FetchPollInterval: jobPoll, JobTimeout: jobTimeout, RescueStuckJobsAfter: jobRescue,
		SoftStopTimeout: jobGrace, CompletedJobRetentionPeriod: jobRetention,
	})
	if err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return err
	}
	<-client.Stopped()
	return nil
}

// troubles is a handler that passes on warnings and errors.
type troubles struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h troubles) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h troubles) WithAttrs(attrs []slog.Attr) slog.Handler {
	return troubles{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h troubles) WithGroup(name string) slog.Handler { return troubles{h.Handler.WithGroup(name)} }

// enqueueReading has a data source read once the transaction is committed.
func (db *DB) enqueueReading(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	_, err := db.jobs.InsertTx(ctx, tx, readSource{ID: id}, nil)
	return err
}

// migrateJobs brings River's tables up to date, each step in a transaction. Servers take turns by a lock of the connection.
func (db *DB) migrateJobs(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock(hashtext('tsumugi jobs'))`); err != nil {
		return err
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(db.pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("jobs: %w", err)
	}
	return nil
}
