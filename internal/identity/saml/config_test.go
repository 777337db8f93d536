package saml_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	crewjam "github.com/crewjam/saml"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml/samltest"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestSettingsAreForAdministrators(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for role, c := range map[identity.Role]struct{ reads, writes bool }{
		identity.RoleGeneralUser: {}, identity.RoleOrganizationAdmin: {reads: true},
		identity.RoleOrganizationSuperAdmin: {reads: true, writes: true}, identity.RoleSystemAdmin: {},
	} {
		who := f.admin
		who.Role = role
		want := func(allowed bool) fault.Code {
			if allowed {
				return ""
			}
			return fault.Forbidden
		}
		_, view := f.saml.View(t.Context(), who)
		_, change := f.saml.Change(t.Context(), who, saml.Change{NameAttribute: new("cn")})
		_, on := f.saml.TurnOn(t.Context(), who)
		_, _, begin := f.saml.BeginTest(t.Context(), who, "")
		_, off := f.saml.TurnOff(t.Context(), who)
		for name, err := range map[string]error{"change": change, "on": on, "test": begin, "off": off} {
			if fault.CodeOf(err) != want(c.writes) {
				t.Errorf("%s, %s: %v", role, name, err)
			}
		}
		if _, err := f.saml.Test(t.Context(), who, uuid.New()); c.writes != (fault.CodeOf(err) == fault.NotFound) {
			t.Errorf("%s, test: %v", role, err)
		}
		if fault.CodeOf(view) != want(c.reads) {
			t.Errorf("%s, view: %v", role, view)
		}
	}
}

func TestSettingsAreStoredAndLogged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	view := must.Get(f.saml.View(t.Context(), f.admin))(t)
	sp := publicURL + "/v1/saml/" + f.org.String()
	if view.SPEntityID != sp+"/metadata" || view.SPMetadataURL != sp+"/metadata" || view.SPACSURL != sp+"/acs" ||
		!view.Enabled ||
		view.EntityID != f.idp.EntityID() || view.SSOURL != f.idp.SSOURL() || view.UpdatedAt == nil ||
		!slices.Equal(view.EmailDomains, []string{"corp.example", "sub.corp.example"}) {
		t.Errorf("got %+v", view)
	}
	if c := view.IDPCertificates; len(c) != 1 || c[0].Subject != "CN=samltest" || len(c[0].Fingerprint) != 95 ||
		!c[0].NotAfter.After(time.Now()) {
		t.Errorf("got %+v", c)
	}
	_, other, err := samltest.NewKey()
	must.Succeed(t, err)
	view, err = f.saml.Change(t.Context(), f.admin, saml.Change{
		Certificates: []string{
			string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: other.Raw})),
			base64.StdEncoding.EncodeToString(f.idp.Certificate.Raw),
			" " + base64.StdEncoding.EncodeToString(other.Raw) + "\n",
		},
		EmailDomains: []string{" Corp.Example ", "corp.example"},
	})
	must.Succeed(t, err)
	if len(view.IDPCertificates) != 2 || !slices.Equal(view.EmailDomains, []string{"corp.example"}) ||
		view.EmailAttribute != samltest.EmailAttribute {
		t.Errorf("got %+v", view)
	}
	if again, err := f.saml.View(t.Context(), f.admin); err != nil || len(again.Certificates) != 2 ||
		!slices.Equal(again.EmailDomains, view.EmailDomains) {
		t.Errorf("got %+v, %v", again, err)
	}
	told := value[[]string](f, `SELECT array_agg(action ORDER BY at, id) FROM audit_events`)
	if !slices.Equal(told, []string{"saml.edit", "saml.on", "saml.edit"}) {
		t.Errorf("the audit log tells of %v", told)
	}
	details := value[string](f, `SELECT details::text FROM audit_events ORDER BY at DESC, id DESC LIMIT 1`)
	if !strings.Contains(details, "idp_certificates") || !strings.Contains(details, "corp.example, sub.corp.example") {
		t.Errorf("details %s", details)
	}
}

