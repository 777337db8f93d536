package saml_test

import (
	"bytes"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
)

// FuzzR51_Canonicalize: for every document that passes the guard, canonicalize is idempotent and equals goxmldsig,
// except for the forms of TestR51_FormsOfGoxmldsig. Otherwise a digest could cover another document than the parsed
// one.
func FuzzR51_Canonicalize(f *testing.F) {
	f.Add([]byte(`<a xmlns="urn:x" xmlns:b="urn:b" b:z="1" y="&lt;&#13;&quot;"><b:c/>&amp;&gt;</a>`), "")
	f.Add([]byte(`<p:a xmlns:p="urn:p" xmlns:q="urn:q"><p:b xmlns:p="urn:p" q:r="s"/><c xmlns:p="urn:o"/></p:a>`), "q")
	f.Add([]byte("<a xmlns=\"urn:x\"><b xmlns=\"\" c=\"\t\n\">&lt;&#x9;</b></a>"), "p")
	f.Fuzz(func(t *testing.T, document []byte, inclusive string) {
		ours, theirs, err := saml.Canonicalize(document, inclusive)
		if err != nil {
			return
		}
		if theirs != nil && !bytes.Equal(ours, theirs) {
			t.Errorf("%q\n ours   %q\n theirs %q", document, ours, theirs)
		}
		again, _, err := saml.Canonicalize(ours, inclusive)
		if err != nil || !bytes.Equal(again, ours) {
			t.Errorf("%q\n canonical       %q\n canonical again %q, %v", document, ours, again, err)
		}
	})
}

// TestR51_FormsOfGoxmldsig: the canonicalizer of goxmldsig does not support these forms, which is why there is our own
// (ADR 32). When a new version supports them all, its canonicalizer can replace ours.
func TestR51_FormsOfGoxmldsig(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ document, inclusive, canonical string }{
		"the default namespace in a prefix list": {
			`<p:a xmlns="urn:d" xmlns:p="urn:p"><p:b/></p:a>`, "",
			`<p:a xmlns="urn:d" xmlns:p="urn:p"><p:b></p:b></p:a>`,
		},
		"attributes of two namespaces": {
			`<a xmlns:p="urn:2" xmlns:q="urn:1" p:a="" q:b=""/>`, "p",
			`<a xmlns:p="urn:2" xmlns:q="urn:1" q:b="" p:a=""></a>`,
		},
		"no namespace": {`<p:a xmlns:p="urn:p"><b xmlns=""/></p:a>`, "p", `<p:a xmlns:p="urn:p"><b></b></p:a>`},
	} {
		ours, theirs, err := saml.Canonicalize([]byte(c.document), c.inclusive)
		if err != nil || string(ours) != c.canonical {
			t.Errorf("%s: %s, %v", name, ours, err)
		}
		if string(theirs) == c.canonical {
			t.Errorf("%s: supported", name)
		}
	}
}
