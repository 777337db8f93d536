package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestRemovalWaitsForQuestions: a question locks the thread and then the row of its owner, by a foreign key. Removing
// the owner locks both in the same order, which prevents a deadlock.
func TestRemovalWaitsForQuestions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	thread := f.thread(t, f.ann)
	conn, err := pgx.Connect(t.Context(), f.dsn)
	must.Succeed(t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	tx := must.Get(conn.Begin(t.Context()))(t)
	must.Get(tx.Exec(t.Context(), `SELECT 1 FROM threads WHERE id = $1 FOR UPDATE`, thread.ID))(t)

	removed := make(chan error, 1)
	go func() {
		_, err := f.ChangeMember(t.Context(), f.a, f.ann.UserID, org.System(),
			func(org.MemberContext) (org.MemberChange, error) {
				return org.MemberChange{Remove: true, Action: org.ActionRemove, Details: []org.Change{{Field: "name"}}},
					nil
			})
		removed <- err
	}()
	waitForLock(t, f)
	// A generation locks the row in the same way, by its foreign key.
	_, err = tx.Exec(t.Context(), `SELECT 1 FROM users WHERE id = $1 FOR KEY SHARE NOWAIT`, f.ann.UserID)
	if err := errors.Join(err, tx.Rollback(t.Context())); err != nil {
		t.Error(err)
	}
	must.Succeed(t, <-removed)
	if n := value[int](t, f, `SELECT count(*) FROM threads WHERE user_id = $1`, f.ann.UserID); n != 0 {
		t.Errorf("%d threads are left", n)
	}
}
