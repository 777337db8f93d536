package api

import (
	"cmp"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
)

const (
	// ssoCookie binds a sign-in to the browser that started it. Without the hostOnly name, another host of the domain
	// could set it and sign in a person under another account.
	ssoCookie    = "tsumugi_sso"
	hostOnly     = "__Host-"
	ssoCookieAge = 15 * 60 // In seconds: the maximum time for a sign-in and the exchange of its code.

	// The app's page after the response of the identity provider.
	callbackPage = "/oauth2/callback"
	linkPage     = "/login/link"
	trialPage    = "/admin/saml"

	// Bounds of the reported error and description in characters, as in openapi.yaml.
	maxReported     = 128
	maxReportedText = 1024

	maxSSOForm = 512 << 10 // In bytes: the largest SAML response in Base64, percent-encoded.
)

// authorize redirects the browser to the organization's identity provider.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) error {
	c := checks{r: r}
	organizationID := c.queryID("organization_id")
	if err := c.err(); err != nil {
		return err
	}
	start, err := s.beginSSO(r, sso.Request{
		OrganizationID: organizationID, Browser: s.ssoBrowser(r), Next: c.query("next"),
		Reauthenticate: c.query("prompt") == "login",
	})
	if err != nil {
		return signInFailed(w, r, s.problem(r, err))
	}
	s.bindBrowser(w, start.Browser)
	return seeOther(w, start.URL)
}

// beginSSO begins a sign-in with the protocol of an organization.
func (s *Server) beginSSO(r *http.Request, request sso.Request) (sso.Redirect, error) {
	provider, err := s.SSO.Provider(r.Context(), request.OrganizationID)
	if err == nil && provider.Protocol == sso.OIDC {
		return s.OIDC.Begin(r.Context(), request)
	}
	return s.SAML.Begin(r.Context(), request) // Its errors include those above.
}

// oauth2Callback exchanges a one-time code for tokens.
func (s *Server) oauth2Callback(w http.ResponseWriter, r *http.Request) error {
	c := checks{r: r}
	organizationID := c.queryID("organization_id")
	code, reported, said := c.query("code"), c.query("error"), c.query("error_description")
	c.atMost("error", reported, maxReported)
	c.atMost("error_description", said, maxReportedText)
	c.need("code", code+reported)
	if err := c.err(); err != nil {
		return err
	}
	if reported != "" {
		// Anybody can create such a URL, so its texts are logged and not shown.
		s.log.InfoContext(r.Context(), "api: single sign-on failed", "error", reported, "error_description", said)
		return fault.Errorf(sso.CodeDenied, "組織の認証画面でログインが完了しませんでした。もう一度お試しください。")
	}
	session, err := s.SSO.Exchange(r.Context(), organizationID, code, s.ssoBrowser(r))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, TokenRecord{
		AuthType: AuthKind(identity.AuthFederated), ClientID: session.ClientID, RefreshToken: session.RefreshToken,
		IDToken: session.IDToken, AccessToken: session.AccessToken, ExpiresIn: session.ExpiresIn,
		TokenType: session.TokenType, Next: session.Next,
	})
}

// getSSOLink returns the account that a pending single sign-on would be linked to.
func (s *Server) getSSOLink(w http.ResponseWriter, r *http.Request) error {
	c := checks{r: r}
	organizationID, link := c.queryID("organization_id"), c.query("link")
	c.need("link", link)
	if err := c.err(); err != nil {
		return err
	}
	pending, err := s.SSO.PendingLink(r.Context(), organizationID, link, s.ssoBrowser(r))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, SSOLink{Email: pending.MemberEmail})
}

// confirmSSOLink links a pending single sign-on to the account of the actor, who has just entered their password.
func (s *Server) confirmSSOLink(w http.ResponseWriter, r *http.Request) error {
	var req SSOLinkRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	token, err := bearer(r)
	if err != nil {
		return err
	}
	actor, err := s.Identity.AuthenticatePassword(r.Context(), token, clientAddress(r.Context()))
	if err != nil {
		return err
	}
	var c checks
	organizationID := c.id("organization_id", req.OrganizationID)
	c.need("link", req.Link)
	if err := c.err(); err != nil {
		return err
	}
	code, err := s.SSO.Link(r.Context(), actor, organizationID, req.Link, s.ssoBrowser(r), origin(r))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, SSOLinked{OrganizationID: organizationID, Code: code})
}

// refreshToken renews a session of single sign-on.
func (s *Server) refreshToken(w http.ResponseWriter, r *http.Request) error {
	var req RefreshTokenRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	var c checks
	c.need("client_id", req.ClientID)
	c.need("refresh_token", req.RefreshToken)
	if err := c.err(); err != nil {
		return err
	}
	tokens, err := s.SSO.Refresh(r.Context(), req.ClientID, req.RefreshToken)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, RefreshedTokens{
		IDToken: tokens.IDToken, AccessToken: tokens.AccessToken, ExpiresIn: tokens.ExpiresIn,
		TokenType: tokens.TokenType,
	})
}

