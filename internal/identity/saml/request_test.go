package saml_test

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/xml"
	"strings"
	"sync"
	"testing"

	crewjam "github.com/crewjam/saml"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestRequestsAreSignedAndNameTheIssuer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	// Like Google's address, which has a parameter that is not signed (bindings, section 3.4.4.1).
	must.Get(f.saml.Change(t.Context(), f.admin, saml.Change{SSOURL: new("https://idp.example/sso?idpid=C01")}))(t)
	b := f.begin("/home/skill")
	query, found := strings.CutPrefix(b.URL, "https://idp.example/sso?idpid=C01&")
	if !found {
		t.Fatalf("got %s", b.URL)
	}
	signed, signature, _ := strings.Cut(query, "&Signature=")
	if !strings.HasPrefix(signed, "SAMLRequest=") || !strings.HasSuffix(signed,
		"&SigAlg=http%3A%2F%2Fwww.w3.org%2F2001%2F04%2Fxmldsig-more%23rsa-sha256") {
		t.Errorf("signed: %s", signed)
	}
	var metadata crewjam.EntityDescriptor
	text := must.Get(f.saml.Metadata(t.Context(), f.org))(t)
	must.Succeed(t, xml.Unmarshal(text, &metadata))
	role := metadata.SPSSODescriptors[0]
	der := must.Get(base64.StdEncoding.DecodeString(role.KeyDescriptors[0].KeyInfo.X509Data.X509Certificates[0].Data))(t)
	certificate := must.Get(x509.ParseCertificate(der))(t)
	raw, err := base64.StdEncoding.DecodeString(strings.NewReplacer("%2B", "+", "%2F", "/", "%3D",
		"=").Replace(signature))
	must.Succeed(t, err)
	sum := sha256.Sum256([]byte(signed))
	if err := rsa.VerifyPKCS1v15(certificate.PublicKey.(*rsa.PublicKey), crypto.SHA256, sum[:], raw); err != nil {
		t.Errorf("the signature: %v", err)
	}
	entityID := publicURL + "/v1/saml/" + f.org.String() + "/metadata"
	r := b.request
	if r.Issuer.Value != entityID || metadata.EntityID != entityID ||
		r.Destination != "https://idp.example/sso?idpid=C01" ||
		r.AssertionConsumerServiceURL != role.AssertionConsumerServices[0].Location ||
		r.ProtocolBinding != crewjam.HTTPPostBinding {
		t.Errorf("request %+v, metadata %+v", r, role)
	}
	if !*role.AuthnRequestsSigned || !*role.WantAssertionsSigned || len(role.KeyDescriptors) != 1 {
		t.Errorf("metadata %+v", role)
	}
	again := must.Get(f.saml.Begin(t.Context(), sso.Request{OrganizationID: f.org, Reauthenticate: true}))(t)
	if force := readStart(t, again).request.ForceAuthn; r.ForceAuthn != nil || force == nil || !*force {
		t.Errorf("ForceAuthn is %v, and %v for a new sign-in", r.ForceAuthn, force)
	}
	if _, err := f.saml.Metadata(t.Context(), uuid.New()); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("of nobody: %v", err)
	}
}

// TestKeyIsMadeOnce starts many servers on one database.
func TestKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec(`DELETE FROM saml_keys`)
	metadata := make([]string, 4)
	var all sync.WaitGroup
	for i := range metadata {
		all.Go(func() {
			text, err := saml.New(f.providers, f.db, sso.New(sso.Config{PublicURL: publicURL}, f.db, nil)).Metadata(t.Context(), f.org)
			if err != nil {
				t.Error(err)
			}
			metadata[i] = string(text)
		})
	}
	all.Wait()
	for _, text := range metadata {
		if text != metadata[0] || text == "" {
			t.Error("servers have different keys")
		}
	}
}
