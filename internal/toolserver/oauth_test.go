package toolserver_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/secret"
	"github.com/tsumugi-ai/tsumugi/internal/toolserver"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// connect connects a person.
func (o *office) connect(g *gate, person identity.Actor, server toolserver.Server) {
	o.t.Helper()
	address, browser, err := o.tools.BeginConnection(o.t.Context(), person, server.ID)
	if err != nil {
		o.t.Fatal(err)
	}
	if err := o.tools.FinishConnection(o.t.Context(), g.authorize(address, browser)); err != nil {
		o.t.Fatal(err)
	}
}

func withOAuth(d *toolserver.Draft) { d.Auth = new(toolserver.AuthOAuth) }

// TestConnectionByOAuth: each person connects with their own account. A call without a connection returns an error with
// the address of the settings.
func TestConnectionByOAuth(t *testing.T) {
	t.Parallel()
	o, c := newOffice(t), newCRM(t)
	g := newGate(t, c)
	server := o.add(g.URL+"/mcp", withOAuth)
	if found, err := o.tools.Discover(t.Context(), o.super, server.ID); err != nil || !strings.Contains(found.Failure, "連携アプリ") {
		t.Errorf("%q, %v", found.Failure, err)
	}
	o.connect(g, o.super, server)
	o.discover(server.ID)
	o.allow(server.ID, "crm__find_customer")
	_, err := o.call("crm__find_customer", `{"name":"a"}`)
	wants(t, err, "まだ連携していません", publicURL+"/setting/connections")
	links, err := o.tools.Links(t.Context(), o.taro)
	if err != nil || len(links) != 1 || links[0].ConnectedAt != nil {
		t.Errorf("%+v, %v", links, err)
	}
	o.connect(g, o.taro, server)
	if result, err := o.call("crm__find_customer", `{"name":"a"}`); err != nil || result.Text == "" {
		t.Errorf("%+v, %v", result, err)
	}
	if links, _ := o.tools.Links(t.Context(), o.taro); links[0].ConnectedAt == nil || len(g.clients) != 1 {
		t.Errorf("%+v, clients %v", links, g.clients)
	}
	o.exec(`DO $$ BEGIN ASSERT (SELECT bool_and(tokens LIKE 'sealed.v1.%') FROM tool_connections); END $$`)
	must.Succeed(t, o.tools.Disconnect(t.Context(), o.taro, server.ID))
	if token := <-g.revoked; token != "refresh-b" {
		t.Errorf("revoked %q", token)
	}
	_, err = o.call("crm__find_customer", `{"name":"a"}`)
	wants(t, err, "まだ連携していません")
	if err := o.tools.Disconnect(t.Context(), o.taro, server.ID); !errors.Is(err, toolserver.ErrNotConnected) {
		t.Errorf("ended twice: %v", err)
	}
}

// TestScopesOfTheRefusal: the scopes in the refusal of a request without a token are requested, not those in the
// metadata.
func TestScopesOfTheRefusal(t *testing.T) {
	t.Parallel()
	o, c := newOffice(t), newCRM(t)
	g := newGate(t, c)
	g.scope = `, scope="crm:read crm:find"`
	server := o.add(g.URL+"/mcp", func(d *toolserver.Draft) { d.Auth = new(toolserver.AuthOAuth) })
	address, _, err := o.tools.BeginConnection(t.Context(), o.taro, server.ID)
	if u, _ := url.Parse(address); err != nil || u.Query().Get("scope") != "crm:read crm:find offline_access" {
		t.Errorf("%s, %v", address, err)
	}
}

// TestConnectionIsBoundToTheBrowser: a response of an authorization server counts once, in the browser that has begun,
// within ten minutes, and from the expected issuer.
func TestConnectionIsBoundToTheBrowser(t *testing.T) {
	t.Parallel()
	o, c := newOffice(t), newCRM(t)
	g := newGate(t, c)
	server := o.add(g.URL+"/mcp", withOAuth)
	begin := func() toolserver.Callback {
		address, browser, err := o.tools.BeginConnection(t.Context(), o.taro, server.ID)
		must.Succeed(t, err)
		return g.authorize(address, browser)
	}
	for name, change := range map[string]func(*toolserver.Callback){
		"another browser": func(b *toolserver.Callback) { b.Browser = "x" },
		"another server":  func(b *toolserver.Callback) { b.ServerID = o.organization },
		"another state":   func(b *toolserver.Callback) { b.State = "x" },
		"another issuer":  func(b *toolserver.Callback) { b.Issuer = "https://evil.example" },
		"no issuer":       func(b *toolserver.Callback) { b.Issuer = "" },
		"late":            func(*toolserver.Callback) { o.pass(11 * time.Minute) },
	} {
		back := begin()
		change(&back)
		if err := o.tools.FinishConnection(t.Context(), back); !errors.Is(err, toolserver.ErrState) {
			t.Errorf("%s: %v", name, err)
		}
	}
	back := begin()
	back.Error, back.Code = "access_denied", ""
	if err := o.tools.FinishConnection(t.Context(), back); !errors.Is(err, toolserver.ErrDenied) {
		t.Errorf("denied: %v", err)
	}
	back = begin()
	must.Succeed(t, o.tools.FinishConnection(t.Context(), back))
	if err := o.tools.FinishConnection(t.Context(), back); !errors.Is(err, toolserver.ErrState) {
		t.Errorf("a second time: %v", err)
	}
}

