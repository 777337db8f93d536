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

// Limits of the HTTP server. There is no time limit for a whole response, because streams are long. Handlers set
// deadlines for request bodies.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// Bounds of a graceful stop. It takes at most 35 s in total, even if clients or the database no longer respond.
const (
	// From the signal to the end of the database, which gets the time that is left.
	stopLimit       = 34 * time.Second
	generationGrace = 30 * time.Second // For answers in progress.
	spread          = 5 * time.Second  // Period over which the server asks its clients to reconnect.
	streamGrace     = time.Second      // For streams whose answer has ended or was handed over.
	requestGrace    = 2 * time.Second  // For other requests in progress.
	closeGrace      = 2 * time.Second  // For the last messages to other servers and collectors.
	databaseGrace   = 10 * time.Second // Upper bound for the database.
	databaseLeast   = time.Second      // Lower bound. An embedded database recovers at the next start.
)

// Ids of the embedded user pool and its app client, in the format of AWS's pools.
const (
	region   = "ap-northeast-1"
	poolID   = region + "_Tsumugi00"
	clientID = "tsumugi0web0client0000000"
	poolPath = "/pool/"
)

// logOutput is the writer for logs.
type logOutput struct{ io.Writer }

type serveCommand struct {
	config `embed:""`
}

// Run serves until ctx is cancelled, and then stops gracefully without losing work in progress.
func (c *serveCommand) Run(ctx context.Context, env variables, out *output, logs *logOutput) (err error) {
	log := c.logger(logs)
	offered, err := c.catalog(env)
	if err != nil {
		return fmt.Errorf("--models (TSUMUGI_MODELS) %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("--listen (TSUMUGI_LISTEN) %s: %w", c.Listen, err)
	}
	defer func() { _ = listener.Close() }() // The server has closed it already, unless the start failed.

	db, err := c.openDatabase(ctx, log)
	if err != nil {
		return err
	}
	var end time.Time // Zero before the stop.
	defer func() { err = errors.Join(err, db.close(end)) }()
	s, err := c.wire(ctx, db.DB, listener.Addr(), offered, out, log)
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
			err = errDatabaseGone // Closing returns its cause.
		}
	}
	end = time.Now().Add(stopLimit)
	log.Info("stopping", "answers_being_written", s.chat.Stats().Running)
	stop()
	return err
}

// database is the connection to the database, with the server process if the database is embedded.
type database struct {
	*store.DB
	server *postgres.Server // Nil if DATABASE_URL is set.
	gone   <-chan struct{}  // Closed if the embedded server cannot be kept running. Nil for an external database.
}

var errDatabaseGone = errors.New("the database of our own cannot be kept running")

// openDatabase connects to the configured database, or starts the embedded one, and migrates it.
func (c *serveCommand) openDatabase(ctx context.Context, log *slog.Logger) (*database, error) {
	db, err := c.open(ctx, c.Data, log)
	if err != nil {
		return nil, err
	}
	db.DB = db.WithSecrets(c.SecretKey)
	if err := db.Migrate(ctx); err != nil {
		return nil, errors.Join(err, db.close(time.Time{}))
	}
	return db, nil
}

// databaseSettings configures the database.
type databaseSettings struct {
	DatabaseURL string `env:"DATABASE_URL" placeholder:"URL" help:"PostgreSQL to use, as postgres://user:password@host/name. Default: an embedded server with its data in the data folder."`
	PostgresBin string `env:"TSUMUGI_POSTGRES_BIN" type:"path" placeholder:"DIR" help:"Folder with the programs postgres and initdb, for the embedded database. Default: the server searches the system for them."`
}

// open connects to the configured database, or starts the embedded one in a data folder.
func (c *databaseSettings) open(ctx context.Context, data string, log *slog.Logger) (*database, error) {
	db, dsn := &database{}, c.DatabaseURL
	if dsn == "" {
		server, err := postgres.Start(ctx, postgres.Config{
			DataDir: databaseDir(data), BinDir: c.PostgresBin, Durable: true,
			Logger: log.With("part", "postgres"),
		})
		if err != nil {
			return nil, err
		}
		db.server, db.gone, dsn = server, server.Done(), server.DSN()
	}
	opened, err := store.Open(ctx, dsn)
	if err != nil {
		return nil, errors.Join(err, db.close(time.Time{}))
	}
	db.DB = opened
	return db, nil
}

// close closes the connections and stops the embedded server before the time end. A zero end means no deadline.
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
			db.Close() // Waits for abandoned connections and for a database that does not respond.
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
