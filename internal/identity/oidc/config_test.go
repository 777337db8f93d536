package oidc_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oidc"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oidc/oidctest"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestSettingsThatAreRefused: each is refused with the reason, and nothing changes.
func TestSettingsThatAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	before := must.Get(f.db.OIDCSettings(t.Context(), f.org))(t)
	refused := func(name, field, reason string, change oidc.Change) {
		t.Helper()
		_, err := f.oidc.Change(t.Context(), f.admin, change)
		if fields := fault.FieldsOf(err); fault.CodeOf(err) != fault.Invalid || len(fields) != 1 || fields[0].Field != field {
			t.Errorf("%s: %v", name, err)
		}
		has(t, fault.DetailOf(err), reason)
	}
	secret := new("new")
	second := oidctest.New(t)
	issuer := func(name, reason, url string, discovery oidctest.Claims) {
		t.Helper()
		second.Discovery = discovery
		refused(name, "issuer", reason, oidc.Change{Issuer: &url, ClientSecret: secret})
	}
	issuer("another issuer", "一致しません", second.URL, oidctest.Claims{"issuer": second.URL + "/"})
	for _, inside := range []string{
		"https://10.0.0.1/keys", "https://[::1]/keys", "https://keys.internal/", "https://keys/", "https://169.254.169.254/",
	} {
		issuer(inside, "TSUMUGI_IDENTITY_HOSTS", second.URL, oidctest.Claims{"jwks_uri": inside})
	}
	issuer("keys without TLS", "https", second.URL, oidctest.Claims{"jwks_uri": "http://keys.example/"})
	issuer("no keys", "公開鍵", second.URL, oidctest.Claims{"jwks_uri": second.URL + "/none"})
	issuer("issuer inside", "TSUMUGI_IDENTITY_HOSTS", "https://192.168.0.1", nil)
	issuer("no discovery", "ディスカバリー文書", second.URL+"/none", nil)
	issuer("no URL", "URL", "x", nil)
	refused("issuer without a new secret", "client_secret", "クライアントシークレット", oidc.Change{Issuer: &second.URL})
	refused("prompt", "prompt", "prompt", oidc.Change{Prompt: new("none")})
	refused("scopes", "scopes", "openid", oidc.Change{Scopes: []string{"email"}})
	refused("max_age", "max_age", "max_age", oidc.Change{MaxAge: new(-1)})
	refused("domain", "email_domains[0]", "メールドメイン", oidc.Change{EmailDomains: []string{"evil.example"}})
	after := must.Get(f.db.OIDCSettings(t.Context(), f.org))(t)
	if a, b := asText(t, before), asText(t, after); a != b {
		t.Errorf("changed from %s to %s", a, b)
	}
}

func asText(t *testing.T, settings oidc.Settings) string {
	t.Helper()
	text := must.Get(json.Marshal(settings))(t)
	return string(text)
}

// TestInternalAddressesAreCheckedWhenConnecting uses the real transport: a name that resolves to this machine is refused
// unless it is listed.
func TestInternalAddressesAreCheckedWhenConnecting(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	strict := oidc.New(sso.NewClient(sso.ClientConfig{}), f.db, f.sso)
	if _, err := strict.Begin(t.Context(), sso.Request{OrganizationID: f.org}); fault.CodeOf(err) != sso.CodeResponse {
		t.Errorf("an address that is not listed: %v", err)
	}
	listed := oidc.New(sso.NewClient(sso.ClientConfig{Hosts: []string{"127.0.0.1"}}), f.db, f.sso)
	must.Get(listed.Begin(t.Context(), sso.Request{OrganizationID: f.org}))(t)
	f.idp.CloseClientConnections()
}

func TestSecretsAreSealedAndNotShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	kept := value[string](f, `SELECT client_secret FROM oidc_configs`)
	if kept == "" || strings.Contains(kept, oidctest.ClientSecret) {
		t.Errorf("stored %q", kept)
	}
	view := must.Get(f.oidc.View(t.Context(), f.admin))(t)
	if view.ClientSecret != "" || !view.HasSecret {
		t.Errorf("shown %+v", view)
	}
	if n := value[int](f, `SELECT count(*) FROM audit_events WHERE details::text LIKE '%s3cret%'`); n != 0 {
		t.Error("the audit log contains the secret")
	}
}

