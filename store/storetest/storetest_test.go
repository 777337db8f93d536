package storetest_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/leak"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// childEnv makes the test binary act as a test process that gets killed.
const childEnv = "TSUMUGI_TEST_STORETEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(m.Run()) // Without Suite, like most packages.
	}
	leak.Main(storetest.Suite{M: m})
}

func TestDatabasesAreSeparate(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			dsn := storetest.DSN(t)
			t.Logf("database after %s", time.Since(begin))
			conn, err := pgx.Connect(t.Context(), dsn)
			must.Succeed(t, err)
			defer func() { _ = conn.Close(context.Background()) }()
			var n int
			err = conn.QueryRow(t.Context(), `
				WITH added AS (INSERT INTO organizations (id, name) VALUES (gen_random_uuid(), 'x') RETURNING id)
				SELECT (SELECT count(*) FROM organizations) + (SELECT count(*) FROM added)`).Scan(&n)
			if err != nil || n != 1 {
				t.Errorf("%d organizations, %v, want 1", n, err)
			}
		})
	}
}

// TestChild runs in a process that another test kills. It prints the location of its server and waits.
func TestChild(t *testing.T) {
	mode := os.Getenv(childEnv)
	if mode == "" {
		return // Not the child process.
	}
	dsn := storetest.DSN(t)
	fmt.Printf("\nDSN %s\n", dsn)
	if mode == "wait" {
		time.Sleep(time.Hour) // Without cgo, an empty select is reported as a deadlock.
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"exit", "wait"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.v")
			cmd.Env = append(os.Environ(), childEnv+"="+mode)
			var out syncBuffer
			cmd.Stdout = &out
			must.Succeed(t, cmd.Start())
			defer func() { _ = cmd.Process.Kill() }()
			var dir string
			must.Become(t, "the child's server", func() bool {
				_, rest, found := strings.Cut(out.String(), "host=%2F")
				host, _, complete := strings.Cut(rest, "%2Frun&")
				dir = "/" + strings.ReplaceAll(host, "%2F", "/")
				return found && complete
			})
			if _, err := os.Stat(dir); err != nil && mode == "wait" {
				t.Fatalf("the child's folder: %v", err)
			}
			if mode == "wait" {
				_ = cmd.Process.Signal(syscall.SIGKILL)
			}
			_ = cmd.Wait()
			must.Become(t, "the folder's removal", func() bool {
				_, err := os.Stat(dir)
				return os.IsNotExist(err)
			})
		})
	}
}
