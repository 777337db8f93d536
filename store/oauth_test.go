package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oauth"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestNoPersonalTokenSurvivesAProhibition: a personal access token that is created concurrently with the prohibition is
// refused or ended.
func TestNoPersonalTokenSurvivesAProhibition(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.admin(t, f.ann)
	actor := f.annIn(newID(), identity.AuthCognito, time.Now())
	add := func(name string) error {
		_, err := f.AddPersonal(t.Context(), actor, oauth.NewToken{
			RequestID: newID(), Name: name, Scopes: []identity.Scope{identity.ScopeChat}, ExpiresAt: time.Now().Add(time.Hour),
		}, oauth.NewConnection{ID: newID()})
		return err
	}
	done := make(chan error, 1)

	// The token is stored first. A lock on its audit entry delays the commit.
	blocker, err := f.sql.Begin(t.Context())
	must.Succeed(t, err)
	defer func() { _ = blocker.Rollback(context.WithoutCancel(t.Context())) }()
	must.Get(blocker.Exec(t.Context(), `LOCK TABLE audit_events IN SHARE MODE`))(t)
	created := make(chan error, 1)
	go func() { created <- add("before") }()
	waitForLock(t, f)
	go func() { done <- f.SetPersonalTokens(t.Context(), actor, false) }()
	for value[int](t, f, `
		SELECT count(*)::int FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock'`) < 2 { //nolint:revive // Waits for the other one.
	}
	must.Succeed(t, blocker.Commit(t.Context()))
	must.Succeed(t, <-created)
	must.Succeed(t, <-done)
	if n := value[int](t, f, `SELECT count(*)::int FROM sessions WHERE client_id = 'personal' AND ended_at IS NULL`); n != 0 {
		t.Errorf("%d tokens survive the prohibition", n)
	}

	// The prohibition comes first.
	must.Succeed(t, f.SetPersonalTokens(t.Context(), actor, true))
	prohibition := must.Get(f.sql.Begin(t.Context()))(t)
	defer func() { _ = prohibition.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = prohibition.Exec(t.Context(), `UPDATE organizations SET personal_tokens = false WHERE id = $1`, f.a)
	must.Succeed(t, err)
	go func() { done <- add("after") }()
	waitForLock(t, f)
	must.Succeed(t, prohibition.Commit(t.Context()))
	if err := <-done; !errors.Is(err, oauth.ErrPersonalForbidden) {
		t.Errorf("after the prohibition: %v", err)
	}
}
