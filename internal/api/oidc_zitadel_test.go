package api_test

import (
	"bufio"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// zitadel starts the example server of zitadel/oidc with one client and one person, and returns its issuer.
func zitadel(t *testing.T, redirectURL, email string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "zitadel")
	//nolint:gosec // The arguments are constants and a folder of the test.
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, ".")
	build.Dir, build.Env = "../../test/zitadel", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the provider: %v: %s", err, out)
	}
	//nolint:gosec // The program was just built.
	cmd := exec.CommandContext(t.Context(), program, "127.0.0.1:0", redirectURL, email)
	out := must.Get(cmd.StdoutPipe())(t)
	must.Succeed(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	issuer, ok := strings.CutPrefix(strings.TrimSpace(line), "issuer ")
	if err != nil || !ok {
		t.Fatalf("the provider printed %q: %v", line, err)
	}
	return issuer
}

// signInAtZitadel opens a sign-in request at the provider, submits its form, and returns the query of its redirect.
func signInAtZitadel(t *testing.T, address, email string) url.Values {
	t.Helper()
	jar := must.Get(cookiejar.New(nil))(t)
	client := &http.Client{Jar: jar, CheckRedirect: func(req *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(req.URL.String(), issuer) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	form := must.Get(client.Get(address))(t)
	_ = form.Body.Close()
	resp, err := client.PostForm(form.Request.URL.Scheme+"://"+form.Request.URL.Host+"/login/username", url.Values{
		"id": form.Request.URL.Query()["authRequestID"], "username": {email}, "password": {"password"},
	})
	must.Succeed(t, err)
	_ = resp.Body.Close()
	back, err := resp.Location()
	if err != nil {
		t.Fatalf("%d of %s: %v", resp.StatusCode, form.Request.URL, err)
	}
	return back.Query()
}

// TestSignInByZitadel signs a member in by an OpenID provider whose code is not ours.
func TestSignInByZitadel(t *testing.T) {
	t.Parallel()
	const email = "alice@tsumugi.example"
	f := &sso{fixture: newFixtureWith(t, llmtest.NewLive(), settings{pool: true, providers: http.DefaultTransport})}
	redirect := "/v1/oidc/" + f.alice.OrganizationID.String() + "/callback"
	provider := zitadel(t, issuer+redirect, email)
	f.admin = f.member(f.alice.OrganizationID, "admin@tsumugi.example")
	f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", f.admin.ID)
	f.account(&f.admin)
	f.account(&f.alice)
	set := func(path string, body any) {
		t.Helper()
		get[api.OIDCConfig](f.fixture, http.StatusOK, call{method: "PUT", path: path, token: f.admin.Subject, body: body})
	}
	set("/v1/oidc-config", map[string]any{"issuer": provider, "client_id": "tsumugi", "client_secret": "secret"})
	test := get[api.OIDCTest](f.fixture, http.StatusOK, call{
		method: "POST", path: "/v1/oidc-config/test", token: f.admin.Subject,
	})
	for _, check := range test.Checks {
		if !check.Ok {
			t.Errorf("the connection test: %+v", check)
		}
	}
	set("/v1/oidc-config/on", nil)

	b := &browser{f: f}
	query := signInAtZitadel(t, b.authorize("/home/thread?id=1").header.Get("Location"), email)
	callback := redirect + "?" + query.Encode()
	_, landing := landed(t, b.get(callback))
	record := tokens(t, b.get("/v1/oauth2/callback?"+landing.Encode()))
	me := get[api.Me](f.fixture, http.StatusOK, call{method: "GET", path: "/v1/me", token: record.IDToken})
	if me.ID != f.alice.ID || record.AuthType != api.FederatedIdp || record.Next != "/home/thread?id=1" {
		t.Errorf("signed in as %+v: %+v", me, record)
	}

	// The response is used once, and only in the browser that asked.
	if _, landing := landed(t, b.get(callback)); landing.Get("error") == "" {
		t.Errorf("a repeated response: %v", landing)
	}
	begun := b.authorize("").header.Get("Location")
	stolen := signInAtZitadel(t, begun, email)
	other := &browser{f: f}
	other.authorize("")
	if _, landing := landed(t, other.get(redirect+"?"+stolen.Encode())); landing.Get("error") == "" {
		t.Errorf("another browser: %v", landing)
	}
}
