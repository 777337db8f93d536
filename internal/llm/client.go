package llm

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/work"
)

// DefaultMaxDuration is the default of Config.MaxDuration.
const DefaultMaxDuration = 30 * time.Minute

// Config configures a Client. Zero fields take the values of withDefaults.
type Config struct {
	APIKey string // Sent as a bearer token, or as api-key to Azure. May be empty for servers without authentication.

	// BaseURL is the root of the protocol, usually ending in /v1; a URL without a path gets /v1. For Azure it is
	// either https://NAME.openai.azure.com, where Model names the deployment, or that with
	// /openai/deployments/DEPLOYMENT, each with an optional ?api-version=, or the newer
	// https://NAME.openai.azure.com/openai/v1.
	BaseURL string
	Model   string // Used if the request has no model. Required.

	// Transport sends the requests. Nil means a transport with TLS, proxies from the environment and connection reuse.
	// ConnectTimeout applies only to that transport.
	Transport http.RoundTripper

	ConnectTimeout    time.Duration // For the connection, and again for the TLS handshake.
	FirstTokenTimeout time.Duration // From sending the request to the first token, for each attempt.
	TokenTimeout      time.Duration // From one token to the next.

	// Bounds of a complete answer: an endlessly reasoning model never exceeds TokenTimeout.
	MaxDuration time.Duration // From the call of Stream, retries included.
	MaxBytes    int64         // Of the provider's response; a token takes about 300.

	MaxRetries    int           // Retries per model before its first token; negative for none.
	Backoff       time.Duration // Wait before the first retry; doubled each time, with jitter.
	MaxBackoff    time.Duration // Upper bound of the wait.
	MaxRetryAfter time.Duration // A provider that requests a longer wait is not retried.

	Logger *slog.Logger // Logs retries and failures; nil discards them.
}

func (c Config) withDefaults() Config {
	setDefault(&c.ConnectTimeout, 5*time.Second)
	setDefault(&c.FirstTokenTimeout, 60*time.Second)
	setDefault(&c.TokenTimeout, 30*time.Second)
	setDefault(&c.MaxDuration, DefaultMaxDuration)
	setDefault(&c.MaxBytes, 256<<20)
	setDefault(&c.MaxRetries, 2)
	setDefault(&c.Backoff, 500*time.Millisecond)
	setDefault(&c.MaxBackoff, 8*time.Second)
	setDefault(&c.MaxRetryAfter, 15*time.Second)
	setDefault(&c.BaseURL, "https://api.openai.com/v1")
	setDefault(&c.Logger, slog.New(slog.DiscardHandler))
	c.APIKey = strings.TrimSpace(c.APIKey)
	c.Model = strings.TrimSpace(c.Model)
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (c Config) validate() error {
	if c.Model == "" {
		return errors.New("llm: Model is empty")
	}
	if strings.ContainsFunc(c.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("llm: APIKey contains a character that no key has")
	}
	if c.MaxBytes < 0 {
		return errors.New("llm: MaxBytes is negative")
	}
	for name, d := range map[string]time.Duration{
		"ConnectTimeout": c.ConnectTimeout, "FirstTokenTimeout": c.FirstTokenTimeout, "TokenTimeout": c.TokenTimeout,
		"MaxDuration": c.MaxDuration, "Backoff": c.Backoff, "MaxBackoff": c.MaxBackoff,
		"MaxRetryAfter": c.MaxRetryAfter,
	} {
		if d < 0 {
			return errors.New("llm: " + name + " is negative")
		}
	}
	return nil
}

// Client is a Model that uses an OpenAI-compatible server.
type Client struct {
	cfg      Config
	endpoint endpoint
	http     *http.Client
	buffers  sync.Pool // Of *[largeBuffer]byte, for fast answers.

	mu       sync.Mutex         // Guards dialects.
	dialects map[string]dialect // Optional fields that each model refuses.
}

var _ Model = (*Client)(nil)

// NewClient returns a client. It makes no request; an error names the invalid setting.
func NewClient(cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	endpoint, err := parseEndpoint(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	transport := cfg.Transport
	if transport == nil {
		transport = newTransport(cfg.ConnectTimeout)
	}
	return &Client{
		cfg:      cfg,
		endpoint: endpoint,
		http: &http.Client{
			Transport: transport,
			// A redirected POST would lose its body or send the key to another host, so a redirect is reported as an
			// error.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		buffers:  sync.Pool{New: func() any { return new([largeBuffer]byte) }},
		dialects: make(map[string]dialect),
	}, nil
}

// newTransport keeps as many idle connections as there are concurrent chats: with net/http's default of two per host,
// nearly every question would need a TLS handshake before its first token.
func newTransport(connect time.Duration) *http.Transport {
	dialer := &net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSHandshakeTimeout:   connect,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          512,
		MaxIdleConnsPerHost:   512,
		IdleConnTimeout:       90 * time.Second,
		WriteBufferSize:       1 << 10, // Each connection is written to once and then read for minutes.
		ExpectContinueTimeout: time.Second,
		// Compression would delay tokens, and a small body could expand without bound.
		DisableCompression: true,
		// Otherwise, a half-open HTTP/2 connection would block every stream on it.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
	}
}

// Close closes the idle connections. Streams in progress continue.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Stream implements Model. It retries temporary failures before the first token. Once text has been emitted, an error
// is final.
func (c *Client) Stream(ctx context.Context, req Request, emit func(text string)) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.MaxDuration)
	defer cancel()
	r := &run{client: c, req: &req, emit: emit}
	return r.ask(ctx, cmp.Or(req.Model, c.cfg.Model))
}

