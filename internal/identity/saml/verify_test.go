package saml_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/beevik/etree"
	crewjam "github.com/crewjam/saml"
	dsig "github.com/russellhaering/goxmldsig"

	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml/samltest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

const requestID = "_request"

func TestValidResponses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	settings := f.settings()
	for name, change := range map[string]func(r *forged){
		"assertion signed": func(*forged) {},
		"response signed":  func(r *forged) { r.signResponse, r.signAssertion = true, false },
		"both signed":      func(r *forged) { r.signResponse = true },
		"SHA-512":          func(r *forged) { r.method = dsig.RSASHA512SignatureMethod },
		"no destination":   func(r *forged) { r.response.Destination = "" },
		"no issuer around": func(r *forged) { r.response.Issuer = nil },
		"clock two minutes ahead": func(r *forged) {
			at := time.Now().UTC().Add(2 * time.Minute)
			r.response.IssueInstant, r.assertion.IssueInstant, r.assertion.Conditions.NotBefore = at, at, at
		},
		"clock nearly three minutes behind": func(r *forged) { // Issued a minute ago, valid for a minute and a half.
			made, end := time.Now().UTC().Add(-230*time.Second), time.Now().UTC().Add(-140*time.Second)
			r.response.IssueInstant, r.assertion.IssueInstant, r.assertion.Conditions.NotBefore = made, made, made
			r.assertion.Conditions.NotOnOrAfter = end
			r.assertion.Subject.SubjectConfirmations[0].SubjectConfirmationData.NotOnOrAfter = end
		},
		"other confirmations before and after": func(r *forged) {
			good := r.assertion.Subject.SubjectConfirmations[0]
			holder, elsewhere, data := good, good, *good.SubjectConfirmationData
			holder.Method = "urn:oasis:names:tc:SAML:2.0:cm:holder-of-key"
			data.Recipient = "https://other.example/acs"
			elsewhere.SubjectConfirmationData = &data
			r.assertion.Subject.SubjectConfirmations = []crewjam.SubjectConfirmation{holder, elsewhere, good, holder}
		},
	} {
		r := f.forge(requestID, "n1", "alice@corp.example", "アリス")
		change(r)
		nameID, attributes, err := f.saml.Verify(settings, requestID, r.bytes(t))
		if err != nil || nameID != "n1" || len(attributes) != 2 || attributes[1].Values[0] != "アリス" {
			t.Errorf("%s: %q, %v, %v", name, nameID, attributes, err)
		}
	}
	// During a certificate change a provider has two, and a signature may omit its certificate.
	_, second, err := samltest.NewKey()
	must.Succeed(t, err)
	settings.Certificates = append([][]byte{second.Raw}, settings.Certificates...)
	response := f.forge(requestID, "n1", "alice@corp.example", "アリス").element(t)
	signature := response.FindElement("//Signature")
	signature.RemoveChild(signature.FindElement("./KeyInfo"))
	if _, _, err := f.saml.Verify(settings, requestID, written(t, response)); err != nil {
		t.Errorf("two certificates: %v", err)
	}
}

