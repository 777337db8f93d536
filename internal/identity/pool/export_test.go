package pool

import (
	"context"
	"sync/atomic"
	"testing"
)

// CheckPolicy exports checkPolicy.
func CheckPolicy(password string) string { return checkPolicy(password) }

// ValidPHC reports whether a stored hash can be parsed.
func ValidPHC(encoded string) bool {
	_, err := parsePHC(encoded)
	return err == nil
}

// ErrBusy exports errBusy.
var ErrBusy = errBusy

// Hasher exports hasher.
type Hasher struct{ h *hasher }

// NewHasher exports newHasher.
func NewHasher(cfg HashConfig) Hasher { return Hasher{newHasher(cfg.withDefaults())} }

// Hash exports hasher.hash.
func (h Hasher) Hash(ctx context.Context, password string) (string, error) {
	return h.h.hash(ctx, password)
}

// Verify exports hasher.verify.
func (h Hasher) Verify(ctx context.Context, encoded, password string) (bool, error) {
	right, _, err := h.h.verify(ctx, encoded, password)
	return right, err
}

// Occupy takes the only slot of a pool that verifies one password at a time, until release is called.
func Occupy(p *Pool) (release func()) { return Hasher{p.hasher}.Occupy() }

// CountHashes makes the returned function count the passwords and codes that a pool hashes. It is called before the pool
// is used. One is hashed at a time.
func CountHashes(t *testing.T, p *Pool) (count func() int) {
	t.Helper()
	slots, stop, n := make(chan struct{}), make(chan struct{}), atomic.Int64{}
	p.hasher.slots = slots
	go func() {
		for {
			select {
			case <-slots:
				n.Add(1)
				slots <- struct{}{} // Ends the hashing.
			case <-stop:
				return
			}
		}
	}()
	t.Cleanup(func() { close(stop) })
	return func() int { return int(n.Load()) }
}

// Occupy takes a slot until release is called.
func (h Hasher) Occupy() (release func()) {
	h.h.slots <- struct{}{}
	return func() { <-h.h.slots }
}

// ValidEmail exports validEmail.
func ValidEmail(email string) bool { return validEmail(email) }

// CheckNewPassword exports checkNewPassword.
func CheckNewPassword(password string, user User) (string, error) {
	return checkNewPassword(password, user)
}

// CommonPasswords exports commonPasswords.
func CommonPasswords() ([]string, error) { return commonPasswords() }

// HashAsTyped returns a hash made before passwords were normalized.
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
