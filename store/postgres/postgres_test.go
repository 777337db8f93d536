package postgres_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/store/postgres"
	"github.com/tsumugi-ai/tsumugi/test/leak"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// childEnv makes the test binary act as a supervisor, so that a test can kill it.
const childEnv = "TSUMUGI_TEST_SUPERVISE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		superviseForParent(dir)
	}
	leak.Main(m)
}

func superviseForParent(dir string) {
	srv, err := postgres.Start(context.Background(), config(dir))
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println(srv.DSN())
	select {} // Until the parent kills this process.
}

func config(dir string) postgres.Config {
	return postgres.Config{
		DataDir:  dir,
		Settings: map[string]string{"shared_buffers": "16MB"},
		Logger:   slog.New(slog.DiscardHandler),
	}
}

// folder returns a new folder that other users can access, unlike t.TempDir. A server started by root runs as another
// user.
func folder(t *testing.T) string {
	t.Helper()
	dir := must.Get(os.MkdirTemp("/tmp", "tsumugi-pg-*"))(t)
	must.Succeed(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func start(t *testing.T, cfg postgres.Config) *postgres.Server {
	t.Helper()
	srv, err := postgres.Start(t.Context(), cfg)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(func() {
		_ = srv.Stop(context.Background()) // Tests that check the error have stopped it before.
	})
	return srv
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func serverPID(t *testing.T, dataDir string) int {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(dataDir, "cluster", "postmaster.pid")))(t)
	first, _, _ := strings.Cut(string(text), "\n")
	pid := must.Get(strconv.Atoi(first))(t)
	return pid
}

func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func write(t *testing.T, dsn, text string) {
	t.Helper()
	conn := connect(t, dsn)
	_, err := conn.Exec(t.Context(), `CREATE TABLE IF NOT EXISTS note (body text NOT NULL)`)
	if err == nil {
		_, err = conn.Exec(t.Context(), `INSERT INTO note (body) VALUES ($1)`, text)
	}
	must.Succeed(t, err)
	_ = conn.Close(t.Context())
}

func read(t *testing.T, dsn string) string {
	t.Helper()
	conn := connect(t, dsn)
	var text string
	must.Succeed(t, conn.QueryRow(t.Context(), `SELECT string_agg(body, ',') FROM note`).Scan(&text))
	_ = conn.Close(t.Context())
	return text
}

func TestStartsOnAnEmptyFolderAndAgain(t *testing.T) {
	t.Parallel()
	cfg := config(filepath.Join(folder(t), "data", "postgres"))
	cfg.Durable = true

	begin := time.Now()
	srv := start(t, cfg)
	t.Logf("first start: %s, PostgreSQL %s", time.Since(begin), srv.Version())
	conn := connect(t, srv.DSN())
	for query, want := range map[string]string{
		`SHOW server_encoding`:           "UTF8",
		`SHOW listen_addresses`:          "",
		`SHOW fsync`:                     "on",
		`SHOW data_checksums`:            "on",
		`SHOW timezone`:                  "UTC",
		`SELECT current_database()`:      "tsumugi",
		`SELECT current_user::text`:      "tsumugi",
		`SELECT ('つむぎ' ~ '^\w+$')::text`: "true", // False with the plain C locale.
		`SELECT string_agg(c, '' ORDER BY c) FROM (VALUES ('b'), ('ア'), ('B'), ('a')) v(c)`: "Babア",
	} {
		var got string
		if err := conn.QueryRow(t.Context(), query).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %q, %v, want %q", query, got, err, want)
		}
	}
	_ = conn.Close(t.Context())
	write(t, srv.DSN(), "一度目")
	if info, err := os.Stat(cfg.DataDir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("data folder: %v, %v, want mode 0700", info.Mode(), err)
	}

	begin = time.Now()
	if err := srv.Stop(t.Context()); err != nil {
		t.Fatalf("Stop: %v", err)
	}
	t.Logf("stop: %s", time.Since(begin))
	if _, err := os.Stat(filepath.Join(cfg.DataDir, "cluster", "postmaster.pid")); !os.IsNotExist(err) {
		t.Errorf("postmaster.pid after a clean stop: %v", err)
	}

	begin = time.Now()
	again := start(t, cfg)
	t.Logf("second start: %s", time.Since(begin))
	if got := read(t, again.DSN()); got != "一度目" {
		t.Errorf("after the second start: %q", got)
	}
}

func TestRefusesASecondServerOnTheSameFolder(t *testing.T) {
	t.Parallel()
	cfg := config(folder(t))
	srv := start(t, cfg)
	_, err := postgres.Start(t.Context(), cfg)
	if !errors.Is(err, postgres.ErrInUse) {
		t.Fatalf("second Start: %v, want ErrInUse", err)
	}
	if want := fmt.Sprintf("process %d", os.Getpid()); !strings.Contains(err.Error(), want) {
		t.Errorf("%q does not name %s", err, want)
	}
	write(t, srv.DSN(), "still there") // The first server still works.
}

// TestStopReleasesTheFolder stops a server while a child has the files of this process open, as between fork and exec.
func TestStopReleasesTheFolder(t *testing.T) {
	t.Parallel()
	cfg := config(folder(t))
	srv := start(t, cfg)
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Log("files cannot be found here; checking the ordinary case")
	}
	for _, file := range files {
		if to, err := os.Readlink("/proc/self/fd/" + file.Name()); err != nil ||
			to != filepath.Join(srv.DataDir(), "lock") {
			continue
		}
		fd := must.Get(strconv.Atoi(file.Name()))(t)
		again := must.Get(syscall.Dup(fd))(t)
		defer func() { _ = syscall.Close(again) }()
	}
	must.Succeed(t, srv.Stop(t.Context()))
	write(t, start(t, cfg).DSN(), "free")
}

