package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/chat/ground"
	"github.com/tsumugi-ai/tsumugi/extension"
	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/crx"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/bucket"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oauth"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oidc"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/picture"
	"github.com/tsumugi-ai/tsumugi/internal/project"
	"github.com/tsumugi-ai/tsumugi/internal/scim"
	"github.com/tsumugi-ai/tsumugi/internal/siem"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/internal/tally"
	"github.com/tsumugi-ai/tsumugi/internal/telemetry"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/internal/toolserver"
	"github.com/tsumugi-ai/tsumugi/internal/websearch"
	"github.com/tsumugi-ai/tsumugi/internal/work"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/bridge"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
	"github.com/tsumugi-ai/tsumugi/web"
)

// server holds all components that use the database.
type server struct {
	log       *slog.Logger
	telemetry *telemetry.Telemetry
	upkeep    *work.Group    // Reads the times of telemetry.Upkeep and the metadata of identity providers.
	bridge    *bridge.Bridge // Nil for a single server.
	feed      *stream.Feed
	tally     *tally.Tally // Nil without other servers.
	hub       *stream.Hub
	streams   *sse.Server
	chat      *chat.Service
	router    *llm.Router
	models    *chat.Models
	search    *chat.Searcher
	accounts  accounts
	people    *identity.Service
	org       *org.Service
	budget    *org.Budget
	deletions *org.Deletions
	live      *api.Live
	transfers *api.Transfers
	files     *bucket.Bucket
	sources   *datasource.Service
	pictures  *picture.Service
	projects  *project.Service
	slack     *slackDomain
	saml      *saml.Service
	oidc      *oidc.Service
	siem      *siem.Service
	tools     *toolserver.Service
	web       *websearch.Service // Nil without web search.
	handler   http.Handler
	ready     atomic.Bool
	made      []account // Created by this start.
	failed    chan error
}

