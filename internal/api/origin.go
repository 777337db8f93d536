package api

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/identity/opaque"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
)

const (
	// deviceCookie identifies a browser for the user pool. It does not authenticate and contains no data of its user.
	deviceCookie    = "tsumugi_device"
	deviceCookieAge = 400 * 24 * 60 * 60 // In seconds: the maximum that browsers allow.
)

var deviceForm = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// withOrigin sets the origin of a call for the user pool. It sets or renews the device cookie.
func (s *Server) withOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := pool.Origin{
			Address: clientAddress(r.Context()), RequestID: requestID(r.Context()), UserAgent: r.UserAgent(),
			// Browsers set this header (Fetch Metadata), and scripts cannot.
			Browser: r.Header.Get("Sec-Fetch-Site") != "",
		}
		cookie := s.cookie(deviceCookie, deviceCookieAge) //nolint:gosec // Secure wherever there is TLS.
		if given, err := r.Cookie(cookie.Name); err == nil && deviceForm.MatchString(given.Value) {
			origin.Device = given.Value
		}
		if origin.Browser {
			if origin.Device == "" {
				origin.Device, _ = opaque.New()
			}
			cookie.Value, cookie.SameSite = origin.Device, http.SameSiteLaxMode
			http.SetCookie(w, cookie)
		}
		next.ServeHTTP(w, r.WithContext(pool.WithOrigin(r.Context(), origin)))
	})
}

// cookie returns a cookie without a value. With TLS, its name begins with hostOnly, which browsers accept from this
// host only. Otherwise, other hosts of the domain could set it.
func (s *Server) cookie(name string, age int) *http.Cookie {
	//nolint:gosec // Secure if the server uses TLS.
	cookie := &http.Cookie{Name: name, Path: "/", MaxAge: age, HttpOnly: true}
	if s.SSO != nil && s.SSO.OverTLS() {
		cookie.Name, cookie.Secure = hostOnly+name, true
	}
	return cookie
}

// poolOperation returns the user pool operation of a call, such as "pool.InitiateAuth", or "".
func poolOperation(r *http.Request) string {
	if operation := pool.OperationOf(r); operation != "" && strings.HasPrefix(r.URL.Path, "/pool/") {
		return "pool." + operation
	}
	return ""
}
