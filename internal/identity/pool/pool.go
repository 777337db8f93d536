// Package pool is the embedded user pool: users, their passwords and their tokens, served over the protocol of Amazon
// Cognito user pools. Browsers and the AWS SDKs use it like AWS.
//
// It owns the pool's users and signing keys, which belong to no organization. Permissions belong to packages identity
// and org. The package imports fault, runes, timeout, mail, identity, and libraries for tokens, hashes and signatures.
package pool

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/mail"
)

// Config configures a Pool. Zero durations and hash settings select the defaults.
type Config struct {
	PoolID string // Region, underscore and letters or digits: ap-northeast-1_Tsumugi00.
	Issuer string // The claim iss, a URL that ends with /PoolID. The JWKS is at Issuer + /.well-known/jwks.json.

	// The app clients, in letters and digits. A session of one is not valid for the other.
	ClientID string // For passwords, sent by the browser. Empty: no sign-in with a password.
	// For users of other identity providers, used only by this process. Empty: none.
	FederatedClientID string

	Admin  Credentials      // The key that signs administrative calls. Zero: all of them are rejected.
	Mailer mail.Sender      // Nil: no mail is sent, and operations that need it fail.
	Clock  func() time.Time // Default time.Now.
	Logger *slog.Logger     // Default: discard.
	Hash   HashConfig

	TokenLifetime     time.Duration // Of id and access tokens. Default 1 h.
	RefreshLifetime   time.Duration // From sign-in. Default 30 days.
	CodeLifetime      time.Duration // Of a code for a forgotten password. Default 1 h.
	ChallengeLifetime time.Duration // Of a challenge's session. Default 3 min.
	TemporaryLifetime time.Duration // Of a temporary password. Default 7 days.
}

func (c Config) withDefaults() Config {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Hash = c.Hash.withDefaults()
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&c.TokenLifetime, time.Hour},
		{&c.RefreshLifetime, 30 * 24 * time.Hour},
		{&c.CodeLifetime, time.Hour},
		{&c.ChallengeLifetime, 3 * time.Minute},
		{&c.TemporaryLifetime, 7 * 24 * time.Hour},
	} {
		if *d.value == 0 {
			*d.value = d.standard
		}
	}
	return c
}

func (c Config) validate() error {
	region, id, ok := strings.Cut(c.PoolID, "_")
	if !ok || region == "" || id == "" || strings.ContainsFunc(region, not(isRegion)) ||
		strings.ContainsFunc(id, not(isAlphanumeric)) {
		return errors.New("pool: the pool id is not of the form ap-northeast-1_AbCdEf123")
	}
	if c.ClientID == c.FederatedClientID {
		return errors.New("pool: there is no client, or one id for both")
	}
	for _, id := range []string{c.ClientID, c.FederatedClientID} {
		if len(id) > maxClientID || strings.ContainsFunc(id, not(isClientID)) {
			return errors.New("pool: a client id may only have letters, digits, _ and +, at most 128 of them")
		}
	}
	if (c.Admin.AccessKeyID == "") != (c.Admin.SecretAccessKey == "") {
		return errors.New("pool: the administrator's credentials have one part only")
	}
	issuer, err := url.Parse(c.Issuer)
	if err != nil || issuer.Host == "" || !strings.HasSuffix(issuer.Path, "/"+c.PoolID) || issuer.RawQuery != "" {
		return errors.New("pool: the issuer is not a URL that ends with the pool id")
	}
	// The claims iat and exp have whole seconds, and ExpiresIn is their difference.
	if c.TokenLifetime < time.Second || c.TokenLifetime%time.Second != 0 {
		return errors.New("pool: the lifetime of tokens is not a number of seconds")
	}
	if c.RefreshLifetime <= 0 || c.CodeLifetime <= 0 || c.ChallengeLifetime <= 0 || c.TemporaryLifetime <= 0 {
		return errors.New("pool: a lifetime is negative")
	}
	return c.Hash.validate()
}

// Pool is the user pool. It is safe for concurrent use. It must be stopped with Stop.
type Pool struct {
	cfg          Config
	store        Store
	hasher       *hasher
	keys         *keyring
	outbox       *outbox
	operations   map[string]operation // By name in X-Amz-Target.
	relyingParty *webauthn.WebAuthn   // Nil: no passkeys.
}

// New returns a pool. The first pool on a database generates the signing key.
func New(ctx context.Context, cfg Config, store Store) (*Pool, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	p := &Pool{cfg: cfg, store: timeoutStore{store}, hasher: newHasher(cfg.Hash)}
	p.keys = &keyring{store: p.store, clock: p.now, log: cfg.Logger}
	if err := p.keys.open(ctx); err != nil {
		return nil, err
	}
	var err error
	if p.relyingParty, err = newRelyingParty(cfg); err != nil {
		return nil, err
	}
	p.outbox = newOutbox(ctx)
	p.operations = p.table()
	return p, nil
}

// hasClient reports whether the pool has that app client.
func (p *Pool) hasClient(id string) bool {
	return id != "" && (id == p.cfg.ClientID || id == p.cfg.FederatedClientID)
}

// now returns the time at the database's resolution.
func (p *Pool) now() time.Time { return p.cfg.Clock().UTC().Truncate(time.Microsecond) }

// parseSub parses a sub in its canonical form; other forms that uuid.Parse accepts are not user names.
func parseSub(name string) (uuid.UUID, bool) {
	sub, err := uuid.Parse(name)
	return sub, err == nil && sub.String() == name
}
