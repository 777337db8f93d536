package system_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// hangPostgres stops every process of the database with SIGSTOP, so that connections stay open without a response.
// resume continues the processes.
func hangPostgres(ctx context.Context, t *testing.T, dsn string) (resume func()) {
	t.Helper()
	conn := must.Get(pgx.Connect(ctx, dsn))(t)
	defer conn.Close(ctx)
	var file string
	must.Succeed(t, conn.QueryRow(ctx, `SELECT pg_read_file('postmaster.pid')`).Scan(&file))
	first, _, _ := strings.Cut(file, "\n")
	postmaster := must.Get(strconv.Atoi(first))(t)
	stopped := []int{postmaster}
	must.Succeed(t, syscall.Kill(postmaster, syscall.SIGSTOP)) // First, so that it forks no more children.
	children := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", postmaster, postmaster)))(t)
	for field := range strings.FieldsSeq(string(children)) {
		pid := must.Get(strconv.Atoi(field))(t)
		if syscall.Kill(pid, syscall.SIGSTOP) == nil { // It may have exited.
			stopped = append(stopped, pid)
		}
	}
	resume = sync.OnceFunc(func() {
		for _, pid := range stopped {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	})
	t.Cleanup(resume)
	return resume
}

// TestR21_DatabaseHangsUnderTheUserPool suspends the database during calls to the user pool. Each call gets a 503
// within the limit of 5 s and counts neither against the account nor against the client's address.
func TestR21_DatabaseHangsUnderTheUserPool(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	base, clientID := r.at(0)(), r.poolClient(t, r.at(0)())
	password := func(password string) map[string]any {
		return map[string]any{
			"ClientId": clientID, "AuthFlow": "USER_PASSWORD_AUTH",
			"AuthParameters": map[string]string{"USERNAME": demoUser, "PASSWORD": password},
		}
	}
	calls := []struct {
		operation string
		body      map[string]any
	}{
		{"InitiateAuth", password(demoPassword)},
		{"InitiateAuth", password("Wrong-Password-1")},
		{"InitiateAuth", map[string]any{
			"ClientId": clientID, "AuthFlow": "REFRESH_TOKEN_AUTH",
			"AuthParameters": map[string]string{"REFRESH_TOKEN": "unknown"},
		}},
		{"ForgotPassword", map[string]any{"ClientId": clientID, "Username": demoUser}},
		{"ConfirmForgotPassword", map[string]any{
			"ClientId": clientID, "Username": demoUser, "ConfirmationCode": "123456", "Password": "Another-Horse-9",
		}},
	}
	must.Succeed(t, r.callPool(ctx, base, "InitiateAuth", password(demoPassword), nil))

	resume := hangPostgres(ctx, t, r.DSN())
	var all sync.WaitGroup
	var mu sync.Mutex
	var slowest time.Duration
	for range 3 {
		for range 10 {
			for _, call := range calls {
				all.Go(func() {
					began := time.Now()
					err := r.callPool(ctx, base, call.operation, call.body, nil)
					took := time.Since(began)
					mu.Lock()
					slowest = max(slowest, took)
					mu.Unlock()
					if p, ok := errors.AsType[*problem](err); !ok || p.Status != http.StatusServiceUnavailable ||
						p.RetryAfter == "" {
						t.Errorf("%s: %v after %v", call.operation, err, took)
					}
				})
			}
		}
		all.Wait()
	}
	t.Logf("the slowest of 150 calls took %v", slowest.Round(time.Millisecond))
	if slowest > 10*time.Second { // 5 s on an idle machine.
		t.Errorf("a call was refused after %v", slowest)
	}

	resume()
	await(t, "the server heals", waitLimit, func() bool { return ready(ctx, base) == http.StatusOK })
	conn := must.Get(pgx.Connect(ctx, r.DSN()))(t)
	defer conn.Close(ctx)
	var counted int
	must.Succeed(t, conn.QueryRow(ctx, `SELECT count(*) FROM pool_attempts`).Scan(&counted))
	if counted != 0 {
		t.Errorf("%d tries were counted", counted)
	}
	if err := r.callPool(ctx, base, "InitiateAuth", password(demoPassword), nil); err != nil {
		t.Errorf("the right password, once the database is back: %v", err)
	}
}
