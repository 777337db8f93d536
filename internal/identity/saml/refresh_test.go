package saml_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml/samltest"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// metadataServer serves metadata over TLS.
type metadataServer struct {
	*httptest.Server

	text   atomic.Pointer[string]
	status atomic.Int32
	reads  atomic.Int32
}

func newMetadataServer(t *testing.T) *metadataServer {
	t.Helper()
	m := &metadataServer{}
	m.status.Store(http.StatusOK)
	m.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		m.reads.Add(1)
		w.Header().Set("Location", "https://elsewhere.example/")
		w.WriteHeader(int(m.status.Load()))
		_, _ = w.Write([]byte(*m.text.Load()))
	}))
	t.Cleanup(m.Close)
	return m
}

// serve sets the metadata to those of a provider.
func (m *metadataServer) serve(t *testing.T, idp *samltest.Provider) {
	t.Helper()
	metadata := must.Get(idp.Metadata())(t)
	m.text.Store(new(string(metadata)))
}

func TestMetadataIsReadAgainEveryDay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := newMetadataServer(t)
	service := saml.New(sso.NewClient(sso.ClientConfig{
		Hosts: []string{"127.0.0.1"}, Transport: server.Client().Transport,
	}), f.db, f.sso)
	view := func() saml.View {
		t.Helper()
		view := must.Get(service.View(t.Context(), f.admin))(t)
		return view
	}
	refresh := func(after time.Duration) error {
		t.Helper()
		f.clock.pass(after)
		return service.RefreshMetadata(t.Context())
	}
	server.serve(t, f.idp)
	must.Get(service.Change(t.Context(), f.admin, saml.Change{MetadataURL: new(" " + server.URL + "/idp.xml ")}))(t)
	if v := view(); v.MetadataURL != server.URL+"/idp.xml" || v.MetadataReadAt == nil || v.EntityID != f.idp.EntityID() {
		t.Errorf("got %+v", v)
	}
	must.Succeed(t, refresh(23*time.Hour))
	if n := server.reads.Load(); n != 1 {
		t.Errorf("%d readings in 23 hours", n)
	}

	// A new certificate of the same provider is used, and recorded once, also with several servers.
	before := view().IDPCertificates[0].Fingerprint
	renewed := must.Get(samltest.New(samltest.Config{URL: "https://idp.example"}))(t)
	server.serve(t, renewed)
	must.Succeed(t, refresh(2*time.Hour))
	must.Succeed(t, refresh(0))
	after := view().IDPCertificates[0].Fingerprint
	if n := server.reads.Load(); n != 2 || after == before {
		t.Errorf("%d readings, certificate %s as before: %t", n, after, after == before)
	}
	details := value[string](f, `SELECT details::text FROM audit_events WHERE action = 'saml.refresh' AND actor_kind = 'system'`)
	if !strings.Contains(details, before) || !strings.Contains(details, after) {
		t.Errorf("audit log: %s", details)
	}

	// Failures keep the settings, are shown, and are tried again after an hour.
	other := must.Get(samltest.New(samltest.Config{URL: "https://other.example"}))(t)
	for _, c := range []struct {
		reason string
		serve  func()
	}{
		{"503", func() { server.status.Store(http.StatusServiceUnavailable) }},
		{"302", func() { server.status.Store(http.StatusFound) }},
		{"読み取れませんでした", func() { server.status.Store(http.StatusOK); server.text.Store(new("<html>")) }},
		{"256 KB", func() { server.text.Store(new(strings.Repeat(" ", 300_000))) }},
		{"エンティティID", func() { server.serve(t, other) }},
	} {
		c.serve()
		if err := refresh(25 * time.Hour); fault.CodeOf(err) != fault.Invalid {
			t.Errorf("%s: %v", c.reason, err)
		}
		settings := must.Get(f.db.SAMLSettings(t.Context(), f.org))(t)
		if err := service.CheckMetadata(t.Context(), settings); !strings.Contains(fault.DetailOf(err), c.reason) {
			t.Errorf("%s: the check reports %v", c.reason, err)
		}
		if v := view(); !strings.Contains(v.MetadataError, c.reason) || v.EntityID != f.idp.EntityID() ||
			v.IDPCertificates[0].Fingerprint != after {
			t.Errorf("%s: %+v", c.reason, v)
		}
	}
	server.serve(t, f.idp)
	settings := must.Get(f.db.SAMLSettings(t.Context(), f.org))(t)
	must.Succeed(t, service.CheckMetadata(t.Context(), settings))
	if v := view(); v.MetadataError == "" {
		t.Error("the check changed the settings")
	}
	must.Succeed(t, refresh(time.Hour))
	if v := view(); v.MetadataError != "" || v.IDPCertificates[0].Fingerprint != before {
		t.Errorf("got %+v", v)
	}

	// Entered settings end the readings.
	f.configure(f.admin)
	must.Succeed(t, refresh(48*time.Hour))
	if v := view(); v.MetadataURL != "" || v.MetadataReadAt != nil || server.reads.Load() != 14 {
		t.Errorf("%d readings, %+v", server.reads.Load(), v)
	}
}

func TestInvalidMetadataAddressesAreRejected(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := newMetadataServer(t)
	server.serve(t, f.idp)
	before := must.Get(f.saml.View(t.Context(), f.admin))(t)
	for address, reason := range map[string]string{
		server.URL:                             "TSUMUGI_IDENTITY_HOSTS", // Inside the network.
		"https://169.254.169.254/latest":       "TSUMUGI_IDENTITY_HOSTS",
		"http://idp.example/metadata":          "https://",
		"file:///etc/passwd":                   "正しくありません",
		"https://user:pass@idp.example/":       "正しくありません",
		"https://idp.invalid/metadata":         "接続できません",
		"https://idp.example/m\nHost: a":       "正しくありません",
		"https://" + strings.Repeat("a", 2100): "正しくありません",
	} {
		_, err := f.saml.Change(t.Context(), f.admin, saml.Change{MetadataURL: &address})
		if fault.CodeOf(err) != fault.Invalid || !strings.Contains(fault.DetailOf(err), reason) {
			t.Errorf("%q: %v", address, err)
		}
	}
	_, err := f.saml.Change(t.Context(), f.admin, saml.Change{
		MetadataURL: new("https://idp.example/metadata"), EntityID: new("https://idp.example"),
	})
	if fault.CodeOf(err) != fault.Invalid {
		t.Errorf("two sources: %v", err)
	}
	after := must.Get(f.saml.View(t.Context(), f.admin))(t)
	if !after.UpdatedAt.Equal(*before.UpdatedAt) || after.MetadataURL != "" {
		t.Errorf("changed to %+v", after)
	}
}
