package saml_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml/samltest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestChangedCertificateIsLoggedByFingerprint replaces a certificate: the audit log must identify both.
func TestChangedCertificateIsLoggedByFingerprint(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, other, err := samltest.NewKey()
	must.Succeed(t, err)
	_, err = f.saml.Change(t.Context(), f.admin,
		saml.Change{Certificates: []string{base64.StdEncoding.EncodeToString(other.Raw)}})
	must.Succeed(t, err)
	details := value[string](f, `SELECT details::text FROM audit_events ORDER BY at DESC, id DESC LIMIT 1`)
	for _, certificate := range [][]byte{f.idp.Certificate.Raw, other.Raw} {
		if !strings.Contains(details, saml.Fingerprint(certificate)) {
			t.Errorf("%s is not in %s", saml.Fingerprint(certificate), details)
		}
	}
}

// TestUnchangedSettingsAreNotLogged saves the same settings twice: only the first save is recorded.
func TestUnchangedSettingsAreNotLogged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	told := func() int { return value[int](f, `SELECT count(*) FROM audit_events WHERE action = 'saml.edit'`) }
	before := told()
	name := "displayName"
	for range 2 {
		must.Get(f.saml.Change(t.Context(), f.admin, saml.Change{NameAttribute: &name}))(t)
	}
	if told() != before+1 {
		t.Errorf("%d changes are told, want 1", told()-before)
	}
}
