package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// limitedServer is a server that allows four sign-ins and two guesses. Its pool has no users.
func limitedServer(t *testing.T, cfg api.Config) http.Handler {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	handler, err := api.New(api.Services{
		Identity: identity.NewService(stalled{}, verifier{}, log),
		App:      fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}},
		Limiter:  api.NewLimiter(api.Limits{api.KindSignIn: {Each: 4}, api.KindGuess: {Each: 2}}),
		Pool: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var call struct{ AuthFlow, Password string }
			if json.NewDecoder(r.Body).Decode(&call) != nil || call.Password != "right" &&
				!strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".ForgotPassword") {
				w.WriteHeader(http.StatusBadRequest)
			}
		}),
	}, cfg, log)
	if err != nil {
		t.Fatal(err)
	}
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

// signInFrom asks for the sign-in method of an invalid address, which needs no database.
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
		// An address of IPv6 is any of its network's.
		for i := range 5 {
			if code := signInFrom(t, handler, "2001:db8::"+strconv.Itoa(i+1)); (code == http.StatusTooManyRequests) != (i == 4) {
				t.Errorf("IPv6, call %d: %d", i, code)
			}
		}
		<-time.After(time.Duration(after) * time.Second)
		if code := signInFrom(t, handler, "203.0.113.7"); code != http.StatusBadRequest {
			t.Errorf("when it was told to come back: %d", code)
		}
	})
}

// TestR64_ALimitIsAPageToABrowser: a navigating browser is told by the app when to retry, other clients by a problem.
func TestR64_ALimitIsAPageToABrowser(t *testing.T) {
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
		limited bool // All of them are one client's.
	}{
		"behind the proxy":                 {proxy, func(i int) []string { return []string{"198.51.100." + strconv.Itoa(i)} }, false},
		"behind two proxies":               {proxy, func(i int) []string { return []string{"198.51.100." + strconv.Itoa(i) + ", 10.9.9.9"} }, false},
		"a forged one before it":           {proxy, func(i int) []string { return []string{"203.0.113." + strconv.Itoa(i) + ", 198.51.100.1"} }, true},
		"a forged header before it":        {proxy, func(i int) []string { return []string{"203.0.113." + strconv.Itoa(i), "198.51.100.1"} }, true},
		"a forged proxy before it":         {proxy, func(i int) []string { return []string{"10.0.0." + strconv.Itoa(i) + ", 198.51.100.1"} }, true},
		"a forged one that looks like it":  {proxy, func(i int) []string { return []string{"203.0.113." + strconv.Itoa(i) + ", ::ffff:198.51.100.1"} }, true},
		"garbage":                          {proxy, func(i int) []string { return []string{"203.0.113." + strconv.Itoa(i) + ", x"} }, true},
		"ports":                            {proxy, func(i int) []string { return []string{"198.51.100." + strconv.Itoa(i) + ":4711, 10.9.9.9:8443"} }, false},
		"a port, IPv6":                     {proxy, func(i int) []string { return []string{"[2001:db8:0:" + strconv.Itoa(i) + "::1]:443"} }, false},
		"brackets, IPv6":                   {proxy, func(i int) []string { return []string{"[2001:db8:0:" + strconv.Itoa(i) + "::1]"} }, false},
		"one of many ports":                {proxy, func(i int) []string { return []string{"198.51.100.1:" + strconv.Itoa(4711+i)} }, true},
		"a forged one with a port":         {proxy, func(i int) []string { return []string{"203.0.113." + strconv.Itoa(i) + ":80, 198.51.100.1:4711"} }, true},
		"a forged port":                    {proxy, func(i int) []string { return []string{"203.0.113." + strconv.Itoa(i) + ", 198.51.100.1:x"} }, true},
		"a forged proxy with a port":       {proxy, func(i int) []string { return []string{"203.0.113." + strconv.Itoa(i) + ", 198.51.100.1, 10.0.0.1:80"} }, true},
		"a zone":                           {proxy, func(i int) []string { return []string{"fe80::1%" + strconv.Itoa(i)} }, true},
		"nothing":                          {proxy, func(int) []string { return nil }, true},
		"no proxy of ours":                 {other, func(i int) []string { return []string{"198.51.100." + strconv.Itoa(i)} }, true},
		"a network of IPv6 behind a proxy": {"fd00::1", func(i int) []string { return []string{"2001:db8::" + strconv.Itoa(i)} }, true},
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

// FuzzR64_ForwardedAddresses: entries that a client writes are left of the proxy's and change nothing.
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
		if got == own { // All that was added are proxies, or nothing that can be read.
			return
		}
		for _, lines := range [][]string{{forged, added}, {forged + "," + added}} {
			if again := find("10.0.0.1:80", lines...); again != got {
				t.Fatalf("%q make it %v instead of %v", lines, again, got)
			}
		}
	})
}

