package saml

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/crewjam/saml"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

const (
	maxEntityID = 1024 // Characters (metadata, section 2.2.1).
	maxURL      = 2048
)

// idpMetadata is the part of an identity provider's metadata that is used.
type idpMetadata struct {
	entityID     string
	ssoURL       string
	certificates []string
}

// entityXML holds the used parts of the element EntityDescriptor of an identity provider.
type entityXML struct {
	EntityID string `xml:"entityID,attr"`
	IDPs     []struct {
		Keys []struct {
			Use          string   `xml:"use,attr"`
			Certificates []string `xml:"http://www.w3.org/2000/09/xmldsig# KeyInfo>X509Data>X509Certificate"`
		} `xml:"urn:oasis:names:tc:SAML:2.0:metadata KeyDescriptor"`
		SignOn []struct {
			Binding  string `xml:"Binding,attr"`
			Location string `xml:"Location,attr"`
		} `xml:"urn:oasis:names:tc:SAML:2.0:metadata SingleSignOnService"`
	} `xml:"urn:oasis:names:tc:SAML:2.0:metadata IDPSSODescriptor"`
}

// readMetadata parses the metadata of one identity provider. It fetches none of the URLs in it.
func readMetadata(text string) (idpMetadata, error) {
	raw := []byte(strings.TrimSpace(strings.TrimPrefix(text, "\uFEFF")))
	if len(raw) > maxMetadata {
		return idpMetadata{}, errors.New("it is too large")
	}
	root, err := parseXML(raw)
	if err != nil {
		return idpMetadata{}, err
	}
	var entities []entityXML
	switch {
	case is(root, nsMetadata, "EntityDescriptor"):
		var entity entityXML
		err = xml.NewDecoder(bytes.NewReader(raw)).Decode(&entity)
		entities = []entityXML{entity}
	case is(root, nsMetadata, "EntitiesDescriptor"):
		var several struct {
			Entities []entityXML `xml:"urn:oasis:names:tc:SAML:2.0:metadata EntityDescriptor"`
		}
		err = xml.NewDecoder(bytes.NewReader(raw)).Decode(&several)
		entities = several.Entities
	default:
		err = errors.New("it is no EntityDescriptor")
	}
	if err != nil {
		return idpMetadata{}, err
	}
	entities = slices.DeleteFunc(entities, func(e entityXML) bool { return len(e.IDPs) == 0 })
	if len(entities) != 1 || len(entities[0].IDPs) != 1 {
		return idpMetadata{}, errors.New("it does not describe one identity provider")
	}
	found := idpMetadata{entityID: strings.TrimSpace(entities[0].EntityID)}
	idp := entities[0].IDPs[0]
	for _, service := range idp.SignOn {
		if service.Binding == saml.HTTPRedirectBinding && found.ssoURL == "" {
			found.ssoURL = strings.TrimSpace(service.Location)
		}
	}
	if found.ssoURL == "" {
		return idpMetadata{}, errors.New("it has no address for HTTP-Redirect")
	}
	for _, key := range idp.Keys {
		if key.Use == "" || key.Use == "signing" {
			found.certificates = append(found.certificates, key.Certificates...)
		}
	}
	return found, nil
}

func validEntityID(id string) bool {
	return id != "" && len(id) <= maxEntityID && !strings.ContainsFunc(id,
		func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// validSSOURL reports whether browsers may be redirected to an address: over TLS, or to the same machine for testing.
func validSSOURL(address string) bool {
	u, err := url.Parse(address)
	if err != nil || len(address) > maxURL || u.Hostname() == "" || u.User != nil || u.Fragment != "" ||
		u.Opaque != "" {
		return false
	}
	if strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }) {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname())
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// The service provider's metadata, in the order of the schema (metadata, section 2.4.4).
type (
	spMetadata struct {
		XMLName  xml.Name     `xml:"urn:oasis:names:tc:SAML:2.0:metadata EntityDescriptor"`
		EntityID string       `xml:"entityID,attr"`
		Role     spDescriptor `xml:"SPSSODescriptor"`
	}
	spDescriptor struct {
		Protocol      string     `xml:"protocolSupportEnumeration,attr"`
		SignsRequests bool       `xml:"AuthnRequestsSigned,attr"`
		WantsSigned   bool       `xml:"WantAssertionsSigned,attr"`
		Key           spKey      `xml:"KeyDescriptor"`
		NameIDFormats []string   `xml:"NameIDFormat"`
		Consumer      spConsumer `xml:"AssertionConsumerService"`
	}
	spKey struct {
		Use  string `xml:"use,attr"`
		Info struct {
			Certificate string `xml:"X509Data>X509Certificate"`
		} `xml:"http://www.w3.org/2000/09/xmldsig# KeyInfo"`
	}
	spConsumer struct {
		Binding  string `xml:"Binding,attr"`
		Location string `xml:"Location,attr"`
		Index    int    `xml:"index,attr"`
		Default  bool   `xml:"isDefault,attr"`
	}
)

// Metadata returns the service provider's metadata for an organization, for use at its identity provider. If the
// organization does not exist, the error has the code fault.NotFound.
func (s *Service) Metadata(ctx context.Context, organizationID uuid.UUID) ([]byte, error) {
	if _, err := s.store.SAMLSettings(ctx, organizationID); err != nil {
		return nil, err
	}
	key, err := s.signer(ctx)
	if err != nil {
		return nil, err
	}
	m := spMetadata{EntityID: s.entityID(organizationID), Role: spDescriptor{
		Protocol: nsProtocol, SignsRequests: true, WantsSigned: true, Key: spKey{Use: "signing"},
		NameIDFormats: []string{
			string(saml.PersistentNameIDFormat), string(saml.EmailAddressNameIDFormat),
			string(saml.UnspecifiedNameIDFormat),
		},
		Consumer: spConsumer{
			Binding: saml.HTTPPostBinding, Location: s.acsURL(organizationID), Index: 0,
			Default: true,
		},
	}}
	m.Role.Key.Info.Certificate = base64.StdEncoding.EncodeToString(key.certificate)
	body, err := xml.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "")
	}
	return append([]byte(xml.Header), append(body, '\n')...), nil
}
