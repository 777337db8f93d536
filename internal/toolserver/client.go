package toolserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tsumugi-ai/tsumugi/internal/dial"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/proxy"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

const (
	maxResponse  = 1 << 20     // Bytes of the body of a response, decompressed.
	maxRequests  = 50          // Of an exchange. It needs fewer, with maxToolPages.
	maxTold      = 500         // Characters of a text by the server in an error.
	requestLimit = time.Minute // Of a request that does not end with the context of its exchange.
)

// ConnectorConfig configures a Connector.
type ConnectorConfig struct {
	Hosts         []string   // Host names and IP addresses of servers that may have addresses inside the network.
	Proxy         proxy.Func // Default: proxy.FromEnvironment.
	ProxyResolves bool       // See dial.Config.
	Version       string     // The product's version, for the servers.
}

// Connector connects to tool servers and to their authorization servers. It is safe for concurrent use.
type Connector struct {
	hosts     []string
	version   string
	transport http.RoundTripper
}

// NewConnector returns a Connector.
func NewConnector(cfg ConnectorConfig) *Connector {
	return &Connector{
		hosts: cfg.Hosts, version: cfg.Version, transport: dial.NewTransport(cfg.Hosts, cfg.Proxy, cfg.ProxyResolves),
	}
}

// listed reports whether the operator permits addresses inside the network for a host.
func (c *Connector) listed(host string) bool { return slices.Contains(c.hosts, strings.ToLower(host)) }

// CheckURL refuses an address that is not https or that is inside the network. Hosts on the operator's list are
// accepted with http and inside the network.
func (c *Connector) CheckURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || len(address) > maxURL || u.Hostname() == "" || u.User != nil || u.Fragment != "" ||
		strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }):
		return fault.InvalidField("url", "URLの形式が正しくありません。")
	case u.Scheme != "https" && (u.Scheme != "http" || !c.listed(u.Hostname())):
		return fault.InvalidField("url", "URLは、https:// で始まる必要があります。")
	case !c.listed(u.Hostname()) && dial.Internal(u, nil):
		return fault.InvalidField("url", "%s", insideText)
	}
	return nil
}

const insideText = "内部のネットワークのアドレスです。使用するには、サーバーの運用担当者に、" +
	"設定TSUMUGI_TOOL_HOSTSへのホスト名の追加を依頼してください。"

// httpClient returns an HTTP client that uses a transport and follows no redirects.
func httpClient(transport http.RoundTripper, limit time.Duration) *http.Client {
	return &http.Client{
		Transport: transport, Timeout: limit,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Failures of a request, for people. The name of the server precedes them.
var (
	errTooLarge = fault.Errorf(fault.TooLarge, "応答が大きすぎるため（%d MBまで）、受け取りを中止しました。", maxResponse>>20)
	errRedirect = fault.Errorf(fault.Unavailable, "別のアドレスへの転送を返しました。転送には従いません。")
	errInside   = fault.Errorf(fault.Forbidden, "%s", insideText)
	errAway     = fault.Errorf(fault.Unavailable, "接続できませんでした。サーバーが停止しているか、アドレスが変わった可能性があります。")
	errSlow     = fault.Errorf(fault.Unavailable, "時間内に応答しませんでした。")
	errSignIn   = fault.Errorf(fault.Forbidden, "認証に失敗しました（401）。")
	errRights   = fault.Errorf(fault.Forbidden, "この操作を許可しませんでした（403）。")
	errBusy     = fault.Errorf(fault.Unavailable, "混み合っています（429）。少し時間をおいて、もう一度お試しください。")
	errTooMany  = fault.Errorf(fault.Unavailable, "サーバーからの要求が多すぎるため、通信を中止しました。")
	errGarbled  = fault.Errorf(fault.Unavailable, "応答を読み取れませんでした。MCPのサーバーではない可能性があります。")
)

// bounded is the transport of one exchange with a server. It adds a header, bounds responses, and remembers why the
// last request failed, because the SDK's errors do not say that.
type bounded struct {
	base     http.RoundTripper
	header   http.Header
	requests atomic.Int64

	mu      sync.Mutex
	failure error  // Guarded by mu. Of the last request; nil if it succeeded.
	body    []byte // Guarded by mu. The part of the last response's body that was read.
}

func (b *bounded) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failure = err
}

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, b.header)
	if r.Method == http.MethodDelete { // The SDK ends a session after a failure, whose reason must not be lost.
		return b.base.RoundTrip(r)
	}
	if b.requests.Add(1) > maxRequests { // The SDK responds to each request of the server.
		b.fail(errTooMany)
		return nil, errTooMany
	}
	response, err := b.base.RoundTrip(r)
	if err != nil {
		b.fail(connectFailure(err))
		return nil, err
	}
	b.mu.Lock()
	b.failure, b.body = statusFailure(response), nil
	b.mu.Unlock()
	response.Body = &boundedBody{ReadCloser: response.Body, left: maxResponse, exchange: b}
	return response, nil
}

// connectFailure returns the failure of a request without a response.
func connectFailure(err error) error {
	switch {
	case errors.Is(err, dial.ErrForbidden):
		return errInside
	case errors.Is(err, context.DeadlineExceeded):
		return errSlow
	}
	return errAway
}