// FuzzR64_Guesses: every body that the pool reads as a password attempt is counted as a guess.
func FuzzR64_Guesses(f *testing.F) {
	for _, seed := range []string{
		`{"AuthFlow":"USER_PASSWORD_AUTH"}`, `{"AuthFlow":"REFRESH_TOKEN_AUTH"}`,
		`{"AuthFlow":"REFRESH_TOKEN","AuthFlow":"USER_PASSWORD_AUTH"}`,
		`{"AuthFlow":"USER_PASSWORD_AUTH","authFlow":"REFRESH_TOKEN"}`, ` {"\u0041uthFlow":"USER_PASSWORD_AUTH"}`,
		`{"AuthFlow":null}`, `[]`, `{`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		guessed := false
		handler := poolServer(t, api.Limits{api.KindGuess: {Each: 1}}, func(w http.ResponseWriter, r *http.Request) {
			// As the pool reads it.
			var members map[string]json.RawMessage
			var flow string
			read, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
			if err == nil && strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".InitiateAuth") &&
				!bytes.Equal(read, body) {
				t.Errorf("the pool reads %q", read)
			}
			guessed = guessed || err == nil && json.Unmarshal(read, &members) == nil &&
				json.Unmarshal(members["AuthFlow"], &flow) == nil && flow == "USER_PASSWORD_AUTH"
			w.WriteHeader(http.StatusBadRequest)
		})
		from(t, handler, "203.0.113.7", "/pool/", string(body), "X-Amz-Target",
			"AWSCognitoIdentityProviderService.InitiateAuth")
		if code := from(t, handler, "203.0.113.7", "/pool/", `{}`, "X-Amz-Target",
			"AWSCognitoIdentityProviderService.ChangePassword").Code; guessed && code != http.StatusTooManyRequests {
			t.Errorf("a password by %q was not counted", body)
		}
	})
}

