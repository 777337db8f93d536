// Package secret seals what is kept and not shown: tokens and private keys, so that a copy of the database reveals
// none of them.
//
// It imports the standard library and fault only.
package secret

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

const (
	keyBytes = 32 // AES-256.
	idBytes  = 4  // Of a key's hash: enough to tell the keys of one installation apart.
	maxKeys  = 8
)

// mark begins what Seal returns. No PEM block and no JSON begins with it.
const mark = "sealed.v1."

// sealedEncoding accepts one form of each sealed secret only.
var sealedEncoding = base64.RawStdEncoding.Strict()

// ErrNoKey says that the server has no key to seal with.
var ErrNoKey = fault.Errorf(fault.Conflict,
	"このサーバーには、秘密の情報を暗号化する鍵（TSUMUGI_SECRET_KEY）が設定されていません。サーバーの運用担当者に設定を依頼してください。")

var (
	errKey    = errors.New("must be 32 bytes in Base64, or several of these with commas between")
	errSealed = errors.New("secret: what is stored is damaged, or belongs to something else")
)

// Keyring seals with its first key and opens with all of them. The zero Keyring has no key. It is not changed after
// UnmarshalText and safe for concurrent use, and prints as the ids of its keys.
type Keyring struct{ keys []key }

type key struct {
	id   string
	aead cipher.AEAD
}

// NewKey returns a random key in the form that UnmarshalText reads.
func NewKey() string {
	raw := make([]byte, keyBytes)
	_, _ = rand.Read(raw) // Never fails.
	return base64.StdEncoding.EncodeToString(raw)
}

// UnmarshalText reads keys in Base64 with commas between. Its error does not repeat them.
func (k *Keyring) UnmarshalText(text []byte) error {
	*k = Keyring{}
	for part := range bytes.SplitSeq(text, []byte(",")) {
		raw, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(part)))
		if err != nil || len(raw) != keyBytes || len(k.keys) == maxKeys {
			return errKey
		}
		block, err := aes.NewCipher(raw)
		if err != nil {
			return errKey
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return errKey
		}
		sum := sha256.Sum256(append([]byte("tsumugi key "), raw...))
		k.keys = append(k.keys, key{id: hex.EncodeToString(sum[:idBytes]), aead: aead})
	}
	return nil
}

// Empty reports whether there is no key.
func (k Keyring) Empty() bool { return len(k.keys) == 0 }

// String returns the ids of the keys, for logs.
func (k Keyring) String() string {
	ids := make([]string, len(k.keys))
	for i, key := range k.keys {
		ids[i] = key.id
	}
	return strings.Join(ids, ",")
}

// LogValue implements slog.LogValuer.
func (k Keyring) LogValue() slog.Value { return slog.StringValue(k.String()) }

// Seal encrypts a secret with the first key. The result opens only for the same owner, so that it cannot be moved from
// one row to another. Without a key the error is ErrNoKey.
func (k Keyring) Seal(plain []byte, owner string) (string, error) {
	if k.Empty() {
		return "", ErrNoKey
	}
	first := k.keys[0]
	//nolint:gosec // The cipher draws the nonce.
	sealed := first.aead.Seal(nil, nil, plain, associated(first.id, owner))
	return mark + first.id + "." + sealedEncoding.EncodeToString(sealed), nil
}

// Open decrypts what Seal returned for the same owner.
func (k Keyring) Open(sealed, owner string) ([]byte, error) {
	id, text, ok := split(sealed)
	if !ok {
		return nil, errSealed
	}
	for _, key := range k.keys {
		if key.id != id {
			continue
		}
		raw, err := sealedEncoding.DecodeString(text)
		if err != nil {
			return nil, errSealed
		}
		plain, err := key.aead.Open(nil, nil, raw, associated(id, owner))
		if err != nil {
			return nil, errSealed
		}
		return plain, nil
	}
	return nil, fmt.Errorf("secret: TSUMUGI_SECRET_KEY lacks the key %s, with which something stored is sealed", id)
}

// Sealed reports whether a text is one that Seal has returned.
func Sealed(text string) bool { return strings.HasPrefix(text, mark) }

// Current reports whether a text is sealed with the first key.
func (k Keyring) Current(sealed string) bool {
	id, _, ok := split(sealed)
	return ok && !k.Empty() && id == k.keys[0].id
}

func split(sealed string) (id, text string, ok bool) {
	rest, ok := strings.CutPrefix(sealed, mark)
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ".")
}

// associated is what a sealed secret is bound to. The mark separates this use of a key from others.
func associated(id, owner string) []byte { return []byte(mark + id + "." + owner) }
