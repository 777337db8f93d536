package identity

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Service finds out who makes a request, and how an address signs in. It is safe for concurrent use.
type Service struct {
	store     Store
	verifier  Verifier
	log       *slog.Logger
	standings standings

	stop     context.CancelFunc // Set by Start.
	watching sync.WaitGroup     // The goroutine of Start.
}

// NewService returns a Service. Nothing runs before Start.
func NewService(store Store, verifier Verifier, log *slog.Logger) *Service {
	return &Service{store: store, verifier: verifier, log: log}
}

// Start begins to tell of users who change. It is called once, at most; then Stop must be called.
func (s *Service) Start(events Events) {
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	w := &watch{store: s.store, events: events, standings: &s.standings, log: s.log}
	s.watching.Go(func() { w.run(ctx) })
}

// Stop ends what Start began, and waits for it.
func (s *Service) Stop() {
	s.stop()
	s.watching.Wait()
}

// Authenticate returns the actor that an id token proves. What the token says of a person counts for nothing but the
// name: role, state and session are the store's, which is asked unless it has been within a minute and nothing has changed
// since, as far as it is known to have told. A change by this server holds for the next call, one by another within
// milliseconds, and within 5 s even if the store cannot tell of it. Errors: ErrExpired, also for a session that was
// revoked; ErrNoUser for a person who is no member, or inactive; ErrSSORequired; else the code fault.Unauthenticated.
func (s *Service) Authenticate(ctx context.Context, token string) (Actor, error) {
	claims, err := s.verifier.VerifyIDToken(ctx, token)
	if err != nil {
		return Actor{}, err
	}
	found, known := s.standings.find(standingKey{claims.Subject, claims.Session})
	if !known {
		if found, err = s.ask(ctx, claims); err != nil {
			return Actor{}, err
		}
	}
	return found.actor(claims)
}

// Again returns who an actor is by now, for whom something is done long after Authenticate. It asks the store each time.
// Errors are those of Authenticate.
func (s *Service) Again(ctx context.Context, actor Actor) (Actor, error) {
	claims := Claims{Subject: actor.Subject, Session: actor.Session, AuthType: actor.AuthType, ExpiresAt: actor.ExpiresAt}
	found, err := s.ask(ctx, claims)
	if err != nil {
		return Actor{}, err
	}
	now, err := found.actor(claims)
	now.Address, now.RequestID = actor.Address, actor.RequestID
	return now, err
}

// ask reads the standing of whom verified claims name from the store, and keeps it if it is one of a member.
func (s *Service) ask(ctx context.Context, claims Claims) (reading, error) {
	asOf := time.Now()
	found, err := s.store.UserBySubject(ctx, claims.Subject, claims.Session)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return reading{}, ErrNoUser
	case err != nil:
		return reading{}, err
	case found.State != StateActive:
		return reading{}, ErrNoUser
	case found.SessionRevoked:
		return reading{}, ErrExpired
	}
	r := reading{found, asOf}
	s.standings.keep(standingKey{claims.Subject, claims.Session}, r)
	return r, nil
}

// actor returns who it is that verified claims name, if the way their session began is still one for them.
func (r reading) actor(claims Claims) (Actor, error) {
	if r.OrganizationAuthType == AuthFederated && claims.AuthType == AuthCognito && r.Role != RoleOrganizationSuperAdmin {
		return Actor{}, ErrSSORequired
	}
	return Actor{
		User: r.User, AuthType: claims.AuthType, Session: claims.Session, ExpiresAt: claims.ExpiresAt, asOf: r.asOf,
	}, nil
}

// Recheck refuses an actor who has changed since Authenticate returned it, with ErrExpired: asked for again, it is another
// one, or none. It is to be called once whatever the actor opens can be found by Events, so that no change is missed
// between the two. It asks no store.
func (s *Service) Recheck(actor Actor) error {
	if s.standings.since(actor.asOf, actor.ID, actor.OrganizationID, actor.Session) {
		return ErrExpired
	}
	return nil
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
