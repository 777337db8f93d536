package storetest_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/store/postgres"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// foreignServer starts a server for test processes, and returns its connection string.
func foreignServer(t *testing.T) string {
	t.Helper()
	dir := must.Get(os.MkdirTemp("/tmp", "tsumugi-foreign-*"))(t)
	must.Succeed(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	srv, err := postgres.Start(t.Context(), postgres.Config{DataDir: dir, Logger: slog.New(slog.DiscardHandler)})
	must.Succeed(t, err)
	t.Cleanup(func() { _ = srv.Stop(context.Background()) })
	return srv.DSN()
}

func TestForeignServerIsUsedAndSwept(t *testing.T) {
	t.Parallel()
	dsn := foreignServer(t)
	conn := must.Get(pgx.Connect(t.Context(), dsn))(t)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	databases := func(prefix string) []string {
		rows, err := conn.Query(t.Context(), `SELECT datname FROM pg_database WHERE starts_with(datname, $1)`, prefix)
		must.Succeed(t, err)
		names := must.Get(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
		return names
	}
	child := func(mode string) (*exec.Cmd, *syncBuffer) {
		out := new(syncBuffer)
		cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.v")
		cmd.Env = append(os.Environ(), childEnv+"="+mode, "TSUMUGI_TEST_DATABASE_URL="+dsn)
		cmd.Stdout, cmd.Stderr = out, out
		must.Succeed(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		return cmd, out
	}

	killed, out := child("wait")
	must.Become(t, "the child's database", func() bool { return strings.Contains(out.String(), "DSN ") })
	if n := len(databases("tsumugi_test_")); n != 1 {
		t.Fatalf("%d test databases, want 1", n)
	}
	busy, out := child("wait") // The databases of a running process stay.
	must.Become(t, "the second child's database", func() bool { return strings.Contains(out.String(), "DSN ") })
	if n := len(databases("tsumugi_test_")); n != 2 {
		t.Errorf("%d test databases, want 2", n)
	}

	_ = killed.Process.Kill()
	_ = killed.Wait()
	must.Become(t, "a sweep", func() bool {
		next, out := child("exit")
		if err := next.Wait(); err != nil {
			t.Fatalf("child: %v\n%s", err, out)
		}
		// The server may notice the end of the killed process a moment later.
		return len(databases("tsumugi_test_")) == 1
	})
	if n := len(databases("tsumugi_template_")); n != 1 {
		t.Errorf("%d templates, want 1", n)
	}
	_ = busy.Process.Kill()
	_ = busy.Wait()
}
