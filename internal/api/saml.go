package api

import "github.com/tsumugi-ai/tsumugi/internal/identity/saml"

func (s *Server) putSAMLConfig(c *call, req SAMLConfigPutRequest) (any, error) {
	view, err := s.SAML.Change(c.ctx(), c.actor, saml.Change{
		MetadataURL: req.IdpMetadataURL, MetadataXML: given(req.IdpMetadataXML),
		EntityID: given(req.IdpEntityID), SSOURL: given(req.IdpSsoURL),
		Certificates: req.IdpCertificates, EmailAttribute: req.EmailAttribute, NameAttribute: req.NameAttribute,
		EmailDomains: req.EmailDomains,
	})
	return toSAMLConfig(view), err
}

// given returns a pointer to an optional text, or nil for "".
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func toSAMLConfig(v saml.View) SAMLConfig {
	return SAMLConfig{
		Enabled: v.Enabled, SpEntityID: v.SPEntityID, SpAcsURL: v.SPACSURL, SpMetadataURL: v.SPMetadataURL,
		IdpEntityID: v.EntityID, IdpSsoURL: v.SSOURL, EmailAttribute: v.EmailAttribute, NameAttribute: v.NameAttribute,
		EmailDomains: v.EmailDomains, AllowedEmailDomains: v.MailDomains, UpdatedAt: utc(v.UpdatedAt),
		IdpMetadataURL: v.MetadataURL, IdpMetadataReadAt: utc(v.MetadataReadAt), IdpMetadataError: v.MetadataError,
		IdpCertificates: convert(v.IDPCertificates, func(c saml.Certificate) SAMLCertificate {
			return SAMLCertificate{Subject: c.Subject, FingerprintSha256: c.Fingerprint, NotAfter: c.NotAfter}
		}),
	}
}

func (s *Server) testSAML(c *call) (any, error) {
	id, start, err := s.SAML.BeginTest(c.ctx(), c.actor, s.ssoBrowser(c.r))
	if err != nil {
		return nil, err
	}
	s.bindBrowser(c.w, start.Browser)
	return created(SAMLTestStart{ID: id, URL: start.URL}), nil
}

func (s *Server) getSAMLTest(c *call) (any, error) {
	test, err := s.SAML.Test(c.ctx(), c.actor, c.pathID)
	return SAMLTest{
		ID: test.ID, Status: string(test.Status), Error: test.Error, NameID: test.NameID, Email: test.Email,
		Name: test.Name,
		Attributes: convert(test.Attributes, func(a saml.Attribute) SAMLAttribute {
			return SAMLAttribute{Name: a.Name, Values: nonNil(a.Values)}
		}),
	}, err
}