// wire creates the domains, the API, and the data of a first start. After an error, the caller must call close.
func (c *serveCommand) wire(ctx context.Context, db *store.DB, address net.Addr, offered llm.Catalog,
	out io.Writer, log *slog.Logger,
) (_ *server, err error) {
	s := &server{log: log, failed: make(chan error, 1)}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.telemetry, err = telemetry.New(ctx, telemetry.Config{
		Version: version, ServerID: address.String(),
		OTLPEndpoint: c.OTLPEndpoint, Logger: log,
	}); err != nil {
		return nil, err
	}
	if err := s.join(ctx, c); err != nil {
		return nil, err
	}
	public := c.publicURL(address)
	mailer, err := c.mailer(c.Data, public, out, log.With("part", "mail"))
	if err != nil {
		return nil, fmt.Errorf("--data (TSUMUGI_DATA) %w", err)
	}
	s.telemetry.WatchDatabase(db.PoolStat)
	s.telemetry.WatchMail(mailer.Stats)
	s.watchUpkeep(db, c.certificate())
	if s.accounts, err = c.openAccounts(ctx, db, public, mailer, log); err != nil {
		return nil, err
	}
	if err := skill.Seed(ctx, db); err != nil {
		return nil, err
	}
	verifier := identity.NewPoolVerifier(time.Now, c.issuers(s.accounts.users, public, log)...)
	s.people = identity.NewService(db, oauth.NewVerifier(db, verifier), log.With("part", "identity"))
	events := api.NewLiveEvents(s.feed)
	s.org = org.NewService(db, s.accounts, events, log.With("part", "org"))
	s.budget = org.NewBudget(db, log.With("part", "org"))
	sinks, err := c.sinks(siem.Origin{Host: hostOf(public), Version: version}, log.With("part", "siem"))
	if err != nil {
		return nil, err
	}
	s.siem = siem.NewService(db, sinks, siem.Config{}, log.With("part", "siem"))
	s.telemetry.WatchSIEM(s.siem.Stats)
	signing, err := db.SigningKey(ctx)
	if err != nil {
		return nil, err
	}
	s.deletions = org.NewDeletions(db, signing, log.With("part", "org"))
	limiter := ratelimit.New(c.Limits, s.tally)
	s.live = api.NewLive(s.feed, s.people, limiter, log.With("part", "live"), api.LiveConfig{
		PublicURL: public, Projects: db.ProjectIDs,
	})
	s.transfers = api.NewTransfers()
	s.telemetry.WatchLive(s.live.Open)
	if s.files, err = c.openFiles(ctx, c.Data); err != nil {
		return nil, err
	}
	s.telemetry.WatchFiles(s.files.Stats)
	embedding, err := c.embedding(log.With("part", "model"))
	if err != nil {
		return nil, fmt.Errorf("the embedding model's settings (OPENAI_EMBEDDING_MODEL): %w", err)
	}
	extractor, pictures := c.sandboxed(log)
	s.sources = datasource.NewService(db, s.files, extractor, log.With("part", "datasource"), datasource.Config{
		StoragePerPerson: c.PersonStorage << 20, Embedding: embedding,
		Changed: events.SourceChanged, Deleted: events.SourceDeleted,
	})
	s.telemetry.WatchReadings(s.sources.Stats)
	s.projects = project.NewService(db, project.Config{
		Changed: events.ProjectChanged, SourcesChanged: events.ProjectSourcesChanged,
	}, log.With("part", "project"))
	s.pictures = picture.NewService(db, s.files, pictures.Read, log.With("part", "picture"), c.PersonStorage<<20)
	if s.web, err = c.openSearch(extractor.Extract); err != nil {
		return nil, err
	}
	s.tools = toolserver.NewService(toolserver.Config{PublicURL: public, BuiltIn: tool.BuiltIn(time.Now)}, db,
		c.toolClient(), log.With("part", "tool"))
	skills := skill.NewService(db, skill.Config{WebSearch: c.searches(), NoModel: !c.modelConnected()})
	if err := s.answers(c, db, offered, skills, events, limiter); err != nil {
		return nil, err
	}
	if err := s.openSlack(c, db, public, skills); err != nil {
		return nil, err
	}
	browser, origins, err := c.extension(ctx, db, public)
	if err != nil {
		return nil, err
	}
	shared := sso.New(sso.Config{
		PublicURL: public, ClientID: federatedClientID, Logger: log.With("part", "sso"),
	}, db, s.accounts.users)
	providers := c.providerClient()
	s.oidc, s.saml = oidc.New(providers, db, shared), saml.New(providers, db, shared)
	s.upkeep.Every(metadataInterval, nil, s.saml.RefreshMetadata,
		"saml: the metadata of an identity provider is not used, retrying")
	s.upkeep.Every(warningInterval, nil, func(ctx context.Context) error { return s.saml.WarnOfExpiry(ctx, mailer) },
		"saml: administrators not warned of a certificate that expires, retrying")
	s.handler, err = api.New(api.Services{
		Identity: s.people, OAuth: oauth.NewService(oauth.Config{
			PublicURL: public, Clients: oauth.Clients(origins),
		}, db, s.people),
		Org: s.org, Skill: skills, Library: skill.NewLibrary(db), Sources: s.sources, Chat: s.chat, Models: s.models,
		Pictures: s.pictures, Projects: s.projects, Transfers: s.transfers, Search: s.search, SigningKey: signing.Public(),
		Slack:  api.Slack{Setup: s.slack.setup, Links: s.slack.links, Enqueue: s.slack.channels.Enqueue},
		Shares: chat.NewSharer(db, events), Reviews: chat.NewReviewer(db), Stream: s.streams, Live: s.live, Limiter: limiter,
		SSO: shared, SAML: s.saml, OIDC: s.oidc, Tools: s.tools,
		SCIM:     scim.NewService(db, s.org, public, log.With("part", "scim")),
		Sessions: s.accounts.users, Pool: s.accounts.users.Handler(), App: web.App(), Browser: browser,
		State: newStateReader(s, &c.config, db).read, Metrics: s.telemetry.Handler(), Measure: s.telemetry.RequestDone, Tracer: s.telemetry.Tracer(),
		Ready: func(ctx context.Context) error {
			if !s.ready.Load() {
				return errStopping
			}
			return db.Ping(ctx)
		},
	}, api.Config{
		Version: version, PublicURL: public, ClientID: c.passwordClient(), Endpoint: c.passwordEndpoint(), Region: c.CognitoRegion,
		Links: c.links(), TagManagerID: c.TagManagerID, ModelConnected: c.modelConnected(),
		Passkeys:       s.accounts.users.SupportsPasskeys(),
		TrustedProxies: c.TrustedProxies, ExtensionOrigins: origins,
	}, log)
	if err != nil || !c.Demo || c.CognitoUserPoolID != "" { // AWS's user pool is for real people.
		return s, err
	}
	// This comes last, because passwords are shown once and a start that fails does not show them.
	s.made, err = makeDemo(ctx, db, s.accounts.users, c.DemoPassword)
	return s, err
}

