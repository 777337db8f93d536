package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// The Model Context Protocol is served by the official SDK, over Streamable HTTP and without sessions.

// The path of the endpoint, and that of its metadata (RFC 9728).
const (
	mcpPath         = "/mcp"
	mcpMetadataPath = "/.well-known/oauth-protected-resource"
)

// mcpScopes are the scopes of all tools and resources.
var mcpScopes = []identity.Scope{identity.ScopeChat, identity.ScopeDocuments}

// mcpInstructions describe the server to a model.
const mcpInstructions = "Tsumugi は、組織のAIアシスタントです。組織のスキル（目的別のアシスタント）に質問し、利用者のファイルを検索できます。" +
	"スキルの id は list_skills で調べます。"

// mcpServer serves the Model Context Protocol. It is safe for concurrent use.
type mcpServer struct {
	*Server
	// Handlers for the two forms of responses.
	whole, stream http.Handler

	origin string // Of the public URL.
}

func (s *Server) newMCP() *mcpServer {
	m := &mcpServer{Server: s}
	server := sdk.NewServer(&sdk.Implementation{
		Name: "tsumugi", Title: "Tsumugi", Version: s.cfg.Version, WebsiteURL: s.cfg.PublicURL,
	}, &sdk.ServerOptions{
		Instructions: mcpInstructions, SupportedProtocolVersions: []string{"2026-07-28", "2025-11-25"},
		// Lists do not change during a request.
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}},
		// Results belong to one person. The default would allow caches to share them.
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" },
	})
	s.addTools(server)
	s.addResources(server)
	serve := func(whole bool) http.Handler {
		find := func(*http.Request) *sdk.Server { return server }
		return sdk.NewStreamableHTTPHandler(find, &sdk.StreamableHTTPOptions{
			Stateless: true, JSONResponse: whole,
			// serve checks Origin. A reverse proxy on the same machine connects to a loopback address.
			DisableLocalhostProtection: true,
			MaxRequestBodyBytes:        -1, // serve has read the body.
		})
	}
	m.whole, m.stream = serve(true), serve(false)
	if public, err := url.Parse(s.cfg.PublicURL); err == nil {
		m.origin = public.Scheme + "://" + public.Host
	}
	return m
}

// resourceMetadata returns the metadata of the protected resource (RFC 9728).
func (s *Server) resourceMetadata(w http.ResponseWriter, _ *http.Request) error {
	public := s.cfg.PublicURL
	return writeJSON(w, http.StatusOK, ResourceMetadata{
		Resource: public + mcpPath, AuthorizationServers: []string{public},
		ScopesSupported: toScopes(mcpScopes), BearerMethodsSupported: []string{"header"},
		ResourceName: "Tsumugi", ResourceDocumentation: public + "/docs/api",
	})
}

// challenge returns the challenge of a refused call (RFC 6750). For the Model Context Protocol it contains the metadata
// and the scopes that a client should ask for.
func (s *Server) challenge(r *http.Request, problem Problem) string {
	if r.URL.Path != mcpPath {
		return "Bearer"
	}
	metadata := s.cfg.PublicURL + mcpMetadataPath + mcpPath
	challenge := `Bearer resource_metadata="` + metadata + `", scope="chat documents"`
	switch {
	case problem.Code == string(codeScope):
		challenge += `, error="insufficient_scope"`
	case r.Header.Get("Authorization") != "":
		challenge += `, error="invalid_token"`
	}
	return challenge
}

// refuseMCPStream refuses the stream of messages outside of requests, which the server does not have.
func refuseMCPStream(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Allow", http.MethodPost)
	return fault.Errorf(codeMethod, "この操作には対応していません。")
}

// mcpMessage is a message of a client, as far as it determines the rights that it needs and the form of its response.
type mcpMessage struct {
	method string
	target string // The name of a tool or the URI of a resource.
}

// The methods that the server distinguishes.
const (
	methodCallTool     = "tools/call"
	methodReadResource = "resources/read"
)

