package oidc_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oidc"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oidc/oidctest"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
)

func TestMemberSignsInAndKeepsTheirAccount(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.change(oidc.Change{Prompt: new("login"), ACRValues: []string{"phr", "mfa"}, MaxAge: new(300)})
	f.idp.Token = oidctest.Claims{"acr": "mfa", "auth_time": time.Now().Unix()}
	start := f.begin()
	u, err := url.Parse(start.URL)
	must(t, err)
	q := u.Query()
	for name, want := range map[string]string{
		"response_type": "code", "client_id": oidctest.ClientID, "redirect_uri": publicURL + "/v1/oidc/callback",
		"scope": "openid email profile", "code_challenge_method": "S256", "prompt": "login", "acr_values": "phr mfa",
		"max_age": "300",
	} {
		if q.Get(name) != want {
			t.Errorf("%s is %q", name, q.Get(name))
		}
	}
	if q.Get("nonce") == "" || q.Get("code_challenge") == "" || strings.Contains(start.URL, start.Browser) {
		t.Errorf("the request is %s", start.URL)
	}
	outcome, err := f.answer(start.Browser, f.idp.Authorize(t, start.URL, "alice"))
	must(t, err)
	session, err := f.sso.Exchange(t.Context(), f.org, outcome.Code, start.Browser)
	must(t, err)
	if session.Next != "/home" || session.ClientID != clientID {
		t.Errorf("got %+v", session)
	}
	linked := value[string](f, `
		SELECT concat_ws(' ', i.protocol, i.entity_id = $1, i.name_id, u.email)
		FROM federated_identities i JOIN users u ON u.id = i.user_id`, f.idp.URL)
	if linked != "oidc t alice alice@corp.example" {
		t.Errorf("linked %q", linked)
	}
	// Another address does not change who the person is.
	f.idp.Token["email"] = "renamed@corp.example"
	_, err = f.signIn("alice")
	must(t, err)
	if n := value[int](f, `SELECT count(*) FROM users`); n != 2 {
		t.Errorf("%d members", n)
	}
	f.idp.Token["email"] = "alice@corp.example"
	if _, err := f.signIn("mallory"); fault.CodeOf(err) != sso.CodeLinked {
		t.Errorf("another person with the address of a linked member: %v", err)
	}
}

// TestAdministratorConfirmsTheLink: the rules of docs/adr/0014 apply as for SAML.
func TestAdministratorConfirmsTheLink(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.change(oidc.Change{GroupsClaim: new("groups")})
	f.idp.Token = oidctest.Claims{"groups": []string{"情報システム部"}}
	start := f.begin()
	outcome, err := f.answer(start.Browser, f.idp.Authorize(t, start.URL, "admin"))
	must(t, err)
	if outcome.Link == "" || outcome.Code != "" {
		t.Fatalf("got %+v", outcome)
	}
	who := f.admin
	who.AuthType, who.AuthTime = identity.AuthCognito, time.Now().Add(time.Second)
	code, err := f.sso.Link(t.Context(), who, f.org, outcome.Link, start.Browser, sso.Origin{})
	must(t, err)
	_, err = f.sso.Exchange(t.Context(), f.org, code, start.Browser)
	must(t, err)
	if got := f.groups("admin@corp.example"); got != "情報システム部" {
		t.Errorf("the groups are %q", got)
	}
	if role := value[string](f, `SELECT role FROM users WHERE email = 'admin@corp.example'`); role !=
		"organization-super-admin" {
		t.Errorf("the role is %s", role)
	}
}

