package saml

import (
	"bytes"
	"cmp"
	"crypto"
	_ "crypto/sha256" // Registers the hash used by digests.
	_ "crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/beevik/etree"
	dsig "github.com/russellhaering/goxmldsig"
	"github.com/russellhaering/goxmldsig/etreeutils"
)

// signatureMethods are the accepted algorithms, without SHA-1 and ECDSA. For ECDSA, crypto/x509 expects signatures in
// ASN.1, unlike XML signatures.
func signatureMethods() map[string]x509.SignatureAlgorithm {
	const more = "http://www.w3.org/2001/04/xmldsig-more#"
	return map[string]x509.SignatureAlgorithm{
		more + "rsa-sha256": x509.SHA256WithRSA, more + "rsa-sha384": x509.SHA384WithRSA,
		more + "rsa-sha512": x509.SHA512WithRSA,
	}
}

func digestMethods() map[string]crypto.Hash {
	return map[string]crypto.Hash{
		"http://www.w3.org/2001/04/xmlenc#sha256":       crypto.SHA256,
		"http://www.w3.org/2001/04/xmldsig-more#sha384": crypto.SHA384,
		"http://www.w3.org/2001/04/xmlenc#sha512":       crypto.SHA512,
	}
}

// checkSignatures verifies the signatures of a response and its assertion, which have the shape described at
// parseResponse, with the certificates of the settings and never with one embedded in a signature. At least one of the
// two must be signed; if both are, both signatures must be valid. It returns the assertion as it was signed.
func (e *expectation) checkSignatures(response, asserted *etree.Element) (*etree.Element, error) {
	all, err := parseCertificates(e.settings.Certificates)
	if err != nil {
		return nil, err
	}
	valid := slices.DeleteFunc(slices.Clone(all), func(c *x509.Certificate) bool { return !holds(c, e.now) })
	var signed *etree.Element
	for _, el := range []*etree.Element{response, asserted} {
		if len(children(el, nsSignature, "Signature")) == 0 {
			continue
		}
		if signed = verifySignature(el, valid); signed != nil {
			continue
		}
		if verifySignature(el, all) != nil {
			return nil, reject("the certificate is not valid at this time", "IDプロバイダーの証明書の有効期限が切れています。新しい証明書を登録してください。")
		}
		return nil, errSignature
	}
	if signed == nil {
		return nil, errSignature
	}
	if is(signed, nsAssertion, "Assertion") {
		return signed, nil
	}
	if signed, err = only(signed, nsAssertion, "Assertion"); err != nil {
		return nil, errSignature
	}
	return signed, nil
}

var errSignature = reject("the signature does not hold", "署名を確認できません。登録した証明書がIDプロバイダーの署名証明書と一致しているか確認してください。")

func holds(c *x509.Certificate, now time.Time) bool {
	return !now.Before(c.NotBefore) && !now.After(c.NotAfter)
}

// verifySignature returns an element as signed by one of the certificates, parsed from the digested bytes, or nil. The
// element's signature must have the form described at checkSignature (XML Signature Syntax and Processing, section
// 3.2).
func verifySignature(el *etree.Element, certificates []*x509.Certificate) *etree.Element {
	signature, err := only(el, nsSignature, "Signature")
	if err != nil {
		return nil
	}
	info, err := only(signature, nsSignature, "SignedInfo")
	if err != nil {
		return nil
	}
	value, err := only(signature, nsSignature, "SignatureValue")
	if err != nil {
		return nil
	}
	proof, err := decodeBase64(value)
	if err != nil {
		return nil
	}
	method, known := signatureMethods()[algorithm(info, "SignatureMethod")]
	if !known {
		return nil
	}
	signedInfo := canonicalize(info, nil, prefixList(info.SelectElement("CanonicalizationMethod")))
	byThis := func(c *x509.Certificate) bool { return c.CheckSignature(method, signedInfo, proof) == nil }
	if !slices.ContainsFunc(certificates, byThis) {
		return nil
	}
	// Parse only the signed bytes, so that the parsed content equals the verified content.
	document := etree.NewDocument()
	if document.ReadFromBytes(signedInfo) != nil || document.Root() == nil {
		return nil
	}
	return checkDigest(el, signature, document.Root())
}

// checkDigest returns an element without its signature, parsed from the bytes that match the digest of a signed
// reference, or nil.
func checkDigest(el, signature, info *etree.Element) *etree.Element {
	reference, err := only(info, nsSignature, "Reference")
	if err != nil || checkTransforms(reference) != nil {
		return nil
	}
	want, err := only(reference, nsSignature, "DigestValue")
	if err != nil {
		return nil
	}
	digest, err := decodeBase64(want)
	hash, known := digestMethods()[algorithm(reference, "DigestMethod")]
	if err != nil || !known {
		return nil
	}
	content, err := referenced(el, signature, reference)
	if err != nil {
		return nil
	}
	h := hash.New()
	h.Write(content)
	if !bytes.Equal(h.Sum(nil), digest) {
		return nil
	}
	document := etree.NewDocument()
	if document.ReadFromBytes(content) != nil {
		return nil
	}
	return document.Root()
}

