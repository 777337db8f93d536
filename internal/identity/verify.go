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

// maxToken bounds a token before it is looked into, in bytes. Cognito's are about 1 KB.
const maxToken = 8 << 10

// A token that was found to hold is not looked into again for as long as a key that is no longer valid may be used,
// which is asked about every minute.
const (
	verifiedFor = time.Minute
	maxVerified = 4096 // Some 200 bytes each.
)

// Issuer is who issues tokens for one client of a user pool.
type Issuer struct {
	URL      string // The claim iss.
	ClientID string // The claim aud.
	AuthType AuthType

	// Key finds the public key that a token's header names. It must not take keys from the header itself. Where keys
	// cannot be read at present its error has the code fault.Unavailable.
	Key func(context.Context) jwt.Keyfunc
}

// PoolVerifier checks the id tokens of user pools, embedded or AWS's. See
// https://docs.aws.amazon.com/cognito/latest/developerguide/amazon-cognito-user-pools-using-tokens-verifying-a-jwt.html
type PoolVerifier struct {
	issuers []issuer
	now     func() time.Time

	mu       sync.Mutex
	verified map[[sha256.Size]byte]verified // Guarded by mu. By the token's hash.
}

type issuer struct {
	Issuer
	parser *jwt.Parser
}

// verified is what a token that holds says.
type verified struct {
	claims Claims
	until  time.Time // Then it is looked into again.
}

// NewPoolVerifier returns a verifier of the tokens of some issuers, no two of them with the same URL and client. now
// tells the time.
func NewPoolVerifier(now func() time.Time, issuers ...Issuer) *PoolVerifier {
	v := &PoolVerifier{now: now, verified: make(map[[sha256.Size]byte]verified)}
	for _, i := range issuers {
		v.issuers = append(v.issuers, issuer{i, jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg()}), jwt.WithIssuer(i.URL),
			jwt.WithAudience(i.ClientID),
			jwt.WithExpirationRequired(), jwt.WithTimeFunc(now),
		)})
	}
	return v
}

// idClaims are the claims of an id token that matter.
type idClaims struct {
	jwt.RegisteredClaims
	TokenUse  string `json:"token_use"`
	OriginJTI string `json:"origin_jti"`
	AuthTime  int64  `json:"auth_time"` // Seconds since 1970.
}

var errNotIDToken = errors.New("identity: not an id token")

// Validate implements jwt.ClaimsValidator.
func (c *idClaims) Validate() error {
	if c.TokenUse != "id" || c.Subject == "" {
		return errNotIDToken
	}
	return nil
}

// VerifyIDToken implements Verifier. Where the keys of an issuer cannot be read the error has the code
// fault.Unavailable.
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

// claimed returns whose token it says it is. Nothing of it is verified: with that issuer alone it is to be.
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

// of returns the claims of a token that holds. A session that is no UUID is none of ours.
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

// recall returns what a token says that was found to hold a short time ago: a browser shows the same one for an hour,
// and a signature costs more than the rest of a small request.
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
