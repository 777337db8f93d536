package saml_test

import (
	"bytes"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestXmlsec1Responses reads responses signed by another implementation, with prefix lists that exclusive
// canonicalization treats inclusively. The prefixes are declared on outer elements, on inner elements or not at all,
// and one is the default namespace. testdata/xmlsec1/make.sh generates the responses.
func TestXmlsec1Responses(t *testing.T) {
	t.Parallel()
	certificate := must.Get(os.ReadFile("testdata/xmlsec1/certificate.pem"))(t)
	block, _ := pem.Decode(certificate)
	settings := saml.Settings{
		OrganizationID: uuid.MustParse("00000000-0000-7000-8000-000000000001"), EntityID: "https://idp.example",
		Certificates: [][]byte{block.Bytes},
	}
	at := func() time.Time { return time.Date(2027, 4, 1, 9, 1, 0, 0, time.UTC) }

	service := saml.New(nil, nil, sso.New(sso.Config{PublicURL: publicURL, Clock: at}, nil, nil))
	files := must.Get(filepath.Glob("testdata/xmlsec1/*.xml"))(t)
	if len(files) != 10 {
		t.Fatalf("%d responses", len(files))
	}
	for _, file := range files {
		raw := must.Get(os.ReadFile(file))(t)
		nameID, attributes, err := service.Verify(settings, requestID, raw)
		if err != nil || nameID != "n1" || len(attributes) != 1 || attributes[0].Values[0] != "アリス & ボブ <x>" {
			t.Errorf("%s: %q, %q, %v", file, nameID, attributes, err)
		}
		// Changed after signing.
		for _, part := range []string{">n1<", "nameid-format:persistent", "xs:string", "urn:late", "a &quot;b"} {
			if !bytes.Contains(raw, []byte(part)) {
				t.Errorf("%s has no %s", file, part)
			}
			if part == "urn:late" && !bytes.Contains(raw, []byte("late absent")) {
				continue // Unused, and therefore not signed.
			}
			changed := bytes.Replace(raw, []byte(part), []byte(part[:1]+"x"+part[1:]), 1)
			if nameID, _, err := service.Verify(settings, requestID, changed); err == nil {
				t.Errorf("%s: %s was changed unseen: %q", file, part, nameID)
			}
		}
	}
}
