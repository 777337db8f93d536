package pool

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/argon2"
)

// Sizes of the parts of a password hash, in bytes, as recommended by RFC 9106, and the highest costs accepted from a
// stored hash.
const (
	saltSize      = 16
	tagSize       = 32
	maxHashMemory = 1 << 20 // KiB
	maxHashPasses = 64
)

// HashConfig tunes argon2id. The zero value is replaced by the defaults.
type HashConfig struct {
	MemoryKiB  uint32        // For each password being verified. Default 19456 (19 MiB).
	Passes     uint32        // Default 2.
	Concurrent int           // Passwords verified concurrently; others wait. Default 4.
	Waiting    int           // Passwords that may wait; further ones are rejected at once. Default 512.
	Patience   time.Duration // Maximum wait of a password. Default 4 s.
}

func (c HashConfig) withDefaults() HashConfig {
	if c.MemoryKiB == 0 {
		c.MemoryKiB = 19 << 10
	}
	if c.Passes == 0 {
		c.Passes = 2
	}
	if c.Concurrent == 0 {
		c.Concurrent = 4
	}
	if c.Waiting == 0 {
		c.Waiting = 512
	}
	if c.Patience == 0 {
		c.Patience = 4 * time.Second
	}
	return c
}

func (c HashConfig) validate() error {
	if c.MemoryKiB < 8 || c.MemoryKiB > maxHashMemory || c.Passes > maxHashPasses || c.Concurrent < 1 ||
		c.Waiting < 0 || c.Patience < 0 {
		return errors.New("pool: the settings of the password hash are out of bounds")
	}
	return nil
}

// errBusy means that too many passwords are waiting to be verified.
var errBusy = errors.New("pool: too many passwords at once")

// hasher hashes and verifies passwords with argon2id (RFC 9106), only a few concurrently: each needs so much memory
// that a flood of sign-ins could otherwise exhaust it.
type hasher struct {
	cfg   HashConfig
	slots chan struct{} // A token for each password being hashed.
	// A token for each waiting password, because the bodies of their requests use memory too.
	queue chan struct{}
	decoy phc // The substitute for the hash of an unknown user, so that verification takes the same time.
}

func newHasher(cfg HashConfig) *hasher {
	decoy := phc{
		memory: cfg.MemoryKiB, passes: cfg.Passes, lanes: 1, salt: make([]byte, saltSize),
		tag: make([]byte, tagSize),
	}
	rand.Read(decoy.salt) // Never fails: crypto/rand crashes the program instead.
	rand.Read(decoy.tag)
	return &hasher{
		cfg: cfg, slots: make(chan struct{}, cfg.Concurrent), queue: make(chan struct{}, cfg.Waiting),
		decoy: decoy,
	}
}

// hash returns the hash of a normalized password, with a new salt, in the PHC string format.
func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	p := phc{memory: h.cfg.MemoryKiB, passes: h.cfg.Passes, lanes: 1, salt: make([]byte, saltSize)}
	rand.Read(p.salt)
	tag, err := h.derive(ctx, p, normalizePassword(password), tagSize)
	if err != nil {
		return "", err
	}
	p.tag = tag
	return p.String(), nil
}

// verify reports whether the password matches the hash. An empty hash matches no password, in the same time. asTyped
// reports that the hash is an old one, of the password as typed instead of normalized.
func (h *hasher) verify(ctx context.Context, encoded, password string) (right, asTyped bool, err error) {
	want := h.decoy
	if encoded != "" {
		if want, err = parsePHC(encoded); err != nil {
			return false, false, err
		}
	}
	forms := []string{normalizePassword(password)}
	if forms[0] != password {
		forms = append(forms, password)
	}
	for i, form := range forms { // Compute all of them, so that the time does not depend on which one matches.
		got, err := h.derive(ctx, want, form, len(want.tag))
		if err != nil {
			return false, false, err
		}
		if subtle.ConstantTimeCompare(got, want.tag) == 1 && encoded != "" {
			right, asTyped = true, i > 0
		}
	}
	return right, asTyped, nil
}

// derive computes the tag of a password once a slot is free. The error is errBusy or the context's.
func (h *hasher) derive(ctx context.Context, p phc, password string, size int) ([]byte, error) {
	if err := h.enter(ctx); err != nil {
		return nil, err
	}
	defer func() { <-h.slots }()
	return argon2.IDKey([]byte(password), p.salt, p.passes, p.memory, p.lanes, uint32(size)), nil
}

// enter takes a slot, in order of arrival. The error is errBusy or the context's.
func (h *hasher) enter(ctx context.Context) error {
	select {
	case h.slots <- struct{}{}:
		return nil
	default:
	}
	select {
	case h.queue <- struct{}{}:
		defer func() { <-h.queue }()
	default:
		return errBusy
	}
	timer := time.NewTimer(h.cfg.Patience)
	defer timer.Stop()
	select {
	case h.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return errBusy
	}
}

// phc is a password hash in the PHC string format, $argon2id$v=19$m=…,t=…,p=…$salt$tag. See
// https://github.com/P-H-C/phc-string-format/blob/master/phc-sf-spec.md
type phc struct {
	memory, passes uint32 // Memory in KiB.
	lanes          uint8
	salt, tag      []byte
}

// String returns the hash in the PHC string format.
func (p phc) String() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, p.memory, p.passes, p.lanes,
		base64.RawStdEncoding.EncodeToString(p.salt), base64.RawStdEncoding.EncodeToString(p.tag))
}

var errHashFormat = errors.New("pool: a stored password hash is not argon2id in the PHC string format")

// parsePHC parses a stored hash. Its costs are limited, whatever the database contains.
func parsePHC(encoded string) (phc, error) {
	parts := strings.Split(encoded, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return phc{}, errHashFormat
	}
	var p phc
	if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &p.memory, &p.passes, &p.lanes); err != nil || n != 3 {
		return phc{}, errHashFormat
	}
	var err error
	if p.salt, err = base64.RawStdEncoding.Strict().DecodeString(parts[4]); err != nil {
		return phc{}, errHashFormat
	}
	if p.tag, err = base64.RawStdEncoding.Strict().DecodeString(parts[5]); err != nil {
		return phc{}, errHashFormat
	}
	if p.memory < 8 || p.memory > maxHashMemory || p.passes < 1 || p.passes > maxHashPasses || p.lanes < 1 ||
		len(p.salt) < 8 || len(p.salt) > 64 || len(p.tag) < 16 || len(p.tag) > 64 || p.String() != encoded {
		return phc{}, errHashFormat
	}
	return p, nil
}
