package org

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
)

// certificate confirms the deletion of an organization.
type certificate struct {
	Format           int              `json:"format"`
	OrganizationID   uuid.UUID        `json:"organization_id"`
	OrganizationName string           `json:"organization_name"`
	RequestedAt      time.Time        `json:"requested_at"`
	StartedAt        time.Time        `json:"started_at"`
	FinishedAt       time.Time        `json:"finished_at"`
	Deleted          map[string]int64 `json:"deleted"` // By kind, what existed when the deletion started.
}

const certificateFormat = 1

// certificateOf returns the certificate of a finished deletion. The name is reduced to visible characters, which all
// JSON encoders write in the same way.
func certificateOf(d Deletion, now time.Time) certificate {
	visible := func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return -1
		}
		return r
	}
	return certificate{
		Format: certificateFormat, OrganizationID: d.ID, OrganizationName: strings.Map(visible, d.Name),
		RequestedAt: utcSeconds(d.RequestedAt), StartedAt: utcSeconds(*d.StartedAt), FinishedAt: utcSeconds(now),
		Deleted: d.Counts,
	}
}

func utcSeconds(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// SigningKey signs certificates with Ed25519 (RFC 8032).
type SigningKey struct {
	key    ed25519.PrivateKey
	public []byte
}

// NewSigningKey returns a random key in the format of ParseSigningKey.
func NewSigningKey() (string, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", err
	}
	text, err := x509.MarshalPKCS8PrivateKey(key)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})), err
}

// ParseSigningKey parses a key, PKCS #8 in PEM. Its error does not contain the key.
func ParseSigningKey(text string) (SigningKey, error) {
	invalid := errors.New("org: the stored signing key is no Ed25519 key")
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return SigningKey{}, invalid
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return SigningKey{}, invalid
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return SigningKey{}, invalid
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return SigningKey{}, invalid
	}
	return SigningKey{key, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})}, nil
}

// Public returns the public half, SubjectPublicKeyInfo in PEM.
func (k SigningKey) Public() []byte { return k.public }

// sign returns a certificate with its signature as JSON. The signature covers the compact form of the certificate.
func (k SigningKey) sign(c certificate) (string, error) {
	var signed bytes.Buffer
	encoder := json.NewEncoder(&signed)
	encoder.SetEscapeHTML(false) // Other encoders do not escape these characters.
	if err := encoder.Encode(c); err != nil {
		return "", err
	}
	certificate := bytes.TrimSuffix(signed.Bytes(), []byte("\n"))
	signature, err := json.Marshal(ed25519.Sign(k.key, certificate))
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = json.Indent(&out, []byte(`{"certificate":`+string(certificate)+`,"signature":`+string(signature)+`}`), "", "  ")
	return out.String() + "\n", err
}
