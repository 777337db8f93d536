package pool

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// How keys change hands: a new one is in every server's JWKS at once, and in the caches of its readers well
// before the first token is signed with it.
const (
	keyBits      = 2048
	keysFresh    = time.Minute      // After that the keys are read again.
	keysRetry    = 5 * time.Second  // After a failure to read them.
	keysPatience = 2 * time.Second  // For reading them.
	jwksMaxAge   = 5 * time.Minute  // How long others may keep the JWKS.
	keyNotice    = 10 * time.Minute // From a key's first publication to its first use.
	keyGrace     = 5 * time.Minute  // From the end of the last token of a key to the end of the key; for skewed clocks.
)

// signer is a key that is ready for use.
type signer struct {
	id         string
	key        *rsa.PrivateKey
	activeFrom time.Time
	retireAt   *time.Time
}

// keyring holds the pool's keys as the database last had them.
type keyring struct {
	store Store
	clock func() time.Time
	log   *slog.Logger

	mu      sync.Mutex // Guards the following; held while the keys are read.
	signers []signer
	staleAt time.Time
	readAt  time.Time
}

// open reads the keys, and makes the first one if there is none.
func (k *keyring) open(ctx context.Context) error {
	keys, err := k.store.PoolKeys(ctx)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		now := k.clock()
		first, err := newKey(now, now)
		if err != nil {
			return err
		}
		if err := k.store.AddFirstPoolKey(ctx, first); err != nil {
			return err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.read(ctx, k.clock())
}

// read replaces the keys by those of the database. mu must be held.
func (k *keyring) read(ctx context.Context, now time.Time) error {
	keys, err := k.store.PoolKeys(ctx)
	if err != nil {
		return err
	}
	signers := make([]signer, 0, len(keys))
	for _, key := range keys {
		private, err := parseKey(key.PrivateKey)
		if err != nil {
			return fmt.Errorf("pool: signing key %s: %w", key.ID, err)
		}
		signers = append(signers, signer{id: key.ID, key: private, activeFrom: key.ActiveFrom, retireAt: key.RetireAt})
	}
	if len(signers) == 0 {
		return errors.New("pool: there is no signing key")
	}
	k.signers, k.readAt, k.staleAt = signers, now, now.Add(keysFresh)
	return nil
}

// all returns the keys that have not retired. If the database cannot be read, they are those that it last had.
func (k *keyring) all(ctx context.Context) []signer {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.clock()
	if now.Before(k.readAt) || !now.Before(k.staleAt) {
		// Everybody waits for this one reading; it must not end with the request that happened to be the first.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keysPatience)
		defer cancel()
		if err := k.read(ctx, now); err != nil {
			k.log.WarnContext(ctx, "pool: the signing keys cannot be read; the known ones stay in use", "error", err)
			k.readAt, k.staleAt = now, now.Add(keysRetry)
		}
	}
	valid := make([]signer, 0, len(k.signers))
	for _, s := range k.signers {
		if s.retireAt == nil || now.Before(*s.retireAt) {
			valid = append(valid, s)
		}
	}
	return valid
}

// current returns the key that signs: of those that may already, the newest.
func (k *keyring) current(ctx context.Context) (signer, error) {
	now := k.clock()
	var best *signer
	signers := k.all(ctx)
	for i := range signers {
		s := &signers[i]
		if !s.activeFrom.After(now) && (best == nil || s.activeFrom.After(best.activeFrom)) {
			best = s
		}
	}
	if best == nil {
		return signer{}, errors.New("pool: no signing key is active; is the clock right?")
	}
	return *best, nil
}

var errUnknownKey = errors.New("pool: the token names no key of the pool")

// Keyfunc returns the way to find the public key of one of the pool's tokens, for verifying them in this process. Only
// the header kid counts: keys that a header brings along are never looked at. It reads the database at most once a
// minute, whatever the tokens name.
func (p *Pool) Keyfunc(ctx context.Context) jwt.Keyfunc {
	return func(token *jwt.Token) (any, error) {
		id, ok := token.Header["kid"].(string)
		if !ok {
			return nil, errUnknownKey
		}
		for _, s := range p.keys.all(ctx) {
			if s.id == id {
				return &s.key.PublicKey, nil
			}
		}
		return nil, errUnknownKey
	}
}

// KeyChange tells what RotateKey has begun.
type KeyChange struct {
	ID         string    // Of the new key: the header kid of its tokens.
	ActiveFrom time.Time // From then on it signs.
	OldUntil   time.Time // Until then the keys before it are published: by then their tokens have run out.
}

// RotateKey makes a new signing key. All servers publish it within a minute and sign with it ten minutes later; the old
// one stays published until the last token that it signed has run out. Nobody is signed out.
func (p *Pool) RotateKey(ctx context.Context) (KeyChange, error) {
	now := p.now()
	next, err := newKey(now, now.Add(keyNotice))
	if err != nil {
		return KeyChange{}, err
	}
	change := KeyChange{
		ID: next.ID, ActiveFrom: next.ActiveFrom,
		OldUntil: next.ActiveFrom.Add(p.cfg.TokenLifetime + keyGrace),
	}
	return change, p.store.RotatePoolKey(ctx, next, change.OldUntil)
}

// newKey makes a signing key.
func newKey(now, activeFrom time.Time) (Key, error) {
	private, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return Key{}, fmt.Errorf("pool: make a signing key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return Key{}, fmt.Errorf("pool: make a signing key: %w", err)
	}
	return Key{
		ID:         thumbprint(&private.PublicKey),
		PrivateKey: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		CreatedAt:  now, ActiveFrom: activeFrom,
	}, nil
}

// parseKey reads a stored private key.
func parseKey(text string) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("it is not PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	private, ok := key.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("it is %T, not RSA", key)
	}
	return private, nil
}

// jwk is a public key as RFC 7517 and RFC 7518, section 6.3.1, have it.
type jwk struct {
	Algorithm string `json:"alg"`
	Exponent  string `json:"e"`
	ID        string `json:"kid"`
	Type      string `json:"kty"`
	Modulus   string `json:"n"`
	Use       string `json:"use"`
}

func newJWK(id string, key *rsa.PublicKey) jwk {
	return jwk{
		Algorithm: jwt.SigningMethodRS256.Alg(), Type: "RSA", Use: "sig", ID: id,
		Exponent: base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes()),
		Modulus:  base64.RawURLEncoding.EncodeToString(key.N.Bytes()),
	}
}

// thumbprint names a key by its content (RFC 7638).
func thumbprint(key *rsa.PublicKey) string {
	j := newJWK("", key)
	sum := sha256.Sum256([]byte(`{"e":"` + j.Exponent + `","kty":"RSA","n":"` + j.Modulus + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