func TestRestartsAKilledServer(t *testing.T) {
	t.Parallel()
	srv := start(t, config(folder(t)))
	write(t, srv.DSN(), "before")
	pid := serverPID(t, srv.DataDir())
	must.Succeed(t, syscall.Kill(pid, syscall.SIGKILL))
	begin := time.Now()
	must.Become(t, "a new server", func() bool {
		conn, err := pgx.Connect(t.Context(), srv.DSN())
		if err != nil {
			return false
		}
		defer func() { _ = conn.Close(t.Context()) }()
		return serverPID(t, srv.DataDir()) != pid
	})
	t.Logf("back after %s", time.Since(begin))
	if got := read(t, srv.DSN()); got != "before" {
		t.Errorf("after the crash: %q", got)
	}
	if err := srv.Err(); err != nil {
		t.Errorf("Err: %v", err)
	}
}

func TestGivesUpAfterManyCrashes(t *testing.T) {
	t.Parallel()
	srv := start(t, config(folder(t)))
	last := 0
	kill := func() bool {
		select {
		case <-srv.Done():
			return true
		default:
		}
		text, err := os.ReadFile(filepath.Join(srv.DataDir(), "cluster", "postmaster.pid"))
		lines := strings.Split(string(text), "\n")
		if err == nil && len(lines) > 7 && strings.TrimSpace(lines[7]) == "ready" {
			if pid, err := strconv.Atoi(lines[0]); err == nil && pid != last {
				last = pid
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		return false
	}
	must.Become(t, "the end", kill)
	if err := srv.Err(); err == nil || !strings.Contains(err.Error(), "unexpectedly") {
		t.Errorf("Err: %v", err)
	}
}

// child starts a process that supervises a server on dir and returns it with the server's DSN.
func child(t *testing.T, dir string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	out := must.Get(cmd.StdoutPipe())(t)
	must.Succeed(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "postgres://") {
		t.Fatalf("child: %q, %v", line, err)
	}
	return cmd, strings.TrimSpace(line)
}

func TestServerEndsWithItsSupervisor(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	cmd, _ := child(t, dir)
	pid := serverPID(t, dir)
	must.Succeed(t, cmd.Process.Kill())
	begin := time.Now()
	must.Become(t, "the server's end", func() bool { return !alive(pid) })
	t.Logf("gone after %s", time.Since(begin))
}

func TestR20_StartsAfterKillOfSupervisorAndServer(t *testing.T) {
	t.Parallel()
	for _, serverFirst := range []bool{false, true} {
		for _, both := range []bool{false, true} {
			t.Run(fmt.Sprintf("both=%v,serverFirst=%v", both, serverFirst), func(t *testing.T) {
				t.Parallel()
				dir := folder(t)
				cmd, dsn := child(t, dir)
				write(t, dsn, "committed")
				pid := serverPID(t, dir)
				if both && serverFirst {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
				_ = cmd.Process.Kill()
				if both && !serverFirst {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
				begin := time.Now()
				srv := restart(t, config(dir))
				t.Logf("recovered after %s", time.Since(begin))
				if got := read(t, srv.DSN()); got != "committed" {
					t.Errorf("after recovery: %q", got)
				}
			})
		}
	}
}

// restart starts a server directly after a kill. It retries, because the kernel may release the killed supervisor's
// lock late.
func restart(t *testing.T, cfg postgres.Config) *postgres.Server {
	t.Helper()
	var srv *postgres.Server
	must.Become(t, "a start", func() bool {
		var err error
		srv, err = postgres.Start(t.Context(), cfg)
		if err != nil && !errors.Is(err, postgres.ErrInUse) {
			t.Fatalf("Start: %v", err)
		}
		return err == nil
	})
	t.Cleanup(func() { _ = srv.Stop(context.Background()) })
	return srv
}

func TestStartsDespiteAPidFileOfAStranger(t *testing.T) {
	t.Parallel()
	cfg := config(folder(t))
	srv := start(t, cfg)
	write(t, srv.DSN(), "kept")
	path := filepath.Join(srv.DataDir(), "cluster", "postmaster.pid")
	text := must.Get(os.ReadFile(path))(t)
	must.Succeed(t, srv.Stop(t.Context()))
	// After a reboot the pid in the file may belong to any process, such as this one.
	_, rest, _ := strings.Cut(string(text), "\n")
	must.Succeed(t, os.WriteFile(path, []byte(fmt.Sprintf("%d\n%s", os.Getpid(), rest)), 0o644))
	if got := read(t, start(t, cfg).DSN()); got != "kept" {
		t.Errorf("%q", got)
	}
}

func TestInterruptedFirstStartIsRepeated(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	must.Succeed(t, os.MkdirAll(filepath.Join(dir, "cluster.part", "base"), 0o700))
	write(t, start(t, config(dir)).DSN(), "fine")
}

func TestStopWithoutTimeEndsTheServerAtOnce(t *testing.T) {
	t.Parallel()
	cfg := config(folder(t))
	srv := start(t, cfg)
	write(t, srv.DSN(), "kept")
	pid := serverPID(t, srv.DataDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := srv.Stop(ctx); err != nil {
		t.Fatalf("Stop: %v", err)
	}
	if alive(pid) {
		t.Error("the server still runs")
	}
	if got := read(t, start(t, cfg).DSN()); got != "kept" {
		t.Errorf("after recovery: %q", got)
	}
}
