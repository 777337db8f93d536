package identity

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/tsumugi-ai/tsumugi/fault"
)

// Service finds out who makes a request, and how an address signs in. It is safe for concurrent use.
type Service struct {
	store    Store
	verifier Verifier
	log      *slog.Logger
}

// NewService returns a Service.
func NewService(store Store, verifier Verifier, log *slog.Logger) *Service {
	return &Service{store: store, verifier: verifier, log: log}
}

// Authenticate returns the actor that an id token proves. What the token says of a person counts for nothing but the
// name: role and state are read from the store each time, so that a change holds at once. Errors: ErrExpired; ErrNoUser
// for a person who is no member, or inactive; else the code fault.Unauthenticated.
func (s *Service) Authenticate(ctx context.Context, token string) (Actor, error) {
	claims, err := s.verifier.VerifyIDToken(ctx, token)
	if err != nil {
		return Actor{}, err
	}
	user, err := s.store.UserBySubject(ctx, claims.Subject)
	if fault.CodeOf(err) == fault.NotFound || (err == nil && user.State != StateActive) {
		return Actor{}, ErrNoUser
	}
	if err != nil {
		return Actor{}, err
	}
	return Actor{User: user, ExpiresAt: claims.ExpiresAt}, nil
}

// SignedIn notes that the actor has begun to use the app. A failure is logged only: it must keep nobody out.
func (s *Service) SignedIn(ctx context.Context, actor Actor) {
	if err := s.store.MarkSignedIn(ctx, actor.ID); err != nil && !errors.Is(err, context.Canceled) {
		s.log.Warn("noting a sign-in failed", "user_id", actor.ID, "err", err)
	}
}

// ProviderFor tells how the owner of an address signs in. Only the mail domain counts, so that the answer does not tell
// which addresses exist.
func (s *Service) ProviderFor(ctx context.Context, email string) (Provider, error) {
	local, domain, found := strings.Cut(strings.ToLower(strings.TrimSpace(email)), "@")
	if !found || local == "" || domain == "" || strings.ContainsAny(domain, "@ \t\r\n") {
		return Provider{}, fault.InvalidField("email", "メールアドレスの形式が正しくありません。")
	}
	return s.store.ProviderByMailDomain(ctx, domain)
}
