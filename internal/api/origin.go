package api

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
)

const (
	// deviceCookie is what the user pool knows a browser by again. It proves nothing, and says nothing of who uses it.
	deviceCookie    = "tsumugi_device"
	deviceCookieAge = 400 * 24 * 60 * 60 // Seconds: the most that browsers keep.
)

var deviceForm = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// withOrigin tells the user pool where a call comes from. A browser that has no cookie yet is given one, and one that
// has keeps it for as long again.
func (s *Server) withOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := pool.Origin{
			Address: clientAddress(r.Context()), RequestID: requestID(r.Context()), UserAgent: r.UserAgent(),
			// Browsers say so themselves (Fetch Metadata), and scripts of a page cannot.
			Browser: r.Header.Get("Sec-Fetch-Site") != "",
		}
		cookie := s.cookie(deviceCookie, deviceCookieAge) //nolint:gosec // Secure wherever there is TLS.
		if given, err := r.Cookie(cookie.Name); err == nil && deviceForm.MatchString(given.Value) {
			origin.Device = given.Value
		}
		if origin.Browser {
			if origin.Device == "" {
				origin.Device = pool.NewDevice()
			}
			cookie.Value, cookie.SameSite = origin.Device, http.SameSiteLaxMode
			http.SetCookie(w, cookie)
		}
		next.ServeHTTP(w, r.WithContext(pool.WithOrigin(r.Context(), origin)))
	})
}

// cookie returns a cookie of this server without its value. Over TLS browsers take one whose name begins with hostOnly
// from this server alone: others of the same domain could set it, too.
func (s *Server) cookie(name string, age int) *http.Cookie {
	cookie := &http.Cookie{Name: name, Path: "/", MaxAge: age, HttpOnly: true} //nolint:gosec // Secure wherever there is TLS.
	if s.SAML != nil && s.SAML.OverTLS() {
		cookie.Name, cookie.Secure = hostOnly+name, true
	}
	return cookie
}

// poolOperation returns the operation that a call of the user pool names, as in "pool.InitiateAuth", or "".
func poolOperation(r *http.Request) string {
	if operation := pool.OperationOf(r); operation != "" && strings.HasPrefix(r.URL.Path, "/pool/") {
		return "pool." + operation
	}
	return ""
}
