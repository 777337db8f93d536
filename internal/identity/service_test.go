package identity_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/test/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// members is a store with one member. It reports changes.
type members struct {
	identity.Store
	found identity.UserStatus
	err   error
	asked int // Calls of UserBySubject.

	changes  chan uuid.UUID // uuid.Nil: Listening. uuid.Max: Lost.
	outdated []uuid.UUID
	within   time.Duration // The argument of the last call of ChangedUsers.
	failing  int           // Number of further calls of ChangedUsers that fail.
}

func (m *members) RecordRefusedAddress(context.Context, identity.Actor) error { return nil }

func (m *members) EndStaleSessions(context.Context) error { return nil }

func (m *members) UserBySubject(context.Context, identity.Claims) (identity.UserStatus, error) {
	m.asked++
	return m.found, m.err
}

func (m *members) ChangedUsers(_ context.Context, _ []uuid.UUID, within time.Duration) ([]uuid.UUID, error) {
	m.within = within
	if m.failing > 0 {
		m.failing--
		return nil, errors.New("broken pipe")
	}
	return m.outdated, m.err
}

func (m *members) WatchUsers(ctx context.Context, w identity.Watcher) {
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-m.changes:
			switch id {
			case uuid.Nil:
				w.Listening()
			case uuid.Max:
				w.Lost(errors.New("lost"))
			default:
				w.Changed(id)
			}
		}
	}
}

// token is a verifier that accepts one token.
type token identity.Claims

func (t token) VerifyIDToken(context.Context, string) (identity.Claims, error) {
	return identity.Claims(t), nil
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	down := fault.Errorf(fault.Unavailable, "データベースに接続できません。")
	active := identity.UserStatus{
		User: identity.User{
			ID: uuid.New(), State: identity.StateActive, Role: identity.RoleGeneralUser,
			AuthType: identity.AuthFederated,
		},
		OrganizationAuthType: identity.AuthCognito,
	}
	with := func(change func(*identity.UserStatus)) members {
		changed := active
		change(&changed)
		return members{found: changed}
	}
	sso := func(s *identity.UserStatus) { s.OrganizationAuthType = identity.AuthFederated }
	office := netip.MustParseAddr("2001:db8::1")
	for name, c := range map[string]struct {
		store members
		how   identity.AuthType
		want  error
	}{
		"active": {store: members{found: active}},
		"inactive": {
			store: with(func(s *identity.UserStatus) { s.State = identity.StateInactive }),
			want:  identity.ErrNoUser,
		},
		"unknown":  {store: members{err: fault.Errorf(fault.NotFound, "")}, want: identity.ErrNoUser},
		"database": {store: members{err: down}, want: down},
		"a session that is over": {
			store: with(func(s *identity.UserStatus) { s.SessionOver = true }),
			want:  identity.ErrExpired,
		},
		"inactive with a session that is over": {
			store: with(func(s *identity.UserStatus) { s.State, s.SessionOver = identity.StateInactive, true }),
			want:  identity.ErrNoUser,
		},
		"password where single sign-on is wanted": {store: with(sso), want: identity.ErrSSORequired},
		"single sign-on where it is wanted":       {store: with(sso), how: identity.AuthFederated},
		"single sign-on where it is not wanted any more": {
			store: members{found: active},
			how:   identity.AuthFederated,
		},
		"an admin's password where single sign-on is": {
			store: with(func(s *identity.UserStatus) { sso(s); s.Role = identity.RoleOrganizationAdmin }),
			want:  identity.ErrSSORequired,
		},
		"an address outside of the organization's networks": {
			store: with(func(s *identity.UserStatus) {
				s.AddressRanges = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}
			}),
			want: identity.ErrAddress,
		},
		"an address in one of the organization's networks": {
			store: with(func(s *identity.UserStatus) {
				s.AddressRanges = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.PrefixFrom(office, 48)}
			}),
		},
		"a super-admin's password where single sign-on is": {
			store: with(func(s *identity.UserStatus) { sso(s); s.Role = identity.RoleOrganizationSuperAdmin }),
		},
	} {
		claims := token{Session: uuid.New(), AuthType: identity.AuthCognito, ExpiresAt: time.Now().Add(time.Hour)}
		if c.how != "" {
			claims.AuthType = c.how
		}
		service := identity.NewService(&c.store, claims, slog.New(slog.DiscardHandler))
		actor, err := service.Authenticate(t.Context(), "token", office)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		again, againErr := service.ReloadActor(t.Context(), identity.Actor{
			User: active.User, Session: claims.Session,
			AuthType: claims.AuthType, ExpiresAt: claims.ExpiresAt, Address: office,
		})
		if !errors.Is(againErr, c.want) || again.ID != actor.ID {
			t.Errorf("%s, again: %+v, %v", name, again, againErr)
		}
		if err == nil && (actor.ID != active.ID || actor.AuthType != claims.AuthType ||
			actor.Session != claims.Session || !actor.ExpiresAt.Equal(claims.ExpiresAt)) {
			t.Errorf("%s: %+v", name, actor)
		}
	}
}

// screens records which users have open streams.
type screens struct {
	mu      sync.Mutex
	present []uuid.UUID // Guarded by mu.
	ended   []uuid.UUID // Guarded by mu.
}

func (s *screens) changed(id uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, id)
}

func (s *screens) connected() []uuid.UUID { return s.present }

func (s *screens) take() []uuid.UUID {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := s.ended
	s.ended = nil
	return ended
}

