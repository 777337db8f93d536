package saml

import (
	"bytes"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	maxCertificates = 10
	minRSA          = 2048 // Bits.
)

// Certificate is a certificate of the identity provider, for administrators to compare.
type Certificate struct {
	Subject     string
	Fingerprint string // SHA-256, in hexadecimal pairs separated by colons.
	NotAfter    time.Time
}

// readCertificate reads a certificate in PEM, or in bare Base64 as in metadata, and returns its DER.
func readCertificate(given string) ([]byte, error) {
	given = strings.TrimSpace(given)
	der := []byte(nil)
	if block, rest := pem.Decode([]byte(given)); block != nil {
		if block.Type != "CERTIFICATE" || len(bytes.TrimSpace(rest)) > 0 {
			return nil, errors.New("it is not one certificate")
		}
		der = block.Bytes
	} else {
		var err error
		if der, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(given), "")); err != nil {
			return nil, errors.New("it is neither PEM nor Base64")
		}
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, errors.New("it is no certificate")
	}
	if key, ok := certificate.PublicKey.(*rsa.PublicKey); !ok || key.N.BitLen() < minRSA {
		return nil, errors.New("its key is not RSA, or too weak")
	}
	return certificate.Raw, nil
}

// readCertificates reads certificates and drops duplicates.
func readCertificates(given []string) ([][]byte, error) {
	var list [][]byte
	for _, one := range given {
		der, err := readCertificate(one)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(list, func(known []byte) bool { return bytes.Equal(known, der) }) {
			list = append(list, der)
		}
	}
	if len(list) == 0 || len(list) > maxCertificates {
		return nil, errors.New("there are none, or too many")
	}
	return list, nil
}

// parseCertificates parses stored certificates.
func parseCertificates(stored [][]byte) ([]*x509.Certificate, error) {
	list := make([]*x509.Certificate, 0, len(stored))
	for _, der := range stored {
		certificate, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("saml: a stored certificate: %w", err)
		}
		list = append(list, certificate)
	}
	return list, nil
}

func describeCertificate(c *x509.Certificate) Certificate {
	return Certificate{Subject: c.Subject.String(), Fingerprint: Fingerprint(c.Raw), NotAfter: c.NotAfter.UTC()}
}

// CertificateEnd returns the end of the certificate that is valid longest, because each of them may sign. The
// certificates are in DER; if none can be parsed, the result is the zero time.
func CertificateEnd(certificates [][]byte) (end time.Time) {
	for _, der := range certificates {
		if c, err := x509.ParseCertificate(der); err == nil && c.NotAfter.After(end) {
			end = c.NotAfter
		}
	}
	return end
}

// Fingerprint returns the SHA-256 of a certificate in DER, in hexadecimal pairs separated by colons.
func Fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	pairs := make([]string, len(sum))
	for i, b := range sum {
		pairs[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(pairs, ":")
}

// anyValid reports whether at least one of the certificates is valid at a time.
func anyValid(certificates []*x509.Certificate, at time.Time) bool {
	return slices.ContainsFunc(certificates, func(c *x509.Certificate) bool {
		return !at.Before(c.NotBefore) && !at.After(c.NotAfter)
	})
}