// referenced returns the bytes of an element, without its signature, after the transforms of a reference. Without a
// transform that canonicalizes, the form is Canonical XML 1.0 (section 4.4.3.2).
func referenced(el, signature, reference *etree.Element) ([]byte, error) {
	if transforms := reference.SelectElement("Transforms").ChildElements(); len(transforms) == 2 {
		return canonicalize(el, signature, prefixList(transforms[1])), nil
	}
	scope, err := etreeutils.NSBuildParentContext(el)
	if err != nil {
		return nil, err
	}
	plain, err := etreeutils.NSDetatch(scope, el) // A copy.
	if err != nil {
		return nil, err
	}
	plain.RemoveChildAt(signature.Index())
	return dsig.MakeC14N10RecCanonicalizer().Canonicalize(plain)
}

func algorithm(parent *etree.Element, tag string) string {
	el, err := only(parent, nsSignature, tag)
	if err != nil {
		return ""
	}
	return el.SelectAttrValue("Algorithm", "")
}

func decodeBase64(el *etree.Element) ([]byte, error) {
	return base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text(el)), ""))
}

// prefixList returns the prefixes that an exclusive canonicalization treats inclusively, "" for #default.
func prefixList(method *etree.Element) []string {
	inclusive, err := only(method, algC14N, "InclusiveNamespaces")
	if err != nil {
		return nil
	}
	prefixes := strings.Fields(inclusive.SelectAttrValue("PrefixList", ""))
	for i, prefix := range prefixes {
		if prefix == "#default" {
			prefixes[i] = ""
		}
	}
	return prefixes
}

// canonicalize returns an element in the form of Exclusive XML Canonicalization 1.0 without comments, omitting one of
// its children; see https://www.w3.org/TR/xml-exc-c14n/#sec-Specification. ADR 32 lists the documents that goxmldsig
// canonicalizes incorrectly.
func canonicalize(el, without *etree.Element, inclusive []string) []byte {
	c := canonicalizer{without: without, inclusive: inclusive}
	c.write(el, map[string]string{"": ""})
	return c.out.Bytes()
}

type canonicalizer struct {
	out       bytes.Buffer
	without   *etree.Element
	inclusive []string
}

// write writes an element whose ancestors have declared the given namespaces, by prefix.
func (c *canonicalizer) write(el *etree.Element, declared map[string]string) {
	attributes := slices.DeleteFunc(slices.Clone(el.Attr), isDeclaration)
	slices.SortFunc(attributes, func(a, b etree.Attr) int {
		return cmp.Or(cmp.Compare(a.NamespaceURI(), b.NamespaceURI()), cmp.Compare(a.Key, b.Key))
	})
	used := append([]string{el.Space}, c.inclusive...)
	for _, a := range attributes {
		if a.Space != "" { // An attribute without a prefix has no namespace.
			used = append(used, a.Space)
		}
	}
	slices.Sort(used)
	here := maps.Clone(declared)
	var namespaces []etree.Attr
	for _, prefix := range slices.Compact(used) {
		uri, inScope := lookup(el, prefix)
		if before, there := here[prefix]; prefix == "xml" || !inScope || there && before == uri {
			continue
		}
		here[prefix] = uri
		if prefix == "" {
			namespaces = append(namespaces, etree.Attr{Key: "xmlns", Value: uri})
		} else {
			namespaces = append(namespaces, etree.Attr{Space: "xmlns", Key: prefix, Value: uri})
		}
	}
	canonical := &etree.WriteSettings{CanonicalAttrVal: true, CanonicalText: true}
	c.out.WriteString("<" + el.FullTag())
	for _, a := range append(namespaces, attributes...) {
		c.out.WriteByte(' ')
		a.WriteTo(&c.out, canonical)
	}
	c.out.WriteString(">")
	for _, child := range el.Child {
		switch child := child.(type) {
		case *etree.Element:
			if child != c.without {
				c.write(child, here)
			}
		case *etree.CharData:
			child.WriteTo(&c.out, canonical)
		}
	}
	c.out.WriteString("</" + el.FullTag() + ">")
}

// isDeclaration reports whether an attribute declares a namespace.
func isDeclaration(a etree.Attr) bool { return a.Space == "xmlns" || a.Space == "" && a.Key == "xmlns" }

// lookup returns the namespace of a prefix at an element. The empty prefix is always in scope.
func lookup(el *etree.Element, prefix string) (uri string, inScope bool) {
	for ; el != nil; el = el.Parent() {
		for _, a := range el.Attr {
			if isDeclaration(a) && (a.Space == "xmlns" && a.Key == prefix || a.Space == "" && prefix == "") {
				return a.Value, true
			}
		}
	}
	return "", prefix == ""
}