// TestMixUp: the code of one server's authorization server, which does not send its issuer, is not sent to the
// authorization server of another server. That one has redirected the browser to the first one with the challenge of its
// own connection, so it could otherwise exchange the code for a token (RFC 9700, section 4.4).
func TestMixUp(t *testing.T) {
	t.Parallel()
	o, c := newOffice(t), newCRM(t)
	honest, hostile := newGate(t, c), newGate(t, c)
	honest.silent, hostile.silent = true, true
	server := o.add(honest.URL+"/mcp", withOAuth)
	other := o.add(hostile.URL+"/mcp", func(d *toolserver.Draft) { d.Key, d.Auth = "other", new(toolserver.AuthOAuth) })
	known, _, err := o.tools.BeginConnection(t.Context(), o.super, server.ID)
	must.Succeed(t, err)
	lured, browser, err := o.tools.BeginConnection(t.Context(), o.taro, other.ID)
	must.Succeed(t, err)
	request, begun := must.Get(url.Parse(known))(t), must.Get(url.Parse(lured))(t).Query()
	query := request.Query()
	query.Set("state", begun.Get("state"))
	query.Set("code_challenge", begun.Get("code_challenge"))
	request.RawQuery = query.Encode()
	hostile.answering = func(path string) { t.Errorf("the code was sent to %s of the other authorization server", path) }
	back := honest.authorize(request.String(), browser)
	if err := o.tools.FinishConnection(t.Context(), back); !errors.Is(err, toolserver.ErrState) {
		t.Errorf("got %v", err)
	}
}

// TestClientWithAnotherRedirectURI: a client that was registered with another redirect URI, which its authorization server
// would refuse, is registered again at the next connection. An entered client is kept.
func TestClientWithAnotherRedirectURI(t *testing.T) {
	t.Parallel()
	o, c := newOffice(t), newCRM(t)
	g := newGate(t, c)
	server := o.addConnected(g)
	o.exec(`UPDATE tool_servers SET oauth = oauth - 'redirect_uri'`) // As earlier versions stored it.
	if result, err := o.call("crm__find_customer", `{"name":"a"}`); err != nil || result.Text == "" {
		t.Errorf("the existing connection: %+v, %v", result, err)
	}
	o.connect(g, o.taro, server)
	o.connect(g, o.super, server)
	if len(g.clients) != 2 {
		t.Errorf("%d registrations", len(g.clients))
	}
	if _, err := o.tools.Edit(t.Context(), o.super, server.ID, toolserver.Draft{ClientID: new("entered")}); err != nil {
		t.Fatal(err)
	}
	address, _, err := o.tools.BeginConnection(t.Context(), o.taro, server.ID)
	if u, _ := url.Parse(address); err != nil || u.Query().Get("client_id") != "entered" || len(g.clients) != 2 {
		t.Errorf("%s, %v, %d registrations", address, err, len(g.clients))
	}
}

// TestServerMovedDuringConnection: an administrator changes the address while the old authorization server registers the
// client or issues a token. Neither is stored for the new address.
func TestServerMovedDuringConnection(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/register", "/token"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			o, c := newOffice(t), newCRM(t)
			g, moved := newGate(t, c), newGate(t, c)
			server := o.add(g.URL+"/mcp", withOAuth)
			g.answering = func(current string) {
				if current != path {
					return
				}
				if _, err := o.tools.Edit(t.Context(), o.super, server.ID, toolserver.Draft{URL: new(moved.URL + "/mcp")}); err != nil {
					t.Error(err)
				}
			}
			address, browser, err := o.tools.BeginConnection(t.Context(), o.taro, server.ID)
			if err == nil {
				err = o.tools.FinishConnection(t.Context(), g.authorize(address, browser))
			}
			if !errors.Is(err, toolserver.ErrMoved) {
				t.Errorf("error %v", err)
			}
			if links, err := o.tools.Links(t.Context(), o.taro); err != nil || len(links) != 1 || links[0].ConnectedAt != nil {
				t.Errorf("connected %+v, %v", links, err)
			}
			server.URL = moved.URL + "/mcp"
			if secrets, err := o.db.ToolSecrets(t.Context(), server); err != nil || secrets.OAuth != nil {
				t.Errorf("stored %+v, %v", secrets.OAuth, err)
			}
			o.connect(moved, o.taro, server)
			o.connect(moved, o.super, server)
			o.discover(server.ID)
			if n := moved.issued.Load(); n != 2 {
				t.Errorf("%d tokens of the new server", n)
			}
		})
	}
}

