package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// TestR59_Scopes calls all routes as connections with each scope.
func TestR59_Scopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tokens := make(map[identity.Scope]string)
	for scope := range scopesOfRoutes {
		tokens[scope] = w.personalToken(w.super, string(scope)).Token
	}
	for _, route := range routesOf(t, w.handler) {
		if access[route].may == nil {
			continue // It requires no session token.
		}
		for scope, token := range tokens {
			resp := w.do(access[route].call(route, token, newID()))
			refused := resp.status == http.StatusForbidden && strings.Contains(string(resp.body), "insufficient_scope")
			if refused == scopesOfRoutes[scope](route) {
				t.Errorf("%s with the scope %s: %d %s", route, scope, resp.status, resp.body)
			}
		}
	}
}

// scopesOfRoutes reports the routes that each scope allows.
var scopesOfRoutes = map[identity.Scope]func(route string) bool{
	identity.ScopeChat: func(route string) bool {
		return has(route, "/v1/category", "/v1/skill", "/v1/favorite_skill", "/v1/notification",
			"/v1/thread", "/v1/share",
			"/v1/message", "/v1/message_feedback", "/v1/me", "/v1/model", "/v1/models", "/v1/chat", "/v1/responses",
			"/v1/picture", "/v1/tool-call", "/mcp") &&
			!strings.Contains(route, "preprocess") &&
			// Notices are written in the app only.
			(!has(route, "/v1/notification") || route == "GET /v1/notification" ||
				route == "PUT /v1/notification/read") &&
			// Skills are created in the app only.
			(!has(route, "/v1/skill") || route == "GET /v1/skill" || route == "GET /v1/skill/{skill_id}") &&
			(!has(route, "/v1/category") || route == "GET /v1/category")
	},
	identity.ScopeDocuments: func(route string) bool {
		return has(route, "/v1/data-source", "/v1/me", "/mcp") || strings.Contains(route, "preprocess")
	},
	identity.ScopeExtension: func(route string) bool {
		return has(route, "/external/chrome_extension", "/v1/me") || route == "GET /v1/thread/{thread_id}" ||
			route == "GET /v1/message" || route == "GET /v1/project" || route == "POST /v1/message/stream" ||
			strings.HasPrefix(route, "GET ") && strings.HasSuffix(route, "/stream") ||
			strings.HasSuffix(route, "{message_id}/stop") || has(route, "/v1/message_feedback", "/v1/tool-call")
	},
}

// has reports whether a route's path equals one of paths, or is below one.
func has(route string, paths ...string) bool {
	_, path, _ := strings.Cut(route, " ")
	if path == "/v1/me/export" { // For the app only.
		return false
	}
	for _, p := range paths {
		if path == p || strings.HasPrefix(path, p+"/") || strings.HasPrefix(path, p+"-") {
			return true
		}
	}
	return false
}