// extension returns the extension that this server distributes, or nil if it is not built, and the origins of the
// extensions that may call the server.
func (c *serveCommand) extension(ctx context.Context, db *store.DB, public string) (*crx.Package, []string, error) {
	browser, err := crx.New(ctx, db.ExtensionRelease, extension.Files(), public)
	switch {
	case errors.Is(err, crx.ErrNotBuilt):
		return nil, c.ExtensionOrigins, nil
	case err != nil:
		return nil, nil, err
	case c.ExtensionOrigins == nil:
		return browser, []string{browser.Origin()}, nil
	}
	return browser, c.ExtensionOrigins, nil
}

const (
	upkeepInterval   = time.Minute      // Of reading the times of telemetry.Upkeep.
	metadataInterval = 10 * time.Minute // Of looking for due readings of metadata.
	warningInterval  = time.Hour        // Of looking for certificates that expire.
)

// watchUpkeep begins to read the times that operators monitor, and adds their metrics. certificate is the client
// certificate for receivers of the audit log, or nil.
func (s *server) watchUpkeep(db *store.DB, certificate *siem.ClientCertificate) {
	var last atomic.Pointer[telemetry.Upkeep]
	last.Store(&telemetry.Upkeep{})
	s.telemetry.WatchUpkeep(func() telemetry.Upkeep { return *last.Load() })
	s.upkeep = work.NewGroup(s.log)
	s.upkeep.Every(upkeepInterval, nil, func(ctx context.Context) error {
		backup, backupErr := db.LastBackup(ctx)
		end, err := db.FirstCertificateEnd(ctx)
		if err := errors.Join(backupErr, err); err != nil {
			return err
		}
		auditEnd, err := certificate.End()
		last.Store(&telemetry.Upkeep{
			LastBackup: unix(backup), CertificateEnd: unix(end), AuditCertificateEnd: unix(auditEnd),
		})
		return err
	}, "monitoring: reading the last backup and the certificates failed, retrying")
}

// unix returns the Unix time in seconds, or 0 for the zero time.
func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// join creates the transport of texts and events, and connects it to other servers if NATS is configured.
func (s *server) join(ctx context.Context, c *serveCommand) (err error) {
	var transport stream.Transport
	if c.NATSURL != "" {
		s.bridge, err = bridge.Connect(ctx, bridge.Config{URL: c.NATSURL, Logger: s.log.With("part", "bridge")})
		if err != nil {
			return fmt.Errorf("--nats-url (NATS_URL): %w", err)
		}
		transport = s.bridge
		s.telemetry.WatchBridge(s.bridge.Connected)
	}
	s.hub = stream.NewHub(stream.HubConfig{Transport: transport, Logger: s.log.With("part", "hub")})
	s.streams = sse.NewServer(sse.Config{Fast: c.FastStreams, MaxStreams: c.MaxStreams})
	s.telemetry.WatchStreams(s.streams.Stats, s.hub.Stats)
	s.feed, err = stream.NewFeed(transport)
	if err == nil && transport != nil {
		s.tally = tally.New(s.feed, s.log.With("part", "limits"))
		s.telemetry.WatchTally(s.tally.Stats)
	}
	return err
}

// answers returns the chat service.
func (s *server) answers(c *serveCommand, db *store.DB, offered llm.Catalog, skills *skill.Service,
	events chat.Events, limiter *ratelimit.Limiter,
) error {
	offered.Servers = s.tally
	model, err := llm.NewRouter(offered, s.log.With("part", "model"))
	if err != nil {
		return fmt.Errorf("the model's settings (OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL): %w", err)
	}
	s.router, s.models = model, chat.NewModels(model, skills, db)
	defaultID, _ := model.Offers()
	grounds := ground.Config{
		ContextTokens: c.ContextTokens,
		Summaries:     ground.Summaries{Model: model, Name: defaultID, Notes: db, Budget: s.budget},
	}
	if s.web != nil {
		s.telemetry.WatchWebSearch(s.web.Stats)
		grounds.Searches = ground.Searches{Web: s.web, Model: model, Budget: s.budget}
	}
	grounder := ground.New(s.sources, grounds)
	generations := c.Limits[ratelimit.KindGeneration]
	s.chat = chat.NewService(chat.Deps{
		Store: db, Skills: skills, Model: model, Offers: model, Hub: s.hub, Feed: s.feed, Budget: s.budget,
		Pictures: s.pictures, Grounder: grounder, Tools: skillTools(s.tools), SourceTools: grounder.SourceTools,
		CountTool: limiter.CountTool,
		Log:       s.log.With("part", "chat"),
		Events:    events, Metrics: s.telemetry.Generations(), Tracer: s.telemetry.Tracer(),
		Generations: s.tally.Level(string(ratelimit.KindGeneration)),
	}, chat.Config{
		Alone: c.DatabaseURL == "", Lease: c.Lease,
		MaxGenerations: c.MaxGenerations, MaxPerPerson: generations.Each, MaxPerOrganization: generations.Organization,
		MaxLiveText: int64(c.MaxLiveText) << 20, ProofreadNote: c.proofreadNote(),
		Suggestions: c.modelConnected(),
	})
	s.telemetry.WatchGenerations(s.chat.Stats)
	s.search = chat.NewSearcher(db, s.log.With("part", "search"))
	return nil
}

