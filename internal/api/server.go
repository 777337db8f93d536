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
	"github.com/tsumugi-ai/tsumugi/stream"
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

	// Limits of a minute, on each server. Beyond, the answer is 429. MessagesPerMinute is of a person's questions, and 0 is
	// any number. SignInsPerMinute is of an address, and of the calls that lead to a session; 0 is 1,200: as many people as
	// 200 may sign in behind one address at once, with six calls each. GuessesPerMinute is of those among them that a wrong
	// password or code was brought by, or that have a code sent, for one account from one address; 0 is 20. Those for all
	// accounts from one address are AddressGuessesPerMinute; 0 is 300, so that somebody who forgot a password keeps nobody
	// else in the office out. MailsPerMinute is of a person, and of calls that send invitations; 0 is 60. UploadsPerMinute is
	// of a person's files; 0 is 300. Where they are negative there is no limit.
	MessagesPerMinute       int
	SignInsPerMinute        int
	GuessesPerMinute        int
	AddressGuessesPerMinute int
	MailsPerMinute          int
	UploadsPerMinute        int
}

func (c Config) withDefaults() Config {
	for _, limit := range []struct {
		value    *int
		standard int
	}{
		{&c.SignInsPerMinute, 1200}, {&c.GuessesPerMinute, 20}, {&c.AddressGuessesPerMinute, 300}, {&c.MailsPerMinute, 60},
		{&c.UploadsPerMinute, 300},
	} {
		if *limit.value == 0 {
			*limit.value = limit.standard
		}
	}
	return c
}

// Services are the domains that the API serves.
type Services struct {
	Identity *identity.Service
	SAML     *saml.Service
	Org      *org.Service
	Skill    *skill.Service
	Sources  *datasource.Service
	Chat     *chat.Service
	Stream   *stream.Server
	Live     *Live
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
	// RevokeSession ends the session that tokens name by the claim origin_jti. One that has ended, or that is kept elsewhere,
	// is no error.
	RevokeSession(ctx context.Context, session uuid.UUID) error
}

// Server answers the API's calls.
type Server struct {
	Services
	cfg Config
	log *slog.Logger

	signIns, guesses, addressGuesses, mails, uploads *limiter
	guessTurns                                       turns
	questions                                        *questions
}

// New returns the handler of everything that the server has to offer.
func New(services Services, cfg Config, log *slog.Logger) (http.Handler, error) {
	if services.Measure == nil {
		services.Measure = func(string, string, int, time.Duration) {}
	}
	if services.Tracer == nil {
		services.Tracer = noop.NewTracerProvider().Tracer("")
	}
	cfg = cfg.withDefaults()
	s := &Server{
		Services: services, cfg: cfg, log: slog.New(NewLogHandler(log.Handler())),
		signIns: newLimiter(cfg.SignInsPerMinute), guesses: newLimiter(cfg.GuessesPerMinute),
		addressGuesses: newLimiter(cfg.AddressGuessesPerMinute), mails: newLimiter(cfg.MailsPerMinute), uploads: newLimiter(cfg.UploadsPerMinute),
		guessTurns: turns{lines: make(map[string]*line)}, questions: newQuestions(cfg.MessagesPerMinute),
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
