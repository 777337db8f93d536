package sso

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/opaque"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
)

// Outcome is the next step of the browser: exchange a code, ask a member for consent, or show the result of a trial.
// Exactly one field is set.
type Outcome struct {
	Code string
	Link string // Identifies the pending link.
	Test uuid.UUID
}

// Login is a person whom the identity provider has authenticated.
type Login struct {
	State        State // The sign-in.
	Person       Person
	SessionUntil *time.Time // End of the session set by the identity provider, or nil.
	Origin       Origin
}

// Admit finds or adds the member for a person who was authenticated, and issues a code. The error has one of the codes
// of refusals, or is internal.
func (s *Service) Admit(ctx context.Context, login Login) (Outcome, error) {
	now := s.Now()
	code, hash := opaque.New()
	organizationID, who := login.State.OrganizationID, login.Person
	switch at := who.AuthenticatedAt; {
	case at == nil: // Perhaps long ago.
		who.AuthenticatedAt = new(time.Unix(0, 0))
	case at.After(now): // By another clock.
		who.AuthenticatedAt = nil
	}
	acceptance := Acceptance{
		OrganizationID: organizationID, Person: who, Origin: login.Origin, ArrivedAt: login.State.TakenAt,
		ConsentUntil: now.Add(StateLifetime),
		Code: Code{
			Hash: hash, BrowserHash: login.State.BrowserHash, OrganizationID: organizationID, Next: login.State.Next,
			SessionUntil: login.SessionUntil, ExpiresAt: now.Add(CodeLifetime),
		},
	}
	subject := uuid.Nil
	var decision Decision
	by := func(found Candidates) (_ Decision, err error) {
		decision, err = decide(organizationID, who, subject, found)
		return decision, err
	}
	accept := func() error { return s.store.AcceptPerson(ctx, acceptance, now, by) }
	err := accept()
	if errors.Is(err, errNeedsAccount) {
		subject, err = s.sessions.CreateExternalUser(ctx, uuid.Nil, who.Email, who.Name)
		// The user pool has a password user with this address who belongs to no organization.
		if fault.CodeOf(err) == fault.Conflict {
			err = errNotLinked()
		}
		if err == nil {
			err = accept()
		}
	}
	// A member with the address was added concurrently: look it up again.
	if fault.CodeOf(err) == fault.Conflict {
		err = accept()
	}
	switch {
	case err != nil:
		if code := fault.CodeOf(err); slices.Contains(refusals, code) {
			s.refuse(ctx, Refusal{
				OrganizationID: organizationID, Email: who.Email, Code: code, Origin: login.Origin,
			}, string(code))
		}
		return Outcome{}, err
	case decision.Consent:
		return Outcome{Link: code}, nil
	default:
		return Outcome{Code: code}, nil
	}
}

// Session is the result of Exchange.
type Session struct {
	pool.Tokens
	ClientID string
	Next     string // Path in the app after the sign-in, or "".
}

// Exchange returns the tokens for a code. If it is unknown, used, more than a minute old or another browser's, the
// error has the code CodeState. If the member's account is still being created, it has the code fault.Unavailable.
func (s *Service) Exchange(ctx context.Context, organizationID uuid.UUID, code, browser string) (Session, error) {
	hash := opaque.Hash(code)
	grantee, err := s.store.FindSSOCode(ctx, organizationID, hash, opaque.Hash(browser), s.Now())
	if fault.CodeOf(err) == fault.NotFound {
		return Session{}, errCodeOver(err)
	}
	if err != nil {
		return Session{}, err
	}
	subject, err := uuid.Parse(grantee.Subject)
	if err != nil { // The member was just invited, and the account is being created.
		return Session{}, fault.Wrap(err, fault.Unavailable, "アカウントを準備しています。少し待ってから、もう一度ログインしてください。")
	}
	// Members who had a password at AWS are not in the pool yet.
	if _, err := s.sessions.CreateExternalUser(ctx, subject, grantee.Email, grantee.Name); err != nil {
		return Session{}, err
	}
	tokens, err := s.sessions.SignInExternal(ctx, subject, pool.External{
		Until: grantee.SessionUntil, Provider: grantee.ProviderID, Person: grantee.PersonID, Session: grantee.SessionID,
		AuthenticatedAt: grantee.AuthenticatedAt, CodeHash: hash,
	})
	if fault.CodeOf(err) == fault.Unauthenticated { // The code was used or ended meanwhile.
		return Session{}, errCodeOver(err)
	}
	if err != nil {
		return Session{}, err
	}
	return Session{Tokens: tokens, ClientID: s.cfg.ClientID, Next: grantee.Next}, nil
}

func errCodeOver(err error) error {
	return fault.Wrap(err, CodeState, "ログインの有効期限が切れました。もう一度ログインしてください。")
}

// Refresh returns new tokens for a session begun by Exchange. If the session or token is invalid, the error has the
// code fault.Unauthenticated.
func (s *Service) Refresh(ctx context.Context, clientID, refreshToken string) (pool.Tokens, error) {
	return s.sessions.RefreshExternal(ctx, clientID, refreshToken)
}