// TestAttacks: every response is refused with the code, and no member or session is added.
func TestAttacks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key := f.idp.Key()
	public, err := x509.MarshalPKIXPublicKey(key.Public().Key)
	must(t, err)
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	other := oidctest.New(t)
	none := func(payload []byte) string {
		encode := func(b []byte) string { return strings.TrimRight(jsonBase64(b), "=") }
		return encode([]byte(`{"alg":"none"}`)) + "." + encode(payload) + "."
	}
	past := time.Now().Add(-time.Hour).Unix()
	for _, c := range []struct {
		name     string
		token    oidctest.Claims
		sign     func([]byte) string
		callback func(q url.Values)
		code     fault.Code
	}{
		{name: "nonce of another sign-in", token: oidctest.Claims{"nonce": "other"}},
		{name: "no nonce", token: oidctest.Claims{"nonce": nil}},
		{name: "wrong issuer", token: oidctest.Claims{"iss": other.URL}},
		{name: "wrong audience", token: oidctest.Claims{"aud": "another"}},
		{name: "another authorized party", token: oidctest.Claims{"aud": []string{"tsumugi", "another"}, "azp": "another"}},
		{name: "two audiences without a party", token: oidctest.Claims{"aud": []string{"tsumugi", "another"}}},
		{name: "expired", token: oidctest.Claims{"exp": past}},
		{name: "no sub", token: oidctest.Claims{"sub": nil}},
		{name: "alg none", sign: none},
		{name: "HS256 with the public key", sign: func(payload []byte) string {
			return oidctest.SignWith(t, jose.HS256, publicPEM, payload)
		}},
		{name: "HS256 with the client secret", sign: func(payload []byte) string {
			return oidctest.SignWith(t, jose.HS256, []byte(strings.Repeat(oidctest.ClientSecret, 6)), payload)
		}},
		{name: "key of another provider", sign: func(payload []byte) string {
			return oidctest.SignWith(t, jose.RS256, other.Key(), payload)
		}},
		{name: "key of another provider under a known id", sign: func(payload []byte) string {
			key := other.Key()
			key.KeyID = f.idp.Key().KeyID
			return oidctest.SignWith(t, jose.RS256, key, payload)
		}},
		{name: "token over 64 KiB", token: oidctest.Claims{"more": strings.Repeat("x", 64<<10)}},
		{name: "mix-up", callback: func(q url.Values) { q.Set("iss", other.URL) }},
		{name: "unknown code", callback: func(q url.Values) { q.Set("code", "x") }},
		{name: "access denied", callback: func(q url.Values) { q.Set("error", "access_denied") }, code: sso.CodeDenied},
		{name: "another browser's state", callback: func(q url.Values) {
			q.Set("state", f.org.String()+"."+"x")
		}, code: sso.CodeState},
		{name: "state of another organization", callback: func(q url.Values) {
			_, value, _ := strings.Cut(q.Get("state"), ".")
			q.Set("state", uuid.NewString()+"."+value)
		}, code: sso.CodeState},
		{name: "no address", token: oidctest.Claims{"email": nil}, code: sso.CodeAddress},
		{name: "unverified address", token: oidctest.Claims{"email_verified": false}, code: sso.CodeAddress},
		{name: "unverified address as text", token: oidctest.Claims{"email_verified": "false"}, code: sso.CodeAddress},
		{name: "other domain", token: oidctest.Claims{"email": "new@evil.example"}, code: sso.CodeAddress},
	} {
		f.idp.Token, f.idp.Sign = c.token, c.sign
		start := f.begin()
		q := f.idp.Authorize(t, start.URL, "new")
		if c.callback != nil {
			c.callback(q)
		}
		want := c.code
		if want == "" {
			want = sso.CodeResponse
		}
		if _, err := f.answer(start.Browser, q); fault.CodeOf(err) != want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if n := value[int](f, `SELECT count(*) FROM users`) + value[int](f, `SELECT count(*) FROM saml_codes`); n != 2 {
		t.Errorf("%d members and codes", n)
	}
}

func jsonBase64(b []byte) string {
	text, _ := json.Marshal(b) //nolint:errchkjson // Never fails for bytes.
	return strings.NewReplacer("+", "-", "/", "_").Replace(strings.Trim(string(text), `"`))
}

func TestResponsesAreUsedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	start := f.begin()
	q := f.idp.Authorize(t, start.URL, "new")
	for _, browser := range []string{"", f.begin().Browser} {
		if _, err := f.answer(browser, q); fault.CodeOf(err) != sso.CodeState {
			t.Errorf("in another browser: %v", err)
		}
	}
	outcome, err := f.answer(start.Browser, q)
	must(t, err)
	if _, err := f.answer(start.Browser, q); fault.CodeOf(err) != sso.CodeState {
		t.Errorf("the response again: %v", err)
	}
	_, err = f.sso.Exchange(t.Context(), f.org, outcome.Code, start.Browser)
	must(t, err)
	// A code in a response to another sign-in: the code verifier differs.
	first, second := f.begin(), f.begin()
	stolen := f.idp.Authorize(t, first.URL, "victim")
	injected := f.idp.Authorize(t, second.URL, "attacker")
	injected.Set("code", stolen.Get("code"))
	if _, err := f.answer(second.Browser, injected); fault.CodeOf(err) != sso.CodeResponse {
		t.Errorf("an injected code: %v", err)
	}
	late := f.begin()
	q = f.idp.Authorize(t, late.URL, "new")
	f.clock.pass(sso.StateLifetime)
	if _, err := f.answer(late.Browser, q); fault.CodeOf(err) != sso.CodeState {
		t.Errorf("after ten minutes: %v", err)
	}
}

