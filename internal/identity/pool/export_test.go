package pool

import (
	"context"
	"testing"
)

// CheckPolicy is checkPolicy.
func CheckPolicy(password string) string { return checkPolicy(password) }

// ValidPHC reports whether a stored hash can be read.
func ValidPHC(encoded string) bool {
	_, err := parsePHC(encoded)
	return err == nil
}

// ErrBusy is errBusy.
var ErrBusy = errBusy

// Hasher is hasher.
type Hasher struct{ h *hasher }

// NewHasher is newHasher.
func NewHasher(cfg HashConfig) Hasher { return Hasher{newHasher(cfg.withDefaults())} }

// Hash is hash.
func (h Hasher) Hash(ctx context.Context, password string) (string, error) {
	return h.h.hash(ctx, password)
}

// Verify is verify.
func (h Hasher) Verify(ctx context.Context, encoded, password string) (bool, error) {
	right, _, err := h.h.verify(ctx, encoded, password)
	return right, err
}

// Occupy takes a place in a pool that checks one password at a time, until release is called.
func Occupy(p *Pool) (release func()) { return Hasher{p.hasher}.Occupy() }

// Occupy takes a place among the passwords that are being worked on, until release is called.
func (h Hasher) Occupy() (release func()) {
	h.h.slots <- struct{}{}
	return func() { <-h.h.slots }
}

// ValidEmail is validEmail.
func ValidEmail(email string) bool { return validEmail(email) }

// CheckNewPassword is checkNewPassword.
func CheckNewPassword(password string, user User) (string, error) {
	return checkNewPassword(password, user)
}

// CommonPasswords is commonPasswords.
func CommonPasswords() ([]string, error) { return commonPasswords() }

// HashAsTyped returns a hash as they were before passwords were normalized.
func HashAsTyped(t *testing.T, password string) string {
	t.Helper()
	h := newHasher(HashConfig{MemoryKiB: 64, Passes: 1}.withDefaults())
	p := phc{memory: h.cfg.MemoryKiB, passes: h.cfg.Passes, lanes: 1, salt: make([]byte, saltSize)}
	var err error
	if p.tag, err = h.derive(t.Context(), p, password, tagSize); err != nil {
		t.Fatal(err)
	}
	return p.String()
}
