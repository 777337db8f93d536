package api

import (
	"context"
	_ "embed"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
)

//go:embed openapi.yaml
var openapiYAML []byte

// Config tunes the API, and is what it tells the app. None of it is secret.
type Config struct {
	ClientID       string // Of the app, at the identity provider.
	Endpoint       string // Where the browser speaks to the identity provider: a path of this server, or a URL.
	Region         string
	Links          Links // Zero value: no such link.
	TagManagerID   string
	ModelConnected bool

	TrustedProxies []netip.Prefix // Those whose X-Forwarded-For is believed. None: the peer is the client.
}

// Services are the domains that the API serves.
type Services struct {
	Identity *identity.Service
	SAML     *saml.Service
	Org      *org.Service
	Skill    *skill.Service
	Sources  *datasource.Service
	Chat     *chat.Service
	Search   *chat.Searcher
	Shares   *chat.Sharer
	Stream   *sse.Server
	Live     *Live
	Limiter  *Limiter                    // Nil: there are no limits.
	Sessions Sessions                    // Nil: signing out ends nothing here.
	Pool     http.Handler                // The embedded user pool, mounted under /pool/. Nil where AWS's is used.
	App      fs.FS                       // The built app, with index.html at its root.
	Ready    func(context.Context) error // Nil if traffic may be sent here.
	Metrics  http.Handler                // What /metrics answers.

	// Measure is told of each call that was answered; streams are not among them. Nil: nobody is.
	Measure func(method, route string, status int, took time.Duration)
	Tracer  trace.Tracer // Nil: nothing is traced.
}

// Sessions are the sessions that this server keeps.
type Sessions interface {
	// RevokeSession ends the session that tokens name by the claim origin_jti. One that has ended, or that is kept
	// elsewhere, is no error.
	RevokeSession(ctx context.Context, session uuid.UUID) error
}

// Server answers the API's calls.
type Server struct {
	Services
	cfg Config
	log *slog.Logger

	guessTurns turns
}

// New returns the handler of everything that the server has to offer.
func New(services Services, cfg Config, log *slog.Logger) (http.Handler, error) {
	if services.Measure == nil {
		services.Measure = func(string, string, int, time.Duration) {}
	}
	if services.Tracer == nil {
		services.Tracer = noop.NewTracerProvider().Tracer("")
	}
	if services.Limiter == nil {
		services.Limiter = NewLimiter(nil)
	}
	s := &Server{
		Services: services, cfg: cfg, log: slog.New(NewLogHandler(log.Handler())),
		guessTurns: turns{lines: make(map[string]*line)},
	}
	return s.routes()
}

func owner(actor identity.Actor) chat.Owner {
	return chat.Owner{OrganizationID: actor.OrganizationID, UserID: actor.ID}
}

// convert returns the API's records of a list. An empty list is [] and not null.
func convert[A, B any](list []A, f func(A) B) []B {
	out := make([]B, 0, len(list))
	for _, a := range list {
		out = append(out, f(a))
	}
	return out
}

// parseID reads an id in its one accepted form, 36 characters with hyphens.
func parseID(s string) (uuid.UUID, bool) {
	if len(s) != 36 {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(s)
	return id, err == nil
}
