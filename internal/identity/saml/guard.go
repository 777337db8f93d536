package saml

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/beevik/etree"
	xrv "github.com/mattermost/xml-roundtrip-validator"
)

// Limits of responses and metadata, far above real ones. They bound the time for an unauthenticated document:
// canonicalization looks up each prefix in all ancestors, so that its cost is the number of elements times their depth.
const (
	maxResponse   = 256 << 10 // In bytes.
	maxMetadata   = 256 << 10 // In bytes.
	maxDepth      = 64
	maxElements   = 4096
	maxAttributes = 32 // Per element, namespaces included.
	// Equals signs between the start of one element and the next: attributes, and text such as LDAP names.
	maxEquals = 256
)

const (
	nsProtocol  = "urn:oasis:names:tc:SAML:2.0:protocol"
	nsAssertion = "urn:oasis:names:tc:SAML:2.0:assertion"
	nsMetadata  = "urn:oasis:names:tc:SAML:2.0:metadata"
	nsSignature = "http://www.w3.org/2000/09/xmldsig#"

	algEnveloped = nsSignature + "enveloped-signature"
	algC14N      = "http://www.w3.org/2001/10/xml-exc-c14n#"
)

// parseResponse parses a response of the only shape that the web browser SSO profile produces: a Response with at most
// one signature of its own, which contains one Assertion with at most one signature of its own. It rejects everything
// that signature wrapping needs: assertions and signatures in other places, duplicate ids, references to anything but
// the signature's parent, further transforms. It also rejects everything that parsers interpret differently: comments,
// processing instructions, CDATA, DOCTYPE and entities.
//
// See Somorovsky et al., "On Breaking SAML: Be Whoever You Want to Be" (USENIX Security 2012).
func parseResponse(raw []byte) (response, assertion *etree.Element, err error) {
	root, err := parsePlain(raw)
	if err != nil {
		return nil, nil, err
	}
	assertion, err = checkShape(root)
	return root, assertion, err
}

// parsePlain parses a document of elements, attributes and text only, because canonicalize supports nothing else.
func parsePlain(raw []byte) (*etree.Element, error) {
	if len(raw) > maxResponse {
		return nil, errors.New("it is too large")
	}
	// In well-formed XML without CDATA these characters start a comment or a DOCTYPE, and occur nowhere else.
	if bytes.Contains(raw, []byte("<!")) {
		return nil, errors.New("it has a DOCTYPE, comment or CDATA")
	}
	if bytes.LastIndex(raw, []byte("<?")) > 0 {
		return nil, errors.New("it has a processing instruction")
	}
	return parseXML(raw)
}

// parseXML parses a document that is small, shallow and unambiguous to every parser.
func parseXML(raw []byte) (*etree.Element, error) {
	if err := scan(raw); err != nil {
		return nil, err
	}
	if err := xrv.Validate(bytes.NewReader(raw)); err != nil {
		return nil, errors.New("it does not survive being written again")
	}
	doc := etree.NewDocument()
	if err := doc.ReadFromBytes(raw); err != nil || doc.Root() == nil {
		return nil, errors.New("it is no XML")
	}
	return doc.Root(), nil
}

// scan reads a document token by token without storing it, and fails when a limit is exceeded.
func scan(raw []byte) error {
	// Before any parsing: each element has one or two "<", and each attribute one "=".
	if bytes.Count(raw, []byte("<")) > 2*maxElements+2 {
		return errTooMany
	}
	for part := range bytes.SplitSeq(raw, []byte("<")) {
		if bytes.Count(part, []byte("=")) > maxEquals {
			return errTooMany
		}
	}
	decoder := xml.NewDecoder(bytes.NewReader(raw))
	depth, elements := 0, 0
	for {
		token, err := decoder.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.New("it is no XML")
		}
		switch t := token.(type) {
		case xml.Directive:
			return errors.New("it has a DOCTYPE")
		case xml.CharData:
			if depth == 0 && len(bytes.TrimSpace(t)) > 0 {
				return errors.New("there is text around it")
			}
		case xml.EndElement:
			depth--
		case xml.StartElement:
			if depth == 0 && elements > 0 {
				return errors.New("something comes after it")
			}
			depth++
			elements++
			if depth > maxDepth || elements > maxElements || len(t.Attr) > maxAttributes {
				return errTooMany
			}
			for i, attr := range t.Attr {
				if slices.ContainsFunc(t.Attr[:i], func(other xml.Attr) bool { return other.Name == attr.Name }) {
					return errors.New("an attribute is there twice")
				}
			}
		}
	}
	if depth != 0 || elements == 0 {
		return errors.New("it is no XML")
	}
	return nil
}

var errTooMany = errors.New("it is nested too deeply, or has too many parts")

