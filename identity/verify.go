package identity

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tsumugi-ai/tsumugi/fault"
)

// maxToken bounds a token before it is looked into, in bytes. Cognito's are about 1 KB.
const maxToken = 8 << 10

// A token that was found to hold is not looked into again for as long as a key that is no longer valid may be used, which
// is asked about every minute.
const (
	verifiedFor = time.Minute
	maxVerified = 4096 // Some 100 bytes each.
)

// PoolVerifier checks the id tokens of a user pool, embedded or AWS's. See
// https://docs.aws.amazon.com/cognito/latest/developerguide/amazon-cognito-user-pools-using-tokens-verifying-a-jwt.html
type PoolVerifier struct {
	parser *jwt.Parser
	key    func(context.Context) jwt.Keyfunc
	now    func() time.Time

	mu       sync.Mutex
	verified map[[sha256.Size]byte]verified // Guarded by mu. By the token's hash.
}

// verified is what a token that holds says.
type verified struct {
	claims Claims
	until  time.Time // Then it is looked into again.
}

// NewPoolVerifier returns a verifier of tokens of one issuer for one client. key finds the public key that a token's
// header names; it must not take keys from the header itself.
func NewPoolVerifier(issuer, clientID string, key func(context.Context) jwt.Keyfunc, now func() time.Time) *PoolVerifier {
	return &PoolVerifier{key: key, now: now, verified: make(map[[sha256.Size]byte]verified), parser: jwt.NewParser(
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
	hash := sha256.Sum256([]byte(token))
	if claims, known := v.recall(hash); known {
		return claims, nil
	}
	var claims idClaims
	_, err := v.parser.ParseWithClaims(token, &claims, v.key(ctx))
	switch {
	case err == nil:
		found := Claims{Subject: claims.Subject, ExpiresAt: claims.ExpiresAt.Time}
		v.remember(hash, found)
		return found, nil
	case onlyExpired(err):
		return Claims{}, ErrExpired
	default:
		return Claims{}, fault.Wrap(err, fault.Unauthenticated, "Not authenticated")
	}
}

// recall returns what a token says that was found to hold a short time ago: a browser shows the same one for an hour, and
// a signature costs more than the rest of a small request.
func (v *PoolVerifier) recall(hash [sha256.Size]byte) (Claims, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	known, found := v.verified[hash]
	return known.claims, found && v.now().Before(known.until)
}

func (v *PoolVerifier) remember(hash [sha256.Size]byte, claims Claims) {
	until := v.now().Add(verifiedFor)
	if claims.ExpiresAt.Before(until) {
		until = claims.ExpiresAt
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.verified) >= maxVerified {
		clear(v.verified) // Rare, and those in use are soon back.
	}
	v.verified[hash] = verified{claims, until}
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
