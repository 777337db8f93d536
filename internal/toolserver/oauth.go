package toolserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/opaque"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
	"github.com/tsumugi-ai/tsumugi/internal/work"
)

const (
	attemptLifetime = 10 * time.Minute
	oauthTimeout    = 10 * time.Second
	refreshLease    = 2 * oauthTimeout
	refreshPause    = 100 * time.Millisecond
	refreshBefore   = 30 * time.Second // A token is refreshed this long before it expires.
	maxToken        = 16 << 10         // Bytes of a token.
)

// errSetup refuses a connection because of how the server, or its authorization server, is set up.
func errSetup(cause error, text string) error {
	return fault.Wrap(cause, CodeSetup, "%s管理者にお問い合わせください。", text)
}

// Links returns the servers with OAuth that the actor may use.
func (s *Service) Links(ctx context.Context, actor identity.Actor) ([]Server, error) {
	servers, err := s.store.PersonToolServers(ctx, actor.Owner())
	return slices.DeleteFunc(servers, func(server Server) bool { return server.Auth != AuthOAuth }), err
}

// BeginConnection begins to connect the actor with a server. The browser opens the returned URL; the value of its cookie
// must come back with it. Errors: ErrNoServer, ErrMoved, secret.ErrNoKey, and CodeSetup.
func (s *Service) BeginConnection(ctx context.Context, actor identity.Actor, id uuid.UUID) (
	address, browser string, err error,
) {
	server, err := s.personServer(ctx, actor.Owner(), id)
	if err != nil {
		return "", "", err
	}
	authorization, clientID, err := s.authorization(ctx, server)
	if err != nil {
		return "", "", err
	}
	state, hash := opaque.New()
	browser, browserHash := opaque.New()
	verifier, _ := opaque.New()
	if err := s.store.AddToolAttempt(ctx, Attempt{
		Hash: hash, BrowserHash: browserHash, Owner: actor.Owner(), ServerID: id, URL: server.URL, ClientID: clientID,
		Verifier: verifier, ExpiresAt: s.cfg.Clock().Add(attemptLifetime),
	}); err != nil {
		return "", "", err
	}
	options := []oauth2.AuthCodeOption{
		oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", authorization.Resource),
	}
	if slices.Contains(authorization.Scopes, "offline_access") {
		options = append(options, oauth2.SetAuthURLParam("prompt", "consent")) // OpenID Connect Core, section 11.
	}
	config := oauth2.Config{
		Endpoint: oauth2.Endpoint{AuthURL: authorization.AuthorizationEndpoint}, ClientID: clientID,
		RedirectURL: s.RedirectURL(id), Scopes: authorization.Scopes,
	}
	return config.AuthCodeURL(state, options...), browser, nil
}

// personServer returns a server with OAuth that a person may use. Error: ErrNoServer.
func (s *Service) personServer(ctx context.Context, owner identity.Owner, id uuid.UUID) (Server, error) {
	servers, err := s.store.PersonToolServers(ctx, owner)
	if err != nil {
		return Server{}, err
	}
	i := slices.IndexFunc(servers, func(server Server) bool { return server.ID == id && server.Auth == AuthOAuth })
	if i < 0 {
		return Server{}, ErrNoServer
	}
	return servers[i], nil
}

// RedirectURL returns the redirect URI of a server. Each server has its own, so that the response of one authorization
// server is not accepted as that of another one (RFC 9700, section 4.4.2).
func (s *Service) RedirectURL(id uuid.UUID) string {
	return s.cfg.PublicURL + "/v1/tool-connection/" + id.String() + "/callback"
}

// authorization returns the authorization server of a server and the id of the product's client there. At the first
// connection it discovers the one and registers the other. It registers a client with another redirect URI again.
func (s *Service) authorization(ctx context.Context, server Server) (a Authorization, clientID string, err error) {
	secrets, err := s.store.ToolSecrets(ctx, server)
	if err != nil {
		return a, "", err
	}
	redirect := s.RedirectURL(server.ID)
	if secrets.OAuth != nil && server.ClientID != "" && secrets.OAuth.RedirectURI == redirect {
		return *secrets.OAuth, server.ClientID, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, discoveryTimeout, errSlow)
	defer cancel()
	a, registration, err := s.discoverAuthorization(ctx, server.URL)
	if err != nil {
		return a, "", err
	}
	a.RedirectURI = redirect
	if server.ClientID != "" && !server.Registered {
		return a, server.ClientID, s.store.SetToolAuthorization(ctx, server, a, nil)
	}
	client, err := s.register(ctx, registration, redirect)
	if err != nil {
		return a, "", err
	}
	return a, client.ID, s.store.SetToolAuthorization(ctx, server, a, &client)
}

// discoverAuthorization returns the authorization server of a server (RFC 9728, RFC 8414), and its registration
// endpoint, or "".
func (s *Service) discoverAuthorization(ctx context.Context, address string) (
	a Authorization, registration string, err error,
) {
	client := httpClient(&bounded{base: s.client.transport}, oauthTimeout)
	resource, scopes, err := resourceMetadata(ctx, address, client)
	if err != nil {
		return a, "", err
	}
	meta, err := auth.GetAuthServerMetadata(ctx, resource.AuthorizationServers[0], client)
	switch {
	case err != nil || meta == nil:
		return a, "", errSetup(err, "認可サーバーの情報を取得できませんでした。")
	case !slices.Contains(meta.CodeChallengeMethodsSupported, "S256"):
		return a, "", errSetup(nil, "認可サーバーが、PKCE（S256）に対応していません。")
	}
	for _, endpoint := range []string{meta.AuthorizationEndpoint, meta.TokenEndpoint} {
		if err := s.client.CheckURL(endpoint); err != nil {
			return a, "", errSetup(err, "認可サーバーのアドレスを使用できません。")
		}
	}
	if slices.Contains(meta.ScopesSupported, "offline_access") && !slices.Contains(scopes, "offline_access") {
		scopes = append(scopes, "offline_access")
	}
	methods := meta.TokenEndpointAuthMethodsSupported
	return Authorization{
		Issuer: meta.Issuer, AuthorizationEndpoint: meta.AuthorizationEndpoint, TokenEndpoint: meta.TokenEndpoint,
		RevocationEndpoint: meta.RevocationEndpoint, Resource: resource.Resource, Scopes: scopes,
		RequireIssuer: meta.AuthorizationResponseIssParameterSupported,
		BasicAuth:     len(methods) == 0 || slices.Contains(methods, "client_secret_basic"),
	}, meta.RegistrationEndpoint, nil
}

// resourceMetadata reads the metadata of a server (RFC 9728): from the address in its refusal of a request without
// credentials, or else from the well-known addresses. The scopes are those in the refusal or, if it has none, in the
// metadata.
func resourceMetadata(ctx context.Context, address string, client *http.Client) (
	_ *oauthex.ProtectedResourceMetadata, scopes []string, err error,
) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(`{}`))
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	response, err := client.Do(request)
	if err != nil {
		return nil, nil, errSetup(err, "サーバーに接続できませんでした。")
	}
	_ = response.Body.Close()
	type place struct{ metadata, resource string }
	root := request.URL.Scheme + "://" + request.URL.Host
	wellKnown := root + "/.well-known/oauth-protected-resource"
	places := []place{{wellKnown + request.URL.Path, address}, {wellKnown, root}, {wellKnown, address}}
	challenges, _ := oauthex.ParseWWWAuthenticate(response.Header.Values("WWW-Authenticate"))
	for _, c := range challenges {
		scopes = append(scopes, strings.Fields(c.Params["scope"])...)
		if metadata := c.Params["resource_metadata"]; metadata != "" {
			places = slices.Insert(places, 0, place{metadata, address}, place{metadata, root})
		}
	}
	var failure error
	for _, place := range places {
		meta, err := oauthex.GetProtectedResourceMetadata(ctx, place.metadata, place.resource, client)
		if err == nil && len(meta.AuthorizationServers) > 0 {
			if len(scopes) == 0 {
				scopes = slices.Clone(meta.ScopesSupported)
			}
			return meta, scopes, nil
		}
		failure = errors.Join(failure, err)
	}
	return nil, nil, errSetup(failure, "サーバーが、OAuthの情報（RFC 9728）を提供していません。")
}

// register registers the product as a client (RFC 7591).
func (s *Service) register(ctx context.Context, endpoint, redirect string) (Client, error) {
	if endpoint == "" {
		return Client{}, errSetup(nil, "認可サーバーは、クライアントの自動登録に対応していません。クライアントIDの入力が必要です。")
	}
	if err := s.client.CheckURL(endpoint); err != nil {
		return Client{}, errSetup(err, "認可サーバーのアドレスを使用できません。")
	}
	registered, err := oauthex.RegisterClient(ctx, endpoint, &oauthex.ClientRegistrationMetadata{
		ClientName: "Tsumugi", ClientURI: s.cfg.PublicURL, RedirectURIs: []string{redirect},
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		TokenEndpointAuthMethod: "none",
	}, httpClient(&bounded{base: s.client.transport}, oauthTimeout))
	if err != nil || len(registered.ClientID) > maxClientID || len(registered.ClientSecret) > maxSecret {
		return Client{}, errSetup(err, "認可サーバーへのクライアントの登録に失敗しました。")
	}
	return Client{registered.ClientID, registered.ClientSecret}, nil
}

// Callback is the return of a browser from an authorization server.
type Callback struct {
	ServerID                   uuid.UUID // Of the redirect URI.
	State, Code, Error, Issuer string
	Browser                    string // The value of the cookie.
}

