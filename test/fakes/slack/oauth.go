package slack

import (
	"cmp"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed" // Embeds the authorization page.
	"encoding/base64"
	"errors"
	"html/template"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	codeAge = 10 * time.Minute
	keyID   = "fake-slack-1"
)

// code is an authorization code.
type code struct {
	app          *App
	person       *Person
	scopes, user []string // Scopes of the bot and of the person.
	redirect     string
	nonce        string
	openid       bool
	challenge    string // PKCE, S256.
	at           time.Time
}

//go:embed authorize.html
var authorizeHTML string

var authorizePage = template.Must(
	template.New("authorize").Parse(authorizeHTML),
) //nolint:gochecknoglobals // Parsed once.

func secret() string {
	raw := make([]byte, 24)
	_, _ = rand.Read(raw) // Never fails.
	return base64.RawURLEncoding.EncodeToString(raw)
}

func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// serveAuthorize shows the page on which a person signs in or installs the app.
func (w *Workspace) serveAuthorize(writer http.ResponseWriter, request *http.Request) {
	w.mu.Lock()
	app, problem := w.authorizing(request.URL.Path, request.URL.Query())
	type choice struct{ ID, Name, Team string }
	var people []choice
	for _, person := range w.members() {
		if team := request.URL.Query().Get("team"); team == "" || team == person.teamID {
			people = append(people, choice{person.ID, person.RealName, w.teams[person.teamID].Name})
		}
	}
	data := object{
		"Problem": problem, "People": people, "OpenID": strings.HasPrefix(request.URL.Path, "/openid/"),
		"Scopes": list(request.URL.Query().Get("scope")),
	}
	if app != nil {
		data["App"] = app.Name
	}
	w.mu.Unlock()
	writer.Header().Set("Content-Type", "text/html; charset=utf-8")
	if problem != "" {
		writer.WriteHeader(http.StatusBadRequest)
	}
	_ = authorizePage.Execute(writer, data) // The browser may have disconnected.
}

// members returns the people who can sign in, in the order of the configuration. The caller holds w.mu.
func (w *Workspace) members() []*Person {
	var found []*Person
	for _, team := range w.config.Teams {
		for _, person := range team.People {
			if p := w.people[person.ID]; !p.Bot && !p.Deleted {
				found = append(found, p)
			}
		}
	}
	return found
}

// authorizing checks the parameters of an authorization request. The caller holds w.mu.
func (w *Workspace) authorizing(path string, query url.Values) (*App, string) {
	var app *App
	for _, candidate := range w.apps {
		if candidate.ClientID != "" && candidate.ClientID == query.Get("client_id") {
			app = candidate
		}
	}
	if app == nil {
		return nil, "invalid_client_id"
	}
	redirect := query.Get("redirect_uri")
	if u, err := url.Parse(redirect); err != nil || !u.IsAbs() ||
		len(app.RedirectURLs) > 0 && !slices.ContainsFunc(app.RedirectURLs, func(allowed string) bool {
			return strings.HasPrefix(redirect, allowed)
		}) {
		return app, "bad_redirect_uri"
	}
	scopes := list(query.Get("scope"))
	if strings.HasPrefix(path, "/openid/") {
		if query.Get("response_type") != "code" || !slices.Contains(scopes, "openid") {
			return app, "invalid_scope"
		}
	} else if len(scopes) == 0 && query.Get("user_scope") == "" {
		return app, "invalid_scope_requested"
	}
	return app, ""
}

// serveDecision handles the form of the authorization page, which names the person who allows or refuses.
func (w *Workspace) serveDecision(writer http.ResponseWriter, request *http.Request) {
	person := request.PostFormValue("person")
	if request.PostFormValue("decision") == "deny" {
		person = ""
	}
	address, err := w.decide(request.URL, person)
	if err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	http.Redirect(writer, request, address, http.StatusFound) //nolint:gosec // OAuth sends people back.
}

// Authorize allows an authorization request as a person, without the page, and returns the redirect address. With an
// empty person it refuses the request.
func (w *Workspace) Authorize(address, person string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	return w.decide(u, person)
}

