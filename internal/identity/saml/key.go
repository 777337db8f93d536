package saml

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

const (
	keyBits     = 2048
	keyLifetime = 20 * 365 * 24 * time.Hour // Identity providers check the key and not the expiry of the certificate.
)

// signingKey is the parsed key of the service provider.
type signingKey struct {
	private     *rsa.PrivateKey
	certificate []byte // DER.
}

// sign returns the RSA-SHA256 signature of text.
func (k *signingKey) sign(text string) ([]byte, error) {
	sum := sha256.Sum256([]byte(text))
	return rsa.SignPKCS1v15(rand.Reader, k.private, crypto.SHA256, sum[:])
}

// signer returns the installation's key. The first call on any server generates it.
func (s *Service) signer(ctx context.Context) (*signingKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key != nil {
		return s.key, nil
	}
	key, err := s.store.SAMLKey(ctx)
	if fault.CodeOf(err) == fault.NotFound {
		made, makeErr := newKey(s.sso.Now())
		if makeErr != nil {
			return nil, makeErr
		}
		if err := s.store.AddFirstSAMLKey(ctx, made); err != nil {
			return nil, err
		}
		key, err = s.store.SAMLKey(ctx) // Another server may have stored its key first.
	}
	if err != nil {
		return nil, err
	}
	s.key, err = parseKey(key)
	return s.key, err
}

func newKey(now time.Time) (Key, error) {
	private, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return Key{}, fmt.Errorf("saml: make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return Key{}, fmt.Errorf("saml: make a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "Tsumugi SAML"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(keyLifetime), KeyUsage: x509.KeyUsageDigitalSignature,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return Key{}, fmt.Errorf("saml: make a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return Key{}, fmt.Errorf("saml: make a key: %w", err)
	}
	return Key{
		PrivateKey:  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		Certificate: certificate, CreatedAt: now,
	}, nil
}

func parseKey(key Key) (*signingKey, error) {
	block, _ := pem.Decode([]byte(key.PrivateKey))
	if block == nil {
		return nil, errors.New("saml: the key is not PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("saml: the key: %w", err)
	}
	private, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("saml: the key is %T, not RSA", parsed)
	}
	return &signingKey{private: private, certificate: key.Certificate}, nil
}
