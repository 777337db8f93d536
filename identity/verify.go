package identity

import (
	"context"
	"errors"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tsumugi-ai/tsumugi/fault"
)

// maxToken bounds a token before it is looked into, in bytes. Cognito's are about 1 KB.
const maxToken = 8 << 10

// PoolVerifier checks the id tokens of a user pool, embedded or AWS's. See
// https://docs.aws.amazon.com/cognito/latest/developerguide/amazon-cognito-user-pools-using-tokens-verifying-a-jwt.html
type PoolVerifier struct {
	parser *jwt.Parser
	key    func(context.Context) jwt.Keyfunc
}

// NewPoolVerifier returns a verifier of tokens of one issuer for one client. key finds the public key that a token's
// header names; it must not take keys from the header itself.
func NewPoolVerifier(issuer, clientID string, key func(context.Context) jwt.Keyfunc, now func() time.Time) *PoolVerifier {
	return &PoolVerifier{key: key, parser: jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg()}), jwt.WithIssuer(issuer), jwt.WithAudience(clientID),
		jwt.WithExpirationRequired(), jwt.WithTimeFunc(now),
	)}
}

// idClaims are the claims of an id token that matter.
type idClaims struct {
	jwt.RegisteredClaims
	TokenUse string `json:"token_use"`
}

var errNotIDToken = errors.New("identity: not an id token")

// Validate implements jwt.ClaimsValidator.
func (c *idClaims) Validate() error {
	if c.TokenUse != "id" || c.Subject == "" {
		return errNotIDToken
	}
	return nil
}

// VerifyIDToken implements Verifier.
func (v *PoolVerifier) VerifyIDToken(ctx context.Context, token string) (Claims, error) {
	if len(token) > maxToken {
		return Claims{}, fault.Errorf(fault.Unauthenticated, "Not authenticated")
	}
	var claims idClaims
	_, err := v.parser.ParseWithClaims(token, &claims, v.key(ctx))
	switch {
	case err == nil:
		return Claims{Subject: claims.Subject, ExpiresAt: claims.ExpiresAt.Time}, nil
	case onlyExpired(err):
		return Claims{}, ErrExpired
	default:
		return Claims{}, fault.Wrap(err, fault.Unauthenticated, "Not authenticated")
	}
}

// onlyExpired reports whether a token would hold if it had not run out: a refresh helps for such a one alone.
func onlyExpired(err error) bool {
	if !errors.Is(err, jwt.ErrTokenExpired) {
		return false
	}
	for _, other := range []error{
		jwt.ErrTokenSignatureInvalid, jwt.ErrTokenInvalidIssuer, jwt.ErrTokenInvalidAudience, jwt.ErrTokenMalformed,
		jwt.ErrTokenUnverifiable, jwt.ErrTokenNotValidYet, errNotIDToken,
	} {
		if errors.Is(err, other) {
			return false
		}
	}
	return true
}
