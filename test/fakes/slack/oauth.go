package slack

import (
	"crypto/rand"
	"crypto/rsa"
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

const keyID = "fake-slack-1"

// code is an authorization code.
type code struct {
	person   *Person
	scopes   []string
	redirect string
	nonce    string
	openid   bool
}

//go:embed authorize.html
var authorizeHTML string

//nolint:gochecknoglobals // Parsed once.
var authorizePage = template.Must(template.New("authorize").Parse(authorizeHTML))

func secret() string {
	raw := make([]byte, 24)
	_, _ = rand.Read(raw) // Never fails.
	return base64.RawURLEncoding.EncodeToString(raw)
}

func scopesOf(query url.Values) []string {
	return strings.FieldsFunc(query.Get("scope"), func(r rune) bool { return r == ',' || r == ' ' })
}

// serveAuthorize serves the page for signing in and for installing the app, and its form. The form names the person who
// allows or refuses.
func (w *Workspace) serveAuthorize(writer http.ResponseWriter, request *http.Request) {
	if request.Method == http.MethodGet && w.authorizing(request.URL) == "" {
		writer.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = authorizePage.Execute(writer, object{ // The browser may have disconnected.
			"People": w.members(), "App": appName, "OpenID": strings.HasPrefix(request.URL.Path, "/openid/"),
			"Scopes": scopesOf(request.URL.Query()),
		})
		return
	}
	person := request.PostFormValue("person")
	if request.PostFormValue("decision") == "deny" {
		person = ""
	}
	address, err := w.Authorize(request.URL.String(), person)
	if err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	http.Redirect(writer, request, address, http.StatusFound) //nolint:gosec // OAuth sends people back.
}

// members returns the people who can sign in, in the order of the configuration.
func (w *Workspace) members() []Person {
	return slices.DeleteFunc(slices.Clone(w.config.People), func(p Person) bool { return p.Deleted || p.Team != "" })
}

// authorizing returns Slack's error for the parameters of an authorization request, or an empty string.
func (w *Workspace) authorizing(address *url.URL) string {
	query := address.Query()
	if query.Get("client_id") != w.config.App.ClientID {
		return "invalid_client_id"
	}
	if u, err := url.Parse(query.Get("redirect_uri")); err != nil || !u.IsAbs() {
		return "bad_redirect_uri"
	}
	scopes := scopesOf(query)
	if strings.HasPrefix(address.Path, "/openid/") {
		if query.Get("response_type") != "code" || !slices.Contains(scopes, "openid") {
			return "invalid_scope"
		}
	} else if len(scopes) == 0 {
		return "invalid_scope_requested"
	}
	return ""
}

// Authorize allows an authorization request as a person, without the page, and returns the redirect address. With an
// empty person it refuses the request.
func (w *Workspace) Authorize(address, id string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	if problem := w.authorizing(u); problem != "" {
		return "", errors.New(problem)
	}
	query := u.Query()
	back, err := url.Parse(query.Get("redirect_uri"))
	if err != nil {
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	values := back.Query()
	values.Set("state", query.Get("state"))
	person := w.people[id]
	switch {
	case id == "":
		values.Set("error", "access_denied")
	case person == nil || person.Deleted || person.Bot:
		return "", errors.New("user_not_found")
	default:
		value := secret()
		w.codes[value] = &code{
			person: person, scopes: scopesOf(query), redirect: query.Get("redirect_uri"), nonce: query.Get("nonce"),
			openid: strings.HasPrefix(u.Path, "/openid/"),
		}
		values.Set("code", value)
	}
	back.RawQuery = values.Encode()
	return back.String(), nil
}

// redeem exchanges the code of a token request after authenticating the client.
func (c *call) redeem(openid bool) (*code, error) {
	if c.args["client_id"] != c.app.ClientID {
		return nil, fail("invalid_client_id")
	}
	if c.args["client_secret"] != c.app.ClientSecret {
		return nil, fail("bad_client_secret")
	}
	given := c.codes[c.args["code"]]
	if given == nil {
		return nil, fail("invalid_code")
	}
	if given.openid != openid {
		return nil, fail("oauth_authorization_url_mismatch")
	}
	if given.redirect != c.args["redirect_uri"] {
		return nil, fail("bad_redirect_uri")
	}
	delete(c.codes, c.args["code"])
	return given, nil
}

// oauthAccess installs the app. A repeated installation replaces the scopes.
func (c *call) oauthAccess() (object, error) {
	given, err := c.redeem(false)
	if err != nil {
		return nil, err
	}
	if c.Workspace.token == "" {
		c.Workspace.token = "xoxb-" + secret()
	}
	c.scopes = given.scopes
	c.touch()
	return object{
		"access_token": c.Workspace.token, "token_type": "bot", "scope": strings.Join(c.scopes, ","),
		"bot_user_id": DemoBot, "app_id": DemoApp, "team": object{"id": DemoTeam, "name": teamName},
		"enterprise": nil, "is_enterprise_install": false, "authed_user": object{"id": given.person.ID},
	}, nil
}

func (c *call) openidToken() (object, error) {
	given, err := c.redeem(true)
	if err != nil {
		return nil, err
	}
	now := c.clock.now()
	unsigned := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
		"iss": c.url, "aud": c.app.ClientID, "sub": given.person.ID, "iat": now.Unix(),
		"exp": now.Add(5 * time.Minute).Unix(), "nonce": given.nonce,
		"https://slack.com/user_id": given.person.ID, "https://slack.com/team_id": given.person.team(),
	})
	unsigned.Header["kid"] = keyID
	signed, err := unsigned.SignedString(c.signer())
	if err != nil {
		return nil, err
	}
	return object{"access_token": "xoxp-" + secret(), "token_type": "Bearer", "id_token": signed}, nil
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
