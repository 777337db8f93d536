package api_test

import (
	"errors"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// undocumented are routes outside of the API: those of the app.
var undocumented = []string{"/*", "/docs/api.css"}

func TestRoutesAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	source := must.Get(os.ReadFile("openapi.yaml"))(t)
	doc := must.Get(openapi3.NewLoader().LoadFromData(source))(t)
	documented := make(map[string]bool)
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			documented[method+" "+path] = true
		}
	}
	routed := make(map[string]bool)
	for _, route := range routesOf(t, f.handler) {
		if _, path, _ := strings.Cut(route, " "); !slices.Contains(undocumented, path) {
			routed[route] = true
		}
	}
	if !maps.Equal(routed, documented) {
		for _, route := range slices.Sorted(maps.Keys(routed)) {
			if !documented[route] {
				t.Errorf("openapi.yaml lacks %s", route)
			}
		}
		for _, route := range slices.Sorted(maps.Keys(documented)) {
			if !routed[route] {
				t.Errorf("the router lacks %s", route)
			}
		}
	}
}

func TestInactiveUserIsNoUser(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	me := get[api.Me](f, http.StatusOK, call{method: "GET", path: "/v1/me", token: f.alice.Subject})
	if me.Email != f.alice.Email || me.Organization.Name != "紡績" || me.Role != "general-user" ||
		me.AuthType != "cognito" {
		t.Errorf("got %+v", me)
	}
	f.exec("UPDATE users SET state = 'inactive' WHERE id = $1", f.alice.ID)
	resp := f.do(call{method: "GET", path: "/v1/me", token: f.alice.Subject})
	if p := resp.problem(t); p.Detail != "Not authenticated: no user found" {
		t.Errorf("got %+v", p)
	}
}

func TestR63_BodiesAreReadStrictly(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	thread := f.thread(f.alice.Subject)
	ask := "/v1/message/async"
	for name, c := range map[string]struct {
		path   string
		body   string
		header map[string]string
		status int
		code   string
		fields []string
	}{
		"unknown field": {
			path: ask,
			body: `{"thread_id":"` + thread.ID.String() + `","request_id":"` + newID() +
				`","content":"a","role":"system"}`,
			status: 400, code: "invalid", fields: []string{"role"},
		},
		"owner in the body": {
			path: "/v1/thread", body: `{"skill_id":"` + newID() + `","organization_id":"` + newID() + `"}`, status: 400,
			code: "invalid", fields: []string{"organization_id"},
		},
		"wrong type": {
			path: ask, body: `{"thread_id":7}`, status: 400, code: "invalid",
			fields: []string{"thread_id"},
		},
		"wrong type inside": {
			path: ask, body: `{"form":{"text":[]}}`, status: 400, code: "invalid",
			fields: []string{"form"},
		},
		"malformed ids": {
			path: ask, body: `{"thread_id":"x","request_id":"{` + newID() + `}","content":"a"}`,
			status: 400, code: "invalid", fields: []string{"request_id", "thread_id"},
		},
		"missing": {
			path: ask, body: `{"content":"a"}`, status: 400, code: "invalid",
			fields: []string{"request_id", "thread_id"},
		},
		"no JSON":       {path: ask, body: `{"thread_id":`, status: 400, code: "invalid"},
		"two values":    {path: ask, body: `{} {}`, status: 400, code: "invalid"},
		"a list":        {path: ask, body: `[]`, status: 400, code: "invalid"},
		"empty":         {path: ask, body: ``, status: 400, code: "invalid"},
		"deeply nested": {path: ask, body: strings.Repeat(`{"form":`, 20_000), status: 400, code: "invalid"},
		"oversize": {
			path: ask, body: `{"content":"` + strings.Repeat("あ", 400_000) + `"}`, status: 413,
			code: "too_large",
		},
		"text/plain": {
			path: ask, body: `{}`, header: map[string]string{"Content-Type": "text/plain"},
			status: 415, code: "unsupported_media_type",
		},
		"gzip": {
			path: ask, body: `{}`, header: map[string]string{"Content-Encoding": "gzip"}, status: 415,
			code: "unsupported_media_type",
		},
		"people of a type": {
			path: "/v1/user/invite", body: `{"users":[{"email":7}]}`, status: 400, code: "invalid",
			fields: []string{"users.email"},
		},
		"nobody": {
			path: "/v1/user/invite", body: `{"users":null,"organization_id":"x"}`, status: 400,
			code: "invalid", fields: []string{"organization_id"},
		},
		"bad rating": {
			path: "/v1/message_feedback", body: `{"message_id":"` + newID() + `","rating":"great"}`,
			status: 400, code: "invalid", fields: []string{"rating"},
		},
		"long comment": {
			path:   "/v1/message_feedback",
			body:   `{"message_id":"` + newID() + `","rating":"good","comment":"` + strings.Repeat("あ", 2001) + `"}`,
			status: 400, code: "invalid", fields: []string{"comment"},
		},
		"long title": {
			path:   "/v1/thread",
			body:   `{"skill_id":"` + f.chatSkill().ID.String() + `","title":"` + strings.Repeat("あ", 101) + `"}`,
			status: 400, code: "invalid", fields: []string{"title"},
		},
		"bad address": {
			path: "/v1/auth-type", body: `{"email":"nobody"}`, status: 400, code: "invalid",
			fields: []string{"email"},
		},
		"address with NUL": {
			path: "/v1/auth-type", body: `{"email":"a@b\u0000c"}`, status: 400, code: "invalid",
			fields: []string{"email"},
		},
		"long address": {
			path: "/v1/auth-type", body: `{"email":"a@` + strings.Repeat("b", 253) + `"}`,
			status: 400, code: "invalid", fields: []string{"email"},
		},
		"other key": {
			path: ask, body: `{"thread_id":"` + newID() + `","request_id":"` + newID() + `","content":"a"}`,
			header: map[string]string{"Idempotency-Key": newID()}, status: 400, code: "invalid",
			fields: []string{"request_id"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			resp := f.do(call{method: "POST", path: c.path, token: f.alice.Subject, body: c.body, header: c.header})
			p := resp.problem(t)
			fields := make([]string, 0)
			for _, e := range p.Errors {
				fields = append(fields, e.Field)
			}
			slices.Sort(fields)
			if resp.status != c.status || p.Code != c.code || !slices.Equal(fields, append([]string{}, c.fields...)) {
				t.Errorf("got %d %+v", resp.status, p)
			}
			if resp.header.Get("Content-Type") != "application/problem+json" || p.Status != resp.status ||
				p.RequestID == "" || p.Detail == "" {
				t.Errorf("an incomplete problem: %+v", p)
			}
		})
	}
}

