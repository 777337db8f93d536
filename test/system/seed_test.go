package system_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/tsumugi-ai/tsumugi/store/postgres"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/cluster"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// seed is the database after a first start of the program under test. It is a global variable because TestMain and all
// tests share it.
var seed seedData

// seedData is a stopped database with the schema and the demo users. The first test that needs it creates it. All
// servers start on copies, because a first start takes five seconds of processor time.
type seedData struct {
	once sync.Once
	dir  string // The folder of the database.
	err  error
}

// copyTo copies the database into the data folder of servers that have not started yet.
func (s *seedData) copyTo(t *testing.T, data string) {
	t.Helper()
	program, environ := built.path(t), commonSettings(t)
	s.once.Do(func() { s.err = s.create(program, environ) })
	must.Succeed(t, s.err)
	copied := filepath.Join(data, "postgres", "cluster")
	must.Succeed(t, os.CopyFS(copied, os.DirFS(filepath.Join(s.dir, "postgres", "cluster"))))
	must.Succeed(t, os.Chmod(copied, 0o700)) // PostgreSQL requires it.
}

func (s *seedData) create(program string, environ []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	var err error
	if s.dir, err = os.MkdirTemp(storetest.TempRoot(), "tsumugi-system-*"); err != nil {
		return err
	}
	// The database's account must pass through the folder.
	if err := os.Chmod(s.dir, 0o755); err != nil { //nolint:gosec // The folder in it is private.
		return err
	}
	database, err := postgres.Start(ctx, postgres.Config{
		DataDir: filepath.Join(s.dir, "postgres"), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	return errors.Join(s.fill(ctx, program, append(environ, "DATABASE_URL="+database.DSN())), database.Stop(ctx))
}

// fill starts a server, which creates the schema and the demo users, and stops it.
func (s *seedData) fill(ctx context.Context, program string, environ []string) error {
	address, err := cluster.FreeAddress(ctx, cluster.Loopback(ctx))
	if err != nil {
		return err
	}
	server, err := cluster.Launch(ctx, cluster.ProcessConfig{
		Program: program, Listen: address, Data: filepath.Join(s.dir, "data"), Log: filepath.Join(s.dir, "server.log"),
		Environ: environ,
	})
	if err != nil {
		return err
	}
	return server.Stop(ctx)
}

func (s *seedData) remove() error {
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}
