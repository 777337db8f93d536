package system_test

import (
	"context"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestR45_ChangeWithoutNotification ends the database sessions that notify servers of changed users and suspends one
// server. It then disables a user. The running server refuses the user within 5 s, the other server as soon as it
// resumes.
func TestR45_ChangeWithoutNotification(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	me := func(server int) error { return r.call(ctx, http.MethodGet, r.at(server)()+"/v1/me", nil, nil) }
	for until := time.Now().Add(3 * time.Second); time.Now().Before(until); pause(ctx, 50*time.Millisecond) {
		must.Succeed(t, me(0))
		must.Succeed(t, me(1))
	}
	conn := must.Get(pgx.Connect(ctx, r.DSN()))(t)
	defer conn.Close(ctx)
	rows := must.Get(conn.Query(ctx, `SELECT pid FROM pg_stat_activity WHERE application_name LIKE '% tsumugi_user'`))(t)
	sessions, err := pgx.CollectRows(rows, pgx.RowTo[int])
	must.Succeed(t, err)
	if len(sessions) != 2 {
		t.Fatalf("%d sessions tell of people", len(sessions))
	}
	for _, pid := range sessions {
		must.Succeed(t, syscall.Kill(pid, syscall.SIGSTOP))
		defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }() // It may have exited.
	}
	r.Server(0).Pause()
	_, err = conn.Exec(ctx, `UPDATE users SET state = 'inactive' WHERE email = $1`, demoUser)
	must.Succeed(t, err)
	changed, let := time.Now(), 0
	for begun := changed; !isProblem(me(1), http.StatusUnauthorized); begun = time.Now() {
		if let++; begun.Sub(changed) > 5*time.Second {
			t.Fatalf("let in by a call that was begun %v after the change", begun.Sub(changed))
		}
		pause(ctx, 50*time.Millisecond)
	}
	t.Logf("refused after %v and %d calls", time.Since(changed), let)
	var calls sync.WaitGroup
	for range 50 {
		calls.Go(func() {
			if err := me(0); !isProblem(err, http.StatusUnauthorized) {
				t.Errorf("a call to the server that was held up: %v", err)
			}
		})
	}
	pause(ctx, time.Until(changed.Add(4*time.Second)))
	r.Server(0).Resume()
	calls.Wait()
}
