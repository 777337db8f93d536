package pool

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
)

// Tokens are the tokens of a session of an external user, as in Cognito's AuthenticationResult.
type Tokens struct {
	IDToken      string
	AccessToken  string
	RefreshToken string // Empty after RefreshExternal: the old one stays valid.
	ExpiresIn    int    // Seconds, of the id and access tokens.
	TokenType    string // Bearer.
}

func (r authenticationResult) tokens() Tokens {
	return Tokens{
		IDToken: r.IdToken, AccessToken: r.AccessToken, RefreshToken: r.RefreshToken, ExpiresIn: int(r.ExpiresIn),
		TokenType: r.TokenType,
	}
}

// External is a sign-in at another identity provider.
type External struct {
	Until    *time.Time // End of the session set by the provider, or nil.
	Provider string     // The provider's name: its entity id or issuer.
	Person   string     // Its identifier of the person.
	Session  string     // Its identifier of the session, or "".

	AuthenticatedAt *time.Time // When the provider authenticated the person. Nil: now.

	CodeHash []byte // SHA-256 of the code of package sso that the session consumes. Nil for none.
}

var errNoFederation = errors.New("pool: there is no client for other identity providers' users")

// CreateExternalUser adds a user without a password who is authenticated by another identity provider. sub is uuid.Nil
// for a new user, or the sub that an external identity provider has already assigned to the person. Repeated calls
// change nothing: they return the sub of the user with that sub, or else of the external user with that address. If the
// address belongs to a user with a password, or to another sub, the error has the code fault.Conflict; for invalid
// input, fault.Invalid.
func (p *Pool) CreateExternalUser(ctx context.Context, sub uuid.UUID, email, name string) (uuid.UUID, error) {
	email, name = NormalizeEmail(email), strings.TrimSpace(name)
	if err := checkPerson(email, name); err != nil {
		return uuid.Nil, err
	}
	now := p.now()
	user := User{
		Sub: sub, Email: email, EmailVerified: true, Name: name, Status: StatusExternalProvider, Enabled: true,
		Version:   1,
		CreatedAt: now, UpdatedAt: now,
	}
	if sub == uuid.Nil {
		user.Sub = uuid.New()
	} else if existing, err := p.store.PoolUserBySub(timeout.Call(ctx), sub); fault.CodeOf(err) != fault.NotFound {
		return existing.Sub, err
	}
	err := p.store.CreatePoolUser(timeout.Call(ctx), user)
	if fault.CodeOf(err) != fault.Conflict {
		return user.Sub, err
	}
	existing, lookup := p.store.PoolUserByEmail(timeout.Call(ctx), email)
	if lookup == nil && existing.Status == StatusExternalProvider && (sub == uuid.Nil || sub == existing.Sub) {
		return existing.Sub, nil
	}
	return uuid.Nil, err
}

// SignInExternal begins a session for a user, with or without a password, who was just authenticated by another
// identity provider. If the provider sets the end of the session, it ends then at the latest, even if refreshed. If the
// user does not exist, the error has the code fault.NotFound; if the user is disabled, fault.Forbidden; if that end has
// passed or the code was consumed, fault.Unauthenticated.
func (p *Pool) SignInExternal(ctx context.Context, sub uuid.UUID, at External) (Tokens, error) {
	if p.cfg.FederatedClientID == "" {
		return Tokens{}, errNoFederation
	}
	user, err := p.store.PoolUserBySub(timeout.Call(ctx), sub)
	if err != nil {
		return Tokens{}, err
	}
	if !user.Enabled {
		return Tokens{}, fault.Errorf(fault.Forbidden, "このアカウントは一時停止中か、削除されています。")
	}
	if at.Until != nil && !at.Until.After(p.now()) {
		return Tokens{}, external(notAuthorized("the identity provider's session is over"))
	}
	result, err := p.signIn(ctx, user, newSession{client: p.cfg.FederatedClientID, external: at})
	return result.tokens(), external(err)
}

// RefreshExternal issues new tokens for the refresh token of a session begun by SignInExternal. clientID is the client
// that the caller claims for the session. If any argument is invalid, the error has the code fault.Unauthenticated.
func (p *Pool) RefreshExternal(ctx context.Context, clientID, refreshToken string) (Tokens, error) {
	if p.cfg.FederatedClientID == "" || clientID != p.cfg.FederatedClientID || len(refreshToken) > maxToken {
		return Tokens{}, external(notAuthorized("Invalid Refresh Token."))
	}
	result, err := p.refresh(ctx, refreshToken, clientID)
	return result.tokens(), external(err)
}

// RevokeSession ends the session with the given claim origin_jti, however it began. A session that has ended or is
// unknown is ignored.
func (p *Pool) RevokeSession(ctx context.Context, session uuid.UUID) error {
	return p.store.RevokeGrant(timeout.Call(ctx), session, p.event(ctx, actionSignOut, uuid.Nil))
}

// external converts a refusal of the protocol to a fault for callers in this process.
func external(err error) error {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return fault.Wrap(refused, fault.Unauthenticated, "セッションは終了しました。もう一度ログインしてください。")
	}
	return err
}