func TestR52_InvalidResponses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	settings := f.settings()
	strangerKey, stranger, err := samltest.NewKey()
	must.Succeed(t, err)
	confirmation := func(r *forged) *crewjam.SubjectConfirmationData {
		return r.assertion.Subject.SubjectConfirmations[0].SubjectConfirmationData
	}
	past, future := time.Now().UTC().Add(-10*time.Minute), time.Now().UTC().Add(10*time.Minute)
	for name, change := range map[string]func(r *forged){
		"unsigned":                   func(r *forged) { r.signAssertion = false },
		"wrong key":                  func(r *forged) { r.key, r.certificate = strangerKey, stranger },
		"wrong key, our certificate": func(r *forged) { r.key = strangerKey },
		"SHA-1":                      func(r *forged) { r.method = dsig.RSASHA1SignatureMethod },
		"comments signed": func(r *forged) {
			r.algorithm = dsig.MakeC14N10ExclusiveWithCommentsCanonicalizerWithPrefixList("")
		},
		"response old":              func(r *forged) { r.response.IssueInstant = past },
		"assertion old":             func(r *forged) { r.assertion.IssueInstant = past },
		"assertion from the future": func(r *forged) { r.assertion.IssueInstant = future },
		"response from the future":  func(r *forged) { r.response.IssueInstant = future },
		"conditions past":           func(r *forged) { r.assertion.Conditions.NotOnOrAfter = past },
		"conditions without end":    func(r *forged) { r.assertion.Conditions.NotOnOrAfter = time.Time{} },
		"conditions in the future":  func(r *forged) { r.assertion.Conditions.NotBefore = future },
		"confirmation past":         func(r *forged) { confirmation(r).NotOnOrAfter = past },
		"confirmation without end":  func(r *forged) { confirmation(r).NotOnOrAfter = time.Time{} },
		"session past":              func(r *forged) { r.assertion.AuthnStatements[0].SessionNotOnOrAfter = &past },
		"no conditions":             func(r *forged) { r.assertion.Conditions = nil },
		"no subject":                func(r *forged) { r.assertion.Subject = nil },
		"no NameID":                 func(r *forged) { r.assertion.Subject.NameID = nil },
		"empty NameID":              func(r *forged) { r.assertion.Subject.NameID.Value = "" },
		"no confirmation":           func(r *forged) { r.assertion.Subject.SubjectConfirmations = nil },
		"no confirmation data": func(r *forged) {
			r.assertion.Subject.SubjectConfirmations[0].SubjectConfirmationData = nil
		},
		"another confirmation method": func(r *forged) {
			r.assertion.Subject.SubjectConfirmations[0].Method = "urn:oasis:names:tc:SAML:2.0:cm:sender-vouches"
		},
		"two confirmations, each lacking something": func(r *forged) {
			good := r.assertion.Subject.SubjectConfirmations[0]
			holder, elsewhere, data := good, good, *good.SubjectConfirmationData
			holder.Method = "urn:oasis:names:tc:SAML:2.0:cm:holder-of-key"
			data.Recipient = "https://other.example/acs"
			elsewhere.SubjectConfirmationData = &data
			r.assertion.Subject.SubjectConfirmations = []crewjam.SubjectConfirmation{holder, elsewhere}
		},
		"confirmation in the future": func(r *forged) { confirmation(r).NotBefore = future },
		"made too long ago for any clock": func(r *forged) {
			at := time.Now().UTC().Add(-275 * time.Second)
			r.response.IssueInstant, r.assertion.IssueInstant = at, at
		},
		"no statement":   func(r *forged) { r.assertion.AuthnStatements = nil },
		"wrong audience": func(r *forged) { r.assertion.Conditions.AudienceRestrictions[0].Audience.Value += "x" },
		"two restrictions, one not ours": func(r *forged) {
			r.assertion.Conditions.AudienceRestrictions = append(r.assertion.Conditions.AudienceRestrictions,
				crewjam.AudienceRestriction{Audience: crewjam.Audience{Value: "https://other.example"}})
		},
		"no audience":       func(r *forged) { r.assertion.Conditions.AudienceRestrictions = nil },
		"wrong recipient":   func(r *forged) { confirmation(r).Recipient = "https://other.example/acs" },
		"no recipient":      func(r *forged) { confirmation(r).Recipient = "" },
		"wrong destination": func(r *forged) { r.response.Destination = "https://other.example/acs" },
		"another organization's": func(r *forged) {
			confirmation(r).Recipient = strings.Replace(confirmation(r).Recipient, f.org.String(), f.alice.ID.String(),
				1)
		},
		"wrong InResponseTo":        func(r *forged) { r.response.InResponseTo = "_other" },
		"wrong InResponseTo inside": func(r *forged) { confirmation(r).InResponseTo = "_other" },
		"begun by the provider":     func(r *forged) { r.response.InResponseTo, confirmation(r).InResponseTo = "", "" },
		"wrong issuer":              func(r *forged) { r.assertion.Issuer.Value = "https://other.example" },
		"wrong issuer around": func(r *forged) {
			r.response.Issuer = &crewjam.Issuer{Value: "https://other.example"}
		},
		"wrong version":  func(r *forged) { r.response.Version = "1.1" },
		"not successful": func(r *forged) { r.response.Status.StatusCode.Value = crewjam.StatusAuthnFailed },
		"response signed by a stranger": func(r *forged) {
			r.signResponse, r.key, r.certificate = true, strangerKey, stranger
		},
	} {
		r := f.forge(requestID, "n1", "alice@corp.example", "アリス")
		change(r)
		if nameID, _, err := f.saml.Verify(settings, requestID, r.bytes(t)); err == nil {
			t.Errorf("%s: %q was accepted", name, nameID)
		}
	}
	denied := f.forge(requestID, "n1", "", "").response
	denied.Status.StatusCode.Value = crewjam.StatusResponder
	if _, _, err := f.saml.Verify(settings, requestID, written(t, denied.Element())); err == nil ||
		!strings.Contains(err.Error(), "signed nobody in") {
		t.Errorf("a refusal of the provider: %v", err)
	}
	good := f.forge(requestID, "n1", "alice@corp.example", "アリス").bytes(t)
	for _, part := range []string{"alice@corp.example", ">n1<", "アリス"} { // Changed after signing.
		if _, _, err := f.saml.Verify(settings, requestID, bytes.Replace(good, []byte(part),
			[]byte(part[:1]+"x"+part[1:]), 1)); err == nil {
			t.Errorf("%s was changed unseen", part)
		}
	}
	key, expired, err := samltest.NewKeyValid(past.Add(-time.Hour), past)
	must.Succeed(t, err)
	settings.Certificates = [][]byte{expired.Raw}
	r := f.forge(requestID, "n1", "alice@corp.example", "アリス")
	r.key, r.certificate = key, expired
	if _, _, err := f.saml.Verify(settings, requestID, r.bytes(t)); err == nil ||
		!strings.Contains(err.Error(), "certificate is not valid") {
		t.Errorf("an expired certificate: %v", err)
	}
}