// checkShape returns the one assertion of a response, or an error if the response does not have the shape described at
// parseResponse.
func checkShape(response *etree.Element) (*etree.Element, error) {
	if !is(response, nsProtocol, "Response") {
		return nil, errors.New("it is no Response")
	}
	assertion, err := only(response, nsAssertion, "Assertion")
	if err != nil {
		if len(children(response, nsAssertion, "EncryptedAssertion")) > 0 {
			return nil, errEncrypted
		}
		return nil, err
	}
	ids := make(map[string]bool)
	var walk func(el *etree.Element) error
	walk = func(el *etree.Element) error {
		// Compare local names, because some code finds elements by their local name only.
		switch parent := el.Parent(); el.Tag {
		case "Response":
			if el != response {
				return errors.New("there is a Response within it")
			}
		case "Assertion":
			if el != assertion {
				return errors.New("there is a second Assertion")
			}
		case "Signature":
			if parent != response && parent != assertion {
				return errors.New("there is a Signature in a foreign place")
			}
			if err := checkSignature(el); err != nil {
				return err
			}
		case "EncryptedAssertion", "EncryptedID", "EncryptedAttribute", "EncryptedData":
			return errEncrypted
		}
		for _, attr := range el.Attr {
			if strings.EqualFold(attr.Key, "id") {
				if attr.Value == "" || ids[attr.Value] {
					return errors.New("an id is empty or there twice")
				}
				ids[attr.Value] = true
			}
		}
		for _, child := range el.ChildElements() {
			if err := walk(child); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk(response); err != nil {
		return nil, err
	}
	return assertion, nil
}

var errEncrypted = errors.New("it is encrypted")

// checkSignature rejects a signature that does not have the form required by SAML (core, section 5.4): it must cover
// its whole parent.
func checkSignature(signature *etree.Element) error {
	parent := signature.Parent()
	if !is(signature, nsSignature, "Signature") || len(children(parent, nsSignature, "Signature")) != 1 {
		return errors.New("a Signature is there twice")
	}
	for _, child := range signature.ChildElements() {
		if child.Tag != "SignedInfo" && child.Tag != "SignatureValue" && child.Tag != "KeyInfo" {
			return fmt.Errorf("a Signature has more than its parts")
		}
	}
	info, err := only(signature, nsSignature, "SignedInfo")
	if err != nil {
		return err
	}
	reference, err := only(info, nsSignature, "Reference")
	if err != nil {
		return err
	}
	id := parent.SelectAttrValue("ID", "")
	if len(info.ChildElements()) != 3 || id == "" || reference.SelectAttrValue("URI", "") != "#"+id {
		return errors.New("a Signature is not about its parent")
	}
	for _, method := range []struct {
		of      *etree.Element
		tag     string
		allowed []string
	}{
		{info, "CanonicalizationMethod", []string{algC14N}},
		{info, "SignatureMethod", slices.Collect(maps.Keys(signatureMethods()))},
		{reference, "DigestMethod", slices.Collect(maps.Keys(digestMethods()))},
	} {
		el, err := only(method.of, nsSignature, method.tag)
		if err != nil {
			return err
		}
		if !slices.Contains(method.allowed, el.SelectAttrValue("Algorithm", "")) {
			return errWeak
		}
	}
	return checkTransforms(reference)
}

var errWeak = errors.New("it is signed with a method that is not accepted")

// checkTransforms allows only transforms that leave everything but the signature itself signed.
func checkTransforms(reference *etree.Element) error {
	transforms, err := only(reference, nsSignature, "Transforms")
	if err != nil {
		return err
	}
	list := transforms.ChildElements()
	if len(list) == 0 || len(list) > 2 || !is(list[0], nsSignature, "Transform") ||
		list[0].SelectAttrValue("Algorithm", "") != algEnveloped {
		return errors.New("a Signature has other transforms")
	}
	if len(list) == 2 && (!is(list[1], nsSignature, "Transform") ||
		list[1].SelectAttrValue("Algorithm", "") != algC14N) {
		return errors.New("a Signature has other transforms")
	}
	return nil
}

func is(el *etree.Element, namespace, tag string) bool {
	return el.Tag == tag && el.NamespaceURI() == namespace
}

// children returns the direct children of an element that have the given name.
func children(el *etree.Element, namespace, tag string) (found []*etree.Element) {
	for _, child := range el.ChildElements() {
		if is(child, namespace, tag) {
			found = append(found, child)
		}
	}
	return found
}

// only returns the single direct child of an element with the given name. It fails if several have that local name, in
// any namespace.
func only(el *etree.Element, namespace, tag string) (*etree.Element, error) {
	var found *etree.Element
	for _, child := range el.ChildElements() {
		if child.Tag != tag {
			continue
		}
		if found != nil || child.NamespaceURI() != namespace {
			return nil, fmt.Errorf("there is more than one %s", tag)
		}
		found = child
	}
	if found == nil {
		return nil, fmt.Errorf("there is no %s", tag)
	}
	return found, nil
}
