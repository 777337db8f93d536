package store_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// save stores a code without counting it as an attempt.
func (f *poolFixture) save(ctx context.Context, code pool.Code, at time.Time) error {
	return f.SavePoolCode(ctx, code, code.Key, at, func(pool.Attempts) (pool.Attempts, error) {
		return pool.Attempts{},
			nil
	})
}

// code stores a code of the fixture's user that is valid for an hour.
func (f *poolFixture) code(t *testing.T, key, hash string, version int64) pool.Code {
	t.Helper()
	code := pool.Code{Key: digest(key), Sub: &f.user.Sub, Version: version, Hash: hash, ExpiresAt: f.now.Add(time.Hour)}
	must.Succeed(t, f.save(t.Context(), code, f.now))
	return code
}

func TestR42_CodesAreReplacedAndTriesCounted(t *testing.T) {
	t.Parallel()
	f := newPoolFixture(t)
	ctx := context.WithoutCancel(t.Context())
	first := f.code(t, "a", "first", 1)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := f.TryPoolCode(ctx, first, f.now); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := f.TryPoolCode(ctx, first, f.now.Add(time.Hour-time.Microsecond))
	must.Succeed(t, err)
	if got.Tries != 21 || got.Hash != "first" || *got.Sub != f.user.Sub || got.Version != 1 ||
		!got.ExpiresAt.Equal(f.now.Add(time.Hour)) {
		t.Errorf("code %+v", got)
	}
	_, err = f.PoolCode(ctx, digest("a"), f.now.Add(time.Hour))
	wantCode(t, err, fault.NotFound)
	_, err = f.TryPoolCode(ctx, first, f.now.Add(time.Hour))
	wantCode(t, err, fault.NotFound)
	_, err = f.PoolCode(ctx, digest("b"), f.now)
	wantCode(t, err, fault.NotFound)

	f.code(t, "a", "second", 1)
	must.Succeed(t, f.save(ctx, pool.Code{Key: digest("b"), Hash: "nobody's", ExpiresAt: f.now.Add(time.Hour)}, f.now))
	_, err = f.TryPoolCode(ctx, first, f.now)
	wantCode(t, err, fault.NotFound)
	if got, err = f.PoolCode(ctx, digest("a"), f.now); err != nil || got.Tries != 0 || got.Hash != "second" {
		t.Errorf("replaced: %+v, %v", got, err)
	}
	if got, err = f.PoolCode(ctx, digest("b"), f.now); err != nil || got.Sub != nil {
		t.Errorf("of an unknown user: %+v, %v", got, err)
	}
	stranger := uuid.New()
	wantCode(t, f.save(ctx, pool.Code{Key: digest("c"), Sub: &stranger, ExpiresAt: f.now}, f.now), fault.NotFound)
	// A code is deleted when its user is deleted and when it expires.
	must.Succeed(t, f.DeletePoolUser(ctx, f.user.Sub))
	_, err = f.PoolCode(ctx, digest("a"), f.now)
	wantCode(t, err, fault.NotFound)
	later := f.now.Add(2 * time.Hour)
	must.Succeed(t, f.save(ctx, pool.Code{Key: digest("d"), ExpiresAt: later.Add(time.Hour)}, later))
	if n := value[int](t, f.fixture, `SELECT count(*)::int FROM pool_codes`); n != 1 {
		t.Errorf("%d rows", n)
	}
}

func TestR42_ExcessCodeIsNotStored(t *testing.T) {
	t.Parallel()
	f := newPoolFixture(t)
	f.code(t, "a", "first", 1)
	refused := fault.Errorf(fault.RateLimited, "too many")
	err := f.SavePoolCode(t.Context(), pool.Code{Key: digest("a"), Hash: "second", ExpiresAt: f.now.Add(time.Hour)},
		digest("count"), f.now,
		func(pool.Attempts) (pool.Attempts, error) { return pool.Attempts{Failures: 9}, refused })
	wantCode(t, err, fault.RateLimited)
	got := must.Get(f.PoolCode(t.Context(), digest("a"), f.now))(t)
	counted := must.Get(f.PoolAttempts(t.Context(), digest("count")))(t)
	if got.Hash != "first" || counted[0].Failures != 0 {
		t.Errorf("code %q, %d counted", got.Hash, counted[0].Failures)
	}
}

