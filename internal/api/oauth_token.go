package api

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oauth"
)

// maxOAuthForm bounds a form of an OAuth client, in bytes.
const maxOAuthForm = 16 << 10

// oauthHandler handles a form of an OAuth client.
type oauthHandler func(w http.ResponseWriter, r *http.Request, form url.Values) error

// oauth parses the form and writes errors as specified in RFC 6749 (section 5.2). Calls are limited by address.
func (s *Server) oauth(h oauthHandler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := s.Limiter.CountAddress(ratelimit.KindSignIn, clientAddress(r.Context()))
		if err == nil {
			var form url.Values
			if form, err = decodeForm(w, r); err == nil {
				err = h(w, r, form)
			}
		}
		if err != nil {
			s.writeOAuthError(w, r, err)
		}
	}
}

// oauthStatuses are the errors of RFC 6749, RFC 7009 and RFC 8628 with their statuses.
var oauthStatuses = map[fault.Code]int{
	oauth.InvalidRequest:       http.StatusBadRequest,
	oauth.InvalidClient:        http.StatusUnauthorized,
	oauth.InvalidGrant:         http.StatusBadRequest,
	oauth.InvalidScope:         http.StatusBadRequest,
	oauth.UnsupportedGrant:     http.StatusBadRequest,
	oauth.AccessDenied:         http.StatusBadRequest,
	oauth.AuthorizationPending: http.StatusBadRequest,
	oauth.SlowDown:             http.StatusBadRequest,
	oauth.ExpiredToken:         http.StatusBadRequest,
}

// writeOAuthError writes an error of an OAuth client's call.
func (s *Server) writeOAuthError(w http.ResponseWriter, r *http.Request, err error) {
	code := fault.CodeOf(err)
	if status, known := oauthStatuses[code]; known {
		if status == http.StatusUnauthorized {
			// RFC 6749 requires a challenge with the scheme of the request.
			w.Header().Set("WWW-Authenticate", `Basic realm="tsumugi"`)
		}
		_ = writeOAuth(w, status, OAuthError{Error: string(code), ErrorDescription: fault.DetailOf(err)})
		return
	}
	problem := s.problem(r, err) // Logs internal errors.
	answer := OAuthError{Error: "server_error", ErrorDescription: "request " + problem.RequestID + " failed"}
	if problem.Status == http.StatusServiceUnavailable || problem.Status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", retryAfter(err))
		answer = OAuthError{Error: "temporarily_unavailable", ErrorDescription: "try again later"}
	}
	_ = writeOAuth(w, problem.Status, answer)
}

// writeOAuth writes a record that must not be cached (RFC 6749, section 5.1).
func writeOAuth(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Pragma", "no-cache")
	return writeJSON(w, status, v)
}

// decodeForm parses the form of a public client. It refuses a client that authenticates with a secret, because clients
// have none, and a repeated parameter (RFC 6749, section 3.2).
func decodeForm(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	if scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Basic") {
		return nil, fault.Errorf(oauth.InvalidClient, "clients are public: send client_id in the body")
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
		media != "application/x-www-form-urlencoded" {
		return nil, fault.Errorf(oauth.InvalidRequest, "the body must be application/x-www-form-urlencoded")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxOAuthForm))
	if err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			return nil, fault.Wrap(err, oauth.InvalidRequest, "the body is too large")
		}
		return nil, fault.Wrap(err, oauth.InvalidRequest, "the body cannot be read")
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, fault.Wrap(err, oauth.InvalidRequest, "the body cannot be read as a form")
	}
	for _, values := range form {
		if len(values) > 1 {
			return nil, fault.Errorf(oauth.InvalidRequest, "a parameter is given twice")
		}
	}
	return form, nil
}

func oauthOrigin(r *http.Request) oauth.Origin {
	return oauth.Origin{
		Address: clientAddress(r.Context()), UserAgent: identity.ShortAgent(r.UserAgent()),
		RequestID: requestID(r.Context()),
	}
}

func (s *Server) token(w http.ResponseWriter, r *http.Request, form url.Values) error {
	tokens, err := s.OAuth.Exchange(r.Context(), oauth.TokenRequest{
		GrantType: form.Get("grant_type"), ClientID: form.Get("client_id"), Code: form.Get("code"),
		RedirectURI: form.Get("redirect_uri"), Verifier: form.Get("code_verifier"),
		RefreshToken: form.Get("refresh_token"), DeviceCode: form.Get("device_code"), Scope: form.Get("scope"),
		Origin: oauthOrigin(r),
	})
	if err != nil {
		return err
	}
	return writeOAuth(w, http.StatusOK, OAuthTokens{
		AccessToken: tokens.Access, TokenType: "Bearer", ExpiresIn: seconds(tokens.ExpiresIn),
		RefreshToken: tokens.Refresh, Scope: strings.Join(convert(tokens.Scopes, func(s identity.Scope) string {
			return string(s)
		}), " "),
	})
}

func (s *Server) revoke(w http.ResponseWriter, r *http.Request, form url.Values) error {
	if err := s.OAuth.Revoke(r.Context(), form.Get("client_id"), form.Get("token"), oauthOrigin(r)); err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	return nil
}

func (s *Server) beginDevice(w http.ResponseWriter, r *http.Request, form url.Values) error {
	code, err := s.OAuth.BeginDevice(r.Context(), form.Get("client_id"), form.Get("scope"), oauthOrigin(r))
	if err != nil {
		return err
	}
	return writeOAuth(w, http.StatusOK, DeviceCode{
		DeviceCode: code.DeviceCode, UserCode: code.UserCode, VerificationURI: code.VerificationURI,
		VerificationURIComplete: code.VerificationURIComplete, ExpiresIn: seconds(code.ExpiresIn),
		Interval: seconds(code.Interval),
	})
}

func seconds(d time.Duration) int { return int(d / time.Second) }

// oauthMetadata returns the authorization server's metadata (RFC 8414).
func (s *Server) oauthMetadata(w http.ResponseWriter, _ *http.Request) error {
	public := s.cfg.PublicURL
	return writeJSON(w, http.StatusOK, OAuthMetadata{
		Issuer: public, AuthorizationEndpoint: public + "/oauth/grant", TokenEndpoint: public + "/v1/oauth2/token",
		RevocationEndpoint: public + "/v1/oauth2/revoke", DeviceAuthorizationEndpoint: public + "/v1/oauth2/device",
		ScopesSupported:        toScopes(oauth.AllScopes()),
		ResponseTypesSupported: []string{"code"}, ResponseModesSupported: []string{"query"},
		GrantTypesSupported: []string{
			oauth.GrantCode, oauth.GrantRefresh, oauth.GrantDevice,
		},
		TokenEndpointAuthMethodsSupported:          []string{"none"},
		RevocationEndpointAuthMethodsSupported:     []string{"none"},
		CodeChallengeMethodsSupported:              []string{"S256"},
		AuthorizationResponseIssParameterSupported: true,
		ServiceDocumentation:                       public + "/docs/api",
	})
}
