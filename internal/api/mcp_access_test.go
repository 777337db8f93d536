package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestMCPAnswerEndsWithItsToken: a call that waits for an answer ends when its token is revoked.
func TestMCPAnswerEndsWithItsToken(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	session := f.mcpClient(mcpRevisions[0], f.personalToken(f.alice.Subject, "chat").Token, nil)
	ended := make(chan *sdk.CallToolResult, 1)
	go func() {
		result, err := session.CallTool(context.WithoutCancel(t.Context()), &sdk.CallToolParams{
			Name: "ask_skill", Arguments: map[string]any{"skill": f.chatSkill().ID, "question": "糸とは"},
		})
		if err != nil {
			t.Error(err)
		}
		ended <- result
	}()
	answer := model.Next(t)
	answer.Emit("繭")
	f.endConnections("/v1/connection", f.alice.Subject)
	if result := <-ended; !result.IsError || strings.Contains(mcpText(result), "繭") {
		t.Errorf("%v %s", result.IsError, mcpText(result))
	}
	answer.Finish()
	if _, err := session.ListTools(t.Context(), nil); err == nil {
		t.Error("the token is still valid")
	}
}

// TestAnswersContinueAfterAChangeOfRights: clients that cannot reconnect receive the answer if they still have access to
// it after a change of the person's rights, and no answer otherwise.
func TestAnswersContinueAfterAChangeOfRights(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	p := f.team(f.bob)
	thread := p.shared()
	ask := func(content string) *sdk.CallToolResult {
		session := f.mcpClient(mcpRevisions[0], f.bob.Subject, nil)
		result, err := session.CallTool(context.WithoutCancel(t.Context()), &sdk.CallToolParams{
			Name: "ask_skill", Arguments: map[string]any{"thread_id": thread.ID, "question": content},
		})
		if err != nil {
			t.Error(err)
		}
		return result
	}
	results := make(chan *sdk.CallToolResult)
	go func() { results <- ask("糸とは") }()
	kept := model.Next(t)
	p.Version = get[api.ProjectGrants](f, http.StatusOK, call{
		method: "PUT", path: "/v1/project/" + p.ID.String() + "/grant", token: f.alice.Subject,
		body: map[string]any{"version": p.Version, "grants": []any{
			grant("user", f.alice.ID, "manager"), grant("user", f.bob.ID, "editor"),
		}},
	}).Version
	whole := make(chan response)
	go func() {
		whole <- f.do(call{method: "POST", path: "/v1/chat/completions", token: f.bob.Subject, body: map[string]any{
			"model": f.chatSkill().ID, "messages": []any{map[string]any{"role": "user", "content": "糸とは"}},
		}})
	}()
	completion := model.Next(t)
	kept.Emit("繭")
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.bob.ID)
	kept.Finish()
	completion.Emit("繭")
	completion.Finish()
	if got := <-results; got.IsError || !strings.Contains(mcpText(got), "繭") {
		t.Errorf("after a change of rights: %s", mcpText(got))
	}
	if got := <-whole; got.status != http.StatusOK || !strings.Contains(string(got.body), "繭") {
		t.Errorf("after a change of rights: %d %s", got.status, got.body)
	}
	go func() { results <- ask("絹とは") }()
	lost := model.Next(t)
	p.revoke(f.bob)
	if got := <-results; !got.IsError || !strings.Contains(mcpText(got), "見つかりません") {
		t.Errorf("without access: %s", mcpText(got))
	}
	lost.Finish()
}

