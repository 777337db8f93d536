package api_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/chat/ground"
	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/crx"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/bucket"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/extracttest"
	"github.com/tsumugi-ai/tsumugi/internal/doctor"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oauth"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/picture"
	"github.com/tsumugi-ai/tsumugi/internal/picture/picturetest"
	"github.com/tsumugi-ai/tsumugi/internal/project"
	"github.com/tsumugi-ai/tsumugi/internal/scim"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/internal/toolserver"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
	"github.com/tsumugi-ai/tsumugi/test/leak"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// The third-party client leaks its reader after unsubscribing.
func TestMain(m *testing.M) {
	leak.Main(storetest.Suite{M: m}, goleak.IgnoreAnyFunction("github.com/r3labs/sse/v2.(*Client).readLoop"))
}

// The issuer of connections, and the extension that may connect.
const (
	issuer          = "https://tsumugi.example"
	extensionOrigin = "chrome-extension://abcdefghijklmnopabcdefghijklmnop"
)

// verifier accepts subjects as tokens. The prefix sso: means a session of single sign-on. Tokens of the user pool are
// verified.
type verifier struct{ pool identity.Verifier }

func (v verifier) VerifyIDToken(ctx context.Context, token string) (identity.Claims, error) {
	switch {
	case token == "expired":
		return identity.Claims{}, identity.ErrExpired
	case token == "forged":
		return identity.Claims{}, fault.Errorf(fault.Unauthenticated, "Not authenticated")
	case strings.HasPrefix(token, "eyJ"):
		return v.pool.VerifyIDToken(ctx, token)
	}
	how := identity.AuthCognito
	subject, sso := strings.CutPrefix(token, "sso:")
	if sso {
		how = identity.AuthFederated
	}
	subject, short := strings.CutPrefix(subject, "short:")
	lifetime := time.Hour
	if short {
		lifetime = 100 * time.Millisecond
	}
	return identity.Claims{Subject: subject, AuthType: how, AuthTime: time.Now(), ExpiresAt: time.Now().Add(lifetime)},
		nil
}

// fixture is a running server with two members of one organization and a member of another one.
type fixture struct {
	t        *testing.T
	dsn      string
	sql      *pgxpool.Pool
	db       *store.DB
	handler  http.Handler
	url      string
	alice    identity.NewUser
	bob      identity.NewUser // A member of Alice's organization.
	stranger identity.NewUser
	skills   []skill.Skill
	feed     *stream.Feed
	events   *api.LiveEvents
	live     *api.Live
	sources  *datasource.Service
	pictures *picture.Service
	projects *project.Service
	chat     *chat.Service
	files    string // The folder of uploaded files.
	streams  *sse.Server
	users    *userPool // Nil without settings.pool.
	logs     *journal
	traffic  *storetest.Traffic // Of the server. Nil without settings.counted.
	ready    error              // The result of the server's readiness check.
	told     chan uuid.UUID     // Changed users, received by exec only.
}

// settings are optional settings of a fixture.
type settings struct {
	live      api.LiveConfig
	api       func(*api.Config) // Changes the API's configuration; nil for no change.
	limits    ratelimit.Limits  // Nil for no limits.
	plain     bool              // Streams are sent by net/http.
	pool      bool              // With a user pool and single sign-on.
	reads     bool              // Uploaded files are processed and summarized.
	counted   bool              // The requests of the server to its database are counted.
	slack     slackSettings
	providers http.RoundTripper // Of requests to OpenID providers; nil for real ones.
	offers    llmtest.Offers    // Nil for a single model.

	tools    chat.Tools    // Nil for those of the product.
	grounder chat.Grounder // Nil for answers based on the conversation only, unless reads is set.
}

func newFixture(t *testing.T, model llm.Model) *fixture {
	t.Helper()
	return newFixtureWith(t, model, settings{})
}