// samlMetadata returns the service provider metadata of an organization.
func (s *Server) samlMetadata(w http.ResponseWriter, r *http.Request) error {
	organizationID, err := pathID(r)
	if err != nil {
		return err
	}
	body, err := s.SAML.Metadata(r.Context(), organizationID)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/samlmetadata+xml")
	//nolint:gosec // The server has created the XML. The client may have disconnected.
	_, _ = w.Write(body)
	return nil
}

// samlConsumer handles the identity provider's response, posted by the browser.
func (s *Server) samlConsumer(w http.ResponseWriter, r *http.Request) error {
	organizationID, err := pathID(r)
	if err != nil {
		return err
	}
	if err := parseForm(w, r); err != nil {
		return err
	}
	outcome, err := s.SAML.Consume(r.Context(), saml.ACSRequest{
		OrganizationID: organizationID, Browser: s.ssoBrowser(r),
		RelayState: r.PostForm.Get("RelayState"), Response: r.PostForm.Get("SAMLResponse"),
		Origin: origin(r),
	})
	if err != nil {
		return signInFailed(w, r, s.problem(r, err))
	}
	return toOutcome(w, organizationID, outcome)
}

// parseForm parses the form in the body of a request from an identity provider.
func parseForm(w http.ResponseWriter, r *http.Request) error {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
		media != "application/x-www-form-urlencoded" {
		return fault.Errorf(fault.UnsupportedType, "Content-Type には application/x-www-form-urlencoded を指定してください。")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxSSOForm)
	if err := r.ParseForm(); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return fault.Wrap(err, fault.TooLarge, "送信内容が大きすぎます。")
		}
		return fault.Wrap(err, fault.Invalid, "フォームを読み取れませんでした。")
	}
	return nil
}

// toOutcome redirects the browser to the next step of a sign-in.
func toOutcome(w http.ResponseWriter, organizationID uuid.UUID, outcome sso.Outcome) error {
	switch {
	case outcome.Link != "":
		return toPage(w, linkPage, url.Values{"organization_id": {organizationID.String()}, "link": {outcome.Link}})
	case outcome.Test != uuid.Nil:
		return toPage(w, trialPage, url.Values{"test": {outcome.Test.String()}})
	}
	return toPage(w, callbackPage, url.Values{"organization_id": {organizationID.String()}, "code": {outcome.Code}})
}

// origin returns the origin of a request for the audit log.
func origin(r *http.Request) sso.Origin {
	return sso.Origin{Address: clientAddress(r.Context()), RequestID: requestID(r.Context())}
}

// navigates reports whether a browser shows the response to a sign-in step as a page.
func navigates(r *http.Request) bool {
	path := r.URL.Path
	step := path == "/v1/oauth2/authorize" ||
		strings.HasPrefix(path, "/v1/saml/") && strings.HasSuffix(path, "/acs") ||
		strings.HasPrefix(path, "/v1/oidc/") && strings.HasSuffix(path, "/callback")
	return step && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// signInFailed redirects the browser to the app's page for failed sign-ins.
func signInFailed(w http.ResponseWriter, r *http.Request, why Problem) error {
	organizationID := cmp.Or(chi.URLParam(r, "organization_id"), r.URL.Query().Get("organization_id"))
	return toPage(w, callbackPage, url.Values{
		"organization_id": {organizationID}, "error": {why.Code}, "error_description": {why.Detail},
	})
}

// toPage redirects the browser to a page of the app.
func toPage(w http.ResponseWriter, page string, query url.Values) error {
	return seeOther(w, page+"?"+query.Encode())
}

// seeOther redirects the browser to another page with GET.
func seeOther(w http.ResponseWriter, location string) error {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Location", location)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// ssoBrowser returns the value of the browser's single sign-on cookie, or "".
func (s *Server) ssoBrowser(r *http.Request) string {
	cookie, err := r.Cookie(s.ssoCookie("").Name)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// bindBrowser sets the browser's single sign-on cookie.
func (s *Server) bindBrowser(w http.ResponseWriter, browser string) {
	http.SetCookie(w, s.ssoCookie(browser))
}

// ssoCookie returns the cookie. The identity provider's page posts to this server from another site. With TLS, browsers
// send the cookie because of SameSite=None; without TLS, they send a new cookie for two minutes.
func (s *Server) ssoCookie(browser string) *http.Cookie {
	cookie := s.cookie(ssoCookie, ssoCookieAge) //nolint:gosec // Secure if the server uses TLS.
	cookie.Value = browser
	if cookie.Secure {
		cookie.SameSite = http.SameSiteNoneMode
	}
	return cookie
}
