package identity

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Service finds out who makes a request, and how an address signs in. It is safe for concurrent use.
type Service struct {
	store    Store
	verifier Verifier
	log      *slog.Logger

	changes  atomic.Uint64      // Grows with each change that the store tells of.
	stop     context.CancelFunc // Set by Start.
	watching sync.WaitGroup     // The goroutines of Start.
}

// NewService returns a Service. Nothing runs before Start.
func NewService(store Store, verifier Verifier, log *slog.Logger) *Service {
	return &Service{store: store, verifier: verifier, log: log}
}

// Start begins to tell of users who change, and to end sessions that have run out. It is called once, at most; then
// Stop must be called.
func (s *Service) Start(events Events) {
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	w := &watch{store: s.store, events: events, changes: &s.changes, log: s.log}
	s.watching.Go(func() { w.run(ctx) })
	s.watching.Go(func() { s.endStale(ctx) })
}

// Stop ends what Start began, and waits for it.
func (s *Service) Stop() {
	s.stop()
	s.watching.Wait()
}

// Authenticate returns the actor that an id token proves. The token proves only who it is: role, state and session are
// read from the store with each call. Errors: ErrExpired, also for a session that is over; ErrNoUser for a person who
// is no member, or inactive; ErrSSORequired; else the code fault.Unauthenticated.
func (s *Service) Authenticate(ctx context.Context, token string) (Actor, error) {
	claims, err := s.verifier.VerifyIDToken(ctx, token)
	if err != nil {
		return Actor{}, err
	}
	return s.lookUp(ctx, claims, false)
}

// ByPassword is Authenticate for the session of somebody who has entered their password, also where their organization
// wants single sign-on. Any other session has the code fault.Forbidden.
func (s *Service) ByPassword(ctx context.Context, token string) (Actor, error) {
	claims, err := s.verifier.VerifyIDToken(ctx, token)
	if err != nil {
		return Actor{}, err
	}
	if claims.AuthType != AuthCognito {
		return Actor{}, fault.Errorf(fault.Forbidden, "パスワードでログインしてください。")
	}
	return s.lookUp(ctx, claims, true)
}

// Again looks an actor up anew, for whom something is done long after Authenticate. Errors are those of Authenticate.
func (s *Service) Again(ctx context.Context, actor Actor) (Actor, error) {
	now, err := s.lookUp(ctx, Claims{
		Subject: actor.Subject, Session: actor.Session, AuthType: actor.AuthType, AuthTime: actor.AuthTime,
		ExpiresAt: actor.ExpiresAt,
	}, false)
	now.Address, now.RequestID = actor.Address, actor.RequestID
	return now, err
}

// Recheck is Again for an actor who opens something that Events ends. It must be called once Events can find what is
// opened, so that no change is missed in between. It asks the store only if anybody has changed since it was last
// asked.
func (s *Service) Recheck(ctx context.Context, actor Actor) (Actor, error) {
	if s.changes.Load() == actor.changes {
		return actor, nil
	}
	return s.Again(ctx, actor)
}

// lookUp returns the actor that verified claims name. anyWay lets a session by password in where single sign-on is
// wanted.
func (s *Service) lookUp(ctx context.Context, claims Claims, anyWay bool) (Actor, error) {
	changes := s.changes.Load() // Before the store is asked.
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
		ExpiresAt: claims.ExpiresAt, changes: changes,
	}
	if found.SessionUsedAt != nil {
		actor.usedAt = *found.SessionUsedAt
	}
	return actor, nil
}

// SignedIn notes that the actor has begun to use the app. A failure is logged only: it must keep nobody out.
func (s *Service) SignedIn(ctx context.Context, actor Actor) {
	if err := s.store.MarkSignedIn(ctx, actor.ID); err != nil && !errors.Is(err, context.Canceled) {
		s.log.Warn("noting a sign-in failed", "user_id", actor.ID, "err", err)
	}
}

// maxEmail bounds an address, in bytes (RFC 5321, section 4.5.3.1, with the correction 1690).
const maxEmail = 254

// ProviderFor tells how the owner of an address signs in. Only the mail domain counts, so that the answer does not tell
// which addresses exist.
func (s *Service) ProviderFor(ctx context.Context, email string) (Provider, error) {
	email = strings.ToLower(strings.TrimSpace(email))
	local, domain, found := strings.Cut(email, "@")
	odd := func(r rune) bool { return r == '@' || unicode.IsSpace(r) || unicode.IsControl(r) }
	if !found || local == "" || domain == "" || len(email) > maxEmail || strings.ContainsFunc(domain, odd) {
		return Provider{}, fault.InvalidField("email", "メールアドレスの形式が正しくありません。")
	}
	return s.store.ProviderByMailDomain(ctx, domain)
}
