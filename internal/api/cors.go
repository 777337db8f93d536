package api

import (
	"net/http"
	"slices"
	"strings"
)

// The request headers that an extension may send, and the response headers that it may read in addition to those that
// are always readable.
const (
	corsMethods = "GET, POST, DELETE"
	corsHeaders = "Authorization, Content-Type, Last-Event-ID, Idempotency-Key, X-Request-Id"
	corsExposed = "X-Request-Id, Retry-After"
	corsMaxAge  = "7200" // In seconds: the maximum of Chromium.
)

// withCORS allows the pages of the configured browser extensions to make the calls that an extension needs. The origin
// in the response is the configured one, never one from the request. Credentials are not allowed, because a call
// authenticates with its bearer token only.
func (s *Server) withCORS(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !extensionMayCall(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Add("Vary", "Origin")
		at := -1
		if origins := r.Header.Values("Origin"); len(origins) == 1 {
			at = slices.Index(s.cfg.ExtensionOrigins, origins[0])
		}
		if at < 0 {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Origin", s.cfg.ExtensionOrigins[at])
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", corsMethods)
			h.Set("Access-Control-Allow-Headers", corsHeaders)
			h.Set("Access-Control-Max-Age", corsMaxAge)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		h.Set("Access-Control-Expose-Headers", corsExposed)
		next.ServeHTTP(w, r)
	})
}

// extensionMayCall reports whether the browser extension may call a path.
func extensionMayCall(path string) bool {
	switch path {
	case "/config.json", "/.well-known/oauth-authorization-server", "/v1/oauth2/token", "/v1/oauth2/revoke",
		"/v1/oauth2/device", "/v1/me", "/v1/message", "/v1/message/stream", "/v1/message_feedback",
		"/v1/project", "/v1/tool-call":
		return true
	}
	if strings.HasPrefix(path, "/external/chrome_extension/") || strings.HasPrefix(path, "/v1/message_feedback/") {
		return true
	}
	if id, found := strings.CutPrefix(path, "/v1/tool-call/"); found {
		_, call, _ := strings.Cut(id, "/")
		return call == "decision"
	}
	id, found := strings.CutPrefix(path, "/v1/message/")
	_, call, _ := strings.Cut(id, "/")
	return found && (call == "stream" || call == "stop")
}
