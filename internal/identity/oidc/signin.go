package oidc

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/google/uuid"
	"golang.org/x/oauth2"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
)

const (
	maxSkew      = 3 * time.Minute // Accepted difference between the clocks of the provider and this server.
	maxClaim     = 256             // Bytes of sub and sid.
	maxGroups    = 1_000           // Groups of a person.
	maxAuthTime  = 1 << 40         // Seconds since 1970.
	maxGroupName = 256             // Bytes of an external id of a group.
)

// reauthentication is the nonce's prefix in a sign-in that requires a new authentication by the provider. The browser
// cannot change it, because the nonce is stored.
const reauthentication = "again."

// Begin begins a sign-in for the members of an organization. browser is the value of the browser's cookie from an
// earlier sign-in, or "". next is the path in the app after the sign-in. If the organization does not use OpenID Connect,
// the error has the code sso.CodeDisabled; if its provider is away, sso.CodeUnavailable; if the discovery document is
// refused, sso.CodeResponse.
func (s *Service) Begin(ctx context.Context, request sso.Request) (sso.Redirect, error) {
	settings, err := s.settings(ctx, request.OrganizationID)
	if err != nil {
		return sso.Redirect{}, err
	}
	within, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	p, err := s.discover(within, settings, s.providers.Transport())
	if err != nil {
		return sso.Redirect{}, shown(err)
	}
	state, value, browser := s.sso.NewState(request.OrganizationID, request.Browser, request.Next)
	state.RequestID = derive(browser, "nonce", value)
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(s.pkce(settings, browser, value))}
	if request.Reauthenticate {
		state.RequestID = reauthentication + state.RequestID
		settings.Prompt = "login"
		options = append(options, oauth2.SetAuthURLParam("max_age", "0")) // Then the id token must contain auth_time.
		settings.MaxAge = 0
		if p.metadata.TakesClaims { // Some providers send auth_time only if it is requested by name.
			options = append(options, oauth2.SetAuthURLParam("claims", `{"id_token":{"auth_time":{"essential":true}}}`))
		}
	}
	for _, parameter := range [][2]string{
		{"prompt", settings.Prompt},
		{"acr_values", strings.Join(settings.ACRValues, " ")},
		{"max_age", strconv.Itoa(settings.MaxAge)},
	} {
		if parameter[1] != "" && parameter[1] != "0" {
			options = append(options, oauth2.SetAuthURLParam(parameter[0], parameter[1]))
		}
	}
	address := s.client(p).AuthCodeURL(value, append(options, oidc.Nonce(state.RequestID))...)
	return sso.Redirect{URL: address, Browser: browser}, s.sso.CreateState(ctx, state)
}

// settings returns the settings of an organization that uses OpenID Connect.
func (s *Service) settings(ctx context.Context, organizationID uuid.UUID) (Settings, error) {
	settings, err := s.store.OIDCSettings(ctx, organizationID)
	if fault.CodeOf(err) == fault.NotFound || err == nil && !settings.Enabled {
		return Settings{}, errDisabled(err)
	}
	return settings, err
}