// TestR64_GuessesAreCountedApart: other calls still work after too many wrong passwords from an address.
func TestR64_GuessesAreCountedApart(t *testing.T) {
	t.Parallel()
	type step struct {
		operation, body string
		status          int
	}
	const wrong, right, refresh = `{"AuthFlow":"USER_PASSWORD_AUTH","Password":"wrong"}`,
		`{"AuthFlow":"USER_PASSWORD_AUTH","Password":"right"}`, `{"AuthFlow":"REFRESH_TOKEN_AUTH"}`
	for name, steps := range map[string][]step{
		"wrong passwords": {
			{"InitiateAuth", wrong, 400},
			{"InitiateAuth", wrong, 400},
			{"InitiateAuth", right, 429},
			{"InitiateAuth", refresh, 400},
		},
		"codes": {
			{"ConfirmForgotPassword", `{}`, 400},
			{"RespondToAuthChallenge", `{}`, 400},
			{"ConfirmForgotPassword", `{}`, 429},
		},
		"mail": {
			{"ForgotPassword", `{}`, 200},
			{"ForgotPassword", `{}`, 200},
			{"ForgotPassword", `{}`, 429},
			{"RevokeToken", `{}`, 400},
		},
		"no guesses": {
			{"InitiateAuth", right, 200},
			{"InitiateAuth", right, 200},
			{"InitiateAuth", right, 200},
			{"InitiateAuth", refresh, 400},
			{"GetUser", `{}`, 429},
		},
		"a body that is none": {
			{"InitiateAuth", `{`, 400}, {"InitiateAuth", strings.Repeat("x", 1<<17), 400}, {"InitiateAuth", right, 429},
		},
		"a member that is only like the flow": { // The pool knows members by their exact names.
			{"InitiateAuth", `{"AuthFlow":"USER_PASSWORD_AUTH","authflow":"REFRESH_TOKEN_AUTH"}`, 400},
			{"InitiateAuth", `{"AuthFlow":"USER_PASSWORD_AUTH","AUTHFLOW":"REFRESH_TOKEN"}`, 400},
			{"InitiateAuth", wrong, 429},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			handler := limitedServer(t, api.Config{})
			for i, s := range steps {
				w := from(t, handler, "203.0.113.7", "/pool/", s.body, "X-Amz-Target",
					"AWSCognitoIdentityProviderService."+s.operation)
				if w.Code != s.status {
					t.Errorf("%s, step %d: %d %s", name, i, w.Code, w.Body)
				}
				if s.status != http.StatusTooManyRequests {
					continue
				}
				h := w.Header()
				if h.Get("Retry-After") == "" || h.Get("X-Amzn-Errortype") != "TooManyRequestsException:" ||
					!strings.Contains(w.Body.String(), `"__type":"TooManyRequestsException"`) {
					t.Errorf("%s: %v %s", name, h, w.Body)
				}
			}
		})
	}
}

// poolServer is a server with a user pool, and limits as given.
func poolServer(t *testing.T, limits api.Limits, pool http.HandlerFunc) http.Handler {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	handler, err := api.New(api.Services{
		Identity: identity.NewService(stalled{}, verifier{}, log),
		App:      fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}}, Pool: pool,
		Limiter: api.NewLimiter(limits),
	}, api.Config{}, log)
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// initiateFrom makes the call that begins or renews a session from an address.
func initiateFrom(t *testing.T, handler http.Handler, peer, flow string) *httptest.ResponseRecorder {
	t.Helper()
	return from(t, handler, peer, "/pool/", `{"AuthFlow":"`+flow+`"}`, "X-Amz-Target",
		"AWSCognitoIdentityProviderService.InitiateAuth")
}

// TestR64_GuessesThatArriveTogether: concurrent guesses wait for the result of the first; other addresses do not.
func TestR64_GuessesThatArriveTogether(t *testing.T) {
	t.Parallel()
	const many, other = 40, 2
	synctest.Test(t, func(t *testing.T) {
		arrived, answer := make(chan struct{}, many+other), make(chan struct{})
		handler := poolServer(t, api.Limits{api.KindGuess: {Each: 5}}, func(w http.ResponseWriter, _ *http.Request) {
			arrived <- struct{}{}
			<-answer
			w.WriteHeader(http.StatusBadRequest)
		})
		var refused atomic.Int32
		var all sync.WaitGroup
		for range many {
			all.Go(func() {
				if initiateFrom(t, handler, "203.0.113.7", "USER_PASSWORD_AUTH").Code == http.StatusTooManyRequests {
					refused.Add(1)
				}
			})
		}
		synctest.Wait()
		if n := len(arrived); n != 4 {
			t.Errorf("%d were looked at at once", n)
		}
		all.Go(func() { initiateFrom(t, handler, "203.0.113.8", "USER_PASSWORD_AUTH") })
		all.Go(func() { initiateFrom(t, handler, "203.0.113.7", "REFRESH_TOKEN_AUTH") })
		synctest.Wait()
		if n := len(arrived); n != 4+other {
			t.Errorf("%d with another address's and one that is no guess", n)
		}
		close(answer)
		all.Wait()
		if got := len(arrived) - other; got < 5 || got > 8 || int(refused.Load()) != many-got {
			t.Errorf("%d of %d were looked at, %d refused", got, many, refused.Load())
		}
	})
}

func TestR64_GuessesDoNotWaitForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handler := poolServer(t, api.Limits{api.KindGuess: {Each: 100}},
			func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { initiateFrom(t, handler, "203.0.113.7", "USER_PASSWORD_AUTH") })
		}
		synctest.Wait()
		began := time.Now()
		w := initiateFrom(t, handler, "203.0.113.7", "USER_PASSWORD_AUTH")
		if took := time.Since(began); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" ||
			took != 4*time.Second {
			t.Errorf("%d after %v: %v", w.Code, took, w.Header())
		}
		all.Wait()
	})
}

// TestR64_OnePersonLocksNoOfficeOut: wrong passwords count per account and address; the limit per address for all
// accounts is higher.
func TestR64_OnePersonLocksNoOfficeOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handler := poolServer(t, api.Limits{api.KindGuess: {Each: 2}, api.KindAddressGuess: {Each: 6}},
			func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusBadRequest)
			})
		try := func(peer, operation, body string) int {
			return from(t, handler, peer, "/pool/", body, "X-Amz-Target",
				"AWSCognitoIdentityProviderService."+operation).Code
		}
		signIn := func(peer, name string) int {
			return try(peer, "InitiateAuth", `{"AuthFlow":"USER_PASSWORD_AUTH","AuthParameters":{"USERNAME":"`+name+`"}}`)
		}
		for i := range 20 {
			name := []string{"taro@example.com", " TARO@example.com"}[i%2]
			if code := signIn("203.0.113.7", name); (code == http.StatusTooManyRequests) != (i >= 2) {
				t.Errorf("try %d: %d", i, code)
			}
		}
		for step, code := range []int{
			try("203.0.113.7", "ConfirmForgotPassword", `{"Username":"taro@example.com"}`), // Of the same account,
			try("203.0.113.7", "RespondToAuthChallenge", `{"ChallengeResponses":{"USERNAME":"taro@example.com"}}`),
			signIn("203.0.113.8", "taro@example.com"),   // from another address,
			signIn("203.0.113.7", "hanako@example.com"), // and of another account.
		} {
			if (code == http.StatusTooManyRequests) != (step < 2) {
				t.Errorf("step %d: %d", step, code)
			}
		}
		refused := 0
		for i := range 10 {
			if signIn("203.0.113.7", "n"+strconv.Itoa(i)+"@example.com") == http.StatusTooManyRequests {
				refused++
			}
		}
		if refused != 7 {
			t.Errorf("of ten passwords for ten more accounts %d were refused", refused)
		}
	})
}

// TestR64_UnexaminedCallsAreNotCounted: attempts that the pool could not check do not count.
func TestR64_UnexaminedCallsAreNotCounted(t *testing.T) {
	t.Parallel()
	for kind, status := range map[string]int{
		"ServiceUnavailableException:": 503, "InternalErrorException:": 500, "TooManyRequestsException:": 400,
	} {
		synctest.Test(t, func(t *testing.T) {
			handler := poolServer(t, api.Limits{api.KindGuess: {Each: 2}, api.KindAddressGuess: {Each: 2}},
				func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("X-Amzn-Errortype", kind)
					w.WriteHeader(status)
				})
			for i := range 10 {
				for _, operation := range []string{"InitiateAuth", "ForgotPassword"} {
					w := from(t, handler, "203.0.113.7", "/pool/", `{}`, "X-Amz-Target",
						"AWSCognitoIdentityProviderService."+operation)
					if w.Code != status {
						t.Errorf("%s, call %d: %d", kind, i, w.Code)
					}
				}
			}
		})
	}
}

func TestR64_QuestionsAreLimitedByPerson(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{limits: api.Limits{api.KindQuestion: {Each: 3}}})
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

// TestClientAddressIsLogged checks that the audit log and the request log contain the client address.
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