// parseMCP parses a message of JSON-RPC.
func parseMCP(body []byte) (m mcpMessage, err error) {
	var envelope struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params"`
	}
	if err := decodeStrictly(body, &envelope); err != nil {
		return m, err
	}
	var params struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
	}
	if envelope.Params != nil && json.Unmarshal(envelope.Params, &params) != nil {
		return m, fault.InvalidField("params", "値の型が正しくありません。")
	}
	// The SDK, or a JSON parser, would respond with another id.
	id, err := strconv.ParseFloat(string(envelope.ID), 64)
	if err == nil && (id != math.Trunc(id) || math.Abs(id) >= 1<<53) {
		return m, fault.InvalidField("id", "2の53乗未満の整数か、文字列を指定してください。")
	}
	m = mcpMessage{method: envelope.Method, target: params.Name}
	switch m.method {
	case "": // This server sends no requests, so clients send no responses.
		return m, fault.InvalidField("method", "必須の項目です。")
	case methodReadResource:
		m.target = params.URI
	}
	return m, nil
}

// scopes returns the alternative scopes of a message. Each of them is sufficient.
func (m mcpMessage) scopes() []identity.Scope {
	switch {
	case m.method == methodCallTool && m.target == toolSearch,
		m.method == methodReadResource && strings.HasPrefix(m.target, documentURI):
		return []identity.Scope{identity.ScopeDocuments}
	case m.method == methodCallTool && (m.target == toolAsk || m.target == toolSkills),
		m.method == methodReadResource && strings.HasPrefix(m.target, threadURI):
		return []identity.Scope{identity.ScopeChat}
	}
	return mcpScopes
}

type mcpCallKey struct{}

// serve handles a message of a client. Its response may take minutes if the message asks a question.
func (m *mcpServer) serve(c *call) error {
	for _, origin := range c.r.Header.Values("Origin") {
		if !strings.EqualFold(origin, m.origin) { // A page of another origin, for example after a rebinding of DNS names.
			return fault.Errorf(fault.Forbidden, "ほかのサイトのページからは利用できません。")
		}
	}
	body, err := readJSON(maxBody, c.w, c.r)
	if err != nil {
		return err
	}
	message, err := parseMCP(body)
	if err != nil {
		return err
	}
	if !c.actor.HasScope(message.scopes()...) {
		return errScope()
	}
	// The SDK passes the values of a request's context on, but not its end.
	r, handler := c.r.WithContext(context.WithValue(c.ctx(), mcpCallKey{}, c)), m.whole
	if message.method == methodCallTool && message.target == toolAsk {
		handler = m.stream
		c.w.Header().Set("X-Accel-Buffering", "no")
	} else {
		ctx, cancel := context.WithTimeout(c.ctx(), callTimeout)
		defer cancel()
		c.r = c.r.WithContext(ctx)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if r.Header.Get("Accept") == "" { // RFC 9110, section 12.5.1: any type.
		r.Header.Set("Accept", "*/*")
	}
	handler.ServeHTTP(patientWriter{c.w}, r)
	return nil
}

// mcpCall returns the call in the context of a handler of the SDK. The call's own context ends with the HTTP request: a
// client that has disconnected cannot receive the result later.
func mcpCall(ctx context.Context) *call {
	return ctx.Value(mcpCallKey{}).(*call) //nolint:forcetypeassert // Set by serve.
}

// protect turns a panic into an error, because the SDK calls its handlers in goroutines that do not recover.
func protect(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
	}
}

// explain returns an error as a text for people. It logs an internal error and does not show it.
func (s *Server) explain(c *call, err error) string {
	problem := s.problem(c.r, err)
	lines := []string{problem.Detail}
	for _, e := range problem.Errors {
		if e.Message != problem.Detail {
			lines = append(lines, e.Field+": "+e.Message)
		}
	}
	return strings.Join(lines, "\n")
}
