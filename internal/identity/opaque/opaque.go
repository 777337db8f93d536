// Package opaque makes the opaque tokens that clients are given: sessions, one-time codes, states. Only their hashes
// are kept.
package opaque

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// New returns a token of 256 random bits for a client, in base64url without padding, and the hash that is kept of it.
func New() (token string, hash []byte) {
	b := make([]byte, 32)
	rand.Read(b) // Never fails: crypto/rand ends the program instead.
	token = base64.RawURLEncoding.EncodeToString(b)
	return token, Hash(token)
}

// Hash returns what is kept of a token. It is random enough for a plain SHA-256.
func Hash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