// TestMCPRefusals: tokens, scopes, origins and messages that are refused, with the challenges of RFC 6750 and RFC 9728.
func TestMCPRefusals(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	const metadata = `Bearer resource_metadata="` + issuer + `/.well-known/oauth-protected-resource/mcp", ` +
		`scope="chat documents"`
	const narrow = metadata + `, error="insufficient_scope"`
	chats, pages := f.personalToken(f.alice.Subject, "chat").Token, f.personalToken(f.alice.Subject, "extension").Token
	documents := f.personalToken(f.alice.Subject, "documents").Token
	revoked := f.personalToken(f.bob.Subject, "chat").Token
	f.endConnections("/v1/connection", f.bob.Subject)
	list := map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
	tool := func(name string) map[string]any {
		return map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
			"name": name, "arguments": map[string]any{"query": "糸", "skill": "x", "question": "糸とは"},
		}}
	}
	read := func(uri string) map[string]any {
		return map[string]any{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": map[string]any{"uri": uri}}
	}
	for what, test := range map[string]struct {
		token     string
		body      any
		status    int
		challenge string
	}{
		"no token":                  {"", list, http.StatusUnauthorized, metadata},
		"a revoked token":           {revoked, list, http.StatusUnauthorized, metadata + `, error="invalid_token"`},
		"the scope of pages":        {pages, list, http.StatusForbidden, narrow},
		"a search without scope":    {chats, tool("search_documents"), http.StatusForbidden, narrow},
		"a question without scope":  {documents, tool("ask_skill"), http.StatusForbidden, narrow},
		"skills without scope":      {documents, tool("list_skills"), http.StatusForbidden, narrow},
		"a document without scope":  {chats, read("tsumugi://document/" + newID()), http.StatusForbidden, narrow},
		"a thread without scope":    {documents, read("tsumugi://thread/" + newID()), http.StatusForbidden, narrow},
		"several messages":          {chats, []any{list}, http.StatusBadRequest, ""},
		"an id with a fraction":     {chats, `{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}`, http.StatusBadRequest, ""},
		"an id over 2^53":           {chats, `{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/list"}`, http.StatusBadRequest, ""},
		"a response":                {chats, `{"jsonrpc":"2.0","id":1,"result":{}}`, http.StatusBadRequest, ""},
		"another scope of the tool": {documents, tool("search_documents"), http.StatusOK, ""},
		"lists need one scope":      {documents, list, http.StatusOK, ""},
	} {
		resp := f.do(f.message(test.token, test.body))
		if resp.status != test.status || resp.header.Get("WWW-Authenticate") != test.challenge {
			t.Errorf("%s: %d %q %s", what, resp.status, resp.header.Get("WWW-Authenticate"), resp.body)
		}
	}
	// The scope is also checked by the name that the SDK reads, which distinguishes upper and lower case.
	resp := f.do(f.message(chats, `{"jsonrpc":"2.0","id":1,"method":"tools/call",
		"params":{"name":"search_documents","Name":"list_skills","arguments":{"query":"糸"}}}`))
	if !strings.Contains(string(resp.body), `"isError":true`) {
		t.Errorf("a message with two names: %d %s", resp.status, resp.body)
	}
	for origin, status := range map[string]int{
		issuer: http.StatusOK, "https://evil.example": http.StatusForbidden, "null": http.StatusForbidden,
		f.url: http.StatusForbidden,
	} {
		c := f.message(chats, list)
		c.header["Origin"] = origin
		if resp := f.do(c); resp.status != status {
			t.Errorf("from %s: %d %s", origin, resp.status, resp.body)
		}
	}
	older := f.message(chats, list)
	older.header["Mcp-Protocol-Version"] = "2025-06-18"
	if resp := f.do(older); resp.status != http.StatusBadRequest {
		t.Errorf("an older revision: %d %s", resp.status, resp.body)
	}
	if resp := f.do(call{method: "GET", path: "/mcp", token: chats}); resp.status != http.StatusMethodNotAllowed ||
		resp.header.Get("Allow") != "POST" {
		t.Errorf("a stream: %d %v", resp.status, resp.header)
	}
	f.exec("UPDATE users SET state = 'inactive' WHERE id = $1", f.alice.ID)
	if resp := f.do(f.message(chats, list)); resp.status != http.StatusUnauthorized {
		t.Errorf("of an inactive member: %d %s", resp.status, resp.body)
	}
}

// TestMCPClientConnectsByOAuth: the official client finds the authorization server by the challenge, and receives a
// token for the scopes in the challenge.
func TestMCPClientConnectsByOAuth(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	// The server's public URL leads to the test server.
	client := &http.Client{Transport: redirected{f.url}}
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		PreregisteredClient: &oauthex.ClientCredentials{ClientID: "tsumugi-mcp"},
		RedirectURL:         "http://127.0.0.1:33418/", Client: client,
		AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			u, err := url.Parse(args.URL)
			if err != nil || u.Path != "/oauth/grant" || u.Query().Get("scope") != "chat documents" {
				return nil, fmt.Errorf("the browser opens %s, %w", args.URL, err)
			}
			request := map[string]any{"allow": true}
			for _, name := range []string{
				"response_type", "client_id", "redirect_uri", "state", "scope", "code_challenge", "code_challenge_method",
			} {
				request[name] = u.Query().Get(name)
			}
			given := f.allow(f.alice.Subject, request)
			return &auth.AuthorizationResult{Code: given.Get("code"), State: given.Get("state"), Iss: given.Get("iss")}, nil
		},
	})
	must.Succeed(t, err)
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: issuer + "/mcp", HTTPClient: client, OAuthHandler: handler}, nil)
	must.Succeed(t, err)
	defer func() { _ = session.Close() }()
	if result, _ := useTool[struct{}](f, session, "list_skills", nil); result.IsError {
		t.Errorf("%s", mcpText(result))
	}
	connections := get[api.ConnectionList](f, http.StatusOK, call{
		method: "GET", path: "/v1/connection", token: f.alice.Subject,
	}).Items
	if len(connections) != 1 || connections[0].Name != "AIアシスタント・エディター（MCP）" || len(connections[0].Scopes) != 2 {
		t.Errorf("%+v", connections)
	}
}

// TestMCPCallsAreLimited: questions and searches count like those of the API.
func TestMCPCallsAreLimited(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{limits: ratelimit.Limits{
		ratelimit.KindQuestion: {Each: 1}, ratelimit.KindSearch: {Each: 1},
	}})
	session := f.mcpClient(mcpRevisions[0], f.personalToken(f.alice.Subject, "chat", "documents").Token, nil)
	for tool, arguments := range map[string]map[string]any{
		"ask_skill":        {"skill": f.chatSkill().ID, "question": "糸とは"},
		"search_documents": {"query": "糸"},
	} {
		if result, _ := useTool[struct{}](f, session, tool, arguments); result.IsError {
			t.Errorf("%s: %s", tool, mcpText(result))
		}
		if result, _ := useTool[struct{}](f, session, tool, arguments); !result.IsError ||
			!strings.Contains(mcpText(result), "回数が多すぎます") {
			t.Errorf("%s again: %s", tool, mcpText(result))
		}
	}
}

// redirected is a transport that sends all requests to a server.
type redirected struct{ server string }

func (r redirected) RoundTrip(req *http.Request) (*http.Response, error) {
	to, err := url.Parse(r.server)
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	req.URL.Scheme, req.URL.Host = to.Scheme, to.Host
	return http.DefaultTransport.RoundTrip(req)
}
