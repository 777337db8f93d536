package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/api/openai"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// Path is the path of the endpoint, and MetadataPath that of its metadata (RFC 9728).
const (
	Path         = "/mcp"
	MetadataPath = "/.well-known/oauth-protected-resource"
)

// protocolVersions are the supported revisions of the protocol.
var protocolVersions = []string{"2026-07-28", "2025-11-25"}

// instructions describe the server to a model.
const instructions = "Tsumugi は、組織のAIアシスタントです。組織のスキル（目的別のアシスタント）に質問し、利用者のファイルを検索できます。" +
	"スキルの id は list_skills で調べます。"

// Service makes the calls of one request on behalf of its actor. Its errors are those of the domains.
type Service interface {
	// HasScope reports whether the actor has one of the scopes.
	HasScope(scopes ...identity.Scope) bool
	// Skills returns the skills that are visible to the actor.
	Skills(ctx context.Context) ([]openai.Model, error)
	// Ask asks a question and returns the complete answer. It calls report with the length of the text in characters
	// while the answer grows. If ctx is canceled, the answer is stopped.
	Ask(ctx context.Context, question Question, report func(characters int)) (Answer, error)
	// Search returns the best passages of the actor's files or, unless projectID is nil, of a project's files.
	Search(ctx context.Context, query string, projectID *uuid.UUID, limit int) ([]datasource.RetrievedPassage, error)
	// Documents returns a page of the actor's files, newest first.
	Documents(ctx context.Context, offset, limit int) ([]datasource.ListItem, error)
	// Passages returns a file that the actor may read, and a page of its passages.
	Passages(ctx context.Context, id uuid.UUID, offset, limit int) (datasource.Source, []datasource.Passage, error)
	// Threads returns a page of the actor's threads.
	Threads(ctx context.Context, offset, limit int) ([]chat.Thread, error)
	// Thread returns a thread that the actor may read, as Markdown.
	Thread(ctx context.Context, id uuid.UUID) (string, error)
	// Record adds a call of a tool, with the error that it returned, to the audit log.
	Record(ctx context.Context, tool, title string, took time.Duration, result error) error
	// Explain returns an error as a text for people. It logs an internal error and does not show it.
	Explain(err error) string
}

// Question is a question for a skill.
type Question struct {
	Skill    string     // A model id, a skill id or a key. Optional with a thread.
	ThreadID *uuid.UUID // The thread to continue; nil for a new one.
	Content  string
}

// Answer is a complete answer. A failed one has a Failure.
type Answer struct {
	chat.Message

	Sources   []string // The cited sources, a line each.
	ThreadURL string   // The thread in the app.
}

// Config configures a Handler.
type Config struct {
	Version     string        // The product's version.
	PublicURL   string        // The server's URL, without a trailing slash.
	CallTimeout time.Duration // Of a call, except one that waits for an answer.
	Log         *slog.Logger
}

// Handler serves the protocol. It is safe for concurrent use.
type Handler struct {
	cfg Config
	// Handlers for the two forms of responses.
	whole, stream http.Handler

	mu      sync.Mutex
	running map[runningKey]context.CancelFunc // Guarded by mu. Nil if several calls have the same key.
}

// New returns a Handler.
func New(cfg Config) *Handler {
	h := &Handler{cfg: cfg, running: make(map[runningKey]context.CancelFunc)}
	server := sdk.NewServer(&sdk.Implementation{
		Name: "tsumugi", Title: "Tsumugi", Version: cfg.Version, WebsiteURL: cfg.PublicURL,
	}, &sdk.ServerOptions{
		Instructions: instructions, SupportedProtocolVersions: protocolVersions,
		// Lists do not change during a request.
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}},
		// Results belong to one person. The default would allow caches to share them.
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" },
	})
	h.addTools(server)
	h.addResources(server)
	serve := func(whole bool) http.Handler {
		find := func(*http.Request) *sdk.Server { return server }
		return sdk.NewStreamableHTTPHandler(find, &sdk.StreamableHTTPOptions{
			Stateless: true, JSONResponse: whole,
			// Package api checks Origin. A reverse proxy on the same machine connects to a loopback address.
			DisableLocalhostProtection: true,
			MaxRequestBodyBytes:        -1, // The caller has read the body.
		})
	}
	h.whole, h.stream = serve(true), serve(false)
	return h
}

// Message is a message of a client, as far as it determines the rights that it needs and the form of its response.
type Message struct {
	body   []byte
	method string
	target string // The name of a tool or the URI of a resource.
	id     string // The id of a request in JSON, or of the request that the message cancels.
}

// The methods that the package distinguishes.
const (
	methodCallTool      = "tools/call"
	methodReadResource  = "resources/read"
	methodListResources = "resources/list"
	methodCanceled      = "notifications/cancelled"
)

