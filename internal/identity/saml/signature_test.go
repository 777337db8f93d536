package saml_test

import (
	"bytes"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
)

// FuzzR51_Canonicalize: for every document that passes the guard, canonicalize is idempotent and equals goxmldsig.
// Otherwise a digest could cover another document than the parsed one.
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