func TestListsTakeOffsetAndLimit(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	thread := f.thread(f.alice.Subject)
	for _, path := range []string{
		"/v1/category?", "/v1/skill?", "/v1/favorite_skill?", "/v1/notification?",
		"/v1/thread?", "/v1/message?thread_id=" + thread.ID.String() + "&",
	} {
		for query, field := range map[string]string{
			"limit=0": "limit", "limit=101": "limit", "limit=x": "limit", "limit=": "limit", "limit=1&limit=2": "limit",
			"offset=-1": "offset", "offset=1.5": "offset", "offset=99999999999999999999": "offset",
		} {
			resp := f.do(call{method: "GET", path: path + query, token: f.alice.Subject})
			if p := resp.problem(t); resp.status != http.StatusBadRequest || len(p.Errors) != 1 ||
				p.Errors[0].Field != field {
				t.Errorf("%s%s: %d %+v", path, query, resp.status, p)
			}
		}
		for _, query := range []string{"", "limit=100", "limit=1&offset=1000"} {
			if resp := f.do(call{
				method: "GET", path: path + query,
				token: f.alice.Subject,
			}); resp.status != http.StatusOK ||
				!strings.Contains(string(resp.body), `"items":[`) {
				t.Errorf("%s%s: %d %s", path, query, resp.status, resp.body)
			}
		}
	}
	resp := f.do(call{method: "GET", path: "/v1/message", token: f.alice.Subject})
	if p := resp.problem(t); resp.status != http.StatusBadRequest || p.Errors[0].Field != "thread_id" {
		t.Errorf("without a thread: %d %+v", resp.status, p)
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	for given, kept := range map[string]bool{
		"abc-1.2_X": true, strings.Repeat("a", 64): true,
		strings.Repeat("a", 65): false, "a b": false, "日本": false, "": false,
	} {
		resp := f.do(call{
			method: "GET", path: "/v1/thread/" + newID(), token: f.alice.Subject,
			header: map[string]string{"X-Request-Id": given},
		})
		id := resp.header.Get("X-Request-Id")
		if p := resp.problem(t); p.RequestID != id || id == "" || (id == given) != kept {
			t.Errorf("given %q: header %q, problem %q", given, id, p.RequestID)
		}
	}
}

func TestAuthTypeDoesNotRevealWhoExists(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	ask := func(email string) api.AuthType {
		return get[api.AuthType](f, http.StatusOK, call{
			method: "POST", path: "/v1/auth-type",
			body: map[string]any{"email": email},
		})
	}
	known := ask("Alice@Tsumugi.example")
	if known.AuthType != "cognito" || known.Endpoint != "/pool/" || known.ClientID != "client" ||
		known.OrganizationID != f.alice.OrganizationID {
		t.Errorf("got %+v", known)
	}
	if unknown := ask("nobody@tsumugi.example"); unknown != known {
		t.Errorf("got %+v", unknown)
	}
	if elsewhere := ask("nobody@nowhere.example"); elsewhere.AuthType != "cognito" {
		t.Errorf("got %+v", elsewhere)
	}
}

func TestHealthAndConfiguration(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	for _, path := range []string{"/ping", "/healthz", "/readyz"} {
		if h := get[api.Health](f, http.StatusOK, call{method: "GET", path: path}); h.Status != "ok" {
			t.Errorf("%s: %+v", path, h)
		}
	}
	if c := get[api.AppConfig](f, http.StatusOK, call{method: "GET", path: "/config.json"}); c.Brand != "Tsumugi" ||
		c.Links.News != "https://news.example/" || c.ModelConnected ||
		c.Passkeys != (api.PasskeyClient{ClientID: "client", Endpoint: "/pool/"}) {
		t.Errorf("got %+v", c)
	}
	f.ready = errors.New("stopping")
	resp := f.do(call{method: "GET", path: "/readyz"})
	if resp.status != http.StatusServiceUnavailable || resp.header.Get("Retry-After") == "" ||
		strings.Contains(string(resp.body), "stopping") {
		t.Errorf("got %d %s", resp.status, resp.body)
	}
}

func TestPagesLoadNothingFromOtherOrigins(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	docs := f.do(call{method: "GET", path: "/docs/api"})
	body := string(docs.body)
	if docs.status != http.StatusOK || !strings.Contains(body, "/v1/message/stream") ||
		!strings.Contains(body, `id="schema-Problem"`) {
		t.Fatalf("got %d", docs.status)
	}
	// Descriptions are rendered: the page contains neither their Markdown nor HTML from them.
	for _, want := range []string{
		"<h2>Conventions</h2>", "<code>Authorization: Bearer &lt;token&gt;</code>", "the scope\n      <code>chat</code>",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if found := regexp.MustCompile("(?m)^## |<!-- raw HTML").FindString(body); found != "" {
		t.Errorf("the page has %q", found)
	}
	if found := regexp.MustCompile(`(?:src|href)="(?:https?:)?//[^"]*"`).FindString(body); found != "" {
		t.Errorf("the page loads %s", found)
	}
	for path, media := range map[string]string{
		"/docs/api.css": "text/css; charset=utf-8",
		"/openapi.yaml": "application/yaml",
	} {
		if resp := f.do(call{method: "GET", path: path}); resp.status != http.StatusOK ||
			resp.header.Get("Content-Type") != media {
			t.Errorf("%s: %d %s", path, resp.status, resp.header.Get("Content-Type"))
		}
	}
	for _, path := range []string{"/", "/home/skill", "/login", "/no/such/page", "/../../etc/passwd"} {
		resp := f.do(call{method: "GET", path: path})
		policy := resp.header.Get("Content-Security-Policy")
		if resp.status != http.StatusOK || !strings.Contains(string(resp.body), "<title>Tsumugi") ||
			!strings.Contains(policy, "script-src 'self';") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %d %q %s", path, resp.status, policy, resp.body)
		}
	}
	if resp := f.do(call{method: "HEAD", path: "/"}); resp.status != http.StatusOK || len(resp.body) != 0 {
		t.Errorf("HEAD: %d", resp.status)
	}
	// The frame for diagrams is sandboxed, can be shown only by the app, and cannot load or send anything.
	frame := f.do(call{method: "GET", path: "/diagram.html"}).header
	for _, want := range []string{
		"sandbox allow-scripts;", "default-src 'none';", "script-src 'self' blob:;",
		"frame-ancestors 'self'",
	} {
		if policy := frame.Get("Content-Security-Policy"); !strings.Contains(policy, want) {
			t.Errorf("the frame's policy %q lacks %s", policy, want)
		}
	}
	if got := frame.Get("X-Frame-Options"); got != "SAMEORIGIN" {
		t.Errorf("got %q", got)
	}
	asset := f.do(call{method: "GET", path: "/assets/app-abc.js", header: map[string]string{"Accept-Encoding": "gzip"}})
	if !strings.Contains(asset.header.Get("Cache-Control"), "immutable") ||
		asset.header.Get("Content-Encoding") != "gzip" || asset.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("got %v", asset.header)
	}
	manifest := f.do(call{method: "GET", path: "/manifest.webmanifest"})
	if manifest.header.Get("Content-Type") != "application/manifest+json" ||
		manifest.header.Get("Cache-Control") != "no-cache" {
		t.Errorf("got %v", manifest.header)
	}
	for _, c := range []call{
		{method: "GET", path: "/v1/none"},
		{method: "POST", path: "/v1/none"},
		{method: "GET", path: "/external/none"},
		{method: "GET", path: "/assets/gone.js"},
	} {
		if resp := f.do(c); resp.status != http.StatusNotFound || resp.problem(t).Code != "not_found" {
			t.Errorf("%s %s: %d %s", c.method, c.path, resp.status, resp.body)
		}
	}
	if resp := f.do(call{method: "PATCH", path: "/v1/favorite_skill"}); resp.status != http.StatusMethodNotAllowed ||
		resp.header.Get("Allow") != "GET, POST, DELETE" {
		t.Errorf("got %d, allowed %q", resp.status, resp.header.Get("Allow"))
	}
}

func TestR74_NoOtherOriginIsAllowed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	for _, origin := range []string{"https://evil.example", "null", f.url} {
		for _, method := range []string{"GET", "OPTIONS"} {
			resp := f.do(call{
				method: method, path: "/v1/me", token: f.alice.Subject,
				header: map[string]string{"Origin": origin, "Access-Control-Request-Method": "POST"},
			})
			if got := resp.header.Get("Access-Control-Allow-Origin"); got != "" {
				t.Errorf("%s from %s: %q", method, origin, got)
			}
		}
	}
}