func (w *Workspace) decide(u *url.URL, id string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	query := u.Query()
	app, problem := w.authorizing(u.Path, query)
	if problem != "" {
		return "", errors.New(problem)
	}
	back, err := url.Parse(query.Get("redirect_uri"))
	if err != nil {
		return "", err
	}
	values := back.Query()
	if state := query.Get("state"); state != "" {
		values.Set("state", state)
	}
	person := w.people[id]
	if id != "" && (person == nil || person.Deleted || person.Bot) {
		return "", errors.New("user_not_found")
	}
	if person == nil {
		values.Set("error", "access_denied")
	} else {
		value := secret()
		openid := strings.HasPrefix(u.Path, "/openid/")
		given := &code{
			app: app, person: person, scopes: list(query.Get("scope")), user: list(query.Get("user_scope")),
			redirect: query.Get("redirect_uri"), nonce: query.Get("nonce"), openid: openid, at: w.clock.now(),
			challenge: query.Get("code_challenge"),
		}
		w.codes[value] = given
		values.Set("code", value)
	}
	back.RawQuery = values.Encode()
	return back.String(), nil
}

// redeem exchanges the code of a token request after authenticating the client.
func (c *call) redeem(openid bool) (*code, error) {
	id, password := c.args["client_id"], c.args["client_secret"]
	if user, pass, ok := c.request.BasicAuth(); ok {
		id, password = user, pass
	}
	var app *App
	for _, candidate := range c.apps {
		if candidate.ClientID != "" && candidate.ClientID == id {
			app = candidate
		}
	}
	if app == nil {
		return nil, fail("invalid_client_id")
	}
	if subtle.ConstantTimeCompare([]byte(app.ClientSecret), []byte(password)) != 1 {
		return nil, fail("bad_client_secret")
	}
	if kind := c.args["grant_type"]; kind != "" && kind != "authorization_code" {
		return nil, fail("invalid_grant_type")
	}
	given := c.codes[c.args["code"]]
	if given == nil || given.app != app || c.clock.now().Sub(given.at) > codeAge {
		return nil, fail("invalid_code")
	}
	if given.openid != openid {
		return nil, fail("oauth_authorization_url_mismatch")
	}
	if given.redirect != c.args["redirect_uri"] {
		return nil, fail("bad_redirect_uri")
	}
	if given.challenge != "" {
		sum := sha256.Sum256([]byte(c.args["code_verifier"]))
		if base64.RawURLEncoding.EncodeToString(sum[:]) != given.challenge {
			return nil, fail("invalid_code_verifier")
		}
	}
	delete(c.codes, c.args["code"])
	return given, nil
}

func (c *call) oauthAccess() (object, error) {
	given, err := c.redeem(false)
	if err != nil {
		return nil, err
	}
	team := c.teams[given.person.teamID]
	in := c.installed(given.app, team)
	if in == nil {
		in = c.install(team, Install{
			AppID: given.app.ID, Token: "xoxb-" + secret(), UserID: c.id("U"), BotID: c.id("B"), Scopes: given.scopes,
		})
	} else {
		in.Scopes = given.scopes // A repeated installation replaces the scopes.
	}
	authed := object{"id": given.person.ID}
	if len(given.user) > 0 {
		token := "xoxp-" + secret()
		c.grants[token] = &grant{app: given.app, person: given.person, scopes: given.user}
		authed["access_token"], authed["token_type"] = token, "user"
		authed["scope"] = strings.Join(given.user, ",")
	}
	body := object{
		"access_token": in.Token, "token_type": "bot", "scope": strings.Join(in.Scopes, ","), "bot_user_id": in.UserID,
		"app_id": given.app.ID, "team": object{"id": team.ID, "name": team.Name}, "enterprise": nil,
		"is_enterprise_install": false, "authed_user": authed,
	}
	if team.EnterpriseID != "" {
		body["enterprise"] = object{"id": team.EnterpriseID, "name": team.EnterpriseName}
	}
	c.touch()
	return body, nil
}

// installed returns an app's installation in a team. The caller holds w.mu.
func (w *Workspace) installed(app *App, team *Team) *installation {
	for _, in := range w.installs {
		if in.app == app && in.team == team {
			return in
		}
	}
	return nil
}

// claims returns the claims of the id token of a person.
func (c *call) claims(person *Person, scopes []string) jwt.MapClaims {
	team := c.teams[person.teamID]
	claims := jwt.MapClaims{
		"sub": person.ID, "https://slack.com/user_id": person.ID, "https://slack.com/team_id": team.ID,
	}
	if team.EnterpriseID != "" {
		claims["https://slack.com/enterprise_id"] = team.EnterpriseID
	}
	if slices.Contains(scopes, "email") {
		claims["email"], claims["email_verified"] = person.Email, person.EmailConfirmed
		if person.EmailConfirmed {
			claims["date_email_verified"] = 1700000000
		}
	}
	if slices.Contains(scopes, "profile") {
		claims["name"], claims["locale"] = person.RealName, cmp.Or(person.Locale, "ja-JP")
		claims["given_name"], claims["family_name"] = person.RealName, ""
		claims["https://slack.com/team_name"], claims["https://slack.com/team_domain"] = team.Name, team.Domain
	}
	return claims
}