// newLiveFixture is newFixture with settings of the live sockets.
func newLiveFixture(t *testing.T, model llm.Model, live api.LiveConfig) *fixture {
	t.Helper()
	return newFixtureWith(t, model, settings{live: live})
}

func newFixtureWith(t *testing.T, model llm.Model, with settings) *fixture {
	t.Helper()
	f := &fixture{
		t: t, dsn: storetest.DSN(t), logs: &journal{},
		told: make(chan uuid.UUID, 1000),
	}
	ctx := t.Context()
	var err error
	dsn := f.dsn
	if with.counted {
		f.traffic = storetest.Count(t, dsn)
		dsn = f.traffic.DSN
	}
	if f.db, err = store.Open(ctx, dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.db.Close)
	f.sql = storetest.Pool(t, f.dsn)
	must.Succeed(t, skill.Seed(ctx, f.db))
	if _, f.skills, err = skill.Builtin(); err != nil {
		t.Fatal(err)
	}
	f.skills = slices.DeleteFunc(f.skills, skill.Skill.IsExtension) // They are not listed.
	f.alice = f.member(f.organization("紡績", "tsumugi.example"), "alice@tsumugi.example")
	f.bob = f.member(f.alice.OrganizationID, "bob@tsumugi.example")
	f.stranger = f.member(f.organization("他社", "other.example"), "carol@other.example")

	log := slog.New(slog.NewJSONHandler(f.logs, nil))
	skills := skill.NewService(f.db, skill.Config{})
	feed := must.Get(stream.NewFeed(nil))(t)
	f.feed, f.events = feed, api.NewLiveEvents(feed)
	if with.offers == nil {
		with.offers = llmtest.Offers{{ID: "test", Provider: "検査", Name: "検査用モデル", Sees: true, Thinking: llm.ThinkingNone}}
	}
	files := f.bucket()
	f.pictures = picture.NewService(f.db, files, picturetest.Read, log, 1<<30)
	budget := org.NewBudget(f.db, log)
	t.Cleanup(budget.Stop)
	f.sources = datasource.NewService(f.db, files, extracttest.InProcess{}, log, datasource.Config{
		Changed: f.events.SourceChanged, Deleted: f.events.SourceDeleted,
	})
	grounder := with.grounder
	if with.reads {
		f.sources.Start()
		t.Cleanup(f.sources.Stop)
		grounder = ground.New(f.sources, ground.Config{
			Summaries: ground.Summaries{Model: model, Notes: f.db, Budget: budget},
		})
	}
	servers := toolserver.NewService(toolserver.Config{
		PublicURL: issuer, BuiltIn: tool.BuiltIn(time.Now),
	}, f.db, toolserver.NewConnector(toolserver.ConnectorConfig{Hosts: []string{"127.0.0.1"}}), log)
	t.Cleanup(servers.Stop)
	if with.tools == nil {
		with.tools = servers
	}
	answers := chat.NewService(chat.Deps{
		Store: f.db, Skills: skills, Model: model, Hub: stream.NewHub(stream.HubConfig{}), Feed: feed, Log: log,
		Budget: budget, Events: f.events, Pictures: f.pictures, Offers: with.offers,
		Grounder: grounder, Tools: with.tools,
	}, chat.Config{Alone: true, Patience: 50 * time.Millisecond, Epoch: func() int { return 1 }})
	must.Succeed(t, answers.Start(ctx))
	f.chat = answers
	services := f.services()
	services.Tools = servers
	var tokens verifier
	var accounts org.Accounts
	if with.pool {
		f.users = newUserPool(t, f.db)
		tokens.pool, accounts = f.users.verifier(), f.users.directory(t)
		services.Pool, services.Sessions = f.users.Handler(), f.users.Pool
		services.SSO, services.SAML, services.OIDC = f.users.singleSignOn(t, f.db, with.providers)
	}
	notified := &notified{LiveEvents: f.events, listening: make(chan struct{})}
	notices := org.NewService(f.db, accounts, notified, log)
	notices.Start()
	services.SCIM = scim.NewService(f.db, notices, issuer, log)
	people := identity.NewService(f.db, oauth.NewVerifier(f.db, tokens), log)
	services.OAuth = oauth.NewService(oauth.Config{
		PublicURL: issuer, Clients: oauth.Clients([]string{extensionOrigin}),
	}, f.db, people)
	limiter := ratelimit.New(with.limits, nil)
	with.live.Projects = f.db.ProjectIDs
	f.live = api.NewLive(feed, people, limiter, log, with.live)
	f.streams = sse.NewServer(sse.Config{Fast: !with.plain, MaxStreams: 50})
	services.Transfers = api.NewTransfers()
	present := presence{api.NewPresence(f.streams, f.live, services.Transfers), f.told}
	people.Start(present.UserChanged, present.ConnectedUsers)
	cfg := api.Config{
		PublicURL: issuer, ClientID: "client", Endpoint: "/pool/", Region: "ap-northeast-1",
		Links: api.Links{News: "https://news.example/"}, Passkeys: true,
	}
	if with.api != nil {
		with.api(&cfg)
	}
	services.Identity, services.Org, services.Skill, services.Chat = people, notices, skills, answers
	f.projects = project.NewService(f.db, project.Config{
		Changed: f.events.ProjectChanged, SourcesChanged: f.events.ProjectSourcesChanged,
	}, log)
	services.Projects = f.projects
	services.Library, services.Pictures = skill.NewLibrary(f.db), f.pictures
	services.Models = chat.NewModels(with.offers, skills, f.db)
	services.Live, services.Stream, services.Sources, services.Limiter = f.live, f.streams, f.sources, limiter
	services.Slack = f.slackServices(t, with, log)
	services.Search, services.Shares = chat.NewSearcher(f.db, log), chat.NewSharer(f.db, f.events)
	services.Reviews = chat.NewReviewer(f.db)
	f.handler = must.Get(api.New(services, cfg, log))(t)
	server := httptest.NewServer(f.handler)
	f.url = server.URL
	t.Cleanup(func() {
		stopped, cancel := context.WithCancel(context.Background())
		cancel()
		answers.Stop(stopped)
		people.Stop()
		_ = f.live.Drain(stopped, 0)
		notices.Stop()
		f.streams.Close()
		server.Close()
	})
	<-notified.listening
	return f
}