// derive returns a value that only the browser's cookie determines together with a text that others may know.
func derive(browser, use, text string) string {
	mac := hmac.New(sha256.New, []byte(browser))
	mac.Write([]byte(use + "\x00" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// pkce returns the code verifier of a sign-in. It depends on the provider, so that a code is useless at another one. The
// database does not contain it.
func (s *Service) pkce(settings Settings, browser, state string) string {
	return derive(browser, "pkce", settings.Issuer+"\x00"+settings.ClientID+"\x00"+state)
}

// Callback is the request that a browser makes after the provider's redirect.
type Callback struct {
	OrganizationID uuid.UUID // Of the redirect URI.
	Browser        string    // The value of its cookie.
	State          string
	Code           string
	Error          string // The code of an error response.
	Issuer         string // The parameter iss.
	Origin         sso.Origin
}

// Consume processes the provider's response. It must belong to a sign-in that began in this browser, and is accepted
// once. The error has one of the codes of package sso, or is internal.
func (s *Service) Consume(ctx context.Context, c Callback) (sso.Outcome, error) {
	state, err := s.sso.TakeState(ctx, c.OrganizationID, c.State, c.Browser, c.Origin)
	if err != nil {
		return sso.Outcome{}, err
	}
	settings, err := s.settings(ctx, state.OrganizationID)
	if err != nil {
		return sso.Outcome{}, err
	}
	within, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	who, err := s.authenticate(within, settings, state, c)
	if err != nil {
		if _, ok := errors.AsType[*unreachable](err); ok {
			return sso.Outcome{}, shown(err)
		}
		return sso.Outcome{}, s.sso.RefuseResponse(ctx, state, c.Origin, err)
	}
	return s.sso.Admit(ctx, sso.Login{State: state, Person: who, Origin: c.Origin})
}

// shown returns the fault that is shown to the person who signs in.
func shown(err error) error {
	if _, ok := errors.AsType[*unreachable](err); ok {
		return fault.Wrap(err, sso.CodeUnavailable,
			"組織のIDプロバイダーに接続できません。少し時間をおいて、もう一度お試しいただくか、管理者にお問い合わせください。")
	}
	return sso.Shown(err)
}

// authenticate exchanges the code for an id token and returns the person in it.
func (s *Service) authenticate(ctx context.Context, settings Settings, state sso.State, c Callback) (sso.Person, error) {
	if c.Issuer != "" && c.Issuer != settings.Issuer { // RFC 9207: the response of another provider.
		return sso.Person{}, sso.Reject("the response is of another issuer", "別のIDプロバイダーの応答です。")
	}
	p, err := s.discover(ctx, settings, s.providers.Transport())
	switch {
	case err != nil:
		return sso.Person{}, err
	case p.metadata.SendsIssuer && c.Issuer == "":
		return sso.Person{}, sso.Reject("the response has no issuer", "応答に発行者（iss）がありません。")
	case c.Error != "":
		return sso.Person{}, sso.ErrDenied
	}
	token, err := s.client(p).Exchange(p.context(ctx), c.Code, oauth2.VerifierOption(s.pkce(settings, c.Browser, c.State)))
	if err != nil {
		return sso.Person{}, p.fail(err, "the code cannot be exchanged",
			"トークンを取得できません。クライアントIDとクライアントシークレットを確認してください。")
	}
	raw, _ := token.Extra("id_token").(string)
	verified, claims, err := s.verify(ctx, p, state.RequestID, raw)
	if err != nil {
		return sso.Person{}, err
	}
	if err := checkAuthentication(settings, claims, s.sso.Now()); err != nil {
		return sso.Person{}, err
	}
	if strings.HasPrefix(state.RequestID, reauthentication) {
		begin := state.ExpiresAt.Add(-sso.StateLifetime)
		if at := claims.authTime(); at == nil || at.Before(begin.Add(-maxSkew)) {
			return sso.Person{}, sso.ErrNotConfirmed
		}
	}
	if err := s.complete(ctx, p, token, verified.Subject, claims); err != nil {
		return sso.Person{}, err
	}
	return claims.person(settings, verified.Subject)
}

// verify returns a valid id token with the nonce, and its claims.
func (s *Service) verify(ctx context.Context, p *provider, nonce, raw string) (*oidc.IDToken, claims, error) {
	switch {
	case raw == "":
		return nil, nil, sso.Reject("there is no id token", "IDトークンがありません。スコープopenidを確認してください。")
	case len(raw) > maxToken:
		return nil, nil, sso.Reject("the id token is larger than 64 KiB", "IDトークンが大きすぎます（64KiBまで）。クレームを減らしてください。")
	}
	verified, err := p.verifier(ctx, s.sso.Now).Verify(ctx, raw)
	if err != nil {
		return nil, nil, p.fail(err, "the id token is invalid", "IDトークンを確認できません。")
	}
	c := make(claims)
	if err := verified.Claims(&c); err != nil {
		return nil, nil, sso.Reject("the claims are malformed", "IDトークンの形式が正しくありません。")
	}
	switch {
	case c.text("sub") != verified.Subject || c.text("nonce") != verified.Nonce: // The library ignores the case of names.
		return nil, nil, sso.Reject("claims with similar names differ", "IDトークンに、紛らわしい名前のクレームがあります。")
	case verified.Nonce == "" || verified.Nonce != nonce:
		return nil, nil, sso.Reject("the id token has another nonce", "IDトークンのnonceが一致しません。")
	case verified.Subject == "" || len(verified.Subject) > maxClaim:
		return nil, nil, sso.Reject("the id token has no valid sub", "IDトークンのsubが正しくありません。")
	case (len(verified.Audience) > 1 || c.text("azp") != "") && c.text("azp") != p.settings.ClientID:
		return nil, nil, sso.Reject("the id token is for another party", "IDトークンの発行先が、このクライアントではありません。")
	}
	return verified, c, nil
}

// checkAuthentication rejects an authentication that is weaker or older than the settings require.
func checkAuthentication(settings Settings, c claims, now time.Time) error {
	if acr := c.text("acr"); len(settings.ACRValues) > 0 && !slices.Contains(settings.ACRValues, acr) {
		return sso.Reject("the authentication context is none of the required ones",
			"IDトークンのacrが、設定したacr_valuesのいずれとも一致しません。")
	}
	if settings.MaxAge == 0 {
		return nil
	}
	at := c.authTime()
	if at == nil || now.Sub(*at) > time.Duration(settings.MaxAge)*time.Second+maxSkew {
		return sso.Reject("the authentication is older than max_age", "認証から、設定したmax_ageより長い時間が過ぎています。")
	}
	return nil
}

// authTime returns the claim auth_time, nil if it is missing or invalid.
func (c claims) authTime() *time.Time {
	var seconds int64
	if err := json.Unmarshal(c["auth_time"], &seconds); err != nil || seconds <= 0 || seconds > maxAuthTime {
		return nil
	}
	at := time.Unix(seconds, 0)
	return &at
}

// complete adds the claims of the UserInfo endpoint that an id token lacks. Many providers put only sub into the token.
func (s *Service) complete(ctx context.Context, p *provider, token *oauth2.Token, subject string, c claims) error {
	wanted := []string{p.settings.EmailClaim, p.settings.NameClaim, p.settings.GroupsClaim}
	missing := slices.ContainsFunc(wanted, func(name string) bool { return name != "" && c[name] == nil })
	if !missing || p.UserInfoEndpoint() == "" {
		return nil
	}
	info, err := p.UserInfo(p.context(ctx), oauth2.StaticTokenSource(token))
	if err != nil {
		return p.fail(err, "UserInfo cannot be read", "UserInfoエンドポイントから情報を取得できません。")
	}
	if info.Subject != subject { // OpenID Connect Core, section 5.3.4.
		return sso.Reject("UserInfo is of another person", "UserInfoエンドポイントのsubが、IDトークンと一致しません。")
	}
	more := make(claims)
	if err := info.Claims(&more); err != nil {
		return sso.Reject("UserInfo is malformed", "UserInfoエンドポイントの応答の形式が正しくありません。")
	}
	for _, name := range append(wanted, "email_verified") {
		if c[name] == nil {
			c[name] = more[name]
		}
	}
	return nil
}

// claims are the claims of a person.
type claims map[string]json.RawMessage

// text returns a claim that is a text, or "".
func (c claims) text(name string) (text string) {
	if json.Unmarshal(c[name], &text) != nil {
		return ""
	}
	return text
}

// person returns the person in the claims, or a rejection.
func (c claims) person(settings Settings, subject string) (sso.Person, error) {
	email := c.text(settings.EmailClaim)
	if email == "" {
		return sso.Person{}, sso.RejectPerson("there is no address",
			"メールアドレスを取得できません。メールアドレスのクレーム名と、スコープを確認してください。")
	}
	if verified := string(c["email_verified"]); settings.EmailClaim == "email" &&
		(verified == "false" || verified == `"false"`) {
		return sso.Person{}, sso.RejectPerson("the address is not verified", "IDプロバイダーがメールアドレスを確認していません（email_verified）。")
	}
	who := sso.Person{
		Provider: sso.Provider{Protocol: sso.OIDC, ID: settings.Issuer}, ID: subject, Email: email,
		Name: c.text(settings.NameClaim), Groups: c.groups(settings.GroupsClaim), AuthenticatedAt: c.authTime(),
	}
	if sid := c.text("sid"); len(sid) <= maxClaim {
		who.SessionID = sid
	}
	return sso.CheckPerson(who, settings.EmailDomains, settings.MailDomains)
}

// groups returns the external ids of the groups in a claim: an array of texts, or one text. Without the claim, the
// person has no groups. The result is nil if groups are not set, or if the provider has replaced too many groups by a
// reference to them, as Entra ID does.
func (c claims) groups(name string) []string {
	if name == "" {
		return nil
	}
	var references map[string]string
	if json.Unmarshal(c["_claim_names"], &references) == nil && references[name] != "" {
		return nil
	}
	var values []string
	if json.Unmarshal(c[name], &values) != nil {
		values = []string{c.text(name)}
	}
	values = slices.DeleteFunc(values, func(value string) bool { return value == "" || len(value) > maxGroupName })
	slices.Sort(values)
	values = slices.Compact(values)
	return append([]string{}, values[:min(len(values), maxGroups)]...)
}