// maxID bounds the numbers that identify a request. JSON parsers change larger ones.
const maxID = 1<<53 - 1

// Envelope is the body of a request: a message of JSON-RPC.
type Envelope struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// NewMessage returns the message in a body.
func NewMessage(body []byte, envelope Envelope) (Message, error) {
	var params struct {
		Name      string          `json:"name"`
		URI       string          `json:"uri"`
		RequestID json.RawMessage `json:"requestId"`
	}
	if envelope.Params != nil {
		if err := json.Unmarshal(envelope.Params, &params); err != nil {
			return Message{}, fault.InvalidField("params", "値の型が正しくありません。")
		}
	}
	// The SDK would respond with another id.
	if id, err := strconv.ParseFloat(string(envelope.ID), 64); err == nil && (id != math.Trunc(id) || math.Abs(id) > maxID) {
		return Message{}, fault.InvalidField("id", "2の53乗未満の整数か、文字列を指定してください。")
	}
	m := Message{body: body, method: envelope.Method, target: params.Name, id: string(envelope.ID)}
	switch m.method {
	case "": // This server sends no requests, so clients send no responses.
		return Message{}, fault.InvalidField("method", "必須の項目です。")
	case methodReadResource:
		m.target = params.URI
	case methodCanceled:
		m.id = string(params.RequestID)
	}
	return m, nil
}

// Scopes returns the alternative scopes of a message. Each of them is sufficient.
func (m Message) Scopes() []identity.Scope {
	switch {
	case m.method == methodCallTool && m.target == toolSearch,
		m.method == methodReadResource && strings.HasPrefix(m.target, documentURI):
		return []identity.Scope{identity.ScopeDocuments}
	case m.method == methodCallTool && (m.target == toolAsk || m.target == toolSkills),
		m.method == methodReadResource && strings.HasPrefix(m.target, threadURI):
		return []identity.Scope{identity.ScopeChat}
	}
	return AllScopes()
}

// AllScopes returns the scopes of all tools and resources.
func AllScopes() []identity.Scope {
	return []identity.Scope{identity.ScopeChat, identity.ScopeDocuments}
}

// asks reports whether the message asks a question, so that the response may take minutes.
func (m Message) asks() bool { return m.method == methodCallTool && m.target == toolAsk }

// call is the call of a client, in the context of its tools and resources.
type call struct {
	Service
	request context.Context //nolint:containedctx // The SDK passes the values of this context on, but not its end.
}

type callKey struct{}

// Serve handles a message. client identifies the program, because programs may use the same request ids.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request, m Message, client string, service Service) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	key := runningKey{client, m.id}
	handler := h.whole
	switch {
	case m.method == methodCanceled:
		h.cancel(key)
	case m.asks():
		defer h.run(key, cancel)()
		handler = h.stream
		w.Header().Set("X-Accel-Buffering", "no")
		w = canceledWriter{w, ctx}
	}
	r = r.WithContext(context.WithValue(ctx, callKey{}, call{service, ctx}))
	r.Body = io.NopCloser(bytes.NewReader(m.body))
	if r.Header.Get("Accept") == "" { // RFC 9110, section 12.5.1: any type.
		r.Header.Set("Accept", "*/*")
	}
	handler.ServeHTTP(w, r)
}

// canceledWriter writes nothing after a request was canceled. The SDK sometimes writes a response then, which the protocol
// forbids.
type canceledWriter struct {
	http.ResponseWriter
	ctx context.Context //nolint:containedctx // Of the request.
}

func (w canceledWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap returns the writer for http.ResponseController.
func (w canceledWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// begin returns the context of a call with its call. The context ends with the HTTP request: a client that has
// disconnected cannot receive the result later.
func begin(ctx context.Context) (context.Context, call, context.CancelFunc) {
	c := ctx.Value(callKey{}).(call) //nolint:forcetypeassert // Set by Serve.
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.request, cancel)
	return ctx, c, func() {
		stop()
		cancel()
	}
}

// protect turns a panic into an error, because the SDK calls its handlers in goroutines that do not recover.
func protect(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
	}
}

// runningKey identifies a running request for its cancellation, which is a separate HTTP request in revisions before
// 2026-07-28. Without sessions, two programs with the same token may use the same id.
type runningKey struct{ client, id string }

// run registers a running request and returns the function that removes it.
func (h *Handler) run(key runningKey, cancel context.CancelFunc) (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, taken := h.running[key]; taken {
		cancel = nil // A cancellation would not say which of them it means.
	}
	h.running[key] = cancel
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.running, key)
	}
}

// cancel cancels a running request.
func (h *Handler) cancel(key runningKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if cancel := h.running[key]; cancel != nil {
		cancel()
	}
}
