package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/postgres"
)

// Limits of the HTTP server. There is no limit for a whole response: streams are long. Bodies have a limit of their
// own.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// How long a stop may take: 35 s in all, whatever does not answer any more.
const (
	// From the signal to the end of the database, which gets what the others have left.
	stopLimit       = 34 * time.Second
	generationGrace = 30 * time.Second // For the answers that are being written.
	spread          = 5 * time.Second  // Between the first client that is told to come back, and the last.
	streamGrace     = time.Second      // For streams whose answer is over or handed over.
	requestGrace    = 2 * time.Second  // For requests that are under way.
	closeGrace      = 2 * time.Second  // For telling other servers and collectors the last.
	databaseGrace   = 10 * time.Second // For the database at most,
	databaseLeast   = time.Second      // and at least. One of our own that takes longer is recovered by the next start.
)

// The embedded user pool, as its clients know it. AWS's pools are named in the same way.
const (
	region   = "ap-northeast-1"
	poolID   = region + "_Tsumugi00"
	clientID = "tsumugi0web0client0000000"
	poolPath = "/pool/"
)

// logOutput is where logs go.
type logOutput struct{ io.Writer }

type serveCommand struct {
	config `embed:""`
}

// Run serves until the context ends, and then stops in order: nothing that is under way is lost.
func (c *serveCommand) Run(ctx context.Context, out *output, logs *logOutput) (err error) {
	log := c.logger(logs)
	c.warn(log)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("--listen (TSUMUGI_LISTEN) %s: %w", c.Listen, err)
	}
	defer func() { _ = listener.Close() }() // The server has closed it, unless the start failed.

	db, err := c.openDatabase(ctx, log)
	if err != nil {
		return err
	}
	var end time.Time // Zero before the stop.
	defer func() { err = errors.Join(err, db.close(end)) }()
	s, err := c.wire(ctx, db.DB, listener.Addr(), out, log)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.chat.Start(ctx); err != nil {
		return err
	}
	stop := s.serve(listener)
	if err = printWelcome(out, c.publicURL(listener.Addr()), s.made); err == nil {
		select {
		case <-ctx.Done():
		case err = <-s.failed:
		case <-db.gone:
			err = errDatabaseGone // Its own error comes with its closing.
		}
	}
	end = time.Now().Add(stopLimit)
	log.Info("stopping", "answers_being_written", s.chat.Stats().Running)
	stop()
	return err
}

// database is the database, with the server that runs it if that is one of our own.
type database struct {
	*store.DB
	server *postgres.Server // Nil where DATABASE_URL names the database.
	gone   <-chan struct{}  // Closed if our own server cannot be kept running. Nil where there is none.
}

var errDatabaseGone = errors.New("the database of our own cannot be kept running")

// openDatabase connects to the configured database, or starts one of our own, and brings its schema up to date.
func (c *serveCommand) openDatabase(ctx context.Context, log *slog.Logger) (*database, error) {
	db, dsn := &database{}, c.DatabaseURL
	if dsn == "" {
		server, err := postgres.Start(ctx, postgres.Config{
			DataDir: c.databaseDir(), BinDir: c.PostgresBin, Durable: true, Logger: log.With("part", "postgres"),
		})
		if err != nil {
			return nil, err
		}
		db.server, db.gone, dsn = server, server.Done(), server.DSN()
	}
	var err error
	if db.DB, err = store.Open(ctx, dsn); err != nil {
		return nil, errors.Join(err, db.close(time.Time{}))
	}
	if err := db.Migrate(ctx); err != nil {
		return nil, errors.Join(err, db.close(time.Time{}))
	}
	return db, nil
}

// close ends the connections and, if it is our own, the server, until a time that is zero where there is no hurry.
func (db *database) close(end time.Time) error {
	grace := databaseGrace
	if !end.IsZero() {
		grace = min(grace, max(databaseLeast, time.Until(end)))
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if db.DB != nil {
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			db.Close() // Waits for connections that were given up, and for a database that does not answer a long time.
		}()
		select {
		case <-closed:
		case <-ctx.Done():
		}
	}
	if db.server == nil {
		return nil
	}
	return errors.Join(db.server.Err(), db.server.Stop(ctx))
}

type migrateCommand struct {
	DatabaseURL string `env:"DATABASE_URL" required:"" placeholder:"URL" help:"PostgreSQL to migrate, as postgres://user:password@host/name."`
}

func (c *migrateCommand) Run(ctx context.Context, out *output) error {
	db, err := store.Open(ctx, c.DatabaseURL)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	number, err := db.SchemaVersion(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "The schema is at version %d.\n", number)
	return err
}