func certificate(t *testing.T, public, private any) string {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, public, private))(t)
	return base64.StdEncoding.EncodeToString(der)
}

func TestInvalidSettings(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	weak := must.Get(rsa.GenerateKey(rand.Reader, 1024))(t)
	curve := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	for name, c := range map[string]struct {
		change saml.Change
		field  string
	}{
		"metadata and a field": {
			saml.Change{MetadataXML: new("<x/>"), SSOURL: new("https://idp.example")},
			"idp_metadata_xml",
		},
		"no metadata":            {saml.Change{MetadataXML: new("<x/>")}, "idp_metadata_xml"},
		"entity id with a space": {saml.Change{EntityID: new("a b")}, "idp_entity_id"},
		"long entity id":         {saml.Change{EntityID: new(strings.Repeat("a", 1025))}, "idp_entity_id"},
		"address without TLS":    {saml.Change{SSOURL: new("http://idp.example/sso")}, "idp_sso_url"},
		"script":                 {saml.Change{SSOURL: new("javascript:alert(1)")}, "idp_sso_url"},
		"garbage certificate":    {saml.Change{Certificates: []string{"AAAA"}}, "idp_certificates"},
		"a key": {
			saml.Change{Certificates: []string{"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"}},
			"idp_certificates",
		},
		"weak key": {
			saml.Change{Certificates: []string{certificate(t, &weak.PublicKey, weak)}},
			"idp_certificates",
		},
		"a curve": {
			saml.Change{Certificates: []string{certificate(t, &curve.PublicKey, curve)}},
			"idp_certificates",
		},
		"none":                  {saml.Change{Certificates: []string{}}, "idp_certificates"},
		"attribute with a line": {saml.Change{EmailAttribute: new("a\nb")}, "email_attribute"},
		"long attribute":        {saml.Change{NameAttribute: new(strings.Repeat("あ", 257))}, "name_attribute"},
		"another's domain": {
			saml.Change{EmailDomains: []string{"corp.example", "gmail.com"}},
			"email_domains[1]",
		},
	} {
		_, err := f.saml.Change(t.Context(), f.admin, c.change)
		if fields := fault.FieldsOf(err); fault.CodeOf(err) != fault.Invalid || len(fields) != 1 ||
			fields[0].Field != c.field {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Changes that would lock everyone out.
	_, expired, err := samltest.NewKeyValid(time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour))
	must.Succeed(t, err)
	for name, change := range map[string]saml.Change{
		"no domain":           {EmailDomains: []string{}},
		"expired certificate": {Certificates: []string{base64.StdEncoding.EncodeToString(expired.Raw)}},
	} {
		if _, err := f.saml.Change(t.Context(), f.admin, change); fault.CodeOf(err) != fault.Conflict {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEnablingNeedsCompleteSettings(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.organization("new.example")
	admin := actor(f.member(id, "admin@new.example", identity.RoleOrganizationSuperAdmin, identity.AuthCognito))
	refused := func(why string) {
		t.Helper()
		if _, err := f.saml.TurnOn(t.Context(), admin); fault.CodeOf(err) != fault.Conflict {
			t.Errorf("%s: %v", why, err)
		}
	}
	refused("nothing is set")
	if _, _, err := f.saml.BeginTest(t.Context(), admin, ""); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("a test of nothing: %v", err)
	}
	f.configure(admin)
	f.exec(`UPDATE saml_configs SET email_domains = '{}' WHERE organization_id = $1`, id)
	refused("no domain")
	_, expired, err := samltest.NewKeyValid(time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour))
	must.Succeed(t, err)
	_, err = f.saml.Change(t.Context(), admin, saml.Change{
		EmailDomains: []string{"new.example"},
		Certificates: []string{base64.StdEncoding.EncodeToString(expired.Raw)},
	})
	must.Succeed(t, err) // Single sign-on is not on yet.
	refused("an expired certificate")
	f.configure(admin)
	f.exec(`UPDATE users SET auth_type = 'federated_idp' WHERE organization_id = $1`, id)
	refused("nobody with a password")
	away := f.member(id, "away@new.example", identity.RoleOrganizationSuperAdmin, identity.AuthCognito)
	f.exec(`UPDATE users SET state = 'inactive' WHERE id = $1`, away.ID)
	refused("nobody active with a password")
	f.exec(`UPDATE users SET state = 'active' WHERE id = $1`, away.ID)
	view, err := f.saml.TurnOn(t.Context(), admin)
	if err != nil || !view.Enabled {
		t.Fatalf("got %+v, %v", view, err)
	}
	if got := value[string](f, `SELECT auth_type FROM organizations WHERE id = $1`, id); got != "federated_idp" {
		t.Errorf("got %s", got)
	}
	view, err = f.saml.TurnOff(t.Context(), admin)
	if err != nil || view.Enabled {
		t.Errorf("got %+v, %v", view, err)
	}
}

// TestDomainsRemovedByOperators: a chosen domain that operators remove is no longer chosen. Without any domain no
// address is redirected.
func TestDomainsRemovedByOperators(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec(`UPDATE organizations SET mail_domains = '{sub.corp.example,new.example}'`)
	view, err := f.saml.View(t.Context(), f.admin)
	if err != nil || !slices.Equal(view.EmailDomains, []string{"sub.corp.example"}) {
		t.Errorf("chosen are %v, %v", view.EmailDomains, err)
	}
	f.begin("")
	f.exec(`UPDATE organizations SET mail_domains = '{new.example}'`)
	if _, err := f.saml.Begin(t.Context(), sso.Request{OrganizationID: f.org}); fault.CodeOf(err) != sso.CodeDisabled {
		t.Errorf("nobody can sign in, but it begins: %v", err)
	}
	if _, _, err := f.saml.BeginTest(t.Context(), f.admin, ""); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("a trial: %v", err)
	}
}

func TestConcurrentChangesAreAllStored(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var all sync.WaitGroup
	for _, change := range []saml.Change{
		{EmailAttribute: new("mail")},
		{NameAttribute: new("cn")},
		{SSOURL: new("https://idp.example/other")},
	} {
		all.Go(func() {
			if _, err := f.saml.Change(t.Context(), f.admin, change); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if s := f.settings(); s.EmailAttribute != "mail" || s.NameAttribute != "cn" ||
		s.SSOURL != "https://idp.example/other" {
		t.Errorf("got %+v", s)
	}
}

func TestTrialsDoNotSignIn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	must.Get(f.saml.TurnOff(t.Context(), f.admin))(t)
	try := func(spoil func(r *forged)) saml.Test {
		t.Helper()
		id, start, err := f.saml.BeginTest(t.Context(), f.admin, "")
		must.Succeed(t, err)
		if test, err := f.saml.Test(t.Context(), f.admin, id); err != nil || test.Status != saml.TestPending {
			t.Fatalf("got %+v, %v", test, err)
		}
		b := readStart(t, start)
		r := f.forge(b.request.ID, "n1", "new@corp.example", "名前")
		spoil(r)
		outcome, err := f.post(b, r.bytes(t))
		if err != nil || outcome.Test != id || outcome.Code != "" {
			t.Fatalf("got %+v, %v", outcome, err)
		}
		test := must.Get(f.saml.Test(t.Context(), f.admin, id))(t)
		return test
	}
	test := try(func(*forged) {})
	if test.Status != saml.TestSuccess || test.Error != "" || test.NameID != "n1" || test.Email != "new@corp.example" ||
		test.Name != "名前" ||
		len(test.Attributes) != 2 || test.Attributes[1].Values[0] != "名前" {
		t.Errorf("got %+v", test)
	}
	test = try(func(r *forged) { r.signAssertion = false })
	if test.Status != saml.TestFailed || !strings.Contains(test.Error, "署名") || test.NameID != "" {
		t.Errorf("unsigned: %+v", test)
	}
	// A trial by a person who could not sign in still shows the attributes, so that the settings can be corrected.
	test = try(func(r *forged) { r.assertion.AttributeStatements[0].Attributes[0].Name = "mail" })
	if test.Status != saml.TestFailed || !strings.Contains(test.Error, "メールアドレス") || test.NameID != "n1" ||
		len(test.Attributes) != 2 {
		t.Errorf("another attribute: %+v", test)
	}
	test = try(func(r *forged) { r.response.Status.StatusCode.Value = crewjam.StatusRequestDenied })
	if test.Status != saml.TestFailed || !strings.Contains(test.Error, "割り当て") {
		t.Errorf("denied: %+v", test)
	}
	n := value[int](f, `SELECT (SELECT count(*) FROM saml_codes) + (SELECT count(*) FROM federated_identities)`)
	if n != 0 {
		t.Errorf("somebody was signed in")
	}
	stranger := actor(f.member(f.organization("other.example"), "x@other.example", identity.RoleOrganizationSuperAdmin,
		identity.AuthCognito))
	if _, err := f.saml.Test(t.Context(), stranger, test.ID); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("another organization's: %v", err)
	}
}

func TestR56_NextIsAPathOfTheApp(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"/", "/home/skill", "/thread/1?a=b&c=%2F%2Fd", "/検索?q=紡", "/a#b", "/a/", "/a/..b"} {
		if got := sso.LocalPath(good); got != good {
			t.Errorf("%q: %q", good, got)
		}
	}
	for _, bad := range []string{
		"", "home", "//evil.example", `/\evil.example`, `\/evil.example`, `\\evil.example`, "https://evil.example",
		"///evil.example",
		"/\t/evil.example", "\t//evil.example", "/\n/evil.example", "/a\r\nSet-Cookie: x=y", "/a\x00b", "/a b",
		"javascript:alert(1)",
		"/%5Cevil.example", "/%2F/evil.example", "/%09/evil.example", "//user@evil.example", "/%zz", "/\xff\xfe",
		"/a//b", "/home/..//evil.example", "/.//evil.example", "/%2e%2e//evil.example", "/a/../b",
		"/" + strings.Repeat("a", 2048),
	} {
		if got := sso.LocalPath(bad); got != "" {
			t.Errorf("%q: %q", bad, got)
		}
	}
}

func FuzzR56_Next(f *testing.F) {
	f.Add("/home")
	f.Add(`/\evil`)
	f.Add("/%2e%2e//evil.example?next=//evil.example#//")
	app := &url.URL{Scheme: "https", Host: "tsumugi.example", Path: "/oauth2/callback"}
	f.Fuzz(func(t *testing.T, next string) {
		got := sso.LocalPath(next)
		if there, err := app.Parse(got); err != nil || there.Host != app.Host || there.Scheme != app.Scheme ||
			strings.HasPrefix(there.Path, "//") {
			t.Errorf("%q leads to %v, %v", next, there, err)
		}
		if got != "" && (got != next || got[0] != '/' || len(got) > 1 && (got[1] == '/' || got[1] == '\\') ||
			strings.ContainsAny(got, "\r\n\t\\")) {
			t.Errorf("%q: %q", next, got)
		}
	})
}

func TestR70_AddressesOfIdentityProviders(t *testing.T) {
	t.Parallel()
	for address, good := range map[string]bool{
		"https://idp.example/sso": true, "https://idp.example/sso?idpid=1": true, "http://127.0.0.1:8081/sso": true,
		"http://localhost/sso": true,
		"http://[::1]:80/":     true, "http://idp.example/sso": false, "http://169.254.169.254/": false,
		"ftp://idp.example": false,
		"//idp.example":     false, "/sso": false, "https://": false, "https:///sso": false, "https:idp.example": false,
		"data:text/html,x":               false,
		"https://user:pass@idp.example/": false, "https://idp.example/#x": false, "https://idp.example/\r\nX: y": false,
		"https://idp.example\\@evil.example": false, "http://localhost.evil.example/": false,
		"http://0x7f000001/": false, "": false,
	} {
		if saml.ValidSSOURL(address) != good {
			t.Errorf("%q: %t", address, !good)
		}
	}
}

func TestMetadataOfIdentityProviders(t *testing.T) {
	t.Parallel()
	const idp = `<IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
		<KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data>
		<X509Certificate>A</X509Certificate></X509Data></KeyInfo></KeyDescriptor>
		<KeyDescriptor><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data>
		<ds:X509Certificate>B</ds:X509Certificate></ds:X509Data></ds:KeyInfo></KeyDescriptor>
		<KeyDescriptor use="encryption"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data>
		<X509Certificate>C</X509Certificate></X509Data></KeyInfo></KeyDescriptor>
		<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
			Location="https://idp.example/post"/>
		<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
			Location="https://idp.example/redirect?a=b&amp;c=d"/>
		</IDPSSODescriptor>`
	const open = `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://idp.example/">`
	const shut = `</EntityDescriptor>`
	const sp = `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="x"><SPSSODescriptor/>` +
		`</EntityDescriptor>`
	several := func(list string) string {
		return `<EntitiesDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata">` + list + `</EntitiesDescriptor>`
	}
	for name, text := range map[string]string{
		"plain": open + idp + shut,
		"with a declaration": "\uFEFF<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<!-- comment -->" + open +
			idp + shut + "\n",
		"in a list": several(sp + open + idp + shut),
	} {
		entityID, ssoURL, certificates, err := saml.ReadMetadata(text)
		if err != nil || entityID != "https://idp.example/" || ssoURL != "https://idp.example/redirect?a=b&c=d" ||
			!slices.Equal(certificates, []string{"A", "B"}) {
			t.Errorf("%s: %s, %s, %v, %v", name, entityID, ssoURL, certificates, err)
		}
	}
	for name, text := range map[string]string{
		"a service provider's": sp, "two providers": several(open + idp + shut + open + idp + shut),
		"two roles":  open + idp + idp + shut,
		"no address": open + `<IDPSSODescriptor/>` + shut, "DOCTYPE": `<!DOCTYPE x>` + open + idp + shut,
		"HTML":      `<html><body></body></html>`,
		"too large": open + idp + strings.Repeat(" ", 256<<10) + shut, "empty": "", "cut off": open + idp,
	} {
		if _, _, _, err := saml.ReadMetadata(text); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
}

func FuzzR54_Metadata(f *testing.F) {
	f.Add(
		`<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="x"><IDPSSODescriptor/>` +
			`</EntityDescriptor>`,
	)
	f.Fuzz(func(_ *testing.T, text string) { _, _, _, _ = saml.ReadMetadata(text) })
}

// FuzzR52_Certificates: every accepted certificate can verify signatures and can be parsed once stored.
func FuzzR52_Certificates(f *testing.F) {
	_, good, err := samltest.NewKey()
	must.Succeed(f, err)
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: good.Raw})
	f.Add(string(block))
	f.Add(base64.StdEncoding.EncodeToString(good.Raw))
	f.Add(string(block) + string(block))
	f.Add("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----")
	f.Fuzz(func(t *testing.T, given string) {
		der, err := saml.ReadCertificate(given)
		if err != nil {
			return
		}
		certificate := must.Get(x509.ParseCertificate(der))(t)
		if key, ok := certificate.PublicKey.(*rsa.PublicKey); !ok || key.N.BitLen() < 2048 {
			t.Errorf("a key %T", certificate.PublicKey)
		}
	})
}