// evil returns a copy of an assertion with another person.
func evil(assertion *etree.Element) *etree.Element {
	e := assertion.Copy()
	e.FindElement("//NameID").SetText("admin")
	for _, el := range e.FindElements("//AttributeValue") {
		el.SetText("admin@corp.example")
	}
	e.CreateAttr("ID", "_evil")
	return e
}

func unsigned(el *etree.Element) *etree.Element {
	c := el.Copy()
	for _, child := range c.ChildElements() {
		if child.Tag == "Signature" {
			c.RemoveChild(child)
		}
	}
	return c
}

// wrappings are the signature wrapping attacks XSW1–8 of SAML Raider, with variants that need another shape. Each moves
// the signed element to where it is verified but not read.
func wrappings() map[string]func(response *etree.Element) *etree.Element {
	parts := func(response *etree.Element) (assertion, signature *etree.Element) {
		assertion = response.FindElement("./Assertion")
		return assertion, assertion.FindElement("./Signature")
	}
	// signed returns the evil response with the signature of the good one, for XSW1 and 2.
	signed := func(response *etree.Element) (bad, signature *etree.Element) {
		bad = response.Copy()
		bad.CreateAttr("ID", "_evilresponse")
		assertion := bad.FindElement("./Assertion")
		bad.InsertChildAt(assertion.Index(), evil(assertion))
		bad.RemoveChild(assertion)
		return bad, bad.FindElement("./Signature")
	}
	// wrap returns an attack with an evil copy of the assertion.
	wrap := func(change func(response, assertion, bad *etree.Element)) func(*etree.Element) *etree.Element {
		return func(response *etree.Element) *etree.Element {
			assertion, _ := parts(response)
			change(response, assertion, evil(assertion))
			return response
		}
	}
	// replace is like wrap, and the evil assertion replaces the other one.
	replace := func(change func(response, assertion, bad *etree.Element)) func(*etree.Element) *etree.Element {
		return wrap(func(response, assertion, bad *etree.Element) {
			change(response, assertion, bad)
			response.RemoveChild(assertion)
			response.AddChild(bad)
		})
	}
	return map[string]func(response *etree.Element) *etree.Element{
		"XSW1": func(response *etree.Element) *etree.Element {
			bad, signature := signed(response)
			signature.AddChild(unsigned(response))
			return bad
		},
		"XSW2": func(response *etree.Element) *etree.Element {
			bad, signature := signed(response)
			bad.InsertChildAt(signature.Index(), unsigned(response))
			return bad
		},
		"XSW3": wrap(func(response, assertion, bad *etree.Element) {
			response.InsertChildAt(assertion.Index(), unsigned(bad))
		}),
		"XSW4": wrap(func(response, assertion, bad *etree.Element) {
			bad = unsigned(bad)
			response.RemoveChild(assertion)
			bad.AddChild(assertion)
			response.AddChild(bad)
		}),
		"XSW5": wrap(func(response, assertion, bad *etree.Element) {
			response.InsertChildAt(assertion.Index(), bad)
			response.RemoveChild(assertion)
			response.AddChild(unsigned(assertion))
		}),
		"XSW6": replace(func(_, assertion, bad *etree.Element) {
			bad.FindElement("./Signature").AddChild(unsigned(assertion))
		}),
		"XSW7": wrap(func(response, assertion, bad *etree.Element) {
			extensions := etree.NewElement("samlp:Extensions")
			extensions.AddChild(unsigned(bad))
			response.InsertChildAt(assertion.Index(), extensions)
		}),
		"XSW8": replace(func(_, assertion, bad *etree.Element) {
			object := etree.NewElement("ds:Object")
			object.AddChild(unsigned(assertion))
			bad.FindElement("./Signature").AddChild(object)
		}),
		"XSW9, in the status": replace(func(response, assertion, _ *etree.Element) {
			detail := etree.NewElement("samlp:StatusDetail")
			detail.AddChild(assertion.Copy())
			response.FindElement("./Status").AddChild(detail)
		}),
		"same id twice": replace(func(_, assertion, bad *etree.Element) {
			bad.CreateAttr("ID", assertion.SelectAttrValue("ID", ""))
			advice := etree.NewElement("saml:Advice")
			advice.AddChild(assertion.Copy())
			bad.AddChild(advice)
		}),
		"in an attribute": replace(func(_, assertion, bad *etree.Element) {
			bad.FindElement("//AttributeValue").AddChild(assertion.Copy())
		}),
		"several assertions": wrap(func(response, _, bad *etree.Element) {
			response.AddChild(bad)
		}),
		"assertion of another namespace": wrap(func(response, assertion, bad *etree.Element) {
			bad = unsigned(bad)
			bad.Space = "x"
			bad.CreateAttr("xmlns:x", "urn:x")
			response.InsertChildAt(assertion.Index(), bad)
		}),
		"reference to nothing": func(response *etree.Element) *etree.Element {
			_, signature := parts(response)
			signature.FindElement("//Reference").CreateAttr("URI", "")
			return response
		},
		"two references": func(response *etree.Element) *etree.Element {
			_, signature := parts(response)
			info := signature.FindElement("./SignedInfo")
			info.AddChild(info.FindElement("./Reference").Copy())
			return response
		},
		"two signatures": func(response *etree.Element) *etree.Element {
			assertion, signature := parts(response)
			assertion.AddChild(signature.Copy())
			return response
		},
		"XPath transform": func(response *etree.Element) *etree.Element {
			_, signature := parts(response)
			transform := signature.FindElement("//Transforms").CreateElement("ds:Transform")
			transform.CreateAttr("Algorithm", "http://www.w3.org/TR/1999/REC-xpath-19991116")
			transform.CreateElement("ds:XPath").SetText("not(ancestor-or-self::saml:Subject)")
			return response
		},
	}
}

