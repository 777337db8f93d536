package toolserver_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/toolserver"
)

// gate is an authorization server, and the tool server behind it.
type gate struct {
	*httptest.Server

	t *testing.T

	mu         sync.Mutex
	challenges map[string]string // Guarded by mu. PKCE challenges by code.
	valid      []string          // Guarded by mu. Access tokens.
	refresh    []string          // Guarded by mu. Refresh tokens; each is accepted once.
	clients    []string          // Guarded by mu.
	forgotten  bool              // Guarded by mu. The server has lost its clients.
	revoked    chan string
	refreshed  atomic.Int64
	issued     atomic.Int64
	broken     bool     // Guarded by mu. The server's new tokens are not valid.
	register   bool     // The server registers clients.
	silent     bool     // Responses lack the issuer, and the metadata does not promise it.
	redirects  []string // Guarded by mu. The redirect URIs of the last registered client.
	scope      string   // The end of the challenge.
	lifetime   any      // Guarded by mu. The expires_in of tokens.
	final      bool     // Guarded by mu. Do not issue refresh tokens.

	needsToken func(message string) bool // Nil if all messages need one.
	refusal    func()                    // Called before each refusal with 401; may be nil.
	refusals   atomic.Int64

	stepUp    string // A scope that calls need, if it is not "".
	requested string // Guarded by mu. The scopes of the last connection.

	answering func(path string) // Called during each request to the authorization server; may be nil.
}

func newGate(t *testing.T, c *crm) *gate {
	t.Helper()
	g := &gate{t: t, challenges: make(map[string]string), revoked: make(chan string, 10), register: true, lifetime: 3600}
	mux := http.NewServeMux()
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.answering != nil {
			g.answering(r.URL.Path)
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(g.Close)
	reply := func(w http.ResponseWriter, status int, record map[string]any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(record)
	}
	mux.HandleFunc("/metadata", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 200, map[string]any{
			"resource": g.URL + "/mcp", "authorization_servers": []string{g.URL}, "scopes_supported": []string{"crm"},
		})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		meta := map[string]any{
			"issuer": g.URL, "authorization_endpoint": g.URL + "/authorize?tenant=1", "token_endpoint": g.URL + "/token",
			"revocation_endpoint": g.URL + "/revoke", "response_types_supported": []string{"code"},
			"code_challenge_methods_supported": []string{"S256"}, "scopes_supported": []string{"crm", "offline_access"},
			"authorization_response_iss_parameter_supported": !g.silent,
			"token_endpoint_auth_methods_supported":          []string{"none", "client_secret_basic"},
		}
		if g.register {
			meta["registration_endpoint"] = g.URL + "/register"
		}
		reply(w, 200, meta)
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var client struct {
			RedirectURIs []string `json:"redirect_uris"`
		}
		if err := json.NewDecoder(r.Body).Decode(&client); err != nil || len(client.RedirectURIs) != 1 {
			t.Errorf("%+v, %v", client, err)
		}
		g.mu.Lock()
		g.clients, g.redirects, g.forgotten = append(g.clients, "client-1"), client.RedirectURIs, false
		g.mu.Unlock()
		reply(w, 201, map[string]any{"client_id": "client-1", "redirect_uris": client.RedirectURIs})
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		status, record := g.token(r)
		reply(w, status, record)
	})
	mux.HandleFunc("/revoke", func(_ http.ResponseWriter, r *http.Request) { g.revoked <- r.FormValue("token") })
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if !g.admits(r) {
			g.refusals.Add(1)
			if g.refusal != nil {
				g.refusal()
			}
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+g.URL+`/metadata"`+g.scope)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if g.lacksScope(r) {
			g.refusals.Add(1)
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="crm `+g.stepUp+`"`)
			w.WriteHeader(http.StatusForbidden)
			return
		}
		c.Config.Handler.ServeHTTP(w, r)
	})
	return g
}

// admits reports whether the server processes a message: its token is valid, or it needs none.
func (g *gate) admits(r *http.Request) bool {
	if g.needsToken != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			g.t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !g.needsToken(string(body)) {
			return true
		}
	}
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Contains(g.valid, token)
}

// lacksScope reports whether a message is a call that needs a scope that was not requested.
func (g *gate) lacksScope(r *http.Request) bool {
	if g.stepUp == "" {
		return false
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		g.t.Error(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	g.mu.Lock()
	defer g.mu.Unlock()
	return isCall(string(body)) && !slices.Contains(strings.Fields(g.requested), g.stepUp)
}

// end revokes the access tokens. If broken is set, later tokens are not valid either.
func (g *gate) end(broken bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.valid, g.broken = nil, broken
}

// token handles a request to the token endpoint.
func (g *gate) token(r *http.Request) (int, map[string]any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	refused := map[string]any{"error": "invalid_grant"}
	if g.forgotten {
		return 401, map[string]any{"error": "invalid_client"}
	}
	if r.FormValue("client_id") != "client-1" || r.FormValue("resource") != g.URL+"/mcp" {
		return 400, map[string]any{"error": "invalid_request"}
	}
	switch r.FormValue("grant_type") {
	case "authorization_code":
		challenge, ok := g.challenges[r.FormValue("code")]
		delete(g.challenges, r.FormValue("code"))
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if !ok || challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
			return 400, refused
		}
	case "refresh_token":
		i := slices.Index(g.refresh, r.FormValue("refresh_token"))
		if i < 0 {
			return 400, refused
		}
		g.refreshed.Add(1)
		g.refresh = slices.Delete(g.refresh, i, i+1)
	default:
		return 400, map[string]any{"error": "unsupported_grant_type"}
	}
	n := string('a' + rune(g.issued.Add(1)-1))
	g.valid, g.refresh = []string{"access-" + n}, append(g.refresh, "refresh-"+n)
	if g.broken {
		g.valid = nil
	}
	issued := map[string]any{"access_token": "access-" + n, "token_type": "bearer", "expires_in": g.lifetime}
	if !g.final {
		issued["refresh_token"] = "refresh-" + n
	}
	return 200, issued
}

// authorize returns the callback for an authorization URL.
func (g *gate) authorize(address, browser string) toolserver.Callback {
	g.t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		g.t.Fatal(err)
	}
	q := u.Query()
	if q.Get("tenant") != "1" || q.Get("client_id") != "client-1" || q.Get("resource") != g.URL+"/mcp" ||
		!strings.HasPrefix(q.Get("scope"), "crm offline_access") || q.Get("code_challenge_method") != "S256" {
		g.t.Errorf("the address is %s", address)
	}
	redirect := q.Get("redirect_uri")
	path, _ := strings.CutPrefix(redirect, publicURL+"/v1/tool-connection/")
	serverID, err := uuid.Parse(strings.TrimSuffix(path, "/callback"))
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil || g.register && !slices.Contains(g.redirects, redirect) {
		g.t.Errorf("the redirect URI is %s, registered are %v", redirect, g.redirects)
	}
	g.challenges["code-1"], g.requested = q.Get("code_challenge"), q.Get("scope")
	back := toolserver.Callback{ServerID: serverID, State: q.Get("state"), Code: "code-1", Browser: browser}
	if !g.silent {
		back.Issuer = g.URL
	}
	return back
}
