package api_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// limitedServer returns a server that allows four sign-ins, two guesses and six logouts. Its pool has no users.
func limitedServer(t *testing.T, cfg api.Config) http.Handler {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	handler, err := api.New(api.Services{
		Identity: identity.NewService(stalled{}, verifier{}, log),
		App:      fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}},
		Limiter: ratelimit.New(ratelimit.Limits{
			ratelimit.KindSignIn: {Each: 4}, ratelimit.KindGuess: {Each: 2}, ratelimit.KindLogout: {Each: 6},
		}, nil),
		Pool: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var call struct{ AuthFlow, Password string }
			if json.NewDecoder(r.Body).Decode(&call) != nil || call.Password != "right" &&
				!strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".ForgotPassword") {
				w.WriteHeader(http.StatusBadRequest)
			}
		}),
	}, cfg, log)
	must.Succeed(t, err)
	return handler
}

// from makes a call from an address.
func from(t *testing.T, handler http.Handler, peer, path, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.RemoteAddr = netip.AddrPortFrom(netip.MustParseAddr(peer), 1234).String()
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// signInFrom requests the sign-in method of an invalid address, which needs no database.
func signInFrom(t *testing.T, handler http.Handler, peer string, header ...string) int {
	t.Helper()
	return from(t, handler, peer, "/v1/auth-type", `{"email":"x"}`, header...).Code
}

func TestR64_SignInsAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handler := limitedServer(t, api.Config{})
		<-time.After(45 * time.Second)
		for i := range 4 {
			if code := signInFrom(t, handler, "203.0.113.7", "X-Forwarded-For",
				"198.51.100."+strconv.Itoa(i)); code != http.StatusBadRequest {
				t.Fatalf("call %d: %d", i, code)
			}
		}
		refused := from(t, handler, "203.0.113.7", "/v1/auth-type", `{"email":"x"}`, "X-Forwarded-For", "198.51.100.99",
			"X-Real-Ip", "198.51.100.99", "True-Client-Ip", "198.51.100.99")
		after, err := strconv.Atoi(refused.Header().Get("Retry-After"))
		if refused.Code != http.StatusTooManyRequests || err != nil || after < 1 || after > 75 ||
			!strings.Contains(refused.Body.String(), `"rate_limited"`) {
			t.Fatalf("%d, Retry-After %q: %s", refused.Code, refused.Header().Get("Retry-After"), refused.Body)
		}
		if refused.Header().Get("Content-Type") != "application/problem+json" ||
			refused.Header().Get("X-Ratelimit-Limit") != "" {
			t.Errorf("headers %v", refused.Header())
		}
		for _, path := range []string{"/v1/refresh_token", "/v1/saml/" + newID() + "/acs"} {
			if w := from(t, handler, "203.0.113.7", path, `{}`); w.Code != http.StatusTooManyRequests {
				t.Errorf("%s: %d", path, w.Code)
			}
		}
		if code := signInFrom(t, handler, "203.0.113.8"); code != http.StatusBadRequest {
			t.Errorf("another address: %d", code)
		}
		// All addresses of an IPv6 network are counted together.
		for i := range 5 {
			code := signInFrom(t, handler, "2001:db8::"+strconv.Itoa(i+1))
			if (code == http.StatusTooManyRequests) != (i == 4) {
				t.Errorf("IPv6, call %d: %d", i, code)
			}
		}
		<-time.After(time.Duration(after) * time.Second)
		if code := signInFrom(t, handler, "203.0.113.7"); code != http.StatusBadRequest {
			t.Errorf("when it was told to come back: %d", code)
		}
	})
}

// TestR64_LogoutsAreNotCountedAsSignIns: a provider that ends many sessions at once, perhaps from the address of an office,
// has its own limit.
func TestR64_LogoutsAreNotCountedAsSignIns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handler := limitedServer(t, api.Config{})
		logout := func() int { return from(t, handler, "203.0.113.7", "/v1/oidc/"+newID()+"/logout", `{}`).Code }
		for range 5 {
			signInFrom(t, handler, "203.0.113.7")
		}
		for i := range 7 {
			want := http.StatusBadRequest
			if i == 6 {
				want = http.StatusTooManyRequests
			}
			if code := logout(); code != want {
				t.Errorf("logout %d: %d", i, code)
			}
		}
		if code := signInFrom(t, handler, "203.0.113.8"); code != http.StatusBadRequest {
			t.Errorf("another address: %d", code)
		}
	})
}

// TestR64_BrowsersSeeAPageForALimit: a navigating browser sees a page of the app with the time of the retry; other
// clients receive a problem.
func TestR64_BrowsersSeeAPageForALimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handler := limitedServer(t, api.Config{})
		for range 4 {
			signInFrom(t, handler, "203.0.113.7")
		}
		organizationID := newID()
		for _, step := range [][2]string{
			{http.MethodGet, "/v1/oauth2/authorize?organization_id=" + organizationID},
			{http.MethodPost, "/v1/saml/" + organizationID + "/acs"},
		} {
			ask := func(accept string) *httptest.ResponseRecorder {
				r := httptest.NewRequestWithContext(t.Context(), step[0], step[1], nil)
				r.RemoteAddr = "203.0.113.7:1234"
				r.Header.Set("Accept", accept)
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				return w
			}
			w := ask("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
			page, err := url.Parse(w.Header().Get("Location"))
			if err != nil || w.Code != http.StatusSeeOther || page.Path != "/oauth2/callback" ||
				w.Header().Get("Cache-Control") != "no-store" {
				t.Fatalf("%s: %d %v %s", step[1], w.Code, w.Header(), w.Body)
			}
			want := "操作の回数が多すぎます。75秒ほど待ってから、もう一度お試しください。"
			if q := page.Query(); q.Get("error") != "rate_limited" || q.Get("error_description") != want ||
				q.Get("organization_id") != organizationID {
				t.Errorf("%s: %v", step[1], q)
			}
			if w := ask("*/*"); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "75" ||
				!strings.Contains(w.Body.String(), want) {
				t.Errorf("%s, to others: %d %v %s", step[1], w.Code, w.Header(), w.Body)
			}
		}
	})
}

// TestR64_ForwardedAddresses checks which X-Forwarded-For entries are trusted.
func TestR64_ForwardedAddresses(t *testing.T) {
	t.Parallel()
	const proxy, other = "10.0.0.1", "192.0.2.1"
	cfg := api.Config{TrustedProxies: []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"),
		netip.MustParsePrefix("fd00::/8"),
	}}
	for name, c := range map[string]struct {
		peer    string
		headers func(i int) []string
		limited bool // Whether all requests are counted for one client.
	}{
		"behind the proxy": {
			proxy, func(i int) []string { return []string{"198.51.100." + strconv.Itoa(i)} }, false,
		},
		"behind two proxies": {
			proxy, func(i int) []string { return []string{"198.51.100." + strconv.Itoa(i) + ", 10.9.9.9"} }, false,
		},
		"a forged one before it": {
			proxy, func(i int) []string { return []string{"203.0.113." + strconv.Itoa(i) + ", 198.51.100.1"} }, true,
		},
		"a forged header before it": {
			proxy, func(i int) []string { return []string{"203.0.113." + strconv.Itoa(i), "198.51.100.1"} }, true,
		},
		"a forged proxy before it": {
			proxy, func(i int) []string { return []string{"10.0.0." + strconv.Itoa(i) + ", 198.51.100.1"} }, true,
		},
		"a forged one that looks like it": {
			proxy, func(i int) []string { return []string{"203.0.113." + strconv.Itoa(i) + ", ::ffff:198.51.100.1"} },
			true,
		},
		"garbage": {
			proxy, func(i int) []string { return []string{"203.0.113." + strconv.Itoa(i) + ", x"} }, true,
		},
		"ports": {
			proxy, func(i int) []string { return []string{"198.51.100." + strconv.Itoa(i) + ":4711, 10.9.9.9:8443"} },
			false,
		},
		"a port, IPv6": {
			proxy, func(i int) []string { return []string{"[2001:db8:0:" + strconv.Itoa(i) + "::1]:443"} }, false,
		},
		"brackets, IPv6": {
			proxy, func(i int) []string { return []string{"[2001:db8:0:" + strconv.Itoa(i) + "::1]"} }, false,
		},
		"one of many ports": {
			proxy, func(i int) []string { return []string{"198.51.100.1:" + strconv.Itoa(4711+i)} }, true,
		},
		"a forged one with a port": {
			proxy, func(i int) []string { return []string{"203.0.113." + strconv.Itoa(i) + ":80, 198.51.100.1:4711"} },
			true,
		},
		"a forged port": {
			proxy, func(i int) []string { return []string{"203.0.113." + strconv.Itoa(i) + ", 198.51.100.1:x"} }, true,
		},
		"a forged proxy with a port": {
			proxy,
			func(i int) []string { return []string{"203.0.113." + strconv.Itoa(i) + ", 198.51.100.1, 10.0.0.1:80"} },
			true,
		},
		"a zone": {
			proxy, func(i int) []string { return []string{"fe80::1%" + strconv.Itoa(i)} }, true,
		},
		"nothing": {proxy, func(int) []string { return nil }, true},
		"no proxy of ours": {
			other, func(i int) []string { return []string{"198.51.100." + strconv.Itoa(i)} }, true,
		},
		"a network of IPv6 behind a proxy": {
			"fd00::1", func(i int) []string { return []string{"2001:db8::" + strconv.Itoa(i)} }, true,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			handler := limitedServer(t, cfg)
			limited := false
			for i := range 6 {
				var header []string
				for _, value := range c.headers(i) {
					header = append(header, "X-Forwarded-For", value)
				}
				limited = signInFrom(t, handler, c.peer, header...) == http.StatusTooManyRequests
			}
			if limited != c.limited {
				t.Errorf("%s: limited %v", name, limited)
			}
		})
	}
}

// FuzzR64_ForwardedAddresses: entries written by clients are left of the proxy's entry and have no effect.
func FuzzR64_ForwardedAddresses(f *testing.F) {
	for _, seed := range []string{
		"", "203.0.113.1", "10.0.0.1, ", ",,,", "::ffff:10.0.0.1", "[fd00::1]:80",
		"x, 198.51.100.1:x", "fe80::1%eth0,", "\x00", "198.51.100.1, 203.0.113.7,",
	} {
		f.Add(seed, "198.51.100.7:4711")
		f.Add("", seed)
	}
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	f.Fuzz(func(t *testing.T, forged, added string) {
		find := func(peer string, lines ...string) netip.Addr {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr, r.Header["X-Forwarded-For"] = peer, lines
			return api.FindAddress(r, proxies)
		}
		peer := netip.MustParseAddr("192.0.2.1")
		if got := find("192.0.2.1:80", forged, added); got != peer {
			t.Fatalf("no proxy of ours, and %v", got)
		}
		own := netip.MustParseAddr("10.0.0.1")
		got := find("10.0.0.1:80", added)
		if !got.IsValid() || got.Zone() != "" || got != own && proxies[0].Contains(got.Unmap()) {
			t.Fatalf("%q: %v", added, got)
		}
		if got == own { // Only proxies or malformed entries were added.
			return
		}
		for _, lines := range [][]string{{forged, added}, {forged + "," + added}} {
			if again := find("10.0.0.1:80", lines...); again != got {
				t.Fatalf("%q make it %v instead of %v", lines, again, got)
			}
		}
	})
}

func TestR64_QuestionsAreLimitedByPerson(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{limits: ratelimit.Limits{ratelimit.KindQuestion: {Each: 3}}})
	thread := f.thread(f.alice.Subject)
	var last call
	for i, path := range []string{"/v1/message/sync", "/v1/message/stream", "/v1/message/sync"} {
		last = f.ask(thread, "糸とは")
		last.path = path
		if resp := f.do(last); resp.status != http.StatusOK {
			t.Fatalf("question %d: %d %s", i, resp.status, resp.body)
		}
	}
	for _, path := range []string{"/v1/message/sync", "/v1/message/stream", "/v1/message/async"} {
		next := f.ask(thread, "糸とは")
		next.path, next.header = path, map[string]string{"Last-Event-ID": "1-3", "X-Forwarded-For": "198.51.100.7"}
		resp := f.do(next)
		after, err := strconv.Atoi(resp.header.Get("Retry-After"))
		if p := resp.problem(t); resp.status != http.StatusTooManyRequests || p.Code != "rate_limited" || err != nil ||
			after < 1 || after > 80 {
			t.Errorf("%s: %d, Retry-After %d, %+v", path, resp.status, after, p)
		}
	}
	if resp := f.do(last); resp.status != http.StatusOK {
		t.Errorf("the same question again: %d %s", resp.status, resp.body)
	}
	other := f.ask(f.thread(f.bob.Subject), "糸とは")
	if other.token = f.bob.Subject; f.do(other).status != http.StatusOK {
		t.Error("another person is limited too")
	}
	list := get[api.MessageList](f, http.StatusOK, call{
		method: "GET",
		path:   "/v1/message?thread_id=" + thread.ID.String(), token: f.alice.Subject,
	})
	if len(list.Items) != 6 {
		t.Errorf("%d messages were kept", len(list.Items))
	}
}

// TestClientAddressIsLogged: the audit log and the request log contain the client address.
func TestClientAddressIsLogged(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{api: func(c *api.Config) {
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	}})
	f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", f.alice.ID)
	get[api.User](f, http.StatusOK, call{
		method: "PUT", path: "/v1/user/" + f.bob.ID.String(), token: f.alice.Subject,
		body:   map[string]any{"name": "新しい名前"},
		header: map[string]string{"X-Forwarded-For": "203.0.113.1, 198.51.100.7:4711", "X-Request-Id": "of-the-edit"},
	})
	log := get[api.AuditEventList](f, http.StatusOK, call{
		method: "GET", path: "/v1/audit?action=member.edit&q=bob",
		token: f.alice.Subject,
	})
	if len(log.Items) != 1 || log.Total != 1 {
		t.Fatalf("got %+v", log)
	}
	e := log.Items[0]
	if e.Address != "198.51.100.7" || e.RequestID != "of-the-edit" || e.ActorID != f.alice.ID ||
		e.TargetID != f.bob.ID.String() ||
		len(e.Details) != 1 || e.Details[0] != (api.AuditDetail{Field: "name", Before: "試験", After: "新しい名前"}) {
		t.Errorf("got %+v", e)
	}
	if lines := f.logs.with(`"request_id":"of-the-edit"`, `"address":"198.51.100.7"`); len(lines) != 1 {
		t.Errorf("logged %v", lines)
	}
}