func TestR45_ChangesAreNotifiedAndInterruptionsCaughtUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := uuid.New(), uuid.New()
		store, open := &members{changes: make(chan uuid.UUID)}, &screens{present: []uuid.UUID{a, b}}
		service := identity.NewService(store, token{}, slog.New(slog.DiscardHandler))
		service.Start(open.changed, open.connected)
		defer service.Stop()
		want := func(what string, ids ...uuid.UUID) {
			t.Helper()
			synctest.Wait()
			if changes := open.take(); !slices.Equal(changes, ids) {
				t.Fatalf("%s: closed the streams of %v, want %v", what, changes, ids)
			}
		}
		store.changes <- uuid.Nil
		want("at first")
		store.changes <- a
		want("a change", a)

		store.changes <- uuid.Max
		<-time.After(10 * time.Minute)
		store.changes <- uuid.Max
		store.outdated = []uuid.UUID{b}
		want("while the database is away")
		store.changes <- uuid.Nil
		want("after an interruption", b)
		if store.within < 11*time.Minute || store.within > 12*time.Minute {
			t.Errorf("looked back %v", store.within)
		}
		store.changes <- uuid.Max
		store.failing = 2 // Connections from before the interruption.
		store.changes <- uuid.Nil
		want("the first answers are errors")
		<-time.After(time.Second)
		want("asked again", b)
		store.changes <- uuid.Max
		store.failing = 100 // Interrupted again, for 20 s: streams stay open, since clients could not reconnect.
		store.changes <- uuid.Nil
		<-time.After(10 * time.Second)
		want("nobody knows who has changed")
		<-time.After(20 * time.Second)
		want("it is known", b)
	})
}

// TestR45_ChangeBetweenAuthenticationAndStream: a request authenticated before a change must not open a stream after
// it.
func TestR45_ChangeBetweenAuthenticationAndStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		user := identity.User{ID: uuid.New(), State: identity.StateActive}
		store := &members{found: identity.UserStatus{User: user}, changes: make(chan uuid.UUID)}
		service := identity.NewService(store, token{}, slog.New(slog.DiscardHandler))
		service.Start(func(uuid.UUID) {}, func() []uuid.UUID { return nil })
		defer service.Stop()
		var actor identity.Actor
		recheck := func(what string, change func(), asked int, want error) {
			t.Helper()
			var err error
			if actor, err = service.Authenticate(t.Context(), "token", netip.Addr{}); err != nil {
				t.Fatal(err)
			}
			change()
			synctest.Wait()
			store.asked = 0
			actor, err = service.Recheck(t.Context(), actor)
			if !errors.Is(err, want) || store.asked != asked {
				t.Errorf("%s: %v, the store was asked %d times, want %d", what, err, store.asked, asked)
			}
		}
		recheck("nothing has changed", func() {}, 0, nil)
		recheck("somebody else has", func() { store.changes <- uuid.New() }, 1, nil)
		recheck("an interruption is over", func() { store.changes <- uuid.Max; store.changes <- uuid.Nil }, 1, nil)
		recheck("another role", func() {
			store.found.Role = identity.RoleOrganizationAdmin
			store.changes <- user.ID
		}, 1, nil)
		if actor.Role != identity.RoleOrganizationAdmin {
			t.Errorf("the role is %s", actor.Role)
		}
		recheck("their session has ended", func() {
			store.found.SessionOver = true
			store.changes <- user.ID
		}, 1, identity.ErrExpired)
	})
}

func TestIssuersAreDistinguished(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	aws := identity.Issuer{
		URL: "https://cognito-idp.ap-northeast-1.amazonaws.com/ap-northeast-1_X", ClientID: "aws",
		AuthType: identity.AuthCognito,
	}
	aws.Key = func(context.Context) jwt.Keyfunc {
		return func(*jwt.Token) (any, error) { return &s.other.PublicKey, nil }
	}
	v := identity.NewPoolVerifier(func() time.Time { return s.now }, aws, s.issuer("sso", identity.AuthFederated),
		s.issuer(clientID, identity.AuthCognito))
	session := uuid.New()
	claims := func(iss, aud string) func(map[string]any, jwt.MapClaims) {
		return func(_ map[string]any, c jwt.MapClaims) {
			c["iss"], c["aud"], c["origin_jti"] = iss, aud, session.String()
		}
	}
	for name, c := range map[string]struct {
		token string
		want  identity.AuthType // "": rejected.
	}{
		"password": {
			s.token(t, jwt.SigningMethodRS256, s.own, claims(issuer, clientID)),
			identity.AuthCognito,
		},
		"single sign-on": {
			s.token(t, jwt.SigningMethodRS256, s.own, claims(issuer, "sso")),
			identity.AuthFederated,
		},
		"AWS": {
			s.token(t, jwt.SigningMethodRS256, s.other, claims(aws.URL, "aws")),
			identity.AuthCognito,
		},
		"AWS with the pool's key":       {s.token(t, jwt.SigningMethodRS256, s.own, claims(aws.URL, "aws")), ""},
		"the pool with AWS's key":       {s.token(t, jwt.SigningMethodRS256, s.other, claims(issuer, "sso")), ""},
		"the pool with AWS's client":    {s.token(t, jwt.SigningMethodRS256, s.own, claims(issuer, "aws")), ""},
		"AWS with the client of single": {s.token(t, jwt.SigningMethodRS256, s.other, claims(aws.URL, "sso")), ""},
	} {
		got, err := v.VerifyIDToken(t.Context(), c.token)
		if c.want == "" {
			if fault.CodeOf(err) != fault.Unauthenticated {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || got.AuthType != c.want || got.Session != session {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	odd := s.token(t, jwt.SigningMethodRS256, s.own, func(_ map[string]any,
		c jwt.MapClaims,
	) {
		c["origin_jti"] = "none"
	})
	if got, err := v.VerifyIDToken(t.Context(), odd); err != nil || got.Session != uuid.Nil {
		t.Errorf("a session that is no UUID: %+v, %v", got, err)
	}
}