var errStopping = errors.New("the server is stopping")

// serve serves requests until stop is called. stop waits until no request is in progress.
func (s *server) serve(listener net.Listener) (stop func()) {
	base, cancel := context.WithCancel(context.Background())
	httpServer := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes,
		BaseContext:    func(net.Listener) context.Context { return base },
		ErrorLog:       slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	s.tally.Start()
	present := api.NewPresence(s.streams, s.live, s.transfers)
	s.people.Start(present.UserChanged, present.ConnectedUsers)
	s.org.Start()
	s.deletions.Start()
	s.sources.Start()
	s.pictures.Start()
	s.projects.Start()
	s.search.Start()
	s.siem.Start()
	s.slack.start()
	s.ready.Store(true)
	go func() {
		if err := httpServer.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	}()
	return func() {
		s.ready.Store(false)
		httpServer.SetKeepAlivesEnabled(false) // Clients reconnect to another server.
		s.drain()
		s.people.Stop()
		cancel() // Ends waiting requests, so that their clients reconnect.
		ctx, done := context.WithTimeout(context.Background(), requestGrace)
		defer done()
		if err := httpServer.Shutdown(ctx); err != nil {
			s.log.Warn("requests were cut off", "err", err)
			_ = httpServer.Close()
		}
	}
}

// drain lets answers in progress finish and moves clients to other servers. If other servers are available, clients
// move at once and receive this server's answers through them. Otherwise, the streams of an answer stay open until the
// answer ends.
func (s *server) drain() {
	ctx, done := context.WithTimeout(context.Background(), generationGrace)
	defer done()
	s.chat.BeginStop()
	s.org.Stop()
	var leaving sync.WaitGroup
	leaving.Go(s.deletions.Stop)
	leaving.Go(s.sources.Stop)
	leaving.Go(s.pictures.Stop)
	leaving.Go(s.projects.Stop)
	leaving.Go(s.search.Stop)
	leaving.Go(s.siem.Stop)
	leaving.Go(s.slack.stop)
	leaving.Go(func() { _ = s.live.Drain(ctx, spread) })
	if s.bridge != nil && s.bridge.Connected() {
		leaving.Go(func() { _ = s.streams.Drain(ctx, spread) })
	}
	s.chat.Stop(ctx)
	leaving.Wait()
	// This server generates no more text, so the remaining streams need not wait for the end of an answer.
	ctx, done = context.WithTimeout(context.Background(), streamGrace)
	defer done()
	_ = s.streams.Drain(ctx, streamGrace/2)
}

// close stops what join and wire started, in reverse order. It must be called after drain.
func (s *server) close() {
	ctx, done := context.WithTimeout(context.Background(), closeGrace)
	defer done()
	if s.upkeep != nil {
		s.upkeep.Stop()
	}
	if s.streams != nil {
		s.streams.Close()
	}
	if s.budget != nil {
		s.budget.Stop()
	}
	if s.tools != nil {
		s.tools.Stop()
	}
	if s.accounts.users != nil {
		s.accounts.users.Stop(ctx)
	}
	if s.web != nil {
		s.web.Close()
	}
	if s.files != nil {
		_ = s.files.Close() // The only possible error is that it is already closed.
	}
	if s.hub != nil {
		s.hub.Stop(ctx)
	}
	s.tally.Stop()
	if s.feed != nil {
		s.feed.Close()
	}
	if s.bridge != nil {
		s.bridge.Close()
	}
	if s.telemetry != nil {
		if err := s.telemetry.Stop(ctx); err != nil {
			s.log.Warn("the last traces were not sent", "err", err)
		}
	}
}