// TestRotatedKeys: a new key is accepted at once, and an old one no longer.
func TestRotatedKeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.signIn("new")
	must(t, err)
	old := f.idp.Rotate(t)
	_, err = f.signIn("new")
	must(t, err)
	f.idp.Sign = func(payload []byte) string { return oidctest.SignWith(t, jose.RS256, old, payload) }
	if _, err := f.signIn("new"); fault.CodeOf(err) != sso.CodeResponse {
		t.Errorf("a withdrawn key: %v", err)
	}
}

func TestAuthenticationMustBeStrongAndRecentEnough(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.change(oidc.Change{ACRValues: []string{"mfa"}, MaxAge: new(60)})
	now := time.Now().Unix()
	for name, token := range map[string]oidctest.Claims{
		"no acr":       {"auth_time": now},
		"weaker":       {"acr": "pwd", "auth_time": now},
		"no auth_time": {"acr": "mfa"},
		"old":          {"acr": "mfa", "auth_time": now - 600},
	} {
		f.idp.Token = token
		if _, err := f.signIn("new"); fault.CodeOf(err) != sso.CodeResponse {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.idp.Token = oidctest.Claims{"acr": "mfa", "auth_time": now}
	_, err := f.signIn("new")
	must(t, err)
}

func TestClaimsOfUserInfo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.change(oidc.Change{GroupsClaim: new("groups")})
	f.idp.Token = oidctest.Claims{"email": nil, "name": nil, "email_verified": nil}
	f.idp.UserInfo = oidctest.Claims{
		"sub": "other", "email": "info@corp.example", "name": "情報 太郎", "groups": "総務部",
	}
	if _, err := f.signIn("new"); fault.CodeOf(err) != sso.CodeResponse {
		t.Errorf("UserInfo of another person: %v", err)
	}
	f.idp.UserInfo["sub"] = "new"
	_, err := f.signIn("new")
	must(t, err)
	if name := value[string](f, `SELECT name FROM users WHERE email = 'info@corp.example'`); name != "情報 太郎" {
		t.Errorf("the name is %q", name)
	}
	if got := f.groups("info@corp.example"); got != "総務部" {
		t.Errorf("the groups are %q", got)
	}
	f.idp.UserInfo["email_verified"] = false
	if _, err := f.signIn("new"); fault.CodeOf(err) != sso.CodeAddress {
		t.Errorf("an unverified address: %v", err)
	}
}

// TestGroupsAreSetAtSignIn: only groups of the provider change. An administrator may rename them.
func TestGroupsAreSetAtSignIn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.change(oidc.Change{GroupsClaim: new("groups")})
	_, err := f.sql.Exec(t.Context(), `
		INSERT INTO member_groups (id, organization_id, name, request_id, request_hash)
		VALUES ($1, $2, '営業部', $1, '')`, uuid.New(), f.org)
	must(t, err)
	_, err = f.sql.Exec(t.Context(), `
		INSERT INTO group_members SELECT organization_id, id, $1 FROM member_groups`, f.alice.ID)
	must(t, err)
	set := func(claim any) string {
		t.Helper()
		f.idp.Token = oidctest.Claims{"groups": claim}
		_, err := f.signIn("alice")
		must(t, err)
		return f.groups("alice@corp.example")
	}
	// The name of the administrators' group is taken.
	if got := set([]string{"営業部", "経理部", "organization-super-admin", "", "経理部"}); got !=
		"organization-super-admin,営業部,営業部（2）,経理部" {
		t.Errorf("the groups are %q", got)
	}
	_, err = f.sql.Exec(t.Context(), `UPDATE member_groups SET name = '会計' WHERE external_id = '経理部'`)
	must(t, err)
	if got := set([]string{"経理部"}); got != "会計,営業部" {
		t.Errorf("after leaving two groups, the groups are %q", got)
	}
	// A project that the group has managed gets another manager when the group's only member leaves it.
	project := uuid.New()
	_, err = f.sql.Exec(t.Context(), `
		INSERT INTO projects (id, organization_id, name, request_id, request_hash) VALUES ($1, $2, '決算', $1, '')`,
		project, f.org)
	must(t, err)
	_, err = f.sql.Exec(t.Context(), `
		INSERT INTO project_grants (organization_id, project_id, group_id, role)
		SELECT $1, $2, id, 'manager' FROM member_groups WHERE external_id = '経理部'`, f.org, project)
	must(t, err)
	if got := set(nil); got != "営業部" {
		t.Errorf("without the claim, the groups are %q", got)
	}
	if n := value[int64](f, `
		SELECT count(*) FROM users u, projects p WHERE project_role(u.organization_id, u.id, p.id) = 'manager'`); n != 1 {
		t.Errorf("the project has %d managers", n)
	}
	// Entra ID refers to the groups if there are too many: they stay unchanged.
	set([]string{"経理部"})
	f.idp.Token = oidctest.Claims{
		"_claim_names":   oidctest.Claims{"groups": "src1"},
		"_claim_sources": oidctest.Claims{"src1": oidctest.Claims{"endpoint": "https://graph.example"}},
	}
	_, err = f.signIn("alice")
	must(t, err)
	if got := f.groups("alice@corp.example"); got != "会計,営業部" {
		t.Errorf("with a reference, the groups are %q", got)
	}
	if role := value[string](f, `SELECT role FROM users WHERE email = 'alice@corp.example'`); role != "general-user" {
		t.Errorf("the role is %s", role)
	}
	// At the limit, no group is added.
	_, err = f.sql.Exec(t.Context(), `
		INSERT INTO member_groups (id, organization_id, name, request_id, request_hash)
		SELECT gen_random_uuid(), $1, 'g' || n, gen_random_uuid(), '' FROM generate_series(1, 496) n`, f.org)
	must(t, err)
	if got := set([]string{"最後", "超過", "経理部"}); got != "会計,営業部" {
		t.Errorf("at the limit, the groups are %q", got)
	}
}

