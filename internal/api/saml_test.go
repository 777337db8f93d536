package api_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestSingleSignOnFromTheFirstPageToTheLast(t *testing.T) {
	t.Parallel()
	f := newSSO(t)
	password := f.signIn(f.alice)
	f.configure()
	kind := get[api.AuthType](f.fixture, http.StatusOK, call{
		method: "POST", path: "/v1/auth-type",
		body: map[string]any{"email": "dora@tsumugi.example"},
	})
	if kind.AuthType != api.FederatedIdp || kind.OrganizationID != f.alice.OrganizationID {
		t.Fatalf("got %+v", kind)
	}
	if resp := f.do(call{
		method: "GET", path: "/v1/me", token: password.IDToken,
	}); resp.status != http.StatusUnauthorized || resp.problem(t).Code != "sso_required" {
		t.Errorf("a session with a password: %d %s", resp.status, resp.body)
	}
	b := &browser{f: f}
	record := tokens(t, b.signIn("dora", "/home/thread?id=1"))
	if record.AuthType != api.FederatedIdp || record.ClientID != ssoClient || record.Next != "/home/thread?id=1" ||
		record.ExpiresIn != 3600 || record.RefreshToken == "" {
		t.Errorf("got %+v", record)
	}
	me := get[api.Me](f.fixture, http.StatusOK, call{method: "GET", path: "/v1/me", token: record.IDToken})
	if me.Email != "dora@tsumugi.example" || me.Name != "堂本 ドラ" || me.Role != "general-user" ||
		me.AuthType != api.FederatedIdp {
		t.Errorf("got %+v", me)
	}
	refresh := call{
		method: "POST", path: "/v1/refresh_token",
		body: map[string]any{"client_id": record.ClientID, "refresh_token": record.RefreshToken},
	}
	renewed := get[api.RefreshedTokens](f.fixture, http.StatusOK, refresh)
	get[api.Me](f.fixture, http.StatusOK, call{method: "GET", path: "/v1/me", token: renewed.IDToken})

	get[api.SignOut](f.fixture, http.StatusOK, call{method: "POST", path: "/v1/signout", token: renewed.IDToken})
	if resp := f.do(refresh); resp.status != http.StatusUnauthorized {
		t.Errorf("renewed after signing out: %d %s", resp.status, resp.body)
	}
	for _, token := range []string{record.IDToken, renewed.IDToken} {
		if resp := f.do(call{method: "GET", path: "/v1/me", token: token}); resp.status != http.StatusUnauthorized ||
			resp.problem(t).Detail != "jwt expired" {
			t.Errorf("after signing out: %d %s", resp.status, resp.body)
		}
	}
	// A person with a password keeps their account and its content.
	record = tokens(t, b.signIn("alice", ""))
	if me := get[api.Me](f.fixture, http.StatusOK, call{
		method: "GET", path: "/v1/me",
		token: record.IDToken,
	}); me.ID != f.alice.ID || record.Next != "" {
		t.Errorf("got %+v", me)
	}
	audit := get[api.AuditEventList](f.fixture, http.StatusOK,
		call{method: "GET", path: "/v1/audit?limit=100", token: f.admin.Subject})
	told := make(map[string]int)
	for _, event := range audit.Items {
		told[event.Action]++
	}
	if told["saml.edit"] != 1 || told["saml.on"] != 1 || told["member.provision"] != 1 || told["member.link"] != 1 {
		t.Errorf("the audit log tells of %v", told)
	}
}

func TestSingleSignOnCookieIsForThisHostOnly(t *testing.T) {
	t.Parallel()
	f := newSSO(t)
	f.configure()
	b := &browser{f: f}
	first := b.authorize("").header.Get("Set-Cookie")
	for _, part := range []string{"__Host-tsumugi_sso=", "Path=/;", "HttpOnly", "Secure", "SameSite=None", "Max-Age="} {
		if !strings.Contains(first, part) {
			t.Errorf("%s lacks %s", first, part)
		}
	}
	if strings.Contains(first, "Domain") {
		t.Errorf("%s goes to other servers", first)
	}
	if second := b.authorize("").header.Get("Set-Cookie"); second != first {
		t.Errorf("a second tab changes the cookie: %s, %s", first, second)
	}
	b.cookie = "__Host-tsumugi_sso=chosen-by-somebody"
	b.authorize("")
	if strings.Contains(b.cookie, "chosen") {
		t.Errorf("kept %s", b.cookie)
	}
	// Servers of the same domain can set cookies of any name for this host, except for names that begin with __Host-.
	_, secret, _ := strings.Cut(first, "=")
	secret, _, _ = strings.Cut(secret, ";")
	b.cookie = "tsumugi_sso=" + secret
	b.authorize("")
	if strings.Contains(b.cookie, secret) {
		t.Errorf("kept what a server of the same domain has set: %s", b.cookie)
	}
}

