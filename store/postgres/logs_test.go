package postgres_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// entry is a line of the log.
type entry struct {
	level             slog.Level
	message, severity string
}

// recorder records log entries.
type recorder struct {
	slog.Handler
	mu      sync.Mutex
	entries []entry // Guarded by mu.
}

func newRecorder() *recorder {
	return &recorder{Handler: slog.DiscardHandler}
}

func (*recorder) Enabled(context.Context, slog.Level) bool { return true }

func (r *recorder) Handle(_ context.Context, record slog.Record) error {
	e := entry{level: record.Level, message: record.Message}
	record.Attrs(func(a slog.Attr) bool {
		if a.Key == "severity" {
			e.severity = a.Value.String()
		}
		return true
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, e)
	return nil
}

// with returns the entries that contain a text.
func (r *recorder) with(text string) []entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(func(yield func(entry) bool) {
		for _, e := range r.entries {
			if strings.Contains(e.message, text) && !yield(e) {
				return
			}
		}
	})
}

// TestMultilineMessages checks that continuation lines have the level of their message. It also checks that users'
// texts, which occur in statements and details, are never logged, whatever the server's configuration is.
func TestMultilineMessages(t *testing.T) {
	t.Parallel()
	log, cfg := newRecorder(), config(folder(t))
	cfg.Logger = slog.New(log)
	cfg.Settings["log_min_messages"], cfg.Settings["log_min_error_statement"] = "notice", "error"
	cfg.Settings["log_parameter_max_length_on_error"] = "-1"
	srv := start(t, cfg)
	conn := connect(t, srv.DSN())
	for sql, fails := range map[string]bool{
		`DO $$ BEGIN RAISE WARNING E'warned one\nwarned two\nFATAL:  warned three'; END $$`: false,
		`DO $$ BEGIN RAISE LOG E'said one\nsaid two'; END $$`:                               false,
		`DO $$ BEGIN RAISE LOG '%', 'long' || repeat('x', 20000) || 'end of it'; END $$`:    false,
		"SELECT 1\n/\n0,\n'秘密の本文'":                                                          true,
		`DO $$ BEGIN RAISE EXCEPTION E'failed one\nfailed two'
			USING DETAIL = E'Failing row contains\n(秘密の本文)', HINT = E'hint one\nhint two'; END $$`: true,
	} {
		if _, err := conn.Exec(t.Context(), sql); (err != nil) != fails {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	if _, err := conn.Exec(t.Context(), `SELECT 1 / length($1) FROM (VALUES (1)) v WHERE $1 = '' OR $1 <> 'x'
			AND 1 / (length($1) - 5) = 0`, "秘密の本文"); err == nil {
		t.Fatal("no error")
	}
	// PostgreSQL logs the statement of a process that dies.
	var pid int
	must.Succeed(t, conn.QueryRow(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid))
	killed := make(chan error, 1)
	go func() {
		_, err := conn.Exec(context.WithoutCancel(t.Context()), "SELECT pg_sleep(60),\n'秘密の本文'")
		killed <- err
	}()
	killer := connect(t, srv.DSN())
	must.Become(t, "the statement", func() bool {
		var n int
		err := killer.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND state = 'active'`,
			pid).Scan(&n)
		return err == nil && n == 1
	})
	kill(t, pid)
	if err := <-killed; err == nil {
		t.Fatal("it was not killed")
	}
	must.Become(t, "the end of it", func() bool { return len(log.with("was terminated by signal 9")) > 0 })
	must.Succeed(t, srv.Stop(t.Context()))
	for text, want := range map[string]entry{
		"warned one":       {level: slog.LevelWarn, severity: "WARNING"},
		"warned two":       {level: slog.LevelWarn, severity: "WARNING"},
		"warned three":     {level: slog.LevelWarn, severity: "WARNING"},
		"said one":         {level: slog.LevelDebug, severity: "LOG"},
		"said two":         {level: slog.LevelDebug, severity: "LOG"},
		"longxxx":          {level: slog.LevelDebug, severity: "LOG"},
		"division by zero": {level: slog.LevelError, severity: "ERROR"},
		"failed one":       {level: slog.LevelError, severity: "ERROR"},
		"failed two":       {level: slog.LevelError, severity: "ERROR"},
		"hint one":         {level: slog.LevelError, severity: "HINT"},
		"hint two":         {level: slog.LevelError, severity: "HINT"},
	} {
		found := log.with(text)
		if len(found) == 0 {
			t.Errorf("%s is not logged", text)
		}
		for _, e := range found {
			if e.level != want.level || e.severity != want.severity {
				t.Errorf("%s: %v %q", text, e.level, e.severity)
			}
		}
	}
	for _, text := range []string{"秘密", "end of it", "pg_sleep", "inline_code_block"} {
		for _, e := range log.with(text) {
			t.Errorf("logged: %v %q", e.level, e.message)
		}
	}
	for _, e := range log.with("") {
		if e.severity == "" && strings.HasPrefix(e.message, "postgresql: ") {
			t.Errorf("of no severity: %v %q", e.level, e.message)
		}
	}
}

// kill kills a process.
func kill(t *testing.T, pid int) {
	t.Helper()
	must.Succeed(t, syscall.Kill(pid, syscall.SIGKILL))
}