func TestR51_SignatureWrapping(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	settings := f.settings()
	for name, wrap := range wrappings() {
		for _, responseToo := range []bool{true, false} {
			if !responseToo && (name == "XSW1" || name == "XSW2") {
				continue // These move a signed response.
			}
			r := f.forge(requestID, "n1", "alice@corp.example", "アリス")
			r.signResponse = responseToo
			response := wrap(r.element(t))
			if nameID, _, err := f.saml.Verify(settings, requestID, written(t, response)); err == nil {
				t.Errorf("%s, response signed %t: %q was accepted", name, responseToo, nameID)
			}
		}
	}
}

// TestR51_ParserDifferentials changes parts that the signature does not cover. The response is rejected, or read as it
// was signed.
func TestR51_ParserDifferentials(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	settings := f.settings()
	const nameID = "user@corp.example.evil.example"
	good := string(f.forge(requestID, nameID, nameID, "アリス").bytes(t))
	for name, response := range map[string]string{
		"comment":                strings.Replace(good, "corp.example.evil", "corp.example<!-- -->.evil", 1),
		"comment everywhere":     strings.ReplaceAll(good, "corp.example.evil", "corp.example<!---->.evil"),
		"comment at the start":   "<!-- x -->" + good,
		"processing instruction": strings.Replace(good, "corp.example.evil", "corp.example<?x y?>.evil", 1),
		"CDATA":                  strings.Replace(good, nameID, "<![CDATA["+nameID+"]]>", 1),
		"attribute twice":        strings.Replace(good, `Version="2.0"`, `Version="2.0" Version="2.0"`, 1),
		"after the end":          good + good,
		"text around":            "x" + good,
	} {
		if response == good {
			t.Fatalf("%s: nothing was changed", name)
		}
		if read, _, err := f.saml.Verify(settings, requestID, []byte(response)); err == nil {
			t.Errorf("%s: %q was accepted", name, read)
		}
	}
	for name, response := range map[string]string{
		"declaration":         `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + good,
		"character reference": strings.Replace(good, "corp.example.evil", "corp&#46;example.evil", 1),
	} {
		if read, _, err := f.saml.Verify(settings, requestID, []byte(response)); err != nil || read != nameID {
			t.Errorf("%s: %q, %v", name, read, err)
		}
	}
}

func TestR54_RefusedBeforeParsing(t *testing.T) {
	t.Parallel()
	const root = `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol">`
	laughs := `<!DOCTYPE lolz [<!ENTITY lol "lol">` +
		strings.Repeat(`<!ENTITY lol1 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">`, 100) + `]>`
	for name, document := range map[string]string{
		"DOCTYPE":            `<!DOCTYPE x>` + root + `</samlp:Response>`,
		"entities":           laughs + root + `&lol1;</samlp:Response>`,
		"external entity":    `<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>` + root + `&e;</samlp:Response>`,
		"unknown entity":     root + `&e;</samlp:Response>`,
		"nested":             root + strings.Repeat("<a>", 65) + strings.Repeat("</a>", 65) + `</samlp:Response>`,
		"nested very deeply": root + strings.Repeat("<a>", 80_000),
		"too large":          root + strings.Repeat(" ", 256<<10) + `</samlp:Response>`,
		"many parts":         root + strings.Repeat("<a/>", 60_000) + `</samlp:Response>`,
		"many attributes":    `<a ` + strings.Repeat(`b="c" `, 30_000) + `/>`,
		"many namespaces":    `<a ` + strings.Repeat(`xmlns:b="c" `, 20_000) + `/>`,
		"another encoding":   `<?xml version="1.0" encoding="UTF-16"?>` + root + `</samlp:Response>`,
		"UTF-16":             "\xff\xfe<\x00a\x00/\x00>\x00",
		"no UTF-8":           root + "\xff</samlp:Response>",
		"NUL":                root + "\x00</samlp:Response>",
		"not closed":         root,
		"closed twice":       root + "</samlp:Response></samlp:Response>",
		"empty":              "",
	} {
		best := time.Hour // The best of several attempts, because other tests use the processor too.
		for tries := 0; tries < 50 && best > 50*time.Millisecond; tries++ {
			began := time.Now()
			if err := saml.ParseResponse([]byte(document)); err == nil {
				t.Errorf("%s: it was parsed", name)
			}
			best = min(best, time.Since(began))
		}
		if best > 50*time.Millisecond {
			t.Errorf("%s took %v", name, best)
		}
	}
}

func FuzzR54_Responses(f *testing.F) {
	f.Add(
		[]byte(
			`<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol">` +
				`<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="a"/></samlp:Response>`,
		),
	)
	f.Add([]byte(`<!DOCTYPE x [<!ENTITY e "e">]><a>&e;</a>`))
	f.Add([]byte(`<a xmlns="urn:x" a:b="c"><?x?><!-- --><![CDATA[x]]></a>`))
	f.Fuzz(func(_ *testing.T, document []byte) { _ = saml.ParseResponse(document) })
}