func TestR56_RedirectsStayOnThisServer(t *testing.T) {
	t.Parallel()
	f := newSSO(t)
	f.configure()
	b := &browser{f: f}
	for _, next := range []string{
		"//evil.example", `/\evil.example`, "https://evil.example/", "/a\r\nSet-Cookie: a=b",
		"/\t/evil.example", "/home/..//evil.example", "/.//evil.example", "/%2e%2e//evil.example",
		"/home/%2F/evil.example",
	} {
		if record := tokens(t, b.signIn("dora", next)); record.Next != "" {
			t.Errorf("%q: %q", next, record.Next)
		}
	}
	for _, relayState := range []string{"//evil.example", "https://evil.example/", "/home\r\nSet-Cookie: a=b", ""} {
		begun := b.authorize("")
		posted := f.respond(begun.header.Get("Location"), "dora")
		posted.fields.Set("RelayState", relayState)
		path, query := landed(t, b.post(posted.path, posted.fields))
		if path != "/oauth2/callback" || query.Get("error") != "sso_state_invalid" || query.Get("code") != "" {
			t.Errorf("%q: %s %v", relayState, path, query)
		}
	}
}

func TestR57_ResponsesAndCodesBelongToOneBrowser(t *testing.T) {
	t.Parallel()
	f := newSSO(t)
	f.configure()
	mine, theirs := &browser{f: f}, &browser{f: f}
	begun := mine.authorize("")
	theirs.authorize("")
	posted := f.respond(begun.header.Get("Location"), "dora")
	failed := func(name, code string, resp response) {
		t.Helper()
		path, query := landed(t, resp)
		if path != "/oauth2/callback" || query.Get("error") != code || query.Get("error_description") == "" ||
			query.Get("code") != "" {
			t.Errorf("%s: %s %v", name, path, query)
		}
	}
	failed("another browser", "sso_state_invalid", theirs.post(posted.path, posted.fields))
	failed("no cookie", "sso_state_invalid", (&browser{f: f}).post(posted.path, posted.fields))
	failed("another organization", "sso_state_invalid", mine.post("/v1/saml/"+f.stranger.OrganizationID.String()+"/acs",
		posted.fields))
	failed("begun by the provider", "sso_state_invalid", mine.post(posted.path,
		url.Values{"SAMLResponse": posted.fields["SAMLResponse"]}))
	_, query := landed(t, mine.post(posted.path, posted.fields))
	failed("again", "sso_state_invalid", mine.post(posted.path, posted.fields))
	fresh := mine.authorize("")
	fields := f.respond(fresh.header.Get("Location"), "dora").fields
	fields.Set("SAMLResponse", posted.fields.Get("SAMLResponse"))
	failed("replayed into another sign-in", "sso_response_invalid", mine.post(posted.path, fields))

	exchange := "/v1/oauth2/callback?" + query.Encode()
	for name, b := range map[string]*browser{"another browser": theirs, "no cookie": {f: f}} {
		if resp := b.get(exchange); resp.status != http.StatusBadRequest ||
			resp.problem(t).Code != "sso_state_invalid" {
			t.Errorf("%s: %d %s", name, resp.status, resp.body)
		}
	}
	denied := exchange + "&error=access_denied&error_description=" + url.QueryEscape("お電話ください")
	if resp := mine.get(denied); resp.status != http.StatusForbidden || resp.problem(t).Code != "sso_denied" ||
		bytes.Contains(resp.body, []byte("お電話")) {
		t.Errorf("with an error: %d %s", resp.status, resp.body)
	}
	if resp := mine.get(exchange + "&error=" + strings.Repeat("x", 129)); resp.status != http.StatusBadRequest ||
		resp.problem(t).Errors[0].Field != "error" {
		t.Errorf("a long error: %d %s", resp.status, resp.body)
	}
	tokens(t, mine.get(exchange)) // The refused exchange has not used up the code.
	if resp := mine.get(exchange); resp.status != http.StatusBadRequest {
		t.Errorf("a code twice: %d %s", resp.status, resp.body)
	}
}

func TestSingleSignOnWithInvalidSettings(t *testing.T) {
	t.Parallel()
	f := newSSO(t)
	b := &browser{f: f}
	for _, organizationID := range []string{f.alice.OrganizationID.String(), newID()} {
		_, query := landed(t, b.get("/v1/oauth2/authorize?organization_id="+organizationID))
		if query.Get("error") != "sso_disabled" || query.Get("organization_id") != organizationID {
			t.Errorf("got %v", query)
		}
	}
	for _, path := range []string{
		"/v1/oauth2/authorize", "/v1/oauth2/authorize?organization_id=x",
		"/v1/oauth2/callback?organization_id=" + newID(),
		"/v1/oauth2/callback?code=x", "/v1/saml/x/metadata",
	} {
		if resp := b.get(path); resp.status != http.StatusBadRequest || len(resp.problem(t).Errors) == 0 {
			t.Errorf("%s: %d %s", path, resp.status, resp.body)
		}
	}
	if resp := b.get("/v1/saml/" + newID() + "/metadata"); resp.status != http.StatusNotFound {
		t.Errorf("nobody's metadata: %d", resp.status)
	}
	for _, body := range []map[string]any{
		{},
		{"client_id": "sso"},
		{"client_id": "sso", "refresh_token": "x", "more": 1},
	} {
		if resp := f.do(call{
			method: "POST", path: "/v1/refresh_token",
			body: body,
		}); resp.status != http.StatusBadRequest {
			t.Errorf("%v: %d", body, resp.status)
		}
	}
	if resp := f.do(call{
		method: "POST", path: "/v1/refresh_token",
		body: map[string]any{"client_id": "sso", "refresh_token": "x"},
	}); resp.status != http.StatusUnauthorized {
		t.Errorf("got %d", resp.status)
	}
}

func TestR54_R63_InvalidBodiesOfTheConsumer(t *testing.T) {
	t.Parallel()
	f := newSSO(t)
	f.configure()
	path := "/v1/saml/" + f.alice.OrganizationID.String() + "/acs"
	if resp := f.do(call{
		method: "POST", path: path, body: map[string]any{"SAMLResponse": "x"},
	}); resp.status != http.StatusUnsupportedMediaType {
		t.Errorf("JSON: %d", resp.status)
	}
	if resp := f.do(call{
		method: "POST", path: path, body: strings.Repeat("a", 600<<10),
		header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"},
	}); resp.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large form: %d", resp.status)
	}
	b := &browser{f: f}
	for name, text := range map[string]string{
		"large": strings.Repeat(" ", 257<<10), "DOCTYPE": `<!DOCTYPE x><x/>`, "nested": strings.Repeat("<a>", 1000),
		"no XML": "x",
	} {
		begun := must.Get(url.Parse(b.authorize("").header.Get("Location")))(t)
		form := url.Values{
			"SAMLResponse": {base64.StdEncoding.EncodeToString([]byte(text))},
			"RelayState":   {begun.Query().Get("RelayState")},
		}
		if _, query := landed(t, b.post(path, form)); query.Get("error") != "sso_response_invalid" {
			t.Errorf("%s: %v", name, query)
		}
	}
}

func TestPeopleOfOtherDomainsAreRefused(t *testing.T) {
	t.Parallel()
	f := newSSO(t)
	f.configure()
	b := &browser{f: f}
	begun := b.authorize("")
	posted := f.respond(begun.header.Get("Location"), "eve")
	_, query := landed(t, b.post(posted.path, posted.fields))
	if query.Get("error") != "sso_address_invalid" || strings.Contains(query.Get("error_description"), "evil") {
		t.Errorf("got %v", query)
	}
	if lines := f.logs.with("single sign-on"); len(f.logs.with("eve@evil.example")) != 0 {
		t.Errorf("logged %v", lines)
	}
}

func TestTrialOfSingleSignOn(t *testing.T) {
	t.Parallel()
	f := newSSO(t)
	f.configure()
	b := &browser{f: f}
	resp := f.do(call{method: "POST", path: "/v1/saml-config/test", token: f.admin.Subject})
	b.keep(resp)
	var start api.SAMLTestStart
	if err := json.Unmarshal(resp.body, &start); err != nil || resp.status != http.StatusCreated {
		t.Fatalf("got %d %s", resp.status, resp.body)
	}
	look := call{method: "GET", path: "/v1/saml-config/test/" + start.ID.String(), token: f.admin.Subject}
	if test := get[api.SAMLTest](f.fixture, http.StatusOK, look); test.Status != "pending" {
		t.Errorf("got %+v", test)
	}
	posted := f.respond(start.URL, "eve")
	path, query := landed(t, b.post(posted.path, posted.fields))
	if path != "/admin/saml" || query.Get("test") != start.ID.String() || len(query) != 1 {
		t.Errorf("got %s %v", path, query)
	}
	test := get[api.SAMLTest](f.fixture, http.StatusOK, look)
	if test.Status != "failed" || !strings.Contains(test.Error, "ドメイン") || test.NameID != "eve" ||
		len(test.Attributes) == 0 {
		t.Errorf("got %+v", test)
	}
	f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", f.stranger.ID)
	look.token = f.stranger.Subject
	if resp := f.do(look); resp.status != http.StatusNotFound {
		t.Errorf("another organization's: %d", resp.status)
	}
}

func TestSingleSignOnIsForAdministrators(t *testing.T) {
	t.Parallel()
	f := newSSO(t)
	calls := []call{
		{method: "GET", path: "/v1/saml-config"},
		{method: "PUT", path: "/v1/saml-config", body: map[string]any{"name_attribute": "cn"}},
		{method: "PUT", path: "/v1/saml-config/off"},
		{method: "PUT", path: "/v1/saml-config/on"},
		{method: "POST", path: "/v1/saml-config/test"},
		{method: "GET", path: "/v1/saml-config/test/" + newID()},
	}
	for role, want := range map[string][]int{
		"general-user": {403, 403, 403, 403, 403, 403}, "system-admin": {403, 403, 403, 403, 403, 403},
		"organization-admin":       {200, 403, 403, 403, 403, 403},
		"organization-super-admin": {200, 200, 200, 409, 409, 404},
	} {
		f.exec("UPDATE users SET role = $2 WHERE id = $1", f.bob.ID, role)
		for i, c := range calls {
			c.token = f.bob.Subject
			if resp := f.do(c); resp.status != want[i] {
				t.Errorf("%s, %s %s: %d %s", role, c.method, c.path, resp.status, resp.body)
			}
		}
	}
	for name, body := range map[string]string{
		"another organization": `{"organization_id":"` + newID() + `"}`, "enabled": `{"enabled":true}`,
		"the provider's part": `{"sp_entity_id":"x"}`,
	} {
		if resp := f.do(call{
			method: "PUT", path: "/v1/saml-config", token: f.admin.Subject,
			body: body,
		}); resp.status != http.StatusBadRequest {
			t.Errorf("%s: %d", name, resp.status)
		}
	}
	// A missing field keeps its value. An empty attribute is a value.
	get[api.SAMLConfig](f.fixture, http.StatusOK, call{
		method: "PUT", path: "/v1/saml-config", token: f.admin.Subject,
		body: `{"email_attribute":"mail","name_attribute":"cn"}`,
	})
	config := get[api.SAMLConfig](f.fixture, http.StatusOK, call{
		method: "PUT", path: "/v1/saml-config",
		token: f.admin.Subject, body: `{"email_attribute":""}`,
	})
	if config.EmailAttribute != "" || config.NameAttribute != "cn" || len(config.AllowedEmailDomains) != 1 ||
		config.EmailDomains[0] != "tsumugi.example" {
		t.Errorf("got %+v", config)
	}
}
