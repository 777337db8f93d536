package saml_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/beevik/etree"
	dsig "github.com/russellhaering/goxmldsig"
	"github.com/russellhaering/goxmldsig/etreeutils"

	"github.com/tsumugi-ai/tsumugi/internal/identity/saml/samltest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestShapesOfWellKnownProviders reads responses in the form of Microsoft Entra ID, Okta and Google Workspace: with
// default namespaces or their own prefixes, an inclusive prefix list, and signatures in different places.
func TestShapesOfWellKnownProviders(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	settings := f.settings()
	acs := publicURL + "/v1/saml/" + f.org.String() + "/acs"
	entityID := publicURL + "/v1/saml/" + f.org.String() + "/metadata"
	now := time.Now().UTC()
	fill := strings.NewReplacer(
		"$ACS", acs, "$SP", entityID, "$IDP", f.idp.EntityID(), "$REQUEST", requestID, "$NOW",
		now.Format("2006-01-02T15:04:05.000Z"),
		"$BEFORE", now.Add(-5*time.Minute).Format(time.RFC3339), "$AFTER",
		now.Add(time.Hour).Format("2006-01-02T15:04:05.000Z"),
		"$MAIL", samltest.EmailAttribute,
	)
	const entra = `<samlp:Response ID="_r1" Version="2.0" IssueInstant="$NOW" Destination="$ACS" InResponseTo="$REQUEST" xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol"><Issuer xmlns="urn:oasis:names:tc:SAML:2.0:assertion">$IDP</Issuer><samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status><Assertion ID="_a1" IssueInstant="$NOW" Version="2.0" xmlns="urn:oasis:names:tc:SAML:2.0:assertion"><Issuer>$IDP</Issuer><Subject><NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent">n1</NameID><SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><SubjectConfirmationData InResponseTo="$REQUEST" NotOnOrAfter="$AFTER" Recipient="$ACS"/></SubjectConfirmation></Subject><Conditions NotBefore="$BEFORE" NotOnOrAfter="$AFTER"><AudienceRestriction><Audience>$SP</Audience></AudienceRestriction></Conditions><AttributeStatement><Attribute Name="http://schemas.microsoft.com/identity/claims/tenantid"><AttributeValue>t</AttributeValue></Attribute><Attribute Name="$MAIL"><AttributeValue>alice@corp.example</AttributeValue></Attribute></AttributeStatement><AuthnStatement AuthnInstant="$BEFORE" SessionIndex="_a1"><AuthnContext><AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</AuthnContextClassRef></AuthnContext></AuthnStatement></Assertion></samlp:Response>`
	const okta = `<?xml version="1.0" encoding="UTF-8"?>` +
		`<saml2p:Response Destination="$ACS" ID="id1" InResponseTo="$REQUEST" IssueInstant="$NOW" Version="2.0" xmlns:saml2p="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:xs="http://www.w3.org/2001/XMLSchema"><saml2:Issuer Format="urn:oasis:names:tc:SAML:2.0:nameid-format:entity" xmlns:saml2="urn:oasis:names:tc:SAML:2.0:assertion">$IDP</saml2:Issuer><saml2p:Status xmlns:saml2p="urn:oasis:names:tc:SAML:2.0:protocol"><saml2p:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></saml2p:Status><saml2:Assertion ID="id2" IssueInstant="$NOW" Version="2.0" xmlns:saml2="urn:oasis:names:tc:SAML:2.0:assertion" xmlns:xs="http://www.w3.org/2001/XMLSchema"><saml2:Issuer Format="urn:oasis:names:tc:SAML:2.0:nameid-format:entity">$IDP</saml2:Issuer><saml2:Subject><saml2:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent">n1</saml2:NameID><saml2:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml2:SubjectConfirmationData InResponseTo="$REQUEST" NotOnOrAfter="$AFTER" Recipient="$ACS"/></saml2:SubjectConfirmation></saml2:Subject><saml2:Conditions NotBefore="$BEFORE" NotOnOrAfter="$AFTER"><saml2:AudienceRestriction><saml2:Audience>$SP</saml2:Audience></saml2:AudienceRestriction></saml2:Conditions><saml2:AuthnStatement AuthnInstant="$NOW" SessionIndex="$REQUEST"><saml2:AuthnContext><saml2:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport</saml2:AuthnContextClassRef></saml2:AuthnContext></saml2:AuthnStatement><saml2:AttributeStatement><saml2:Attribute Name="$MAIL" NameFormat="urn:oasis:names:tc:SAML:2.0:attrname-format:unspecified"><saml2:AttributeValue xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="xs:string">alice@corp.example</saml2:AttributeValue></saml2:Attribute></saml2:AttributeStatement></saml2:Assertion></saml2p:Response>`
	for name, c := range map[string]struct {
		text              string
		response, inside  bool // Whether the response and the assertion are signed.
		prefix, inclusive string
	}{
		"Entra, assertion":          {entra, false, true, "", ""},
		"Entra, both":               {entra, true, true, "", ""},
		"Okta, both":                {okta, true, true, "ds", "xs"},
		"Google, response":          {okta, true, false, "ds", ""},
		"another, assertion and xs": {okta, false, true, "dsig", "xs"},
	} {
		doc := etree.NewDocument()
		must.Succeed(t, doc.ReadFromString(fill.Replace(c.text)))
		sign := func(el *etree.Element) {
			// The position required by the schema.
			el.InsertChildAt(el.FindElement("./Issuer").Index()+1, signature(t, f.idp.Key, el, c.prefix, c.inclusive))
		}
		if c.inside {
			sign(doc.Root().FindElement("./Assertion"))
		}
		if c.response {
			sign(doc.Root())
		}
		text := must.Get(doc.WriteToBytes())(t)
		nameID, attributes, err := f.saml.Verify(settings, requestID, text)
		if err != nil || nameID != "n1" || attributes[len(attributes)-1].Values[0] != "alice@corp.example" {
			t.Errorf("%s: %q, %v, %v", name, nameID, attributes, err)
		}
	}
}

// signature returns an enveloped signature of an element. goxmldsig does not support inclusive prefixes.
func signature(t *testing.T, key *rsa.PrivateKey, el *etree.Element, prefix, inclusive string) *etree.Element {
	t.Helper()
	canonical := func(el *etree.Element, inclusive string) []byte {
		context := must.Get(etreeutils.NSBuildParentContext(el))(t)
		detached := must.Get(etreeutils.NSDetatch(context, el))(t)
		text := must.Get(dsig.MakeC14N10ExclusiveCanonicalizerWithPrefixList(inclusive).Canonicalize(detached))(t)
		return text
	}
	digest := sha256.Sum256(canonical(el, inclusive))
	space, declared := "", "xmlns"
	if prefix != "" {
		space, declared = prefix+":", "xmlns:"+prefix
	}
	transform := `/>`
	if inclusive != "" {
		transform = `><ec:InclusiveNamespaces xmlns:ec="http://www.w3.org/2001/10/xml-exc-c14n#" PrefixList="` +
			inclusive + `"/></$Transform>`
	}
	text := strings.NewReplacer("$", space).Replace(`<$Signature ` + declared +
		`="http://www.w3.org/2000/09/xmldsig#"><$SignedInfo>` +
		`<$CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>` +
		`<$SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/>` +
		`<$Reference URI="#` + el.SelectAttrValue("ID", "") + `"><$Transforms>` +
		`<$Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/>` +
		`<$Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"` + transform + `</$Transforms>` +
		`<$DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/>` +
		`<$DigestValue>` + base64.StdEncoding.EncodeToString(digest[:]) +
		`</$DigestValue></$Reference></$SignedInfo></$Signature>`)
	doc := etree.NewDocument()
	must.Succeed(t, doc.ReadFromString(text))
	root := doc.Root()
	sum := sha256.Sum256(canonical(root.FindElement("./SignedInfo"), ""))
	value := must.Get(rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:]))(t)
	root.CreateElement(space + "SignatureValue").SetText(base64.StdEncoding.EncodeToString(value))
	return root
}