func TestR42_ACodeIsUsedOnce(t *testing.T) {
	t.Parallel()
	f := newPoolFixture(t)
	ctx := context.WithoutCancel(t.Context())
	grant := must.Get(f.grant(t, "before", 1, f.now))(t)
	code := f.code(t, "a", "hash", 1)
	password := pool.Password{Hash: "chosen", Status: pool.StatusConfirmed}
	var done atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			switch err := f.UsePoolCode(ctx, code, password, pool.Event{At: f.now}); {
			case err == nil:
				done.Add(1)
			case fault.CodeOf(err) != fault.Conflict:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	user := must.Get(f.PoolUserBySub(ctx, f.user.Sub))(t)
	if done.Load() != 1 || user.PasswordHash != "chosen" || user.Version != 2 || user.Status != pool.StatusConfirmed {
		t.Errorf("used %d times: %+v", done.Load(), user)
	}
	if held, err := f.GrantByID(ctx, grant.ID); err != nil || held.Grant.RevokedAt == nil {
		t.Errorf("grant %+v, %v", held.Grant, err)
	}
	// A code is refused if it was replaced, has expired, belongs to another version of the user, or the user is
	// disabled.
	wantCode(t, f.UsePoolCode(ctx, f.code(t, "a", "hash", 1), password, pool.Event{At: f.now}), fault.Conflict)
	replaced := f.code(t, "a", "one", 2)
	f.code(t, "a", "two", 2)
	wantCode(t, f.UsePoolCode(ctx, replaced, password, pool.Event{At: f.now}), fault.Conflict)
	late := f.code(t, "a", "late", 2)
	wantCode(t, f.UsePoolCode(ctx, late, password, pool.Event{At: late.ExpiresAt}), fault.Conflict)
	must.Succeed(t, f.UsePoolCode(ctx, late, password, pool.Event{At: late.ExpiresAt.Add(-time.Microsecond)}))
	must.Succeed(t, f.SetPoolUserEnabled(ctx, f.user.Sub, false, f.now))
	wantCode(t, f.UsePoolCode(ctx, f.code(t, "a", "disabled", 4), password, pool.Event{At: f.now}), fault.Conflict)
}

func TestPoolUserIsChanged(t *testing.T) {
	t.Parallel()
	f := newPoolFixture(t)
	ctx := t.Context()
	twin := f.user
	twin.Sub, twin.Email = uuid.New(), "taro@example.com"
	must.Succeed(t, f.CreatePoolUser(ctx, twin))
	name, taken, free, no := "新しい名前", twin.Email, "new@example.com", false
	for step, c := range []struct {
		change  pool.UserChange
		email   string
		version int64
	}{
		{pool.UserChange{Name: &name}, f.user.Email, 1},
		{pool.UserChange{Email: &f.user.Email}, f.user.Email, 1},
		{pool.UserChange{Email: &free, EmailVerified: &no}, free, 2},
		{pool.UserChange{}, free, 2},
	} {
		must.Succeed(t, f.UpdatePoolUser(ctx, f.user.Sub, c.change, f.now))
		got := must.Get(f.PoolUserBySub(ctx, f.user.Sub))(t)
		if got.Name != name || got.Email != c.email || got.Version != c.version ||
			got.EmailVerified != (c.version == 1) {
			t.Errorf("step %d: %+v", step, got)
		}
	}
	wantCode(t, f.UpdatePoolUser(ctx, f.user.Sub, pool.UserChange{Email: &taken}, f.now), fault.Conflict)
	wantCode(t, f.UpdatePoolUser(ctx, uuid.New(), pool.UserChange{Name: &name}, f.now), fault.NotFound)
}

// TestR45_RevokedGrantsAreNotified: listeners are notified once per change for each member whose sessions end, and for
// no other user.
func TestR45_RevokedGrantsAreNotified(t *testing.T) {
	t.Parallel()
	f := newPoolFixture(t)
	ctx := t.Context()
	organization, member := newID(), newID()
	must.Succeed(t, f.CreateOrganization(ctx, org.Organization{ID: organization, Name: "紡株式会社", AuthType: "cognito"}))
	must.Succeed(t, f.CreateUser(ctx, identity.NewUser{
		ID: member, OrganizationID: organization, Subject: f.user.Sub.String(), Email: f.user.Email, Name: "花子",
		Role: identity.RoleGeneralUser, AuthType: identity.AuthCognito,
	}))
	conn := must.Get(pgx.Connect(ctx, f.dsn))(t)
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	must.Get(conn.Exec(ctx, `LISTEN tsumugi_user; LISTEN done`))(t)
	var grants []pool.Grant
	for i := range 3 {
		g := must.Get(f.grant(t, strconv.Itoa(i), 1, f.now))(t)
		grants = append(grants, g)
	}
	stranger := f.user
	stranger.Sub, stranger.Email = uuid.New(), "stranger@example.com"
	must.Succeed(t, f.CreatePoolUser(ctx, stranger))
	own := f.user
	f.user = stranger
	must.Get(f.grant(t, "stranger", 1, f.now))(t)
	must.Succeed(t, f.RevokeGrants(ctx, stranger.Sub, pool.Event{At: f.now})) // Not a member.
	f.user = own

	must.Succeed(t, f.RevokeGrant(ctx, grants[0].ID, pool.Event{At: f.now}))
	must.Succeed(t, f.RevokeGrant(ctx, grants[0].ID, pool.Event{At: f.now})) // It has already ended.
	must.Succeed(t, f.RevokeGrants(ctx, own.Sub, pool.Event{At: f.now}))     // Two grants, one notification.
	f.exec(t, `NOTIFY done`)
	var told []string
	for {
		n := must.Get(conn.WaitForNotification(ctx))(t)
		if n.Channel == "done" {
			break
		}
		told = append(told, n.Payload)
	}
	if len(told) != 2 || told[0] != member.String() || told[1] != member.String() {
		t.Errorf("notified of %v, want %s twice", told, member)
	}
}
