// Package opaque generates opaque tokens for clients: sessions, one-time codes, states. Only their hashes are stored.
package opaque

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// New returns a token of 256 random bits, in base64url without padding, and the hash to store.
func New() (token string, hash []byte) {
	b := make([]byte, 32)
	rand.Read(b) // Never fails: crypto/rand crashes the program instead.
	token = base64.RawURLEncoding.EncodeToString(b)
	return token, Hash(token)
}

// Hash returns the hash to store for a token. A plain SHA-256 is enough because tokens are random.
func Hash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
