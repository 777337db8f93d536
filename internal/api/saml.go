package api

import (
	"net/http"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
)

func (s *Server) getSAMLConfig(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	view, err := s.SAML.View(r.Context(), actor)
	return writeSAMLConfig(w, view, err)
}

func (s *Server) putSAMLConfig(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req SAMLConfigPutRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	view, err := s.SAML.Change(r.Context(), actor, saml.Change{
		MetadataXML: given(req.IdpMetadataXML), EntityID: given(req.IdpEntityID), SSOURL: given(req.IdpSsoURL),
		Certificates: req.IdpCertificates, EmailAttribute: req.EmailAttribute, NameAttribute: req.NameAttribute,
		EmailDomains: req.EmailDomains,
	})
	return writeSAMLConfig(w, view, err)
}

// given returns a pointer to an optional text, or nil for "".
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func (s *Server) turnSAMLOn(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	view, err := s.SAML.TurnOn(r.Context(), actor)
	return writeSAMLConfig(w, view, err)
}

func (s *Server) turnSAMLOff(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	view, err := s.SAML.TurnOff(r.Context(), actor)
	return writeSAMLConfig(w, view, err)
}

func writeSAMLConfig(w http.ResponseWriter, v saml.View, err error) error {
	if err != nil {
		return err
	}
	config := SAMLConfig{
		Enabled: v.Enabled, SpEntityID: v.SPEntityID, SpAcsURL: v.SPACSURL, SpMetadataURL: v.SPMetadataURL,
		IdpEntityID: v.EntityID, IdpSsoURL: v.SSOURL, EmailAttribute: v.EmailAttribute, NameAttribute: v.NameAttribute,
		EmailDomains: v.EmailDomains, AllowedEmailDomains: v.MailDomains,
		IdpCertificates: convert(v.IDPCertificates, func(c saml.Certificate) SAMLCertificate {
			return SAMLCertificate{Subject: c.Subject, FingerprintSha256: c.Fingerprint, NotAfter: c.NotAfter}
		}),
	}
	if v.UpdatedAt != nil {
		config.UpdatedAt = v.UpdatedAt.UTC()
	}
	return writeJSON(w, http.StatusOK, config)
}

func (s *Server) testSAML(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, start, err := s.SAML.BeginTest(r.Context(), actor, s.ssoBrowser(r))
	if err != nil {
		return err
	}
	s.bindBrowser(w, start.Browser)
	return writeJSON(w, http.StatusCreated, SAMLTestStart{ID: id, URL: start.URL})
}

func (s *Server) getSAMLTest(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "test_id")
	if err != nil {
		return err
	}
	test, err := s.SAML.Test(r.Context(), actor, id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, SAMLTest{
		ID: test.ID, Status: string(test.Status), Error: test.Error, NameID: test.NameID, Email: test.Email,
		Name: test.Name,
		Attributes: convert(test.Attributes, func(a saml.Attribute) SAMLAttribute {
			return SAMLAttribute{Name: a.Name, Values: convert(a.Values, func(v string) string { return v })}
		}),
	})
}
