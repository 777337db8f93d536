package identity

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/work"
)

// Service authenticates requests, and returns the sign-in method of an address. It is safe for concurrent use.
type Service struct {
	store    Store
	verifier Verifier
	log      *slog.Logger

	changes atomic.Uint64 // Incremented with each change that the store reports.
	group   *work.Group
}

// NewService returns a Service. It starts no goroutines before Start.
func NewService(store Store, verifier Verifier, log *slog.Logger) *Service {
	return &Service{store: store, verifier: verifier, log: log, group: work.NewGroup(log)}
}

// Start begins to watch for changed users and to end expired sessions. It must be called at most once and be followed
// by Stop.
//
// changed is called on every server for a user who was removed, or whose role, state, sessions or sign-in method
// changed. It closes all of their streams and connections; clients that are still allowed to reconnect do so. connected
// returns the users who have open streams or connections on this server. Both are called from one goroutine and never
// block.
func (s *Service) Start(changed func(userID uuid.UUID), connected func() []uuid.UUID) {
	w := &watch{store: s.store, changed: changed, connected: connected, changes: &s.changes, log: s.log}
	s.group.Go(w.run)
	s.group.Every(sessionSweep, nil, s.store.EndStaleSessions, "identity: ending expired sessions failed, retrying")
}

// Stop stops the goroutines of Start and waits for them.
func (s *Service) Stop() { s.group.Stop() }

// Authenticate returns the actor of an id token who calls from an address. The token proves only the user's identity.
// Role, state and session are read from the store on each call, so that changes take effect at once. Errors: ErrExpired,
// also for an ended session; ErrNoUser for a user who is not a member, or inactive; ErrSSORequired; ErrAddress; else the
// code fault.Unauthenticated.
func (s *Service) Authenticate(ctx context.Context, token string, from netip.Addr) (Actor, error) {
	claims, err := s.Verify(ctx, token)
	if err != nil {
		return Actor{}, err
	}
	return s.ActorOf(ctx, claims, from)
}

// Verify returns the claims of an id token. Its errors are those of Authenticate.
func (s *Service) Verify(ctx context.Context, token string) (Claims, error) {
	return s.verifier.VerifyIDToken(ctx, token)
}

// ActorOf returns the actor of verified claims. Its errors are those of Authenticate.
func (s *Service) ActorOf(ctx context.Context, claims Claims, from netip.Addr) (Actor, error) {
	return s.lookUp(ctx, claims, from, false)
}

// AuthenticatePassword is Authenticate for password sessions of the app only. It accepts them even if the organization
// requires single sign-on. For any other session the error has the code fault.Forbidden.
func (s *Service) AuthenticatePassword(ctx context.Context, token string, from netip.Addr) (Actor, error) {
	claims, err := s.verifier.VerifyIDToken(ctx, token)
	if err != nil {
		return Actor{}, err
	}
	if claims.AuthType != AuthCognito || claims.Client != "" {
		return Actor{}, fault.Errorf(fault.Forbidden, "パスワードでログインしてください。")
	}
	return s.lookUp(ctx, claims, from, true)
}

// ReloadActor looks up an actor again, for work done long after Authenticate. Its errors are those of Authenticate.
func (s *Service) ReloadActor(ctx context.Context, actor Actor) (Actor, error) {
	now, err := s.lookUp(ctx, Claims{
		Subject: actor.Subject, Session: actor.Session, AuthType: actor.AuthType, AuthTime: actor.AuthTime,
		ExpiresAt: actor.ExpiresAt, Client: actor.Client, Scopes: actor.Scopes,
	}, actor.Address, false)
	now.RequestID = actor.RequestID
	return now, err
}

// Recheck is ReloadActor for an actor who opens a stream or connection. The caller must first register the stream or
// connection with Events, so that no change is missed in between. Recheck queries the store only if any user has
// changed since the actor was looked up.
func (s *Service) Recheck(ctx context.Context, actor Actor) (Actor, error) {
	if s.changes.Load() == actor.changes {
		return actor, nil
	}
	return s.ReloadActor(ctx, actor)
}

// lookUp returns the actor of verified claims who calls from an address. anyWay accepts a password session even if
// single sign-on is required.
func (s *Service) lookUp(ctx context.Context, claims Claims, from netip.Addr, anyWay bool) (Actor, error) {
	changes := s.changes.Load() // Before the query, so that no change is missed in between.
	found, err := s.store.UserBySubject(ctx, claims)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return Actor{}, ErrNoUser
	case err != nil:
		return Actor{}, err
	case found.State != StateActive:
		return Actor{}, ErrNoUser
	case !anyWay && found.OrganizationAuthType == AuthFederated && claims.AuthType == AuthCognito &&
		found.Role != RoleOrganizationSuperAdmin:
		return Actor{}, ErrSSORequired
	case found.SessionOver:
		return Actor{}, ErrExpired
	}
	actor := Actor{
		User: found.User, AuthType: claims.AuthType, AuthTime: claims.AuthTime, Session: claims.Session,
		AuthenticatedAt: claims.AuthTime, ExpiresAt: claims.ExpiresAt, Client: claims.Client, Scopes: claims.Scopes,
		Address: from, changes: changes,
	}
	if at := found.AuthenticatedAt; at != nil && at.Before(actor.AuthTime) {
		actor.AuthenticatedAt = *at
	}
	if !InRanges(found.AddressRanges, from) {
		if err := s.store.RecordRefusedAddress(ctx, actor); err != nil && !errors.Is(err, context.Canceled) {
			s.log.WarnContext(ctx, "identity: refused address not recorded", "user_id", actor.ID, "err", err)
		}
		return Actor{}, ErrAddress
	}
	if found.SessionUsedAt != nil {
		actor.usedAt = *found.SessionUsedAt
	}
	return actor, nil
}

// InRanges reports whether an address is in one of the ranges. Without ranges, every address is.
func InRanges(ranges []netip.Prefix, address netip.Addr) bool {
	return len(ranges) == 0 || slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(address) })
}

// RecordSignIn records that the actor has begun to use the app. It only logs a failure, which must not lock out anyone.
func (s *Service) RecordSignIn(ctx context.Context, actor Actor) {
	if err := s.store.MarkSignedIn(ctx, actor.ID); err != nil && !errors.Is(err, context.Canceled) {
		s.log.Warn("identity: sign-in not recorded", "user_id", actor.ID, "err", err)
	}
}

// maxEmail limits an address, in bytes (RFC 5321, section 4.5.3.1, with the correction 1690).
const maxEmail = 254

// ProviderFor returns the sign-in method for an address. It uses only the mail domain, so that the result does not
// reveal which addresses exist.
func (s *Service) ProviderFor(ctx context.Context, email string) (Provider, error) {
	email = strings.ToLower(strings.TrimSpace(email))
	local, domain, found := strings.Cut(email, "@")
	odd := func(r rune) bool { return r == '@' || unicode.IsSpace(r) || unicode.IsControl(r) }
	if !found || local == "" || domain == "" || len(email) > maxEmail || strings.ContainsFunc(domain, odd) {
		return Provider{}, fault.InvalidField("email", "メールアドレスの形式が正しくありません。")
	}
	return s.store.ProviderByMailDomain(ctx, domain)
}
