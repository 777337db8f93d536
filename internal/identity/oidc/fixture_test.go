package oidc_test

import (
	"context"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oidc"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oidc/oidctest"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/secret"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/leak"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

const (
	publicURL = "https://tsumugi.example"
	clientID  = "sso"
)

func TestMain(m *testing.M) { leak.Main(storetest.Suite{M: m}) }

// clock is a clock that tests advance.
type clock struct {
	mu     sync.Mutex
	offset time.Duration // Guarded by mu.
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

// fixture is an organization with OpenID Connect on a real database, with its provider and two members.
type fixture struct {
	t     *testing.T
	sql   *pgxpool.Pool
	db    *store.DB
	sso   *sso.Service
	oidc  *oidc.Service
	clock *clock
	idp   *oidctest.Provider
	org   uuid.UUID
	admin identity.Actor // A super-admin with a password.
	alice identity.NewUser

	beforeGrant func() // Called once, before the next session is stored. Nil for nothing.
}

// poolStore is the fixture's database of the user pool.
type poolStore struct {
	*store.DB
	f *fixture
}

func (s poolStore) CreateGrant(ctx context.Context, grant pool.Grant, version int64, event pool.Event) (bool, error) {
	if before := s.f.beforeGrant; before != nil {
		s.f.beforeGrant = nil
		before()
	}
	return s.DB.CreateGrant(ctx, grant, version, event)
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: &clock{}, idp: oidctest.New(t)}
	dsn := storetest.DSN(t)
	f.sql = storetest.Pool(t, dsn)
	var keys secret.Keyring
	must.Succeed(t, keys.UnmarshalText([]byte(secret.NewKey())))
	plain := must.Get(store.Open(t.Context(), dsn))(t)
	t.Cleanup(plain.Close)
	f.db = plain.WithSecrets(keys)
	storetest.AddPoolKey(t, f.db)
	users := must.Get(pool.New(t.Context(), pool.Config{
		PoolID: "ap-northeast-1_Test", ClientID: "web", FederatedClientID: clientID,
		Issuer: publicURL + "/pool/ap-northeast-1_Test",
	}, poolStore{f.db, f}))(t)
	f.sso = sso.New(sso.Config{PublicURL: publicURL, ClientID: clientID, Clock: f.clock.now}, f.db, users)
	f.oidc = oidc.New(sso.NewClient(sso.ClientConfig{Hosts: []string{"127.0.0.1"}, Transport: f.idp.Client().Transport}), f.db, f.sso)
	o := org.Organization{
		ID: uuid.Must(uuid.NewV7()), Name: "紡績", AuthType: "cognito", MailDomains: []string{"corp.example"},
	}
	must.Succeed(t, f.db.CreateOrganization(t.Context(), o))
	f.org = o.ID
	admin := f.member("admin@corp.example", identity.RoleOrganizationSuperAdmin)
	f.admin = identity.Actor{User: identity.User{
		ID: admin.ID, OrganizationID: f.org, Subject: admin.Subject, Email: admin.Email, Name: admin.Name,
		Role: admin.Role, State: identity.StateActive, AuthType: admin.AuthType,
	}}
	f.alice = f.member("alice@corp.example", identity.RoleGeneralUser)
	f.change(oidc.Change{
		Issuer: new(f.idp.URL), ClientID: new(oidctest.ClientID), ClientSecret: new(oidctest.ClientSecret),
	})
	must.Get(f.oidc.TurnOn(t.Context(), f.admin))(t)
	return f
}

func (f *fixture) change(change oidc.Change) {
	f.t.Helper()
	must.Get(f.oidc.Change(f.t.Context(), f.admin, change))(f.t)
}

func (f *fixture) member(email string, role identity.Role) identity.NewUser {
	f.t.Helper()
	u := identity.NewUser{
		ID: uuid.Must(uuid.NewV7()), OrganizationID: f.org, Subject: uuid.NewString(), Email: email, Name: "試験",
		Role: role, AuthType: identity.AuthCognito,
	}
	must.Succeed(f.t, f.db.CreateUser(f.t.Context(), u))
	return u
}

// value returns the result of an SQL query.
func value[T any](f *fixture, sql string, args ...any) T {
	f.t.Helper()
	var v T
	must.Succeed(f.t, f.sql.QueryRow(f.t.Context(), sql, args...).Scan(&v))
	return v
}

func (f *fixture) begin() sso.Redirect {
	f.t.Helper()
	start := must.Get(f.oidc.Begin(f.t.Context(), sso.Request{OrganizationID: f.org, Next: "/home"}))(f.t)
	return start
}

// answer sends a redirect of the provider to the service, as a browser.
func (f *fixture) answer(browser string, q url.Values) (sso.Outcome, error) {
	return f.oidc.Consume(f.t.Context(), oidc.Callback{
		OrganizationID: f.org, Browser: browser, State: q.Get("state"), Code: q.Get("code"), Error: q.Get("error"), Issuer: q.Get("iss"),
		Origin: sso.Origin{Address: netip.MustParseAddr("192.0.2.7"), RequestID: "r1"},
	})
}

// signIn runs a whole sign-in of a person and returns the session.
func (f *fixture) signIn(subject string) (sso.Session, error) {
	f.t.Helper()
	start := f.begin()
	outcome, err := f.answer(start.Browser, f.idp.Authorize(f.t, start.URL, subject))
	if err != nil {
		return sso.Session{}, err
	}
	return f.sso.Exchange(f.t.Context(), f.org, outcome.Code, start.Browser)
}

// groups returns the names of the groups of a member, sorted.
func (f *fixture) groups(email string) string {
	f.t.Helper()
	return value[string](f, `
		SELECT coalesce(string_agg(g.name, ',' ORDER BY g.name COLLATE "C"), '')
		FROM group_members k JOIN member_groups g ON g.id = k.group_id JOIN users u ON u.id = k.user_id
		WHERE u.email = $1`, email)
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q lacks %q", text, part)
		}
	}
}
