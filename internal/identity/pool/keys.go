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

	"github.com/tsumugi-ai/tsumugi/internal/timeout"
)

// Timing of key rotation: a new key must be in the JWKS of every server, and in the caches of its readers, before the
// first token is signed with it.
const (
	keyBits     = 2048
	keysFresh   = time.Minute      // Maximum age of the keys.
	keysRetry   = 5 * time.Second  // After a failed read.
	keysTimeout = 2 * time.Second  // For one read.
	jwksMaxAge  = 5 * time.Minute  // Cache lifetime of the JWKS.
	keyNotice   = 10 * time.Minute // From a key's first publication to its first use.
	keyGrace    = 5 * time.Minute  // From the expiry of a key's last token to the key's removal, for clock skew.
)

// signer is a parsed signing key.
type signer struct {
	id         string
	key        *rsa.PrivateKey
	activeFrom time.Time
	retireAt   *time.Time
}

// keyring caches the pool's keys.
type keyring struct {
	store Store
	clock func() time.Time
	log   *slog.Logger

	mu      sync.Mutex // Guards the fields below; held while the keys are read.
	signers []signer
	staleAt time.Time
	readAt  time.Time
}

// open reads the keys. If there are none, it adds the first one.
func (k *keyring) open(ctx context.Context) error {
	keys, err := k.store.PoolKeys(timeout.Call(ctx))
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		now := k.clock()
		first, err := NewKey(now, now)
		if err != nil {
			return err
		}
		if err := k.store.AddFirstPoolKey(timeout.Call(ctx), first); err != nil {
			return err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.read(ctx, k.clock())
}

// read replaces the cached keys by those of the database. mu must be held.
func (k *keyring) read(ctx context.Context, now time.Time) error {
	keys, err := k.store.PoolKeys(timeout.Call(ctx))
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

// all returns the keys that have not retired. If the database cannot be read, it returns the cached ones.
func (k *keyring) all(ctx context.Context) []signer {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.clock()
	if now.Before(k.readAt) || !now.Before(k.staleAt) {
		// Other callers wait for this read, so the request that started it must not cancel it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keysTimeout)
		defer cancel()
		if err := k.read(ctx, now); err != nil {
			k.log.WarnContext(ctx, "pool: reading the signing keys failed, using cached keys", "err", err)
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

// current returns the signing key: the newest of the active keys.
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

// Keyfunc returns a function that finds the public key of one of the pool's tokens, for verification in this process.
// It uses only the header kid and ignores keys embedded in a header. It reads the database at most once a minute, for
// any key ids.
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

// KeyChange is the result of RotateKey.
type KeyChange struct {
	ID         string    // The new key's id: the header kid of its tokens.
	ActiveFrom time.Time // When servers begin to sign with it.
	OldUntil   time.Time // End of the publication of the old keys. All of their tokens have expired by then.
}

// RotateKey adds a new signing key. All servers publish it within a minute and sign with it ten minutes later. The old
// key stays published until the last token signed with it has expired. Sessions continue.
func (p *Pool) RotateKey(ctx context.Context) (KeyChange, error) {
	now := p.now()
	next, err := NewKey(now, now.Add(keyNotice))
	if err != nil {
		return KeyChange{}, err
	}
	change := KeyChange{
		ID: next.ID, ActiveFrom: next.ActiveFrom,
		OldUntil: next.ActiveFrom.Add(p.cfg.TokenLifetime + keyGrace),
	}
	return change, p.store.RotatePoolKey(timeout.Call(ctx), next, change.OldUntil)
}

// NewKey generates a signing key that signs tokens from activeFrom on.
func NewKey(now, activeFrom time.Time) (Key, error) {
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

// parseKey parses a stored private key.
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

// jwk is a public key in the format of RFC 7517 and RFC 7518, section 6.3.1.
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

// thumbprint returns the key id that is derived from the key (RFC 7638).
func thumbprint(key *rsa.PublicKey) string {
	j := newJWK("", key)
	sum := sha256.Sum256([]byte(`{"e":"` + j.Exponent + `","kty":"RSA","n":"` + j.Modulus + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
