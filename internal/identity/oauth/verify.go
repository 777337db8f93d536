package oauth

import (
	"context"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/opaque"
)

var _ identity.Verifier = (*Verifier)(nil)

// Verifier verifies the access tokens of connections and personal access tokens. It passes all other tokens to the next
// Verifier.
type Verifier struct {
	store Store
	next  identity.Verifier
}

// NewVerifier returns a Verifier that passes id tokens to next.
func NewVerifier(store Store, next identity.Verifier) *Verifier {
	return &Verifier{store: store, next: next}
}

// tokenLength is the length of every token: a prefix and 256 bits in base64url.
const tokenLength = len(accessPrefix) + 43

// VerifyIDToken implements identity.Verifier. Each call reads the database, so that a token becomes invalid at once
// when its connection ends.
func (v *Verifier) VerifyIDToken(ctx context.Context, token string) (identity.Claims, error) {
	var want Kind
	switch {
	case strings.HasPrefix(token, accessPrefix):
		want = Access
	case strings.HasPrefix(token, personalPrefix):
		want = personalKey
	default:
		return v.next.VerifyIDToken(ctx, token)
	}
	unknown := fault.Errorf(fault.Unauthenticated, "Not authenticated")
	if len(token) != tokenLength {
		return identity.Claims{}, unknown
	}
	stored, err := v.store.TokenByHash(ctx, opaque.Hash(token))
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return identity.Claims{}, unknown
	case err != nil:
		return identity.Claims{}, err
	case stored.Kind != want:
		return identity.Claims{}, unknown
	case !stored.ExpiresAt.After(time.Now()):
		return identity.Claims{}, identity.ErrExpired
	}
	return stored.Claims, nil
}

// newToken returns a token with a prefix, and its stored form.
func newToken(prefix string, kind Kind, expires time.Time) (string, Token) {
	random, _ := opaque.New()
	token := prefix + random
	return token, Token{Hash: opaque.Hash(token), Kind: kind, ExpiresAt: expires}
}
