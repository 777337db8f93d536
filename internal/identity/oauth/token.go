package oauth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"regexp"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/opaque"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// Grant types of the token endpoint.
const (
	GrantCode    = "authorization_code"
	GrantRefresh = "refresh_token"
	GrantDevice  = "urn:ietf:params:oauth:grant-type:device_code"
)

// TokenRequest is a request of the token endpoint.
type TokenRequest struct {
	GrantType    string
	ClientID     string
	Code         string
	RedirectURI  string
	Verifier     string
	RefreshToken string
	DeviceCode   string
	Scope        string
	Origin       Origin
}

// Tokens is the response of the token endpoint.
type Tokens struct {
	Access, Refresh string
	ExpiresIn       time.Duration
	Scopes          []identity.Scope
}

func errUnknownClient() error { return fault.Errorf(InvalidClient, "unknown client") }

// verifierForm is a code verifier (RFC 7636, section 4.1).
var verifierForm = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`)

// Exchange exchanges a code or refresh token for tokens. Its errors have the codes of RFC 6749 and RFC 8628.
func (s *Service) Exchange(ctx context.Context, r TokenRequest) (Tokens, error) {
	if _, known := s.client(r.ClientID); !known {
		return Tokens{}, errUnknownClient()
	}
	switch r.GrantType {
	case GrantCode:
		return s.redeem(ctx, r, r.Code, func(g *Grant) error { return s.checkCode(g, r) })
	case GrantDevice:
		return s.redeem(ctx, r, r.DeviceCode, s.poll)
	case GrantRefresh:
		return s.refresh(ctx, r)
	case "":
		return Tokens{}, fault.Errorf(InvalidRequest, "grant_type is missing")
	}
	return Tokens{}, fault.Errorf(UnsupportedGrant, "grant_type must be %s, %s or %s", GrantCode,
		GrantRefresh, GrantDevice)
}

// checkCode validates an authorization code. The code is used up even if validation fails.
func (s *Service) checkCode(g *Grant, r TokenRequest) error {
	now := s.cfg.Now()
	g.UsedAt = &now
	sum := sha256.Sum256([]byte(r.Verifier))
	challenge := base64.RawURLEncoding.EncodeToString(sum[:])
	switch {
	case !now.Before(g.ExpiresAt):
		return fault.Errorf(InvalidGrant, "the code has expired")
	case g.RedirectURI != r.RedirectURI:
		return fault.Errorf(InvalidGrant, "redirect_uri is not that of the authorization request")
	case !verifierForm.MatchString(r.Verifier) ||
		subtle.ConstantTimeCompare([]byte(challenge), []byte(g.Challenge)) != 1:
		return fault.Errorf(InvalidGrant, "code_verifier does not match")
	}
	return nil
}

// redeem exchanges a code that check accepts.
func (s *Service) redeem(ctx context.Context, r TokenRequest, code string, check func(*Grant) error) (Tokens, error) {
	if code == "" {
		return Tokens{}, fault.Errorf(InvalidRequest, "the code is missing")
	}
	var tokens Tokens
	err := s.store.RedeemGrant(ctx, opaque.Hash(code), r.Origin, func(g *Grant) (*NewConnection, error) {
		if g.ClientID != r.ClientID || (g.UserCodeHash != nil) != (r.GrantType == GrantDevice) {
			return nil, fault.Errorf(InvalidGrant, "the code is another client's")
		}
		if err := check(g); err != nil {
			return nil, err
		}
		now := s.cfg.Now()
		g.UsedAt = &now
		var stored []Token
		tokens, stored = s.issue(g.Scopes)
		return &NewConnection{
			ID: uuidv7.New(), Tokens: stored, UserAgent: r.Origin.UserAgent, Address: r.Origin.Address,
		}, nil
	})
	return tokens, err
}

// refresh replaces a refresh token if its person may still use the connection. After a lost response, a client may
// repeat the request for a short time (OAuth 2.1, section 4.3.1).
func (s *Service) refresh(ctx context.Context, r TokenRequest) (Tokens, error) {
	invalid := fault.Errorf(InvalidGrant, "the refresh token is not valid")
	if r.RefreshToken == "" {
		return Tokens{}, fault.Errorf(InvalidRequest, "refresh_token is missing")
	}
	hash := opaque.Hash(r.RefreshToken)
	stored, err := s.store.TokenByHash(ctx, hash)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return Tokens{}, invalid
	case err != nil:
		return Tokens{}, err
	case stored.Kind != Refresh || stored.Client != r.ClientID:
		return Tokens{}, invalid
	}
	rotation := Rotation{Hash: hash, Grace: refreshGrace, Origin: r.Origin}
	_, err = s.people.ActorOf(ctx, stored.Claims, r.Origin.Address)
	switch code := fault.CodeOf(err); {
	case code == "":
	case code != fault.Unauthenticated && code != identity.SSORequired && code != identity.AddressRefused:
		return Tokens{}, err
	case stored.Used:
		rotation.Grace = 0 // The store ends the connection.
	case code == identity.AddressRefused: // The client may try again from another network.
		return Tokens{}, fault.Wrap(err, AccessDenied, "the organization does not allow this network")
	default:
		return Tokens{}, fault.Wrap(err, InvalidGrant, "the connection is over")
	}
	if err := sameScopes(stored.Scopes, r.Scope); err != nil {
		return Tokens{}, err
	}
	var tokens Tokens
	tokens, rotation.Next = s.issue(stored.Scopes)
	if err := s.store.RotateTokens(ctx, rotation); err != nil {
		return Tokens{}, err
	}
	return tokens, nil
}

// sameScopes refuses a refresh with scopes that were not granted. A subset is allowed, but has no effect.
func sameScopes(granted []identity.Scope, scope string) error {
	_, err := scopesOf(Client{Scopes: granted}, scope)
	return err
}

// issue generates the tokens of a connection, and returns them with their stored form.
func (s *Service) issue(scopes []identity.Scope) (Tokens, []Token) {
	now := s.cfg.Now()
	access, storedAccess := newToken(accessPrefix, Access, now.Add(accessLifetime))
	refresh, storedRefresh := newToken(refreshPrefix, Refresh, now.Add(refreshLifetime))
	return Tokens{Access: access, Refresh: refresh, ExpiresIn: accessLifetime, Scopes: scopes},
		[]Token{storedAccess, storedRefresh}
}

// Revoke ends the connection of a token (RFC 7009). It ignores unknown tokens and tokens of other clients.
func (s *Service) Revoke(ctx context.Context, clientID, token string, origin Origin) error {
	if _, known := s.client(clientID); !known {
		return errUnknownClient()
	}
	if token == "" {
		return fault.Errorf(InvalidRequest, "token is missing")
	}
	return s.store.EndByToken(ctx, clientID, opaque.Hash(token), origin)
}
