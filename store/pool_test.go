package store_test

import (
	"context"
	"crypto/sha256"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// poolFixture is a database with one user of the pool.
type poolFixture struct {
	*fixture
	user pool.User
	now  time.Time
}

func newPoolFixture(t *testing.T) *poolFixture {
	t.Helper()
	f := &poolFixture{
		fixture: &fixture{dsn: storetest.DSN(t)},
		now:     time.Date(2026, 4, 1, 9, 0, 0, 123456000, time.UTC),
	}
	f.connect(t)
	f.user = pool.User{
		Sub: uuid.New(), Email: "hanako@example.com", EmailVerified: true, Name: "花子", Groups: []string{"a", "b"},
		Status: pool.StatusConfirmed, Enabled: true, PasswordHash: "hash", Version: 1, CreatedAt: f.now,
		UpdatedAt: f.now,
	}
	must.Succeed(t, f.CreatePoolUser(t.Context(), f.user))
	return f
}

func digest(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// grant stores a grant that is valid for one day.
func (f *poolFixture) grant(t *testing.T, token string, version int64, at time.Time) (pool.Grant, error) {
	t.Helper()
	g := pool.Grant{
		ID: uuid.New(), TokenHash: digest(token), Sub: f.user.Sub, ClientID: "client", EventID: uuid.New(),
		AuthTime:  at,
		ExpiresAt: at.Add(24 * time.Hour),
	}
	_, err := f.CreateGrant(t.Context(), g, version, pool.Event{})
	return g, err
}

// updateAttempts calls UpdatePoolAttempts for one key.
func (f *poolFixture) updateAttempts(ctx context.Context, key []byte, at time.Time,
	update func(pool.Attempts) pool.Attempts,
) error {
	return f.UpdatePoolAttempts(ctx, [][]byte{key}, at, func(a []pool.Attempts) []pool.Attempts {
		return []pool.Attempts{update(a[0])}
	})
}

func (f *poolFixture) challenge(t *testing.T, session string, version int64, at time.Time) error {
	t.Helper()
	return f.CreateChallenge(t.Context(), pool.Challenge{
		Hash: digest(session), Name: "NEW_PASSWORD_REQUIRED", Sub: f.user.Sub, ClientID: "client", Version: version,
		ExpiresAt: at.Add(3 * time.Minute),
	}, at)
}

func TestPoolUsersAreFoundBySubAndAddress(t *testing.T) {
	t.Parallel()
	f := newPoolFixture(t)
	ctx := t.Context()
	for name, find := range map[string]func() (pool.User, error){
		"sub":     func() (pool.User, error) { return f.PoolUserBySub(ctx, f.user.Sub) },
		"address": func() (pool.User, error) { return f.PoolUserByEmail(ctx, f.user.Email) },
	} {
		got := must.Get(find())(t)
		if got.Sub != f.user.Sub || got.Email != f.user.Email || got.Name != f.user.Name || !got.EmailVerified ||
			!got.Enabled ||
			!slices.Equal(got.Groups, f.user.Groups) || got.Status != f.user.Status || got.PasswordHash != "hash" ||
			got.TemporaryUntil != nil || got.Version != 1 || !got.CreatedAt.Equal(f.now) {
			t.Errorf("by %s: %+v", name, got)
		}
	}
	_, err := f.PoolUserBySub(ctx, uuid.New())
	wantCode(t, err, fault.NotFound)
	_, err = f.PoolUserByEmail(ctx, "nobody@example.com")
	wantCode(t, err, fault.NotFound)

	twin := f.user
	twin.Sub = uuid.New()
	wantCode(t, f.CreatePoolUser(ctx, twin), fault.Conflict)
	same := f.user
	same.Email = "same@example.com"
	wantCode(t, f.CreatePoolUser(ctx, same), fault.Conflict)
	twin.Email, twin.Groups = "taro@example.com", nil
	must.Succeed(t, f.CreatePoolUser(ctx, twin))

	until := f.now.Add(time.Hour)
	must.Succeed(t, f.SetPoolPassword(ctx, f.user.Sub, pool.Password{
		Hash: "temp", Status: pool.StatusForceChangePassword,
		TemporaryUntil: &until,
	}, f.now))
	got := must.Get(f.PoolUserBySub(ctx, f.user.Sub))(t)
	if got.PasswordHash != "temp" || got.Status != pool.StatusForceChangePassword || !got.TemporaryUntil.Equal(until) ||
		got.Version != 2 {
		t.Errorf("after a new password: %+v", got)
	}
	stranger := uuid.New()
	wantCode(t, f.SetPoolPassword(ctx, stranger, pool.Password{Status: pool.StatusConfirmed}, f.now), fault.NotFound)
	wantCode(t, f.SetPoolUserEnabled(ctx, stranger, true, f.now), fault.NotFound)
	wantCode(t, f.DeletePoolUser(ctx, stranger), fault.NotFound)
	must.Succeed(t, f.RevokeGrants(ctx, stranger, pool.Event{At: f.now}))
}

func TestFirstPoolKeyIsOne(t *testing.T) {
	t.Parallel()
	f := newPoolFixture(t)
	ctx := t.Context()
	key := func(id string, from time.Time) pool.Key {
		return pool.Key{ID: id, PrivateKey: "pem " + id, CreatedAt: f.now, ActiveFrom: from}
	}
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			if err := f.AddFirstPoolKey(context.WithoutCancel(ctx), key(strconv.Itoa(i), f.now)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	keys := must.Get(f.PoolKeys(ctx))(t)
	if len(keys) != 1 || keys[0].PrivateKey != "pem "+keys[0].ID || keys[0].RetireAt != nil ||
		!keys[0].ActiveFrom.Equal(f.now) {
		t.Fatalf("keys %+v", keys)
	}

	// Two rotations in a row: the middle key retires no earlier than it would have become active.
	retire := f.now.Add(time.Minute)
	must.Succeed(t, f.RotatePoolKey(ctx, key("second", f.now.Add(time.Hour)), retire))
	must.Succeed(t, f.RotatePoolKey(ctx, key("third", f.now.Add(2*time.Hour)), retire))
	keys = must.Get(f.PoolKeys(ctx))(t)
	if len(keys) != 3 || keys[1].ID != "second" || keys[2].ID != "third" || !keys[0].RetireAt.Equal(retire) ||
		!keys[1].RetireAt.Equal(f.now.Add(time.Hour)) || keys[2].RetireAt != nil {
		t.Errorf("keys %+v", keys)
	}

	// The rotation by an operator fails if it cannot be logged.
	nobody := store.AuditedPool{DB: f.DB}
	if err := nobody.RotatePoolKey(ctx, key("unlogged", f.now.Add(3*time.Hour)), retire); err == nil {
		t.Error("the log accepted an entry without an operator")
	}
	must.Succeed(t, store.AuditedPool{DB: f.DB, By: org.Operator("root")}.RotatePoolKey(ctx,
		key("fourth", f.now.Add(3*time.Hour)),
		retire))
	events, total, err := f.ListEvents(ctx, org.AuditQuery{Limit: 10})
	must.Succeed(t, err)
	if keys, err = f.PoolKeys(ctx); err != nil || len(keys) != 4 || keys[3].ID != "fourth" || total != 1 ||
		events[0].TargetID != "fourth" {
		t.Errorf("keys %+v, events %+v, %v", keys, events, err)
	}
}

func TestPoolAttemptsAreCountedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	f := newPoolFixture(t)
	ctx := t.Context()
	key := digest("somebody")
	if got, err := f.PoolAttempts(ctx, key); err != nil || got[0] != (pool.Attempts{}) {
		t.Fatalf("got %+v, %v", got, err)
	}
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			err := f.updateAttempts(context.WithoutCancel(ctx), key, f.now, func(a pool.Attempts) pool.Attempts {
				return pool.Attempts{
					Failures: a.Failures + 1, LockedUntil: f.now.Add(time.Second),
					ForgottenAt: f.now.Add(time.Minute),
				}
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := must.Get(f.PoolAttempts(ctx, key))(t)
	if len(got) != 1 || got[0].Failures != 40 || !got[0].LockedUntil.Equal(f.now.Add(time.Second)) ||
		!got[0].ForgottenAt.Equal(f.now.Add(time.Minute)) {
		t.Errorf("got %+v", got)
	}
	// A key without remaining attempts has no row, and neither has a key without any attempts.
	for _, k := range [][]byte{key, digest("nobody")} {
		must.Succeed(t, f.updateAttempts(ctx, k, f.now, func(pool.Attempts) pool.Attempts { return pool.Attempts{} }))
	}
	if n := value[int](t, f.fixture, `SELECT count(*)::int FROM pool_attempts`); n != 0 {
		t.Errorf("%d rows", n)
	}
}

func TestExpiredPoolRowsAreDeleted(t *testing.T) {
	t.Parallel()
	f := newPoolFixture(t)
	ctx := t.Context()
	const old = 25
	failed := func(at time.Time) func(pool.Attempts) pool.Attempts {
		return func(pool.Attempts) pool.Attempts {
			return pool.Attempts{Failures: 1, LockedUntil: at, ForgottenAt: at.Add(15 * time.Minute)}
		}
	}
	for i := range old {
		must.Succeed(t, f.updateAttempts(ctx, digest(strconv.Itoa(i)), f.now, failed(f.now)))
		must.Succeed(t, f.challenge(t, strconv.Itoa(i), 1, f.now))
		must.Get(f.grant(t, strconv.Itoa(i), 1, f.now))(t)
	}
	counts := func() [3]int {
		return [3]int{
			value[int](t, f.fixture, `SELECT count(*)::int FROM pool_attempts`),
			value[int](t, f.fixture, `SELECT count(*)::int FROM pool_challenges`),
			value[int](t, f.fixture, `SELECT count(*)::int FROM pool_grants`),
		}
	}
	if got := counts(); got != [3]int{old, old, old} {
		t.Fatalf("rows %v", got)
	}
	later := f.now.Add(49 * time.Hour)
	for i := range 3 {
		name := "later" + strconv.Itoa(i)
		must.Succeed(t, f.updateAttempts(ctx, digest(name), later, failed(later)))
		must.Succeed(t, f.challenge(t, name, 1, later))
		must.Get(f.grant(t, name, 1, later))(t)
	}
	if got := counts(); got != [3]int{3, 3, 3} {
		t.Errorf("rows %v", got)
	}
}

func TestPoolGrantsNeedTheProofThatTheyCameFrom(t *testing.T) {
	t.Parallel()
	f := newPoolFixture(t)
	ctx := t.Context()
	first, err := f.grant(t, "first", 1, f.now)
	must.Succeed(t, err)
	for name, read := range map[string]func() (pool.GrantUser, error){
		"token": func() (pool.GrantUser, error) { return f.GrantByToken(ctx, digest("first")) },
		"id":    func() (pool.GrantUser, error) { return f.GrantByID(ctx, first.ID) },
	} {
		held := must.Get(read())(t)
		g := held.Grant
		if g.ID != first.ID || g.EventID != first.EventID || g.ClientID != "client" || !g.AuthTime.Equal(f.now) ||
			g.RevokedAt != nil ||
			!g.ExpiresAt.Equal(first.ExpiresAt) || held.User.Sub != f.user.Sub || held.User.Email != f.user.Email {
			t.Errorf("by %s: %+v", name, held)
		}
	}
	_, err = f.GrantByToken(ctx, digest("other"))
	wantCode(t, err, fault.NotFound)
	_, err = f.GrantByID(ctx, uuid.New())
	wantCode(t, err, fault.NotFound)

	second, err := f.grant(t, "second", 1, f.now)
	must.Succeed(t, err)
	must.Succeed(t, f.RevokeGrant(ctx, first.ID, pool.Event{At: f.now}))
	must.Succeed(t,
		f.RevokeGrant(ctx, first.ID, pool.Event{At: f.now.Add(time.Hour)})) // Only the first revocation counts.
	held, err := f.GrantByID(ctx, first.ID)
	must.Succeed(t, err)
	if held.Grant.RevokedAt == nil || !held.Grant.RevokedAt.Equal(f.now) {
		t.Errorf("revoked at %v", held.Grant.RevokedAt)
	}
	if held, err = f.GrantByID(ctx, second.ID); err != nil || held.Grant.RevokedAt != nil {
		t.Errorf("the other one: %+v, %v", held, err)
	}

	third, err := f.grant(t, "third", 1, f.now)
	must.Succeed(t, err)
	own := pool.Password{Hash: "own", Status: pool.StatusConfirmed}
	wantCode(t, f.ChangePoolPassword(ctx, f.user.Sub, 2, own, third.ID, pool.Event{At: f.now}), fault.Conflict)
	must.Succeed(t, f.ChangePoolPassword(ctx, f.user.Sub, 1, own, third.ID, pool.Event{At: f.now}))
	for id, revoked := range map[uuid.UUID]bool{second.ID: true, third.ID: false} {
		if held, err = f.GrantByID(ctx, id); err != nil || (held.Grant.RevokedAt != nil) != revoked ||
			held.User.Version != 2 {
			t.Errorf("after a change of password: %+v, %v", held, err)
		}
	}

	must.Succeed(t, f.SetPoolUserEnabled(ctx, f.user.Sub, false, f.now))
	if held, err = f.GrantByID(ctx, third.ID); err != nil || held.Grant.RevokedAt == nil || held.User.Enabled {
		t.Errorf("after disabling: %+v, %v", held, err)
	}
	for _, version := range []int64{1, 2, 3} {
		_, err = f.grant(t, "while disabled", version, f.now)
		wantCode(t, err, fault.Conflict)
		wantCode(t, f.challenge(t, "while disabled", version, f.now), fault.Conflict)
	}
	must.Succeed(t, f.SetPoolUserEnabled(ctx, f.user.Sub, true, f.now))
	_, err = f.grant(t, "old proof", 1, f.now)
	wantCode(t, err, fault.Conflict)
	must.Get(f.grant(t, "new proof", 4, f.now))(t)
	must.Succeed(t, f.DeletePoolUser(ctx, f.user.Sub))
	_, err = f.GrantByToken(ctx, digest("new proof"))
	wantCode(t, err, fault.NotFound)
}

// TestPoolSignInRacesANewPassword: after a concurrent sign-in and password change, no session with the old password
// remains.
func TestPoolSignInRacesANewPassword(t *testing.T) {
	t.Parallel()
	f := newPoolFixture(t)
	ctx := context.WithoutCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			if _, err := f.grant(t, "race"+strconv.Itoa(i), 1, f.now); err != nil &&
				fault.CodeOf(err) != fault.Conflict {
				t.Error(err)
			}
		})
	}
	wg.Go(func() {
		if err := f.SetPoolPassword(ctx, f.user.Sub, pool.Password{Hash: "new", Status: pool.StatusConfirmed},
			f.now); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	if n := value[int](t, f.fixture, `SELECT count(*)::int FROM pool_grants WHERE revoked_at IS NULL`); n != 0 {
		t.Errorf("%d sessions by the old password", n)
	}
}

func TestR43_ChallengeIsCompletedOnce(t *testing.T) {
	t.Parallel()
	f := newPoolFixture(t)
	ctx := context.WithoutCancel(t.Context())
	must.Succeed(t, f.challenge(t, "session", 1, f.now))
	must.Succeed(t, f.challenge(t, "other", 1, f.now))
	password := pool.Password{Hash: "chosen", Status: pool.StatusConfirmed}
	var done atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			user, err := f.CompleteChallenge(ctx, digest("session"), password, "",
				pool.Event{At: f.now.Add(time.Minute)})
			switch {
			case err == nil:
				done.Add(1)
				if user.Version != 2 || user.PasswordHash != "chosen" || user.Name != "花子" || user.Sub != f.user.Sub {
					t.Errorf("user %+v", user)
				}
			case fault.CodeOf(err) != fault.Conflict:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if done.Load() != 1 {
		t.Errorf("completed %d times", done.Load())
	}
	used, err := f.ChallengeByHash(ctx, digest("session"))
	must.Succeed(t, err)
	if used.UsedAt == nil || used.Name != "NEW_PASSWORD_REQUIRED" || used.Sub != f.user.Sub ||
		used.ClientID != "client" || used.Version != 1 {
		t.Errorf("challenge %+v", used)
	}
	_, err = f.ChallengeByHash(ctx, digest("unknown"))
	wantCode(t, err, fault.NotFound)

	complete := func(session string, at time.Time) error {
		_, err := f.CompleteChallenge(ctx, digest(session), password, "新しい名前", pool.Event{At: at})
		return err
	}
	wantCode(t, complete("other", f.now), fault.Conflict) // It was made with the old password.
	if other, err := f.ChallengeByHash(ctx, digest("other")); err != nil || other.UsedAt != nil {
		t.Errorf("a refusal left %+v, %v", other, err)
	}
	wantCode(t, complete("unknown", f.now), fault.Conflict)
	must.Succeed(t, f.challenge(t, "third", 2, f.now))
	wantCode(t, complete("third", f.now.Add(3*time.Minute)), fault.Conflict) // Expired.
	must.Succeed(t, complete("third", f.now.Add(3*time.Minute-time.Microsecond)))
	user := must.Get(f.PoolUserBySub(ctx, f.user.Sub))(t)
	if user.Name != "新しい名前" || user.Version != 3 {
		t.Errorf("user %+v", user)
	}
}

// TestPoolTablesKeepTheirRules checks the constraints of the tables.
func TestPoolTablesKeepTheirRules(t *testing.T) {
	t.Parallel()
	f := newPoolFixture(t)
	for name, user := range map[string]func(*pool.User){
		"upper case":               func(u *pool.User) { u.Email = "Taro@example.com" },
		"unknown status":           func(u *pool.User) { u.Status = "ODD" },
		"temporary without an end": func(u *pool.User) { u.Status = pool.StatusForceChangePassword },
		"no name":                  func(u *pool.User) { u.Name = "" },
	} {
		u := f.user
		u.Sub, u.Email = uuid.New(), "taro@example.com"
		user(&u)
		if err := f.CreatePoolUser(t.Context(), u); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if err := f.updateAttempts(t.Context(), []byte("short"), f.now,
		func(a pool.Attempts) pool.Attempts { return a }); err == nil {
		t.Error("a key that is no hash was taken")
	}
}
