package api_test

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// deviceOf returns the device cookie, or "" if none was set.
func deviceOf(resp response) string {
	for _, cookie := range (&http.Response{Header: resp.header}).Cookies() {
		if cookie.Name == "__Host-tsumugi_device" && cookie.HttpOnly && cookie.Secure &&
			cookie.SameSite == http.SameSiteLaxMode && cookie.MaxAge > 0 {
			return cookie.Value
		}
	}
	return ""
}

// TestSignInsAreShownToAdministratorsAndTheirOwners signs in and out with browsers, which are recognized, and reads the
// audit log.
func TestSignInsAreShownToAdministratorsAndTheirOwners(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{pool: true})
	f.account(&f.alice)
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.alice.ID)
	signIn := func(password string, header ...string) response {
		parameters := map[string]string{"USERNAME": f.alice.Email, "PASSWORD": password}
		return f.initiate("USER_PASSWORD_AUTH", parameters, append(header, "User-Agent",
			"Mozilla/5.0 (Windows NT 10.0) Chrome/141.0 Safari/537.36")...)
	}
	first := signIn("wrong", "Sec-Fetch-Site", "same-origin")
	device := deviceOf(first)
	if first.status != http.StatusBadRequest || len(device) != 43 {
		t.Fatalf("%d %v", first.status, first.header)
	}
	again := signIn(poolPassword, "Sec-Fetch-Site", "same-origin", "Cookie", "__Host-tsumugi_device="+device)
	if again.status != http.StatusOK || deviceOf(again) != device {
		t.Errorf("%d, device %q", again.status, deviceOf(again))
	}
	if n := len(f.users.devices); n != 0 {
		t.Errorf("%d mails of the first device", n)
	}
	// None is the known cookie.
	for _, cookie := range []string{"", "__Host-tsumugi_device=forged", "tsumugi_device=" + device} {
		other := signIn(poolPassword, "Sec-Fetch-Site", "same-origin", "Cookie", cookie)
		if got := deviceOf(other); got == device || len(got) != 43 {
			t.Errorf("cookie %q: device %q", cookie, got)
		}
		if notice := <-f.users.devices; notice.Email != f.alice.Email || notice.Agent != "Chrome（Windows）" ||
			notice.Address != "127.0.0.1" {
			t.Errorf("notice %+v", notice)
		}
	}
	if program := signIn(poolPassword); deviceOf(program) != "" {
		t.Error("a program was given a cookie")
	}
	session := f.signIn(f.alice)
	if resp := f.do(call{method: "POST", path: "/v1/signout", token: session.IDToken}); resp.status != http.StatusOK {
		t.Errorf("signing out: %d %s", resp.status, resp.body)
	}
	token := f.signIn(f.alice).IDToken
	list := func(query string) []string {
		var actions []string
		for _, e := range get[api.AuditEventList](f, http.StatusOK,
			call{method: "GET", path: "/v1/audit?" + query, token: token}).Items {
			actions = append(actions, e.Action)
			if e.Address != "127.0.0.1" || e.TargetLabel != f.alice.Email || e.Times != 1 || e.RequestID == "" {
				t.Errorf("entry %+v", e)
			}
		}
		return actions
	}
	want := []string{"session.begin", "session.end", "session.begin"}
	if got := list("kind=sign_in&limit=3"); !slices.Equal(got, want) {
		t.Errorf("the newest are %v", got)
	}
	if got := list("action=session.fail"); len(got) != 1 {
		t.Errorf("%d failures", len(got))
	}
	if got := list("kind=administration"); len(got) != 0 {
		t.Errorf("administration: %v", got)
	}
	resp := f.do(call{method: "GET", path: "/v1/audit?kind=other", token: token})
	if p := resp.problem(t); resp.status != http.StatusBadRequest || p.Errors[0].Field != "kind" {
		t.Errorf("%d %+v", resp.status, p)
	}
}

// TestTheAccessLogNamesOperations: the log contains known user pool operations only.
func TestTheAccessLogNamesOperations(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	handler := must.Get(api.New(api.Services{
		Identity: identity.NewService(stalled{}, verifier{}, slog.New(slog.DiscardHandler)),
		App:      fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}},
		Pool:     http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
	}, api.Config{}, slog.New(slog.NewTextHandler(&log, nil))))(t)
	for operation, want := range map[string]string{
		"AWSCognitoIdentityProviderService.InitiateAuth":               "operation=pool.InitiateAuth",
		"AWSCognitoIdentityProviderService.a b":                        "route=/pool",
		"AWSCognitoIdentityProviderService." + strings.Repeat("a", 65): "route=/pool", "": "route=/pool",
	} {
		log.Reset()
		from(t, handler, "203.0.113.7", "/pool/", `{}`, "X-Amz-Target", operation)
		if got := log.String(); !strings.Contains(got, want) ||
			strings.Contains(got, "operation=") != strings.HasPrefix(want, "operation=") {
			t.Errorf("%s: %s", operation, got)
		}
	}
}