func TestBackChannelLogout(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sessions := make(map[string]sso.Session)
	for device, sid := range map[string]string{"pc": "s1", "phone": "s2"} {
		f.idp.Token = oidctest.Claims{"sid": sid}
		session, err := f.signIn("alice")
		must(t, err)
		sessions[device] = session
	}
	f.idp.Token = nil
	other, err := f.signIn("bob")
	must(t, err)
	alive := func(s sso.Session) bool {
		_, err := f.sso.Refresh(t.Context(), clientID, s.RefreshToken)
		return err == nil
	}
	logout := func(token string) error { return f.oidc.Logout(t.Context(), f.org, token) }
	for name, change := range map[string]oidctest.Claims{
		"nobody":       {},
		"an id token":  {"sub": "alice", "nonce": "x"},
		"no event":     {"sub": "alice", "events": nil},
		"no jti":       {"sub": "alice", "jti": nil},
		"no exp":       {"sub": "alice", "exp": nil},
		"no iat":       {"sub": "alice", "iat": nil},
		"expired":      {"sub": "alice", "exp": time.Now().Add(-time.Minute).Unix()},
		"from later":   {"sub": "alice", "iat": time.Now().Add(time.Hour).Unix()},
		"other client": {"sub": "alice", "aud": "another"},
		"other issuer": {"sub": "alice", "iss": "https://other.example"},
		"over 64 KiB":  {"sub": "alice", "more": strings.Repeat("x", 64<<10)},
		"empty names":  {"sub": "", "sid": ""},
	} {
		if err := logout(f.idp.LogoutToken(t, change)); fault.CodeOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := logout("x"); fault.CodeOf(err) != fault.Invalid {
		t.Errorf("no token: %v", err)
	}
	f.idp.Sign = func(payload []byte) string { return oidctest.SignWith(t, jose.RS256, oidctest.New(t).Key(), payload) }
	if err := logout(f.idp.LogoutToken(t, oidctest.Claims{"sub": "alice"})); fault.CodeOf(err) != fault.Invalid {
		t.Errorf("signed by another provider: %v", err)
	}
	f.idp.Sign = nil
	if !alive(sessions["pc"]) || !alive(sessions["phone"]) {
		t.Fatal("a refused token has ended a session")
	}
	// A code that was not exchanged yet.
	f.idp.Token = oidctest.Claims{"sid": "s1"}
	start := f.begin()
	outcome, err := f.answer(start.Browser, f.idp.Authorize(t, start.URL, "alice"))
	must(t, err)
	must(t, logout(f.idp.LogoutToken(t, oidctest.Claims{"sid": "s1", "sub": "alice"})))
	if alive(sessions["pc"]) || !alive(sessions["phone"]) || !alive(other) {
		t.Error("a logout of one session ended others, or not that one")
	}
	if _, err := f.sso.Exchange(t.Context(), f.org, outcome.Code, start.Browser); fault.CodeOf(err) != sso.CodeState {
		t.Errorf("a code of the ended session: %v", err)
	}
	all := f.idp.LogoutToken(t, oidctest.Claims{"sub": "alice"})
	must(t, logout(all))
	if alive(sessions["phone"]) || !alive(other) {
		t.Error("a logout of a person ended the sessions of others, or not theirs")
	}
	f.idp.Token = nil
	again, err := f.signIn("alice")
	must(t, err)
	if err := logout(all); fault.CodeOf(err) != fault.Invalid || !alive(again) {
		t.Errorf("the logout token again: %v", err)
	}
}

// TestSettingsThatAreRefused: each is refused with the reason, and nothing changes.
func TestSettingsThatAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	before, err := f.db.OIDCSettings(t.Context(), f.org)
	must(t, err)
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
	after, err := f.db.OIDCSettings(t.Context(), f.org)
	must(t, err)
	if a, b := asText(t, before), asText(t, after); a != b {
		t.Errorf("changed from %s to %s", a, b)
	}
}

