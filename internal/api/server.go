package api

import (
	"cmp"
	"context"
	_ "embed"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/crx"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/doctor"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oauth"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oidc"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/picture"
	"github.com/tsumugi-ai/tsumugi/internal/project"
	"github.com/tsumugi-ai/tsumugi/internal/scim"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/internal/toolserver"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
)

//go:embed openapi.yaml
var openapiYAML []byte

// Config configures the API and contains the app's configuration. It has no secrets.
type Config struct {
	Version        string // The product's version.
	PublicURL      string // The server's URL, without a trailing slash: the issuer of connections.
	ClientID       string // The app's client at the identity provider.
	Endpoint       string // The address of the identity provider for browsers: a path of this server, or a URL.
	Region         string
	Links          Links // Empty links are not shown.
	TagManagerID   string
	ModelConnected bool
	Passkeys       bool // The user pool for passwords supports passkeys.

	ExtensionOrigins []string // Origins of browser extensions that may call the API.

	TrustedProxies []netip.Prefix // Proxies whose X-Forwarded-For is trusted. If empty, the client is the peer.
}

// embeddedPool reports whether passwords are in the embedded user pool, and not in one of AWS.
func (c Config) embeddedPool() bool { return strings.HasPrefix(c.Endpoint, "/") }

// Services are the domains served by the API.
type Services struct {
	Identity  *identity.Service
	SSO       *sso.Service
	SAML      *saml.Service
	OIDC      *oidc.Service
	SCIM      *scim.Service
	OAuth     *oauth.Service
	Org       *org.Service
	Skill     *skill.Service
	Library   *skill.Library
	Sources   *datasource.Service
	Pictures  *picture.Service
	Projects  *project.Service
	Chat      *chat.Service
	Models    *chat.Models
	Search    *chat.Searcher
	Shares    *chat.Sharer
	Reviews   *chat.Reviewer
	Slack     Slack
	Tools     *toolserver.Service
	Stream    *sse.Server
	Live      *Live
	Transfers *Transfers                  // Nil for none to be ended.
	Limiter   *ratelimit.Limiter          // Nil for no limits.
	Sessions  *pool.Pool                  // Nil if sign-out does not end sessions of the user pool.
	Pool      http.Handler                // The embedded user pool, mounted under /pool/. Nil with AWS's.
	Browser   *crx.Package                // The browser extension. Nil if it is not built.
	App       fs.FS                       // The built app, with index.html at its root.
	Ready     func(context.Context) error // Returns nil if the server can receive traffic.
	Metrics   http.Handler                // Serves /metrics.

	// State returns the ids and states of the services that the actor's organization uses.
	State      func(context.Context, identity.Actor) ([]doctor.Report, error)
	SigningKey []byte // Public half of the key that signs certificates of deletions, in PEM.

	// Measure is called after each call except streams. It may be nil.
	Measure func(method, route string, status int, took time.Duration)
	Tracer  trace.Tracer // Nil for no tracing.
}

// Server handles the API's calls.
type Server struct {
	Services
	cfg Config
	log *slog.Logger

	largeCompletions chan struct{} // Holds a value for each current request for a completion that may have pictures.
}

// New returns the handler of the whole server.
func New(services Services, cfg Config, log *slog.Logger) (http.Handler, error) {
	if services.Measure == nil {
		services.Measure = func(string, string, int, time.Duration) {}
	}
	services.Tracer = cmp.Or(services.Tracer, noop.NewTracerProvider().Tracer(""))
	services.Transfers = cmp.Or(services.Transfers, NewTransfers())
	services.Limiter = cmp.Or(services.Limiter, ratelimit.New(nil, nil))
	s := &Server{
		Services: services, cfg: cfg, log: slog.New(NewLogHandler(log.Handler())),
		largeCompletions: make(chan struct{}, largeCompletions),
	}
	return s.routes()
}

// convert converts a list to API records. An empty list is encoded as [] and not null.
func convert[A, B any](list []A, f func(A) B) []B {
	out := make([]B, 0, len(list))
	for _, a := range list {
		out = append(out, f(a))
	}
	return out
}

// nonNil returns a list that is encoded as [] and not null.
func nonNil[T any](list []T) []T { return append([]T{}, list...) }

// optional converts an optional record, or for nil returns the zero record, which the JSON omits.
func optional[A, B any](record *A, f func(A) B) (b B) {
	if record != nil {
		b = f(*record)
	}
	return b
}

// value returns the value of an optional field, or for nil the zero value, which the JSON omits.
func value[T any](field *T) (v T) {
	if field != nil {
		v = *field
	}
	return v
}

// utc returns a time in UTC, or for nil the zero time, which the JSON omits.
func utc(at *time.Time) time.Time { return value(at).UTC() }

// parseID parses an id in its only accepted form, 36 characters with hyphens.
func parseID(s string) (uuid.UUID, bool) {
	if len(s) != 36 {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(s)
	return id, err == nil
}
