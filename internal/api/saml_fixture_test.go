package api_test

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml/samltest"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// sso is a server with an organization, its super-admin, and the organization's identity provider.
type sso struct {
	*fixture
	idp   *samltest.Provider
	admin identity.NewUser
}

func newSSO(t *testing.T) *sso {
	t.Helper()
	return newSSOWith(t, llmtest.Say("はい"))
}

func newSSOWith(t *testing.T, model llm.Model) *sso {
	t.Helper()
	f := &sso{fixture: newFixtureWith(t, model, settings{pool: true})}
	f.admin = f.member(f.alice.OrganizationID, "admin@tsumugi.example")
	f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", f.admin.ID)
	f.account(&f.admin)
	f.account(&f.alice)
	var err error
	f.idp, err = samltest.New(samltest.Config{URL: "https://idp.example", Users: []samltest.User{
		{Login: "alice", Password: "pw", Email: "alice@tsumugi.example", Name: "アリス"},
		{Login: "dora", Password: "pw", Email: "Dora@tsumugi.example", Name: "堂本 ドラ"},
		{Login: "admin", Password: "pw", Email: "admin@tsumugi.example", Name: "管理 花子"},
		{Login: "mallory", Password: "pw", Email: "alice@tsumugi.example", Name: "別人"},
		{Login: "eve", Password: "pw", Email: "eve@evil.example", Name: "イブ"},
	}})
	must.Succeed(t, err)
	return f
}

// configure configures the provider with the calls of the screens, and enables single sign-on.
func (f *sso) configure() {
	f.t.Helper()
	metadata := must.Get(f.idp.Metadata())(f.t)
	config := get[api.SAMLConfig](f.fixture, http.StatusOK, call{
		method: "PUT", path: "/v1/saml-config",
		token: f.admin.Subject, body: map[string]any{
			"idp_metadata_xml": string(metadata), "email_attribute": samltest.EmailAttribute,
			"name_attribute": samltest.NameAttribute,
		},
	})
	resp := f.do(call{method: "GET", path: strings.TrimPrefix(config.SpMetadataURL, "https://tsumugi.example")})
	if resp.status != http.StatusOK || resp.header.Get("Content-Type") != "application/samlmetadata+xml" {
		f.t.Fatalf("the metadata: %d %s", resp.status, resp.body)
	}
	must.Succeed(f.t, f.idp.AddService(resp.body))
	if on := get[api.SAMLConfig](f.fixture, http.StatusOK, call{
		method: "PUT", path: "/v1/saml-config/on",
		token: f.admin.Subject,
	}); !on.Enabled {
		f.t.Fatalf("got %+v", on)
	}
}

// browser is a browser with its cookie.
type browser struct {
	f      *sso
	cookie string
}

// keep stores a cookie of a response.
func (b *browser) keep(resp response) {
	cookie, _, _ := strings.Cut(resp.header.Get("Set-Cookie"), ";")
	if cookie != "" {
		b.cookie = cookie
	}
}

func (b *browser) get(path string) response {
	b.f.t.Helper()
	resp := b.f.do(call{method: "GET", path: path, header: map[string]string{"Cookie": b.cookie}})
	b.keep(resp)
	return resp
}

// post sends a form like the identity provider's page: from another site.
func (b *browser) post(path string, form url.Values) response {
	b.f.t.Helper()
	return b.f.do(call{method: "POST", path: path, body: form.Encode(), header: map[string]string{
		"Content-Type": "application/x-www-form-urlencoded", "Cookie": b.cookie, "Origin": "https://idp.example",
		"Sec-Fetch-Site": "cross-site",
	}})
}

func (b *browser) authorize(next string) response {
	b.f.t.Helper()
	return b.get("/v1/oauth2/authorize?" + url.Values{
		"organization_id": {b.f.alice.OrganizationID.String()},
		"next":            {next},
	}.Encode())
}

// form is a page's form.
type form struct {
	path   string
	fields url.Values
}

var (
	formAction = regexp.MustCompile(`action="([^"]*)"`)
	formField  = regexp.MustCompile(`type="hidden" name="([^"]*)" value="([^"]*)"`)
)

// atProvider sends a request to the identity provider and returns the form of its page.
func (f *sso) atProvider(method, address string, fields url.Values) form {
	f.t.Helper()
	req := httptest.NewRequest(method, address, strings.NewReader(fields.Encode()))
	if fields != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	page := httptest.NewRecorder()
	f.idp.ServeHTTP(page, req)
	body, err := io.ReadAll(page.Result().Body)
	if err != nil || page.Code != http.StatusOK {
		f.t.Fatalf("the identity provider answers %d %s", page.Code, body)
	}
	action := must.Get(url.Parse(html.UnescapeString(formAction.FindStringSubmatch(string(body))[1])))(f.t)
	found := form{path: action.Path, fields: url.Values{}}
	for _, field := range formField.FindAllStringSubmatch(string(body), -1) {
		found.fields.Set(field[1], html.UnescapeString(field[2]))
	}
	return found
}

// respond signs in at the identity provider and returns the form that its page posts.
func (f *sso) respond(address, login string) form {
	f.t.Helper()
	page := f.atProvider(http.MethodGet, address, nil)
	page.fields.Set("user", login)
	page.fields.Set("password", "pw")
	return f.atProvider(http.MethodPost, f.idp.SSOURL(), page.fields)
}

// landed returns the path and the parameters of a redirect.
func landed(t *testing.T, resp response) (string, url.Values) {
	t.Helper()
	u, err := url.Parse(resp.header.Get("Location"))
	if err != nil || resp.status != http.StatusSeeOther || u.Host != "" ||
		resp.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("got %d %v %s", resp.status, resp.header, resp.body)
	}
	return u.Path, u.Query()
}

// signIn performs a complete sign-on and returns the exchange of the code.
func (b *browser) signIn(login, next string) response {
	b.f.t.Helper()
	begun := b.authorize(next)
	if begun.status != http.StatusSeeOther {
		b.f.t.Fatalf("got %d %s", begun.status, begun.body)
	}
	posted := b.f.respond(begun.header.Get("Location"), login)
	_, query := landed(b.f.t, b.post(posted.path, posted.fields))
	return b.get("/v1/oauth2/callback?" + query.Encode())
}

func tokens(t *testing.T, resp response) api.TokenRecord {
	t.Helper()
	var record api.TokenRecord
	if err := json.Unmarshal(resp.body, &record); err != nil || resp.status != http.StatusOK {
		t.Fatalf("got %d %s", resp.status, resp.body)
	}
	return record
}
