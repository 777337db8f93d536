package saml

import (
	"strings"

	dsig "github.com/russellhaering/goxmldsig"
)

// ParseResponse exports parseResponse.
func ParseResponse(raw []byte) error {
	_, _, err := parseResponse(raw)
	return err
}

// Verify returns the NameID and the attributes of a valid response.
func (s *Service) Verify(settings Settings, requestID string, raw []byte) (nameID string, attributes []Attribute,
	err error,
) {
	a, err := s.verify(settings, requestID, raw)
	return a.nameID, a.attributes, err
}

// ReadMetadata exports readMetadata.
func ReadMetadata(text string) (entityID, ssoURL string, certificates []string, err error) {
	m, err := readMetadata(text)
	return m.entityID, m.ssoURL, m.certificates, err
}

// ValidSSOURL exports validSSOURL.
func ValidSSOURL(address string) bool { return validSSOURL(address) }

// ReadCertificate exports readCertificate.
func ReadCertificate(given string) ([]byte, error) { return readCertificate(given) }

// Canonicalize returns the canonical form of a document, and the one by goxmldsig, or nil if goxmldsig refuses the
// document.
func Canonicalize(raw []byte, inclusive ...string) (ours, theirs []byte, err error) {
	root, err := parsePlain(raw)
	if err != nil {
		return nil, nil, err
	}
	ours = canonicalize(root, nil, inclusive)
	theirs, _ = dsig.MakeC14N10ExclusiveCanonicalizerWithPrefixList(strings.Join(inclusive, " ")).Canonicalize(root)
	return ours, theirs, nil
}
