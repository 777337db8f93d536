package oidc_test

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
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
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestMemberSignsInAndKeepsTheirAccount(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	again := must.Get(f.oidc.Begin(t.Context(), sso.Request{OrganizationID: f.org, Reauthenticate: true}))(t)
	if plain := f.begin(); strings.Contains(plain.URL, "prompt=") || !strings.Contains(again.URL, "max_age=0") ||
		!strings.Contains(again.URL, "prompt=login") {
		t.Errorf("the requests are %s and %s", plain.URL, again.URL)
	}
	f.idp.Discovery = oidctest.Claims{"claims_parameter_supported": true}
	named := must.Get(f.oidc.Begin(t.Context(), sso.Request{OrganizationID: f.org, Reauthenticate: true}))(t)
	const claims = "claims=%7B%22id_token%22%3A%7B%22auth_time%22%3A%7B%22essential%22%3Atrue%7D%7D%7D"
	if plain := f.begin(); strings.Contains(again.URL+plain.URL, "claims=") || !strings.Contains(named.URL, claims) {
		t.Errorf("with and without support of claims, the requests are %s and %s", named.URL, again.URL)
	}
	f.change(oidc.Change{Prompt: new("login"), ACRValues: []string{"phr", "mfa"}, MaxAge: new(300)})
	authenticated := time.Now().Add(-4 * time.Minute).Unix()
	f.idp.Token = oidctest.Claims{"acr": "mfa", "auth_time": authenticated}
	start := f.begin()
	u := must.Get(url.Parse(start.URL))(t)
	q := u.Query()
	for name, want := range map[string]string{
		"response_type": "code", "client_id": oidctest.ClientID, "redirect_uri": publicURL + "/v1/oidc/" + f.org.String() + "/callback",
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
	outcome := must.Get(f.answer(start.Browser, f.idp.Authorize(t, start.URL, "alice")))(t)
	session := must.Get(f.sso.Exchange(t.Context(), f.org, outcome.Code, start.Browser))(t)
	if session.Next != "/home" || session.ClientID != clientID {
		t.Errorf("got %+v", session)
	}
	if at := value[time.Time](f, `SELECT authenticated_at FROM pool_grants`); at.Unix() != authenticated {
		t.Errorf("authenticated at %s", at)
	}
	linked := value[string](f, `
		SELECT concat_ws(' ', i.protocol, i.entity_id = $1, i.name_id, u.email)
		FROM federated_identities i JOIN users u ON u.id = i.user_id`, f.idp.URL)
	if linked != "oidc t alice alice@corp.example" {
		t.Errorf("linked %q", linked)
	}
	// Another address does not change who the person is.
	f.idp.Token["email"] = "renamed@corp.example"
	must.Get(f.signIn("alice"))(t)
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
	outcome := must.Get(f.answer(start.Browser, f.idp.Authorize(t, start.URL, "admin")))(t)
	if outcome.Link == "" || outcome.Code != "" {
		t.Fatalf("got %+v", outcome)
	}
	who := f.admin
	who.AuthType, who.AuthTime = identity.AuthCognito, time.Now().Add(time.Second)
	code := must.Get(f.sso.Link(t.Context(), who, f.org, outcome.Link, start.Browser, sso.Origin{}))(t)
	must.Get(f.sso.Exchange(t.Context(), f.org, code, start.Browser))(t)
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
	public := must.Get(x509.MarshalPKIXPublicKey(key.Public().Key))(t)
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
		{name: "another sub under a similar name", token: oidctest.Claims{"ſub": "other"}},
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
		{name: "another browser's state", callback: func(q url.Values) { q.Set("state", "x") }, code: sso.CodeState},
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
	outcome := must.Get(f.answer(start.Browser, q))(t)
	if _, err := f.answer(start.Browser, q); fault.CodeOf(err) != sso.CodeState {
		t.Errorf("the response again: %v", err)
	}
	must.Get(f.sso.Exchange(t.Context(), f.org, outcome.Code, start.Browser))(t)
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
	must.Get(f.signIn("new"))(t)
	old := f.idp.Rotate(t)
	must.Get(f.signIn("new"))(t)
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
	must.Get(f.signIn("new"))(t)
}

// TestReauthenticationMustBeRecent: a reauthentication is refused if auth_time is missing or before the sign-in began. An
// ordinary sign-in without auth_time does not count as recent.
func TestReauthenticationMustBeRecent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	confirm := func(token oidctest.Claims) (sso.Session, error) {
		t.Helper()
		f.idp.Token = token
		start := must.Get(f.oidc.Begin(t.Context(), sso.Request{OrganizationID: f.org, Reauthenticate: true}))(t)
		outcome, err := f.answer(start.Browser, f.idp.Authorize(t, start.URL, "alice"))
		if err != nil {
			return sso.Session{}, err
		}
		return f.sso.Exchange(t.Context(), f.org, outcome.Code, start.Browser)
	}
	now := time.Now()
	for name, token := range map[string]oidctest.Claims{
		"no auth_time":         {},
		"invalid auth_time":    {"auth_time": "today"},
		"an earlier sign-in":   {"auth_time": now.Add(-4 * time.Minute).Unix()},
		"an ancient auth_time": {"auth_time": 1},
	} {
		if _, err := confirm(token); fault.CodeOf(err) != sso.CodeNotConfirmed ||
			!strings.Contains(fault.DetailOf(err), "本人確認") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := confirm(oidctest.Claims{"auth_time": now.Add(-time.Minute).Unix()}) // By a clock that is slow.
	must.Succeed(t, err)
	must.Get(confirm(oidctest.Claims{"auth_time": now.Add(time.Minute).Unix()}))(t)

	f.idp.Token = nil
	must.Get(f.signIn("bob"))(t)
	if at := value[time.Time](f, `
		SELECT g.authenticated_at FROM pool_grants g WHERE g.provider_person = 'bob'`); now.Sub(at) < time.Hour {
		t.Errorf("without auth_time, authenticated at %s", at)
	}
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
	must.Get(f.signIn("new"))(t)
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
	must.Get(f.sql.Exec(t.Context(), `
		INSERT INTO member_groups (id, organization_id, name, request_id, request_hash)
		VALUES ($1, $2, '営業部', $1, '')`, uuid.New(), f.org))(t)
	must.Get(f.sql.Exec(t.Context(), `
		INSERT INTO group_members SELECT organization_id, id, $1 FROM member_groups`, f.alice.ID))(t)
	set := func(claim any) string {
		t.Helper()
		f.idp.Token = oidctest.Claims{"groups": claim}
		must.Get(f.signIn("alice"))(t)
		return f.groups("alice@corp.example")
	}
	// The name of the administrators' group is taken.
	if got := set([]string{"営業部", "経理部", "organization-super-admin", "", "経理部"}); got !=
		"organization-super-admin,営業部,営業部（2）,経理部" {
		t.Errorf("the groups are %q", got)
	}
	must.Get(f.sql.Exec(t.Context(), `UPDATE member_groups SET name = '会計' WHERE external_id = '経理部'`))(t)
	if got := set([]string{"経理部"}); got != "会計,営業部" {
		t.Errorf("after leaving two groups, the groups are %q", got)
	}
	// A project that the group has managed gets another manager when the group's only member leaves it.
	project := uuid.New()
	must.Get(f.sql.Exec(t.Context(), `
		INSERT INTO projects (id, organization_id, name, request_id, request_hash) VALUES ($1, $2, '決算', $1, '')`,
		project, f.org))(t)
	must.Get(f.sql.Exec(t.Context(), `
		INSERT INTO project_grants (organization_id, project_id, group_id, role)
		SELECT $1, $2, id, 'manager' FROM member_groups WHERE external_id = '経理部'`, f.org, project))(t)
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
	must.Get(f.signIn("alice"))(t)
	if got := f.groups("alice@corp.example"); got != "会計,営業部" {
		t.Errorf("with a reference, the groups are %q", got)
	}
	if role := value[string](f, `SELECT role FROM users WHERE email = 'alice@corp.example'`); role != "general-user" {
		t.Errorf("the role is %s", role)
	}
	// At the limit, no group is added.
	must.Get(f.sql.Exec(t.Context(), `
		INSERT INTO member_groups (id, organization_id, name, request_id, request_hash)
		SELECT gen_random_uuid(), $1, 'g' || n, gen_random_uuid(), '' FROM generate_series(1, 496) n`, f.org))(t)
	if got := set([]string{"最後", "超過", "経理部"}); got != "会計,営業部" {
		t.Errorf("at the limit, the groups are %q", got)
	}
}
