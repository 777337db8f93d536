// Package secret encrypts ("seals") tokens and private keys for storage, so that a copy of the database does not reveal
// them.
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
	"slices"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

const (
	keyBytes = 32 // AES-256.
	idBytes  = 4  // Bytes of a key's hash, which is enough to distinguish the keys of one installation.
	maxKeys  = 8
)

// mark is the prefix of sealed secrets. PEM blocks and JSON never begin with it.
const mark = "sealed.v1."

// sealedEncoding is strict, so that each sealed secret has one valid encoding.
var sealedEncoding = base64.RawStdEncoding.Strict()

// ErrNoKey is the error if the server has no key for sealing.
var ErrNoKey = fault.Errorf(fault.Conflict,
	"このサーバーには、秘密の情報を暗号化する鍵（TSUMUGI_SECRET_KEY）が設定されていません。サーバーの運用担当者に設定を依頼してください。")

var (
	errKey    = errors.New("must be 32 bytes in Base64, or several of these with commas between")
	errSealed = errors.New("secret: what is stored is damaged, or belongs to something else")
)

// Keyring seals with its first key and opens with any of its keys. The zero Keyring has no key. After UnmarshalText, it
// is immutable and safe for concurrent use. It is printed as the ids of its keys.
type Keyring struct{ keys []key }

type key struct {
	id   string
	aead cipher.AEAD
}

// NewKey returns a random key in the format of UnmarshalText.
func NewKey() string {
	raw := make([]byte, keyBytes)
	_, _ = rand.Read(raw) // Never fails.
	return base64.StdEncoding.EncodeToString(raw)
}

// UnmarshalText parses Base64 keys that are separated by commas. Its error does not contain the keys.
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

// Empty reports whether the keyring has no keys.
func (k Keyring) Empty() bool { return len(k.keys) == 0 }

// String returns the ids of the keys, for logs.
func (k Keyring) String() string {
	ids := make([]string, len(k.keys))
	for i, key := range k.keys {
		ids[i] = key.id
	}
	return strings.Join(ids, ",")
}

func (k Keyring) LogValue() slog.Value { return slog.StringValue(k.String()) }

// Seal encrypts a secret with the first key. Open needs the same owner, so that a sealed secret cannot be copied to the
// row of another owner. Without a key, the error is ErrNoKey.
func (k Keyring) Seal(plain []byte, owner string) (string, error) {
	if k.Empty() {
		return "", ErrNoKey
	}
	first := k.keys[0]
	//nolint:gosec // The cipher draws the nonce.
	sealed := first.aead.Seal(nil, nil, plain, associated(first.id, owner))
	return mark + first.id + "." + sealedEncoding.EncodeToString(sealed), nil
}

// Open decrypts a result of Seal for the same owner.
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

// Sealed reports whether a text has the prefix of Seal's results.
func Sealed(text string) bool { return strings.HasPrefix(text, mark) }

// KeyID returns the id of the key that a result of Seal is sealed with, in the form of Keyring.String. ok is false for
// other texts.
func KeyID(sealed string) (id string, ok bool) {
	id, _, ok = split(sealed)
	return id, ok
}

// Lacks returns those of the ids that belong to no key of the keyring.
func (k Keyring) Lacks(ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return slices.ContainsFunc(k.keys, func(key key) bool { return key.id == id })
	})
}

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

// associated returns the additional data of the encryption, which binds a sealed secret to its key and owner. The mark
// separates this use of a key from other uses.
func associated(id, owner string) []byte { return []byte(mark + id + "." + owner) }