// statusFailure returns the failure of a response by its status, or nil for a successful one.
func statusFailure(response *http.Response) error {
	switch status := response.StatusCode; {
	case status < 300:
		return nil
	case status < 400: // Redirects are not followed.
		return errRedirect
	case status == http.StatusUnauthorized:
		return errSignIn
	case status == http.StatusForbidden:
		if scopes := missingScopes(response); len(scopes) > 0 {
			return insufficientScope{scopes}
		}
		return errRights
	case status == http.StatusTooManyRequests:
		return errBusy
	}
	return fault.Errorf(fault.Unavailable, "エラー（HTTP %d）を返しました。", response.StatusCode)
}

// boundedBody is a response's body that fails after maxResponse bytes.
type boundedBody struct {
	io.ReadCloser

	left     int
	exchange *bounded
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.exchange.fail(errTooLarge)
		return 0, errTooLarge
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	b.exchange.mu.Lock()
	b.exchange.body = append(b.exchange.body, p[:n]...)
	b.exchange.mu.Unlock()
	return n, err
}

// session is an exchange with a server.
type session struct {
	*sdk.ClientSession

	exchange *bounded
}

// withoutElicitation withholds the capability of forms from servers of revisions before 2026-07-28, which begin with the
// method initialize. They would ask during a request, and the request would have to stay open until the person answers.
func withoutElicitation(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if params, ok := r.GetParams().(*sdk.InitializeParams); ok {
			params.Capabilities.Elicitation = nil
		}
		return next(ctx, method, r)
	}
}

// withoutPanics returns an error for a response that crashes the SDK while it is decoded.
func withoutPanics(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (result sdk.Result, err error) {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("toolserver: panic: %v", v)
			}
		}()
		return next(ctx, method, r)
	}
}

// withoutRequests refuses all requests and notifications of a server except ping. The SDK's handlers of the others have
// no use here, and some crash when a message lacks its parameters.
func withoutRequests(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if method != "ping" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "not supported"}
		}
		return next(ctx, method, r)
	}
}

// connect begins an exchange with a server. The SDK decides nothing: it neither reconnects, nor answers a server that
// asks for the person's input or for a model. oauth is nil for a server without OAuth.
func (c *Connector) connect(ctx context.Context, address string, header http.Header, oauth *signIn) (*session, error) {
	exchange := &bounded{base: c.transport, header: header}
	transport := &sdk.StreamableClientTransport{
		Endpoint: address, HTTPClient: httpClient(exchange, requestLimit), MaxRetries: -1, DisableStandaloneSSE: true,
		MaxEventSize: maxResponse,
	}
	if oauth != nil {
		oauth.fail, transport.OAuthHandler = exchange.fail, oauth
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "tsumugi", Title: "Tsumugi", Version: c.version}, &sdk.ClientOptions{
		Logger: slog.New(slog.DiscardHandler), MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		Capabilities: &sdk.ClientCapabilities{
			Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}},
		},
	})
	client.AddSendingMiddleware(withoutElicitation, withoutPanics)
	client.AddReceivingMiddleware(withoutRequests)
	connected, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return nil, exchange.explain(ctx, err)
	}
	return &session{connected, exchange}, nil
}

// explain returns an error of the SDK with a text for people.
func (b *bounded) explain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		if fault.DetailOf(cause) == "" && errors.Is(cause, context.DeadlineExceeded) {
			return errSlow
		}
		return cause
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failure != nil {
		return b.failure
	}
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return fault.Wrap(err, fault.Unavailable, "エラーを返しました（%d: %s）。", wire.Code, runes.OneLine(wire.Message, maxTold))
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return errSlow
	}
	return fault.Wrap(err, errGarbled.Code, "%s", errGarbled.Detail)
}

// read returns the tools of a server.
func (s *session) read(ctx context.Context) ([]Tool, error) {
	var found []Tool
	cursor := ""
	for range maxToolPages {
		page, err := s.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, s.exchange.explain(ctx, err)
		}
		for _, t := range page.Tools {
			if len(found) == maxTools {
				return nil, fault.Errorf(fault.TooLarge, "ツールが多すぎます（%d個まで）。", maxTools)
			}
			if f, ok := foundTool(t); ok && !slices.ContainsFunc(found, func(o Tool) bool { return o.Remote == f.Remote }) {
				found = append(found, f)
			}
		}
		if page.NextCursor == "" || page.NextCursor == cursor {
			return found, nil
		}
		cursor = page.NextCursor
	}
	return nil, fault.Errorf(fault.TooLarge, "ツールの一覧が終わりませんでした。")
}

// foundTool returns a tool of a server. ok is false for a name that cannot be shown.
func foundTool(t *sdk.Tool) (found Tool, ok bool) {
	if t.Name == "" || len(t.Name) > 128 || t.Name != runes.OneLine(t.Name, len(t.Name)) {
		return Tool{}, false
	}
	found.Remote = t.Name
	found.Accepted, found.Refused = newDefinition(t)
	return found, true
}