// FinishConnection completes a connection that the actor of the browser has begun. Errors: ErrState, ErrDenied,
// ErrMoved, CodeSetup.
func (s *Service) FinishConnection(ctx context.Context, back Callback) error {
	attempt, err := s.store.TakeToolAttempt(ctx, opaque.Hash(back.State), opaque.Hash(back.Browser), s.cfg.Clock())
	if err == nil && attempt.ServerID != back.ServerID {
		err = ErrState
	}
	if err != nil {
		return err
	}
	owner := attempt.Owner
	server, err := s.personServer(ctx, owner, attempt.ServerID)
	if err != nil {
		return err
	}
	secrets, err := s.store.ToolSecrets(ctx, server)
	switch {
	case err != nil:
		return err
	case server.URL != attempt.URL, server.ClientID != attempt.ClientID:
		return ErrMoved // The code must not be sent to another authorization server.
	case secrets.OAuth == nil:
		return ErrState
	case back.Issuer != "" && back.Issuer != secrets.OAuth.Issuer, back.Issuer == "" && secrets.OAuth.RequireIssuer:
		return ErrState // A response of another authorization server (RFC 9207).
	case back.Error != "" || back.Code == "":
		return ErrDenied
	}
	connection, err := s.requestToken(ctx, server, secrets, url.Values{
		"grant_type": {"authorization_code"}, "code": {back.Code}, "redirect_uri": {s.RedirectURL(server.ID)},
		"code_verifier": {attempt.Verifier},
	})
	if err != nil {
		return errSetup(err, "認可サーバーから、トークンを受け取れませんでした。")
	}
	connection.Scopes = secrets.OAuth.Scopes
	return s.store.SaveToolConnection(ctx, owner, server, connection)
}

// errEnded refuses a request for a token: the code or the refresh token is not valid any more, or the authorization
// server does not know the client.
var errEnded = errors.New("the authorization server has ended the connection")

// requestToken makes a request to the token endpoint. If the server does not know the registered client any more, the
// client is deleted: the next connection registers another one.
func (s *Service) requestToken(ctx context.Context, server Server, secrets Secrets, form url.Values) (Connection, error) {
	form.Set("resource", secrets.OAuth.Resource)
	response, err := s.post(ctx, secrets.OAuth.TokenEndpoint, server, secrets, form)
	if err != nil {
		return Connection{}, err
	}
	defer func() { _ = response.Body.Close() }()
	var token struct {
		AccessToken  string          `json:"access_token"`
		TokenType    string          `json:"token_type"`
		RefreshToken string          `json:"refresh_token"`
		ExpiresIn    json.RawMessage `json:"expires_in"` // A number of seconds. Some servers send a string.
		Error        string          `json:"error"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 4*maxToken)).Decode(&token); err != nil {
		return Connection{}, err
	}
	switch {
	case token.Error == "invalid_grant":
		return Connection{}, errEnded
	case token.Error == "invalid_client" && server.Registered:
		err := s.store.ForgetToolClient(ctx, server.OrganizationID, server.ID, server.ClientID)
		return Connection{}, errors.Join(errEnded, err)
	case response.StatusCode != http.StatusOK || token.AccessToken == "" || !strings.EqualFold(token.TokenType, "Bearer") ||
		len(token.AccessToken) > maxToken || len(token.RefreshToken) > maxToken:
		return Connection{}, errors.New("the token endpoint refused: " + response.Status)
	}
	c := Connection{AccessToken: token.AccessToken, RefreshToken: token.RefreshToken}
	// The lifetime is unknown, like a missing one, unless it is a positive number.
	if seconds, err := strconv.ParseFloat(strings.Trim(string(token.ExpiresIn), `"`), 64); err == nil && seconds > 0 {
		c.ExpiresAt = s.cfg.Clock().Add(time.Duration(min(seconds, 1e7) * float64(time.Second)))
	}
	return c, nil
}

// post sends a form to an endpoint of the authorization server, with the credentials of the client.
func (s *Service) post(ctx context.Context, endpoint string, server Server, secrets Secrets, form url.Values) (
	*http.Response, error,
) {
	basic := secrets.Secret != "" && secrets.OAuth.BasicAuth
	if !basic {
		form.Set("client_id", server.ClientID)
		if secrets.Secret != "" {
			form.Set("client_secret", secrets.Secret)
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")
	if basic { // RFC 6749, section 2.3.1.
		request.SetBasicAuth(url.QueryEscape(server.ClientID), url.QueryEscape(secrets.Secret))
	}
	return httpClient(&bounded{base: s.client.transport}, oauthTimeout).Do(request)
}

// errUnlinked asks the person to connect.
func (s *Service) errUnlinked(text string) error {
	return fault.Errorf(fault.Forbidden, "%s設定の「連携アプリ」で連携してください（%s/setting/connections）。", text, s.cfg.PublicURL)
}

// accessToken returns the access token of a person, refreshed if it expires soon.
func (s *Service) accessToken(ctx context.Context, owner identity.Owner, server Server) (string, error) {
	connection, err := s.store.ToolConnection(ctx, owner, server)
	switch {
	case errors.Is(err, ErrNotConnected):
		return "", s.errUnlinked("まだ連携していません。")
	case err != nil:
		return "", err
	case s.valid(connection):
		return connection.AccessToken, nil
	}
	return s.refresh(ctx, owner, server, connection.AccessToken)
}

// valid reports whether an access token can still be used for a call. One that cannot be refreshed is used until it
// expires.
func (s *Service) valid(c Connection) bool {
	at := s.cfg.Clock()
	if c.RefreshToken != "" {
		at = at.Add(refreshBefore)
	}
	return c.ExpiresAt.IsZero() || at.Before(c.ExpiresAt)
}

// refresh replaces a person's tokens because the access token stale cannot be used. A lock of all servers prevents two
// refreshes with the same token, which many authorization servers take for theft.
func (s *Service) refresh(ctx context.Context, owner identity.Owner, server Server, stale string) (string, error) {
	slot, holder := "tool "+server.ID.String()+" "+owner.UserID.String(), uuidv7.New()
	for {
		held, err := s.store.AcquireSlot(ctx, slot, 1, holder, refreshLease)
		if err != nil {
			return "", err
		}
		if held {
			break
		}
		if work.Sleep(ctx, refreshPause); ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
	}
	// The tokens must be stored even if the call ends meanwhile.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), oauthTimeout+timeout.Store)
	defer cancel()
	defer func() { _ = s.store.ReleaseSlot(context.WithoutCancel(ctx), slot, holder) }()
	connection, err := s.store.ToolConnection(ctx, owner, server)
	switch {
	case errors.Is(err, ErrNotConnected):
		return "", s.errUnlinked("連携が解除されました。")
	case err != nil:
		return "", err
	case connection.AccessToken != stale && s.valid(connection): // Another call has refreshed it.
		return connection.AccessToken, nil
	case connection.RefreshToken == "" && s.valid(connection):
		return "", s.errRefused()
	case connection.RefreshToken == "":
		return "", s.errUnlinked("連携の有効期限が切れました。")
	}
	secrets, err := s.store.ToolSecrets(ctx, server)
	switch {
	case err != nil:
		return "", err
	case secrets.OAuth == nil:
		return "", s.errUnlinked("連携が無効になりました。")
	}
	next, err := s.requestToken(ctx, server, secrets, url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {connection.RefreshToken},
	})
	switch {
	case errors.Is(err, errEnded):
		return "", s.errUnlinked("連携が、相手のサービスで無効になりました。もう一度、")
	case err != nil:
		return "", fault.Wrap(err, fault.Unavailable, "連携を更新できませんでした。少し時間をおいて、もう一度お試しください。")
	}
	next.Scopes, next.RefreshToken = connection.Scopes, cmp.Or(next.RefreshToken, connection.RefreshToken)
	return next.AccessToken, s.store.RefreshToolConnection(ctx, owner, server, connection, next)
}

// Disconnect deletes the actor's connection with a server, and revokes its token if the authorization server offers that.
func (s *Service) Disconnect(ctx context.Context, actor identity.Actor, id uuid.UUID) error {
	// Read before the connection is deleted, because the server may be moved or removed afterwards. If reading fails, the
	// connection is deleted nevertheless.
	server, unreadServer := s.store.ToolServer(ctx, actor.OrganizationID, id)
	secrets, unreadSecrets := s.store.ToolSecrets(ctx, server)
	connection, err := s.store.RemoveToolConnection(ctx, actor, id)
	if err != nil {
		return err
	}
	if err = cmp.Or(unreadServer, unreadSecrets); err != nil || secrets.OAuth == nil || secrets.OAuth.RevocationEndpoint == "" ||
		s.client.CheckURL(secrets.OAuth.RevocationEndpoint) != nil {
		return err
	}
	s.group.Go(func(ctx context.Context) { s.revoke(ctx, server, secrets, connection) })
	return nil
}

// revoke revokes a token (RFC 7009). A failure is logged only: the token expires.
func (s *Service) revoke(ctx context.Context, server Server, secrets Secrets, c Connection) {
	response, err := s.post(ctx, secrets.OAuth.RevocationEndpoint, server, secrets, url.Values{
		"token": {cmp.Or(c.RefreshToken, c.AccessToken)},
	})
	if err != nil {
		s.log.WarnContext(ctx, "toolserver: a token was not revoked", "server", server.ID, "err", err)
		return
	}
	_ = response.Body.Close()
}
