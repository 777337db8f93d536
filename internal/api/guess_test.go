package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// FuzzR64_Guesses: every body that the pool interprets as a password attempt is counted as a guess.
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
		handler := poolServer(t, ratelimit.Limits{ratelimit.KindGuess: {Each: 1}}, func(w http.ResponseWriter, r *http.Request) {
			// As the pool parses it.
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
		"a member that is only like the flow": { // The pool matches member names exactly.
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

// poolServer returns a server with a user pool and limits.
func poolServer(t *testing.T, limits ratelimit.Limits, pool http.HandlerFunc) http.Handler {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	handler := must.Get(api.New(api.Services{
		Identity: identity.NewService(stalled{}, verifier{}, log),
		App:      fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}}, Pool: pool,
		Limiter: ratelimit.New(limits, nil),
	}, api.Config{}, log))(t)
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
		handler := poolServer(t, ratelimit.Limits{ratelimit.KindGuess: {Each: 5}}, func(w http.ResponseWriter, _ *http.Request) {
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
		handler := poolServer(t, ratelimit.Limits{ratelimit.KindGuess: {Each: 100}},
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

// TestR64_OnePersonLocksNoOfficeOut: wrong passwords count per account and address. The limit per address for all
// accounts is higher.
func TestR64_OnePersonLocksNoOfficeOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handler := poolServer(t, ratelimit.Limits{ratelimit.KindGuess: {Each: 2}, ratelimit.KindAddressGuess: {Each: 6}},
			func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusBadRequest)
			})
		try := func(peer, operation, body string) int {
			return from(t, handler, peer, "/pool/", body, "X-Amz-Target",
				"AWSCognitoIdentityProviderService."+operation).Code
		}
		signIn := func(peer, name string) int {
			return try(peer, "InitiateAuth",
				`{"AuthFlow":"USER_PASSWORD_AUTH","AuthParameters":{"USERNAME":"`+name+`"}}`)
		}
		for i := range 20 {
			name := []string{"taro@example.com", " TARO@example.com"}[i%2]
			if code := signIn("203.0.113.7", name); (code == http.StatusTooManyRequests) != (i >= 2) {
				t.Errorf("try %d: %d", i, code)
			}
		}
		for step, code := range []int{
			try("203.0.113.7", "ConfirmForgotPassword", `{"Username":"taro@example.com"}`), // With the same account,
			try("203.0.113.7", "RespondToAuthChallenge", `{"ChallengeResponses":{"USERNAME":"taro@example.com"}}`),
			signIn("203.0.113.8", "taro@example.com"),   // from another address,
			signIn("203.0.113.7", "hanako@example.com"), // and with another account.
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

// TestR64_UnexaminedCallsAreNotCounted: attempts that the pool could not check are not counted.
func TestR64_UnexaminedCallsAreNotCounted(t *testing.T) {
	t.Parallel()
	for kind, status := range map[string]int{
		"ServiceUnavailableException:": 503, "InternalErrorException:": 500, "TooManyRequestsException:": 400,
	} {
		synctest.Test(t, func(t *testing.T) {
			handler := poolServer(t, ratelimit.Limits{ratelimit.KindGuess: {Each: 2}, ratelimit.KindAddressGuess: {Each: 2}},
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
