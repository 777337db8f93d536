package identity

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// maxToken limits the size of a token before it is parsed, in bytes. Cognito's are about 1 KB.
const maxToken = 8 << 10

// Bounds of the cache of verified tokens. A token stays in it no longer than a withdrawn key may stay in use.
const (
	cacheLifetime = time.Minute
	maxCached     = 4096 // About 200 bytes each.
)

// Issuer issues the tokens of one client of a user pool.
type Issuer struct {
	URL      string // The claim iss.
	ClientID string // The claim aud.
	AuthType AuthType

	// Key finds the public key named by a token's header. It must ignore keys embedded in the header. If the keys
	// cannot be read at present, its error has the code fault.Unavailable.
	Key func(context.Context) jwt.Keyfunc
}

// PoolVerifier verifies the id tokens of user pools, embedded or AWS's. See
// https://docs.aws.amazon.com/cognito/latest/developerguide/amazon-cognito-user-pools-using-tokens-verifying-a-jwt.html
type PoolVerifier struct {
	issuers []issuer
	now     func() time.Time

	mu    sync.Mutex
	cache map[[sha256.Size]byte]cachedClaims // Guarded by mu. By the token's hash.
}

type issuer struct {
	Issuer
	parser *jwt.Parser
}

// cachedClaims is a cached result of a verification.
type cachedClaims struct {
	claims Claims
	until  time.Time // When the token must be verified again.
}

// NewPoolVerifier returns a verifier of the tokens of some issuers, no two of them with the same URL and client. now
// returns the current time.
func NewPoolVerifier(now func() time.Time, issuers ...Issuer) *PoolVerifier {
	v := &PoolVerifier{now: now, cache: make(map[[sha256.Size]byte]cachedClaims)}
	for _, i := range issuers {
		v.issuers = append(v.issuers, issuer{i, jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg()}), jwt.WithIssuer(i.URL),
			jwt.WithAudience(i.ClientID),
			jwt.WithExpirationRequired(), jwt.WithTimeFunc(now),
		)})
	}
	return v
}

// idClaims are the claims of an id token that are checked or used.
type idClaims struct {
	jwt.RegisteredClaims
	TokenUse  string `json:"token_use"`
	OriginJTI string `json:"origin_jti"`
	AuthTime  int64  `json:"auth_time"` // Seconds since 1970.
}

var errNotIDToken = errors.New("identity: not an id token")

func (c *idClaims) Validate() error {
	if c.TokenUse != "id" || c.Subject == "" {
		return errNotIDToken
	}
	return nil
}

// VerifyIDToken implements Verifier. If the keys of an issuer cannot be read, the error has the code fault.Unavailable.
func (v *PoolVerifier) VerifyIDToken(ctx context.Context, token string) (Claims, error) {
	if len(token) > maxToken {
		return Claims{}, fault.Errorf(fault.Unauthenticated, "Not authenticated")
	}
	hash := sha256.Sum256([]byte(token))
	if claims, known := v.recall(hash); known {
		return claims, nil
	}
	claimed, err := v.claimed(token)
	if err != nil {
		return Claims{}, fault.Wrap(err, fault.Unauthenticated, "Not authenticated")
	}
	var claims idClaims
	_, err = claimed.parser.ParseWithClaims(token, &claims, claimed.Key(ctx))
	switch {
	case err == nil:
		found := claims.of(claimed.AuthType)
		v.remember(hash, found)
		return found, nil
	case onlyExpired(err):
		return Claims{}, ErrExpired
	case fault.CodeOf(err) == fault.Unavailable:
		return Claims{}, err
	default:
		return Claims{}, fault.Wrap(err, fault.Unauthenticated, "Not authenticated")
	}
}

var errNoIssuer = errors.New("identity: a token of nobody we know")

// claimed returns the issuer in an unverified token. The caller must verify the token with this issuer only.
func (v *PoolVerifier) claimed(token string) (issuer, error) {
	var claims idClaims
	if _, _, err := jwt.NewParser().ParseUnverified(token, &claims); err != nil {
		return issuer{}, err
	}
	for _, i := range v.issuers {
		if i.URL == claims.Issuer && slices.Contains(claims.Audience, i.ClientID) {
			return i, nil
		}
	}
	return issuer{}, errNoIssuer
}

// of converts the claims of a verified token. It ignores a session that is not a UUID, because no pool of this product
// issued it.
func (c *idClaims) of(how AuthType) Claims {
	found := Claims{
		Subject: c.Subject, AuthType: how, AuthTime: time.Unix(c.AuthTime, 0).UTC(),
		ExpiresAt: c.ExpiresAt.Time,
	}
	if session, err := uuid.Parse(c.OriginJTI); err == nil {
		found.Session = session
	}
	return found
}

// recall returns the claims of a recently verified token. A browser sends the same token for an hour, and verifying a
// signature costs more than the rest of a small request.
func (v *PoolVerifier) recall(hash [sha256.Size]byte) (Claims, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	known, found := v.cache[hash]
	return known.claims, found && v.now().Before(known.until)
}

func (v *PoolVerifier) remember(hash [sha256.Size]byte, claims Claims) {
	until := v.now().Add(cacheLifetime)
	if claims.ExpiresAt.Before(until) {
		until = claims.ExpiresAt
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.cache) >= maxCached {
		clear(v.cache) // Rare, and tokens in use are soon cached again.
	}
	v.cache[hash] = cachedClaims{claims, until}
}

// onlyExpired reports whether a token is valid except for its expiry. Only then does a refresh help.
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
