package oauth

import (
	"context"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/opaque"
)

// Request is an authorization request (RFC 6749, section 4.1.1, and RFC 7636, section 4.3).
type Request struct {
	ResponseType    string
	ClientID        string
	RedirectURI     string
	Scope           string
	State           string
	Challenge       string
	ChallengeMethod string
}

// ConsentRequest is a client's request as shown to a person.
type ConsentRequest struct {
	Client   Client
	Scopes   []identity.Scope
	Redirect *url.URL // The redirect address for the browser.
}

// maxState bounds the client's state parameter, in bytes.
const maxState = 2048

// challengeForm matches a SHA-256 in base64url.
var challengeForm = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// ValidateRequest validates a request for the page that shows it to a person. For an unknown client or redirect URI the
// error has the code fault.Invalid, and the browser must not be redirected, because that would be an open redirect. For
// any other mistake refused is the redirect URI that reports the error to the client.
func (s *Service) ValidateRequest(r Request) (consent ConsentRequest, refused string, err error) {
	client, known := s.client(r.ClientID)
	if !known {
		return ConsentRequest{}, "", fault.InvalidField("client_id", "接続を求めているアプリが登録されていません。")
	}
	if !slices.ContainsFunc(client.RedirectURIs, func(registered string) bool {
		return matches(registered, r.RedirectURI)
	}) {
		return ConsentRequest{}, "", fault.InvalidField("redirect_uri", "接続先のアドレスが、このアプリのものとして登録されていません。")
	}
	redirect, err := url.Parse(r.RedirectURI)
	if err != nil {
		return ConsentRequest{}, "", fault.Wrap(err, fault.Invalid, "接続先のアドレスが正しくありません。")
	}
	consent = ConsentRequest{Client: client, Redirect: redirect}
	if consent.Scopes, err = scopesOf(client, r.Scope); err == nil {
		err = r.check()
	}
	if err != nil {
		return consent, s.answer(consent, r.State, url.Values{
			"error": {string(fault.CodeOf(err))}, "error_description": {fault.DetailOf(err)},
		}), nil
	}
	return consent, "", nil
}

func (r Request) check() error {
	switch {
	case r.ResponseType != "code":
		return fault.Errorf(unsupportedResponse, "response_type must be code")
	case r.ChallengeMethod != "S256":
		return fault.Errorf(InvalidRequest, "code_challenge_method must be S256")
	case !challengeForm.MatchString(r.Challenge):
		return fault.Errorf(InvalidRequest, "code_challenge must be a SHA-256 in base64url")
	case len(r.State) > maxState:
		return fault.Errorf(InvalidRequest, "state is too long")
	}
	return nil
}

// matches reports whether a redirect URI matches a registered one. A loopback address may have any port (RFC 8252,
// 7.3).
func matches(registered, given string) bool {
	if given == registered {
		return true
	}
	want, err := url.Parse(registered)
	if err != nil || want.Scheme != "http" { // Only loopback addresses are registered with http.
		return false
	}
	got, err := url.Parse(given)
	return err == nil && got.Port() != "" && given == "http://"+want.Host+":"+got.Port()+want.Path
}

// scopesOf returns the scopes of a request, or all scopes of the client if the request has none.
func scopesOf(client Client, scope string) ([]identity.Scope, error) {
	names := strings.Fields(scope)
	if len(names) == 0 {
		return client.Scopes, nil
	}
	var scopes []identity.Scope
	for _, allowed := range client.Scopes { // In display order, without duplicates.
		if slices.Contains(names, string(allowed)) {
			scopes = append(scopes, allowed)
		}
	}
	for _, name := range names {
		if !slices.Contains(client.Scopes, identity.Scope(name)) {
			return nil, fault.Errorf(InvalidScope, "the client may not ask for one of the scopes")
		}
	}
	return scopes, nil
}

// Allow issues a code for the request on behalf of the actor, and returns the client's redirect URI with the code.
func (s *Service) Allow(ctx context.Context, actor identity.Actor, r Request) (string, error) {
	consent, refused, err := s.ValidateRequest(r)
	if err != nil || refused != "" {
		return refused, err
	}
	code, hash := opaque.New()
	now := s.cfg.Now()
	if err := s.store.AddGrant(ctx, Grant{
		Hash: hash, ClientID: consent.Client.ID, Scopes: consent.Scopes, RedirectURI: r.RedirectURI, Challenge: r.Challenge,
		OrganizationID: &actor.OrganizationID, UserID: &actor.ID, AuthType: &actor.AuthType, AnsweredAt: &now,
		Session: actor.Session, CreatedAt: now, ExpiresAt: now.Add(codeLifetime), PollInterval: int(PollInterval / time.Second),
	}); err != nil {
		return "", err
	}
	return s.answer(consent, r.State, url.Values{"code": {code}}), nil
}

// Deny returns the client's redirect URI with the error access_denied.
func (s *Service) Deny(r Request) (string, error) {
	consent, refused, err := s.ValidateRequest(r)
	if err != nil || refused != "" {
		return refused, err
	}
	return s.answer(consent, r.State, url.Values{"error": {string(AccessDenied)}}), nil
}

// answer returns the redirect URI with the given values, the client's state, and the issuer (RFC 9207).
func (s *Service) answer(consent ConsentRequest, state string, values url.Values) string {
	values.Set("iss", s.cfg.PublicURL)
	if state != "" && len(state) <= maxState {
		values.Set("state", state)
	}
	redirect := *consent.Redirect
	redirect.RawQuery = values.Encode()
	return redirect.String()
}
