package api

import (
	"net/http"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oauth"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oidc"
)

func (s *Server) putOIDCConfig(c *call, req OIDCConfigPutRequest) (any, error) {
	view, err := s.OIDC.Change(c.ctx(), c.actor, oidc.Change{
		Issuer: req.Issuer, ClientID: req.ClientID, ClientSecret: req.ClientSecret, Scopes: req.Scopes,
		EmailClaim: req.EmailClaim, NameClaim: req.NameClaim, GroupsClaim: req.GroupsClaim, Prompt: req.Prompt,
		ACRValues: req.AcrValues, MaxAge: req.MaxAge, EmailDomains: req.EmailDomains,
	})
	return toOIDCConfig(view), err
}

func toOIDCConfig(v oidc.View) OIDCConfig {
	return OIDCConfig{
		Enabled: v.Enabled, RedirectURL: v.RedirectURL, LogoutURL: v.LogoutURL, Issuer: v.Issuer, ClientID: v.ClientID,
		HasClientSecret: v.HasSecret, Scopes: nonNil(v.Scopes), EmailClaim: v.EmailClaim, NameClaim: v.NameClaim,
		GroupsClaim: v.GroupsClaim, Prompt: v.Prompt, AcrValues: nonNil(v.ACRValues), MaxAge: v.MaxAge,
		EmailDomains: nonNil(v.EmailDomains), AllowedEmailDomains: nonNil(v.MailDomains), UpdatedAt: utc(v.UpdatedAt),
	}
}

func (s *Server) testOIDC(c *call) (any, error) {
	checks, err := s.OIDC.Test(c.ctx(), c.actor)
	return OIDCTest{Checks: convert(checks, func(c oidc.Check) OIDCCheck {
		return OIDCCheck{Name: c.Name, Ok: c.OK, Detail: c.Detail}
	})}, err
}

// oidcCallback handles the redirect of an OpenID provider.
func (s *Server) oidcCallback(w http.ResponseWriter, r *http.Request) error {
	organizationID, err := pathID(r)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	outcome, err := s.OIDC.Consume(r.Context(), oidc.Callback{
		OrganizationID: organizationID, Browser: s.ssoBrowser(r), State: query.Get("state"), Code: query.Get("code"),
		Error: query.Get("error"), Issuer: query.Get("iss"), Origin: origin(r),
	})
	if err != nil {
		return signInFailed(w, r, s.problem(r, err))
	}
	return toOutcome(w, organizationID, outcome)
}

// oidcLogout ends the sessions that an OpenID provider has ended. Errors have the form of Back-Channel Logout, section 2.8.
func (s *Server) oidcLogout(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	organizationID, err := pathID(r)
	if err == nil {
		err = parseForm(w, r)
	}
	if err == nil {
		err = s.OIDC.Logout(r.Context(), organizationID, r.PostForm.Get("logout_token"))
	}
	switch fault.CodeOf(err) {
	case fault.Invalid, fault.NotFound, fault.TooLarge, fault.UnsupportedType:
		err = fault.Wrap(err, oauth.InvalidRequest, "%s", fault.DetailOf(err))
	}
	if err != nil {
		s.writeOAuthError(w, r, err)
	}
}