func TestProviderIsTested(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	run := func() string {
		t.Helper()
		checks := must.Get(f.oidc.Test(t.Context(), f.admin))(t)
		var text strings.Builder
		for _, c := range checks {
			text.WriteString(c.Name)
			if !c.OK {
				text.WriteString(" " + c.Detail)
			}
			text.WriteString(";")
		}
		return text.String()
	}
	if got := run(); got != "discovery;keys;client;" {
		t.Errorf("got %s", got)
	}
	f.change(oidc.Change{ClientSecret: new("wrong")})
	has(t, run(), "discovery;keys;client ", "シークレット")
	f.idp.Discovery = oidctest.Claims{"jwks_uri": f.idp.URL + "/none"}
	has(t, run(), "discovery;keys ", "公開鍵")
	f.idp.Close()
	has(t, run(), "discovery IDプロバイダーに接続できません")
}

// TestProviderIsAway: a sign-in fails with the reason within its time limit. Sessions are not affected.
func TestProviderIsAway(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	session := must.Get(f.signIn("alice"))(t)
	start := f.begin()
	q := f.idp.Authorize(t, start.URL, "alice")
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(silent.Close)
	hanging := oidc.New(sso.NewClient(sso.ClientConfig{Hosts: []string{"127.0.0.1"}, Transport: redirected{silent}}), f.db, f.sso)
	within, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := hanging.Begin(within, sso.Request{OrganizationID: f.org}); fault.CodeOf(err) != sso.CodeUnavailable || within.Err() != nil {
		t.Errorf("a provider that does not respond: %v, %v", err, within.Err())
	}
	f.idp.Close()
	if _, err := f.oidc.Begin(t.Context(), sso.Request{OrganizationID: f.org}); fault.CodeOf(err) != sso.CodeUnavailable {
		t.Errorf("at the beginning: %v", err)
	}
	if _, err := f.answer(start.Browser, q); fault.CodeOf(err) != sso.CodeUnavailable {
		t.Errorf("at the end: %v", err)
	}
	if err := f.oidc.Logout(t.Context(), f.org, "x"); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("at a logout: %v", err)
	}
	if _, err := f.sso.Refresh(t.Context(), clientID, session.RefreshToken); err != nil {
		t.Errorf("the session has ended: %v", err)
	}
}

// redirected sends all requests to a server.
type redirected struct{ to *httptest.Server }

func (r redirected) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.URL.Host = r.to.Listener.Addr().String()
	return r.to.Client().Transport.RoundTrip(request)
}

func TestProtocolsReplaceEachOther(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	provider := must.Get(f.sso.Provider(t.Context(), f.org))(t)
	if provider != (sso.Provider{Protocol: sso.OIDC, ID: f.idp.URL}) {
		t.Errorf("got %+v", provider)
	}
	saml := must.Get(f.db.SAMLSettings(t.Context(), f.org))(t)
	if saml.Enabled {
		t.Error("SAML is on, too")
	}
	must.Get(f.oidc.TurnOff(t.Context(), f.admin))(t)
	if _, err := f.oidc.Begin(t.Context(), sso.Request{OrganizationID: f.org}); fault.CodeOf(err) != sso.CodeDisabled {
		t.Errorf("begun although it is off: %v", err)
	}
	if got := value[string](f, `
		SELECT string_agg(action, ',' ORDER BY at, id) FROM audit_events WHERE action LIKE 'oidc.%'`); got !=
		"oidc.edit,oidc.on,oidc.off" {
		t.Errorf("the audit log has %s", got)
	}
	actor := f.admin
	actor.Role = identity.RoleOrganizationAdmin
	if _, err := f.oidc.TurnOn(t.Context(), actor); fault.CodeOf(err) != fault.Forbidden {
		t.Errorf("by an administrator: %v", err)
	}
}