// notified passes events on and reports when the server has begun to listen for notices. Sockets that were opened
// before are notified of that.
type notified struct {
	*api.LiveEvents
	once      sync.Once
	listening chan struct{}
}

func (n *notified) NotificationsMissed() {
	n.LiveEvents.NotificationsMissed()
	n.once.Do(func() { close(n.listening) })
}

// bucket is a folder for files.
func (f *fixture) bucket() *bucket.Bucket {
	f.t.Helper()
	f.files = f.t.TempDir()
	files := must.Get(bucket.Open(f.files))(f.t)
	f.t.Cleanup(func() { _ = files.Close() })
	return files
}

// keptFiles returns the names of the files that are stored or being written.
func (f *fixture) keptFiles() []string {
	f.t.Helper()
	names := must.Get(filepath.Glob(filepath.Join(f.files, "data-source", "*")))(f.t)
	return names
}

// scan reads a value for which there is no API call.
func (f *fixture) scan(into any, sql string) {
	f.t.Helper()
	must.Succeed(f.t, f.sql.QueryRow(f.t.Context(), sql).Scan(into))
}

// services returns the services of a server that are not domains.
func (f *fixture) services() api.Services {
	return api.Services{
		Browser: &crx.Package{
			ID: strings.Repeat("abcd", 8), Version: "1.0.0.1", Updates: []byte("<gupdate/>"),
			Files: func() (crx.Files, error) { return crx.Files{CRX: []byte("Cr24"), ZIP: []byte("PK")}, nil },
		},
		Pool:       http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }),
		SigningKey: []byte("-----BEGIN PUBLIC KEY-----\n"),
		Ready:      func(context.Context) error { return f.ready },
		State: func(context.Context, identity.Actor) ([]doctor.Report, error) {
			return []doctor.Report{{ID: "files", State: doctor.OK}}, nil
		},
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, "up 1\n")
		}),
		App: fstest.MapFS{
			"index.html":           {Data: []byte("<!doctype html><title>Tsumugi</title>")},
			"diagram.html":         {Data: []byte("<title>Diagram</title>")},
			"assets/app-abc.js":    {Data: []byte(strings.Repeat("console.log(1)\n", 100))},
			"manifest.webmanifest": {Data: []byte(`{"name":"Tsumugi"}`)},
		},
	}
}

