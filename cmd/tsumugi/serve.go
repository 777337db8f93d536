package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsumugi-ai/tsumugi/api"
	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/identity"
	"github.com/tsumugi-ai/tsumugi/identity/pool"
	"github.com/tsumugi-ai/tsumugi/llm"
	"github.com/tsumugi-ai/tsumugi/llm/offline"
	"github.com/tsumugi-ai/tsumugi/org"
	"github.com/tsumugi-ai/tsumugi/skill"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/postgres"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/web"
)

// Limits of the HTTP server. There is no limit for a whole response: streams are long. Bodies have a limit of their own.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// How long a stop may take.
const (
	generationGrace = 30 * time.Second // For the answers that are being written.
	liveSpread      = 3 * time.Second  // Between the first live socket that is told to come back, and the last.
	requestGrace    = 5 * time.Second  // For requests that are under way.
	databaseGrace   = 10 * time.Second
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
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("--listen (TSUMUGI_LISTEN) %s: %w", c.Listen, err)
	}
	defer func() { _ = listener.Close() }() // The server has closed it, unless the start failed.

	db, err := c.openDatabase(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	s, err := c.wire(ctx, db.DB, listener.Addr(), log)
	if err != nil {
		return err
	}
	if err := s.chat.Start(ctx); err != nil {
		return err
	}
	stop := s.serve(listener, log)
	if err = printWelcome(out, c.publicURL(listener.Addr()), s.made); err == nil {
		select {
		case <-ctx.Done():
		case err = <-s.failed:
		case <-db.gone:
			err = errDatabaseGone // Its own error comes with its closing.
		}
	}
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
		return nil, errors.Join(err, db.close())
	}
	if err := db.Migrate(ctx); err != nil {
		return nil, errors.Join(err, db.close())
	}
	return db, nil
}

// close ends the connections and, if it is our own, the server.
func (db *database) close() error {
	if db.DB != nil {
		db.Close()
	}
	if db.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), databaseGrace)
	defer cancel()
	return errors.Join(db.server.Err(), db.server.Stop(ctx))
}

// server is everything that runs once the database is there.
type server struct {
	chat    *chat.Service
	notices *org.Service
	live    *api.Live
	handler http.Handler
	ready   *atomic.Bool
	made    []account // By this start.
	failed  chan error
}

// wire makes the domains and the API, and what the first start needs.
func (c *serveCommand) wire(ctx context.Context, db *store.DB, address net.Addr, log *slog.Logger) (*server, error) {
	issuer := c.publicURL(address) + poolPath + poolID
	users, err := pool.New(ctx, pool.Config{PoolID: poolID, ClientID: clientID, Issuer: issuer, Logger: log.With("part", "pool")}, db)
	if err != nil {
		return nil, err
	}
	if err := skill.Seed(ctx, db); err != nil {
		return nil, err
	}
	model, err := c.model(log.With("part", "model"), llm.Config{
		BaseURL: offline.BaseURL, Model: offline.ModelName, Transport: offline.NewTransport(offline.Config{Pace: offline.DefaultPace}),
	})
	if err != nil {
		return nil, fmt.Errorf("the model's settings (OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL): %w", err)
	}
	skills := skill.NewService(db, skill.Config{})
	feed, err := stream.NewFeed(nil)
	if err != nil {
		return nil, err
	}
	events := api.NewLiveEvents(feed)
	answers := chat.NewService(chat.Needs{
		Store: db, Skills: skills, Model: model, Hub: stream.NewHub(stream.HubConfig{}), Feed: feed, Log: log.With("part", "chat"),
		Events: events,
	}, chat.Config{Alone: c.DatabaseURL == ""})
	people := identity.NewService(db, identity.NewPoolVerifier(issuer, clientID, users.Keyfunc, time.Now), log)
	s := &server{
		chat: answers, notices: org.NewService(db, events, log.With("part", "org")),
		live:  api.NewLive(feed, people, log.With("part", "live"), api.LiveConfig{PublicURL: c.publicURL(address)}),
		ready: new(atomic.Bool), failed: make(chan error, 1),
	}
	s.handler, err = api.New(api.Services{
		Identity: people, Org: s.notices, Skill: skills, Chat: answers, Stream: stream.NewServer(stream.Config{}), Live: s.live,
		Pool: users.Handler(), App: web.App(),
		Ready: func(ctx context.Context) error {
			if !s.ready.Load() {
				return errStopping
			}
			return db.Ping(ctx)
		},
	}, api.Config{
		ClientID: clientID, Endpoint: poolPath, Region: region, Links: c.links(), TagManagerID: c.TagManagerID,
		ModelConnected: c.modelConnected(),
	}, log)
	if err != nil || !c.Demo {
		return s, err
	}
	// Last: passwords are shown once, and a start that fails shows none.
	s.made, err = makeDemo(ctx, db, users, c.DemoPassword)
	return s, err
}

var errStopping = errors.New("the server is stopping")

// serve answers requests until stop is called. stop returns when nothing is under way any more.
func (s *server) serve(listener net.Listener, log *slog.Logger) (stop func()) {
	base, cancel := context.WithCancel(context.Background())
	httpServer := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		BaseContext: func(net.Listener) context.Context { return base },
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	s.notices.Start()
	s.ready.Store(true)
	go func() {
		if err := httpServer.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	}()
	return func() {
		s.ready.Store(false)
		s.notices.Stop()
		ctx, done := context.WithTimeout(context.Background(), generationGrace)
		var live sync.WaitGroup
		live.Go(func() { _ = s.live.Drain(ctx, liveSpread) })
		s.chat.Stop(ctx)
		live.Wait()
		done()
		// No text is live any more; who waits for one is told to come back.
		cancel()
		ctx, done = context.WithTimeout(context.Background(), requestGrace)
		defer done()
		if err := httpServer.Shutdown(ctx); err != nil {
			log.Warn("requests were cut off", "err", err)
			_ = httpServer.Close()
		}
	}
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