func (c *call) openidToken() (object, error) {
	given, err := c.redeem(true)
	if err != nil {
		return nil, err
	}
	token, now := "xoxp-"+secret(), c.clock.now()
	c.grants[token] = &grant{app: given.app, person: given.person, scopes: given.scopes}
	sum := sha256.Sum256([]byte(token))
	claims := c.claims(given.person, given.scopes)
	claims["iss"], claims["aud"], claims["iat"], claims["auth_time"] = c.url, given.app.ClientID, now.Unix(), now.Unix()
	claims["exp"], claims["at_hash"] = now.Add(5*time.Minute).Unix(), base64.RawURLEncoding.EncodeToString(sum[:16])
	if given.nonce != "" {
		claims["nonce"] = given.nonce
	}
	unsigned := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	unsigned.Header["kid"] = keyID
	signed, err := unsigned.SignedString(c.signer())
	if err != nil {
		return nil, err
	}
	return object{"access_token": token, "token_type": "Bearer", "id_token": signed}, nil
}

func (c *call) openidUserInfo() (object, error) {
	return object(c.claims(c.grant.person, c.grant.scopes)), nil
}

// signer returns the key that signs id tokens. The caller holds w.mu.
func (w *Workspace) signer() *rsa.PrivateKey {
	if w.key == nil {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err) // Unreachable: the key length is valid.
		}
		w.key = key
	}
	return w.key
}

func (w *Workspace) serveKeys(writer http.ResponseWriter, _ *http.Request) {
	w.mu.Lock()
	public := w.signer().PublicKey
	w.mu.Unlock()
	encode := base64.RawURLEncoding.EncodeToString
	answer(writer, http.StatusOK, object{"keys": []object{{
		"kty": "RSA", "use": "sig", "alg": "RS256", "kid": keyID,
		"n": encode(public.N.Bytes()), "e": encode(big.NewInt(int64(public.E)).Bytes()),
	}}})
}

// serveDiscovery serves the OpenID configuration. The issuer is the workspace's own address instead of
// https://slack.com.
func (w *Workspace) serveDiscovery(writer http.ResponseWriter, _ *http.Request) {
	w.mu.Lock()
	own := w.url
	w.mu.Unlock()
	answer(writer, http.StatusOK, object{
		"issuer": own, "authorization_endpoint": own + "/openid/connect/authorize",
		"token_endpoint": own + "/api/openid.connect.token", "userinfo_endpoint": own + "/api/openid.connect.userInfo",
		"jwks_uri": own + "/openid/connect/keys", "scopes_supported": []string{"openid", "profile", "email"},
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256"},
		"token_endpoint_auth_methods_supported": []string{"client_secret_post", "client_secret_basic"},
	})
}

func (c *call) authRevoke() (object, error) {
	if c.flag("test") {
		return object{"revoked": false}, nil
	}
	c.revokeToken(c.in)
	return object{"revoked": true}, nil
}

func (c *call) appsUninstall() (object, error) {
	if c.args["client_id"] != c.in.app.ClientID {
		return nil, fail("invalid_client_id")
	}
	if c.args["client_secret"] != c.in.app.ClientSecret {
		return nil, fail("bad_client_secret")
	}
	c.uninstall(c.in)
	return nil, nil
}

// revokeToken revokes a bot's token and sends the app the event. The caller holds w.mu.
func (w *Workspace) revokeToken(in *installation) {
	w.emit(in, object{"type": "tokens_revoked", "tokens": object{"oauth": []string{}, "bot": []string{in.UserID}}}, nil)
	delete(w.installs, in.Token)
	w.revoked[in.Token] = true
	w.touch()
}

// uninstall removes an app from a team and sends the app the event. The caller holds w.mu.
func (w *Workspace) uninstall(in *installation) {
	w.emit(in, object{"type": "app_uninstalled"}, nil)
	w.revokeToken(in)
	w.people[in.UserID].Deleted = true
}