// journal is a log that a test can read.
type journal struct {
	mu  sync.Mutex
	all bytes.Buffer // Guarded by mu.
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.all.Write(line)
}

// with returns the lines that contain all parts.
func (j *journal) with(parts ...string) (lines []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range strings.Lines(j.all.String()) {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			lines = append(lines, line)
		}
	}
	return lines
}

// presence records users whose change has been processed by all subscribers.
type presence struct {
	*api.Presence
	told chan<- uuid.UUID
}

func (p presence) UserChanged(id uuid.UUID) {
	p.Presence.UserChanged(id)
	select {
	case p.told <- id:
	default: // No test waits for it.
	}
}

// exec changes the database like another process, and waits until the server has been notified.
func (f *fixture) exec(sql string, args ...any) {
	f.t.Helper()
	if _, err := f.sql.Exec(f.t.Context(), sql, args...); err != nil {
		f.t.Fatal(err)
	}
	again := time.NewTicker(time.Second) // The listening connection may have been lost.
	defer again.Stop()
	for {
		last := uuid.New() // Notified after all earlier changes.
		if _, err := f.sql.Exec(f.t.Context(), `SELECT pg_notify('tsumugi_user', $1)`, last.String()); err != nil {
			f.t.Fatal(err)
		}
		if f.awaitTold(last, again.C) {
			return
		}
	}
}

// awaitTold waits until the server has been notified of a user's change, or until limit.
func (f *fixture) awaitTold(id uuid.UUID, limit <-chan time.Time) bool {
	for {
		select {
		case told := <-f.told:
			if told == id {
				return true
			}
		case <-limit:
			return false
		}
	}
}

func (f *fixture) organization(name, domain string) uuid.UUID {
	f.t.Helper()
	o := org.Organization{ID: uuid.Must(uuid.NewV7()), Name: name, AuthType: "cognito", MailDomains: []string{domain}}
	must.Succeed(f.t, f.db.CreateOrganization(f.t.Context(), o))
	return o.ID
}

func (f *fixture) member(organizationID uuid.UUID, email string) identity.NewUser {
	f.t.Helper()
	u := identity.NewUser{
		ID: uuid.Must(uuid.NewV7()), OrganizationID: organizationID, Subject: email, Email: email, Name: "試験",
		Role: identity.RoleGeneralUser, AuthType: identity.AuthCognito,
	}
	must.Succeed(f.t, f.db.CreateUser(f.t.Context(), u))
	return u
}

func (f *fixture) thread(token string) api.Thread {
	f.t.Helper()
	return get[api.Thread](f, http.StatusCreated, call{
		method: "POST", path: "/v1/thread", token: token,
		body: map[string]any{"skill_id": f.chatSkill().ID},
	})
}

func (f *fixture) chatSkill() skill.Skill { return f.find(skill.FormChat) }

func (f *fixture) find(form skill.FormType) skill.Skill {
	f.t.Helper()
	for _, s := range f.skills {
		if s.FormType == form && s.Kind != skill.KindWebSearch && s.Kind != skill.KindProofreading && s.TaskType == "" {
			return s
		}
	}
	f.t.Fatal("no such skill")
	return skill.Skill{}
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }
