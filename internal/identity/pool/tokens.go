package pool

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/opaque"
	"github.com/tsumugi-ai/tsumugi/internal/mail"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
)

// accessScope is the scope of access tokens of a user pool without requested scopes.
const accessScope = "aws.cognito.signin.user.admin"

// maxToken limits the size of a token before it is parsed, in bytes. The pool's tokens are about 1 KB.
const maxToken = 8 << 10

// authenticationResult is the shape AuthenticationResultType of the protocol.
type authenticationResult struct {
	AccessToken  string
	ExpiresIn    int64
	IdToken      string //nolint:revive // The protocol's spelling.
	RefreshToken string `json:",omitempty"`
	TokenType    string
}

// newSession is the input of signIn.
type newSession struct {
	client   string   // The app client.
	method   string   // The method of the sign-in. Empty: the password, or single sign-on with that client.
	factor   string   // The proof of the second factor, or "".
	external External // The sign-in at another identity provider, or zero.

	authenticatedAt *time.Time // See Grant.AuthenticatedAt.
}

// signIn creates a grant for a user who has just been authenticated, and issues its tokens. The grant ends after the
// lifetime of refresh tokens, or at the end set by another identity provider if that is earlier.
func (p *Pool) signIn(ctx context.Context, user User, session newSession) (authenticationResult, error) {
	now := p.now()
	refresh, hash := opaque.New()
	grant := Grant{
		ID: uuid.New(), TokenHash: hash, Sub: user.Sub, ClientID: session.client, EventID: uuid.New(),
		AuthTime: now, ExpiresAt: now.Add(p.cfg.RefreshLifetime), External: session.external,
		AuthenticatedAt: cmp.Or(session.authenticatedAt, session.external.AuthenticatedAt),
	}
	if until := session.external.Until; until != nil && until.Before(grant.ExpiresAt) {
		grant.ExpiresAt = *until
	}
	event := p.event(ctx, actionSignIn, user.Sub)
	event.Method, event.Factor = cmp.Or(session.method, byPassword), session.factor
	if session.client == p.cfg.FederatedClientID {
		event.Method = bySSO
	}
	newDevice, err := p.store.CreateGrant(timeout.Call(ctx), grant, user.Version, event)
	if fault.CodeOf(err) == fault.Conflict { // The user was disabled, or their password changed, after the check.
		return authenticationResult{}, incorrectPassword()
	}
	if err != nil {
		return authenticationResult{}, err
	}
	if newDevice {
		p.notify(ctx, user, mail.NewDevice)
	}
	result, err := p.issue(ctx, user, grant, now)
	result.RefreshToken = refresh
	return result, err
}

// issue signs an id token and an access token for a grant. See
// https://docs.aws.amazon.com/cognito/latest/developerguide/amazon-cognito-user-pools-using-the-id-token.html
func (p *Pool) issue(ctx context.Context, user User, grant Grant, now time.Time) (authenticationResult, error) {
	issuedAt := now.Unix()
	expiresAt := min(issuedAt+int64(p.cfg.TokenLifetime/time.Second), grant.ExpiresAt.Unix())
	common := func(use string) jwt.MapClaims {
		claims := jwt.MapClaims{
			"sub": user.Sub.String(), "iss": p.cfg.Issuer, "token_use": use, "event_id": grant.EventID.String(),
			"origin_jti": grant.ID.String(), "jti": uuid.NewString(), "auth_time": grant.AuthTime.Unix(),
			"iat": issuedAt, "exp": expiresAt,
		}
		if len(user.Groups) > 0 {
			claims["cognito:groups"] = user.Groups
		}
		return claims
	}
	id := common("id")
	id["aud"] = grant.ClientID
	id["cognito:username"] = user.Sub.String()
	id["email"], id["email_verified"], id["name"] = user.Email, user.EmailVerified, user.Name
	access := common("access")
	access["client_id"] = grant.ClientID
	access["username"] = user.Sub.String()
	access["scope"] = accessScope

	key, err := p.keys.current(ctx)
	if err != nil {
		return authenticationResult{}, err
	}
	result := authenticationResult{ExpiresIn: expiresAt - issuedAt, TokenType: "Bearer"}
	if result.IdToken, err = sign(key, id); err != nil {
		return authenticationResult{}, err
	}
	result.AccessToken, err = sign(key, access)
	return result, err
}

// sign returns a JWT with Cognito's header: kid and alg, no typ.
func sign(key signer, claims jwt.MapClaims) (string, error) {
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	delete(token.Header, "typ")
	token.Header["kid"] = key.id
	return token.SignedString(key.key)
}

// accessClaims are the claims of an access token that the pool uses.
type accessClaims struct {
	jwt.RegisteredClaims
	TokenUse  string `json:"token_use"`
	ClientID  string `json:"client_id"`
	OriginJTI string `json:"origin_jti"`
}

// holder verifies an access token and returns its user and grant. The refusals are Cognito's.
func (p *Pool) holder(ctx context.Context, token string) (GrantUser, error) {
	invalid := notAuthorized("Invalid Access Token")
	if len(token) > maxToken {
		return GrantUser{}, invalid
	}
	parser := jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg()}), jwt.WithIssuer(p.cfg.Issuer),
		jwt.WithExpirationRequired(), jwt.WithTimeFunc(p.now))
	var claims accessClaims
	_, err := parser.ParseWithClaims(token, &claims, p.Keyfunc(ctx))
	expired := errors.Is(err, jwt.ErrTokenExpired) && !errors.Is(err, jwt.ErrTokenInvalidIssuer)
	if err != nil && !expired || claims.TokenUse != "access" || !p.hasClient(claims.ClientID) {
		return GrantUser{}, invalid
	}
	if expired {
		return GrantUser{}, notAuthorized("Access Token has expired")
	}
	id, ok := parseSub(claims.OriginJTI)
	if !ok {
		return GrantUser{}, invalid
	}
	held, err := p.store.GrantByID(timeout.Call(ctx), id)
	switch {
	case fault.CodeOf(err) == fault.NotFound: // The user was deleted.
		return GrantUser{}, noUser()
	case err != nil:
		return GrantUser{}, err
	case held.Grant.RevokedAt != nil:
		return GrantUser{}, notAuthorized("Access Token has been revoked")
	case !held.User.Enabled:
		return GrantUser{}, notAuthorized("User is disabled.")
	}
	return held, nil
}

// refresh issues new tokens for the refresh token of a client's valid grant. The refresh token does not change.
func (p *Pool) refresh(ctx context.Context, token, clientID string) (authenticationResult, error) {
	now := p.now()
	held, err := p.store.GrantByToken(timeout.Call(ctx), opaque.Hash(token))
	refuse := func(user *User, reason, message string) (authenticationResult, error) {
		p.refused(ctx, actionRefreshRefused, user, reason)
		return authenticationResult{}, notAuthorized(message)
	}
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return refuse(nil, "unknown", "Invalid Refresh Token.")
	case err != nil:
		return authenticationResult{}, err
	case held.Grant.ClientID != clientID:
		return refuse(&held.User, "client", "Invalid Refresh Token.")
	case held.Grant.RevokedAt != nil:
		return refuse(&held.User, "revoked", "Refresh Token has been revoked")
	case !now.Before(held.Grant.ExpiresAt):
		return refuse(&held.User, "expired", "Refresh Token has expired")
	case !held.User.Enabled:
		return refuse(&held.User, "disabled", "User is disabled.")
	}
	return p.issue(ctx, held.User, held.Grant, now)
}

// attribute is the shape AttributeType of the protocol.
type attribute struct {
	Name  string
	Value string
}

// attributes returns a user's attributes, sorted by name.
func attributes(user User) []attribute {
	return []attribute{
		{"email", user.Email},
		{"email_verified", strconv.FormatBool(user.EmailVerified)},
		{"name", user.Name},
		{"sub", user.Sub.String()},
	}
}