// run is one call of Stream. It belongs to the calling goroutine.
type run struct {
	client  *Client
	req     *Request
	emit    func(text string)
	emitted bool // Text was passed to the caller, which rules out retries.
}

// ask asks one model, with retries as configured. The usage is the sum of all attempts.
func (r *run) ask(ctx context.Context, model string) (Result, error) {
	cfg := &r.client.cfg
	var spent Usage
	for attempt, adapted := 0, 0; ; {
		result, err := r.attempt(ctx, model)
		spent.Add(result.Usage)
		result.Usage = spent
		if err == nil || r.emitted || ctx.Err() != nil {
			return result, err
		}
		var status *statusError
		if errors.As(err, &status) && adapted < maxAdaptions && r.client.adapt(model, r.req, status) {
			adapted++
			continue
		}
		switch {
		case status == nil:
		case r.req.Prefix != "" && status.refused():
			return result, fault.Wrap(err, CodeNotContinued, detailBadRequest)
		default:
			err = unsupported(r.req, status, err)
		}
		wait, ok := r.client.pause(attempt, err, status)
		if !ok {
			cfg.Logger.WarnContext(ctx, "model failed", "model", model, "attempts", attempt+1, "error", err)
			return result, err
		}
		cfg.Logger.InfoContext(ctx, "model failed, trying again",
			"model", model, "attempt", attempt+1, "wait", wait, "error", err)
		if work.Sleep(ctx, wait); ctx.Err() != nil {
			return result, Canceled(ctx)
		}
		attempt++
	}
}

// pause returns the wait before the next attempt, and false if there is none.
func (c *Client) pause(attempt int, err error, status *statusError) (time.Duration, bool) {
	cfg := &c.cfg
	if attempt >= cfg.MaxRetries || !retriedByClient(err) {
		return 0, false
	}
	wait := backoff(attempt, cfg.Backoff, cfg.MaxBackoff)
	if status != nil && status.retryAfter > 0 {
		if status.retryAfter > cfg.MaxRetryAfter {
			return 0, false
		}
		wait = max(wait, status.retryAfter)
	}
	return wait, true
}

// attemptFault translates the error of an attempt.
func attemptFault(ctx, attemptCtx context.Context, err error) error {
	if ctx.Err() != nil {
		return Canceled(ctx)
	}
	switch cause := context.Cause(attemptCtx); {
	case errors.Is(cause, errFirstToken):
		return fault.Wrap(errFirstToken, CodeTimeout, detailSilent)
	case errors.Is(cause, errNextToken):
		return fault.Wrap(errNextToken, CodeTimeout, detailStalled)
	}
	var known *fault.Error
	if errors.As(err, &known) {
		return err
	}
	var status *statusError
	if errors.As(err, &status) {
		return faultOfStatus(status)
	}
	return fault.Wrap(err, CodeUnavailable, detailUnavailable)
}