// addConnected adds a server with OAuth whose tool crm__find_customer is allowed, and connects its administrator and taro.
func (o *office) addConnected(g *gate) toolserver.Server {
	o.t.Helper()
	server := o.add(g.URL+"/mcp", withOAuth)
	o.connect(g, o.super, server)
	o.discover(server.ID)
	o.allow(server.ID, "crm__find_customer")
	o.connect(g, o.taro, server)
	return server
}

// TestTokensAreRefreshedOnce: calls at the same time refresh an expired token with one request, and a refused refresh
// asks the person to connect again.
func TestTokensAreRefreshedOnce(t *testing.T) {
	t.Parallel()
	o, c := newOffice(t), newCRM(t)
	g := newGate(t, c)
	o.addConnected(g)
	o.pass(2 * time.Hour)
	tools := o.offered(o.taro, "crm__find_customer")
	ends := make(chan error, 5)
	for range cap(ends) {
		go func() {
			_, err := tools[0].Call(t.Context(), json.RawMessage(`{"name":"a"}`))
			ends <- err
		}()
	}
	for range cap(ends) {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
	if n := g.refreshed.Load(); n != 1 {
		t.Errorf("%d refreshes", n)
	}
	g.mu.Lock()
	g.valid, g.refresh = nil, nil // The authorization server has ended the connection.
	g.mu.Unlock()
	_, err := o.call("crm__find_customer", `{"name":"a"}`)
	wants(t, err, "相手のサービスで無効になりました", "/setting/connections")
}

// TestLifetimesOfTokens: authorization servers write the lifetime of a token in several forms. A token without one that
// can be read is used until the server refuses it.
func TestLifetimesOfTokens(t *testing.T) {
	t.Parallel()
	o, c := newOffice(t), newCRM(t)
	g := newGate(t, c)
	server := o.addConnected(g)
	for lifetime, refreshes := range map[any]int64{
		3600: 1, "3600": 1, 3599.5: 1, "3599.5": 1, 3.6e3: 1, 1e300: 0, "1e300": 0, "1e999": 0,
		nil: 0, 0: 0, "0": 0, -1: 0, "": 0, "NaN": 0, "soon": 0, true: 0, [1]int{3600}: 0,
	} {
		g.mu.Lock()
		g.lifetime = lifetime
		g.mu.Unlock()
		o.connect(g, o.taro, server)
		for _, want := range []int64{0, refreshes} {
			before := g.refreshed.Load()
			if _, err := o.call("crm__find_customer", `{"name":"a"}`); err != nil {
				t.Errorf("%v: %v", lifetime, err)
			}
			if n := g.refreshed.Load() - before; n != want {
				t.Errorf("%v: %d refreshes, not %d", lifetime, n, want)
			}
			o.pass(2 * time.Hour)
		}
	}
}

// TestTokenWithoutRefreshToken: a token that cannot be refreshed is used until it expires, however short its lifetime
// is.
func TestTokenWithoutRefreshToken(t *testing.T) {
	t.Parallel()
	o, c := newOffice(t), newCRM(t)
	g := newGate(t, c)
	g.lifetime, g.final = 20, true
	o.addConnected(g)
	for range 2 {
		if _, err := o.call("crm__find_customer", `{"name":"a"}`); err != nil {
			t.Error(err)
		}
		o.pass(19 * time.Second)
	}
	_, err := o.call("crm__find_customer", `{"name":"a"}`)
	wants(t, err, "連携の有効期限が切れました", "/setting/connections")
}

// TestTokenEndsEarly: a server refuses a token that seems valid. It is refreshed, and the call is sent once. If the server
// refuses the new token too, the person is asked to connect again.
func TestTokenEndsEarly(t *testing.T) {
	t.Parallel()
	o, c := newOffice(t), newCRM(t)
	g := newGate(t, c)
	o.addConnected(g)
	g.end(false)
	result, err := o.call("crm__find_customer", `{"name":"a"}`)
	if err != nil || result.Text == "" || g.refreshed.Load() != 1 || c.calls.Load() != 1 {
		t.Errorf("%+v, %v, %d refreshes, %d calls", result, err, g.refreshed.Load(), c.calls.Load())
	}
	g.end(true)
	_, err = o.call("crm__find_customer", `{"name":"a"}`)
	wants(t, err, "連携が受け付けられませんでした", "/setting/connections")
	if n := g.refreshed.Load(); n != 2 || c.calls.Load() != 1 {
		t.Errorf("%d refreshes, %d calls", n, c.calls.Load())
	}
}

// TestLostRegistration: an authorization server that has lost the product's client gets a new registration when a person
// connects again.
func TestLostRegistration(t *testing.T) {
	t.Parallel()
	o, c := newOffice(t), newCRM(t)
	g := newGate(t, c)
	server := o.addConnected(g)
	g.mu.Lock()
	g.forgotten = true
	g.mu.Unlock()
	o.pass(2 * time.Hour)
	_, err := o.call("crm__find_customer", `{"name":"a"}`)
	wants(t, err, "相手のサービスで無効になりました", "/setting/connections")
	o.connect(g, o.taro, server)
	if result, err := o.call("crm__find_customer", `{"name":"a"}`); err != nil || result.Text == "" {
		t.Errorf("%+v, %v", result, err)
	}
	if len(g.clients) != 2 {
		t.Errorf("%d registrations", len(g.clients))
	}
}

// TestEnteredInsteadOfRegistered: the secret of a registered client is not that of the client that an administrator
// enters instead.
func TestEnteredInsteadOfRegistered(t *testing.T) {
	t.Parallel()
	for _, entered := range []*string{nil, new("entered")} {
		o, c := newOffice(t), newCRM(t)
		server := o.add(newGate(t, c).URL+"/mcp", withOAuth)
		if err := o.db.SetToolAuthorization(t.Context(), server, toolserver.Authorization{},
			&toolserver.Client{ID: "registered", Secret: "registered"}); err != nil {
			t.Fatal(err)
		}
		if _, err := o.tools.Edit(t.Context(), o.super, server.ID,
			toolserver.Draft{ClientID: new("client-1"), Secret: entered}); err != nil {
			t.Fatal(err)
		}
		got, err := o.db.ToolSecrets(t.Context(), server)
		if err != nil || (entered == nil) != (got.Secret == "") || entered != nil && got.Secret != *entered {
			t.Errorf("the secret %q, %v", got.Secret, err)
		}
	}
}

// TestConnectionWithoutKey: without a key for secrets, a person is not sent to an authorization server.
func TestConnectionWithoutKey(t *testing.T) {
	t.Parallel()
	o, c := newOffice(t), newCRM(t)
	server := o.add(newGate(t, c).URL+"/mcp", withOAuth)
	keyless := toolserver.NewService(toolserver.Config{PublicURL: publicURL}, o.db.WithSecrets(secret.Keyring{}),
		toolserver.NewConnector(toolserver.ConnectorConfig{Hosts: []string{"127.0.0.1"}}), slog.New(slog.DiscardHandler))
	t.Cleanup(keyless.Stop)
	if _, _, err := keyless.BeginConnection(t.Context(), o.taro, server.ID); !errors.Is(err, secret.ErrNoKey) {
		t.Errorf("got %v", err)
	}
}

// TestClientWithoutRegistration: without dynamic registration, the administrator enters a client id, and another one
// ends the connections.
func TestClientWithoutRegistration(t *testing.T) {
	t.Parallel()
	o, c := newOffice(t), newCRM(t)
	g := newGate(t, c)
	g.register = false
	server := o.add(g.URL+"/mcp", withOAuth)
	if _, _, err := o.tools.BeginConnection(t.Context(), o.taro, server.ID); fault.CodeOf(err) != toolserver.CodeSetup ||
		!strings.Contains(err.Error(), "クライアントID") {
		t.Errorf("got %v", err)
	}
	if _, err := o.tools.Edit(t.Context(), o.super, server.ID, toolserver.Draft{ClientID: new("client-1")}); err != nil {
		t.Fatal(err)
	}
	o.connect(g, o.taro, server)
	if _, err := o.tools.Edit(t.Context(), o.super, server.ID, toolserver.Draft{ClientID: new("client-2")}); err != nil {
		t.Fatal(err)
	}
	if links, err := o.tools.Links(t.Context(), o.taro); err != nil || len(links) != 1 || links[0].ConnectedAt != nil {
		t.Errorf("%+v, %v", links, err)
	}
	plain := o.add(c.URL, func(d *toolserver.Draft) { d.Key, d.Auth = "open", new(toolserver.AuthOAuth) })
	if _, _, err := o.tools.BeginConnection(t.Context(), o.taro, plain.ID); fault.CodeOf(err) != toolserver.CodeSetup ||
		!strings.Contains(err.Error(), "RFC 9728") {
		t.Errorf("a server without OAuth: %v", err)
	}
}