func asText(t *testing.T, settings oidc.Settings) string {
	t.Helper()
	text, err := json.Marshal(settings)
	must(t, err)
	return string(text)
}

// TestInternalAddressesAreCheckedWhenConnecting uses the real transport: a name that resolves to this machine is refused
// unless it is listed.
func TestInternalAddressesAreCheckedWhenConnecting(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	strict := oidc.New(oidc.Config{}, f.db, f.sso)
	if _, err := strict.Begin(t.Context(), f.org, "", ""); fault.CodeOf(err) != sso.CodeResponse {
		t.Errorf("an address that is not listed: %v", err)
	}
	listed := oidc.New(oidc.Config{Hosts: []string{"127.0.0.1"}}, f.db, f.sso)
	_, err := listed.Begin(t.Context(), f.org, "", "")
	must(t, err)
	f.idp.CloseClientConnections()
}

func TestSecretsAreSealedAndNotShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	kept := value[string](f, `SELECT client_secret FROM oidc_configs`)
	if kept == "" || strings.Contains(kept, oidctest.ClientSecret) {
		t.Errorf("stored %q", kept)
	}
	view, err := f.oidc.View(t.Context(), f.admin)
	must(t, err)
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
		checks, err := f.oidc.Test(t.Context(), f.admin)
		must(t, err)
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

// TestProviderIsAway: sign-in says so in time, and sessions go on.
func TestProviderIsAway(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	session, err := f.signIn("alice")
	must(t, err)
	start := f.begin()
	q := f.idp.Authorize(t, start.URL, "alice")
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(silent.Close)
	hanging := oidc.New(oidc.Config{Hosts: []string{"127.0.0.1"}, Transport: redirected{silent}}, f.db, f.sso)
	within, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := hanging.Begin(within, f.org, "", ""); fault.CodeOf(err) != sso.CodeUnavailable || within.Err() != nil {
		t.Errorf("a provider that does not respond: %v, %v", err, within.Err())
	}
	f.idp.Close()
	if _, err := f.oidc.Begin(t.Context(), f.org, "", ""); fault.CodeOf(err) != sso.CodeUnavailable {
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

// RoundTrip implements http.RoundTripper.
func (r redirected) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.URL.Host = r.to.Listener.Addr().String()
	return r.to.Client().Transport.RoundTrip(request)
}

func TestProtocolsReplaceEachOther(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	provider, err := f.sso.Provider(t.Context(), f.org)
	must(t, err)
	if provider != (sso.Provider{Protocol: sso.OIDC, ID: f.idp.URL}) {
		t.Errorf("got %+v", provider)
	}
	saml, err := f.db.SAMLSettings(t.Context(), f.org)
	must(t, err)
	if saml.Enabled {
		t.Error("SAML is on, too")
	}
	_, err = f.oidc.TurnOff(t.Context(), f.admin)
	must(t, err)
	if _, err := f.oidc.Begin(t.Context(), f.org, "", ""); fault.CodeOf(err) != sso.CodeDisabled {
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
